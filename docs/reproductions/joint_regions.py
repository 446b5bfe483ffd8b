"""A joint certificate whose regions are not sorted, written from its description."""

from fractions import Fraction
from itertools import product
from math import comb

Masses = list[tuple[Fraction, Fraction]]  # of regions, at x and at x'


def of_flips(add: Fraction, delete: Fraction, changes: tuple[int, int]) -> Masses:
    """By the number of changed bits that come out unlike x's: the ratio falls with it.

    It does where add + delete < 1.
    """
    added, deleted = changes
    masses = [(Fraction(0), Fraction(0))] * (added + deleted + 1)
    for u, v in product(range(added + 1), range(deleted + 1)):
        here = _binomial(added, u, add) * _binomial(deleted, v, delete)
        there = _binomial(added, u, 1 - delete) * _binomial(deleted, v, 1 - add)
        at_x, at_other = masses[u + v]
        masses[u + v] = at_x + here, at_other + there
    return masses


def products(first: Masses, second: Masses) -> Masses:
    """Row by row, as they come: not in the order of their ratios."""
    return [(p * s, q * t) for (p, q), (s, t) in product(first, second)]


def filled(masses: Masses, p: Fraction) -> Fraction:
    """Mass at x' of the first regions that have p at x, the last one in part."""
    missing, moved = p, Fraction(0)
    for here, there in masses:
        if here >= missing:
            return moved + there * missing / here
        missing -= here
        moved += there
    return moved


def _binomial(n: int, k: int, p: Fraction) -> Fraction:
    return comb(n, k) * p**k * (1 - p) ** (n - k)
