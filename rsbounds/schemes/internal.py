"""What other rooms of the package take of this one besides its public names."""

from rsbounds.schemes._anisotropic import Anisotropic
from rsbounds.schemes._composite import Composite
from rsbounds.schemes._generator import Generator
from rsbounds.schemes._given import Given
from rsbounds.schemes._lipschitz import Lipschitz
from rsbounds.schemes._on_grid import UNSTATED, allowed_error, rounding_of_levels
from rsbounds.schemes._scheme import CODE, check_entry, is_own
from rsbounds.schemes._transformed import LAWS, TRANSFORM_OPTION, Transformed
from rsbounds.schemes._two_queries import query_levels

__all__ = [
    "CODE",
    "LAWS",
    "TRANSFORM_OPTION",
    "UNSTATED",
    "Anisotropic",
    "Composite",
    "Generator",
    "Given",
    "Lipschitz",
    "Transformed",
    "allowed_error",
    "check_entry",
    "is_own",
    "query_levels",
    "rounding_of_levels",
]
