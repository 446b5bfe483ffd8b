"""Searches by guesses and by sections find what all others do."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds import schemes
from rsbounds.discrete._search import least_accepted, powers
from rsbounds.schemes._deletion import DeletionCurve
from rsbounds.schemes._mask import MaskCurve


def test_a_chance_next_to_one_is_guessed_to_leave_nothing():
    """The search of each value of an array began at 2^53 changes."""
    lead = np.array([0.25])
    assert 0 <= powers(math.log(5e-324), lead) < 1
    assert powers(-math.inf, lead) == 0
    assert powers(0.0, lead) > 2**53


@given(
    ends=st.lists(st.floats(0.0, 1e300), min_size=3, max_size=3).map(sorted),
    steps=st.integers(-2, 2),
    guess=st.floats(0.0, 1e300),
)
def test_the_least_accepted_double_is_found(ends, steps, guess):
    """Next to it too, and at either end."""
    low, least, high = ends
    for _ in range(abs(steps)):
        least = math.nextafter(least, math.inf if steps > 0 else 0.0)
    if low < least <= high:
        for near in (guess, least * (1 - 1e-15), low, high):
            found = least_accepted(lambda values: values >= least, low, high, near)
            assert found == least


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
    "scheme",
    [schemes.categorical(0.6, 9), schemes.flips(0.01, 0.6), schemes.mask(10**9, 9)],
    ids=["categorical", "flips", "mask"],
)
def test_radii_of_many_values_are_those_of_few(scheme):
    """Of many values not each is asked: between two of one radius none is."""
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.uniform(0.4, 1, 5000), 1 - 10 ** rng.uniform(-17, 0, 500)])
    p = np.concatenate([p, [0.0, 0.5, 1.0], p[:20]])
    pieces = [scheme.curve.radius(part) for part in np.array_split(p, 9)]
    assert np.array_equal(scheme.curve.radius(p), np.concatenate(pieces))
