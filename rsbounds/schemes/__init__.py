"""Smoothing schemes: the noise level at an input and the radius that scores earn there.

A scheme is all that certification needs to know of a theory. Each file of this room
holds one: name, scope, command-line options, construction from them, radius. Those of a
noise that is the same at every input and not Gaussian are made of the files of
:mod:`rsbounds.noises`, one method a noise. Result files, the command line and reports
look methods up in ``METHODS``; ``rsbounds.audit`` proves their radii independently.
"""
# ruff: noqa: F403  (each file's __all__ says what it gives)

from rsbounds._numerics.domains import Domain as Domain
from rsbounds._numerics.options import Option as Option
from rsbounds._numerics.registry import Registry
from rsbounds.noises import Noise
from rsbounds.schemes._scheme import Given as Given
from rsbounds.schemes._scheme import Scheme as Scheme
from rsbounds.schemes._scheme import check_entry as check_entry
from rsbounds.schemes._scheme import level_slack as level_slack

# isort: off
# The list, in the order of the command line's help: a scheme is a file and its line.
from rsbounds.schemes._gaussian import *
from rsbounds.schemes._semielastic import *
from rsbounds.schemes._lipschitz import *
from rsbounds.schemes._range import *
from rsbounds.schemes._anisotropic import *
from rsbounds.schemes._generator import *
from rsbounds.schemes._composite import *
from rsbounds.schemes._noises import *
from rsbounds.schemes._transformed import *
from rsbounds.schemes._brightness_contrast import *
from rsbounds.schemes._orbit import *
from rsbounds.schemes._scheme import is_own as is_own

# isort: on


def _methods() -> list[type[Scheme]]:
    """List the schemes above that write result rows.

    They are the classes whose ``help`` describes them, and the method of each noise.
    """
    given = [getattr(value, "method", value) for value in globals().values()]
    schemes = [x for x in given if isinstance(x, type) and issubclass(x, Scheme)]
    return [scheme for scheme in schemes if scheme.help]


#: Every method that writes result rows, by its name in them; installed packages add to
#: them through the entry points ``rsbounds.schemes``.
METHODS: Registry[type[Scheme]] = Registry("rsbounds.schemes", _methods(), check_entry)

# what the documentation shows; assigned so that type checkers go by the imports above
globals()["__all__"] = sorted(
    name
    for name in globals()
    if not name.startswith("_")
    and name not in ("Registry", "check_entry", "method")
    and not (isinstance(globals()[name], type) and issubclass(globals()[name], Noise))
)


def __dir__() -> list[str]:
    return sorted(globals()["__all__"])
