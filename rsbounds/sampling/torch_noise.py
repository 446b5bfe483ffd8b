"""Noisy copies of an input as torch tensors, in blocks with a name each.

The laws return the copies, shape (blocks, size, *shape of x), and for each copy whether
it is void: a void copy counts for no class. None of them waits for the device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import LEVELS, STEP
from rsbounds.noises.internal import fill_copies, is_single, noise_level
from rsbounds.sampling.streams import Block
from rsbounds.sampling.system_bits import SystemBits

# thirty times the rounding of scale Z + centre, which is below 5e-16 (10 scale +
# centre)
_MARGIN = 2.0**-46
# where a generator on a CPU has the words of its twister, behind the first
_WORDS = slice(4, 627)
_REST = 617
# blocks of a phase or a stage begin at multiples of this
_TURN = 2**23
_AT_ONCE = 64  # states that are made together, at most: they take 5 KB each


def gaussian(
    x: torch.Tensor,
    sigma: float,
    size: int,
    names: list[Block],
    generator: torch.Generator,
    dtype: torch.dtype | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw x + sigma Z with Z in float32, by torch's own generator.

    The level is exact.

    The sum is formed in float64 unless input, level and copies are float32 numbers.
    It is rounded to ``dtype``, by default that of ``x``, which is on the device of the
    generator, or in float64 on the CPU where that has no such type. On a CPU one pass
    makes copies in float32 of their draws.
    """
    level = noise_level(sigma)
    dtype = dtype or x.dtype
    device = generator.device
    shape = (size, *x.shape)
    noisy = torch.empty((len(names), *shape), device=device, dtype=dtype)
    single = x.dtype == dtype == torch.float32 and is_single(level)
    at_once = (
        device.type == x.device.type == "cpu"
        and dtype == torch.float32
        and x.dtype in (torch.float32, torch.float64)
    )
    for block, name in zip(noisy.unbind(), names, strict=True):
        # Z is drawn in float32 whatever the type of the copies
        z = block if dtype == torch.float32 else torch.empty(shape, device=device)
        # the operating system draws no normal numbers: see require_system_noise
        z.normal_(generator=cast(torch.Generator, started(generator, name)))
        if not (single or at_once):
            block.copy_(wide(z).mul_(level).add_(x.to(wide_device(device))))
    if at_once:
        fill_copies(noisy.numpy(), level, x.numpy(force=True))
    elif single:
        noisy.mul_(level).add_(x)
    return noisy, torch.zeros(len(names) * size, dtype=torch.bool, device=device)


def wide_device(device: torch.device) -> torch.device:
    """Where numbers of a device are computed with in float64.

    Apple's GPUs have no such type: the CPU has.
    """
    return torch.device("cpu") if device.type in NO_FLOAT64 else device


NO_FLOAT64 = {"mps"}


def wide(x: torch.Tensor) -> torch.Tensor:
    """``x`` in float64, on its device if that has the type; a gradient passes."""
    return x.to(wide_device(x.device)).double()


