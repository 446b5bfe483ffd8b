"""KNNSigma: distances against brute force and mpmath, its Lipschitz constant, bad
input.
"""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusals

from rsbounds._neighbours.anchors import LabelledAnchors
from rsbounds._neighbours.knn import KNNSigma

seeds = st.integers(0, 2**32 - 1)


def brute(x, anchors, k):
    with mp.workdps(40):
        rows = [[mp.mpf(float(v)) for v in row] for row in anchors]
        point = [mp.mpf(float(v)) for v in x]
        distances = sorted(
            mp.sqrt(mp.fsum((a - b) ** 2 for a, b in zip(row, point, strict=True)))
            for row in rows
        )
        return mp.fsum(distances[:k]) / k


@settings(max_examples=60, deadline=None)  # the first example compiles
@given(seeds, st.integers(1, 8), st.integers(1, 90), st.floats(-6, 6))
def test_distance_against_mpmath(seed, dim, count, scale):
    rng = np.random.default_rng(seed)
    anchors = rng.standard_normal((count, dim)) * 10**scale + rng.choice([0, 1e6])
    x = rng.standard_normal(dim) * 10**scale + anchors[0]
    k = int(rng.integers(1, count + 1))
    value = KNNSigma(anchors, 1.0, 0.1, k, 0.0).distance(x)
    truth = brute(x, anchors, k)
    assert abs(mp.mpf(float(value)) - truth) <= mp.mpf("1e-13") * truth


@pytest.mark.parametrize(
    ("count", "dim", "k"), [(1000, 20, 5), (777, 784, 20), (500, 3, 500)]
)
def test_batches_against_brute_force(count, dim, k):
    rng = np.random.default_rng(count)
    anchors, x = rng.random((count, dim)), rng.random((33, dim))
    distance = np.sqrt(((x[:, None] - anchors) ** 2).sum(axis=2))
    expected = np.sort(distance, axis=1)[:, :k].mean(axis=1)
    level = KNNSigma(anchors, 0.5, 0.3, k, 1.0)
    np.testing.assert_allclose(level.distance(x), expected, rtol=1e-13)
    np.testing.assert_allclose(
        level.sigma(x), 0.5 * np.exp(0.3 * (expected - 1)), rtol=1e-12
    )
    assert level.sigma(x[0]) == level.sigma(x)[0]


def test_rounding_of_dot_products_hides_no_neighbour():
    """Anchors 1e-3 apart at 1e6 from the origin: dot products there are good to 1e-3
    only.
    """
    rng = np.random.default_rng(0)
    centre = np.full(50, 1e6)
    anchors = centre + 1e-3 * rng.standard_normal((2000, 50))
    x = centre + 1e-3 * rng.standard_normal((5, 50))
    distance = np.sqrt(((x[:, None] - anchors) ** 2).sum(axis=2))
    expected = np.sort(distance, axis=1)[:, :7].mean(axis=1)
    rough = (x**2).sum(axis=1)[:, None] + (anchors**2).sum(axis=1) - 2 * x @ anchors.T
    chosen = np.argsort(rough, axis=1)[:, :7]
    assert (
        np.take_along_axis(distance, chosen, axis=1).mean(axis=1) > expected * 1.01
    ).any()
    value = KNNSigma(anchors, 1.0, 0.1, 7, 0.0).distance(x)
    np.testing.assert_allclose(value, expected, rtol=1e-13)


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(0, 5), st.integers(1, 10))
def test_log_sigma_is_lipschitz(seed, rate, k):
    rng = np.random.default_rng(seed)
    anchors = rng.standard_normal((20, 4))
    level = KNNSigma(anchors, 0.25, rate, k, 1.0)
    x = rng.standard_normal((40, 4)) * 2
    steps = rng.standard_normal((40, 4)) * 10.0 ** rng.uniform(-3, 1, (40, 1))
    # straight away from an anchor, where the constant is attained for k = 1
    steps[:20] = (x[:20] - anchors) * rng.uniform(0, 1, (20, 1))
    change = np.abs(np.log(level.sigma(x + steps)) - np.log(level.sigma(x)))
    allowed = rate * np.linalg.norm(steps, axis=1)
    assert (change <= allowed * (1 + 1e-12) + 1e-13 * (1 + 30 * rate)).all()


