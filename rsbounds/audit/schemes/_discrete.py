"""Radii that count changes, proved in balls.

Written from the theory page on discrete noise alone: the laws at x and at an x' that
some changes away are products over the changed coordinates, for every way in which the
changes can be made. Fewer changes leave an event at least as much, for what comes out
of the further coordinates may be left aside: so many ways are proved at once, by
changes that contain all of them.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from math import inf
from typing import Any, ClassVar, NamedTuple

from rsbounds.audit._balls import Arb, Event, arb, ctx, event
from rsbounds.audit._laws import BallLaw, Cells, law_of, precision
from rsbounds.audit.schemes._proof import Parameters, SchemeProof

Counts = tuple[int, ...]
_LAWS = 20_000  # that are looked at for one radius


class _Group(NamedTuple):
    """A number of changes, the kinds it is split over, and how many each has.

    ``ends`` are the least and the largest number of each kind.
    """

    total: int
    kinds: tuple[int, ...]
    ends: tuple[tuple[int, int], ...]


#: Ways to make some changes: those of all groups together.
Box = tuple[_Group, ...]


class DiscreteProof(SchemeProof):
    """The proof of noise that is independent on every coordinate, for numbers of them.

    Attributes
    ----------
    most : int
        How many changes are proved: as many as a curve certifies, or more.
    """

    transports = True
    most: ClassVar[int]

    @abstractmethod
    def kinds(self, parameters: Parameters) -> list[Cells]:
        """What comes out of one changed coordinate, for each kind of changes."""

    def changes(self, parameters: Parameters) -> Changes:
        """What changes do under the noise of these parameters."""
        return Changes([[cells] for cells in self.kinds(parameters)], self.most)

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: Any,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        """Whether scores certify a number of changes.

        ``radius`` is one whatever their kind, or numbers kind by kind as a frontier has
        them.
        """
        return _proved(self, json.dumps(dict(parameters)), radius, z_a, z_b)

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        return self._probability_left(parameters, float(int(radius)), z)

    def least_at(
        self, parameters: Parameters, sigma: float, entry: str, z: Arb
    ) -> Event:
        return self._probability_left(parameters, tuple(map(int, entry.split(","))), z)

    def _probability_left(self, parameters: Parameters, numbers: Any, z: Arb) -> Event:
        """What an event keeps within numbers of changes, one or kind by kind."""
        changes = self.changes(parameters)
        ways = changes.ways(numbers)
        if ways is None:
            return Event(arb(0), arb(1))
        with ctx.workprec(precision(float(z))):
            q = event(z).q
            p = changes.least(lambda law: law.least(q), ways)
            return Event(p, 1 - p)

    def too_many(self, parameters: Parameters, radius: float) -> bool:
        return not radius <= self.changes(parameters).most

    def counts_changes(self, parameters: Parameters) -> bool:
        return True

    def entry_proved(
        self, parameters: Parameters, entry: str, z_a: float, z_b: float | None
    ) -> bool:
        counts = tuple(map(int, entry.split(",")))
        return DiscreteProof.proved(self, parameters, 0.0, counts, z_a, z_b)


@lru_cache(maxsize=4096)
def _proved(
    proof: DiscreteProof, parameters: str, radius: Any, z_a: float, z_b: float | None
) -> bool:
    """Whether scores certify; parameters as text, for many rows have the same ones."""
    changes = proof.changes(json.loads(parameters))
    ways = changes.ways(radius)
    if ways is None or not z_a > (-z_a if z_b is None else z_b):
        return False
    with ctx.workprec(precision(z_a, z_a if z_b is None else z_b)):
        top = _complement(z_a)
        rest = top if z_b is None else _complement(-z_b)

        def mass_kept(law: BallLaw) -> Arb:
            first = law.least(top)
            return first + (first if z_b is None else law.least(rest))

        return bool(changes.least(mass_kept, ways, enough=arb(1)) > 1)


def _complement(z: float) -> Arb:
    """1 - Phi(z)."""
    return arb(0) if z == inf else event(arb(z)).q


class Changes:
    """What changes do under one noise.

    Parameters
    ----------
    groups : sequence
        What comes out of one changed coordinate, for each kind of changes, in the
        groups whose numbers a frontier has.
    most : int
        How many changes are proved.
    """

    def __init__(self, groups: Sequence[Sequence[Cells]], most: int) -> None:
        self.most = most
        self._kinds = list(chain(*groups))
        # where the numbers of a frontier begin among the kinds
        self._starts = list(accumulate(map(len, groups), initial=0))

    def ways(self, radius: Any) -> Box | None:
        """Every way to make so many changes; None beyond what is proved."""
        shares = radius if isinstance(radius, tuple) else (radius,)
        if not all(0 <= share <= self.most and share == int(share) for share in shares):
            return None
        if len(shares) == 1:
            places = [range(len(self._kinds))]
        elif len(shares) == len(self._starts) - 1:
            places = [range(*ends) for ends in pairwise(self._starts)]
        else:
            return None
        return tuple(
            self._group(int(share), place)
            for share, place in zip(shares, places, strict=True)
        )

    def _group(self, total: int, kinds: range) -> _Group:
        """All ways to split a number of changes over the worst of some kinds."""
        worst = _worst({kind: self._kinds[kind] for kind in kinds})
        if len(worst) == 1:
            return _Group(total, worst, ((total, total),))
        return _Group(total, worst, ((0, total),) * len(worst))

    def least(
        self, mass_kept: Callable[[BallLaw], Arb], ways: Box, enough: Arb = None
    ) -> Arb:
        """The least that is kept over all ways, or more than enough of it.

        0 where it would take long to see.
        """
        least = arb(inf)
        boxes = [ways]
        for _ in range(_LAWS):
            if not boxes or (enough is not None and not least > enough):
                return least
            box = boxes.pop()
            # every way of the box keeps at least this
            bound = mass_kept(self.law(box))
            halves = _halves(box)
            if halves and not bound > (least if enough is None else enough):
                boxes += halves
            else:
                least = least.min(bound)
        return arb(0)

    def laws(self, radius: int) -> Iterator[BallLaw]:
        """The laws of every way to make so many changes."""
        ways = self.ways(radius)
        boxes = [] if ways is None else [ways]
        while boxes:
            box = boxes.pop()
            halves = _halves(box)
            boxes += halves
            if not halves:
                yield self.law(box)

    def law(self, box: Box) -> BallLaw:
        """The law of changes that contain every way of a box."""
        parts = [
            (self._kinds[kind], most)
            for group in box
            for kind, (_, most) in zip(group.kinds, group.ends, strict=True)
            if most
        ]
        return law_of(tuple(sorted(parts)))


# --- ways to make a number of changes


def _halves(box: Box) -> list[Box]:
    """The ways of a box in two parts, by the kind that varies most; none of one way."""
    sides = [
        (most - least, i, j)
        for i, group in enumerate(box)
        for j, (least, most) in enumerate(group.ends)
    ]
    width, i, j = max(sides)
    if not width:
        return []
    group = box[i]
    least, most = group.ends[j]
    middle = (least + most) // 2
    parts = []
    for half in ((least, middle), (middle + 1, most)):
        ends = (*group.ends[:j], half, *group.ends[j + 1 :])
        tight = _tight(group._replace(ends=ends))
        parts += [(*box[:i], tight, *box[i + 1 :])]
    return parts


def _tight(group: _Group) -> _Group:
    """The box of the same ways whose ends are all reached by some of them."""
    low = sum(least for least, _ in group.ends)
    high = sum(most for _, most in group.ends)
    spare, lack = group.total - low, high - group.total
    ends = tuple(
        (max(least, most - lack), min(most, least + spare))
        for least, most in group.ends
    )
    return group._replace(ends=ends)


# --- what one change does


def common(chance: Fraction) -> Cells:
    """What x alone produces, and with some chance what both inputs do."""
    return ((1 - chance, Fraction(0)), (chance, chance))


def _worst(kinds: Mapping[int, Cells]) -> Counts:
    """The kinds that are worse than no other, and of equal ones the first.

    What comes out of a change that is less than another is made of what comes out of
    that one, by chance (Blackwell): so it is with any further changes.
    """
    worst: list[int] = []
    for kind, cells in kinds.items():
        if not any(_is_worse(kinds[other], cells) for other in worst):
            worst = [other for other in worst if not _is_worse(cells, kinds[other])]
            worst.append(kind)
    return tuple(worst)


def _is_worse(first: Cells, second: Cells) -> bool:
    """Whether any event keeps at most as much by the first change as by the second."""
    # both curves are convex, and the second is straight between its corners
    p = shifted = Fraction(0)
    for mass, shifted_mass in _by_ratio(second):
        p += mass
        shifted += shifted_mass
        if _least_mass(first, p) > shifted:
            return False
    return True


def _least_mass(cells: Cells, p: Fraction) -> Fraction:
    """What an event of probability p keeps by one change, at least."""
    total = Fraction(0)
    for mass, shifted_mass in _by_ratio(cells):
        share = min(p / mass, Fraction(1))
        total += share * shifted_mass
        p -= share * mass
    return total


def _by_ratio(cells: Cells) -> Cells:
    """What x can produce, by rising ratio."""
    produced = (cell for cell in cells if cell[0])
    return tuple(sorted(produced, key=lambda cell: cell[1] / cell[0]))
