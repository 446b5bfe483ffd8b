"""Searches by guesses, by leading bits and by the nearest doubles find what all do."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds.noises._exact import float_down, float_up
from rsbounds.noises._regions import _Quotients
from rsbounds.noises._search import last, powers
from rsbounds.noises.categorical import CategoricalCurve
from rsbounds.noises.deletion import DeletionCurve
from rsbounds.noises.flips import FlipsCurve
from rsbounds.noises.mask import MaskCurve

NUMBER = st.integers(0, 300)


@given(end=NUMBER, start=NUMBER, guess=st.none() | NUMBER, limit=st.none() | NUMBER)
def test_a_guess_changes_no_result(end, start, guess, limit):
    if limit is not None and limit < start:
        limit = start
    found = last(lambda n: n <= end, limit, start, guess)
    expected = end if limit is None else min(end, limit)
    assert found == (expected if start <= end else start - 1)


def test_a_chance_next_to_one_is_guessed_to_leave_nothing():
    """The search of each value of an array began at 2^53 changes."""
    lead = Fraction(1, 4)
    assert powers(1 - Fraction(5e-324), lead, 2**53) == 0
    assert powers(Fraction(1), lead, 2**53) == 0
    assert powers(Fraction(0), lead, 2**53) == 2**53


@pytest.mark.parametrize(
    "curve",
    [
        MaskCurve(1000, 7),
        MaskCurve(1000, 999),
        MaskCurve(2**31, probability=1e-3),
        DeletionCurve(0.997),
        DeletionCurve(5e-324),
    ],
)
def test_radii_that_are_guessed_are_the_last_certified(curve):
    for p, p_b in ((0.9, None), (0.5, 0.49), (0.999, 1e-9), (0.3, 0.3), (0.75, 0.25)):
        radius = curve.radius(p, p_b)
        assert radius == 0 or curve.certified(p, radius, p_b)
        assert not curve.certified(p, radius + 1, p_b)


@pytest.mark.parametrize(
    ("curve", "changes"),
    [
        (CategoricalCurve(0.9, 2), 80),
        (CategoricalCurve(5e-324, 3), 12),
        (FlipsCurve(0.25, 0.3), (60, 40)),
    ],
)
def test_values_by_leading_bits_are_rounded_as_whole_numbers_are(curve, changes):
    p = np.concatenate([np.linspace(0, 1, 41), [5e-324, 1e-300, 1 - 2.0**-53]])
    regions = curve._region(changes if isinstance(changes, tuple) else (changes,))
    assert regions.leading is not None
    # next to corners too, which leading bits don't tell from what is beside them
    corners = [before / regions.scale for before in regions.before]
    p = np.concatenate([p, corners[1:-1:7]])
    for value, low in zip(p, curve.low(p, changes), strict=True):
        exact = regions.low(Fraction(float(value)))
        assert low == float_down(*exact.as_integer_ratio())


@given(
    numbers=st.lists(st.integers(1, 2**60), min_size=1, max_size=12),
    scale=st.integers(2**60, 2**70),
    up=st.booleans(),
)
def test_the_last_quotient_not_above_is_found_among_rounded_ones(numbers, scale, up):
    rounded = float_up if up else float_down
    held = sorted(numbers + [number + 1 for number in numbers])
    quotients = _Quotients(len(held), lambda i: (held[i], scale), rounded)
    every = [rounded(number, scale) for number in held]
    values = np.array([*every, 0.0, 1.0, every[0] * (1 + 2.0**-52)])
    places = quotients.last_not_above(values)
    expected = np.maximum(np.searchsorted(every, values, side="right") - 1, 0)
    assert np.array_equal(places, expected)


@pytest.mark.parametrize("curve", [FlipsCurve(0.25, 0.3), FlipsCurve(0.0, 0.5)])
def test_ways_that_estimates_leave_out_keep_no_less(curve):
    every = [curve._region((added, 9 - added)) for added in range(10)]
    for p in (Fraction(1, 2**80), Fraction(2, 3), 1 - Fraction(1, 2**70), Fraction(1)):
        assert curve.low(p, 9) == min(regions.low(p) for regions in every)
    infima = [regions.infimum_parts() for regions in every]
    if None in infima:
        assert curve.threshold(9) == np.inf
    else:
        expected = max(Fraction(*parts) for parts in infima)
        assert curve.threshold(9, exact=True) == expected
