"""Semi-elastic smoothing: radius, worst case and thresholds against each other.

The truth is in test_soundness and test_radius_references.
"""

import numpy as np
import pytest
from scipy.special import ndtr

from rsbounds import envelope, gaussian, semielastic

P = np.array([0.51, 0.7, 0.9, 0.99, 1 - 1e-6])
DIMS = np.array([1.0, 2.5, 784.0, 150528.0, 1e8])[:, None]


def test_radius_is_that_of_the_envelope():
    result = semielastic.radius(P, 0.25, 0.01, DIMS)
    same = envelope.radius(P, 0.25, envelope.SemiElastic(0.01), DIMS)
    np.testing.assert_array_equal(result, same)
    assert np.all(result <= gaussian.radius(P, 0.25))
    # more dimensions, a smaller radius: to the error of the search
    assert np.all(np.diff(result, axis=0) <= 1e-11 * result[:-1])


@pytest.mark.parametrize("sign", [-1, 1])
def test_xi_is_one_half_at_the_radius_of_its_branch(sign):
    rate, sigma, dim = 0.05, 0.25, 784.0
    low, high = envelope.branch_radii(P, sigma, envelope.SemiElastic(rate), dim)
    r = np.asarray(low if sign < 0 else high)
    at = [
        semielastic.xi(r * t, P, sigma, sigma * np.exp(sign * rate * r * t), dim)
        for t in (1.0, 1 + 1e-9)
    ]
    assert np.all(at[0] <= 0.5)
    assert np.all(at[1] > 0.5)


def test_xi_with_one_sigma_is_a_half_space():
    result = semielastic.xi(0.3, 1.2, 0.25, 0.25, 784, scores=True)
    assert result == pytest.approx(0.3 / 0.25 - 1.2, rel=1e-13)
    assert semielastic.xi(0.0, 0.9, 0.25, 0.25, 784) == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("sigma1", [0.24, 0.26])
def test_the_worst_ball_has_the_probability_of_the_rest(sigma1):
    """By its own mass under N(x0, sigma0^2 I) and under N(x1, sigma1^2 I)."""
    from rsbounds.special import ncx2_cdf, ncx2_sf

    centre, ball, complement = semielastic.worst_case_ball(0.3, 0.9, 0.25, sigma1, 50)
    mass = ncx2_sf if complement else ncx2_cdf
    assert complement == (sigma1 > 0.25)
    at0 = mass((ball / 0.25) ** 2, 50, (centre / 0.25) ** 2)
    at1 = mass((ball / sigma1) ** 2, 50, ((centre - 0.3) / sigma1) ** 2)
    assert at0 == pytest.approx(0.1, rel=1e-10)
    assert at1 == pytest.approx(semielastic.xi(0.3, 0.9, 0.25, sigma1, 50), rel=1e-10)


def test_thresholds_are_ordered_and_the_exact_one_is_where_xi_is_one_half():
    for side, sign in (("below", 1), ("above", -1)):
        simple, chernoff, exact = (
            sign * np.asarray(semielastic.ratio_threshold(P, 784, side=side, bound=bound))
            for bound in ("simple", "chernoff", "exact")
        )
        assert np.all(simple <= chernoff)
        assert np.all(chernoff <= exact)
        at = semielastic.xi(0.0, P, 1.0, sign * exact, 784, scores=False)
        np.testing.assert_allclose(at, 0.5, rtol=1e-9)


def test_scores_in_scores_out():
    z = np.array([0.3, 2.0])
    score = semielastic.xi(0.2, z, 0.25, 0.24, 784, scores=True)
    np.testing.assert_allclose(ndtr(score), semielastic.xi(0.2, ndtr(z), 0.25, 0.24, 784))
    with pytest.raises(ValueError, match=r"p_a must be a score in \[-1e6, 1e6\] or infinite"):
        semielastic.xi(0.2, 1e7, 0.25, 0.24, 784, scores=True)
