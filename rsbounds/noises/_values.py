"""Probabilities that a curve is asked for: numbers, Fractions and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from rsbounds._numerics.checks import as_floats, shape_of
from rsbounds._numerics.rationals import exact_probability
from rsbounds.noises._regions import Regions
from rsbounds.noises._ways import Cases


class Values(NamedTuple):
    """The values of an argument: each once, exactly, and where they go."""

    exact: list[Fraction]
    places: Any
    is_fraction: bool

    @classmethod
    def of(cls, p: Any) -> Self:
        """Probabilities, checked: a number, a Fraction or an array of numbers."""
        if not shape_of("p", p) and not isinstance(p, np.ndarray):
            value = exact_probability("p", p)
            return cls([value], None, isinstance(p, Fraction))
        given = np.asarray(p)
        array = as_floats("p", given, 0.0, 1.0, nan=False)
        if given.dtype == np.longdouble:
            values, places = np.unique(given, return_inverse=True)
        else:
            # told apart by their bits: a processor may be set to take the smallest for
            # 0
            bits, places = np.unique(array.view(np.int64), return_inverse=True)
            values = bits.view(np.float64)
        exact = [exact_probability("p", value) for value in values]
        return cls(exact, places.reshape(array.shape), False)

    def answered(
        self,
        cases: Cases,
        rounded: Callable[[Fraction, Iterator[Regions]], float],
        exact: Callable[[Fraction, Iterator[Regions]], Fraction],
    ) -> Any:
        """A Fraction's answer exact, a number's rounded, an array's for each number.

        Each by the regions that may matter to it.
        """
        if self.is_fraction:
            return exact(self.exact[0], cases.of(0))
        results = [rounded(value, cases.of(i)) for i, value in enumerate(self.exact)]
        return results[0] if self.places is None else np.array(results)[self.places]
