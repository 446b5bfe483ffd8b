"""Brightness: the same number added everywhere."""

from typing import Any

from rsbounds.transforms._transform import Transform, column


class Brightness(Transform):
    """x + a, in the unit of the numbers."""

    name = "brightness"
    formula = "x + a, in the unit of the numbers"
    reach = 2.0**126  # half of what float32 holds

    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        """Add a number for each copy."""
        return x + column(a, x)
