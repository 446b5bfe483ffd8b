"""Counts of a torch module's classes under noise with a mean and a level on every axis.

In coordinates divided by the shape of the noise it is isotropic.
"""

from typing import Any, Protocol

import numpy as np
import torch

from rsbounds.sampling import torch_noise
from rsbounds.sampling.grid_noise import LEVELS
from rsbounds.sampling.torch_modules import TorchSampler


class Noise(Protocol):
    """The noise, as :class:`rsbounds.torch.FixedNoise` and ``CertifiedNoise`` describe it.

    ``centre(x)`` is x + mean and ``offset(x)`` the mean alone, both in float64 and divided by the
    shape, on the host. ``law`` names the noise.
    """

    law: Any
    shape: Any

    def centre(self, x: torch.Tensor) -> torch.Tensor: ...

    def offset(self, x: torch.Tensor) -> torch.Tensor: ...


class _Shaped(TorchSampler):
    def __init__(self, noise: Noise, model: Any, num_classes: int | None, **options: Any) -> None:
        super().__init__(model, num_classes, **options)
        self.law, self._noise = noise.law, noise
        self._shape = noise.shape.detach().float().to(self.device)


class ShapedSampler(_Shaped):
    """Noise in float32, drawn in the coordinates divided by the shape."""

    def centre(self, x: Any) -> torch.Tensor:
        x = torch.as_tensor(x, dtype=torch.float64, device="cpu")
        check_shape("x", x, self._shape.shape)
        with torch.no_grad():
            return self._noise.centre(x)

    def forward(self, batch: torch.Tensor) -> Any:
        return super().forward(batch * self._shape)


class GridSampler(_Shaped):
    """Sound noise: x + mean + noise rounded to the grid of 1/255."""

    def centre(self, x: Any) -> torch.Tensor:
        check_shape("x", x, self._shape.shape)
        return super().centre(x)

    def noisy(
        self, x: torch.Tensor, sigma: float, size: int, seeds: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        steps = LEVELS * self._noise.shape.detach().cpu().double()
        with torch.no_grad():
            centre = steps * self._noise.offset(x.cpu() / LEVELS)
        reach = float((centre.abs() + 10 * steps * sigma).max())
        if not reach < 2**30:
            raise ValueError(f"mean and level must be below 2^30/255 in sum; got {reach:.3g}/255")
        place = centre.to(self.device), (steps * sigma).to(self.device)
        return torch_noise.shaped_on_grid(x, *place, size, seeds, self._generator)


def check_shape(name: str, value: Any, expected: tuple[int, ...]) -> None:
    """ValueError for another shape: torch would broadcast, and the radius be of other dimension."""
    if np.shape(value) != expected:
        raise ValueError(f"{name} must be of shape {tuple(expected)}; got {tuple(np.shape(value))}")
