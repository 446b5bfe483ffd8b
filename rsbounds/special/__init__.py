"""Special functions for any dimension: noncentral chi-square, Marcum's Q, normal.

Every function takes array_like arguments, broadcasts like a NumPy ufunc and takes
``out`` and ``where`` as ufuncs do; scalars in, np.float64 out. NaN in gives NaN out
with NumPy's invalid flag. A ValueError names the argument that is outside its domain or
not numeric, or the shapes that do not broadcast. Errors hold at the exact doubles
given. Docstrings give the largest error that long searches found, with room, and the
one that is proved; :func:`error_bound` returns both as numbers.

All of them can be called with scalars inside ``numba.njit`` functions under the same
names.
"""

from typing import TYPE_CHECKING

from rsbounds.special import _ncx2, _normal
from rsbounds.special._bounds import error_bound as error_bound
from rsbounds.special._call import DOMAIN as DOMAIN
from rsbounds.special._call import ERROR_KINDS as ERROR_KINDS
from rsbounds.special._ncx2 import *  # noqa: F403
from rsbounds.special._normal import *  # noqa: F403

if not TYPE_CHECKING:
    __all__ = sorted([error_bound.__name__, *_ncx2.__all__, *_normal.__all__])


def __dir__() -> list[str]:
    return sorted(globals()["__all__"])
