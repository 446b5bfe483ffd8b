"""Ellipsoids, their l_p balls and volumes, and Laplace noise: oracle, attack, bad
input.
"""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from radius_truth import holds
from refusals import refusals

from rsbounds import anisotropic
from rsbounds.oracle import ndtri
from rsbounds.schemes import METHODS

pytestmark = pytest.mark.usefixtures("sixty_digits")

levels = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8).map(np.array)
norms = st.one_of(
    st.floats(1, 30), st.sampled_from([1.0, 2.0, np.nextafter(2, 3), np.inf])
)
seeds = st.integers(0, 2**32 - 1)
probability = st.one_of(
    st.floats(1e-300, 1 - 2.0**-53), st.floats(-17, -0.31).map(lambda e: 10.0**e)
)


def true_reach(scale, power):
    """1/|1/scale| in the norm of exponent 1/power."""
    scale = [mp.mpf(float(s)) for s in scale]
    if power == 0:
        return min(scale)
    return mp.fsum((1 / s) ** (1 / power) for s in scale) ** -power


def dual(norm):
    return np.inf if norm == 1 else 1.0 if norm == np.inf else norm / (norm - 1)


@given(st.floats(0.5, 1 - 1e-15), levels, norms)
def test_radius(p, sigma, norm):
    power = max(
        mp.mpf(1) / 2 - (0 if norm == np.inf else 1 / mp.mpf(float(norm))), mp.mpf(0)
    )
    truth = ndtri(p, dps=40) * true_reach(sigma, power)
    assert holds(anisotropic.radius(p, sigma, norm=norm), truth)


@given(st.floats(0.55, 0.999), levels, norms, seeds)
@example(
    0.75, np.array([1.0]), 1 + 2**-52, 0
)  # a dual norm of 4.5e15: no overflow in the test
def test_attack_by_half_spaces(p, sigma, norm, seed):
    """1[w.x < c] under the noise falls from z_a at the rate w.delta/|sigma w|: none
    flips.
    """
    w = np.random.default_rng(seed).standard_normal((50, sigma.size))
    w /= np.abs(w).max(axis=1, keepdims=True)
    reach = anisotropic.radius(p, sigma, norm=norm)
    fall = (
        reach
        * np.linalg.norm(w, ord=dual(norm), axis=1)
        / np.linalg.norm(sigma * w, axis=1)
    )
    assert fall.max() <= float(ndtri(p)) * (1 + 1e-13)  # rounding of the test's norms


@given(st.floats(0.55, 0.999), levels, seeds)
def test_contains_agrees_with_the_ellipsoid(p, sigma, seed):
    direction = np.random.default_rng(seed).standard_normal((20, sigma.size))
    edge = (
        direction * sigma / np.linalg.norm(direction, axis=1)[:, None] * float(ndtri(p))
    )
    assert anisotropic.contains(edge * (1 - 1e-11), p, sigma).all()
    assert not anisotropic.contains(edge * (1 + 1e-15), p, sigma).any()
    inside = edge * (1 - 1e-11)
    for norm in (1, 2, 3, np.inf):
        short = np.linalg.norm(inside, ord=norm, axis=1)
        ball = (
            inside
            * (anisotropic.radius(p, sigma, norm=norm) * (1 - 1e-12) / short)[:, None]
        )
        assert anisotropic.contains(ball, p, sigma).all()


def test_contains_extremes():
    sigma = np.array([1.0, 2.0])
    assert anisotropic.contains([1e300, 0], 1.0, sigma)
    assert not anisotropic.contains([1e308, 0], 0.99, [1e-300, 1.0])
    assert anisotropic.contains([0.0, 0.0], 0.99, sigma)
    assert not anisotropic.contains([0.0, 0.0], 0.5, sigma)
    assert not anisotropic.contains([np.inf, 0.0], 1.0, sigma)
    # squares of 1e-200 underflow; the scaled norm does not
    assert not anisotropic.contains([1e-200, 0.0], 1e-201, sigma, scores=True)
    assert anisotropic.contains([1e-200, 0.0], 1e-199, sigma, scores=True)


def assert_log_volume(p, sigma):
    d = mp.mpf(sigma.size)
    truth = (
        d / 2 * mp.log(mp.pi) - mp.loggamma(d / 2 + 1) + d * mp.log(ndtri(p, dps=40))
    )
    truth += mp.fsum(mp.log(mp.mpf(float(s))) for s in sigma)
    value = mp.mpf(float(anisotropic.log_volume(p, sigma)))
    assert truth - mp.mpf("1e-11") * d <= value <= truth


@given(st.floats(0.51, 0.999), levels)
def test_log_volume(p, sigma):
    assert_log_volume(p, sigma)


@pytest.mark.parametrize("dim", [784, pytest.param(150_528, marks=pytest.mark.slow)])
def test_log_volume_in_high_dimension(dim):
    assert_log_volume(0.9, np.random.default_rng(1).uniform(0.1, 2, dim))


def test_log_volume_of_nothing():
    assert anisotropic.log_volume(0.5, [1.0, 2.0]) == -np.inf
    assert anisotropic.log_volume(1.0, [1.0, 2.0]) == np.inf


