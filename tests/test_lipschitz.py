"""Lipschitz sigma: the three radii, the factor R_d and [B]'s constant against each other.

The truth is in test_soundness, test_radius_references and test_oracle_radii.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri as scipy_ndtri
from scipy.stats import chi2, norm

from rsbounds import envelope, gaussian, lipschitz

P = np.array([0.51, 0.7, 0.9, 0.99, 1 - 1e-6])
KNOWN = {"lip": 0.3, "sigma_min": 0.2, "dim": 784}


def radii(p, **changes):
    known = {**KNOWN, **changes}
    paper = lipschitz.radius(p, 0.25, method="paper", p_min=1e-7, **known)
    return paper, *(lipschitz.radius(p, 0.25, method=m, **known) for m in ("integrated", "exact"))


@pytest.mark.parametrize("dim", [1, 10, 784, 150528])
@pytest.mark.parametrize("p_b", [None, 0.005])
def test_each_radius_is_at_least_the_one_before(dim, p_b):
    paper, integrated, exact = radii(P, dim=dim, p_b=p_b)
    assert np.all(paper <= integrated)
    assert np.all(integrated <= exact * (1 + 1e-11))
    assert np.all(exact <= gaussian.radius(P, 0.25, p_b) * (1 + 1e-14))


def test_exact_is_that_of_the_envelope():
    same = envelope.radius(P, 0.25, envelope.LipschitzSigma(0.3, 0.2), 784)
    np.testing.assert_array_equal(lipschitz.radius(P, 0.25, **KNOWN), same)


def test_a_constant_sigma_has_cohens_radius():
    cohen = gaussian.radius(P, 0.25)
    paper, integrated, exact = radii(P, lip=0.0, sigma_min=0.25)
    for found in (paper, integrated, exact):
        np.testing.assert_allclose(found, cohen, rtol=1e-11)
        assert np.all(found <= cohen)


def test_paper_is_the_clipped_gap_over_twice_the_constant():
    constant = lipschitz.constant(784, 0.3, 0.2, 1e-7)
    top = -scipy_ndtri(1e-7)
    z = np.minimum(scipy_ndtri(1 - np.array([0.1, 1e-9])), top)
    found = lipschitz.radius([0.9, 1 - 1e-9], 0.25, method="paper", p_min=1e-7, **KNOWN)
    np.testing.assert_allclose(found, z / constant, rtol=2e-11)


@pytest.mark.parametrize("dim", [1, 2, 784])
def test_ratio_is_its_definition(dim):
    p = np.array([1e-6, 0.1, 0.5, 0.9])
    x = chi2.isf(p, dim)
    truth = x * chi2.pdf(x, dim) / norm.pdf(scipy_ndtri(p))
    np.testing.assert_allclose(lipschitz.ratio(p, dim), truth, rtol=1e-9)  # SciPy's own error
    h = 1e-6 * p
    slope = (np.asarray(lipschitz.ratio(p + h, dim)) - np.asarray(lipschitz.ratio(p - h, dim))) / (
        2 * h
    )
    np.testing.assert_allclose(lipschitz.ratio_derivative(p, dim), slope, rtol=1e-5)
    assert np.all(np.diff(lipschitz.ratio(p, dim)) < 0)
    assert lipschitz.ratio(0.0, dim) == np.inf
    assert lipschitz.ratio(1.0, dim) == 0


def test_p_min_is_the_floor_in_every_dimension():
    for dim in (1, 3.5, 784, 1e8):
        assert lipschitz.p_min_search(dim) == 1e-300


def test_normalized_scores_sum_to_one_and_keep_their_order():
    scores = np.array([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5]])
    moved = lipschitz.normalize_scores(scores, 0.01)
    np.testing.assert_allclose(moved.sum(-1), 1.0, rtol=1e-15)
    assert moved.min() == 0.01
    np.testing.assert_array_equal(np.argsort(moved), np.argsort(scores))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": 0.1}, r"sigma must be inside the envelope .*sigma_min=0.2\); got 0.1"),
        ({"sigma": 0.1, "method": "integrated"}, "sigma must be at least sigma_min = 0.2"),
        ({"lip": -1.0}, "lip must be in"),
        ({"lip": np.nan, "method": "exact"}, "lip must be in"),
        ({"method": "papr"}, "method must be one of 'exact', 'integrated', 'paper'"),
        ({"method": "paper"}, "p_min is for method 'paper' alone, which needs it; got None"),
        ({"p_min": 0.1}, "p_min is for method 'paper' alone, which needs it; got 0.1"),
        ({"method": "paper", "p_min": 0.7}, r"p_min must be in \(0, 0.5\)"),
        ({"p_a": -1.0}, "p_a must be in"),
    ],
)
def test_refusals_name_the_argument(change, message):
    with pytest.raises(ValueError, match=message):
        lipschitz.radius(**{"p_a": 0.9, "sigma": 0.25, **KNOWN, **change})


def test_nan_passes():
    for method in ("exact", "integrated"):
        with np.errstate(invalid="ignore"):
            found = lipschitz.radius([0.9, np.nan], 0.25, method=method, **KNOWN)
        np.testing.assert_array_equal(np.isnan(found), [False, True])
