"""Properties of rsbounds.special: closed forms, inverses, complements, and a search for the
worst error against the oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from rsbounds import oracle, special

DIM = st.one_of(
    st.floats(0, 8).map(lambda e: 10.0**e),
    st.floats(1, 30),
    st.integers(1, 10**8).map(float),
)
S = st.one_of(
    st.floats(-6, 9).map(lambda e: 10.0**e), st.just(0.0), st.floats(10, 59).map(lambda e: 10.0**e)
)
Z = st.one_of(st.floats(-37, 37), st.floats(-1e3, 1e3), st.floats(-1e-3, 1e-3))


def score_ratio(u: float, dim: float, s: float) -> float:
    """Error of ball_score over its bound."""
    truth = oracle.ball_score(u, dim, s, dps=22 + int(math.log10(1 + s)))
    value = special.ball_score(u, dim, s)
    with mp.workdps(40):
        error = abs(float(mp.mpf(float(value)) - truth))
    return error / float(special.error_bound("ball_score", value))


def tail_ratio(u: float, dim: float, s: float) -> float:
    """Error over bound of the log of the smaller tail at x = (s + u)^2, nc = s^2, both rounded."""
    x, nc = (s + u) ** 2, s * s
    name = "ncx2_logcdf" if special.ncx2_cdf(x, dim, nc) < 0.5 else "ncx2_logsf"
    value = getattr(special, name)(x, dim, nc)
    truth = getattr(oracle, name)(x, dim, nc, dps=22)
    with mp.workdps(40):
        error = abs(float(mp.mpf(float(value)) - truth))
    return error / float(special.error_bound(name, value, df=dim))


# --- against the oracle ----------------------------------------------------------------------


@settings(deadline=None, max_examples=120)
@given(z=Z, dim=DIM, s=S)
def test_score_error_stays_within_its_bound(z: float, dim: float, s: float) -> None:
    u = float(special.ball_offset(z, dim, s))
    if s + u > 1e-150:
        assert score_ratio(u, dim, s) <= 1


@settings(deadline=None, max_examples=80)
@given(z=Z, dim=DIM, s=st.floats(-3, 8).map(lambda e: 10.0**e))
def test_log_tail_error_stays_within_its_bound(z: float, dim: float, s: float) -> None:
    u = float(special.ball_offset(z, dim, s))
    if s + u > 1e-100:
        assert tail_ratio(u, dim, s) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "seeds"),
    [
        # the worst points of a search of 10^6 evaluations: 0.3, 0.75 and 0.65 of the bounds
        (
            score_ratio,
            [(0.3482420447479753, 1.07734, 0.75985), (0.0090446527230, 1.04291, 2.44271)],
        ),
        (
            tail_ratio,
            [(709.8621706381805, 531196.48, 44.827438), (28.7553773633, 1667.31018, 1.12059)],
        ),
        (tail_ratio, [(-33.500812658801685, 617.622606621062, 48565818.193214476)]),
    ],
)
def test_local_search_for_the_worst_error(ratio: Any, seeds: list[Any]) -> None:
    """Random steps at every scale, uphill; no seed leads above the bound."""
    rng = np.random.default_rng(5)
    for seed in seeds:
        best, point = ratio(*seed), np.array(seed)
        for _ in range(120):
            scale = 10 ** rng.uniform(-16, -1, 3) * (rng.random(3) < 0.7)
            near = point * (1 + scale * rng.normal(size=3))
            near[1], near[2] = np.clip(near[1], 1, 1e8), abs(near[2])
            if near[0] + near[2] <= 1e-9 * near[2] or abs(special.ball_score(*near)) > 1e3:
                continue
            found = ratio(*map(float, near))
            if found > best:
                best, point = found, near
        assert best <= 1, (best, point.tolist())


# --- inverses -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=400)
@given(z=Z, dim=DIM, s=S)
def test_score_of_the_offset(z: float, dim: float, s: float) -> None:
    """z lies between the scores 4 ulp to either side of the offset, to within the bound."""
    u = float(special.ball_offset(z, dim, s))
    slack = 2 * special.error_bound("ball_score", z)
    step = 4 * np.spacing(abs(u))
    assert special.ball_score(u - step, dim, s) - slack <= z
    assert z <= special.ball_score(u + step, dim, s) + slack


@settings(deadline=None, max_examples=400)
@given(
    log_p=st.one_of(
        st.floats(-300, 2.8).map(lambda e: -(10.0**e)), st.floats(-17, 17).map(lambda e: -(10.0**e))
    ),
    df=DIM,
    nc=st.one_of(st.just(0.0), st.floats(-3, 16).map(lambda e: 10.0**e)),
)
def test_log_tails_of_the_quantiles(log_p: float, df: float, nc: float) -> None:
    for quantile, tail, sign in (
        (special.ncx2_ppf_exp, special.ncx2_logcdf, 1),
        (special.ncx2_isf_exp, special.ncx2_logsf, -1),
    ):
        x = float(quantile(log_p, df, nc))
        if not 1e-290 < x < 1e290:
            continue
        z = float(special.ndtri_exp(log_p))
        # a score's error, in log p: times the hazard, at most |z| + 1
        slack = 2 * special.error_bound("ncx2_logcdf", log_p, df=df)
        slack += (abs(z) + 1) * special.error_bound("ball_offset", z)
        step = sign * 2 * np.spacing(x) if abs(x - df - nc) < 0.2 * x else sign * 8 * np.spacing(x)
        if log_p > -math.log(2):  # the larger tail: in units of the smaller
            slack *= -math.expm1(log_p) + 1
        assert tail(x - step, df, nc) - slack <= log_p * (1 - 4e-16)
        assert log_p * (1 + 4e-16) <= tail(x + step, df, nc) + slack


@settings(deadline=None, max_examples=300)
@given(st.floats(-300, 300).map(lambda e: -(10.0**e)))
def test_normal_round_trip(log_p: float) -> None:
    """log_ndtr inverts ndtri_exp to the accuracy that z itself allows."""
    z = float(special.ndtri_exp(log_p))
    if z > 38:  # log p is subnormal on the way back
        return
    slope = z * z + 1 if z < 0 else z * z * 1.1 + 1  # d log(-log p)/d log z
    assert special.log_ndtr(z) == pytest.approx(log_p, rel=4e-15 * slope)


# --- identities -----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(z=st.floats(-37, 37), dim=DIM, s=st.floats(-3, 8).map(lambda e: 10.0**e))
def test_both_tails_and_their_logarithms(z: float, dim: float, s: float) -> None:
    nc = s * s
    x = (s + float(special.ball_offset(z, dim, s))) ** 2
    below, above = special.ncx2_cdf(x, dim, nc), special.ncx2_sf(x, dim, nc)
    assert abs(below + above - 1) <= 2.3e-16
    for p, log in ((below, special.ncx2_logcdf), (above, special.ncx2_logsf)):
        if p > 1e-300:
            assert np.exp(log(x, dim, nc)) == pytest.approx(p, rel=1e-12)
    log_density = special.ncx2_logpdf(x, dim, nc)
    if log_density > -690:
        rounded = 1e-15 + 1.2e-16 * abs(log_density)  # of the logarithm
        assert special.ncx2_pdf(x, dim, nc) == pytest.approx(math.exp(log_density), rel=rounded)


@settings(deadline=None, max_examples=200)
@given(u=st.floats(-30, 8), s=st.floats(-2, 8).map(lambda e: 10.0**e))
def test_one_dimension_is_an_interval(u: float, s: float) -> None:
    """P(|Z - s| <= s + u) = Phi(u) - Phi(-2s - u); no cancellation while that is small."""
    if not -0.9 * s < u:
        return
    log_p, far = special.log_ndtr(u), special.log_ndtr(-2 * s - u)
    if far - log_p > -1:
        return
    expected = special.ndtri_exp(log_p + math.log1p(-math.exp(far - log_p)))
    # 1 - p is rounded to 1e-16 for u > 0, and that is over phi(u) in units of the score
    limit = 2e-14 * max(1.0, abs(u)) + 1e-15 * math.exp(0.5 * max(u, 0) ** 2)
    assert abs(special.ball_score(u, 1, s) - expected) <= limit


@settings(deadline=None, max_examples=200)
@given(st.floats(-150, 4).map(lambda e: 10.0**e))
def test_two_dimensions_at_the_origin_are_exponential(x: float) -> None:
    assert special.ncx2_logsf(x, 2, 0) == pytest.approx(-x / 2, rel=4e-15, abs=4e-15)
    if x < 1400:
        assert special.ncx2_cdf(x, 2, 0) == pytest.approx(-math.expm1(-x / 2), rel=4e-15 * (1 + x))
    # x is proportional to the lower tail p near 0: d log x = z dz, z^2 about -2 log p
    limit = 4e-15 * (2 + 2 * abs(math.log(x)))
    assert special.ncx2_isf_exp(-x / 2, 2, 0) == pytest.approx(x, rel=limit, abs=0)


@settings(deadline=None, max_examples=200)
@given(
    z=st.floats(-8, 8),
    df=st.floats(1, 1e5),
    nc=st.floats(-2, 6).map(lambda e: 10.0**e),
)
def test_two_more_dimensions(z: float, df: float, nc: float) -> None:
    """F_N - F_{N+2} = 2 f_{N+2}: the density ties the distributions together."""
    x = float(special.ncx2_ppf(0.5 * math.erfc(-z / math.sqrt(2)), df, nc))
    tail = special.ncx2_cdf if z < 0 else special.ncx2_sf
    here, there = tail(x, df, nc), tail(x, df + 2, nc)
    limit = 2e-13 * max(here, there)
    assert abs(abs(here - there) - 2 * special.ncx2_pdf(x, df + 2, nc)) <= limit


@settings(deadline=None, max_examples=200)
@given(u=st.floats(-1e3, 1e3), dim=DIM, s=st.floats(17, 59).map(lambda e: 10.0**e))
def test_far_balls_are_half_spaces(u: float, dim: float, s: float) -> None:
    """The score is u - (dim - 1 - u^2 ...)/(2s): between the half-space and that shift."""
    shift = (dim + u * u) / s
    assert abs(special.ball_score(u, dim, s) - u) <= shift + special.error_bound("ball_score", u)
    limit = shift + special.error_bound("ball_offset", u) + 4 * np.spacing(abs(u))
    assert abs(special.ball_offset(u, dim, s) - u) <= limit
