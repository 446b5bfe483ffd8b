"""Radii that count changes, proved in balls.

Written from the theory page on discrete noise alone: the laws at x and at an x' that
some changes away are products over the changed coordinates, for every way in which the
changes can be made. Fewer changes leave an event at least as much, for what comes out
of the further coordinates may be left aside: so many ways are proved at once, by
changes that contain all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from math import inf
from typing import Any, NamedTuple

from rsbounds.audit._balls import Arb, Event, arb, ctx, event
from rsbounds.audit._laws import Cells, Law, chance_of_none, law_of, precision

Parameters = Mapping[str, Any]
Counts = tuple[int, ...]
#: Methods of discrete noise, whose radii count changes, with how many are proved: as
#: many as a curve certifies, or more.
MOST = {
    "categorical": 2**17,
    "flips": 2**17,
    "blocks": 1024,
    "mask": 2**53,
    "deletion": 2**53,
}
_MOST_OF_VALUES = 4096  # of coordinates of three values or more
_LAWS = 20_000  # that are looked at for one radius


class _Group(NamedTuple):
    """A number of changes, the kinds it is split over, and how many each has.

    ``ends`` are the least and the largest number of each kind.
    """

    total: int
    kinds: tuple[int, ...]
    ends: tuple[tuple[int, int], ...]


#: Ways to make some changes: those of all groups together.
_Box = tuple[_Group, ...]


def proved_discrete(
    method: str, parameters: Parameters, radius: Any, z_a: float, z_b: float | None
) -> bool:
    """Whether scores z_a and z_b (None: -z_a) certify a radius of discrete noise.

    ``radius`` is a number of changes whatever their kind, or numbers kind by kind as a
    frontier has them.
    """
    return _proved(method, json.dumps(dict(parameters)), radius, z_a, z_b)


@lru_cache(maxsize=4096)
def _proved(
    method: str, parameters: str, radius: Any, z_a: float, z_b: float | None
) -> bool:
    """The same for parameters as text: many rows have the same scores."""
    changes = _Changes(method, json.loads(parameters))
    ways = changes.ways(radius)
    if ways is None or not z_a > (-z_a if z_b is None else z_b):
        return False
    with ctx.workprec(precision(z_a, z_a if z_b is None else z_b)):
        top = _complement(z_a)
        rest = top if z_b is None else _complement(-z_b)

        def kept(law: Law) -> Arb:
            first = law.least(top)
            return first + (first if z_b is None else law.least(rest))

        return bool(changes.least(kept, ways, enough=arb(1)) > 1)


def too_many(method: str, parameters: Parameters, radius: float) -> bool:
    """Whether a radius of discrete noise is beyond what is proved here."""
    return method in MOST and not radius <= _most(method, parameters)


def least_discrete(method: str, parameters: Parameters, radius: float, z: Arb) -> Event:
    """The least that an event of Phi(z) can have within a number of changes."""
    changes = _Changes(method, parameters)
    ways = changes.ways(float(int(radius)))
    if ways is None:
        return Event(arb(0), arb(1))
    with ctx.workprec(precision(float(z))):
        q = event(z).q
        p = changes.least(lambda law: law.least(q), ways)
        return Event(p, 1 - p)


def laws_of(method: str, parameters: Parameters, radius: int) -> Iterator[Law]:
    """The laws of every way to make so many changes."""
    changes = _Changes(method, parameters)
    ways = changes.ways(radius)
    boxes = [] if ways is None else [ways]
    while boxes:
        box = boxes.pop()
        halves = _halves(box)
        boxes += halves
        if not halves:
            yield changes.law(box)


def _complement(z: float) -> Arb:
    """1 - Phi(z)."""
    return arb(0) if z == inf else event(arb(z)).q


def _most(method: str, parameters: Parameters) -> int:
    if method == "categorical" and parameters["values"] > 2:
        return _MOST_OF_VALUES
    return MOST[method]


class _Changes:
    """What changes do under one noise."""

    def __init__(self, method: str, parameters: Parameters) -> None:
        self._method = method
        self._parameters = parameters
        blocks = parameters["blocks"] if method == "blocks" else ()
        own = [_kinds(block["method"], block) for block in blocks]
        # what one change does, kind by kind
        self._kinds = list(chain(*own)) if blocks else _kinds(method, parameters)
        # where the numbers of a frontier begin among the kinds
        sizes = [len(kinds) for kinds in own] or [1] * len(self._kinds)
        self._starts = list(accumulate(sizes, initial=0))

    def ways(self, radius: Any) -> _Box | None:
        """Every way to make so many changes; None beyond what is proved."""
        shares = radius if isinstance(radius, tuple) else (radius,)
        most = _most(self._method, self._parameters)
        if not all(0 <= share <= most and share == int(share) for share in shares):
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

    def least(self, kept: Callable[[Law], Arb], ways: _Box, enough: Arb = None) -> Arb:
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
            bound = kept(self.law(box))
            halves = _halves(box)
            if halves and not bound > (least if enough is None else enough):
                boxes += halves
            else:
                least = least.min(bound)
        return arb(0)

    def law(self, box: _Box) -> Law:
        """The law of changes that contain every way of a box."""
        if self._method == "mask" and "dim" in self._parameters:
            dim, kept = (int(self._parameters[k]) for k in ("dim", "keep_count"))
            chance = chance_of_none(dim, kept, box[0].total)
            return Law(chance, chance)
        parts = [
            (self._kinds[kind], most)
            for group in box
            for kind, (_, most) in zip(group.kinds, group.ends, strict=True)
            if most
        ]
        return law_of(tuple(sorted(parts)))


# --- ways to make a number of changes


def _halves(box: _Box) -> list[_Box]:
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
    """The same ways, with ends that they reach."""
    low = sum(least for least, _ in group.ends)
    high = sum(most for _, most in group.ends)
    spare, lack = group.total - low, high - group.total
    ends = tuple(
        (max(least, most - lack), min(most, least + spare))
        for least, most in group.ends
    )
    return group._replace(ends=ends)


# --- what one change does


def _kinds(method: str, parameters: Parameters) -> list[Cells]:
    """What comes out of one changed coordinate, for each kind of changes."""
    if method == "categorical":
        keep = Fraction(parameters["keep"])
        other = (1 - keep) / (parameters["values"] - 1)
        elsewhere = 1 - keep - other
        return [((keep, other), (other, keep), (elsewhere, elsewhere))]
    if method == "flips":
        add, delete = Fraction(parameters["add"]), Fraction(parameters["delete"])
        added = ((add, 1 - delete), (1 - add, delete))
        return [added, tuple((shifted, mass) for mass, shifted in added)]
    if method == "deletion":
        # an edit is at most one element of x and one of x' outside of what they share
        return [_common(Fraction(parameters["delete"]))]
    if "keep_probability" in parameters:
        return [_common(1 - Fraction(parameters["keep_probability"]))]
    return [()]


def _common(chance: Fraction) -> Cells:
    """What x alone produces, and with some chance what both do."""
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
        if _kept(first, p) > shifted:
            return False
    return True


def _kept(cells: Cells, p: Fraction) -> Fraction:
    """What an event of probability p keeps by one change, at least."""
    kept = Fraction(0)
    for mass, shifted_mass in _by_ratio(cells):
        share = min(p / mass, Fraction(1))
        kept += share * shifted_mass
        p -= share * mass
    return kept


def _by_ratio(cells: Cells) -> Cells:
    """What x can produce, by rising ratio."""
    produced = (cell for cell in cells if cell[0])
    return tuple(sorted(produced, key=lambda cell: cell[1] / cell[0]))
