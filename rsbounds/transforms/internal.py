"""What other rooms of the package take of this one besides its public names."""

from rsbounds.transforms import is_own, named, require_transform
from rsbounds.transforms._transform import (
    applied,
    largest_level,
    require_composition,
    require_finite,
    three_digits,
)

__all__ = [
    "applied",
    "is_own",
    "largest_level",
    "named",
    "require_composition",
    "require_finite",
    "require_transform",
    "three_digits",
]
