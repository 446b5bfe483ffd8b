"""Gaussian noise with a level for each number of an input, for models of any framework.

Divided by the noise's shape it is isotropic: there it is drawn, and multiplied by the
shape it reaches the model.
"""

from __future__ import annotations

import hashlib
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import as_floats, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises._drawn import Noise
from rsbounds.noises._inputs import floating
from rsbounds.noises._normal import normal_copies
from rsbounds.noises.grid_noise import LEVELS, on_grid

_TINY = float(np.finfo(np.float32).tiny)


class ColumnNoise:
    """Noise of a level for each number of an input, the same at every input.

    ``level`` is the geometric mean of the levels as a float32 number; the level of each
    number is exactly that times ``shape``, in float32 too.

    Parameters
    ----------
    levels : array_like, shape of one input
        Standard deviations of the noise, > 0, each in the unit of its number.

    Raises
    ------
    ValueError
        If a level isn't positive and finite, or their ratios are beyond float32.

    Examples
    --------
    >>> from rsbounds.noises.shaped import ColumnNoise
    >>> noise = ColumnNoise([0.5, 2.0])
    >>> noise.level, noise.shape.tolist()
    (1.0, [0.5, 2.0])
    """

    def __init__(self, levels: ArrayLike) -> None:
        axes = as_floats("levels", levels, 0, closed="neither", nan=False)
        if not axes.size or not axes.ndim:
            raise ArgumentError("levels", "must be an array of a level for each number")
        mean = math.exp(float(np.mean(np.log(axes))))
        self.level = float(np.float32(mean))
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            self.shape = (axes / self.level).astype(np.float32)
        if not ((self.shape >= _TINY) & (self.shape < np.inf)).all():
            raise ArgumentError(
                "levels",
                "must keep their ratios to the geometric mean within float32's range; "
                f"got levels from {axes.min():.2g} to {axes.max():.2g}",
            )
        digest = hashlib.sha256(f"levels {axes.shape} {self.level!r}".encode())
        digest.update(self.shape.tobytes())
        self.law = digest.hexdigest()

    def level_at(self, x: Any) -> float:
        """The level, the same at every input of the right shape."""
        if np.shape(x) != self.shape.shape:
            raise ArgumentError(
                "x", f"must be of shape {self.shape.shape}; got {np.shape(x)}"
            )
        return self.level

    def centre(self, x: Any) -> Any:
        """Divide x by the shape, in float64."""
        self.level_at(x)
        return np.asarray(x, dtype=np.float64) / self.shape


class ShapedNoise(Noise):
    """Noise of a shape, drawn in the coordinates divided by it.

    Copies of x + mean + sigma shape Z.

    Parameters
    ----------
    noise : ColumnNoise, or noise of :mod:`rsbounds.torch`
        Has the ``law``, the ``shape``, and ``centre(x)``: x + mean divided by the
        shape, in float64.
    """

    level = None
    of_whole_numbers = False

    def __init__(self, noise: Any) -> None:
        self.law: str = noise.law
        self.noise = noise
        self.shape = on_host("shape", noise.shape).astype(np.float32)

    def checked(self, x: Any) -> NDArray[Any]:
        point = floating(x)
        check_shape("x", point, self.shape.shape)
        return point

    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> Any:
        centre = self._centre(x)
        drawn = normal_copies(centre, sigma, size, bits.generator, x.dtype)
        return drawn * self.shape

    def rounded(self, levels: int) -> Noise:
        if levels != LEVELS:
            raise ArgumentError("grid", "must be 255 under noise of a shape")
        return ShapedOnGrid(self.noise)

    def _centre(self, point: NDArray[Any]) -> NDArray[np.float64]:
        """Return x + mean, divided by the shape."""
        if isinstance(self.noise, ColumnNoise):
            return np.asarray(self.noise.centre(point))
        torch = sys.modules["torch"]
        with torch.no_grad():
            centre = self.noise.centre(torch.from_numpy(point).double())
        return np.asarray(centre.numpy())


class ShapedOnGrid(ShapedNoise):
    """Sound noise: x + mean + noise rounded to the grid of 1/255, which torch draws."""

    grid = LEVELS
    of_bits = True

    def checked(self, x: Any) -> NDArray[np.int32]:
        check_shape("x", x, self.shape.shape)
        return on_grid(floating(x))

    def check_model(self, model: Any) -> None:
        super().check_model(model)
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(model, torch.nn.Module):
            raise ArgumentError(
                "model", "must be a torch module for noise of a shape on a grid"
            )

    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> Any:
        raise NotImplementedError("torch draws it")


def check_shape(name: str, value: Any, expected: tuple[int, ...]) -> None:
    """ArgumentError for another shape.

    It would be broadcast, and the radius be of another dimension.
    """
    if np.shape(value) != expected:
        raise ArgumentError(
            name, f"must be of shape {tuple(expected)}; got {tuple(np.shape(value))}"
        )
