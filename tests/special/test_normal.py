"""The log-space normal functions: tables, borders of their formulas, round trips."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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


HOSTILE = [0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e160, -np.inf, np.inf, np.nan, -38.6]


@pytest.mark.parametrize("function", [kernels.log_ndtr, kernels.ndtri_exp])
@pytest.mark.parametrize("size", [1, 7, 8, 16, 63, 64, 65, 200])
def test_values_of_an_array_have_the_bits_of_one_alone(function, size):
    """Arrays are computed in blocks, and ndtri_exp's by the formula that they need."""
    rng = np.random.default_rng(size)
    borders = [-2.5902671654458267, -0.07796154146971186]
    normal = special.log_ndtr(3 * rng.standard_normal(size))
    far = -(10.0 ** rng.uniform(-320, 300, size))
    for values in (normal, far, 20 * rng.standard_normal(size)):
        places = rng.integers(0, size, size // 4)
        values[places] = rng.choice(HOSTILE + borders, len(places))
        for array in (values, np.repeat(values, 3)[::3]):
            with np.errstate(all="ignore"):
                together = function(array)
                alone = np.array([function(np.array([v]))[0] for v in array])
            np.testing.assert_array_equal(
                together.view(np.int64)[~np.isnan(alone)],
                alone.view(np.int64)[~np.isnan(alone)],
            )
            np.testing.assert_array_equal(np.isnan(together), np.isnan(alone))
