"""Gain: the volume of a sound."""

import math
from typing import Any

from rsbounds.transforms._transform import LARGEST_LOG, Transform, column


class Gain(Transform):
    """10^(a/20) x: a is in decibels."""

    name = "gain"
    formula = "10^(a/20) x, a in decibels"
    reach = LARGEST_LOG * 20 / math.log(10)

    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        """Multiply by a factor for each copy."""
        return column(xp.exp(a * (math.log(10) / 20)), x) * x
