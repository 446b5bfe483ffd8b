"""Radii of fixed Gaussian noise against mpmath, by attack, and on bad input."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from radius_truth import WITHIN, holds
from refusals import refusals
from scipy.stats import chi2

from rsbounds import gaussian
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds.oracle import ndtri

pytestmark = pytest.mark.usefixtures("sixty_digits")

probability = st.one_of(
    st.floats(1e-300, 1 - 2.0**-53),
    st.floats(-17, -0.31).map(lambda e: 10.0**e),
    st.floats(-15.9, -0.31).map(lambda e: 1 - 10.0**e),
    st.floats(-15, -1).map(lambda e: 0.5 + 10.0**e),
)
positive = st.floats(1e-6, 1e6)
score = st.floats(-1e3, 1e3)


@given(probability, positive)
def test_radius_of_one_probability(p, sigma):
    assert holds(gaussian.radius(p, sigma), mp.mpf(sigma) * ndtri(p, dps=40))


@given(probability, probability, positive)
def test_radius_of_two_probabilities(p_a, p_b, sigma):
    truth = mp.mpf(sigma) * (ndtri(p_a, dps=40) - ndtri(p_b, dps=40)) / 2
    assert holds(gaussian.radius(p_a, sigma, p_b), truth)


@given(probability, st.floats(0, 16))
def test_radius_of_two_close_probabilities(p_b, digits):
    p_a = p_b + min(p_b, 1 - p_b) * 10.0**-digits
    if p_b < p_a < 1:
        truth = (ndtri(p_a, dps=60) - ndtri(p_b, dps=60)) / 2
        assert holds(gaussian.radius(p_a, 1.0, p_b), truth)


@given(score, score, positive)
def test_radius_of_scores(z_a, z_b, sigma):
    truth = mp.mpf(sigma) * (mp.mpf(z_a) - mp.mpf(z_b)) / 2
    assert holds(gaussian.radius(z_a, sigma, z_b, scores=True), truth)


@given(
    st.floats(0.51, 1 - 1e-12),
    st.one_of(st.floats(1, 50), st.just(np.inf)),
    st.floats(1, 1e7),
)
def test_radius_in_lp(p, norm, dim):
    power = max(mp.mpf(1) / 2 - (0 if norm == np.inf else 1 / mp.mpf(norm)), 0)
    truth = ndtri(p, dps=40) / mp.mpf(dim) ** power
    assert holds(gaussian.radius(p, 1.0, norm=norm, dim=dim), truth)


@given(st.floats(1, 20), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_lp_ball_lies_in_the_l2_ball(norm, dim, seed):
    """Every direction, and the two extreme ones (an axis, a diagonal), stays inside."""
    rng = np.random.default_rng(seed)
    reach = gaussian.radius(0.9, 1.0, norm=norm, dim=dim)
    directions = np.vstack(
        [rng.standard_normal((20, dim)), np.eye(dim)[0], np.ones(dim)]
    )
    directions /= np.linalg.norm(directions, ord=norm, axis=1)[:, None]
    longest = np.linalg.norm(reach * directions, axis=1).max()
    assert longest <= gaussian.radius(0.9, 1.0) * (
        1 + 1e-13
    )  # rounding of the test's norms


def test_special_values():
    assert gaussian.radius(0.5, 1.0) == 0
    assert gaussian.radius(0.2, 1.0) == 0
    assert gaussian.radius(1.0, 1.0) == np.inf
    assert gaussian.radius(0.3, 1.0, 0.0) == np.inf
    assert gaussian.radius(1.0, 1.0, 1.0) == 0
    assert gaussian.radius(np.inf, 1.0, np.inf, scores=True) == 0
    assert gaussian.radius(np.inf, 1.0, scores=True) == np.inf
    assert gaussian.radius(0.5 + 2.0**-53, 1.0) > 0 or 0.5 + 2.0**-53 == 0.5
    assert gaussian.radius(np.nextafter(0.5, 1), 1.0) > 0
    assert gaussian.radius(1e3, 0.25, scores=True) == pytest.approx(250, rel=1e-15)
    assert isinstance(gaussian.radius(0.9, 1.0), np.float64)


def test_certainty_is_infinite_at_any_sigma():
    result = gaussian.radius(
        [1.0, 1.0, 0.99], [5e-324, 1e308, 1.7e308], norm=784, dim=1e8
    )
    assert result[:2].tolist() == [np.inf, np.inf]
    assert 0 < result[2] < np.inf
    assert gaussian.radius(1.0, 5e-324, norm=784, dim=1e8) == np.inf


def test_upper_bounds_that_overflow_are_infinite_and_say_nothing():
    assert gaussian.local_lipschitz([0.0, 1.0], 5e-324).tolist() == [0, 0]
    assert gaussian.local_lipschitz(5e-324, 1e300) > 0
    assert gaussian.local_lipschitz(0.5, 5e-324) == np.inf


@given(probability, positive)
def test_local_lipschitz(p, sigma):
    truth = mp.npdf(ndtri(p, dps=40)) / mp.mpf(sigma)
    value = mp.mpf(float(gaussian.local_lipschitz(p, sigma)))
    # below 1e-290 the density leaves the normal range of float64 and only the side is
    # promised
    assert truth <= value
    assert truth < 1e-290 or value <= truth * (1 + WITHIN)


@pytest.mark.parametrize("p", [5e-324, 1e-320, 1e-308])
@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e-5])
def test_a_density_below_the_normal_numbers_keeps_its_digits(p, sigma):
    truth = mp.npdf(ndtri(p, dps=40)) / mp.mpf(sigma)
    value = mp.mpf(float(gaussian.local_lipschitz(p, sigma)))
    assert truth <= value
    assert truth < 1e-290 or value <= truth * (1 + WITHIN)


def test_erratum_l_local_constant_is_not_a_lipschitz_constant():
    """Erratum 12: Theorem 0 with the local constant would give 18.4 sigma at .99."""
    false = gaussian.lipschitz_radius(0.99, 0.01, gaussian.local_lipschitz(0.99, 1.0))
    assert false == pytest.approx(18.4, abs=0.05)
    assert gaussian.radius(0.99, 1.0) == pytest.approx(2.326, abs=1e-3)


def test_erratum_l_lp_formula_below_two():
    """Erratum 12: the printed r_p exceeds the l_2 radius for p < 2; ours does not."""
    assert gaussian.radius(0.9, 1.0, norm=1, dim=100) == gaussian.radius(0.9, 1.0)
    assert 100 ** (1 / 1 - 1 / 2) > 1  # the printed factor at p = 1


@given(st.floats(0, 1), st.floats(0, 1), st.floats(1e-3, 1e3))
def test_lipschitz_radius(p_a, p_b, lip):
    truth = (mp.mpf(p_a) - mp.mpf(p_b)) / (2 * mp.mpf(lip))
    value = gaussian.lipschitz_radius(p_a, p_b, lip)
    assert holds(value, truth)


def test_lipschitz_radius_special():
    assert gaussian.lipschitz_radius(0.9, 0.1, 0.0) == np.inf
    assert gaussian.lipschitz_radius(0.1, 0.1, 0.0) == 0
    assert gaussian.lipschitz_radius(0.9, None, 1.0) == gaussian.lipschitz_radius(
        0.9, 1 - 0.9, 1.0
    )


def test_max_radius_of_the_paper():
    """Erratum 9."""
    assert gaussian.max_radius(100_000, 0.001, 1.0) == pytest.approx(
        3.81145656338995189, rel=1e-11
    )


@pytest.mark.filterwarnings("ignore:alpha = ")  # levels of all sizes
@given(st.integers(1, 10**9), st.floats(1e-12, 0.999), positive)
def test_max_radius(n, alpha, sigma):
    p = mp.mpf(alpha) ** (mp.mpf(1) / n)
    truth = mp.mpf(sigma) * ndtri(p, dps=40)
    value = gaussian.max_radius(n, alpha, sigma)
    if abs(p - 0.5) < 1e-4:
        assert max(truth, 0) - mp.mpf(1e-15 * sigma) <= value <= max(truth, 0)
    else:
        assert holds(value, truth)


def test_erratum_s_theorem_9_fails_in_one_dimension():
    """Noise of sigma = R sqrt(K/N) about a ball of radius R falls into it with less
    than 1/K.

    In dimension 1 the interval keeps 52 %.
    """
    classes, dim = np.meshgrid([2, 3, 10, 1000], [2, 2.5, 3, 4, 784, 1e5])
    assert np.all(chi2.cdf(dim / classes, dim) < 1 / classes)
    assert chi2.cdf(1 / 2, 1) > 0.52


@given(st.floats(allow_nan=False), st.floats(0, 1e-10))
@example(1.7976931348623157e308, 0.0)  # nextafter warned of overflow
def test_rounding_keeps_its_side_and_its_sign(value, error):
    down, up = round_down(value, error), round_up(value, error)
    assert down <= value <= up
    assert not (value > 0 > down)
    assert not (value < 0 < up)
    if value == 0 or np.isinf(value):
        assert down == value == up


@pytest.mark.parametrize("norm", [2.1, 3.0, 7.0, np.inf])
def test_radius_in_lp_at_the_largest_dimensions(norm):
    """From 1e45 on the exponent's rounding showed: 3e-16 to 2e-14 above the truth."""
    power = mp.mpf(1) / 2 - (0 if norm == np.inf else 1 / mp.mpf(norm))
    for digits in np.linspace(1, 308, 200):
        dim, z = 10.0**digits, 1 + digits / 300
        truth = mp.mpf(z) * mp.mpf(1.7) / mp.mpf(dim) ** power
        assert holds(gaussian.radius(z, 1.7, norm=norm, dim=dim, scores=True), truth)


test_bad_input = refusals(
    {
        "2 of 3 values outside, the first -1": lambda: gaussian.radius(
            [0.5, -1, 2], 1.0
        ),
        "dim must be given where norm > 2": lambda: gaussian.radius(
            0.9, 1.0, norm=np.inf
        ),
    }
)


def test_transport_has_the_shape_of_its_norms():
    """Norms up to 2 were left out of the shape: they change no number."""
    low, high = gaussian.internal.transport(2.0, 0.25, 0.5, norm=[1.0, 2.0])
    assert low.shape == high.shape == (2,)
    with pytest.raises(ValueError, match=r"norm \(2,\).*dim \(3,\)"):
        gaussian.internal.transport(2.0, 0.25, 0.5, norm=[1.0, 3.0], dim=[1, 2, 3])
