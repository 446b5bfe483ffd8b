"""Radii that count changes, proved in rational numbers.

Written from the theory page on discrete noise alone: the laws at x and at an x' that
some changes away are products over the changed coordinates, so the masses of their
regions of constant likelihood ratio are products, too. They are filled in the order of
the ratio (Neyman and Pearson), for every way in which the changes can be made.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, product
from math import comb, inf
from typing import Any, NamedTuple, Self

from rsbounds.audit._balls import Arb, Event, arb, ctx, event

PRECISION = 256
#: Changes, by method, of which more take minutes to prove.
_MOST = {
    "categorical": 400,
    "flips": 400,
    "blocks": 400,
    "mask": 20_000,
    "deletion": 20_000,
}
_EACH = 400  # edits of which every mixture is looked at
Parameters = Mapping[str, Any]
#: Probabilities of what comes out, at x and at x'.
Cells = Sequence[tuple[Fraction, Fraction]]
#: By their likelihood ratio at x' over that at x, the masses of regions at both.
Masses = dict[Fraction, tuple[Fraction, Fraction]]
Counts = tuple[int, ...]


class Regions(NamedTuple):
    """Regions by rising ratio: the masses before each at x and at x', and its ratio."""

    masses: Masses
    before: list[Fraction]
    shifted_before: list[Fraction]
    ratios: list[Fraction]

    @classmethod
    def of(cls, masses: Masses) -> Self:
        """Regions in any order."""
        ratios = sorted(masses)
        mass = [masses[ratio][0] for ratio in ratios]
        shifted_mass = [masses[ratio][1] for ratio in ratios]
        zero = Fraction(0)
        before = list(accumulate(mass, initial=zero))
        shifted_before = list(accumulate(shifted_mass, initial=zero))
        return cls(masses, before, shifted_before, ratios)

    def low(self, p: Fraction) -> Fraction:
        """The least probability at x' of an event of probability p at x."""
        place = bisect_right(self.before, p) - 1
        if place == len(self.ratios):
            return self.shifted_before[-1]
        return self.shifted_before[place] + self.ratios[place] * (
            p - self.before[place]
        )


def proved_discrete(
    method: str, parameters: Parameters, radius: Any, z_a: float, z_b: float | None
) -> bool:
    """Whether scores z_a and z_b (None: -z_a) certify a radius of discrete noise.

    ``radius`` is a number of changes whatever their kind, or numbers kind by kind as a
    frontier has them.
    """
    cases = ways_of(method, parameters, radius)
    if cases is None or not z_a > (-z_a if z_b is None else z_b):
        return False
    top = _share(z_a)
    rest = top if z_b is None else _share(-z_b)
    return all(regions.low(top) + regions.low(rest) > 1 for regions in cases)


def too_many(method: str, radius: float) -> bool:
    """Whether a radius of discrete noise is beyond what is proved here."""
    return method in _MOST and radius > _MOST[method]


def least_discrete(method: str, parameters: Parameters, radius: float, z: Arb) -> Event:
    """The least that an event of Phi(z) can have within a number of changes."""
    return least_of_ways(method, parameters, float(int(radius)), z)


def least_of_ways(method: str, parameters: Parameters, radius: float, z: Arb) -> Event:
    """The same of whole numbers of changes."""
    cases = ways_of(method, parameters, radius)
    if cases is None:
        return Event(arb(0), arb(1))
    share = _lower_end(event(z).p)
    low = min(regions.low(share) for regions in cases)
    with ctx.workprec(PRECISION):
        p = arb(low.numerator) / low.denominator
        return Event(p, 1 - p)


def ways_of(method: str, parameters: Parameters, radius: Any) -> list[Regions] | None:
    """The regions of every way to make so many changes; None beyond ``_MOST``."""
    text = json.dumps(dict(parameters), sort_keys=True)
    most = _MOST[method]
    if isinstance(radius, tuple):
        if not all(0 <= part <= most for part in radius):
            return None
        ways = _ways_of(method, parameters, radius)
    else:
        if not (0 <= radius <= most and radius == int(radius)):
            return None
        ways = list(_WAYS[method](parameters, int(radius)))
    return [_regions(method, text, way) for way in ways]


def _share(z: float) -> Fraction:
    """A rational number at most Phi(z), and hardly less."""
    if z == inf:
        return Fraction(1)
    with ctx.workprec(PRECISION):
        return _lower_end(event(arb(z)).p)


def _lower_end(ball: Arb) -> Fraction:
    mantissa, exponent = (int(part) for part in ball.lower().man_exp())
    share = Fraction(mantissa) * Fraction(2) ** exponent
    return min(max(share, Fraction(0)), Fraction(1))


# --- ways to make a number of changes


def _alike(parameters: Parameters, changes: int) -> Iterator[Counts]:
    yield (changes,)


