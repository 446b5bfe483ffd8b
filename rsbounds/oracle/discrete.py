"""Discrete noise by brute force: all outcomes, all inputs within reach, in rationals.

Nothing here knows a formula of :mod:`rsbounds.noises`: every outcome of the noise is
listed with its probability at x and at x', and an event is filled with the outcomes of
the least ratio first (Neyman and Pearson). For few coordinates only.

An outcome's law is a dictionary from outcome to probability; a case is the pair of laws
at x and at x'.

Examples
--------
>>> from fractions import Fraction
>>> from rsbounds.oracle import discrete
>>> cases = discrete.mask_cases(4, Fraction(2), 1)
>>> discrete.low(cases, Fraction(3, 4))
Fraction(1, 4)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import combinations, product
from math import comb, lcm, prod
from typing import NamedTuple

from rsbounds.oracle._entry import checked

__all__ = [
    "block_cases",
    "categorical_cases",
    "certified",
    "certified_votes",
    "deletion_cases",
    "edits",
    "flip_cases",
    "high",
    "infimum",
    "low",
    "mask_cases",
]

Law = dict[Hashable, Fraction]
Case = tuple[Law, Law]


# what a case implies ------------------------------------------------------------------


@checked
def low(cases: Iterable[Case], p: Fraction) -> Fraction:
    """The least probability at x' of an event of probability at least p at x."""
    return min(_least(case, p) for case in cases)


@checked
def high(cases: Iterable[Case], p: Fraction) -> Fraction:
    """The largest probability at x' of an event of probability at most p at x."""
    return max(_most(case, p) for case in cases)


@checked
def certified(
    cases: Sequence[Case], p_a: Fraction, p_b: Fraction | None = None
) -> bool:
    """Whether A, of probability p_a, leads any B, of p_b or 1 - p_a, in every case."""
    other = 1 - p_a if p_b is None else p_b
    return all(_least(case, p_a) > _most(case, other) for case in cases)


@checked
def infimum(cases: Iterable[Case]) -> Fraction | None:
    """Least number that p must exceed for :func:`low` to exceed 1/2; None: none."""
    result = Fraction(0)
    for case in cases:
        threshold = _infimum(case)
        if threshold is None:
            return None
        result = max(result, threshold)
    return result


class _Ordered(NamedTuple):
    """Outcomes in whole parts of 1 at x and at x', those that x' lacks most first."""

    at_x: int  # so many parts are 1
    at_other: int
    outcomes: list[tuple[int, int]]


def _ordered(case: Case) -> _Ordered:
    (parts_at_x, at_x), (parts_at_other, at_other) = map(_in_parts, case)
    pairs = [(at_x.get(o, 0), at_other.get(o, 0)) for o in set(at_x) | set(at_other)]
    outcomes = sorted(filter(any, pairs), key=cmp_to_key(_by_ratio))
    return _Ordered(parts_at_x, parts_at_other, outcomes)


