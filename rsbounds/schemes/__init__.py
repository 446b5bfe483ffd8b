"""Smoothing schemes: the noise level at an input and the radius that scores earn there.

A scheme is all that certification needs to know of a theory. Each file of this room
holds one: name, scope, command-line options, construction from them, radius, and the
law and the draw of a noise that is its own. Result files, the command line and reports
look methods up in ``METHODS``; ``rsbounds.audit`` proves their radii independently.
"""

from rsbounds._numerics.answered import By
from rsbounds._numerics.domains import Domain
from rsbounds._numerics.options import Option
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.registry import Registry
from rsbounds.schemes._anisotropic import Anisotropic, anisotropic
from rsbounds.schemes._blocks import Blocks, blocks
from rsbounds.schemes._brightness_contrast import (
    BrightnessContrast,
    brightness_contrast,
)
from rsbounds.schemes._categorical import Categorical, categorical
from rsbounds.schemes._composite import Composite
from rsbounds.schemes._correlated import Correlated, correlated
from rsbounds.schemes._deletion import Deletion, deletion
from rsbounds.schemes._double_masking import MaskPairs, double_masking
from rsbounds.schemes._drawn import DrawnScheme
from rsbounds.schemes._exponential import Exponential, exponential
from rsbounds.schemes._flips import Flips, flips
from rsbounds.schemes._gaussian import Gaussian, gaussian, this_input
from rsbounds.schemes._generator import Generator
from rsbounds.schemes._laplace import Laplace, laplace
from rsbounds.schemes._lipschitz import Lipschitz, lipschitz
from rsbounds.schemes._mask import Mask, mask
from rsbounds.schemes._orbit import Orbit, orbit
from rsbounds.schemes._range import Range, sigma_range
from rsbounds.schemes._scheme import Scheme, check_entry
from rsbounds.schemes._semielastic import SemiElasticScheme, semielastic
from rsbounds.schemes._splitting import Splitting, splitting
from rsbounds.schemes._transformed import (
    Transformed,
    transformed,
)
from rsbounds.schemes._two_queries import TwoQueries, two_queries
from rsbounds.schemes._uniform import Uniform, uniform

#: Every method that writes result rows, by its name in them and in the order of the
#: command line's help; installed packages add to them through the entry points
#: ``rsbounds.schemes``.
METHODS: Registry[type[Scheme]] = Registry(
    "rsbounds.schemes",
    [
        Gaussian,
        SemiElasticScheme,
        Lipschitz,
        Range,
        Anisotropic,
        Correlated,
        Generator,
        Composite,
        Laplace,
        Uniform,
        Exponential,
        Splitting,
        Categorical,
        Flips,
        Mask,
        Deletion,
        Blocks,
        TwoQueries,
        Transformed,
        BrightnessContrast,
        Orbit,
        MaskPairs,
    ],
    check_entry,
)

__all__ = [
    "METHODS",
    "By",
    "Domain",
    "DrawnScheme",
    "Gaussian",
    "Option",
    "Parameter",
    "Scheme",
    "anisotropic",
    "blocks",
    "brightness_contrast",
    "categorical",
    "correlated",
    "deletion",
    "double_masking",
    "exponential",
    "flips",
    "gaussian",
    "laplace",
    "lipschitz",
    "mask",
    "orbit",
    "semielastic",
    "sigma_range",
    "splitting",
    "this_input",
    "transformed",
    "two_queries",
    "uniform",
]


def __dir__() -> list[str]:
    return sorted(__all__)
