"""Contrast: all numbers times the same factor."""

from typing import Any

from rsbounds.transforms._transform import LARGEST_LOG, Transform, column


class Contrast(Transform):
    """e^a x: a is the logarithm of the factor."""

    name = "contrast"
    formula = "e^a x, about 0; a is the logarithm of the factor"
    reach = LARGEST_LOG

    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        """Multiply by a factor for each copy."""
        return column(xp.exp(a), x) * x
