"""What the proof of the last step in degrees of freedom rests on, in
docs/theory/inverses.md.
"""

import math

import numpy as np
import pytest
from mpmath import mp

from .balls import named

STEP = named("noncentrality.hpp", "short_in_df")
RUN = named("noncentrality.hpp", "short_run")
SMALL = named("noncentrality.hpp", "small_off")
SLOPE = 125  # errors of slopes over their estimates
LARGEST = 2.8  # a true slope over the code's
LEAN = 4.3  # of G'/G from log u, over 1/c2
LAWS = [(1.0, 0.3, 0.2), (1.0, 0.0, 6.0), (4.0, 1e-3, 9.0), (20.0, 5.0, 14.0)]
LAWS += [(30.0, 300.0, 400.0), (60.0, 0.0, 90.0)]
LAWS += [pytest.param(1.5, 40.0, 30.0, marks=pytest.mark.slow)]


def density(mu, h, y):
    """Of Y, half a noncentral chi-square variable."""
    if h == 0:
        return mp.exp(-y) * y ** (mu - 1) / mp.gamma(mu)
    bessel = mp.besseli(mu - 1, 2 * mp.sqrt(h * y))
    return mp.exp(-h - y) * (y / h) ** ((mu - 1) / 2) * bessel


def slope(mu, h, y):
    """G = -dF/dmu: the density of Y and of a variable of density E1."""
    return mp.quad(lambda s: density(mu, h, y - s) * mp.e1(s), [0, y / 8, y / 2, y])


def random_laws(count):
    rng = np.random.default_rng(5)
    for _ in range(count):
        mu, h = 1 + 10 ** rng.uniform(-3, 2.5), 10 ** rng.uniform(-3, 2.5)
        yield mu, h, (mu + h) * 10 ** rng.uniform(-1, 0.7)


def test_quotients_of_densities_at_random_laws():
    """The bounds of rho, lambda and P2, and the identity of P2 and p3."""
    with mp.workdps(60):
        for law in random_laws(300):
            mu, h, y = map(mp.mpf, law)
            c2 = mp.sqrt(mu * mu + 4 * h * y)
            u = 2 * y / (mu + c2)

            def quotient(at, mu=mu, h=h):
                return density(mu + 1, h, at) / density(mu, h, at)

            def sum_1(at, mu=mu, h=h):
                return (mu - 1 + h * quotient(at, mu, h)) / at

            rho, lam = quotient(y), sum_1(y)
            assert 0 <= rho / u - 1 <= 1 / c2
            assert rho / y <= 2 / c2
            assert 1.5 <= mu + c2 - 2 * y * lam <= 2.5
            step = y * mp.mpf("1e-12")
            near, far = sum_1(y + step), sum_1(y - step)
            p2 = (far - near) / (2 * step) / lam**2
            p3 = (near - 2 * lam + far) / (2 * step**2) / lam**2
            side = p2 * (2 * lam * y - mu + 3)
            assert abs(side - (1 + 2 * p3 * y)) < 1e-12 * side
            assert 1 / (c2 + 1.5) <= p2
            assert p2 * (c2 - 1.5) <= 1


def weight(v):
    return v * mp.log(v) / (v - 1)


def second_order(mu, h, y):
    """The code's mean of the weight, by u and the quotient of densities."""
    c2 = mp.sqrt(mu * mu + 4 * h * y)
    u = 2 * y / (mu + c2)
    moved = density(mu + 1, h, y) / density(mu, h, y) / u - 1
    at, first, second = mp.taylor(weight, u, 2)
    return at + u * first * moved + u * u * second * (moved**2 - 1 / c2)


@pytest.mark.parametrize(("mu", "h", "y"), LAWS)
def test_the_slope_in_closed_form_has_the_error_that_is_shown(mu, h, y):
    with mp.workdps(20):
        c2 = mp.sqrt(mu * mu + 4 * h * y)
        true = slope(mp.mpf(mu), h, y) / density(mu, h, y)
        ratio = density(mu + 1, h, y) / density(mu, h, y)
        error = abs(true / second_order(mu, h, y) - 1) * c2**2
        assert weight(ratio) <= true <= 1.4 * weight(ratio)
        assert error < (SLOPE if c2 < 32 else 20)


