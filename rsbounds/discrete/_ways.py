"""Ways to make numbers of changes, by their kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError

#: How many changes there are of each kind.
Counts = tuple[int, ...]
#: Whether it is yes, of each of some questions.
Answers = NDArray[np.bool_]
#: Where some of them are.
Places = NDArray[np.intp]
#: The answers at some changes to the questions at some places.
Asked = Callable[[Counts, Places], Answers]


class Ways(NamedTuple):
    """Every way to make some changes.

    ``fixed`` has the numbers of changes that are certain, kind by kind. Each of
    ``groups`` is a further number of changes, and the kinds that it is split over in
    any way.
    """

    fixed: Counts
    groups: tuple[tuple[int, Counts], ...] = ()

    @property
    def number(self) -> int:
        """How many ways there are."""
        if not self.groups:
            return 1
        return math.prod(
            math.comb(total + len(kinds) - 1, len(kinds) - 1)
            for total, kinds in self.groups
        )

    @property
    def are_of_one_kind(self) -> bool:
        """Whether all changes are said to be of one kind."""
        return [len(kinds) for _, kinds in self.groups] == [1] and not any(self.fixed)

    @property
    def changes(self) -> int:
        """How many changes there are of all kinds together."""
        return sum(self.fixed) + sum(total for total, _ in self.groups)

    @property
    def middle(self) -> Counts:
        """A way with about as many changes of each kind, rounded up."""
        shares = [
            [-(-total // len(kinds))] * len(kinds) for total, kinds in self.groups
        ]
        return self._made(shares)

    @property
    def containing(self) -> Counts:
        """The changes that contain all ways."""
        return self._made([[total] * len(kinds) for total, kinds in self.groups])

    def every(self) -> Iterator[Counts]:
        """The ways, one after the other."""
        splits = [_compositions(total, len(kinds)) for total, kinds in self.groups]
        for shares in product(*splits):
            yield self._made(shares)

    def hold(self, holds: Asked, size: int) -> Answers:
        """Whether the answer to each of ``size`` questions is yes for every way.

        ``holds(counts, places)`` answers the questions at some places for one way. It
        may say no where it is not sure.

        What holds for some changes must hold for fewer. So the ways whose shares are
        within bounds are looked at together, by the changes that contain all of them:
        where these hold, so does each. Bounds are halved until they do, or leave one
        way alone, which decides.
        """
        ends = [total for total, kinds in self.groups for _ in kinds[1:]]
        if not ends:
            only = self._made([total] for total, _ in self.groups)
            return holds(only, np.arange(size))
        result = np.ones(size, bool)
        stack = [([0] * len(ends), ends, np.arange(size))]
        while stack:
            least, most, places = stack.pop()
            places = places[result[places]]  # one way that fails is enough
            largest = self._largest(least, most)
            # None: the least shares are more than the total
            if largest is None or not places.size:
                continue
            answers = holds(largest, places)
            if least == most:
                result[places] = answers
                continue
            places = places[~answers]
            # the longest side, so that what contains the box is soon little more than
            # it
            widest = max(range(len(ends)), key=lambda i: most[i] - least[i])
            middle = (least[widest] + most[widest]) // 2
            lower, upper = most.copy(), least.copy()
            lower[widest], upper[widest] = middle, middle + 1
            stack += [(least, lower, places), (upper, most, places)]
        return result

    def _largest(self, least: Sequence[int], most: Sequence[int]) -> Counts | None:
        """The changes that contain all ways with shares in these bounds; None: none.

        The last kind of a group, which has no bounds, has what the others leave.
        """
        shares = []
        start = 0
        for total, kinds in self.groups:
            end = start + len(kinds) - 1
            rest = total - sum(least[start:end])
            if rest < 0:
                return None
            free = zip(least[start:end], most[start:end], strict=True)
            shares.append([*(min(high, low + rest) for low, high in free), rest])
            start = end
        return self._made(shares)

    def _made(self, shares: Iterable[Sequence[int]]) -> Counts:
        counts = list(self.fixed)
        for (_, kinds), split in zip(self.groups, shares, strict=True):
            for kind, changes in zip(kinds, split, strict=True):
                counts[kind] += changes
        return tuple(counts)


def numbers(name: str, r: Any, kinds: int) -> Counts:
    """Numbers of changes of so many kinds, or ArgumentError."""
    if not isinstance(r, Iterable) or len(entries := list(r)) != kinds:
        raise ArgumentError(
            name, f"must be a whole number, or {kinds} of them; got {r!r}"
        )
    return tuple(count(name, number) for number in entries)


def _compositions(total: int, parts: int) -> Iterator[Counts]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
