"""Semi-elastic smoothing: radius, worst case and thresholds against each other.

The truth is in test_soundness and test_radius_references.
"""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr

from rsbounds import (
    envelope,
    gaussian,
    oracle,
    semielastic,
)

P = np.array([0.51, 0.7, 0.9, 0.99, 1 - 1e-6])
DIMS = np.array([1.0, 2.5, 784.0, 150528.0, 1e8])[:, None]


def test_radius_is_that_of_the_envelope():
    result = semielastic.radius(P, 0.25, 0.01, DIMS)
    same = envelope.radius(P, 0.25, envelope.SemiElastic(0.01), DIMS)
    np.testing.assert_array_equal(result, same)
    assert np.all(result <= gaussian.radius(P, 0.25))
    # more dimensions, a smaller radius: to the error of the search
    assert np.all(np.diff(result, axis=0) <= 1e-11 * result[:-1])


def test_xi_with_one_sigma_is_a_half_space():
    result = semielastic.xi(0.3, 1.2, 0.25, 0.25, 784, scores=True)
    assert result == pytest.approx(0.3 / 0.25 - 1.2, rel=1e-13)
    assert semielastic.xi(0.0, 0.9, 0.25, 0.25, 784) == pytest.approx(0.1, rel=1e-12)


def test_thresholds_are_ordered_and_the_exact_one_is_where_xi_is_one_half():
    for side, sign in (("below", 1), ("above", -1)):
        simple, chernoff, exact = (
            sign
            * np.asarray(semielastic.ratio_threshold(P, 784, side=side, bound=bound))
            for bound in ("simple", "chernoff", "exact")
        )
        assert np.all(simple <= chernoff)
        assert np.all(chernoff <= exact)
        at = semielastic.xi(0.0, P, 1.0, sign * exact, 784, scores=False)
        np.testing.assert_allclose(at, 0.5, rtol=1e-9)


def test_scores_in_scores_out():
    z = np.array([0.3, 2.0])
    score = semielastic.xi(0.2, z, 0.25, 0.24, 784, scores=True)
    np.testing.assert_allclose(
        ndtr(score), semielastic.xi(0.2, ndtr(z), 0.25, 0.24, 784)
    )
    with pytest.raises(ValueError, match=r"p_a.*infinite"):
        semielastic.xi(0.2, 1e7, 0.25, 0.24, 784, scores=True)


def test_worst_case_beyond_every_distance():
    for sigma1 in (0.5, 2.0):
        scores = [
            semielastic.xi(10.0**k, 1.3, 1.0, sigma1, 3, scores=True)
            for k in (59, 61, 100)
        ]
        for power, score in zip((59, 61, 100), scores, strict=True):
            assert score == pytest.approx(10.0**power / sigma1, rel=1e-12)


def test_worst_case_ball_at_the_ends():
    assert semielastic.worst_case_ball(1e40, 1.0, 1.0, 0.5, 3)[1] == 0.0
    with np.errstate(invalid="ignore"):
        centre, rho, _ = semielastic.worst_case_ball(np.nan, 0.9, 1.0, 1.0, 3)
    assert np.isnan(centre)
    assert np.isnan(rho)
    small = semielastic.worst_case_ball(1e-299, 0.9, 1.0, 1.1, 3)
    large = semielastic.worst_case_ball(1e8, 0.9, 1e307, 1.1e307, 3)
    assert large[0] == pytest.approx(small[0] * 1e307, rel=1e-9)
    assert large[1] == pytest.approx(small[1] * 1e307, rel=1e-9)


@pytest.mark.parametrize(
    ("distance", "z_a", "sigma0", "sigma1", "dim"),
    [
        (0.0, 1e5, 1e-300, 1e300, 1),
        (0.0, 1e5, 1e300, 1e-300, 1),
        (0.0, 1e5, 1.0, 1e155, 1),
        (0.0, -3.0, 1e-100, 1e100, 784),
        (5.0, 3.0, 1.0, 1e160, 150528),
        (1e300, 1e5, 1e-300, 1e300, 784),
        (3e75, 2.0, 1e-80, 1e75, 3),
    ],
)
def test_worst_case_where_the_ratio_of_levels_overflows(
    distance, z_a, sigma0, sigma1, dim
):
    """It was infinite from sigma1 = 1e154 sigma0 on."""
    result = semielastic.xi(distance, z_a, sigma0, sigma1, dim, scores=True)
    truth = oracle.worst_score(distance, -mp.mpf(z_a), sigma0, sigma1, dim, dps=20)
    assert result == pytest.approx(float(truth), rel=1e-13)
