"""The page of published certificates: the exact radius of two distributions, and its
tables.
"""

import importlib
import math
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
D, K, SIGMA = 150_528, 75_260, 0.5  # of the published rows
# index 12400: p, the interval of Q, the radius printed for p alone, and that for both
P, Q = 0.8449007129715116, (0.9696967782163031, 0.9748234508597413)
ALONE, BOTH = 0.4597253278091715, 0.52


@pytest.fixture(scope="module")
def dsrs():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module("published_dsrs")


def tau(p):
    return 0.08 * (-math.log(1 - p) - 5) + 0.6


@pytest.mark.slow
def test_the_radius_of_one_distribution_is_the_published_one(dsrs):
    law = dsrs.Law(D, K, SIGMA)
    assert dsrs.radius(law, P) == pytest.approx(ALONE, rel=1e-5)
    assert dsrs.radius(law, P, tau(P), 0.0, 1.0) == pytest.approx(ALONE, rel=1e-5)
    assert dsrs.radius(law, 0.5) == 0


@pytest.mark.slow
def test_a_published_radius_of_two_is_above_the_exact_one(dsrs):
    exact = dsrs.radius(dsrs.Law(D, K, SIGMA), P, tau(P), *Q)
    finer = dsrs.radius(dsrs.Law(D, K, SIGMA, points=160), P, tau(P), *Q)
    assert ALONE < exact < BOTH - 0.001
    assert finer == pytest.approx(exact, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["all", "in", "out"])
def test_masses_are_those_of_drawn_noise(dsrs, part):
    """The event of a cut, drawn: noise y and the shift by r along an axis."""
    law, r, share, cut = dsrs.Law(D, K, SIGMA), 1.2, 0.7, 2.0
    shift, rng, many = dsrs.Shift(law, r, share), np.random.default_rng(0), 10**6
    t = rng.gamma(D / 2 - K, size=many)
    cosine = rng.normal(size=many) / math.sqrt(D)  # of so many numbers
    for sign, probability in (
        (0, shift.mass(cut, part)),
        (1, shift.shifted(cut, part)),
    ):
        step = 2 * np.sqrt(t) * shift.rho * cosine
        x = t + sign * (
            shift.rho**2 + step
        )  # of the point, and of the point less the shift
        y = t if sign else t + shift.rho**2 - step
        ratio = K * np.log(x) + x - K * np.log(y) - y
        kept = {"all": True, "in": x <= shift.edge, "out": x > shift.edge}[part]
        drawn = np.mean((ratio <= cut) & kept)
        assert drawn == pytest.approx(probability, abs=5 * math.sqrt(0.25 / many))