def laplace_quantile(p):
    return mp.log(2 * p) if p < 0.5 else -mp.log(2 * (1 - p))


@given(probability, probability, levels, norms)
def test_laplace_tight(p_a, p_b, scale, norm):
    power = mp.mpf(1) - (0 if norm == np.inf else 1 / mp.mpf(float(norm)))
    half = (laplace_quantile(mp.mpf(p_a)) - laplace_quantile(mp.mpf(p_b))) / 2
    truth = half * true_reach(scale, power)
    assert holds(anisotropic.laplace_radius(p_a, scale, p_b, norm=norm), truth)


@given(probability, st.floats(0, 16))
def test_laplace_close_probabilities(p_b, digits):
    p_a = p_b + min(p_b, 1 - p_b) * 10.0**-digits
    if p_b < p_a < 1:
        truth = (laplace_quantile(mp.mpf(p_a)) - laplace_quantile(mp.mpf(p_b))) / 2
        assert holds(anisotropic.laplace_radius(p_a, 1.0, p_b), truth)


@given(probability, probability)
def test_laplace_paper(p_a, p_b):
    a, b = mp.mpf(p_a), mp.mpf(p_b)
    truth = max(mp.log(a / b) / 2, -mp.log(1 - a + b)) if a > b else 0
    value = anisotropic.laplace_radius(p_a, 1.0, p_b, method="paper")
    assert holds(value, truth)
    if p_a + p_b <= 1:  # two probabilities of one distribution
        assert value <= anisotropic.laplace_radius(p_a, 1.0, p_b) * (1 + 1e-13)


@given(st.floats(0.5, 1 - 1e-15), st.floats(1e-3, 1e3))
def test_laplace_one_probability(p, scale):
    assert holds(
        anisotropic.laplace_radius(p, scale),
        -mp.mpf(scale) * mp.log(2 * (1 - mp.mpf(p))),
    )


def test_laplace_special_values():
    assert anisotropic.laplace_radius(1.0, 1.0) == np.inf
    assert anisotropic.laplace_radius(0.3, 1.0, 0.0) == np.inf
    assert anisotropic.laplace_radius(0.5, 1.0) == 0


@pytest.mark.parametrize("method", ["tight", "paper"])
def test_laplace_ratio_beyond_float64(method):
    """p_a/p_b overflows; the radius was inf there in a first version."""
    truth = mp.log(mp.mpf(0.4) / mp.mpf(5e-324)) / 2
    assert holds(anisotropic.laplace_radius(0.4, 1.0, 5e-324, method=method), truth)


def test_shapes_and_nan():
    sigma = np.full((3, 4), 0.5)
    assert anisotropic.radius([0.9, 0.8, 0.7], sigma).shape == (3,)
    assert anisotropic.radius(np.full((2, 1), 0.9), sigma).shape == (2, 3)
    assert anisotropic.radius(0.9, [0.5, 0.5], norm=[1, 2, np.inf]).shape == (3,)
    assert isinstance(anisotropic.radius(0.9, [0.5]), np.float64)
    with np.errstate(invalid="ignore"):
        assert not anisotropic.contains([np.nan, 0.0], 1.0, [1.0, 1.0])


test_bad_input = refusals(
    {
        r"sigma must have shape \(..., d\) .* got shape": lambda: anisotropic.radius(
            0.9, 0.5
        ),
        "shapes must broadcast": lambda: anisotropic.contains(
            [1.0, 2, 3], 0.9, [0.5, 0.5]
        ),
        r"delta must have shape": lambda: anisotropic.contains(1.0, 0.9, [0.5, 0.5]),
        "method must be one of": lambda: anisotropic.laplace_radius(
            0.9, 1.0, method="best"
        ),
    }
)


def test_transport_does_not_lose_a_step_between_its_quotients():
    """radius/inner underflowed to 0: the interval was .5 -+ 0, in truth .5 -+ .25."""
    tiny = 5e-324
    scheme = METHODS["anisotropic"]({"norm": 2.0, "inner": 4.0})
    for low, high in (
        anisotropic.internal.transport(0.5, tiny, tiny, inner=4.0),
        scheme.transport(0.5, tiny, tiny),
    ):
        assert 0.25 - 1e-12 <= low <= 0.25
        assert 0.75 <= high <= 0.75 + 1e-12
    for z, radius, sigma, inner in (
        (0.0, tiny, 1e300, 1e300),
        (0.0, 1e-300, 1e300, 1.0),
        (1.0, 1e300, 1e-300, 1e-300),
        (1.0, 3e-310, 7e-310, 0.3),
        (-2.0, 1e308, 1e-10, 1e308),
    ):
        step = mp.mpf(radius) / mp.mpf(sigma) / mp.mpf(inner)
        with np.errstate(all="raise"):
            low, high = anisotropic.internal.transport(z, radius, sigma, inner)
        assert mp.mpf(float(low)) <= z - step < z + step <= mp.mpf(float(high))
        if step < 1e300:
            assert high - z <= step * (1 + 1e-11) + 1e-15


def test_laplace_transport_of_a_step_below_all_doubles():
    with np.errstate(all="raise"):
        low, high = anisotropic.internal.laplace_transport(0.0, 5e-324, 1e300)
    assert low < 0.0 < high < 1e-13
