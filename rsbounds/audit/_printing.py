"""How a column of radii was printed, inferred from the column itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from math import isfinite, sqrt

import numpy as np

from rsbounds._numerics.checks import Array

#: How a number is shortened: which radii print as r, in units of its last digit below
#: and above r. Of those that fit a column alike, the first is taken.
WAYS = {"cut": (0.0, 1.0), "rounded": (0.5, 0.5), "rounded up": (1.0, 0.0)}
#: Rows of another style than most: a column may have so many, as a share.
_STRANGE = 0.05
#: Relative error of radii that are computed by the field's formulas in doubles.
DOUBLE = 1e-10
#: That of radii in single precision.
_SINGLE = 2.0**-21
#: So far below a count's radius one is still taken to be that count's.
_NEAR = 1e-6
#: A number of so many digits may be one in single precision.
_DIGITS_OF_SINGLE = 7
#: From so many digits on many numbers are none of single precision that was rounded.
_MORE_THAN_SINGLE = 8
#: Factors that people print radii with; 255 is for pixels.
_FACTORS = (1 / 2, 2.0, 1 / sqrt(2), sqrt(2), 255.0, 1 / 255)
#: Logarithm of the chance with which a factor may fit that is none.
_CHANCE = -25.0
_MOST = 400  # radii that are compared with each factor


@dataclass(frozen=True)
class Printing:
    """How numbers were printed.

    Attributes
    ----------
    decimals, significant : int or None
        Digits after the point, and in all, of most numbers; None if the column isn't
        of so many. Where both fit, a number has the fewer digits of the two.
    single : bool
        Whether the numbers are of single precision.
    way : str
        One of ``WAYS``.
    factor : float
        What all radii were multiplied by.
    texts : mapping
        Each number as it stands in the column: 0.250 has a digit more than 0.25. Where
        it stands there in several ways, the one of the fewest digits.
    """

    decimals: int | None
    significant: int | None
    single: bool
    way: str = "rounded"
    factor: float = 1.0
    texts: Mapping[float, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, cells: Sequence[str]) -> Printing:
        """The digits of a column; cells are text of numbers >= 0."""
        texts: dict[float, str] = {}
        for cell in sorted(set(cells), key=len, reverse=True):
            texts[float(cell)] = cell
        finite = [number for number in texts if number and isfinite(number)]
        digits = [_digits(texts[number])[:2] for number in finite]
        if not digits:
            return cls(decimals=0, significant=None, single=False, texts=texts)
        styles: list[int | None] = []
        for lengths in zip(*digits, strict=True):
            usual: int = Counter(lengths).most_common(1)[0][0]
            longer = sum(number > usual for number in lengths)
            styles.append(usual if longer <= _STRANGE * len(lengths) else None)
        if styles == [None, None]:  # a mixed column
            styles = [int(np.median(lengths)) for lengths in zip(*digits, strict=True)]
        most = max(significant for _, significant in digits)
        single = most >= _DIGITS_OF_SINGLE and all(
            _is_single(number, texts[number], most) for number in finite
        )
        return cls(
            decimals=styles[0], significant=styles[1], single=single, texts=texts
        )

    @classmethod
    def of_radii(cls, cells: Sequence[str], earned: Array) -> Printing:
        """The digits of a column of radii, how they were shortened, and their factor.

        ``earned`` are the radii of all counts, in order: what fits them best.
        """
        printed = cls.of(cells)
        inside = (r for r in printed.texts if 0 < r <= earned[-1] * 256)
        radii = np.array(sorted(inside))
        if not radii.size:
            return printed
        best, lost = printed._fitting(radii, earned)
        if not lost or radii.size < 5:
            return best
        sampled = radii[:: -(-radii.size // _MOST)]
        most = min(_STRANGE, lost / radii.size / 2) * sampled.size
        for factor in _factors(radii[-1], earned):
            other, strange = replace(printed, factor=factor)._fitting(sampled, earned)
            if strange <= most and other._chance(sampled, earned) < _CHANCE:
                return other
        return best

    def _fitting(self, radii: Array, earned: Array) -> tuple[Printing, int]:
        """The way that most numbers fit, and how many don't."""
        ways = [replace(self, way=way) for way in WAYS]
        lost = [int((way.counts(radii, earned) < 0).sum()) for way in ways]
        least = lost.index(min(lost))
        if min(lost) == lost[1] > 0:  # nothing speaks for another way than the usual
            least = 1
        return ways[least], lost[least]

    def _chance(self, radii: Array, earned: Array) -> float:
        """Logarithm of the chance with which numbers print as counts' radii."""
        table = self.factor * earned
        above = np.clip(np.searchsorted(table, radii), 1, table.size - 1)
        widths = self.units(radii) + 2 * self.slack * radii
        return float(np.log(np.minimum(widths / np.diff(table)[above - 1], 1)).sum())

    @property
    def slack(self) -> float:
        """The relative error of the arithmetic that computed a number."""
        return _SINGLE if self.single else DOUBLE

    def unit(self, number: float) -> float:
        """The place of a number's last digit; of one with more digits, its own."""
        if not isfinite(number):
            return 0.0
        text = self.texts.get(number) or as_text(number)
        return _last_place(text, self.decimals, self.significant)

    def units(self, numbers: Array) -> Array:
        return np.array([self.unit(float(number)) for number in numbers])

    def ends(self, numbers: Array) -> tuple[Array, Array]:
        """The least and the largest number that is printed as each of these."""
        below, above = WAYS[self.way]
        units = self.units(numbers)
        error = np.where(np.isfinite(numbers), numbers, 0.0)
        low = numbers - below * units - self.slack * error
        return low, numbers + above * units + _NEAR * error

    def counts(self, numbers: Array, earned: Array) -> Array:
        """The largest count whose radius prints so, for each number; -1 for none."""
        low, high = self.ends(numbers)
        table = self.factor * earned
        largest = np.searchsorted(table, high, "right") - 1
        fits = (largest >= 0) & (table[np.maximum(largest, 0)] >= low)
        return np.where(fits, largest, -1)

    def count(self, number: float, earned: Array) -> int | None:
        """The largest count whose radius prints as this one; None if none does."""
        largest = int(self.counts(np.array([number]), earned)[0])
        return None if largest < 0 else largest

    def __str__(self) -> str:
        parts = []
        if self.decimals is not None:
            parts.append(f"{self.decimals} decimals")
        if self.significant is not None:
            parts.append(f"{self.significant} significant digits")
        words = "single precision" if self.single else " or ".join(parts)
        return f"{words}, {self.way}"