def _of_two_kinds(parameters: Parameters, changes: int) -> Iterator[Counts]:
    """Added and deleted ones."""
    for added in range(changes + 1):
        yield added, changes - added


def _edits(parameters: Parameters, changes: int) -> Iterator[Counts]:
    """Elements of x, and of x', outside of a common subsequence."""
    if changes > _EACH:
        # the bound falls with either number, and each is at most that of the edits
        yield changes, changes
        return
    for inserted in range(changes + 1):
        for substituted in range(changes - inserted + 1):
            deleted = changes - inserted - substituted
            yield deleted + substituted, inserted + substituted


def _in_blocks(parameters: Parameters, changes: int) -> Iterator[Counts]:
    """Numbers of changes of all kinds of all blocks, one after the other."""
    blocks = parameters["blocks"]
    for shares in product(range(changes + 1), repeat=len(blocks) - 1):
        if sum(shares) <= changes:
            yield from _joined(blocks, (*shares, changes - sum(shares)))


def _joined(blocks: Any, shares: Counts) -> Iterator[Counts]:
    kinds = [
        list(_WAYS[block["method"]](block, share))
        for block, share in zip(blocks, shares, strict=True)
    ]
    for parts in product(*kinds):
        yield tuple(number for part in parts for number in part)


def _ways_of(method: str, parameters: Parameters, radius: Counts) -> list[Counts]:
    """The ways that an entry of a frontier stands for."""
    if method == "blocks" and len(radius) == len(parameters["blocks"]):
        return list(_joined(parameters["blocks"], radius))
    if method == "blocks":
        return list(_in_blocks(parameters, *radius))
    return [radius]


_WAYS: Mapping[str, Callable[[Parameters, int], Iterator[Counts]]] = {
    "categorical": _alike,
    "mask": _alike,
    "flips": _of_two_kinds,
    "deletion": _edits,
    "blocks": _in_blocks,
}

# --- regions of a way


@lru_cache(maxsize=4096)
def _regions(method: str, text: str, counts: Counts) -> Regions:
    return Regions.of(_masses(method, text, counts))


def _masses(method: str, text: str, counts: Counts) -> Masses:
    parameters = json.loads(text)
    regions: Masses = {Fraction(1): (Fraction(1), Fraction(1))}
    if method == "blocks":
        rest = counts
        for block in parameters["blocks"]:
            kinds = 2 if block["method"] == "flips" else 1
            own = _regions(block["method"], json.dumps(block), rest[:kinds])
            regions = _times(regions, list(own.masses.values()))
            rest = rest[kinds:]
        return regions
    for cells, times in _cells(method, parameters, counts):
        for _ in range(times):
            regions = _times(regions, cells)
    return regions


def _times(regions: Masses, cells: Cells) -> Masses:
    """Regions with one more independent part, those of one ratio joined."""
    joined: Masses = {}
    for p, q in regions.values():
        for mass, shifted_mass in cells:
            if not p * mass:
                continue  # x doesn't produce it
            ratio = (q * shifted_mass) / (p * mass)
            one, other = joined.get(ratio, (Fraction(0), Fraction(0)))
            joined[ratio] = (one + p * mass, other + q * shifted_mass)
    return joined


def _cells(
    method: str, parameters: Parameters, counts: Counts
) -> list[tuple[Cells, int]]:
    """What comes out of a changed coordinate, and of how many of them."""
    if method == "categorical":
        keep = Fraction(parameters["keep"])
        other = (1 - keep) / (parameters["values"] - 1)
        elsewhere = 1 - keep - other
        cells = [(keep, other), (other, keep), (elsewhere, elsewhere)]
        return [(cells, counts[0])]
    if method == "flips":
        add, delete = Fraction(parameters["add"]), Fraction(parameters["delete"])
        added = [(add, 1 - delete), (1 - add, delete)]
        deleted = [(shifted_mass, mass) for mass, shifted_mass in added]
        return [(added, counts[0]), (deleted, counts[1])]
    if method == "deletion":
        delete = Fraction(parameters["delete"])
        return [(_common(delete ** counts[0], delete ** counts[1]), 1)]
    hidden = _hidden(parameters, counts[0])
    return [(_common(hidden, hidden), 1)]


def _common(mass: Fraction, shifted_mass: Fraction) -> Cells:
    """What x alone produces, and what both do."""
    return [(1 - mass, Fraction(0)), (mass, shifted_mass)]


def _hidden(parameters: Parameters, changes: int) -> Fraction:
    """The probability that all changed coordinates are hidden."""
    if "keep_probability" in parameters:
        return (1 - Fraction(parameters["keep_probability"])) ** changes
    dim, kept = int(parameters["dim"]), int(parameters["keep_count"])
    if changes > dim:
        return Fraction(0)
    return Fraction(comb(dim - changes, kept), comb(dim, kept))
