"""Smoothing schemes: the noise level at an input and the radius that scores earn there.

A scheme is all that certification needs to know of a theory. Each file of this room
holds one: name, scope, command-line options, construction from them, radius. Result
files, the command line and reports look methods up in ``METHODS``; ``rsbounds.audit``
proves their radii independently.
"""

from collections.abc import Mapping

from rsbounds.schemes._anisotropic import Anisotropic
from rsbounds.schemes._composite import Composite
from rsbounds.schemes._domains import Domain
from rsbounds.schemes._gaussian import Gaussian, gaussian, this_input
from rsbounds.schemes._generator import Generator
from rsbounds.schemes._laplace import Laplace, laplace
from rsbounds.schemes._lipschitz import Lipschitz, lipschitz
from rsbounds.schemes._options import Given, Option
from rsbounds.schemes._range import Range, sigma_range
from rsbounds.schemes._scheme import Scheme, level_slack
from rsbounds.schemes._semielastic import SemiElastic, semielastic

__all__ = [
    "METHODS",
    "Anisotropic",
    "Composite",
    "Domain",
    "Gaussian",
    "Generator",
    "Given",
    "Laplace",
    "Lipschitz",
    "Option",
    "Range",
    "Scheme",
    "SemiElastic",
    "gaussian",
    "laplace",
    "level_slack",
    "lipschitz",
    "semielastic",
    "sigma_range",
    "this_input",
]

#: Every method that writes result rows, by its name in them.
METHODS: Mapping[str, type[Scheme]] = {
    scheme.name: scheme
    for scheme in (
        Gaussian,
        SemiElastic,
        Lipschitz,
        Range,
        Anisotropic,
        Generator,
        Composite,
    )
}
