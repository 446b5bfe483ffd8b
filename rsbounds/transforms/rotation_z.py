"""Rotation of a point cloud about its third axis."""

from typing import Any

from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.transforms._transform import Transform, column


class RotationZ(Transform):
    """The points of a cloud turned about the third axis, by an angle in radians."""

    name = "rotation-z"
    formula = "points turned about the third axis, a in radians"
    inputs = "point clouds of shape (points, 3)"
    reach = 1024.0  # of larger angles float32 holds fewer than 13 bits behind the point

    def checked(self, x: Any) -> NDArray[Any]:
        """One input in its own type; ArgumentError("x", ...) for others."""
        point = super().checked(x)
        if point.ndim != 2 or point.shape[1] != 3:
            raise ArgumentError(
                "x",
                f"must be a point cloud of shape (points, 3); got shape {point.shape}",
            )
        return point

    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        """Turn the points by an angle for each copy."""
        first, second, third = x[:, 0], x[:, 1], x[:, 2]
        cos, sin = column(xp.cos(a), first), column(xp.sin(a), first)
        turned = (
            cos * first - sin * second,
            sin * first + cos * second,
            third + 0 * cos,
        )
        return xp.stack(turned, -1)
