"""Random streams: one for each phase of each input, and the seeds of their blocks of noise."""

from enum import IntEnum
from functools import lru_cache

import numpy as np


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
#: Last word of the keys of a stage: four words or more, where a key without one has three at most.
_OF_STAGES = 0x52554C45
_ODD = 0x9E3779B1  # any odd number makes k -> k odd + start mod 2^32 one-to-one


class Stream(np.random.Generator):
    """The generator of one phase of one input, or of one stage of it.

    Samplers with a generator of their own (torch's) draw each block of noise from one seed of
    32 bits, :meth:`seeds`. All seeds of one input are distinct, within a phase, across phases
    and across stages: two blocks of an input never hold the same noise.
    """

    def __init__(self, seed: int, index: int, phase: int, stage: int | None = None) -> None:
        own = () if stage is None else (stage, _OF_STAGES)
        key = (index, phase, *own)
        super().__init__(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
        if not 0 <= phase < _PHASES:
            raise ValueError(f"phase must be in [0, {_PHASES}); got {phase}")
        if not 0 <= (stage or 0) < _STAGES:
            raise ValueError(f"stage must be in [0, {_STAGES}); got {stage}")
        self._start = _start(seed, (index, *own[1:]))
        self._most = _BLOCKS if stage is None else _BLOCKS // _STAGES
        self._first, self._used = int(phase) * _BLOCKS + (stage or 0) * self._most, 0

    def seeds(self, blocks: int) -> list[int]:
        """Seeds of the next ``blocks`` blocks, each in [0, 2^32)."""
        if self._used + blocks > self._most:
            raise ValueError(f"at most {self._most} blocks of noise can be drawn for one input")
        first = self._first + self._used
        self._used += blocks
        return [(k * _ODD + self._start) % 2**32 for k in range(first, first + blocks)]


@lru_cache(maxsize=64)
def _start(seed: int, key: tuple[int, ...]) -> int:
    """Where the seeds of an input's blocks begin, in all of its phases."""
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1)[0])


def stream(seed: int, index: int, phase: Phase, stage: int | None = None) -> Stream:
    """The generator of one phase of one input, or of one of its stages.

    The spawn key of a stage is (index, phase, stage, a constant): it never meets one without, which
    is shorter, nor that of another stage.

    Parameters
    ----------
    seed, index : int
        Of the run and of the input, >= 0.
    phase : Phase
        What the samples are for.
    stage : int, optional
        Which noise level of a decision list, in [0, 64).

    Returns
    -------
    Stream

    Examples
    --------
    >>> from rsbounds.sampling import Phase, stream
    >>> draws = [stream(0, 0, Phase.SELECT, k).random() for k in (0, 1, 0)]
    >>> draws[0] == draws[2] != draws[1]
    True
    """
    return Stream(seed, index, phase, stage)


def block_seeds(generator: np.random.Generator, blocks: int) -> list[int]:
    """Seeds of 32 bits for ``blocks`` blocks: of a stream's own, else distinct ones drawn."""
    if isinstance(generator, Stream):
        return generator.seeds(blocks)
    drawn: list[int] = generator.choice(2**32, blocks, replace=False).tolist()
    return drawn