def _in_parts(law: Law) -> tuple[int, dict[Hashable, int]]:
    """How many parts are 1, and how many each outcome has."""
    parts = lcm(*(mass.denominator for mass in law.values()))
    return parts, {
        outcome: mass.numerator * (parts // mass.denominator)
        for outcome, mass in law.items()
    }


def _by_ratio(first: tuple[int, int], second: tuple[int, int]) -> int:
    """Compare by products, which need no common divisors of long numbers."""
    return first[1] * second[0] - second[1] * first[0]


def _least(case: Case, p: Fraction) -> Fraction:
    at_x, at_other, outcomes = _ordered(case)
    goal = Fraction(p) * at_x
    reached = result = 0
    for mass, shifted_mass in outcomes:
        if reached + mass >= goal:
            if mass:
                share = (goal - reached) / mass
                return (result + share * shifted_mass) / at_other
            break
        reached += mass
        result += shifted_mass
    return Fraction(result, at_other)


def _most(case: Case, p: Fraction) -> Fraction:
    at_x, at_other, outcomes = _ordered(case)
    goal = Fraction(p) * at_x
    reached = result = 0
    for mass, shifted_mass in reversed(outcomes):
        if reached + mass > goal:
            share = (goal - reached) / mass
            return (result + share * shifted_mass) / at_other
        reached += mass
        result += shifted_mass
    return Fraction(result, at_other)


def _infimum(case: Case) -> Fraction | None:
    """Least number of a case alone, as of :func:`infimum`."""
    at_x, at_other, outcomes = _ordered(case)
    reached = result = 0
    for mass, shifted_mass in outcomes:
        if not mass:
            break  # x can't produce what comes last
        if 2 * (result + shifted_mass) > at_other:
            share = Fraction(at_other - 2 * result, 2 * shifted_mass)
            return (reached + share * mass) / at_x
        reached += mass
        result += shifted_mass
    return None


# the noises ---------------------------------------------------------------------------


@checked
def categorical_cases(keep: Fraction, values: int, dim: int, r: int) -> list[Case]:
    """All x' that differ from x = (0, ..., 0) in r of ``dim`` coordinates."""
    move = (1 - keep) / (values - 1)

    def law(x: Sequence[int]) -> Law:
        result: Law = {}
        for outcome in product(range(values), repeat=dim):
            pairs = zip(outcome, x, strict=True)
            result[outcome] = prod(
                (keep if o == v else move for o, v in pairs), start=Fraction(1)
            )
        return result

    at_x = law((0,) * dim)
    inputs = product(range(values), repeat=dim)
    return [(at_x, law(x)) for x in inputs if sum(v != 0 for v in x) == r]


@checked
def flip_cases(
    add: Fraction, delete: Fraction, x: Sequence[int]
) -> dict[tuple[int, int], list[Case]]:
    """All x' of 0s and 1s by (ones added, ones deleted)."""
    chance = {0: {0: 1 - add, 1: add}, 1: {0: delete, 1: 1 - delete}}

    def law(bits: Sequence[int]) -> Law:
        result: Law = {}
        for outcome in product((0, 1), repeat=len(bits)):
            pairs = zip(bits, outcome, strict=True)
            result[outcome] = prod(
                (chance[bit][o] for bit, o in pairs), start=Fraction(1)
            )
        return result

    at_x = law(x)
    result: dict[tuple[int, int], list[Case]] = defaultdict(list)
    for other in product((0, 1), repeat=len(x)):
        changes = Counter(zip(x, other, strict=True))
        result[changes[0, 1], changes[1, 0]].append((at_x, law(other)))
    return dict(result)


@checked
def mask_cases(dim: int, kept: Fraction, r: int) -> list[Case]:
    """Cases of all x' that differ from x in r coordinates.

    ``kept`` is a whole number of coordinates, or below 1 the probability of each.
    """
    shown: Law = {}
    for size in range(dim + 1):
        for places in combinations(range(dim), size):
            if kept < 1:
                shown[places] = kept**size * (1 - kept) ** (dim - size)
            elif size == kept:
                shown[places] = Fraction(1, comb(dim, size))

    def law(x: Sequence[int]) -> Law:
        return {
            tuple((i, x[i]) for i in places): chance  # type: ignore[attr-defined]
            for places, chance in shown.items()
        }

    at_x = law([0] * dim)
    result = []
    for changed in combinations(range(dim), r):
        result.append((at_x, law([int(i in changed) for i in range(dim)])))
    return result


@checked
def deletion_cases(
    delete: Fraction, x: Sequence[int], r: int, alphabet: int = 2
) -> list[Case]:
    """All x' within r edits of x."""

    def law(sequence: Sequence[int]) -> Law:
        result: dict[Hashable, Fraction] = defaultdict(Fraction)
        length = len(sequence)
        for size in range(length + 1):
            chance = (1 - delete) ** size * delete ** (length - size)
            for places in combinations(range(length), size):
                result[tuple(sequence[i] for i in places)] += chance
        return dict(result)

    at_x = law(x)
    result = []
    for length in range(max(len(x) - r, 0), len(x) + r + 1):
        for other in product(range(alphabet), repeat=length):
            if edits(x, other) <= r:
                result.append((at_x, law(other)))
    return result


@checked
def edits(x: Sequence[int], other: Sequence[int]) -> int:
    """The least number of insertions, deletions and substitutions from x to x'."""
    if not x or not other:
        return len(x) + len(other)
    if x[0] == other[0]:
        return edits(x[1:], other[1:])
    inserted = edits(x, other[1:])
    deleted = edits(x[1:], other)
    substituted = edits(x[1:], other[1:])
    return 1 + min(inserted, deleted, substituted)


@checked
def block_cases(first: Iterable[Case], second: Iterable[Case]) -> list[Case]:
    """Independent noises side by side: every pair of cases."""

    def together(left: Law, right: Law) -> Law:
        return {(a, b): p * q for a, p in left.items() for b, q in right.items()}

    return [
        (together(left[0], right[0]), together(left[1], right[1]))
        for left, right in product(first, second)
    ]


@checked
def certified_votes(parts: Sequence[int], classes: int, reach: int) -> bool:
    """Return whether the top class stays, whichever ``reach`` parts vote anew.

    Each of ``parts`` votes for a class; the smaller class wins a tie.
    """

    def winner(votes: Sequence[int]) -> int:
        return max(range(classes), key=lambda c: (votes.count(c), -c))

    first = winner(parts)
    size = min(reach, len(parts))
    for places in combinations(range(len(parts)), size):
        for new in product(range(classes), repeat=size):
            votes = list(parts)
            for place, vote in zip(places, new, strict=True):
                votes[place] = vote
            if winner(votes) != first:
                return False
    return True
