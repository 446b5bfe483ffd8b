"""Lipschitz sigma: the three radii, the factor R_d and [B]'s constant against each
other.

The truth is in test_soundness, test_radius_references and test_oracle_radii.
"""

import sys

import numpy as np
import pytest
from scipy.special import ndtri as scipy_ndtri
from scipy.stats import chi2, norm

from rsbounds import gaussian, lipschitz, oracle
from rsbounds.lipschitz import base_radius
from rsbounds.lipschitz.internal import ratio_derivative

P = np.array([0.51, 0.7, 0.9, 0.99, 1 - 1e-6])
SETTING = {"lip": 0.3, "sigma_min": 0.2, "dim": 784}


def radii(p, **changes):
    options = {**SETTING, **changes}
    paper = lipschitz.radius(p, 0.25, method="paper", p_min=1e-7, **options)
    return paper, *(
        lipschitz.radius(p, 0.25, method=m, **options) for m in ("integrated", "exact")
    )


@pytest.mark.parametrize("dim", [1, 10, 784, 150528])
@pytest.mark.parametrize("p_b", [None, 0.005])
def test_each_radius_is_at_least_the_one_before(dim, p_b):
    paper, integrated, exact = radii(P, dim=dim, p_b=p_b)
    assert np.all(paper <= integrated)
    assert np.all(integrated <= exact)
    assert np.all(exact <= gaussian.radius(P, 0.25, p_b) * (1 + 1e-14))


def test_no_error_of_the_integral_reaches_a_certificate(monkeypatch):
    module = sys.modules["rsbounds.lipschitz._radius"]
    monkeypatch.setattr(module, "_integrated", lambda *_: np.full(P.shape, 9.0))
    _, integrated, exact = radii(P)
    np.testing.assert_array_equal(integrated, exact)


def test_a_constant_sigma_has_cohens_radius():
    cohen = gaussian.radius(P, 0.25)
    paper, integrated, exact = radii(P, lip=0.0, sigma_min=0.25)
    for value in (paper, integrated, exact):
        np.testing.assert_allclose(value, cohen, rtol=1e-11)
        assert np.all(value <= cohen)


def test_paper_is_the_clipped_gap_over_twice_the_constant():
    constant = lipschitz.constant(784, 0.3, 0.2, 1e-7)
    top = -scipy_ndtri(1e-7)
    z = np.minimum(scipy_ndtri(1 - np.array([0.1, 1e-9])), top)
    value = lipschitz.radius(
        [0.9, 1 - 1e-9], 0.25, method="paper", p_min=1e-7, **SETTING
    )
    np.testing.assert_allclose(value, z / constant, rtol=2e-11)


@pytest.mark.parametrize("dim", [1, 2, 784])
def test_ratio_is_its_definition(dim):
    p = np.array([1e-6, 0.1, 0.5, 0.9])
    x = chi2.isf(p, dim)
    truth = x * chi2.pdf(x, dim) / norm.pdf(scipy_ndtri(p))
    np.testing.assert_allclose(
        lipschitz.ratio(p, dim), truth, rtol=1e-9
    )  # SciPy's own error
    h = 1e-6 * p
    slope = (
        np.asarray(lipschitz.ratio(p + h, dim))
        - np.asarray(lipschitz.ratio(p - h, dim))
    ) / (2 * h)
    np.testing.assert_allclose(ratio_derivative(p, dim), slope, rtol=1e-5)
    assert np.all(np.diff(lipschitz.ratio(p, dim)) < 0)
    assert lipschitz.ratio(0.0, dim) == np.inf
    assert lipschitz.ratio(1.0, dim) == 0


def test_normalized_scores_sum_to_one_and_keep_their_order():
    scores = np.array([[0.7, 0.3, 0.0], [0.2, 0.3, 0.5]])
    moved = lipschitz.normalize_scores(scores, 0.01)
    np.testing.assert_allclose(moved.sum(-1), 1.0, rtol=1e-15)
    assert moved.min() == 0.01
    np.testing.assert_array_equal(np.argsort(moved), np.argsort(scores))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sigma": 0.1},
            r"sigma must be inside the envelope .*sigma_min=0.2\); got 0.1",
        ),
        (
            {"sigma": 0.1, "method": "integrated"},
            "sigma must be at least sigma_min = 0.2",
        ),
        ({"method": "papr"}, "method must be one of 'exact', 'integrated', 'paper'"),
        (
            {"method": "paper"},
            "p_min is for method 'paper' alone, which needs it; got None",
        ),
    ],
)
def test_refusals_name_the_argument(change, message):
    with pytest.raises(ValueError, match=message):
        lipschitz.radius(**{"p_a": 0.9, "sigma": 0.25, **SETTING, **change})


