"""Noisy copies of an input in blocks, one seed for each block.

Both functions return the copies, shape (blocks, size, *shape of x), and for each of them
whether it is void: a void copy counts for no class.
"""

from __future__ import annotations

import torch

from rsbounds.sampling import grid_noise as _grid_noise
from rsbounds.sampling import noise_level


def gaussian(
    x: torch.Tensor, sigma: float, size: int, seeds: list[int], generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """x + sigma Z in float32, Z by torch's own generator."""
    noisy = torch.empty((len(seeds), size, *x.shape), device=x.device)
    for block, seed in zip(noisy, seeds, strict=True):
        block.normal_(generator=generator.manual_seed(seed))
    noisy.mul_(float(noise_level(sigma))).add_(x)
    return noisy, torch.zeros(len(seeds) * size, dtype=torch.bool, device=x.device)


def on_grid(
    x: torch.Tensor, sigma: float, size: int, seeds: list[int], generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """x + sigma Z rounded to the grid of 1/255, drawn exactly; ambiguous draws are void."""
    whole = torch.as_tensor(_grid_noise.on_grid(x.cpu().numpy()), device=x.device)
    tables = _grid_noise.tables(float(sigma))
    thresholds, cells = (torch.as_tensor(t, device=x.device) for t in (tables[0], tables[1]))
    noisy = torch.empty((len(seeds), size, *x.shape), device=x.device)
    void = torch.zeros((len(seeds), size), dtype=torch.bool, device=x.device)
    u = torch.empty(size * x.numel(), dtype=torch.int64, device=x.device)
    for block, no, seed in zip(noisy, void, seeds, strict=True):
        u.random_(generator=generator.manual_seed(seed))  # [0, 2^63)
        below, ambiguous = count_below(u, thresholds, cells)
        no[ambiguous // x.numel()] = True
        torch.div(below.view(block.shape) + (whole - tables[2]), _grid_noise.LEVELS, out=block)
    return noisy, void.flatten()


def count_below(
    u: torch.Tensor, thresholds: torch.Tensor, cells: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each u the number of thresholds <= u, and where u equals one."""
    count = cells.index_select(0, u >> (_grid_noise.BITS - _grid_noise.CELL_BITS))
    place = (count < 0).nonzero().squeeze(1)
    rest = u[place]
    found = torch.bucketize(rest, thresholds, right=True)
    count[place] = found.int()
    return count, place[thresholds[(found - 1).clamp_(min=0)] == rest]
