"""Special functions for any dimension: noncentral chi-square, Marcum's Q, normal.

Every function is a NumPy ufunc with one loop over float64 (and one that rounds long
doubles): it broadcasts, takes ``out``, ``where`` and the other options, has ``outer``
and the other methods, and other libraries' arrays keep their form; arguments can be
given by name too. Scalars in, np.float64 out; large arrays are computed on several
threads. NaN in gives NaN out with NumPy's invalid flag. A ValueError names the argument
that is outside its domain or not numeric (True and False are not), or the shapes that
do not broadcast; elements outside their domain become NaN within
``errstate(domain="nan")``. What a mask hides may be anything. Error bounds hold at the
exact doubles given. Docstrings give the largest error that long searches found, with
room, and the one that is proved; :func:`error_bound` returns both as numbers.

All of them can be called with scalars inside ``numba.njit`` functions under the same
names.
"""

from typing import TYPE_CHECKING

from rsbounds.special import _inverses, _ncx2, _normal
from rsbounds.special._bounds import error_bound as error_bound
from rsbounds.special._call import errstate as errstate
from rsbounds.special._inverses import *  # noqa: F403
from rsbounds.special._ncx2 import *  # noqa: F403
from rsbounds.special._normal import *  # noqa: F403

if not TYPE_CHECKING:
    __all__ = sorted(
        [
            error_bound.__name__,
            errstate.__name__,
            *_inverses.__all__,
            *_ncx2.__all__,
            *_normal.__all__,
        ]
    )


def __dir__() -> list[str]:
    return sorted(globals()["__all__"])
