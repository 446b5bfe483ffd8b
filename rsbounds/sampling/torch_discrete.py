"""Copies under the noises of :mod:`rsbounds.sampling.noises` as torch tensors.

As with the laws of :mod:`rsbounds.sampling.torch_noise` each block has one seed, and
nothing waits for the device but the draws of sparse matrices. What is compared with a
probability is 63 random bits: they decide nothing where they are those of the
probability and it has more of them, and such a copy is void.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

import torch

from rsbounds._numerics.errors import ArgumentError
from rsbounds.sampling import torch_edges
from rsbounds.sampling.blocks import noise_level, outcome_block
from rsbounds.sampling.noises import (
    END,
    Blocks,
    Categorical,
    Deletion,
    Edges,
    Flips,
    Laplace,
    Mask,
    Noise,
    Splitting,
    Uniform,
)
from rsbounds.sampling.torch_noise import wide_device

_ALL = 2**63  # what 63 bits hold

Void = torch.Tensor
Drawn = tuple[torch.Tensor, Void]


class Chance(NamedTuple):
    """A probability in 63 bits: what lies below happens.

    What equals ``ambiguous`` (-1 if nothing does) is not decided.
    """

    below: int
    ambiguous: int

    @classmethod
    def of(cls, chance: Fraction) -> Chance:
        scaled = chance * _ALL
        below = min(math.floor(scaled), _ALL - 1)
        return cls(below, below if below != scaled else -1)


def on_device(noise: Noise, x: Any, device: torch.device) -> Any:
    """A checked input on the device that copies are drawn on."""
    if isinstance(x, list):  # of blocks
        return [on_device(noise, part, device) for part in x]
    if isinstance(x, Edges):
        return torch_edges.TorchEdges.of(x, device)
    return torch.from_numpy(x).to(device)


def copies(
    noise: Noise,
    x: Any,
    sigma: float,
    size: int,
    seeds: list[int],
    generator: torch.Generator,
) -> tuple[Any, Void]:
    """Blocks of copies, one for each seed, and which copies are void.

    A tensor (blocks, size, *shape of x); a list of sparse ones (size, *shape of x).
    """
    batches = []
    voids = []
    for seed in seeds:
        if noise.outcomes is None:
            batch, void = drawn(noise, x, sigma, size, generator.manual_seed(seed))
        else:
            batch, void = _outcomes(noise, x, size, outcome_block(seed) * size)
        batches.append(batch)
        voids.append(void)
    if batches[0].is_sparse:
        return batches, torch.cat(voids)
    if len(batches) == 1:  # not copied
        return batches[0][None], voids[0]
    return torch.stack(batches), torch.cat(voids)


@singledispatch
def drawn(
    noise: Noise, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    """One block of copies, and which are void."""
    raise ArgumentError(
        "noise",
        f"must be one that torch draws; got {noise}, which a sampler of NumPy arrays "
        "draws",
    )


@drawn.register
def _uniform(
    noise: Uniform, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    level = noise_level(sigma)
    u = _uniforms((size, *x.shape), generator, x.device)
    return _added(x, u.mul_(2 * level).sub_(level)), _none(size, x.device)


@drawn.register
def _laplace(
    noise: Laplace, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    signed = _uniforms((size, *x.shape), generator, x.device).mul_(2).sub_(1)
    # 1 - |u| is at least 2^-52: the largest draw is 36 scales
    tail = signed.abs().neg_().log1p_().clamp_(min=-36.1).neg_()
    noise_there = tail.mul_(signed.sign()).mul_(noise_level(sigma))
    return _added(x, noise_there), _none(size, x.device)


@drawn.register
def _categorical(
    noise: Categorical, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    below, ambiguous = Chance.of(noise.keep)
    u = _bits((size, *x.shape), generator, x.device)
    undecided = u == ambiguous
    # what is left of the bits chooses one of the others: as many for each of them
    others = noise.values - 1
    start = below + (ambiguous >= 0)
    end = (_ALL - start) // others * others
    u -= start
    undecided |= u >= end
    kept = u < 0
    other = u.remainder_(others).to(x.dtype)
    # values from x on move up by one
    other += other >= x
    return torch.where(kept, x, other), _any(undecided)


@drawn.register
def _flips(
    noise: Flips, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    if isinstance(x, torch_edges.TorchEdges):
        return torch_edges.flipped(noise, x, size, generator)
    if noise.symmetric:
        above = torch.triu_indices(len(x), len(x), offset=1, device=x.device)
        flat = x[above[0], above[1]]
        pairs, void = _flipped(noise, flat, size, generator)
        batch = x.expand(size, *x.shape).clone()
        batch[:, above[0], above[1]] = pairs
        batch[:, above[1], above[0]] = pairs
        return batch, void
    return _flipped(noise, x, size, generator)


def _flipped(noise: Flips, x: Any, size: int, generator: torch.Generator) -> Drawn:
    add, delete = Chance.of(noise.add), Chance.of(noise.delete)
    zero = x == 0
    below = torch.where(zero, add.below, delete.below)
    ambiguous = torch.where(zero, add.ambiguous, delete.ambiguous)
    u = _bits((size, *x.shape), generator, x.device)
    return torch.where(u < below, 1 - x, x), _any(u == ambiguous)


@drawn.register
def _mask(
    noise: Mask, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    u = _bits((size, *x.shape), generator, x.device)
    hidden = torch.tensor(noise.hidden, dtype=x.dtype, device=x.device)
    if noise.kept is None:
        assert noise.probability is not None
        below, ambiguous = Chance.of(noise.probability)
        return torch.where(u < below, x, hidden), _any(u == ambiguous)
    # the places of the smallest keys; a key outside that equals the largest inside
    # leaves the choice open, whatever the order of the keys
    keys = u.flatten(1)
    largest = keys.kthvalue(noise.kept, dim=1, keepdim=True).values
    left = keys <= largest
    void = left.sum(1) != noise.kept
    return torch.where(left.view(u.shape), x, hidden), void


@drawn.register
def _deletion(
    noise: Deletion, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    below, ambiguous = Chance.of(noise.delete)
    u = _bits((size, *x.shape), generator, x.device)
    left = u >= below
    # deleted elements go to a column of their own behind the others
    place = torch.where(left, left.cumsum(1) - 1, len(x))
    batch = torch.full((size, len(x) + 1), END, dtype=torch.int64, device=x.device)
    batch.scatter_(1, place, x.expand(size, -1))
    return batch[:, : len(x)], _any(u == ambiguous)


@drawn.register
def _blocks(
    noise: Blocks, x: Any, sigma: float, size: int, generator: torch.Generator
) -> Drawn:
    parts = [
        drawn(of_part, part, sigma, size, generator)
        for of_part, part in zip(noise.noises, x, strict=True)
    ]
    void = parts[0][1]
    for _, of_part in parts[1:]:
        void = void | of_part
    batch = torch.cat([of_part for of_part, _ in parts], dim=-1)
    return batch.coalesce() if batch.is_sparse else batch, void


def _outcomes(noise: Any, x: torch.Tensor, size: int, first: int) -> Drawn:
    assert isinstance(noise, Splitting)
    offsets = torch.from_numpy(noise.offsets(tuple(x.shape))).to(x.device)
    shift = torch.arange(first, first + size, device=x.device)
    shift = shift.view(-1, *(1,) * x.ndim)
    batch = noise.middles(x, offsets + shift).float()
    return batch, _none(size, x.device)


def _bits(
    shape: tuple[int, ...], generator: torch.Generator, device: torch.device
) -> torch.Tensor:
    """63 random bits for each number."""
    u = torch.empty(shape, dtype=torch.int64, device=device)
    return u.random_(generator=generator)


def _uniforms(
    shape: tuple[int, ...], generator: torch.Generator, device: torch.device
) -> torch.Tensor:
    """Uniform on [0, 1) in float64, or in float32 where the device has no float64."""
    wide = wide_device(device) == device
    u = torch.empty(
        shape, dtype=torch.float64 if wide else torch.float32, device=device
    )
    return u.uniform_(generator=generator)


def _added(x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """x and noise, rounded to float32 once."""
    return noise.add_(x).float()


def _any(undecided: torch.Tensor) -> Void:
    return undecided.flatten(1).any(1)


def _none(size: int, device: torch.device) -> Void:
    return torch.zeros(size, dtype=torch.bool, device=device)
