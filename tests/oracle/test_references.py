"""Worst cases, ratios and radii: against the oracle and against printed values."""

import numpy as np
import pytest
from scipy.special import ndtri

from rsbounds import lipschitz, oracle, semielastic
from rsbounds.lipschitz.internal import ratio_derivative

POINTS = [4, pytest.param(40, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", POINTS)
def test_worst_cases_of_the_oracle(count):
    """The error bound is 1e-13 up to 100 standard deviations of offset."""
    rng = np.random.default_rng(count)
    for _ in range(count):
        z, dim, sigma0 = (
            rng.normal() * 4,
            10 ** rng.uniform(0, 7),
            10 ** rng.uniform(-2, 1),
        )
        sigma1 = sigma0 * (1 + 10 ** rng.uniform(-9, -0.3) * rng.choice([-1, 1]))
        distance = sigma0 * 10 ** rng.uniform(-4, 1)
        score = semielastic.xi(distance, -z, sigma0, sigma1, dim, scores=True)
        truth = float(oracle.worst_score(distance, z, sigma0, sigma1, dim, dps=30))
        assert abs(score - truth) <= 1e-13 * max(1, abs(truth)), (
            distance,
            z,
            sigma0,
            sigma1,
            dim,
        )


@pytest.mark.parametrize("count", POINTS)
def test_ratios_of_the_oracle(count):
    rng = np.random.default_rng(count)
    for z, dim in zip(
        rng.uniform(-37, 37, count), 10 ** rng.uniform(0, 7, count), strict=True
    ):
        ratio, slope = map(float, oracle.lipschitz_ratio(z, dim, dps=30))
        assert lipschitz.ratio(z, dim, scores=True) == pytest.approx(ratio, rel=1e-13)
        error = abs(ratio_derivative(z, dim, scores=True) - slope)
        assert error <= 2e-15 * abs(z) * ratio + 1e-13 * abs(slope), (z, dim)


@pytest.mark.parametrize(
    ("sigma", "lip", "radii"),
    [
        (0.65, 0.5, (0.1498, 0.1560, 0.1741)),
        (1.0, 0.5, (0.1498, 0.2262, 0.2564)),
        (1.0, 0.05, (1.0708, 1.6258, 2.3065)),
    ],
)
def test_three_methods(sigma, lip, radii):
    result = [
        lipschitz.radius(
            -ndtri(1e-7),
            sigma,
            lip=lip,
            sigma_min=0.65,
            dim=784,
            scores=True,
            method=method,
            p_min=1e-7 if method == "paper" else None,
        )
        for method in ("paper", "integrated", "exact")
    ]
    np.testing.assert_allclose(result, radii, atol=5e-5)


def test_bergstrom_mnist_setting():
    bound = lipschitz.constant(784, 0.5, 0.65, 1e-7)
    assert 34.7099589323358 <= bound <= 34.7099589323358 * (1 + 1e-11)
