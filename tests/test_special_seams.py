"""The special functions where their formulas change, +-1 ulp, and at the ends of the domain.

Truth is the oracle at the exact double arguments; the limit is the documented error bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from mpmath import mp

from rsbounds import oracle, special

LOG2 = math.log(2)


def beside(x: float, ulps: int = 1) -> list[float]:
    below = above = x
    for _ in range(ulps):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
    return [below, x, above]


def relative(value: float, truth: object) -> float:
    with mp.workdps(40):
        return abs(float((mp.mpf(float(value)) - truth) / truth)) if truth else float(value)


def assert_score(u: float, dim: float, s: float) -> None:
    truth = oracle.ball_score(u, dim, s, dps=25 + int(math.log10(1 + s)))  # s + u is exact
    value = special.ball_score(u, dim, s)
    with mp.workdps(40):
        error = abs(float(mp.mpf(float(value)) - truth))
    assert error <= special.error_bound("ball_score", value), (u, dim, s, float(truth), error)


# --- log-space normal ----------------------------------------------------------------------

Z_SEAMS = [
    z
    for seam in (-1.0, 1e-300, -1e-300, 1.0, 8.3, 36.0, 37.0, 37.5, -26.0, -37.6, -40.0, -1e4)
    for z in beside(seam)
]


@pytest.mark.parametrize("z", [0.0, *Z_SEAMS, -1e150, -1.0001e150, -1e153])
def test_log_ndtr(z: float) -> None:
    assert relative(special.log_ndtr(z), oracle.log_ndtr(z, dps=30)) <= 2e-15


@pytest.mark.parametrize("z", [37.9, 38.3, *beside(38.6), 40.0])
def test_log_ndtr_where_it_is_subnormal(z: float) -> None:
    truth = float(oracle.log_ndtr(z, dps=30))
    assert special.log_ndtr(z) == pytest.approx(truth, rel=2e-15, abs=1e-323)


LOG_P_SEAMS = [
    *beside(-LOG2, 3),
    *(-LOG2 * (1 + d) for d in (-1e-3, -1e-8, -1e-15, 1e-15, 1e-8, 1e-3)),
    *beside(-25.0),  # sqrt(-log p) = 5
    *beside(-676.0),  # 26
    *beside(-729.0),  # 27
    *beside(-2.5902671654458267),  # p = 0.075
    *beside(-0.07796154146971186),  # p = 0.925
    *(-(10.0**k) for k in (-300, -200, -100, -20, -16, -10, -3, 1, 3, 4, 5, 6, 17, 100, 300)),
    -1.7e308,
    -5e-324,
]


@pytest.mark.parametrize("log_p", LOG_P_SEAMS)
def test_ndtri_exp(log_p: float) -> None:
    truth = oracle.ndtri_exp(log_p, dps=30)
    assert relative(special.ndtri_exp(log_p), truth) <= 2e-15


@pytest.mark.parametrize(
    "p", [5e-324, 1e-300, 1e-11, *beside(0.075), *beside(0.5), *beside(0.925), 1 - 2.0**-53]
)
def test_ndtri(p: float) -> None:
    assert relative(special.ndtri(p), oracle.ndtri(p, dps=30)) <= 2e-15


# --- the ball: saddle, quadrature, pole ------------------------------------------------------


def quadrature_step(c2: float) -> float:
    if c2 >= 350:
        return 0.3 / math.sqrt(c2)
    r = math.sqrt(c2) + 0.3
    c = 4.47 / (4.47 + r)
    a = (1 / (1 - c) - (1 - c)) ** 2
    return 2 * math.pi * c / (42 + 0.5 * c2 * a)


def solve(condition: object, low: float, high: float) -> float:
    """The double at which a monotone condition turns false, by bisection in ulps."""
    assert callable(condition)
    while math.nextafter(low, math.inf) < high:
        middle = math.sqrt(low * high) if high > 1.5 * low else 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if condition(middle) else (low, middle)
    return high


def tier_borders() -> Iterator[float]:
    """Dimensions at s = 0 (c2 = dim/2) where a batch of nodes moves to another polynomial."""
    for last in (3.5, 7.5, 11.5, 15.5, 19.5):
        q = math.sqrt(0.27) / last
        if quadrature_step(0.5) > q > quadrature_step(349):
            yield 2 * solve(lambda c2, q=q: quadrature_step(c2) > q, 0.5, 349)
    yield from (700.0, 4e4)  # c2 = 350 and 2e4


@pytest.mark.parametrize("dim", list(tier_borders()))
@pytest.mark.parametrize("z", [-20.0, -0.7, 0.3, 9.0])
def test_polynomial_tiers(dim: float, z: float) -> None:
    u = special.ball_offset(z, dim, 0.0)
    for near in beside(dim, 40):
        assert_score(u, near, 0.0)
    # the same c2 = sqrt(mu^2 + s^2 rho^2) reached in another dimension
    small = max(1.0, dim / 30)
    s = solve(
        lambda s: math.hypot(small / 2, s * (s + special.ball_offset(z, small, s))) < dim / 2,
        1e-9,
        1e9,
    )
    for near in beside(s, 40):
        assert_score(special.ball_offset(z, small, near), small, near)


@pytest.mark.parametrize("border", [1e-3, 0.5, 0.55, 1.7, 3.0])  # 1 + tau
@pytest.mark.parametrize(("dim", "s"), [(1.0, 0.0), (7.5, 3.0), (784.0, 20.0), (5410.7, 1e-3)])
def test_saddle_forms(border: float, dim: float, s: float) -> None:
    """1 + tau = x/(mu + sqrt(mu^2 + s^2 x)) at a change of formula."""
    mu = dim / 2
    u = solve(lambda rho: rho**2 < border * (mu + math.hypot(mu, s * rho)), 1e-9, 1e9) - s
    for near in beside(u, 3):
        assert_score(near, dim, s)


@pytest.mark.parametrize(("dim", "s"), [(1.0, 0.3), (2.0, 0.0), (784.0, 28.0), (1e6, 1e5)])
def test_the_mean_and_the_poles_gate(dim: float, s: float) -> None:
    """tau changes sign at x = dim + s^2; the pole is counted while |D| h < 2 pi sqrt(1 + tau)."""
    mean = dim / (math.hypot(s, math.sqrt(dim)) + s)
    for u in beside(mean, 2):
        assert_score(u, dim, s)
    for side in (-1, 1):

        def inside(distance: float, side: int = side) -> bool:
            rho = s + mean + side * distance
            excess = (mean + side * distance) * (s + rho) - dim
            c2 = math.hypot(dim / 2, s * rho)
            root = rho / math.sqrt(dim / 2 + c2)
            return abs(excess) * quadrature_step(c2) < 2 * math.pi * root

        u = mean + side * solve(inside, 1e-12, (s + mean) * (0.999 if side < 0 else 100.0))
        for near in beside(u, 3):
            assert_score(near, dim, s)


@pytest.mark.parametrize("dim", [1.0, 3.0, 784.0])
@pytest.mark.parametrize("s", [0.0, 20.0])
def test_where_the_score_leaves_the_central_branch(dim: float, s: float) -> None:
    for z in (-1.4395314709384563, 1.4395314709384563):  # p = 0.075, 0.925
        u = special.ball_offset(z, dim, s)
        for near in beside(u, 3):
            assert_score(near, dim, s)


# --- ends of the domain -------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1.0, math.nextafter(1, 2), 1e8, 123456.789])
@pytest.mark.parametrize("s", [0.0, 5e-324, 1e-160, 1e15, 1e30, 9.9e59])
@pytest.mark.parametrize("z", [-30.0, -1e-3, 2.0, 37.0])
def test_extreme_arguments(dim: float, s: float, z: float) -> None:
    u = special.ball_offset(z, dim, s)
    rho = s + u
    if rho > 1e-150:
        assert_score(u, dim, s)


@pytest.mark.parametrize("s", [*beside(1e60), 1e300, math.inf])
def test_half_spaces(s: float) -> None:
    """From s = 1e60 on the score is u: dim/(2s) is below any double's rounding."""
    for u in (-1e3, -1.0, 1e-9, 5.0, 1e17):
        for dim in (1.0, 784.0, 1e8):
            assert special.ball_score(u, dim, s) == pytest.approx(u, rel=1e-15)
            assert special.ball_offset(u, dim, s) == pytest.approx(u, rel=1e-15)