@pytest.mark.parametrize(("mu", "h", "y"), LAWS)
def test_the_slope_s_slope_is_near_that_of_the_saddle(mu, h, y):
    """D_(N+2) <= G'/G <= D_N, and log u within 4.3/c2 of it."""
    with mp.workdps(20):
        c2 = mp.sqrt(mu * mu + 4 * h * y)
        step = mp.mpf("1e-6")
        near, far = (mp.log(slope(mu + k * step, h, y)) for k in (1, -1))
        mean = (near - far) / (2 * step)
        falls = [
            (mp.log(density(m + step, h, y)) - mp.log(density(m - step, h, y)))
            / (2 * step)
            for m in (mu + 1, mu)
        ]
        assert falls[0] - 1e-8 <= mean <= falls[1] + 1e-8
        assert falls[1] - falls[0] < 3.3 / c2
        assert abs(mean - mp.log(2 * y / (mu + c2))) < LEAN / c2


def test_the_weight_s_derivatives_have_the_bounds_that_are_used():
    with mp.workdps(30):
        for log_v in np.linspace(-40, 40, 401):
            v = mp.exp(log_v + 0.01)
            at, first, second, third = (
                mp.diff(weight, v, n, h=v * mp.mpf("1e-6")) * v**n / weight(v)
                for n in range(4)
            )
            assert at == 1
            assert 0 < first < 1
            assert -0.5 < second < 0
            assert 0 < third < 0.9
            assert abs(2 * second + third) < 1.9
            integral = (v + 1) * mp.log1p(v) - v * mp.log(v)
            assert integral < 1.4 * weight(v)


def test_the_slope_in_closed_form_for_all_small_c2():
    """What its bounds leave up to 32, and the sum of what is left out beyond."""
    c2 = np.linspace(1, 32, 100_000)
    saddle = np.where(c2 > 2, 1 + 2.5 / np.maximum(c2 - 1.5, 0.1), np.inf)
    above = np.minimum(1.4, saddle) * (1 + 1 / c2)
    assert max(above) <= LARGEST
    assert max((above - 1) * c2**2) < 120
    assert max(1.25 * c2) < SLOPE
    g = 32 - 1.5
    e = 2 / g
    lower = (1 / (1 - e) ** 2 - 1) / e * 2 + 24 * 2**4 / g**2
    rest = max(3, lower)
    assert rest < 5.1
    replaced = 0.25 * 1.5 + 0.5 * 1.9 * 2.5 * 1.05
    assert replaced < 3
    total = (2 * rest + 0.4 + replaced + 0.15 / g) * (1 + 2.5 / g)
    assert total * (32 / g) ** 2 < 20


def test_what_a_secant_leaves_over_its_estimate():
    moved = LARGEST * RUN + SMALL * (LEAN + 1.65 * 1.3) + (LARGEST * 0.032) ** 2 / 2
    change = moved * (1 + LARGEST * RUN / 2)
    assert change < 0.17
    by = 1 / (math.exp(-change) * (1 - RUN / 2))
    noise = named("ball.hpp", "small_score_error") * 2.1 / 4e-16
    assert noise * by < 115
    closed = SLOPE / 2 + 0.4 * RUN * (LARGEST - 1) * SLOPE
    assert closed * by < 115
    assert LEAN / 2 * 1.2 * by < 115


def test_what_the_last_step_leaves_over_its_estimate():
    reach = 1.05 * STEP
    change = LARGEST * reach + reach + LEAN * reach + 2 * STEP**2 * (1 + LARGEST**2)
    assert change < 0.09
    closed = SLOPE * math.exp(change) * (1 + STEP / 2)
    lean = LARGEST * (3 * 0.53 + 1.1)
    turn = LARGEST * (LARGEST**2 * 1.2 + LARGEST * 1.2 + 4)
    assert closed < 140
    assert lean < 8
    assert turn < 47
    leaves = named("noncentrality.hpp", "step_leaves")
    miss = (6 * leaves) ** (1 / 3)
    left = 140 * leaves + miss * 2.5e-10
    room = named("noncentrality.hpp", "checked_room")
    assert left < room
    # beside a score's own error, of the contour and of a mixture below one degree
    mixture = 3.2e-14 * math.sqrt(math.pi / 2) + 4e-15
    score = named("ball.hpp", "small_score_error")
    assert room + score < 3e-14
    assert room + mixture < 6e-14
