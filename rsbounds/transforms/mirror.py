"""A picture and its mirror image."""

from typing import Any

from rsbounds.transforms._transform import FiniteGroup, require_pictures


class Mirror(FiniteGroup):
    """A picture as it is, and with left and right exchanged."""

    name = "mirror"
    formula = "left and right exchanged, or not"
    inputs = "pictures of shape (rows, columns) or (channels, rows, columns)"

    def order(self, shape: tuple[int, ...]) -> int:
        """Two."""
        require_pictures(shape, "shape")
        return 2

    def apply(self, x: Any, first: int, count: int, xp: Any) -> Any:
        """The picture and its image in turns."""
        numbers = range(first, first + count)
        return xp.stack([xp.flip(x, (-1,)) if number % 2 else x for number in numbers])
