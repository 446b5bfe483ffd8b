"""Blocks of noisy copies as torch tensors, each block from one seed."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch

from rsbounds.noises import Gaussian, Noise
from rsbounds.sampling import torch_bits, torch_noise
from rsbounds.sampling.grid_noise import OnGrid

#: Copies, block by block, and for each copy whether it is void.
Blocks = tuple[Any, torch.Tensor]


def placed(noise: Noise, x: Any, device: torch.device) -> Any:
    """A checked input on the device that copies are drawn on."""
    return torch_bits.on_device(x, device)


@singledispatch
def copies(
    noise: Noise, x: Any, sigma: float, size: int, seeds: list[int], bits: Any
) -> Blocks:
    """Blocks of so many copies, one for each seed, and which copies are void."""
    return torch_bits.copies(noise, x, sigma, size, seeds, bits)


@copies.register
def _gaussian(
    noise: Gaussian, x: Any, sigma: float, size: int, seeds: list[int], bits: Any
) -> Blocks:
    return torch_noise.gaussian(x, sigma, size, seeds, bits)


@copies.register
def _on_grid(
    noise: OnGrid, x: Any, sigma: float, size: int, seeds: list[int], bits: Any
) -> Blocks:
    return torch_noise.on_grid(x, sigma, size, seeds, bits, noise.levels)
