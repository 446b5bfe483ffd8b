"""Random bits of NumPy: the streams of an input, and what noises draw from them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.sampling.system_bits import Randomness, SystemBits


class Phase(IntEnum):
    """What the samples of a stream are for; the numbers are part of the seed.

    SELECT chooses what is bounded, ESTIMATE bounds it, PREDICT answers without a
    certificate, SEARCH looks for a noise level, and BOUND has the random numbers of
    bounds that need some.
    """

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
#: Numbers k become k ODD + start mod 2^32: one-to-one, as it is odd, and spread evenly.
ODD = 0x9E3779B1


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
        level = 0 if stage is None else stage
        seed, index, phase, level = _whole(
            seed=seed, index=index, phase=phase, stage=level
        )
        if not phase < _PHASES:
            raise ArgumentError("phase", f"must be in [0, {_PHASES}); got {phase}")
        if not level < _STAGES:
            raise ArgumentError("stage", f"must be in [0, {_STAGES}); got {level}")
        key: tuple[int, ...] = (index, phase)
        input_key: tuple[int, ...] = (index,)
        if stage is not None:
            stage = level
            key = (index, phase, stage, _OF_STAGES)
            input_key = (index, _OF_STAGES)
        super().__init__(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
        self.index = index
        self._arguments = (seed, index, phase, stage)
        self._of_input = seed, input_key
        self._most = _BLOCKS if stage is None else _BLOCKS // _STAGES
        self._first = phase * _BLOCKS + level * self._most
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
        start = _start(*self._of_input)
        first = self._first + self._used
        self._used += blocks
        return [(k * ODD + start) % 2**32 for k in range(first, first + blocks)]


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
    return [number * ODD % 2**32 for number in range(blocks)]


def outcome_block(seed: int) -> int:
    """The number of a block of :func:`outcome_seeds`."""
    return seed * pow(ODD, -1, 2**32) % 2**32


_BITS = 16  # of a draw in :meth:`ArrayBits.happens`; more where these don't decide
_ALL = 2**_BITS

Events = NDArray[np.bool_]


class ArrayBits:
    """:class:`rsbounds.noises.Bits` of a NumPy generator, for one block of copies.

    Events are drawn until they are decided: none of them leaves a copy void.

    Parameters
    ----------
    generator : numpy.random.Generator or SystemBits
        Of which all is drawn; Gaussian noise in floating point reads it as it is.
    size : int
        How many copies the block has.
    """

    xp: Any = np

    def __init__(self, generator: Any, size: int) -> None:
        self.generator = generator
        #: Which copies count for no class.
        self.void: Events = np.zeros(size, np.bool_)

    def discard(self, void: Events) -> None:
        self.void |= void

    def happens(self, chance: Fraction, shape: tuple[int, ...]) -> Events:
        """Independent events of exactly this probability.

        The first 16 bits of a uniform number are compared with those of the
        probability. Where they are equal, which is rare, the next 16 decide, and so on:
        there is no rounding, and a rational number without an end in base 2 has its own
        probability.
        """
        if chance == 1:
            return np.ones(shape, np.bool_)
        threshold, rest = _first_bits(chance)
        drawn = self._drawn(shape)
        events: Events = drawn < threshold
        if rest:
            self._decide(events, np.nonzero(drawn == threshold), rest)
        return events

    def happens_where(
        self, condition: Events, chance: Fraction, otherwise: Fraction, size: int
    ) -> Events:
        first, first_rest = _first_bits(chance)
        second, second_rest = _first_bits(otherwise)
        thresholds = np.where(condition, np.uint16(first), np.uint16(second))
        drawn = self._drawn((size, *condition.shape))
        events: Events = drawn < thresholds
        if first_rest or second_rest:
            tied = np.nonzero(drawn == thresholds)
            of_first = condition[tied[1:]]
            for which, rest in ((of_first, first_rest), (~of_first, second_rest)):
                self._decide(events, tuple(axis[which] for axis in tied), rest)
        return events

    def kept_or_changed(
        self,
        x: NDArray[Any],
        keep: Fraction,
        ways: int,
        changed: Callable[[Any, Any], Any],
        size: int,
    ) -> NDArray[Any]:
        batch = np.repeat(x[None], size, axis=0)
        places = np.flatnonzero(self.happens(1 - keep, batch.shape))
        before = x.ravel()[places % x.size]
        batch.ravel()[places] = changed(before, self.below(ways, (len(places),)))
        return batch

    def below(self, end: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        drawn: NDArray[np.int64] = self.generator.integers(0, end, size=shape)
        return drawn

    def choose(self, kept: int, size: int, shape: tuple[int, ...]) -> Events:
        """The places of the smallest of as many keys.

        A copy where a key outside equals the largest inside is drawn again: whether
        that happens does not depend on the order of the keys, so that what is left is
        uniform, without rounding.
        """
        return self._subsets(kept, size, math.prod(shape)).reshape(size, *shape)

    def _subsets(self, kept: int, size: int, places: int) -> Events:
        if kept == places:
            return np.ones((size, places), np.bool_)
        keys = self.generator.integers(0, 2**32, size=(size, places), dtype=np.uint32)
        largest = np.partition(keys, kept - 1, axis=1)[:, kept - 1, None]
        chosen: Events = keys <= largest
        again = np.flatnonzero(chosen.sum(axis=1) != kept)
        if len(again):
            chosen[again] = self._subsets(kept, len(again), places)
        return chosen

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        numbers: NDArray[np.float64] = self.generator.random(shape)
        return numbers

    def normal(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        numbers: NDArray[np.float64] = self.generator.standard_normal(shape)
        return numbers

    def on_host(self) -> ArrayBits:
        return self

    def array(self, values: NDArray[Any]) -> NDArray[Any]:
        return values

    def like(self, batch: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
        return batch.astype(x.dtype, copy=False)

    def single(self, batch: NDArray[Any]) -> NDArray[np.float32]:
        return batch.astype(np.float32)

    def sequences(self, x: NDArray[Any], left: Events) -> list[NDArray[Any]]:
        """A list of arrays of different lengths."""
        return [x[row] for row in left]

    def matrices(self, keys: NDArray[np.int64], like: Any, size: int) -> list[Any]:
        """A list of SciPy's matrices in CSR form."""
        matrices: list[Any] = like.sparse(keys, size)
        return matrices

    def _drawn(self, shape: tuple[int, ...]) -> NDArray[np.uint16]:
        drawn: NDArray[np.uint16] = self.generator.integers(
            0, _ALL, size=shape, dtype=np.uint16
        )
        return drawn

    def _decide(self, events: Events, places: Any, rest: Fraction) -> None:
        """Draw again, for events of this probability, at places left open."""
        if rest and len(places[0]):
            events[places] = self.happens(rest, (len(places[0]),))


def _first_bits(chance: Fraction) -> tuple[int, Fraction]:
    """Take the first 16 bits of a probability.

    Beside them, the probability that is left to a draw which equals them.
    """
    threshold = min(math.floor(chance * _ALL), _ALL - 1)
    return threshold, chance * _ALL - threshold
