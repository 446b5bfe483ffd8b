"""The bytes that l_inf scans read first, one for a coordinate: never an anchor too few."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rsbounds import lbrs
from rsbounds._neighbours.sieve import NONE, coded_reach, encode


def codes_of(points):
    return encode(points, points.min(axis=0), points.max(axis=0))


def true_reach(p, q):
    return sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(p.tolist(), q.tolist(), strict=True))


@st.composite
def clouds(draw):
    """Any scale and offset, constant coordinates, one coordinate far out."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, dim = draw(st.integers(2, 6)), draw(st.integers(1, 70))
    points = rng.standard_normal((count, dim)) * draw(st.sampled_from([1.0, 1e-300, 1e-310, 1e99]))
    points[:, rng.random(dim) < 0.2] = 0.25
    points[0, 0] *= draw(st.sampled_from([1.0, -10.0, 5.0]))
    return points + draw(st.sampled_from([0.0, 1.0, -1e8]))


@settings(max_examples=300, deadline=None)
@given(clouds())
def test_reach_is_never_too_small(points):
    codes = codes_of(points)
    for i in range(len(points)):
        assert Fraction(coded_reach(codes, i, 0)) >= true_reach(points[i], points[0])


def test_pictures_lose_nothing():
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (40, 784))
    pictures[0], pictures[1] = 0, 255
    codes = codes_of(pictures / 255.0)
    np.testing.assert_array_equal(codes.values, pictures)
    for i in range(1, 40):
        truth = float(true_reach(pictures[i] / 255.0, pictures[0] / 255.0))
        # 4 dim EPS of the width for the rounding of the codes
        assert truth <= coded_reach(codes, i, 0) <= truth + 4 * 784 * 2.3e-16 + 4e-15 * truth


def test_normal_points_lose_little():
    points = np.random.default_rng(0).standard_normal((50, 784))
    codes = codes_of(points)
    truth = np.abs(points - points[0]).sum(axis=1)
    reach = np.array([coded_reach(codes, i, 0) for i in range(50)])
    assert (reach[1:] <= 1.025 * truth[1:]).all()  # 2 x 784 quarters of a step of 0.03, over 880


def test_sums_of_codes_fit_into_32_bits():
    """9,000,000 differences of 255 do not: there are no codes then."""
    most = 2**23
    points = np.zeros((2, most))
    points[1] = 1.0
    assert most <= coded_reach(codes_of(points), 1, 0) <= most * (1 + 1e-8)
    assert codes_of(np.zeros((2, 9_000_000))) is NONE


@pytest.mark.parametrize("method", ["tight", "paper"])
@pytest.mark.parametrize(
    "kind",
    [
        "pictures",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("normal", "far out", "uneven")),
    ],
)
def test_all_tiles_are_sifted(method, kind):
    """More anchors than a tile, against every rival (and guards enough for the tight form)."""
    rng = np.random.default_rng(1)
    count, dim = 3000, 40
    labels = rng.integers(0, 3, count)
    anchors = rng.standard_normal((count, dim)) + 0.8 * rng.standard_normal((3, dim))[labels]
    if kind == "pictures":
        anchors = (anchors * 40 + 128).clip(0, 255).round() / 255
    if kind == "far out":
        anchors[7, 3] = 1e6
    if kind == "uneven":
        anchors = np.hstack([anchors, 0.05 * rng.standard_normal((count, 60))])
    x = anchors[rng.integers(0, count, 20)] + 0.01 * rng.standard_normal((20, anchors.shape[1]))
    value = lbrs.neighbour_radius(x, anchors, labels, norm=np.inf, method=method)
    assert (value > 0).mean() > 0.5
    for row, radius in zip(x, value, strict=True):
        squares = ((row - anchors) ** 2).sum(axis=1)
        own = np.flatnonzero(labels == labels[squares.argmin()])
        rivals = np.flatnonzero(labels != labels[squares.argmin()])
        guards = own[squares[own].argsort()][: 400 if method == "tight" else 1]
        best = np.full(len(rivals), -np.inf)
        for i in guards:
            reach = np.abs(anchors[rivals] - anchors[i]).sum(axis=1)
            best = np.maximum(best, (squares[rivals] - squares[i]) / (2 * reach))
        assert radius == pytest.approx(max(best.min(), 0.0), rel=1e-11, abs=1e-13)