@pytest.mark.parametrize("method", ["exact", "integrated", "paper"])
def test_a_radius_has_the_shape_of_sigma(method):
    """Method "paper", whose value has no sigma in it, ignored it."""
    options = {
        **SETTING,
        "method": method,
        **({"p_min": 1e-7} if method == "paper" else {}),
    }
    assert lipschitz.radius(0.9, np.full((2, 1), 0.25), **options).shape == (2, 1)


WIDTHS = [1e-7, 1e-3, 0.3, 0.999, 1.001, 2.0, 3.999, 4.001, 10.0, 1e4, 1e12, 1e200]


def error_of(z_a, sigma, lip, z_b=None):
    truth = oracle.base_radius(z_a, sigma, lip, z_b)
    return float((base_radius(z_a, sigma, lip, p_b=z_b, scores=True) - truth) / truth)


@pytest.mark.parametrize("z", [1e-9, 1e-3, 0.3, 0.999, 1.001, 2.0, 6.0])
def test_never_above_the_oracle_and_close(z):
    for width in WIDTHS:  # 1/(L sigma)
        assert -1e-11 < error_of(z, 0.5, 1 / (width * 0.5)) <= 0, width


@pytest.mark.slow
def test_base_radii_far_out():
    assert -1e-11 < error_of(20.0, 2.0, 0.7) <= 0
    assert -1e-11 < error_of(38.0, 2.0, 3.0) <= 0
    # beyond all probabilities: the ramp adds half its width to Cohen's radius
    assert base_radius(1e6, 1.0, 0.5, scores=True) == pytest.approx(1e6 + 1, rel=2e-6)


@pytest.mark.parametrize(
    ("z_a", "z_b"),
    [(0.3, 0.2999), (0.3, -1.0), (2.0, 1.0), (-0.5, -2.0), (-1.0, -1.01), (5.0, -6.0),
     (0.01, -0.01001), (6.0, 5.999), (1.0001, 0.9999), (2.0, 2.0 - 1e-12)],
)  # fmt: skip
def test_with_a_runner_up(z_a, z_b):
    for width in (1e-4, 0.3, 3.999, 4.001, 1e4):
        error = error_of(z_a, 0.5, 1 / (width * 0.5), z_b)
        if z_a * z_b < 0:
            assert -1e-11 < error <= 0, width
            continue
        radius = base_radius(z_a, 0.5, 1 / (width * 0.5), p_b=z_b, scores=True)
        larger = base_radius(max(z_a, -z_b), 0.5, 1 / (width * 0.5), scores=True)
        assert -1e-11 * larger < error * radius <= 0, width


@pytest.mark.parametrize(
    ("p_a", "p_b", "lip"),
    [(1e-5, 9e-6, 1e-5), (2e-10, 1e-10, 1e-10), (1e-6, 9e-7, 1e-6)],
)
def test_of_one_side_with_a_ramp_as_wide_as_they_are_rare(p_a, p_b, lip):
    """The centres of both ramps agree in all digits that count: a radius was above the
    truth.
    """
    z_a, z_b = float(scipy_ndtri(p_a)), float(scipy_ndtri(p_b))
    assert -0.02 < error_of(z_a, 1.0, lip, z_b) <= 0
    assert base_radius(p_a, 1.0, lip, p_b=p_b) >= (p_a - p_b) / (2 * lip) * (1 - 1e-11)


def test_the_base_radius_of_probabilities():
    for p in (0.5 + 1e-10, 0.7, 0.999, 1 - 1e-12):
        truth = oracle.base_radius(oracle.ndtri(p), 0.5, 1.3)
        assert -1e-11 < float((base_radius(p, 0.5, 1.3) - truth) / truth) <= 0
    truth = oracle.base_radius(oracle.ndtri(0.6), 0.5, 1.3, oracle.ndtri(0.6 - 1e-9))
    assert (
        -3e-3 < float((base_radius(0.6, 0.5, 1.3, p_b=0.6 - 1e-9) - truth) / truth) <= 0
    )