@pytest.mark.parametrize("rho", [1e-160, 1e-200, 1e-300, 5e-324])
@pytest.mark.parametrize("dim", [1.0, 2.0, 784.0])
@pytest.mark.parametrize("s", [0.0, 1.0])
def test_tiny_balls(rho: float, dim: float, s: float) -> None:
    """log p = log(rho^2) dim/2 - s^2/2 - log(2^mu gamma(mu + 1)) to within rho^2 (1 + s^2).

    Only s = 0 reaches such a rho; the noncentral case goes through x, which then underflows.
    """
    mu, x = dim / 2, rho * rho
    if s > 0 and x == 0:
        assert special.ncx2_cdf(x, dim, s * s) == 0
        return
    with mp.workdps(30):
        square = mp.mpf(x) if s > 0 else mp.mpf(rho) ** 2
        log_p = mu * mp.log(square) - mp.mpf(s) ** 2 / 2 - mp.loggamma(mu + 1) - mu * mp.log(2)
    if s > 0:
        value = special.ncx2_logcdf(x, dim, s * s)
        limit = special.error_bound("ncx2_logcdf", value, df=dim)
        assert abs(float(value - log_p)) <= limit
    else:
        z = oracle.ndtri_exp(log_p, dps=20)
        assert relative(special.ball_score(rho, dim, 0.0), z) <= 4e-15


@pytest.mark.parametrize("log_p", [-1e4, -1e9, -1e17])
@pytest.mark.parametrize(("dim", "nc"), [(784.0, 0.0), (3072.0, 1e6), (150528.0, 1e16)])
def test_logarithms_far_out(log_p: float, dim: float, nc: float) -> None:
    for tail in ("ppf", "isf"):
        x = getattr(special, f"ncx2_{tail}_exp")(log_p, dim, nc)
        name = {"ppf": "ncx2_logcdf", "isf": "ncx2_logsf"}[tail]
        if x < 1e-300:  # the quantile itself underflows
            continue
        value = getattr(special, name)(x, dim, nc)
        truth = getattr(oracle, name)(x, dim, nc, dps=25)
        assert relative(value, truth) <= 1e-14


def test_every_sign_of_zero_gives_the_same() -> None:
    assert special.ball_score(1.0, 3.0, -0.0) == special.ball_score(1.0, 3.0, 0.0)
    assert special.ball_offset(-0.0, 3.0, 1.0) == special.ball_offset(0.0, 3.0, 1.0)
    assert np.isneginf(special.ball_score(-0.0, 3.0, 0.0))
