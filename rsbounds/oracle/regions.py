"""Discrete noise by regions of constant likelihood ratio, in rationals.

The regions of each noise from the formula of its masses alone, for many more
coordinates than :mod:`rsbounds.oracle.discrete` can list outcomes of: as the pair of
laws at x and at x' that its functions take, with a number for each region.

Examples
--------
>>> from fractions import Fraction
>>> from rsbounds.oracle import discrete, regions
>>> case = regions.of_categories(Fraction(1, 5), 255, 1)
>>> discrete.infimum([case]), float(discrete.infimum([case]))
(Fraction(1777, 2550), 0.6968627450980392)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import comb, lcm, prod

from rsbounds.oracle._entry import checked

__all__ = ["of_blocks", "of_categories", "of_edits", "of_flips", "of_masks"]

Law = dict[Hashable, Fraction]
Case = tuple[Law, Law]


@checked
def of_categories(keep: Fraction, others: int, changes: int) -> Case:
    """Regions of changed coordinates that keep their value or take one of ``others``.

    A region has the number of coordinates at the value of x, less that of those at
    the value of x'.
    """
    move = (1 - Fraction(keep)) / others
    chances = [move, (others - 1) * move, keep]
    masses = _power(chances, changes)
    at_x: Law = {place - changes: mass for place, mass in enumerate(masses)}
    return at_x, {-place: mass for place, mass in at_x.items()}  # type: ignore[operator]


@checked
def of_flips(add: Fraction, delete: Fraction, added: int, deleted: int) -> Case:
    """Regions of bits that flip, by how many come out unlike those of x."""
    at_x = _sums(_power([1 - add, add], added), _power([1 - delete, delete], deleted))
    at_other = _sums(
        _power([delete, 1 - delete], added), _power([add, 1 - add], deleted)
    )
    return dict(enumerate(at_x)), dict(enumerate(at_other))


@checked
def of_masks(places: int, kept: Fraction, changes: int) -> Case:
    """Regions of masks: those that hide all changed coordinates, and others.

    ``kept`` of ``places`` coordinates are shown, or below 1 each with this chance.
    """
    if kept < 1:
        hidden = (1 - kept) ** changes
    else:
        hidden = Fraction(comb(places - changes, int(kept)), comb(places, int(kept)))
    return (
        {"hidden": hidden, "x": 1 - hidden},
        {"hidden": hidden, "other": 1 - hidden},
    )


@checked
def of_edits(delete: Fraction, inserted: int, deleted: int, substituted: int) -> Case:
    """Regions of deletions, where no element of a sequence repeats.

    Those without any element that x or x' has alone, and the others.
    """
    of_x = delete ** (deleted + substituted)
    of_other = delete ** (inserted + substituted)
    return (
        {"common": of_x, "x": 1 - of_x},
        {"common": of_other, "other": 1 - of_other},
    )


@checked
def of_blocks(cases: Sequence[Case]) -> Case:
    """Regions of independent noises side by side: every combination."""

    def together(laws: Sequence[Law]) -> Law:
        result: Law = {(): Fraction(1)}
        for law in laws:
            result = {
                (*key, region): mass * share  # type: ignore[misc]
                for key, mass in result.items()
                for region, share in law.items()
            }
        return result

    return together([case[0] for case in cases]), together([case[1] for case in cases])


def _power(chances: Sequence[Fraction], times: int) -> list[Fraction]:
    """The law of a sum of so many independent numbers 0, 1, ... of these chances."""
    scale = lcm(*(chance.denominator for chance in chances))
    weights = [int(chance * scale) for chance in chances]
    total = scale**times
    largest = total * scale  # a weight itself is at most scale, of no numbers too
    power = _packed(weights, largest) ** times
    count = (len(weights) - 1) * times + 1
    return [Fraction(mass, total) for mass in _unpacked(power, largest, count)]


def _sums(first: Sequence[Fraction], second: Sequence[Fraction]) -> list[Fraction]:
    """The law of a sum of two numbers."""
    scales = [lcm(*(mass.denominator for mass in law)) for law in (first, second)]
    total = prod(scales)
    product = prod(
        _packed([int(mass * scale) for mass in law], total)
        for law, scale in zip((first, second), scales, strict=True)
    )
    masses = _unpacked(product, total, len(first) + len(second) - 1)
    return [Fraction(mass, total) for mass in masses]


def _packed(weights: Sequence[int], largest: int) -> int:
    """A polynomial as one number, so that Python's own product multiplies them.

    Its digits are the coefficients; each, in products too, is at most ``largest``.
    """
    size = _bytes_of(largest)
    return int.from_bytes(
        b"".join(w.to_bytes(size, "little") for w in weights), "little"
    )


def _unpacked(number: int, largest: int, count: int) -> list[int]:
    """The ``count`` coefficients of a polynomial that is packed so."""
    size = _bytes_of(largest)
    digits = number.to_bytes(size * count, "little")
    places = range(0, size * count, size)
    return [int.from_bytes(digits[i : i + size], "little") for i in places]


def _bytes_of(largest: int) -> int:
    return largest.bit_length() // 8 + 1