def on_grid(
    x: torch.Tensor,
    sigma: float,
    size: int,
    names: list[Block],
    generator: NoiseBits,
    levels: int = LEVELS,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw x + sigma Z rounded to the grid of 1/255, exactly.

    Ambiguous draws are void. ``x`` holds whole numbers: 255 times the input.
    """
    thresholds, cells, zero = _tables(float(sigma), x.device, levels)

    def steps(u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        below, ambiguous = count_below(u.flatten(), thresholds, cells)
        return below.view(u.shape), ambiguous

    return moved(x - zero, steps, size, names, generator, levels)


def moved(
    x: torch.Tensor,
    steps: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
    size: int,
    names: list[Block],
    generator: NoiseBits,
    levels: int = LEVELS,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add to x the steps that 63 random bits give, over 255.

    ``steps`` says which are ambiguous.
    """
    noisy = torch.empty((len(names), size, *x.shape), device=x.device)
    void = torch.zeros((len(names), size), dtype=torch.bool, device=x.device)
    u = torch.empty((size, *x.shape), dtype=torch.int64, device=x.device)
    for block, no, name in zip(noisy, void, names, strict=True):
        fill(u, started(generator, name))
        count, ambiguous = steps(u)
        no.copy_(ambiguous.view(size, -1).any(1))
        torch.div(count + x, levels, out=block)
    return noisy, void.flatten()


class SystemGenerator:
    """The operating system's bits where torch's generator would draw on a device."""

    def __init__(self, bits: SystemBits, device: torch.device) -> None:
        self.bits = bits
        self.device = device


#: What blocks of noise are drawn of: torch's generator, started anew for each, or the
#: operating system.
NoiseBits = torch.Generator | SystemGenerator


def started(generator: NoiseBits, name: Block) -> NoiseBits:
    """The generator at the start of the block of that name.

    On a CPU torch reads 32 bits of a seed alone, so that the whole state is set, which
    holds the name itself: no two names have one state. Other devices have a generator
    that counts under a key of 64 bits, which is the seed.
    """
    if isinstance(generator, SystemGenerator):
        return generator
    if generator.device.type != "cpu":
        return generator.manual_seed(name.seed)
    # 1, 1, 2, 4 ... 64 blocks: between two of them all of this code leaves the cache
    place = name.number % _TURN
    size = min(1 << max(place.bit_length() - 1, 0), _AT_ONCE)
    behind = place % size
    generator.set_state(_states(name.key, name.number - behind, size)[behind])
    return generator


@lru_cache(maxsize=4)
def _states(key: int, first: int, size: int) -> tuple[torch.Tensor, ...]:
    """The states of generators on a CPU at the start of so many blocks of a key."""
    states = np.tile(_first_state(), (size, 1))
    for state, number in zip(states, range(first, first + size), strict=True):
        state[_WORDS] = words_of(Block(key, number))
    # a storage each: set_state crashes for a view behind the start of its storage
    return tuple(torch.from_numpy(state.view(np.uint8)) for state in states)


def words_of(name: Block) -> NDArray[np.uint32]:
    """The name in 6 words, and 617 of SHAKE128 of it.

    They are those of a Mersenne twister behind its first word, of which one bit counts.
    """
    start = name.key.to_bytes(16, "little") + name.number.to_bytes(8, "little")
    rest = hashlib.shake_128(start).digest(4 * _REST)
    return np.frombuffer(start + rest, "<u4")


@lru_cache(maxsize=1)
def _first_state() -> NDArray[np.int64]:
    """The state of torch's generator on a CPU, to be filled with words.

    RuntimeError if this version of torch keeps them elsewhere than others do: what it
    draws is compared with NumPy's twister of the same words.
    """
    generator = torch.Generator()
    state: NDArray[np.int64] = generator.manual_seed(0).get_state().numpy()
    state = state.view(np.int64).copy()
    state[_WORDS.start - 1] = 2**31  # as NumPy has it: no state is all 0
    tried = state.copy()
    words = words_of(Block(0, 0))
    tried[_WORDS] = words
    generator.set_state(torch.from_numpy(tried.view(np.uint8)))
    twister = np.random.MT19937()
    key = np.concatenate([np.array([2**31], np.uint32), words])
    twister.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    drawn = torch.empty(1000, dtype=torch.int32).random_(generator=generator)
    expected = twister.random_raw(1000) % 2**31
    if not np.array_equal(drawn.numpy(), expected):
        raise RuntimeError(
            f"torch {torch.__version__} keeps the state of its generator in another "
            "form, so that no noise can be drawn by it: take another version, or a "
            "model of NumPy arrays"
        )
    return state


def fill(u: torch.Tensor, generator: NoiseBits) -> torch.Tensor:
    """Random whole numbers in [0, 2^63) in place of those of an int64 tensor."""
    if isinstance(generator, SystemGenerator):  # on the CPU, and moved
        numbers = generator.bits.whole(u.numel())
        return u.copy_(torch.from_numpy(numbers).view(u.shape))
    return u.random_(generator=generator)


def rounded(
    u: torch.Tensor, centre: torch.Tensor, scale: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Round centre + scale Z, both in 1/255, to the nearest whole number.

    Beside it, which draws are ambiguous.

    u holds the first 63 bits of Phi(Z). The table of scores gives an interval of Z.
    Where its ends round to two numbers, the series of Phi about the lower end makes the
    interval as narrow as the bits of u allow; where the new ends round differently as
    well, the draw is ambiguous.
    """
    z, thresholds, density, cells = _scores(u.device)
    count, ambiguous = count_below(u.flatten(), thresholds, cells)
    cell = (count - 1).view(u.shape)
    edge = _MARGIN * (10 * scale + centre.abs() + 1)
    low = z[cell].mul_(scale).add_(centre)
    first = torch.floor(low + (0.5 - edge))
    last = low.add_(scale * STEP + (0.5 + edge)).floor_()
    place = ((first != last) & ~ambiguous.view(u.shape)).nonzero(as_tuple=True)
    there = cell[place]
    start, height = z[there], density[there]
    beyond = (u[place] - thresholds[there]).double()
    scale, centre, edge = (a.expand(u.shape)[place] for a in (scale, centre, edge))
    near, far = (_beyond(start, (beyond + side) / height) for side in (-1, 1))
    first[place] = torch.floor(scale * (start + near) + centre + (0.5 - edge))
    last[place] = torch.floor(scale * (start + far) + centre + (0.5 + edge))
    return first.int(), (first != last) | ambiguous.view(u.shape)


def _beyond(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The t in [0, STEP] at which the integral of exp(-z s - s^2/2) from 0 to t is y.

    Three Newton steps: the first guess y is off by z t^2/2 < 5e-6, each step squares
    the error times z/2. Eight terms of the series leave 1e-19 of t.
    """
    t = y.clamp(0, STEP)
    for _ in range(3):
        power, total = t, t.clone()
        before, here = torch.ones_like(z), -z  # Hermite polynomials, signs alternating
        for n in range(2, 9):
            power = power * t / n
            total += here * power
            before, here = here, -z * here - (n - 1) * before
        t = t - (total - y) * torch.exp(t * (z + t / 2))
        t = t.clamp(0, STEP)
    return t


@lru_cache(maxsize=16)
def _scores(device: torch.device) -> tuple[Any, Any, Any, Any]:
    """The table of scores on one device; cells for a CPU alone."""
    *columns, cells = grid_noise.scores()
    z, thresholds, density = (torch.from_numpy(a).to(device) for a in columns)
    on_cpu = torch.from_numpy(cells) if device.type == "cpu" else None
    return z, thresholds, density, on_cpu


@lru_cache(maxsize=16)
def _tables(
    sigma: float, device: torch.device, levels: int
) -> tuple[torch.Tensor, torch.Tensor | None, int]:
    """The tables of one level on one device; cells for a CPU alone."""
    thresholds, cells, zero = grid_noise.tables(sigma, levels)
    on_cpu = torch.from_numpy(cells) if device.type == "cpu" else None
    return torch.from_numpy(thresholds).to(device), on_cpu, zero


def count_below(
    u: torch.Tensor, thresholds: torch.Tensor, cells: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each u the number of thresholds <= u, and whether u equals one of them.

    The cells decide nearly all, and a search the rest. On a GPU, where one would have
    to wait for the number of the rest, there are no cells and all are searched.
    """
    if cells is None:
        count = torch.bucketize(u, thresholds, right=True)
        return count.int(), thresholds[(count - 1).clamp_(min=0)] == u
    count = cells.index_select(0, u >> (grid_noise.BITS - grid_noise.CELL_BITS))
    place = (count < 0).nonzero().squeeze(1)
    rest = u[place]
    searched = torch.bucketize(rest, thresholds, right=True)
    count[place] = searched.int()
    ambiguous = torch.zeros(u.shape, dtype=torch.bool, device=u.device)
    ambiguous[place] = thresholds[(searched - 1).clamp_(min=0)] == rest
    return count, ambiguous


def whole(x: torch.Tensor, levels: int = LEVELS) -> torch.Tensor:
    """``levels`` x in whole numbers, for :func:`on_grid`; ValueError off the grid."""
    steps = grid_noise.on_grid(x.detach().cpu().numpy(), levels)
    return torch.from_numpy(steps).to(x.device)
