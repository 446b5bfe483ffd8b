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
    with pytest.raises(
        ValueError, match=r"p_a must be a score in \[-1e6, 1e6\] or infinite"
    ):
        semielastic.xi(0.2, 1e7, 0.25, 0.24, 784, scores=True)
