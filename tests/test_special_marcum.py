"""Marcum's Q with its inverses, the Rice and the Skellam tails: oracle, definitions, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from mpmath import mp

from rsbounds import oracle, special

RNG = np.random.default_rng(20)
ORDERS = [0.5, 1.0, 1.7, 392.0, 75264.0, 5e7]


def radii(m: float, count: int) -> list[tuple[float, float]]:
    """(a, b) with scores of b spread over both tails; b/a below, about and beyond 1."""
    pairs = []
    for _ in range(count):
        a = 10 ** RNG.uniform(-4, 7) * (RNG.random() < 0.9)
        score = RNG.normal() * RNG.choice([1, 6, 30])
        b = a + special.ball_offset(score, 2 * m, a)
        if b > 0:
            pairs.append((float(a), float(b)))
    return pairs


def tails(m: float, a: float, b: float) -> oracle.Tails:
    """At the exact b - a."""
    with mp.workdps(50):
        return oracle.ball_tails(mp.mpf(b) - mp.mpf(a), 2 * m, a, dps=25)


@pytest.mark.parametrize("m", ORDERS)
def test_both_tails_within_their_bounds(m: float) -> None:
    for a, b in radii(m, 12):
        truth = tails(m, a, b)
        small_is_upper = truth.log_upper < truth.log_lower
        small = truth.log_upper if small_is_upper else truth.log_lower
        log, plain = ("logq", "q") if small_is_upper else ("logp", "p")
        value = getattr(special, f"marcum_{log}")(m, a, b)
        with mp.workdps(40):
            error = abs(float(mp.mpf(float(value)) - small))
        assert error <= special.error_bound(f"marcum_{log}", value, df=2 * m), (m, a, b)
        if value < -690:
            continue
        p = getattr(special, f"marcum_{plain}")(m, a, b)
        with mp.workdps(40):
            relative = abs(float(mp.mpf(float(p)) / mp.exp(small) - 1))
        assert relative * p <= special.error_bound(f"marcum_{plain}", p, df=2 * m), (m, a, b)
        both = special.marcum_q(m, a, b) + special.marcum_p(m, a, b)
        assert both == pytest.approx(1.0, abs=3e-16)


@pytest.mark.parametrize("m", [75264.0, 5e7])
def test_nothing_is_lost_by_squaring(m: float) -> None:
    """The same tail from rounded squares is off by more than the bound allows this one."""
    worst = 0.0
    for k in range(20):
        a, b = 0.1 * (1 + k), np.sqrt(2 * m) - 3 - 0.01 * k
        truth = tails(m, a, b).log_lower
        with mp.workdps(40):
            ours = abs(float(mp.mpf(float(special.marcum_logp(m, a, b))) - truth))
            other = special.ncx2_logcdf(b * b, 2 * m, a * a)
            worst = max(worst, abs(float(mp.mpf(float(other)) - truth)))
        assert ours <= special.error_bound("marcum_logp", float(truth), df=2 * m)
    assert worst > 5 * special.error_bound("marcum_logp", float(truth), df=2 * m)


def test_the_convention_is_that_of_lengths() -> None:
    """Q_1(1, 2) by the integral of x exp(-(x^2 + a^2)/2) I_0(a x) from b."""
    with mp.workdps(25):
        q = mp.quad(lambda x: x * mp.exp(-(x * x + 1) / 2) * mp.besseli(0, x), [2, 5, 10, 30])
    assert special.marcum_q(1, 1.0, 2.0) == pytest.approx(float(q), rel=1e-15)
    assert special.marcum_q(3, 0.0, 4.0) == pytest.approx(np.exp(-8) * (1 + 8 + 32), rel=4e-15)
    assert special.marcum_q(0.5, 2.0, 5.0) == pytest.approx(
        float(oracle.ndtr(-3)) + float(oracle.ndtr(-7)), rel=4e-15
    )


@pytest.mark.parametrize("m", ORDERS)
@pytest.mark.parametrize("side", ["q", "p"])
def test_inverses_return_the_radius(m: float, side: str) -> None:
    inverse = getattr(special, f"marcum_{side}_inv")
    for a, b in radii(m, 6):
        p = getattr(special, f"marcum_{side}")(m, a, b)
        if not 1e-300 < p < 0.99:
            continue
        back = inverse(p, m, a)
        assert type(back) is np.float64
        z = oracle.ndtri(float(p), dps=30) * (1 if side == "p" else -1)
        found = tails(m, a, float(back))
        with mp.workdps(40):
            score = oracle.score(found.log_lower, found.log_upper, dps=25)
            error = abs(float(score - z))
        # few units in the last place, times dz/db: 1 far out, sqrt 2 about a = 0
        limit = special.error_bound(f"marcum_{side}_inv", float(z), df=2 * m)
        limit += 6 * np.spacing(back)
        assert error <= limit, (m, a, b)


def test_a_radius_smaller_than_a_double_squared() -> None:
    """P = b^2m e^(-a^2/2)/(2^m m!) where b^2 underflows."""
    value = special.marcum_logp(2, 3.0, 1e-200)
    expected = 4 * np.log(1e-200) - 4.5 - np.log(2 * 4)
    assert value == pytest.approx(expected, rel=1e-14)
    assert special.marcum_q(2, 3.0, 1e-200) == 1


# --- Rice ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["cdf", "sf", "logcdf", "logsf"])
def test_rice_agrees_with_scipy(tail: str) -> None:
    nu = np.array([0.0, 0.5, 3.0])[:, None]
    x = np.array([0.7, 2.0, 4.0])
    expected = getattr(scipy.stats.rice, tail)(x, nu)
    np.testing.assert_allclose(getattr(special, f"rice_{tail}")(x, nu), expected, rtol=1e-11)


def test_rice_is_marcum_of_order_one() -> None:
    x, nu = RNG.uniform(0, 40, 50), RNG.uniform(0, 40, 50)
    for rice, marcum in (("cdf", "p"), ("sf", "q"), ("logcdf", "logp"), ("logsf", "logq")):
        value = getattr(special, f"rice_{rice}")(x, nu)
        np.testing.assert_array_equal(value, getattr(special, f"marcum_{marcum}")(1, nu, x))
    assert special.rice_sf(3.0, 0.0) == pytest.approx(np.exp(-4.5), rel=4e-15)


# --- Skellam -------------------------------------------------------------------------------


def by_definition(k: int, mu1: float, mu2: float) -> tuple[Any, Any]:
    """P(K1 - K2 <= k) and its complement, summed over both counts."""
    with mp.workdps(40):
        first, second = mp.mpf(mu1), mp.mpf(mu2)
        top = int(60 + 3 * max(mu1, mu2)) + abs(k)
        weights = [mp.exp(-first) * first**i / mp.factorial(i) for i in range(top)]
        below = [mp.zero]
        for w in weights:
            below.append(below[-1] + w)
        above = [mp.zero]
        for w in reversed(weights):
            above.append(above[-1] + w)
        above.reverse()  # above[i]: P(K1 >= i)
        lower = upper = mp.zero
        for j in range(top):
            weight = mp.exp(-second) * second**j / mp.factorial(j)
            i = min(max(k + j + 1, 0), top)
            lower += weight * below[i]
            upper += weight * above[i]
    return lower, upper


@pytest.mark.parametrize(("mu1", "mu2"), [(4.0, 6.0), (0.25, 30.0), (30.0, 0.25), (18.0, 22.0)])
@pytest.mark.parametrize("k", [-45, -8, -1, 0, 1, 7, 60])
def test_skellam_by_its_definition(k: int, mu1: float, mu2: float) -> None:
    lower, upper = by_definition(k, mu1, mu2)
    for tail, truth in (("cdf", lower), ("sf", upper)):
        value = getattr(special, f"skellam_{tail}")(k, mu1, mu2)
        small = truth < 0.5
        limit = special.error_bound(f"skellam_{tail}", value) if small else 3e-16
        assert abs(float(mp.mpf(float(value)) - truth)) <= limit
        log = getattr(special, f"skellam_log{tail}")(k, mu1, mu2)
        if small:
            with mp.workdps(40):
                error = abs(float(mp.mpf(float(log)) - mp.log(truth)))
            assert error <= special.error_bound(f"skellam_log{tail}", log)


def test_skellam_rounds_down_and_is_symmetric() -> None:
    k = np.arange(-30, 30)
    cdf = special.skellam_cdf(k, 5.0, 9.0)
    np.testing.assert_array_equal(special.skellam_cdf(k + 0.75, 5.0, 9.0), cdf)
    np.testing.assert_array_equal(special.skellam_sf(-k - 1, 9.0, 5.0), cdf)
    assert np.all(np.diff(cdf) >= 0)
    np.testing.assert_allclose(cdf, scipy.stats.skellam.cdf(k, 5.0, 9.0), rtol=1e-11)
    assert special.skellam_cdf(-5e7, 4e8, 4e8) == pytest.approx(
        special.skellam_sf(49999999, 4e8, 4e8), rel=1e-12
    )
