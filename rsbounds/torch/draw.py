"""Noisy copies of an input in blocks, one seed for each block.

Both functions return the copies, shape (blocks, size, *shape of x), in float32, and for each of
them whether it is void: a void copy counts for no class. Neither waits for the device.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from rsbounds.sampling import grid_noise as _grid_noise
from rsbounds.sampling import is_single, noise_level


def gaussian(
    x: torch.Tensor, sigma: float, size: int, seeds: list[int], generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """x + sigma Z with Z in float32 by torch's own generator, the level exact.

    The sum is formed in float64 if ``x`` is or float32 doesn't have the level, and rounded once.
    """
    level = noise_level(sigma)
    noisy = torch.empty((len(seeds), size, *x.shape), device=x.device)
    exact = x.dtype == torch.float64 or not is_single(level)
    for block, seed in zip(noisy, seeds, strict=True):
        block.normal_(generator=generator.manual_seed(seed))
        if exact:
            block.copy_(block.double().mul_(level).add_(x))
    if not exact:
        noisy.mul_(level).add_(x)
    return noisy, torch.zeros(len(seeds) * size, dtype=torch.bool, device=x.device)


def on_grid(
    x: torch.Tensor, sigma: float, size: int, seeds: list[int], generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """x + sigma Z rounded to the grid of 1/255, drawn exactly; ambiguous draws are void.

    ``x`` in whole numbers: 255 times the input.
    """
    thresholds, cells, zero = _tables(float(sigma), x.device)
    noisy = torch.empty((len(seeds), size, *x.shape), device=x.device)
    void = torch.zeros((len(seeds), size), dtype=torch.bool, device=x.device)
    u = torch.empty(size * x.numel(), dtype=torch.int64, device=x.device)
    for block, no, seed in zip(noisy, void, seeds, strict=True):
        u.random_(generator=generator.manual_seed(seed))  # [0, 2^63)
        below, ambiguous = count_below(u, thresholds, cells)
        no.copy_(ambiguous.view(size, -1).any(1))
        torch.div(below.view(block.shape) + (x - zero), _grid_noise.LEVELS, out=block)
    return noisy, void.flatten()


@lru_cache(maxsize=16)
def _tables(sigma: float, device: torch.device) -> tuple[torch.Tensor, torch.Tensor | None, int]:
    """The tables of one level on one device, sent there once; cells for a CPU alone."""
    thresholds, cells, zero = _grid_noise.tables(sigma)
    on_cpu = torch.as_tensor(cells) if device.type == "cpu" else None
    return torch.as_tensor(thresholds, device=device), on_cpu, zero


def count_below(
    u: torch.Tensor, thresholds: torch.Tensor, cells: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each u the number of thresholds <= u, and whether u equals one.

    The cells decide nearly all of them at once. To look at the rest alone, their number must be
    known: nothing on a CPU, but a GPU would have to be waited for. Without cells all are
    searched for.
    """
    if cells is None:
        count = torch.bucketize(u, thresholds, right=True)
        return count.int(), thresholds[(count - 1).clamp_(min=0)] == u
    count = cells.index_select(0, u >> (_grid_noise.BITS - _grid_noise.CELL_BITS))
    place = (count < 0).nonzero().squeeze(1)
    rest = u[place]
    found = torch.bucketize(rest, thresholds, right=True)
    count[place] = found.int()
    ambiguous = torch.zeros(u.shape, dtype=torch.bool)
    ambiguous[place] = thresholds[(found - 1).clamp_(min=0)] == rest
    return count, ambiguous


def whole(x: torch.Tensor) -> torch.Tensor:
    """255 x in whole numbers, for :func:`on_grid`; ValueError for an input off the grid."""
    return torch.as_tensor(_grid_noise.on_grid(x.detach().cpu().numpy()), device=x.device)
