"""One input, and the noise on it: its level, its blocks, and its random streams."""

from __future__ import annotations

import operator
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises import noise_level as noise_level
from rsbounds.noises import single as single
from rsbounds.sampling.system_bits import Randomness, SystemBits


def is_single(sigma: float) -> bool:
    """Whether a level is one of float32's numbers; any other is multiplied in float64.

    Rounded to float32 a level that follows the input would jump, which no envelope
    allows.
    """
    return float(np.float32(sigma)) == sigma


def noisy(
    x: NDArray[np.float32], sigma: float, size: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """``size`` copies of x + sigma Z.

    The level is exact, and each number is rounded to float32 at last.
    """
    level = noise_level(sigma)
    batch = generator.standard_normal((size, *x.shape), dtype=np.float32)
    exact: NDArray[Any] = batch if is_single(level) else batch.astype(np.float64)
    exact *= exact.dtype.type(level)
    exact += x
    return exact.astype(np.float32, copy=False)


def block_size(n: int, dim: int, cells: int = 2**18) -> int:
    """Samples in one block of noise, which is also the batch of every forward pass.

    About ``cells`` numbers (a size that fits a processor's cache), between 16 and 4096
    samples, and evened out so that the last block is nearly as full as the others.

    Examples
    --------
    >>> from rsbounds.sampling.blocks import block_size
    >>> block_size(100, 784), block_size(100_000, 784), block_size(100_000, 150_528)
    (100, 334, 16)
    """
    if dim < 1:
        raise ValueError("x must have at least one number; got an empty input")
    if n < 1:
        raise ArgumentError("n", f"must be >= 1; got {n}")
    blocks = -(-n // min(max(cells // dim, 16), 4096))
    return -(-n // blocks)


class Phase(IntEnum):
    """What the samples of a stream are for; the numbers are part of the seed."""

    SELECT = 0
    ESTIMATE = 1
    PREDICT = 2
    SEARCH = 3
    BOUND = 4


_PHASES = 8
_STAGES = 64
_BLOCKS = 2**32 // _PHASES
# last word of the keys of a stage, of four words or more; other keys have three at most
_OF_STAGES = 0x52554C45
_ODD = 0x9E3779B1  # any odd number makes k -> k odd + start mod 2^32 one-to-one


class Stream(np.random.Generator):
    """The generator of one phase of one input, or of one of its stages.

    Samplers with a generator of their own (torch's) draw each block of noise from one
    seed of 32 bits, :meth:`seeds`. All seeds of one input are distinct, within a phase,
    across phases and across stages: two blocks of an input never hold the same noise.

    Parameters
    ----------
    seed, index : int
        Of the run and of the input, >= 0.
    phase : Phase
        What the samples are for.
    stage : int, optional
        Which noise level of a decision list, in [0, 64).

    Examples
    --------
    >>> from rsbounds.sampling import Phase, stream
    >>> draws = [stream(0, 0, Phase.SELECT, k).random() for k in (0, 1, 0)]
    >>> draws[0] == draws[2] != draws[1]
    True
    """

    def __init__(
        self, seed: int, index: int, phase: int, stage: int | None = None
    ) -> None:
        seed, index = _whole("seed", seed), _whole("index", index)
        phase = _whole("phase", phase)
        stage = None if stage is None else _whole("stage", stage)
        if not phase < _PHASES:
            raise ArgumentError("phase", f"must be in [0, {_PHASES}); got {phase}")
        if not (stage or 0) < _STAGES:
            raise ArgumentError("stage", f"must be in [0, {_STAGES}); got {stage}")
        key: tuple[int, ...] = (index, phase)
        input_key: tuple[int, ...] = (index,)
        if stage is not None:
            key = (index, phase, stage, _OF_STAGES)
            input_key = (index, _OF_STAGES)
        super().__init__(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
        self.index = index
        self._arguments = (seed, index, phase, stage)
        self._start = _start(seed, input_key)
        self._most = _BLOCKS if stage is None else _BLOCKS // _STAGES
        self._first = int(phase) * _BLOCKS + (stage or 0) * self._most
        self._used = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to pickle and copy.

        NumPy's own way would make a plain generator, whose blocks have other seeds.
        """
        state = self.bit_generator.state, self._used
        return Stream, self._arguments, state

    def __setstate__(self, state: Any) -> None:
        self.bit_generator.state, self._used = state

    def seeds(self, blocks: int) -> list[int]:
        """Seeds of the next ``blocks`` blocks, each in [0, 2^32)."""
        if self._used + blocks > self._most:
            raise ValueError(
                f"at most {self._most} blocks of noise can be drawn for one input"
            )
        first = self._first + self._used
        self._used += blocks
        return [(k * _ODD + self._start) % 2**32 for k in range(first, first + blocks)]


def _whole(name: str, value: Any) -> int:
    """``value`` as a whole number >= 0 of any size: an index may be a hash."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool | np.bool_):
        raise ArgumentError(name, f"must be a whole number >= 0; got {value!r:.60}")
    return number


@lru_cache(maxsize=64)
def _start(seed: int, key: tuple[int, ...]) -> int:
    """Where the seeds of an input's blocks begin, in all of its phases."""
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1)[0])


stream = Stream  # for callers it is a function


def block_seeds(generator: Randomness, blocks: int) -> list[int]:
    """Seeds of 32 bits for ``blocks`` blocks.

    Of a stream's own, else distinct ones drawn.

    The operating system's noise has no seeds: the blocks are numbered in their place.
    """
    if isinstance(generator, SystemBits):
        return outcome_seeds(blocks)
    if isinstance(generator, Stream):
        return generator.seeds(blocks)
    drawn: list[int] = generator.choice(2**32, blocks, replace=False).tolist()
    return drawn


def outcome_seeds(blocks: int) -> list[int]:
    """Number blocks of noise that no seed draws.

    The numbers are spread like seeds over 32 bits.
    """
    return [spread(number) for number in range(blocks)]


def spread(number: int) -> int:
    """A number of 32 bits for each number below 2^32, spread evenly."""
    return number * _ODD % 2**32


def outcome_block(seed: int) -> int:
    """The number of a block of :func:`outcome_seeds`."""
    return seed * pow(_ODD, -1, 2**32) % 2**32