def test_lipschitz_constant_is_attained():
    level = KNNSigma([[0.0, 0.0]], 1.0, 0.7, 1, 0.0)
    ratio = np.log(level.sigma([9.0, 12.0]) / level.sigma([3.0, 4.0])) / 10
    assert ratio == pytest.approx(0.7, rel=1e-14)


@pytest.mark.parametrize("statistic", ["min", "mean"])
def test_shift_from_data_leaves_each_anchor_out(statistic):
    rng = np.random.default_rng(5)
    anchors = rng.random((300, 10))
    anchors[7] = anchors[11]  # a twin stays a neighbour
    distance = np.sqrt(((anchors[:, None] - anchors) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    own = np.sort(distance, axis=1)[:, :3].mean(axis=1)
    level = KNNSigma(anchors, 0.5, 0.1, 3, statistic)
    assert level.shift == pytest.approx(getattr(own, statistic)(), rel=1e-13)
    assert (level.sigma_base, level.rate, level.k) == (0.5, 0.1, 3)


def test_shapes_and_nan():
    level = KNNSigma(np.eye(3), 0.5, 0.1, 2, 0.0)
    x = np.zeros((2, 4, 3))
    assert level.sigma(x).shape == (2, 4)
    assert isinstance(level.sigma(x[0, 0]), np.float64)
    assert level.sigma(np.zeros((0, 3))).shape == (0,)
    x[0, 1, 2] = np.nan
    with np.errstate(invalid="ignore"):
        sigma = level.sigma(x)
    assert np.isnan(sigma).sum() == 1
    assert np.isnan(sigma[0, 1])
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        level.sigma(x)


test_bad_input = refusals(
    {
        r"anchors must have shape \(N, d\)": lambda: KNNSigma([1.0], 1.0, 0.1, 1, 0.0),
        "anchors must be in": lambda: KNNSigma([[np.nan]], 1.0, 0.1, 1, 0.0),
        "sigma_base must be in": lambda: KNNSigma([[1.0]], 0.0, 0.1, 1, 0.0),
        "rate must be in": lambda: KNNSigma([[1.0]], 1.0, -0.1, 1, 0.0),
        "k must be >= 1": lambda: KNNSigma([[1.0]], 1.0, 0.1, 0, 0.0),
        r"number of anchors \(1\).*got 2": lambda: KNNSigma([[1.0]], 1.0, 0.1, 2, 0.0),
        "less than it for shift": lambda: KNNSigma([[1.0], [2.0]], 1.0, 0.1, 2, "mean"),
        "shift must be one of": lambda: KNNSigma([[1.0], [2.0]], 1.0, 0.1, 1, "median"),
        "shift must be in .*; got nan": lambda: KNNSigma([[1.0]], 1.0, 0.1, 1, np.nan),
        "x must have shape": lambda: KNNSigma([[1.0]], 1.0, 0.1, 1, 0.0).sigma(
            [1.0, 2.0]
        ),
    }
)


def test_a_caller_who_changes_the_anchors_later_changes_no_level():
    """Levels followed the caller's array, and squares of the old one stayed: both were
    wrong.
    """
    given = np.random.default_rng(0).standard_normal((20, 4))
    here, level = np.zeros(4), KNNSigma(given, 0.5, 0.1, 2)
    before = level.sigma(here)
    given *= 10
    assert level.sigma(here) == before
    tensor = pytest.importorskip("torch").from_numpy(
        given.copy()
    )  # shares it, off its device too
    level = KNNSigma(tensor, 0.5, 0.1, 2)
    before = level.sigma(here)
    tensor.mul_(10)
    assert level.sigma(here) == before
    labels = np.arange(20)
    memory = LabelledAnchors(given, labels, 2)
    labels += 1
    assert memory.labels.tolist() == list(range(20))
