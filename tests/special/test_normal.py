"""The log-space normal functions: tables, borders of their formulas, round trips."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp
from special_truth import beside, relative

from rsbounds import oracle, special
from rsbounds_ext import kernels


def test_random_points_of_every_magnitude():
    rng = np.random.default_rng(0)
    for z, power in rng.uniform([-40, -300], [37, 300], (60, 2)):
        z *= 10 ** rng.choice([0, 5, 17]) if z < 0 else 1
        assert relative(special.log_ndtr(z), oracle.log_ndtr(z, dps=30)) <= 1.3e-15, z
        log_p = -(10**power)
        assert (
            relative(special.ndtri_exp(log_p), oracle.ndtri_exp(log_p, dps=30))
            <= 1.4e-15
        ), log_p


def test_log_ndtr_where_its_formulas_change():
    borders = (
        -1.0,
        1e-300,
        -1e-300,
        1.0,
        8.3,
        36.0,
        37.0,
        37.5,
        -26.0,
        -37.6,
        -40.0,
        -1e4,
    )
    for z in (
        0.0,
        -1e150,
        -1.0001e150,
        -1e153,
        *(z for b in borders for z in beside(b)),
    ):
        assert relative(special.log_ndtr(z), oracle.log_ndtr(z, dps=30)) <= 2e-15, z
    for z in (37.9, 38.3, *beside(38.6), 40.0):  # subnormal
        truth = float(oracle.log_ndtr(z, dps=30))
        assert special.log_ndtr(z) == pytest.approx(truth, rel=2e-15, abs=1e-323)


def test_log_ndtr_is_exactly_rounded_at_0_and_has_no_step_beside_it():
    with mp.workprec(200):
        assert special.log_ndtr(0.0) == special.log_ndtr(-0.0) == float(-mp.log(2))
    far = np.logspace(-320, -10, 20_001)
    near = np.arange(-5000, 5000) * 5e-17
    z = np.unique(np.concatenate([-far, far, near]))
    assert (np.diff(special.log_ndtr(z)) >= 0).all()


def test_ndtri_exp_where_its_formulas_change():
    half, low, high = (
        -math.log(2),
        -2.5902671654458267,
        -0.07796154146971186,
    )  # 0.5, 0.075, 0.925
    points = [
        *beside(half, 3),
        *(half * (1 + d) for d in (-1e-3, -1e-8, -1e-15, 1e-15, 1e-8, 1e-3)),
        # sqrt(-2 log p) = 4, 8, 17, 39
        *(p for b in (-8.0, -32.0, -144.5, -760.5, low, high) for p in beside(b)),
        *(
            -(10.0**k)
            for k in (-300, -200, -100, -20, -16, -10, -3, 1, 3, 4, 5, 6, 17, 100, 300)
        ),
        *(-1.7e308, -5e-324),
    ]
    for log_p in points:
        truth = oracle.ndtri_exp(log_p, dps=30)
        assert relative(special.ndtri_exp(log_p), truth) <= 2e-15, log_p


def test_ndtri_where_its_formulas_change():
    for p in (
        5e-324,
        1e-300,
        1e-11,
        *beside(0.075),
        *beside(0.5),
        *beside(0.925),
        1 - 2.0**-53,
    ):
        assert relative(special.ndtri(p), oracle.ndtri(p, dps=30)) <= 2e-15, p


@settings(deadline=None, max_examples=300)
@given(st.floats(-300, 300).map(lambda e: -(10.0**e)))
def test_log_ndtr_inverts_ndtri_exp(log_p):
    """To the accuracy that z itself allows."""
    z = float(special.ndtri_exp(log_p))
    if z > 38:  # log p is subnormal on the way back
        return
    slope = z * z + 1 if z < 0 else z * z * 1.1 + 1  # d log(-log p)/d log z
    assert special.log_ndtr(z) == pytest.approx(log_p, rel=4e-15 * slope)


NORMAL = [kernels.ndtr, kernels.log_ndtr, kernels.ndtri, kernels.ndtri_exp]
HOSTILE = [0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e160, -np.inf, np.inf, np.nan, -38.6]


@pytest.mark.parametrize("function", NORMAL)
@pytest.mark.parametrize("size", [1, 7, 8, 16, 63, 64, 65, 200])
def test_values_of_an_array_have_the_bits_of_one_alone(function, size):
    """Arrays are computed in blocks, and inverses by the formula that they need."""
    rng = np.random.default_rng(size)
    borders = [-2.5902671654458267, -0.07796154146971186, 0.075, 0.925]
    normal = special.log_ndtr(3 * rng.standard_normal(size))
    far = -(10.0 ** rng.uniform(-320, 300, size))
    for values in (normal, far, 20 * rng.standard_normal(size), rng.random(size)):
        places = rng.integers(0, size, size // 4)
        values[places] = rng.choice(HOSTILE + borders, len(places))
        for array in (values, np.repeat(values, 3)[::3]):
            with special.errstate(domain="nan"), np.errstate(all="ignore"):
                together = function(array)
                alone = np.array([function(np.array([v]))[0] for v in array])
            np.testing.assert_array_equal(
                together.view(np.int64)[~np.isnan(alone)],
                alone.view(np.int64)[~np.isnan(alone)],
            )
            np.testing.assert_array_equal(np.isnan(together), np.isnan(alone))


def exact_gap(z_a, z_b):
    """log(Phi(z_a) - Phi(z_b)) with as many digits as the scores have and more."""
    with mp.workdps(80 + int(-min(0.0, math.log10(z_a - z_b)))):
        a, b = mp.mpf(z_a), mp.mpf(z_b)
        if a + b > 0:
            a, b = -b, -a
        return mp.log((mp.erfc(-a / mp.sqrt(2)) - mp.erfc(-b / mp.sqrt(2))) / 2)


def gap_error(z_a, z_b):
    """Over what is measured."""
    value = float(special.log_ndtr_gap(z_a, z_b))
    bound = special.error_bound("log_ndtr_gap", value, measured=True)
    return float(abs(mp.mpf(value) - exact_gap(z_a, z_b))) / float(bound)


@settings(deadline=None, max_examples=200)
@given(z=st.floats(-60, 60), exponent=st.floats(-290, 2))
@example(z=0.0, exponent=-323.3)
@example(z=1e-300, exponent=-305.0)
@example(z=-1e4, exponent=0.0)
@example(z=-1e4, exponent=-8.0)
def test_gaps_of_probabilities_keep_their_digits(z, exponent):
    above = max(z + 10.0**exponent, math.nextafter(z, math.inf))
    assert gap_error(above, z) <= 1
    assert gap_error(-z, -above) <= 1


@pytest.mark.parametrize("middle", [-30.0, -3.0, -1.0, -0.25, 0.0, 0.5])
def test_gaps_where_their_formulas_change(middle):
    """Where scores are no longer close, and where one of them is 0."""
    half = 0.5 / max(1.0, abs(middle))
    for steps in (-8, -2, -1, 0, 1, 2, 8):
        width = half + steps * math.ulp(max(half, abs(middle)))
        assert gap_error(middle + width, middle - width) <= 1
    for end in (-5e-324, 0.0, 5e-324):
        assert gap_error(end, -2.0) <= 1
        assert gap_error(2.0, end) <= 1


@pytest.mark.parametrize(
    ("z_a", "z_b", "alone"),
    [(1e160, -1.7, 1.7), (2.0, -1e200, 2.0), (1e308, -1e308, np.inf)],
)
def test_a_gap_of_a_score_of_any_size_is_that_of_the_other_tail(z_a, z_b, alone):
    assert special.log_ndtr_gap(z_a, z_b) == pytest.approx(special.log_ndtr(alone))
