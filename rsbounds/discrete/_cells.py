"""What one changed coordinate produces, in the rational numbers of the parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

#: How much of an outcome's chance a change that is taken for a small one may move.
_NEARBY = 0.75
#: The probabilities of one outcome at x and at x'.
Pair = tuple[Fraction, Fraction]


class Cells:
    """The outcomes of one changed coordinate that x can produce.

    They come in the order of their ratios, one factor apart where there are three of
    both x and x', so that a sum over coordinates is known by the sum of their places.

    Attributes
    ----------
    mass, shifted_mass : tuple of float
        The probabilities of the outcomes at x and at x', each rounded once.
    log_kept, log_kept_shifted : float
        The logarithms of what an outcome of both x and x' has at x and at x', within
        :func:`log_of_rest`'s error.
    is_lattice : bool
        Whether all outcomes are of both, and there are several.
    is_symmetric : bool
        Whether the probabilities at x' are those at x in the other order.
    covers : bool
        Whether x produces whatever x' does, and the other way around.
    step : float
        About how far one change moves the normal score of an event, where as many as
        the square of a number move it by that many steps; None for larger changes.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.exact = tuple(pair for pair in pairs if pair[0])
        alone = sum((p for p, q in self.exact if not q), start=Fraction(0))
        outside = 1 - sum((q for _, q in self.exact), start=Fraction(0))
        self.mass = tuple(float(p) for p, _ in self.exact)
        self.shifted_mass = tuple(float(q) for _, q in self.exact)
        self.log_kept = log_of_rest(alone)
        self.log_kept_shifted = log_of_rest(outside)
        self.is_lattice = sum(q > 0 for _, q in self.exact) > 1
        self.is_symmetric = self.mass == self.shifted_mass[::-1]
        self.covers = not alone and not outside

    @cached_property
    def step(self) -> float | None:
        pairs = zip(self.mass, self.shifted_mass, strict=True)
        small = all(abs(q - p) <= _NEARBY * p for p, q in pairs)
        # a chance that no double holds says nothing
        if not (small and self.is_lattice and self.covers and all(self.mass)):
            return None
        differences = [(float(q - p), float((q - p) / p)) for p, q in self.exact]
        # the mean of the logarithms of ratios moves, over their standard deviation
        logs = [math.log1p(relative) for _, relative in differences]
        moved = sum(d * log for (d, _), log in zip(differences, logs, strict=True))
        square = sum(p * log**2 for p, log in zip(self.mass, logs, strict=True))
        mean = sum(p * log for p, log in zip(self.mass, logs, strict=True))
        spread = square - mean**2
        return moved / math.sqrt(spread) if spread > 0 else None

    def is_below(self, other: Cells) -> bool:
        """Whether the curve of one such change is nowhere above that of another."""
        # both are convex, and the other one is straight between its corners
        return all(self._least(p) <= q for p, q in other._corners())

    def _by_ratio(self) -> list[Pair]:
        return sorted(self.exact, key=lambda pair: pair[1] / pair[0])

    def _corners(self) -> Iterable[Pair]:
        masses, shifted = zip(*self._by_ratio(), strict=True)
        return zip(accumulate(masses), accumulate(shifted), strict=True)

    def _least(self, p: Fraction) -> Fraction:
        """The least probability at x' of an event of probability p at x."""
        result = Fraction(0)
        for mass, shifted in self._by_ratio():
            part = min(p, mass)
            result += shifted * part / mass
            p -= part
        return result


def worst(kinds: Sequence[Cells]) -> tuple[int, ...]:
    """The places of the kinds of changes that are worse than no other.

    Where an event can lose more by one change than by another whatever its probability
    is, it can by any number of them, with any further changes (Blackwell): what the
    other change produces is that of the first, made coarser by chance.
    """
    found: list[int] = []
    for place, cells in enumerate(kinds):
        # of two kinds that are equal the first stays
        if any(kinds[other].is_below(cells) for other in found):
            continue
        found = [other for other in found if not cells.is_below(kinds[other])]
        found.append(place)
    return tuple(found)


def log_of_rest(share: Fraction) -> float:
    """The logarithm of 1 - share, within 6 units of 2^-53 of it; -inf for 1."""
    # next to 1 the share's own double has lost the digits of its rest
    if 2 * share <= 1:
        return math.log1p(-float(share))
    rest = float(1 - share)
    return math.log(rest) if rest > 0 else -math.inf
