"""Random bits on a device, which noises draw copies from.

They are those of torch's generators, or the operating system's.

As with the laws of :mod:`rsbounds.sampling.torch_noise` each block has one name, and
nothing waits for the device but the draws of sparse matrices. What is compared with a
probability is 63 random bits: they decide nothing where they are those of the
probability and it has more of them, and such a copy is void.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete.internal import Edges
from rsbounds.noises import Noise
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.streams import Block
from rsbounds.sampling.torch_noise import NoiseBits, fill, started, wide_device

_ALL = 2**63  # what 63 bits hold
END = -1  # behind the end of a sequence that has become shorter


class TorchBits:
    """:class:`rsbounds.noises.Bits` as tensors, for one block of copies."""

    xp: Any = torch

    def __init__(self, generator: NoiseBits, size: int, device: torch.device) -> None:
        self._generator = generator
        self._device = device
        self._void = torch.zeros(size, dtype=torch.bool, device=device)

    @property
    def void(self) -> torch.Tensor:
        """Which copies count for no class."""
        return self._void

    def discard(self, void: NDArray[np.bool_]) -> None:
        self._void |= self.array(void)

    def happens(self, chance: Fraction, shape: tuple[int, ...]) -> torch.Tensor:
        below, undecided = _place(chance)
        u = self._bits(shape)
        if undecided >= 0:
            self._leave(u == undecided)
        return u < below

    def happens_where(
        self,
        condition: torch.Tensor,
        chance: Fraction,
        otherwise: Fraction,
        size: int,
    ) -> torch.Tensor:
        first, first_undecided = _place(chance)
        second, second_undecided = _place(otherwise)
        u = self._bits((size, *condition.shape))
        if max(first_undecided, second_undecided) >= 0:
            self._leave(u == torch.where(condition, first_undecided, second_undecided))
        return u < torch.where(condition, first, second)

    def kept_or_changed(
        self,
        x: torch.Tensor,
        keep: Fraction,
        ways: int,
        changed: Callable[[Any, Any], Any],
        size: int,
    ) -> torch.Tensor:
        below, undecided = _place(keep)
        u = self._bits((size, *x.shape))
        open_ones = u == undecided
        # what is left of the bits chooses the way: as many of them for each
        start = below + (undecided >= 0)
        end = (_ALL - start) // ways * ways
        u -= start
        open_ones |= u >= end
        self._leave(open_ones)
        stays = u < 0
        return torch.where(stays, x, changed(x, u.remainder_(ways)).to(x.dtype))

    def below(self, end: int, shape: tuple[int, ...]) -> torch.Tensor:
        u = self._bits(shape)
        whole = _ALL // end * end
        if whole < _ALL:
            self._leave(u >= whole)
        return u.remainder_(end) if end < _ALL else u

    def choose(self, kept: int, size: int, shape: tuple[int, ...]) -> torch.Tensor:
        """The places of the smallest of as many keys.

        A key outside that equals the largest inside leaves the choice open, whatever
        the order of the keys.
        """
        keys = self._bits((size, math.prod(shape)))
        largest = keys.kthvalue(kept, dim=1, keepdim=True).values
        left = keys <= largest
        self._void |= left.sum(1) != kept
        return left.view(size, *shape)

    def uniform(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Uniform numbers in float64, or in float32 where the device has no float64."""
        numbers = self._floats(shape)
        if isinstance(self._generator, torch.Generator):
            return numbers.uniform_(generator=self._generator)
        digits = 53 if numbers.dtype == torch.float64 else 24
        return numbers.copy_(self._bits(shape) >> (63 - digits)).mul_(2.0**-digits)

    def normal(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Normal numbers, in the type of :meth:`uniform`."""
        if not isinstance(self._generator, torch.Generator):
            self._generator.bits.standard_normal(shape)
        return self._floats(shape).normal_(generator=self._generator)

    def on_host(self) -> ArrayBits:
        if not isinstance(self._generator, torch.Generator):
            return ArrayBits(self._generator.bits, len(self._void))
        # 126 bits of the block's generator: what follows is a function of its name
        bits = torch.empty(2, dtype=torch.int64, device=self._generator.device)
        seed = bits.random_(generator=self._generator).tolist()
        return ArrayBits(np.random.Generator(np.random.PCG64(seed)), len(self._void))

    def array(self, values: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(values).to(self._device)

    def like(self, batch: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return batch.to(x.dtype)

    def sequences(self, x: torch.Tensor, left: torch.Tensor) -> torch.Tensor:
        """Rows as long as x, with END behind the end of each sequence."""
        size, length = left.shape
        # deleted elements go to a column of their own behind the others
        place = torch.where(left, left.cumsum(1) - 1, length)
        batch = torch.full((size, length + 1), END, dtype=x.dtype, device=x.device)
        batch.scatter_(1, place, x.expand(size, -1))
        return batch[:, :length]

    def matrices(self, keys: NDArray[np.int64], like: Edges, size: int) -> torch.Tensor:
        """A sparse tensor (size, rows, columns); the places alone go to the device."""
        rows, columns = like.shape
        flat = self.array(keys)
        row = flat // columns
        dtype = torch.float32 if like.dtype == np.float32 else torch.int64
        return torch.sparse_coo_tensor(
            torch.stack([row // rows, row % rows, flat % columns]),
            torch.ones(len(flat), dtype=dtype, device=self._device),
            (size, rows, columns),
            is_coalesced=True,  # the places ascend, copy by copy
            check_invariants=False,
        )

    def _floats(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Numbers to be filled in, of the widest type that the device has."""
        wide = wide_device(self._device) == self._device
        dtype = torch.float64 if wide else torch.float32
        return torch.empty(shape, dtype=dtype, device=self._device)

    def _bits(self, shape: tuple[int, ...]) -> torch.Tensor:
        """63 random bits for each number."""
        u = torch.empty(shape, dtype=torch.int64, device=self._device)
        return fill(u, self._generator)

    def _leave(self, undecided: torch.Tensor) -> None:
        self._void |= undecided.flatten(1).any(1)


def _place(chance: Fraction) -> tuple[int, int]:
    """Place a probability in 63 bits.

    What is below happens, and what equals the second number, -1 if nothing does, is not
    decided.
    """
    scaled = chance * _ALL
    below = min(math.floor(scaled), _ALL - 1)
    return below, below if below != scaled else -1


def on_device(x: Any, device: torch.device) -> Any:
    """A checked input on the device that copies are drawn on; sparse ones stay."""
    if isinstance(x, list):  # of blocks
        return [on_device(part, device) for part in x]
    if isinstance(x, Edges):
        return x
    if x.dtype == np.float64 and wide_device(device) != device:
        raise ArgumentError(
            "x",
            f"must be float32 on the device {device.type}, which has no float64: round "
            "it before you certify it, or give device='cpu'; got float64",
        )
    return torch.from_numpy(x).to(device)


def copies(
    noise: Noise,
    x: Any,
    sigma: float,
    size: int,
    names: list[Block],
    generator: NoiseBits,
) -> tuple[Any, torch.Tensor]:
    """Blocks of copies, one for each name, and which copies are void.

    A tensor (blocks, size, *shape of x); a list of sparse ones (size, *shape of x).
    """
    batches = []
    voids = []
    for name in names:
        bits = TorchBits(started(generator, name), size, generator.device)
        batches.append(noise.copies(x, sigma, name.number * size, size, bits))
        voids.append(bits.void)
    if batches[0].is_sparse:
        return batches, torch.cat(voids)
    if len(batches) == 1:  # not copied
        return batches[0][None], voids[0]
    return torch.stack(batches), torch.cat(voids)


def row_of(batch: torch.Tensor, place: int) -> torch.Tensor:
    """One copy, safe from what a model does to the batch."""
    return batch[place].clone()


def repeated(row: torch.Tensor, rows: int) -> torch.Tensor:
    """So many copies of a row."""
    if row.is_sparse:
        stacked: torch.Tensor = torch.stack([row] * rows).coalesce()
        return stacked
    return row[None].expand(rows, *row.shape).contiguous()


def split(batch: torch.Tensor, parts: int) -> Any:
    """A batch in so many parts of nearly the same size."""
    if not batch.is_sparse:
        return batch.tensor_split(parts)
    if parts == 1:
        return [batch]
    places = torch.arange(len(batch), device=batch.device).tensor_split(parts)
    return [batch.index_select(0, place).coalesce() for place in places]
