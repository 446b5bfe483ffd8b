"""What other rooms of the package take of this one besides its public names."""

from rsbounds.audit._published import verify_printed
from rsbounds.audit._whole import contradictions

__all__ = [
    "contradictions",
    "verify_printed",
]
