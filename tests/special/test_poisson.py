"""Tails of few whole degrees of freedom at a small noncentrality, without a contour."""

import numpy as np
import pytest
from mpmath import mp

from rsbounds import oracle, special

TAILS = ("ncx2_cdf", "ncx2_sf", "ncx2_logcdf", "ncx2_logsf")
LAWS = [(1, 1.0), (1, 1e-3), (2, 0.5), (3, 7.0), (4, 1.0), (7, 900.0), (60, 0.9)]


def points(df, nc):
    """From far below the mean to where the contour begins."""
    middle = np.array([1e-9, 0.03, 0.3, 0.9, 1 - 1e-12, 1.0, 1.7, 4.0, 30.0]) * (
        df + nc
    )
    return np.append(middle[nc * middle < 64], 64 / nc * np.array([1 - 1e-12, 1.0]))


@pytest.mark.parametrize("law", LAWS)
def test_tails_and_their_logarithms_are_within_what_is_measured(law):
    df, nc = law
    for x in map(float, points(df, nc)):
        truth = oracle.ncx2_tails(x, df, nc, dps=25)
        logs = {"cdf": truth.log_lower, "sf": truth.log_upper}
        with mp.workdps(30):
            wanted = {f"ncx2_log{tail}": value for tail, value in logs.items()}
            wanted |= {f"ncx2_{tail}": mp.exp(value) for tail, value in logs.items()}
            for name, value in wanted.items():
                found = getattr(special, name)(x, df, nc)
                room = special.error_bound(name, found, df=df, measured=True)
                assert abs(found - value) <= room, (name, x)


@pytest.mark.parametrize("name", TAILS)
@pytest.mark.parametrize("law", LAWS)
def test_arrays_have_the_bits_of_numbers(name, law):
    function = getattr(special, name)
    x = np.tile(points(*law), 8)[:64]
    alone = [function(float(value), *law) for value in x]
    np.testing.assert_array_equal(function(x, *law), alone)
    mixed = function(x, np.where(np.arange(len(x)) % 2, law[0], 5.0), law[1])
    np.testing.assert_array_equal(mixed[1::2], alone[1::2])


@pytest.mark.parametrize("df", [1, 4, 60])
def test_where_the_contour_begins_nothing_jumps(df):
    """On both sides of each border of the formula the tails differ by their errors."""
    for x, low, high in [(0.5, 1e-3, 1e-3), (0.05, 1e3, 1e3), (8.0, 8.0, 8.0)]:
        for name in TAILS:
            function = getattr(special, name)
            ends = [
                function(x, df, np.nextafter(low, 0)),
                function(x, df, np.nextafter(high, np.inf)),
            ]
            # what the two units of nc are worth, beside the errors
            moved = 1e-15 * max(1.0, abs(ends[0])) * (high + x)
            room = special.error_bound(name, ends[0], df=df, measured=True)
            assert abs(ends[0] - ends[1]) <= 2 * room + moved
