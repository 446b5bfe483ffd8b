"""Random bits of NumPy, and what noises draw from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def _subsets(self, many: int, size: int, places: int) -> Events:
        if many == places:
            return np.ones((size, places), np.bool_)
        keys = self.generator.integers(0, 2**32, size=(size, places), dtype=np.uint32)
        largest = np.partition(keys, many - 1, axis=1)[:, many - 1, None]
        chosen: Events = keys <= largest
        again = np.flatnonzero(chosen.sum(axis=1) != many)
        if len(again):
            chosen[again] = self._subsets(many, len(again), places)
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
