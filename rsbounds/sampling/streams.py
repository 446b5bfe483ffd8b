"""The random streams of an input, and the names of its blocks of noise.

NumPy's samplers read the PCG64 generator of a stream, whose state SeedSequence makes of
run, input, phase and stage, through a pool of 128 bits. Samplers with a generator of
their own (torch's) start it anew for each block, from the block's name.
"""

from __future__ import annotations

import hashlib
import operator
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np

from rsbounds._numerics.errors import ArgumentError
from rsbounds.procedure import FROM_SYSTEM
from rsbounds.sampling.system_bits import Randomness, SystemBits


class Phase(IntEnum):
    """What the samples of a stream are for; the numbers are part of the seed.

    SELECT chooses what is bounded, ESTIMATE bounds it, PREDICT answers without a
    certificate, SEARCH looks for a noise level.
    """

    SELECT = 0
    ESTIMATE = 1
    PREDICT = 2
    SEARCH = 3


_PHASES = 8
_STAGES = 64
_BLOCKS = 2**32 // _PHASES
# last word of the keys of a stage, of four words or more; other keys have three at most
_OF_STAGES = 0x52554C45
_KEYS = 2**128
# 2^64 over the golden ratio: its multiples stay away from 0 modulo 2^64
_APART = 0x9E3779B97F4A7C16


class Block(NamedTuple):
    """The name of a block of noise: two blocks of one name hold the same noise.

    Parameters
    ----------
    key : int
        Of the input, in [0, 2^128). Inputs of one run have consecutive keys, so that
        no two are equal where indices are below 2^128; keys of other runs begin
        elsewhere.
    number : int
        Of the block in all phases and stages of the input, in [0, 2^33).
    """

    key: int
    number: int

    @property
    def seed(self) -> int:
        """A seed of 64 bits, for generators that take no more.

        Seeds of a run's blocks are distinct where indices differ by less than 2^30:
        no multiple of ``_APART`` by less than 2^33 comes as near to 0 modulo 2^64.
        """
        return (self.key + self.number * _APART) % 2**64


class Stream(np.random.Generator):
    """The generator of one phase of one input, or of one of its stages.

    Samplers with a generator of their own (torch's) start it at each block of noise, of
    :meth:`blocks`. No two blocks of a run have one name, be they of one input or of
    two, of one phase or stage or of several.
    """

    def __init__(
        self, seed: int | str, index: int, phase: int, stage: int | None = None
    ) -> None:
        level = 0 if stage is None else stage
        seed, index, phase, level = _whole(
            seed=seed, index=index, phase=phase, stage=level
        )
        if not phase < _PHASES:
            raise ArgumentError("phase", f"must be in [0, {_PHASES}); got {phase}")
        if not level < _STAGES:
            raise ArgumentError("stage", f"must be in [0, {_STAGES}); got {level}")
        key: tuple[int, ...] = (index, phase)
        if stage is not None:
            stage = level
            key = (index, phase, stage, _OF_STAGES)
        super().__init__(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
        self.index = index
        self._arguments = (seed, index, phase, stage)
        self._most = _BLOCKS if stage is None else _BLOCKS // _STAGES
        self._first = phase * _BLOCKS + level * self._most
        if stage is not None:
            self._first += _PHASES * _BLOCKS  # behind those of no stage
        self._used = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to pickle and copy.

        NumPy's own way would make a plain generator, whose blocks have other names.
        """
        state = self.bit_generator.state, self._used
        return Stream, self._arguments, state

    def __setstate__(self, state: Any) -> None:
        self.bit_generator.state, self._used = state

    def blocks(self, count: int) -> list[Block]:
        """Names of the next ``count`` blocks of noise."""
        if self._used + count > self._most:
            raise ValueError(
                f"at most {self._most} blocks of noise can be drawn for one input"
            )
        seed, index, *_ = self._arguments
        key = (_first_key(seed) + index) % _KEYS
        first = self._first + self._used
        self._used += count
        return [Block(key, number) for number in range(first, first + count)]


def _whole(**values: Any) -> list[int]:
    """The values as whole numbers >= 0 of any size: an index may be a hash."""
    numbers = []
    for name, value in values.items():
        try:
            number = operator.index(value)
        except TypeError:
            number = -1
        if number < 0 or isinstance(value, bool | np.bool_):
            raise ArgumentError(name, f"must be a whole number >= 0; got {value!r:.60}")
        numbers.append(number)
    return numbers


@lru_cache(maxsize=8)
def seed_apart(seed: int | str, inputs: frozenset[str]) -> int | str:
    """The seed of noise independent of that under which some inputs were drawn.

    What was chosen by their samples is then independent of the samples to come, also
    of inputs with the same indices. Without such inputs, and for the operating system's
    bits, it is the seed itself.

    Parameters
    ----------
    seed : int or "os"
        Of the run, >= 0.
    inputs : frozenset of str
        Names of the inputs, such as their hashes.

    Examples
    --------
    >>> from rsbounds.sampling.internal import seed_apart
    >>> seed_apart(3, frozenset()), seed_apart(3, frozenset({"a"})) != 3
    (3, True)
    """
    if not inputs or isinstance(seed, str):
        return seed
    words = "\n".join([str(seed), *sorted(inputs)])
    digest = hashlib.sha256(words.encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # seeds are below 2^63


@lru_cache(maxsize=64)
def _first_key(seed: int) -> int:
    """The key of a run's input 0."""
    words = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


@overload
def stream(seed: int, index: int, phase: int, stage: int | None = None) -> Stream: ...
@overload
def stream(
    seed: int | str, index: int, phase: int, stage: int | None = None
) -> Randomness: ...
def stream(
    seed: int | str, index: int, phase: int, stage: int | None = None
) -> Randomness:
    """The random numbers of one phase of one input, or of one of its stages.

    Parameters
    ----------
    seed : int or "os"
        Of the run, >= 0, or the word for bits of the operating system.
    index : int
        Of the input, >= 0.
    phase : Phase
        What the samples are for.
    stage : int, optional
        Which noise level of a decision list, in [0, 64).

    Returns
    -------
    numpy.random.Generator or SystemBits
        At its start; of the operating system each one is new.

    Examples
    --------
    >>> from rsbounds.sampling import Phase
    >>> from rsbounds.sampling.internal import stream
    >>> draws = [float(stream(0, 0, Phase.SELECT, k).random(1)[0]) for k in (0, 1, 0)]
    >>> draws[0] == draws[2] != draws[1]
    True
    """
    if isinstance(seed, str) and seed == FROM_SYSTEM:
        return SystemBits(index)
    return Stream(seed, index, phase, stage)


def blocks_of(generator: Randomness, count: int) -> list[Block]:
    """Names of ``count`` blocks: a stream's next ones, else of a key that is drawn.

    The operating system's noise needs none: the blocks are numbered.
    """
    if isinstance(generator, SystemBits):
        return numbered(count)
    if isinstance(generator, Stream):
        return generator.blocks(count)
    return numbered(count, int.from_bytes(generator.bytes(16), "little"))


def numbered(count: int, key: int = 0) -> list[Block]:
    """The first ``count`` blocks of a key."""
    return [Block(key, number) for number in range(count)]