@pytest.mark.parametrize("z", [2e3, 81470.4, 1e6])
def test_base_radius_of_scores_far_out(z):
    """Newton's steps went astray, and the radius was NaN."""
    value = float(base_radius(z, 1.0, 1.5, scores=True))
    assert z + 1 / 3 - 0.01 < value < z + 1 / 3


def test_edges_of_the_base_radius():
    assert base_radius(0.5, 1.0, 1.0) == base_radius(0.3, 1.0, 1.0) == 0
    assert base_radius(0.6, 1.0, 1.0, p_b=0.7) == 0
    assert base_radius(1.0, 1.0, 1.0) == np.inf
    assert base_radius(0.6, 1.0, 0.0) == np.inf
    assert base_radius(0.4, 1.0, 0.0) == 0
    # extreme units: nothing overflows on the way
    flat = base_radius(0.3, 1e-300, 1e-10, p_b=0.3 - 1e-9)
    assert 10 * (1 - 1e-6) <= flat / 0.5 <= 10 * (1 + 1e-6)
    assert base_radius(0.9, 1e300, 1e300) == pytest.approx(
        1e300 * 1.2815515655446004, rel=1e-11
    )
    one = base_radius(0.9, 1.0, 1.0)
    assert base_radius(0.9, 1e300, 1e-300) == pytest.approx(1e300 * one, rel=1e-11)
    assert base_radius([[0.9], [0.8]], [0.5, 1.0, 2.0], 1.0).shape == (2, 3)


def test_no_lipschitz_score_flips_inside_and_a_ramp_does_just_outside():
    """One dimension, by brute force: random piecewise linear scores of slope <= L."""
    rng = np.random.default_rng(0)
    t = np.linspace(-9, 9, 1801)
    weights = np.exp(-(t**2) / 2) / np.exp(-(t**2) / 2).sum()
    settings, largest, certified = [], 0.0, 0
    for trial in range(200):
        sigma, lip = np.exp(rng.normal(size=2) * 0.7)
        if trial % 3:
            knots = np.sort(rng.uniform(-4, 4, rng.integers(2, 8))) * sigma
            heights = rng.uniform(-0.3, 1.3, len(knots))
            for i in range(1, len(knots)):  # slope at most L
                step = lip * (knots[i] - knots[i - 1])
                heights[i] = heights[i - 1] + np.clip(
                    heights[i] - heights[i - 1], -step, step
                )
        else:  # a ramp, the worst case
            knots = np.array([0, 1 / lip]) + sigma * rng.normal()
            heights = np.array([1.0, 0.0])
        if trial % 2:
            knots, heights = -knots[::-1], heights[::-1]
        settings.append((sigma, lip, knots, heights))

    def mean(shift, sigma, _, knots, heights):
        score = np.interp(sigma * t + shift, knots, heights)
        return float(weights @ np.clip(score, 0, 1))

    means = np.array([mean(0.0, *setting) for setting in settings])
    sigmas, lips = (np.array([setting[i] for setting in settings]) for i in (0, 1))
    for r, setting in zip(
        base_radius(np.minimum(means, 1), sigmas, lips), settings, strict=True
    ):
        if not 0 < r < 3 * setting[0]:
            continue
        certified += 1
        for shift in np.linspace(-r, r, 9):  # 1e-5: the sum in place of the integral
            assert mean(shift, *setting) > 0.5 - 1e-5
        largest = max(
            largest, *(0.5 - mean(side * 1.01 * r, *setting) for side in (-1, 1))
        )
    assert certified > 50
    assert largest > 1e-3


def test_p_min_search_takes_arrays():
    found = lipschitz.p_min_search([[1], [3072]], [1e-300, 1e-12, 0.1])
    np.testing.assert_array_equal(found, [[1e-300, 1e-12, 0.1]] * 2)
    assert isinstance(lipschitz.p_min_search(3), np.float64)
    assert lipschitz.p_min_search([]).shape == (0,)
    with pytest.raises(ValueError, match="floor"):
        lipschitz.p_min_search(3, [0.1, np.nan])
