"""Smoothing schemes: the noise level at an input and the radius that scores earn there.

A scheme is all that certification needs to know of a theory. Each file of this room
holds one: name, scope, command-line options, construction from them, radius. Result
files, the command line and reports look methods up in ``METHODS``; ``rsbounds.audit``
proves their radii independently.
"""
# ruff: noqa: F403  (each file's __all__ says what it gives)

from rsbounds._numerics.registry import Registry
from rsbounds.schemes._domains import Domain as Domain
from rsbounds.schemes._options import Given as Given
from rsbounds.schemes._options import Option as Option
from rsbounds.schemes._scheme import Scheme as Scheme
from rsbounds.schemes._scheme import check_entry
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
from rsbounds.schemes._laplace import *
from rsbounds.schemes._uniform import *
from rsbounds.schemes._splitting import *
from rsbounds.schemes._categorical import *
from rsbounds.schemes._flips import *
from rsbounds.schemes._mask import *
from rsbounds.schemes._deletion import *
from rsbounds.schemes._blocks import *

# isort: on


def _methods() -> list[type[Scheme]]:
    """The schemes above that write result rows: those whose ``help`` says what they
    are.
    """
    given = globals().values()
    schemes = [x for x in given if isinstance(x, type) and issubclass(x, Scheme)]
    return [scheme for scheme in schemes if scheme.help]


#: Every method that writes result rows, by its name in them; installed packages add to
#: them through the entry points ``rsbounds.schemes``.
METHODS: Registry[type[Scheme]] = Registry("rsbounds.schemes", _methods(), check_entry)

# what the documentation shows; assigned so that type checkers go by the imports above
globals()["__all__"] = sorted(
    name
    for name in globals()
    if not name.startswith("_") and name not in ("Registry", "check_entry")
)
