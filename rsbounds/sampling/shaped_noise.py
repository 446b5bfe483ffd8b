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

from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises import Gaussian, Noise, single
from rsbounds.sampling.adapters import Sampler, as_sampler
from rsbounds.sampling.arrays import ArraySampler
from rsbounds.sampling.bits import ArrayBits

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
    >>> from rsbounds.sampling.shaped_noise import ColumnNoise
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

    def sampler(
        self, model: Any, num_classes: int | None = None, **options: Any
    ) -> Sampler:
        """Return what counts classes under this noise.

        The model and ``options`` as for :func:`rsbounds.sampling.as_sampler`.
        """
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(model, torch.nn.Module):
            return shaped_arrays(self, model, **options)
        from rsbounds.sampling.torch_shaped import shaped_tensors

        return shaped_tensors(_Tensors(self), model, num_classes, **options)


class _Tensors:
    """A :class:`ColumnNoise` as samplers of torch modules read it."""

    def __init__(self, noise: ColumnNoise) -> None:
        torch: Any = sys.modules["torch"]
        self.law = noise.law
        self.shape = torch.from_numpy(noise.shape)

    def centre(self, x: Any) -> Any:
        return x / self.shape.double()

    def offset(self, x: Any) -> Any:
        return self.shape.double() * 0.0


def shaped_arrays(noise: Any, model: Any, **options: Any) -> Sampler:
    """The sampler of a model of NumPy batches under noise of a shape.

    ``noise`` is a :class:`ColumnNoise`, or noise of :mod:`rsbounds.torch`:
    ``centre(x)`` is x + mean divided by ``shape``, in float64.
    """
    ready: Any = as_sampler(model, **options)
    if ready is model or not isinstance(ready, ArraySampler):
        raise ValueError(
            "noise of a shape needs a model; got a sampler, which draws its own noise: "
            f"{type(model).__name__}"
        )
    if ready.sound_noise:
        raise ArgumentError(
            "sound_noise", "needs a torch module under noise of a shape"
        )
    return ArraySampler(ready.classifier, noise=ShapedNoise(noise))


class ShapedNoise(Noise):
    """Noise of a shape, drawn in the coordinates divided by it.

    Copies of x + mean + sigma shape Z.
    """

    level = None
    whole = False

    def __init__(self, noise: Any) -> None:
        self.law: str = noise.law
        self._noise = noise
        self._shape = np.asarray(noise.shape, dtype=np.float32)

    def checked(self, x: Any) -> NDArray[np.float64]:
        """Return x + mean, divided by the shape."""
        point = single(x)
        if point.shape != self._shape.shape:
            raise ArgumentError(
                "x", f"must be of shape {self._shape.shape}; got {point.shape}"
            )
        if isinstance(self._noise, ColumnNoise):
            return np.asarray(self._noise.centre(point))
        torch = sys.modules["torch"]
        with torch.no_grad():
            centre = self._noise.centre(torch.from_numpy(point).double())
        return np.asarray(centre.numpy())

    def noisy(self, x: Any, sigma: float, size: int, bits: ArrayBits) -> Any:
        return Gaussian().noisy(x, sigma, size, bits) * self._shape
