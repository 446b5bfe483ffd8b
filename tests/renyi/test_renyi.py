"""The Rényi radius against its formula in mpmath and below the exact certificate."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from rsbounds import (
    gaussian,
    oracle,
    renyi,
    semielastic,
)
from rsbounds.oracle._radii import renyi_square

pytestmark = pytest.mark.usefixtures("sixty_digits")

top = st.one_of(
    st.floats(0.5, 1 - 2.0**-53),
    st.floats(-15, -1).map(lambda e: 1 - 10.0**e),
    st.floats(-9, -1).map(lambda e: 0.5 + 10.0**e),
)
shares = st.one_of(st.just(1.0), st.floats(0, 300).map(lambda e: 10.0**-e))
ratios = st.one_of(
    st.just(0.0),
    st.floats(-10, -0.3).map(lambda e: 10.0**e),
    st.floats(-10, -0.3).map(lambda e: -(10.0**e)),
)
dims = st.sampled_from([1.0, 2.0, 10.0, 784.0, 150_528.0, 1e7])


def supremum(p_a, p_b, sigma0, sigma1, dim):
    z_a, z_b = (oracle.ndtri(float(p), dps=60) for p in (p_a, p_b))
    return oracle.renyi_radius(z_a, sigma0, sigma1, dim, z_b, dps=40) ** 2


def assert_is_the_supremum(p_a, share, ratio, dim):
    p_b = (1 - p_a) * share
    sigma0, sigma1 = 0.5, 0.5 * (1 + ratio)
    value = mp.mpf(float(renyi.radius(p_a, sigma0, sigma1, dim, p_b)))
    truth = supremum(p_a, p_b, sigma0, sigma1, dim)
    if truth <= 1e-35:  # the digits of the oracle's own difference end here
        assert value == 0
        return
    # the dominant of the two cancelling terms under the root carries the rounding error
    cost = abs(truth - supremum(p_a, p_b, sigma0, sigma0, 1)) + truth
    # the two searches stop at different places: 1e-13 of slack for that
    assert value**2 <= truth * (1 + mp.mpf("1e-13"))
    assert value**2 >= truth - mp.mpf("4e-12") * cost


@settings(max_examples=1, deadline=None)
@given(top, shares, ratios, dims)
def test_radius_is_the_supremum(p_a, share, ratio, dim):
    assert_is_the_supremum(p_a, share, ratio, dim)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(top, shares, ratios, dims)
@example(
    1 - 1e-14, 1e-8, 0.196, 784.0
)  # between two steps of a search that compares R^2 alone
@example(1 - 1e-9, 1e-12, 0.156, 784.0)
def test_radius_is_the_supremum_at_many_points(p_a, share, ratio, dim):
    assert_is_the_supremum(p_a, share, ratio, dim)


@given(top, shares)
def test_at_equal_levels_below_cohen(p_a, share):
    p_b = (1 - p_a) * share
    assert renyi.radius(p_a, 0.5, 0.5, 784, p_b) <= gaussian.radius(p_a, 0.5, p_b)


def test_a_peak_between_the_steps_of_the_search():
    """It was 0: far out, where sigma_alpha falls to 0, R^2 = -1e-14 looked better."""
    value = renyi.radius(1 - 1e-9, 0.5, 0.578, 784, 1e-21)
    assert value == pytest.approx(1.1129763183, abs=1e-10)
    truth = oracle.renyi_radius(ndtri(1 - 1e-9), 0.5, 0.578, 784, ndtri(1e-21))
    assert value == pytest.approx(float(truth), rel=1e-9)  # the scores are rounded


@pytest.mark.parametrize("sigma0", [1.2926192269387885e-9, 1e-12, 1e-100])
def test_nothing_is_certified_between_levels_far_apart(sigma0):
    # 1 - alpha had an absolute error, which 1/sigma0^2 multiplied: 6.4e-8 at the first
    assert (
        renyi.radius(np.nextafter(1.0, 0), sigma0, 1.0, 1, 2.160396829550723e-239) == 0
    )


def test_products_below_the_normal_numbers_are_rounded_down():
    """p_a - p_b of one unit in the last place: R^2 = 1.06e-319; 4.6e-160 came out."""
    p_b = mp.mpf(1e-287)
    share = (mp.mpf(np.nextafter(1e-287, 1)) - p_b) / (2 * p_b)
    truth = mp.sqrt(2 * p_b) * share  # to first order in both; the order 0 is best
    for factor in (1.0, 3.0, 0.1):
        result = renyi.radius(np.nextafter(1e-287, 1), factor, factor, 1, 1e-287)
        assert 0.999 * factor * truth < result <= factor * truth


def test_special_values():
    assert renyi.radius(1.0, 0.5, 0.5, 10) == np.inf
    assert renyi.radius(1.0, 0.5, 0.4, 10) == np.inf
    assert renyi.radius(0.5, 0.5, 0.5, 10) == 0
    assert renyi.radius(0.4, 0.5, 0.5, 10, 0.45) == 0
    assert renyi.radius(0.99, 0.5, 0.6, 784) == 0
    assert (
        0
        < renyi.radius(0.7, 0.5, 0.5, 784, 0.0)
        < renyi.radius(0.71, 0.5, 0.5, 784, 0.0)
        < 9
    )
    assert renyi.radius(0.7, 0.5, 0.5, 784, 0.6) == renyi.radius(
        0.7, 0.5, 0.5, 784
    )  # the cap
    assert renyi.radius([0.9, 0.8], 0.5, np.full((3, 1), 0.5), 784).shape == (3, 2)
    assert isinstance(renyi.radius(0.9, 0.5, 0.5, 784), np.float64)


def test_erratum_s_theorem_14():
    """Erratum 11: alpha at the border of its range and R^2 < 0 certify nothing."""
    border = 1.02**2 / (1.02**2 - 1)
    z = oracle.ndtri(0.9)
    below = mp.mpf(border) * (1 - mp.mpf("1e-9"))
    assert renyi_square(below, z, mp.mpf(1), mp.mpf(1.02), mp.mpf(784), -z) < 0
    assert renyi.radius(0.9, 1.0, 1.2, 784) == 0


def test_never_above_the_exact_radius_in_bulk():
    rng = np.random.default_rng(0)
    count = 5000
    p_a = rng.uniform(0.3, 0.9999, count)
    p_b = np.minimum(p_a, 1 - p_a) * rng.uniform(0.01, 1, count)
    p_b = np.where(rng.random(count) < 0.3, np.minimum(p_a, 1 - p_a), p_b)
    dim = rng.choice([1.0, 2, 3, 10, 100, 784, 3072], count)
    step = (
        rng.choice([-1, 1], count) * 10 ** rng.uniform(-5, -0.3, count) / np.sqrt(dim)
    )
    reach = renyi.radius(p_a, 1.0, 1 + step, dim, p_b)
    some = reach > 0
    assert some.mean() > 0.5
    reach, p_a, p_b, sigma1, dim = (v[some] for v in (reach, p_a, p_b, 1 + step, dim))
    worst = semielastic.xi(reach, p_a, 1.0, sigma1, dim)
    assert (worst + semielastic.xi(reach, 1 - p_b, 1.0, sigma1, dim)).max() < 1


def test_large_batches_are_searched_in_pieces():
    p_a = np.linspace(0.5, 1, 2500).reshape(50, 50)
    value = renyi.radius(p_a, 0.5, 0.501, 10)
    assert value.shape == (50, 50)
    assert value[30, 7] == renyi.radius(p_a[30, 7], 0.5, 0.501, 10)
    assert (np.diff(value.ravel()) >= 0).all()
    assert renyi.radius(np.zeros((0, 3)), 0.5, 0.5, 10).shape == (0, 3)


@pytest.mark.parametrize("power", [139, 141, 145, 146, 149, 151, 250])
def test_levels_too_far_apart_certify_nothing(power):
    """From a ratio of 1e146 on a product overflowed, a loss became 0 and the radius
    infinite.
    """
    for sigma0, sigma1 in (
        (10.0**power, 1.0),
        (1.0, 10.0**power),
        (10.0 ** (power - 300), 1e-300),
    ):
        assert renyi.radius([0.9, 1 - 2.0**-53], sigma0, sigma1, [1, 784]).tolist() == [
            0.0,
            0.0,
        ]


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here"
)
def test_levels_that_float64_lacks_are_refused_and_dimensions_rounded_up():
    more = np.longdouble(2) ** -60
    for levels, name in (((0.5 + more, 0.5), "sigma0"), ((0.5, 0.5 + more), "sigma1")):
        with pytest.raises(ValueError, match=rf"^{name}.*float64"):
            renyi.radius(0.99, *levels, 784)
    above = renyi.radius(0.99, 0.5, 0.501, np.nextafter(784.0, 785))
    assert renyi.radius(0.99, 0.5, 0.501, 784 + more) == above


def test_ratios_of_levels_beyond_every_range():
    for p, levels, expected in (
        (0.9, (1e200, 1e-200), 0.0),
        (1.0, (1.0, 1e-300), np.inf),
    ):
        assert renyi.radius(p, *levels, 3) == expected
