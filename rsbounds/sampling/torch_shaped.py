"""Noise with a mean and a level on every axis, drawn as torch tensors.

Divided by its shape the noise is isotropic. The noise is a
:class:`rsbounds.torch.FixedNoise` or ``CertifiedNoise``: ``centre(x)`` is x + mean and
``offset(x)`` the mean alone, both in float64 and divided by ``shape``, on the host.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises import Noise, single
from rsbounds.sampling import torch_noise
from rsbounds.sampling.grid_noise import LEVELS, on_grid
from rsbounds.sampling.torch_draws import Blocks, copies
from rsbounds.sampling.torch_modules import TorchSampler
from rsbounds.sampling.torch_noise import NoiseBits


class _Shaped(Noise):
    """Noise of a shape, which torch draws."""

    level = None
    whole = False

    def __init__(self, noise: Any) -> None:
        self.law = noise.law
        self.given = noise
        self.shape = noise.shape.detach().cpu()

    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> Any:
        raise NotImplementedError("torch draws it")


class ShapedTensors(_Shaped):
    """Noise in float32, drawn in the coordinates divided by the shape."""

    def checked(self, x: Any) -> NDArray[np.float64]:
        single(x)
        point = torch.as_tensor(x, dtype=torch.float64, device="cpu")
        check_shape("x", point, self.shape.shape)
        with torch.no_grad():
            centre: NDArray[np.float64] = self.given.centre(point).numpy()
        return centre


class ShapedOnGrid(_Shaped):
    """Sound noise: x + mean + noise rounded to the grid of 1/255."""

    sound = True
    of_bits = True

    def checked(self, x: Any) -> NDArray[np.int32]:
        check_shape("x", x, self.shape.shape)
        return on_grid(single(x))


@copies.register
def _shaped(
    noise: ShapedTensors,
    x: torch.Tensor,
    sigma: float,
    size: int,
    seeds: list[int],
    bits: torch.Generator,
) -> Blocks:
    noisy, void = torch_noise.gaussian(x, sigma, size, seeds, bits)
    return noisy.mul_(noise.shape.float().to(noisy.device)), void


@copies.register
def _on_grid(
    noise: ShapedOnGrid,
    x: torch.Tensor,
    sigma: float,
    size: int,
    seeds: list[int],
    bits: NoiseBits,
) -> Blocks:
    scale = LEVELS * noise.shape.double()
    with torch.no_grad():
        centre = scale * noise.given.offset(x.cpu() / LEVELS)
    reach = float((centre.abs() + 10 * scale * sigma).max())
    if not reach < 2**30:
        raise ValueError(
            f"mean and level must be below 2^30/255 in sum; got {reach:.3g}/255"
        )
    steps = partial(
        torch_noise.rounded,
        centre=centre.to(x.device),
        scale=(scale * sigma).to(x.device),
    )
    return torch_noise.moved(x, steps, size, seeds, bits)


def shaped_tensors(
    noise: Any, model: torch.nn.Module, num_classes: int | None, **options: Any
) -> TorchSampler:
    """The sampler of a torch module under noise of a shape."""
    sound = options.pop("sound_noise", False)
    if options.pop("grid", LEVELS) != LEVELS:
        raise ArgumentError("grid", "must be 255 under noise of a shape")
    drawn = ShapedOnGrid(noise) if sound else ShapedTensors(noise)
    return TorchSampler(model, num_classes, noise=drawn, **options)


def check_shape(name: str, value: Any, expected: tuple[int, ...]) -> None:
    """ValueError for another shape.

    torch would broadcast, and the radius be of another dimension.
    """
    if np.shape(value) != expected:
        raise ValueError(
            f"{name} must be of shape {tuple(expected)}; got {tuple(np.shape(value))}"
        )
