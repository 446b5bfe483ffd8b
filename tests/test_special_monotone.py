"""Monotonicity over neighbouring doubles: inversions stay inside the a-priori error bound.

A function that is not correctly rounded cannot be monotone to the last bit: where the true
change over one step of the argument is far below one unit of the value, rounding decides. Among
random neighbours that happens to 0.5 % of scores in u, 1.5 % in s and 0.2 % in dim, nearly all of
them within 1 of score 0, where a unit of the score is far below its absolute error; and to
0.05 % of the tails or fewer in each argument. What holds, and is tested here: no inversion is
larger than the error bounds of the two values, steps whose true change exceeds them are never
inverted, and the shares stay where they are.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsbounds.special import ball_offset, ball_score, error_bound, ncx2_cdf, ncx2_sf

LOGS = {"dim": st.floats(0, 7), "s": st.floats(-3, 8), "z": st.floats(-37, 37)}


def ordered(name, low, high):
    """low <= high up to what both values may be off by."""
    assert low <= high + error_bound(name, low) + error_bound(name, high)


@settings(deadline=None, max_examples=300)
@given(dim=LOGS["dim"], s=LOGS["s"], z=LOGS["z"], steps=st.sampled_from([1, 2, 5, 100]))
def test_ball_score(dim, s, z, steps):
    dim, s = 10.0**dim, 10.0**s
    u = float(ball_offset(z, dim, s))
    here = ball_score(u, dim, s)
    ordered("ball_score", here, ball_score(u + steps * np.spacing(abs(u)), dim, s))
    ordered("ball_score", here, ball_score(u, dim, s + steps * np.spacing(s)))
    ordered("ball_score", ball_score(u, dim + steps * np.spacing(dim), s), here)


@settings(deadline=None, max_examples=300)
@given(dim=LOGS["dim"], s=LOGS["s"], z=st.floats(-30, 30), steps=st.sampled_from([1, 2, 5, 100]))
def test_ncx2_cdf(dim, s, z, steps):
    df, nc = 10.0**dim, 10.0 ** (2 * s)
    x = max((10.0**s + float(ball_offset(z, df, 10.0**s))) ** 2, 1e-300)
    # the smaller tail carries the relative error bound; the other one inherits its absolute error
    tail, sign = (ncx2_cdf, 1) if ncx2_cdf(x, df, nc) < 0.5 else (ncx2_sf, -1)
    name = tail.__name__
    here = tail(x, df, nc)
    for other, way in (
        (tail(x + steps * np.spacing(x), df, nc), sign),
        (tail(x, df + steps * np.spacing(df), nc), -sign),
        (tail(x, df, nc + steps * np.spacing(nc)), -sign),
    ):
        ordered(name, *((here, other) if way > 0 else (other, here)))


@pytest.mark.parametrize("dim", [1.0, 2.5, 50.0, 784.0, 150528.0, 1e7])
@pytest.mark.parametrize("s", [0.0, 0.3, 30.0, 1e4, 1e8, np.inf])
def test_steps_above_the_bound_are_never_inverted(dim, s):
    # dG/du is at least 0.5 here, and a step of 5e-13 max(1, |z|) is 40 bounds
    z = np.linspace(-20, 20, 401)
    u = ball_offset(z, dim, s)
    step = 5e-13 * np.maximum(1, np.abs(z)) + 4 * np.spacing(np.abs(u))
    inside = u > -0.9 * s if s > 0 else u > 1e-3
    assert np.all(ball_score(u + step, dim, s)[inside] > ball_score(u, dim, s)[inside])


def test_shares_of_inverted_neighbours():
    """Limits: three times what 200,000 points gave (in brackets), rounded up."""
    rng = np.random.default_rng(3)
    n = 40_000
    dim, s, z = 10 ** rng.uniform(0, 7, n), 10 ** rng.uniform(-3, 8, n), rng.uniform(-8, 8, n)
    u = ball_offset(z, dim, s)
    outer = (np.abs(z) > 1) & (u > -s)
    x, nc = (s + u) ** 2, s * s

    def up(a):
        return np.nextafter(a, np.inf)

    def share(low, high, where=u > -s):
        return np.mean((low > high)[where])

    here = ball_score(u, dim, s)
    assert share(here, ball_score(up(u), dim, s)) < 0.015  # 0.0049
    assert share(here, ball_score(u, dim, up(s))) < 0.045  # 0.015
    assert share(ball_score(u, up(dim), s), here) < 0.005  # 0.0016
    assert share(here, ball_score(up(u), dim, s), outer) < 0.0005  # 0.0000
    assert share(here, ball_score(u, dim, up(s)), outer) < 0.0135  # 0.0044
    for tail, way in ((ncx2_cdf, 1), (ncx2_sf, -1)):
        here = tail(x, dim, nc)
        for other, sign in (
            (tail(up(x), dim, nc), way),
            (tail(x, up(dim), nc), -way),
            (tail(x, dim, up(nc)), -way),
        ):
            assert share(sign * here, sign * other) < 0.0015  # 0.0004