def as_text(number: float) -> str:
    """The fewest digits that read back as a number."""
    return str(Decimal(repr(float(number))).normalize())


@lru_cache(maxsize=2**16)
def _digits(text: str) -> tuple[int, int, int]:
    """Count decimals and significant digits of a number's text.

    Third comes the power of ten of its first digit.
    """
    exact = Decimal(text)
    _, digits, exponent = exact.as_tuple()
    return max(0, -int(exponent)), len(digits), exact.adjusted()


@lru_cache(maxsize=2**16)
def _last_place(text: str, usual: int | None, usual_significant: int | None) -> float:
    """The place of a number's last digit, in a column of usually so many."""
    decimals, significant, first = _digits(text)
    units = []
    if usual is not None:
        units.append(10.0 ** -max(usual, decimals))
    if usual_significant is not None:
        units.append(10.0 ** (first + 1 - max(usual_significant, significant)))
    return max(units)


def _is_single(number: float, text: str, most: int) -> bool:
    """Whether a number is of single precision: as it is, its shortest decimal, rounded.

    Of a column of at most ``most`` digits: where these are few, any number is a rounded
    one of single precision.
    """
    with np.errstate(over="ignore"):
        near = np.float32(number)
    if float(near) == number or float(str(near)) == number:
        return True
    digits = _digits(text)[1]
    return most >= _MORE_THAN_SINGLE and float(f"{near:.{digits - 1}e}") == number


def _factors(largest: float, earned: Array) -> Iterator[float]:
    """Factors that radii may have been multiplied by.

    Last of all the one that makes the largest radius that of a count.
    """
    yield from _FACTORS
    for radius in earned[:-100:-1]:
        if radius <= 0:
            return
        factor = largest / radius
        yield from (float(f"{factor:.2}"), float(f"{factor:.3}"), factor)
