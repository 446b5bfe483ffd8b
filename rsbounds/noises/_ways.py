"""Ways to make numbers of changes, by their kinds, and which of them are the worst."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises._regions import Regions

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

    ``given`` has the numbers of changes that are said kind by kind. Each of ``groups``
    is a further number of changes, and the kinds that it is split over in any way.
    """

    given: Counts
    groups: tuple[tuple[int, Counts], ...] = ()

    @property
    def number(self) -> int:
        """How many ways there are."""
        return math.prod(
            math.comb(total + len(kinds) - 1, len(kinds) - 1)
            for total, kinds in self.groups
        )

    @property
    def changes(self) -> int:
        """How many changes there are of all kinds together."""
        return sum(self.given) + sum(total for total, _ in self.groups)

    @property
    def middle(self) -> Counts:
        """A way with about as many changes of each kind, rounded up."""
        shares = [
            [-(-total // len(kinds))] * len(kinds) for total, kinds in self.groups
        ]
        return self._made(shares)

    def every(self) -> Iterator[Counts]:
        """All of them, one after the other."""
        splits = [_compositions(total, len(kinds)) for total, kinds in self.groups]
        for shares in product(*splits):
            yield self._made(shares)

    def hold(self, surely: Asked, holds: Asked, size: int) -> Answers:
        """Of each of ``size`` questions, whether the answer is yes for every way.

        ``surely(counts, places)`` and ``holds(counts, places)`` answer the questions at
        some places for one way; the first may say no where it is not sure.

        What holds for some changes must hold for fewer. So the ways whose shares are
        within bounds are looked at together, by the changes that contain all of them:
        where these surely hold, so does each. Bounds are halved until they do, or leave
        one way alone, of which ``holds`` decides.
        """
        held = np.ones(size, bool)
        ends = [total for total, kinds in self.groups for _ in kinds[1:]]
        stack = [([0] * len(ends), ends, np.arange(size))]
        while stack:
            least, most, places = stack.pop()
            places = places[held[places]]  # one way that fails is enough
            largest = self._largest(least, most)
            # None: the least shares are more than the total
            if largest is None or not places.size:
                continue
            if least == most:
                held[places] = holds(largest, places)
                continue
            places = places[~surely(largest, places)]
            # the longest side, so that what contains the box is soon little more than
            # it
            widest = max(range(len(ends)), key=lambda i: most[i] - least[i])
            middle = (least[widest] + most[widest]) // 2
            lower, upper = most.copy(), least.copy()
            lower[widest], upper[widest] = middle, middle + 1
            stack += [(least, lower, places), (upper, most, places)]
        return held

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
        counts = list(self.given)
        for (_, kinds), own in zip(self.groups, shares, strict=True):
            for kind, changes in zip(kinds, own, strict=True):
                counts[kind] += changes
        return tuple(counts)


class Cases:
    """The regions of some ways, each made when it is come to first.

    ``may`` says for each way which of some values it may matter to; None: to all.
    """

    def __init__(
        self,
        region_of: Callable[[Counts], Regions],
        every: Sequence[Counts],
        may: Answers | None = None,
    ) -> None:
        self._region_of = region_of
        self._every = every
        self._may = may
        self._made: dict[int, Regions] = {}

    def __iter__(self) -> Iterator[Regions]:
        return map(self._region, range(len(self._every)))

    def of(self, value: int) -> Iterator[Regions]:
        """The regions that may matter to the value at a place."""
        if self._may is None:
            return iter(self)
        return map(self._region, np.flatnonzero(self._may[:, value]).tolist())

    def mattering(self, left: Answers) -> Iterator[tuple[Regions, Answers]]:
        """Those that may matter to values that are left, and to which of them.

        ``left`` may change on the way.
        """
        for place in range(len(self._every)):
            own = left if self._may is None else left & self._may[place]
            if own.any():
                yield self._region(place), own.copy()

    def _region(self, place: int) -> Regions:
        if place not in self._made:
            self._made[place] = self._region_of(self._every[place])
        return self._made[place]


def least_of(values: Iterable[Any], end: int = 0) -> Any:
    """The least of numbers, of which none is below ``end``: no other is made then."""
    least: Any = math.inf
    for value in values:
        least = min(least, value)
        if least == end:
            break
    return least


def numbers(name: str, r: Any, kinds: int) -> Counts:
    """Numbers of changes of so many kinds, or ArgumentError."""
    if not isinstance(r, Iterable) or len(given := list(r)) != kinds:
        raise ArgumentError(
            name, f"must be a whole number, or {kinds} of them; got {r!r}"
        )
    return tuple(count(name, number) for number in given)


def worst(changes: Sequence[Regions]) -> Counts:
    """The kinds that are worse than no other, by the regions of one change of each.

    Where an event can lose more by one change than by another whatever its probability
    is, it can by any number of them, with any further changes (Blackwell): what the
    other change produces is that of the first, made coarser by chance.
    """
    found: list[int] = []
    for kind, regions in enumerate(changes):
        # of two kinds that are equal the first stays
        if any(_is_below(changes[other], regions) for other in found):
            continue
        found = [other for other in found if not _is_below(regions, changes[other])]
        found.append(kind)
    return tuple(found)


def _is_below(first: Regions, second: Regions) -> bool:
    """Whether the curve of the first is nowhere above that of the second.

    Both are convex, and the second is straight between its corners.
    """
    # so it is enough to ask at these corners; multiplied out, to stay in whole numbers
    return all(
        first.low_parts(before, second.scale)[0] * second.scale
        <= shifted * first.low_parts(before, second.scale)[1]
        for before, shifted in zip(second.before, second.shifted_before, strict=True)
    )


def _compositions(total: int, parts: int) -> Iterator[Counts]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
