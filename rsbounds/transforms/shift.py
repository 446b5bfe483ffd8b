"""Cyclic shifts of a picture: what leaves on one side comes in on the other."""

from typing import Any

from rsbounds.transforms._transform import FiniteGroup, require_pictures


class Shift(FiniteGroup):
    """All shifts of a picture by whole pixels, around its borders."""

    name = "shift"
    formula = "shifted around the borders, by any number of rows and columns"
    inputs = "pictures of shape (rows, columns) or (channels, rows, columns)"

    def order(self, shape: tuple[int, ...]) -> int:
        """One shift for each pixel."""
        require_pictures(shape, "shape")
        return int(shape[-2] * shape[-1])

    def apply(self, x: Any, first: int, count: int, xp: Any) -> Any:
        """Shifts by rows and columns, columns first."""
        rows, columns = x.shape[-2:]
        channels = x.reshape(-1, rows, columns)

        def places(end: int) -> Any:
            return xp.arange(end, device=x.device)

        number = (first + places(count)) % (rows * columns)
        number = number.reshape(-1, 1, 1, 1)
        copies = channels[
            places(len(channels)).reshape(1, -1, 1, 1),
            (places(rows).reshape(-1, 1) - number // columns) % rows,
            (places(columns) - number % columns) % columns,
        ]
        return copies.reshape(count, *x.shape)
