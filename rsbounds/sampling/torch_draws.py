"""Blocks of noisy copies as torch tensors, each block from its name."""

from __future__ import annotations

from functools import partial, singledispatch
from typing import Any

import torch

from rsbounds.noises import Noise
from rsbounds.noises.grid_noise import LEVELS, OnGrid
from rsbounds.noises.internal import NormalNoise
from rsbounds.noises.shaped import ColumnNoise, ShapedNoise, ShapedOnGrid
from rsbounds.sampling import torch_bits, torch_noise
from rsbounds.sampling.streams import Block
from rsbounds.sampling.torch_noise import NoiseBits

#: Copies, block by block, and for each copy whether it is void.
Blocks = tuple[Any, torch.Tensor]


def placed(noise: Noise, x: Any, device: torch.device) -> Any:
    """A checked input on the device that copies are drawn on."""
    return torch_bits.on_device(x, device)


@singledispatch
def copies(
    noise: Noise, x: Any, sigma: float, size: int, names: list[Block], bits: Any
) -> Blocks:
    """Blocks of so many copies, one for each name, and which copies are void."""
    return torch_bits.copies(noise, x, sigma, size, names, bits)


@copies.register
def _gaussian(
    noise: NormalNoise, x: Any, sigma: float, size: int, names: list[Block], bits: Any
) -> Blocks:
    return torch_noise.gaussian(x, sigma, size, names, bits)


@copies.register
def _on_grid(
    noise: OnGrid, x: Any, sigma: float, size: int, names: list[Block], bits: Any
) -> Blocks:
    return torch_noise.on_grid(x, sigma, size, names, bits, noise.grid)


@copies.register
def _shaped(
    noise: ShapedNoise,
    x: torch.Tensor,
    sigma: float,
    size: int,
    names: list[Block],
    bits: torch.Generator,
) -> Blocks:
    shape = torch.from_numpy(noise.shape)
    point = x.cpu().double()
    with torch.no_grad():
        if isinstance(noise.noise, ColumnNoise):
            centre = point / shape.double()
        else:
            centre = noise.noise.centre(point)
    placed = centre.to(torch_noise.wide_device(x.device))
    noisy, void = torch_noise.gaussian(placed, sigma, size, names, bits, x.dtype)
    return noisy.mul_(shape.to(noisy.device)), void


@copies.register
def _shaped_on_grid(
    noise: ShapedOnGrid,
    x: torch.Tensor,
    sigma: float,
    size: int,
    names: list[Block],
    bits: NoiseBits,
) -> Blocks:
    scale = LEVELS * torch.from_numpy(noise.shape).double()
    centre = torch.zeros_like(scale)
    if not isinstance(noise.noise, ColumnNoise):  # which moves no input
        with torch.no_grad():
            centre = scale * noise.noise.offset(x.cpu() / LEVELS)
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
    return torch_noise.moved(x, steps, size, names, bits)
