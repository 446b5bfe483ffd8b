"""Gamma: numbers in [0, 1] to the same power."""

from typing import Any

from numpy.typing import NDArray

from rsbounds._numerics.checks import check
from rsbounds.transforms._transform import LARGEST_LOG, Transform, column


class Gamma(Transform):
    """x^(e^a), on [0, 1]: a is the logarithm of gamma."""

    name = "gamma"
    formula = "x^(e^a); a is the logarithm of gamma"
    inputs = "numbers in [0, 1]"
    reach = LARGEST_LOG

    def checked(self, x: Any) -> NDArray[Any]:
        """One input in its own type; ArgumentError("x", ...) for others."""
        point = super().checked(x)
        check("x", point, (point >= 0) & (point <= 1), "in [0, 1]")
        return point

    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        """Raise to a power for each copy."""
        return x ** column(xp.exp(a), x)
