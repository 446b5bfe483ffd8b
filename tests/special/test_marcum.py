"""Marcum's Q, its complement, logarithms and inverses: oracle, definition, small
orders.
"""

import numpy as np
import pytest
from mpmath import mp
from special_truth import difference, ratio

from rsbounds import oracle, special

ORDERS = [0.5, 1.0, 1.7, 392.0, 75264.0]


def radii(m, count):
    """(a, b) with scores of b spread over both tails; b/a below, about and beyond 1."""
    rng, pairs = np.random.default_rng(20), []
    for _ in range(count):
        a = 10 ** rng.uniform(-4, 7) * (rng.random() < 0.9)
        score = rng.normal() * rng.choice([1, 6, 30])
        b = a + special.ball_offset(score, 2 * m, a)
        if b > 0:
            pairs.append((float(a), float(b)))
    return pairs


def tails(m, a, b):
    """At the exact b - a."""
    with mp.workdps(50):
        return oracle.ball_tails(mp.mpf(b) - mp.mpf(a), 2 * m, a, dps=25)


@pytest.mark.parametrize("m", [*ORDERS, pytest.param(5e7, marks=pytest.mark.slow)])
def test_both_tails_within_their_bounds(m):
    for a, b in radii(m, 12):
        truth = tails(m, a, b)
        small, tail = min((truth.log_upper, "q"), (truth.log_lower, "p"))
        assert ratio(f"marcum_log{tail}", (m, a, b), small) <= 1, (m, a, b)
        if small < -690:
            continue
        with mp.workdps(40):
            assert ratio(f"marcum_{tail}", (m, a, b), mp.exp(small)) <= 1, (m, a, b)
        both = special.marcum_q(m, a, b) + special.marcum_p(m, a, b)
        assert both == pytest.approx(1.0, abs=3e-16)


def test_nothing_is_lost_by_squaring():
    """The same tail from rounded squares is off by more than this one's bound."""
    m, worst = 75264.0, 0.0
    for k in range(20):
        a, b = 0.1 * (1 + k), np.sqrt(2 * m) - 3 - 0.01 * k
        truth = tails(m, a, b).log_lower
        assert ratio("marcum_logp", (m, a, b), truth) <= 1
        worst = max(worst, ratio("ncx2_logcdf", (b * b, 2 * m, a * a), truth))
    assert worst > 5


def test_the_convention_is_that_of_lengths():
    """Q_1(1, 2) by the integral of x exp(-(x^2 + a^2)/2) I_0(a x) from b."""
    with mp.workdps(25):
        q = mp.quad(
            lambda x: x * mp.exp(-(x * x + 1) / 2) * mp.besseli(0, x), [2, 5, 10, 30]
        )
    assert special.marcum_q(1, 1.0, 2.0) == pytest.approx(float(q), rel=1e-15)
    assert special.marcum_q(3, 0.0, 4.0) == pytest.approx(
        np.exp(-8) * (1 + 8 + 32), rel=4e-15
    )
    assert special.marcum_q(0.5, 2.0, 5.0) == pytest.approx(
        float(oracle.ndtr(-3)) + float(oracle.ndtr(-7)), rel=4e-15
    )


@pytest.mark.parametrize("side", ["q", "p"])
def test_inverses_return_the_radius(side):
    inverse = getattr(special, f"marcum_{side}_inv")
    for m in ORDERS:
        for a, b in radii(m, 6):
            p = getattr(special, f"marcum_{side}")(m, a, b)
            if not 1e-300 < p < 0.99:
                continue
            back = float(inverse(p, m, a))
            z = oracle.ndtri(float(p), dps=30) * (1 if side == "p" else -1)
            truth = tails(m, a, back)
            score = oracle.score(truth.log_lower, truth.log_upper, dps=25)
            # few units in the last place, times dz/db: 1 far out, sqrt 2 about a = 0
            limit = special.error_bound(
                f"marcum_{side}_inv", float(z), df=2 * m, measured=True
            )
            with mp.workdps(40):
                assert abs(float(score - z)) <= limit + 6 * np.spacing(back), (m, a, b)


def test_a_radius_smaller_than_a_double_squared():
    """P = b^2m e^(-a^2/2)/(2^m m!) where b^2 underflows."""
    value = special.marcum_logp(2, 3.0, 1e-200)
    assert value == pytest.approx(4 * np.log(1e-200) - 4.5 - np.log(2 * 4), rel=1e-14)
    assert special.marcum_q(2, 3.0, 1e-200) == 1


@pytest.mark.parametrize(
    "m", [pytest.param(5e-301, marks=pytest.mark.slow), 1e-10, 0.1, 0.4999]
)
def test_small_orders(m):
    for a in (0.0, 1e-3, 2.0, 30.0):
        for b in (1e-200, 1e-3, 1.3, 5.1, 33.0):
            with mp.workdps(60):
                truth = oracle.ncx2_tails(mp.mpf(b) ** 2, 2 * m, mp.mpf(a) ** 2, dps=30)
            for name, log in (
                ("marcum_logp", truth.log_lower),
                ("marcum_logq", truth.log_upper),
            ):
                if log == min(truth.log_lower, truth.log_upper):
                    # where the contour serves, a b >= 8, its smaller bound holds
                    limit = 0.5 if a * b < 8 else 1.0
                    value = getattr(special, name)(m, a, b)
                    bound = special.error_bound(name, value, df=limit, measured=True)
                    assert difference(value, log) <= bound, (a, b)
    for p in (1e-9, 0.4, 0.9):
        b = special.marcum_p_inv(p, m, 2.0)
        assert b == 0 or special.marcum_p(m, 2.0, b) == pytest.approx(p, rel=1e-13)
        assert special.marcum_q_inv(p, m, 2.0) == pytest.approx(
            np.sqrt(special.ncx2_isf(p, 2 * m, 4.0)), rel=1e-13
        )


def test_a_length_whose_square_has_a_large_low_part():
    """The low part of a^2 alone overflowed an exponential."""
    for m, a, b in (
        (1e-3, 55753098664067.94, 1.4e-98),
        (0.036, 5e-76, 2.1716206534446063e42),
    ):
        for name in ("marcum_q", "marcum_p", "marcum_logq", "marcum_logp"):
            assert not np.isnan(getattr(special, name)(m, a, b))
