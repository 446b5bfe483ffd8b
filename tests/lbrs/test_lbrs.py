"""Locally biased smoothing, the neighbour radius: rational oracle, attacks, ties."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from cases import slow_among
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import NORMS, random_memory, seeds

from rsbounds import lbrs

pytestmark = pytest.mark.usefixtures("sixty_digits")


def exact(vector):
    return [Fraction(float(v)) for v in vector]


def square(a, b):
    return sum((p - q) ** 2 for p, q in zip(a, b, strict=True))


def dual_length(a, b, norm):
    differences = [abs(p - q) for p, q in zip(a, b, strict=True)]
    if norm == 1:
        return to_mp(max(differences))
    if norm == 2:
        return mp.sqrt(to_mp(square(a, b)))
    return to_mp(sum(differences))


def to_mp(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


def truth(x, anchors, labels, norm, method):
    """The formula in rational arithmetic: its least and largest reading.

    The paper's formula does not say which of several nearest anchors it means; up to
    rounding any of those is taken.
    """
    x, anchors = exact(x), [exact(a) for a in anchors]
    squares = [square(x, a) for a in anchors]
    nearest = min(range(len(anchors)), key=squares.__getitem__)
    own = [i for i in range(len(anchors)) if labels[i] == labels[nearest]]
    rivals = [j for j in range(len(anchors)) if labels[j] != labels[nearest]]
    if not rivals:
        return mp.inf, mp.inf

    def margin(i, j):
        if squares[j] <= squares[i]:
            return mp.mpf(0)
        return to_mp(squares[j] - squares[i]) / (
            2 * dual_length(anchors[i], anchors[j], norm)
        )

    if method == "tight":
        radius = min(max(margin(i, j) for i in own) for j in rivals)
        return radius, radius
    near = [
        i for i in own if squares[i] <= squares[nearest] * (1 + Fraction(1, 10**13))
    ]
    radii = [min(margin(i, j) for j in rivals) for i in near]
    return min(radii), max(radii)


def memories(draw, coordinate):
    dim, count = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    rows = st.lists(coordinate, min_size=dim, max_size=dim)
    anchors = draw(st.lists(rows, min_size=count, max_size=count))
    labels = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    return np.array(draw(rows)), np.array(anchors), np.array(labels)


@st.composite
def lattice(draw):
    """Coordinates on a coarse lattice: ties and coincident points are common."""
    return memories(draw, st.integers(-4, 4).map(lambda v: v / 2))


@st.composite
def smooth(draw):
    return memories(
        draw, st.floats(-10, 10).map(lambda v: v if abs(v) > 1e-100 else 0.0)
    )


@st.composite
def far(draw):
    """Anchors close to each other and far from 0: 2 x - (p + q) would round at the size
    of x.
    """
    x, anchors, labels = draw(smooth())
    offset = draw(st.sampled_from([1e2, 1e4, 1e8]))
    return x + offset, anchors + offset, labels


@pytest.mark.slow
@settings(max_examples=400, deadline=None)  # the first example compiles
@given(
    st.one_of(lattice(), smooth(), far()),
    st.sampled_from(NORMS),
    st.sampled_from(["tight", "paper"]),
)
def test_neighbour_radius_against_rationals(memory, norm, method):
    x, anchors, labels = memory
    value = mp.mpf(
        float(lbrs.neighbour_radius(x, anchors, labels, norm=norm, method=method))
    )
    least, largest = truth(x, anchors, labels, norm, method)
    assert value <= largest
    rho = max(np.linalg.norm(x - anchors, axis=1))
    apart = np.linalg.norm(anchors[:, None] - anchors, axis=2)
    if np.any((apart > 0) & (apart < 1e-25 * rho)):
        return  # doubled precision ends here: a smaller radius is still sound
    assert (
        mp.isinf(least)
        or value >= least * (1 - mp.mpf("1e-11")) - mp.mpf("1e-20") * rho
    )


def brute(x, anchors, labels, norm, method):
    squares = ((x - anchors) ** 2).sum(axis=1)
    nearest = squares.argmin()
    own, rival = labels == labels[nearest], labels != labels[nearest]
    guards = np.flatnonzero(own) if method == "tight" else np.array([nearest])
    differences = anchors[guards][:, None] - anchors[rival]
    length = np.linalg.norm(differences, ord={1: np.inf, 2: 2, np.inf: 1}[norm], axis=2)
    margin = (squares[rival] - squares[guards][:, None]) / (2 * length)
    return margin.max(axis=0).min()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("method", ["tight", "paper"])
@pytest.mark.parametrize("dim", slow_among([200], [2, 30, 200]))
def test_neighbour_radius_against_brute_force(norm, method, dim):
    """More anchors than one block of the scan, pruning at work."""
    rng = np.random.default_rng(dim)
    anchors, labels = random_memory(rng, 300, dim)
    x = np.vstack(
        [random_memory(rng, 15, dim)[0], anchors[:5], rng.standard_normal((5, dim)) * 9]
    )
    value = lbrs.neighbour_radius(x, anchors, labels, norm=norm, method=method)
    expected = [brute(row, anchors, labels, norm, method) for row in x]
    # the test's own difference of squares costs 1e-15 of the squares
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-13 * dim)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("method", ["tight", "paper"])
def test_neighbour_radius_in_clusters_against_brute_force(norm, method):
    """Many rivals about as near, many guards each good against some, codes of more than
    one chunk.
    """
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 600)
    centres = rng.random((5, 300))
    anchors = centres[labels] + 0.1 * rng.standard_normal((600, 300))
    x = centres[labels[:12]] + 0.1 * rng.standard_normal((12, 300))
    value = lbrs.neighbour_radius(x, anchors, labels, norm=norm, method=method)
    expected = [brute(row, anchors, labels, norm, method) for row in x]
    np.testing.assert_allclose(value, expected, rtol=1e-11)


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from(NORMS), st.sampled_from(["tight", "paper"]))
def test_attack_on_the_nearest_label(seed, norm, method):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 6))
    anchors, labels = random_memory(rng, int(rng.integers(2, 40)), dim)
    x = random_memory(rng, 1, dim)[0][0]
    radius = lbrs.neighbour_radius(x, anchors, labels, norm=norm, method=method)
    if np.isinf(radius):
        assert len(set(labels)) == 1
        return
    steps = rng.standard_normal((200, dim)) * rng.integers(0, 2, (200, dim))
    corners = rng.choice([-1.0, 1.0], (50, dim))
    towards = np.vstack(
        [anchors - x, anchors[:, None].repeat(2, 1).reshape(-1, dim) - x]
    )
    steps = np.vstack(
        [steps, corners, np.eye(dim), -np.eye(dim), towards, np.sign(towards)]
    )
    size = np.linalg.norm(steps, ord=norm, axis=1)
    steps = steps[size > 0] / size[size > 0][:, None]
    moved = x + steps * radius * (1 - 1e-12)
    own = labels[((x - anchors) ** 2).sum(axis=1).argmin()]
    squares = ((moved[:, None] - anchors) ** 2).sum(axis=2)
    same = squares[:, labels == own].min(axis=1)
    other = squares[:, labels != own].min(axis=1)
    assert (same <= other * (1 + 1e-13)).all()  # rounding of the test's squares


def test_ties_coincident_anchors_and_one_label():
    assert lbrs.neighbour_radius([0.0], [[-1.0], [1.0]], [0, 1]) == 0
    assert lbrs.neighbour_radius([0.3], [[1.0], [1.0]], [0, 1]) == 0
    assert lbrs.neighbour_radius([0.3], [[1.0], [1.0]], [1, 1]) == np.inf
    assert lbrs.neighbour_radius([0.3], [[1.0]], [1]) == np.inf


def test_one_ulp_from_a_tie():
    """The doubles -(0.1 + 0.2) and 0.3: the first version gave 0, its error was 1e-14
    absolute.
    """
    value = lbrs.neighbour_radius([0.0], [[-0.3], [0.1 + 0.2]], [0, 1])
    exact_radius = (Fraction(0.1 + 0.2) - Fraction(0.3)) / 2
    assert float(exact_radius) * (1 - 1e-11) <= value <= exact_radius


def test_small_radius_keeps_its_digits():
    """A radius of 4e-4 at distance 2 was 4e-11 too small in the first version."""
    anchors, x = [[2.0, 0.3], [-2.0, 0.7001]], [-0.0496, 0.0]
    for norm in NORMS:
        value = lbrs.neighbour_radius(x, anchors, [0, 1], norm=norm)
        radius = truth(x, anchors, [0, 1], norm, "tight")[0]
        assert radius < 1e-3
        assert radius * (1 - mp.mpf("1e-11")) <= value <= radius


def test_shapes_and_nan():
    anchors, labels = random_memory(np.random.default_rng(1), 50, 4)
    x = np.zeros((2, 3, 4))
    x[1, 2, 0] = np.nan
    with np.errstate(invalid="ignore"):
        value = lbrs.neighbour_radius(x, anchors, labels)
    assert value.shape == (2, 3)
    assert np.isnan(value[1, 2])
    assert np.isfinite(value.ravel()[:5]).all()
    assert isinstance(lbrs.neighbour_radius(x[0, 0], anchors, labels), np.float64)
    assert lbrs.neighbour_radius(np.zeros((0, 4)), anchors, labels).shape == (0,)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        lbrs.neighbour_radius(x, anchors, labels)


def test_nearest_of_two_whose_squared_distances_round_alike():
    anchors = np.zeros((3, 5))
    anchors[1:, 0], anchors[1, 3] = 1.0, 1e-10
    x = np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    for norm in NORMS:
        radius = float(lbrs.neighbour_radius(x, anchors, [0, 0, 1], norm=norm))
        assert 5e-11 * (1 - 1e-11) <= radius <= 5e-11


@pytest.mark.parametrize("offset", slow_among([1e3, 1e6], [0.0, 1e3, 1e6, 1e8]))
def test_neighbour_radius_far_from_the_origin(offset):
    """On the line it is the distance to the middle between two anchors, to the last
    digits.
    """
    rng = np.random.default_rng(0)
    for x, p, q in offset + rng.random((500, 3)):
        truth = abs((Fraction(p) + Fraction(q)) / 2 - Fraction(x))
        value = Fraction(float(lbrs.neighbour_radius([x], [[p], [q]], [1, -1])))
        assert truth * (1 - Fraction(1, 10**11)) <= value <= truth
