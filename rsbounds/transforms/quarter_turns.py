"""Quarter turns of a square picture."""

from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds.transforms._transform import FiniteGroup, require_pictures


class QuarterTurns(FiniteGroup):
    """A square picture turned by 0, 90, 180 and 270 degrees."""

    name = "quarter-turns"
    formula = "turned by any multiple of 90 degrees"
    inputs = "square pictures of shape (side, side) or (channels, side, side)"

    def order(self, shape: tuple[int, ...]) -> int:
        """Four."""
        require_pictures(shape, "shape")
        if shape[-2] != shape[-1]:
            raise ArgumentError("shape", f"must be a square picture; got shape {shape}")
        return 4

    def apply(self, x: Any, first: int, count: int, xp: Any) -> Any:
        """Turns by so many quarters."""
        numbers = range(first, first + count)
        return xp.stack([xp.rot90(x, number % 4, (-2, -1)) for number in numbers])
