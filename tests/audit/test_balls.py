"""The audit's enclosures: they hold the truth of the oracle, and are narrow."""

import math

import flint
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.special import ndtri

from rsbounds import oracle
from rsbounds.audit._balls import ball, bits, event
from rsbounds.audit._bounds import PRECISION, beta, proved, tail
from rsbounds.confidence import BOUNDS
from rsbounds.oracle import certificates
from rsbounds.special import ball_offset

DIMENSIONS = st.sampled_from(
    [1, 2, 3, 10, 100, 158, 162, 784, 3072, 150528]
) | st.floats(1, 1e6)


def around(truth):
    """A number of the oracle, of 25 digits or more, as a ball."""
    return flint.arb(mp.nstr(truth, 50)) * (1 + flint.arb(0, 1e-22))


@settings(max_examples=25)
@example(dim=1, s=0.1, z=-7.1)  # a ball of probability 1e-12
@example(dim=2, s=0.0, z=2.0)
@example(dim=150528, s=1e12, z=0.0)
@example(
    dim=159.9, s=0.01, z=-3.0
)  # the last of Poisson's mixture, the first of the midpoint rule
@example(dim=160.1, s=0.01, z=-3.0)
@given(
    dim=DIMENSIONS,
    s=st.just(0.0) | st.floats(-3, 5).map(lambda e: 10**e),
    z=st.floats(-8, 8) | st.floats(-36, 36),
)
def test_balls_hold_the_truth_and_are_narrow(dim, s, z):
    u = float(ball_offset(z, dim, s))
    if not s + u > 0:
        return
    truth = oracle.ball_tails(u, dim, s, dps=25)
    with flint.ctx.workprec(bits(flint.arb(s))):
        found = ball(*map(flint.arb, (u, dim, s)))
        with mp.workdps(60):
            lower, upper = (
                around(mp.exp(truth.log_lower)),
                around(mp.exp(truth.log_upper)),
            )
        assert found.p.overlaps(lower)
        assert found.q.overlaps(upper)
        assert min(found).rad() <= 1e-16 * min(found)
        assert max(found).rad() <= 1e-16


@pytest.mark.parametrize("dim", [3, 784])
def test_a_ball_moves_with_its_arguments(dim):
    """A ball of offsets gives a ball of probabilities, not the one at its midpoint."""
    with flint.ctx.workprec(160):
        s = flint.arb(100)
        wide = ball(flint.arb(4, 1e-6), flint.arb(dim), s).p
        for u in (4 - 1e-6, 4 + 1e-6):
            assert wide.overlaps(ball(flint.arb(u), flint.arb(dim), s).p)


def test_no_ball_is_no_number():
    assert ball(*map(flint.arb, (-2, 3, 1))).p.is_nan()


@given(
    n=st.integers(1, 12) | st.integers(13, 3000),
    share=st.floats(0, 1),
    below=st.floats(-1, 7),
    half=st.booleans(),
)
def test_incomplete_beta_functions(n, share, below, half):
    """Binomial tails, and those of halves of odd numbers, below and above the mean."""
    hits = round(share * n)
    mean = (hits + 0.5) / (n + 1)
    z = float(ndtri(mean)) - below * math.sqrt(2 * mean * (1 - mean) / n)
    a, b = (
        (2 * hits + 1, 2 * (n - hits) + 1) if half else (2 * hits, 2 * (n - hits) + 2)
    )
    with flint.ctx.workprec(PRECISION), mp.workdps(60):
        p, q = event(flint.arb(z))
        found = beta(a, b, p, q) if half else tail(hits, n, p, q)
        truth = (
            mp.betainc(mp.mpf(a) / 2, mp.mpf(b) / 2, 0, mp.ncdf(z), regularized=True)
            if a
            else 1
        )
        assert found.overlaps(around(truth))
        assert found.rad() < 1e-18


def test_tails_of_many_samples():
    """Whatever the numbers, time is bounded; a bound of 1e12 samples takes a second or
    two.
    """
    with flint.ctx.workprec(PRECISION):
        for n, hits, z in (
            (10**12, 10**12, 8.0),
            (10**9, 5 * 10**8, -1e-4),
            (100, 99, 1e5),
        ):
            p, q = event(flint.arb(z))
            assert tail(hits, n, p, q).rad() < 1e-16


@pytest.mark.parametrize("bound", certificates.BOUNDS)
@pytest.mark.parametrize(
    ("count", "n"), [(0, 9), (1, 9), (9, 9), (60, 100), (180, 200)]
)
def test_bounds_are_proved_where_the_oracle_says_so(bound, count, n):
    alpha = 0.01
    numbers = count, n, alpha, 1
    pair = BOUNDS[bound].pair([count, 0], 0, n, alpha, runner_up=False)
    assert proved(bound, "z", pair.z_a, *numbers)
    assert proved(bound, "p", pair.p_a, *numbers)
    for z in (-8.0, -1.0, *(pair.z_a + step for step in (-1e-9, 1e-8, 0.1) if count)):
        true = certificates.bound_excess(bound, count, n, z, alpha) <= 0
        assert proved(bound, "z", z, *numbers) == true
        with mp.workdps(30):
            p = float(oracle.ndtr(z, dps=30) * (1 - mp.mpf("1e-15")))
        assert proved(bound, "p", p, *numbers) == true
    if count:  # at half of the level it is none
        assert not proved(bound, "z", pair.z_a, count, n, alpha, 2)
    for none in (math.nan, math.inf):
        assert not proved(bound, "z", none, *numbers)
        assert not proved(bound, "p", none, *numbers)
