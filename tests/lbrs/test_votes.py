"""Votes of the k nearest anchors, other norms, other oracles: formula and attacks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import random_memory, seeds
from refusals import refusals

from rsbounds import lbrs

POWERS = (1.0, 1.5, 2.0, 3.0, np.inf)
WEIGHTS = np.array([1.0, 3.0, 0.5, 2.0, 0.25, 1.5])


def weighted_dual(vectors):
    """The dual of the norm max |v_i| w_i."""
    return (np.abs(vectors) / WEIGHTS[: vectors.shape[-1]]).sum(axis=-1)


def length(vectors, norm):
    if callable(norm):
        return (np.abs(vectors) * WEIGHTS[: vectors.shape[-1]]).max(axis=-1)
    return np.linalg.norm(vectors, norm, axis=-1)


def dual_length(vectors, norm):
    if callable(norm):
        return norm(vectors)
    power = {1.0: np.inf, np.inf: 1.0}.get(norm) or norm / (norm - 1)
    return np.linalg.norm(vectors, power, axis=-1)


def votes_of(x, anchors, labels, k):
    """The label that has most of the k nearest anchors, by counting them."""
    squares = ((x[:, None] - anchors) ** 2).sum(axis=2)
    nearest = labels[np.argsort(squares, axis=1, kind="stable")[:, :k]]
    names = np.unique(labels)
    counts = (nearest[:, :, None] == names).sum(axis=1)
    return names[counts.argmax(axis=1)]


def by_subsets(x, anchors, labels, k, norm, method):
    """The radius by its meaning: over all choices of anchors that keep the vote.

    A majority of own anchors, nearer than all rivals but a minority, keeps it. "tight"
    lets each rival have a majority of its own.
    """
    majority = (k + 1) // 2
    label = votes_of(x[None], anchors, labels, k)[0]
    squares = ((x - anchors) ** 2).sum(axis=1)
    own = [i for i in np.argsort(squares, kind="stable") if labels[i] == label]
    rivals = np.flatnonzero(labels != label)
    if len(rivals) < majority:
        return np.inf

    def margin(i, j):
        apart = 2 * dual_length(anchors[i] - anchors[j], norm)
        gap = squares[j] - squares[i]
        return gap / apart if gap > 0 else 0.0

    def behind(j, guards):
        return min(margin(i, j) for i in guards)

    guards = [*itertools.combinations(own, majority)]
    if method == "paper":
        guards = [tuple(own[:majority])]
    reach = [max(behind(j, chosen) for chosen in guards) for j in rivals]
    return max(
        min(reach[j] for j in range(len(rivals)) if j not in left_out)
        for left_out in itertools.combinations(range(len(rivals)), majority - 1)
    )


@pytest.mark.parametrize("norm", [*POWERS, pytest.param(weighted_dual, id="weighted")])
@pytest.mark.parametrize("method", ["tight", "paper"])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_radius_of_a_vote_against_all_choices_of_anchors(k, method, norm):
    rng = np.random.default_rng(k)
    for count in (k, 7, 9):
        anchors, labels = random_memory(rng, count, 4, classes=2)
        x = rng.standard_normal((6, 4)) * 2
        options = {"norm": norm, "method": method, "k": k}
        radii = lbrs.neighbour_radius(x, anchors, labels, **options)
        expected = [by_subsets(row, anchors, labels, k, norm, method) for row in x]
        np.testing.assert_allclose(radii, expected, rtol=1e-11, atol=1e-14)
        # rounding goes down: what the test computes is off by 1e-15 of the squares
        assert np.all(radii <= np.array(expected) + 1e-14)


@settings(max_examples=40, deadline=None)
@given(
    seeds,
    st.sampled_from([*POWERS, weighted_dual]),
    st.sampled_from(["tight", "paper"]),
    st.sampled_from([1, 3, 5]),
)
def test_attack_on_a_vote(seed, norm, method, k):
    """No point inside the radius has another vote."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 6))
    anchors, labels = random_memory(rng, int(rng.integers(k, 30)), dim, classes=2)
    x = random_memory(rng, 1, dim, classes=2)[0]
    options = {"norm": norm, "method": method, "k": k}
    radius = lbrs.neighbour_radius(x, anchors, labels, **options)[0]
    if np.isinf(radius):
        assert min((labels == 0).sum(), (labels == 1).sum()) < (k + 1) // 2
        return
    pairs = (anchors[:, None] - anchors).reshape(-1, dim)
    steps = np.vstack([rng.standard_normal((300, dim)), pairs, np.sign(pairs)])
    size = length(steps, norm)
    steps = steps[size > 0] / size[size > 0][:, None]
    for share in (0.5, 1 - 1e-9):
        moved = x + steps * radius * share
        assert (
            votes_of(moved, anchors, labels, k) == votes_of(x, anchors, labels, k)
        ).all()


def test_the_radius_of_a_vote_is_reached():
    """Three on the left, two on the right: the vote of three ends at the middle."""
    anchors, labels = [[-1.0], [-2.0], [3.0], [4.0], [9.0]], [0, 0, 1, 1, 1]
    radius = lbrs.neighbour_radius([0.0], anchors, labels, k=3)
    assert radius == pytest.approx(1.0, rel=1e-12)  # -2 and 4 are as near from 1
    for moved, label in ((radius - 1e-9, 0), (radius + 1e-9, 1)):
        points = np.array([[moved]])
        assert votes_of(points, np.array(anchors), np.array(labels), 3) == label


@pytest.mark.parametrize("power", [1.0, 1.0 + 1e-9, 1.3, 2.0, 7.0, 1e9, np.inf])
def test_other_powers_lie_between_those_of_the_compiled_scan(power):
    """An l_p radius falls with 1/p: the ball of a smaller p is the smaller one."""
    rng = np.random.default_rng(3)
    anchors, labels = random_memory(rng, 20, 5)
    x = rng.standard_normal((10, 5))
    found = lbrs.neighbour_radius(x, anchors, labels, norm=power)
    low, high = (
        lbrs.neighbour_radius(x, anchors, labels, norm=norm) for norm in (np.inf, 1)
    )
    assert np.all((found >= low * (1 - 1e-12)) & (found <= high * (1 + 1e-12)))
    if 1.1 < power < 1e6:  # numpy's own power overflows beyond
        by_function = lbrs.neighbour_radius(
            x, anchors, labels, norm=lambda v: dual_length(v, power)
        )
        np.testing.assert_allclose(found, by_function, rtol=1e-11)


def test_lengths_beyond_the_range_of_their_powers():
    """1e100 to the power 5 overflows, and 1e-100 underflows; the length doesn't."""
    for size in (1e-90, 1e90):
        anchors = np.array([[1.0, 0.0], [-1.0, 0.5]]) * size
        radius = lbrs.neighbour_radius([0.1 * size, 0.0], anchors, [0, 1], norm=1.25)
        plain = lbrs.neighbour_radius([0.1, 0.0], anchors / size, [0, 1], norm=1.25)
        assert radius == pytest.approx(plain * size, rel=1e-12)


def test_a_norm_of_the_certificate_is_that_of_the_perturbation():
    """A linear classifier in a weighted norm: the distance to its boundary."""
    slope = np.array([1.0, -2.0])

    def plane(x):
        return x @ slope, np.tile(slope, (len(x), 1))

    anchors, labels = [[50.0, 0.0], [-50.0, 0.0]], [1, -1]
    f = lbrs.LocallyBiased(plane, anchors, labels, 0.0, 0.0, norm=weighted_dual)
    label, radius = f.certify([[3.0, 0.0]])
    assert label == 1
    assert radius == pytest.approx(3.0 / (1.0 + 2.0 / 3.0), rel=1e-12)


def test_an_oracle_that_states_its_radius_against_attacks():
    """A learned direction, here a sine, with its Lipschitz constant."""
    rng = np.random.default_rng(0)
    slope, alpha = np.array([1.0, 0.3]), 0.8

    def plane(x):
        return x @ slope - 0.2, np.tile(slope, (len(x), 1))

    def oracle(x):
        value = np.sin(2 * x[:, 0]) + 0.1
        return np.where(value < 0, -1, 1), np.abs(value) / 2

    def prediction(x):
        bias = alpha * oracle(x)[0] * np.linalg.norm(slope)
        return np.where(plane(x)[0] + bias < 0, -1, 1)

    f = lbrs.LocallyBiased.of_oracle(plane, oracle, alpha, 0.0)
    x = rng.uniform(-3, 3, (200, 2))
    label, radius = f.certify(x)
    np.testing.assert_array_equal(label, prediction(x))
    np.testing.assert_array_equal(f.predict(x), label)
    assert (radius > 0.1).mean() > 0.5
    angles = rng.uniform(0, 2 * np.pi, 500)
    steps = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for share in (0.3, 1 - 1e-9):
        moved = x[:, None] + steps * radius[:, None, None] * share
        found = prediction(moved.reshape(-1, 2)).reshape(len(x), -1)
        assert (found == label[:, None]).all()


def test_nan_of_a_vote_stays_nan():
    anchors, labels = [[0.0], [1.0], [2.0]], [0, 0, 1]
    with np.errstate(invalid="ignore"):
        radii = lbrs.neighbour_radius([[np.nan], [0.1]], anchors, labels, norm=1.5)
    assert np.isnan(radii[0])
    assert radii[1] > 0


def radius_of(**options):
    return lbrs.neighbour_radius([0.0, 0.0], np.eye(2), [0, 1], **options)


def certified(*answer):
    def plane(x):
        return x[:, 0], np.ones_like(x)

    f = lbrs.LocallyBiased.of_oracle(plane, lambda _: answer, 0.1, 0.0)
    return f.certify([[1.0, 2.0]])


test_bad_input = refusals(
    {
        "norm must be in": lambda: radius_of(norm=0.5),
        "norm must return the dual norm along": lambda: radius_of(norm=np.abs),
        "norm must be 0 for the zero": lambda: radius_of(norm=lambda v: 0 * v[..., 0]),
        "norm must return a norm: 2 times": lambda: radius_of(
            norm=lambda v: (v * v).sum(-1)
        ),
        "norm must return a norm: -1 times": lambda: radius_of(
            norm=lambda v: (np.abs(v) + np.maximum(v, 0)).sum(-1)
        ),
        "k must be 1, or odd": lambda: radius_of(k=2),
        "k must be 1, or odd, at most": lambda: radius_of(k=3),
        "anchors of 3 labels": lambda: lbrs.neighbour_radius(
            [0.0], [[1.0], [2.0], [3.0]], [0, 1, 2], k=3
        ),
        "oracle must return labels of shape": lambda: certified([1, 1], [1.0]),
        "oracle must return radii of shape": lambda: certified([1], 1.0),
        "oracle must be in": lambda: certified([1], [-1.0]),
        "labels must be -1 or 1": lambda: certified([2], [1.0]),
    }
)


def test_a_dual_norm_that_is_not_known_of_a_pair_is_refused():
    """NaN sorts behind all numbers: a rival at such a distance was left out."""

    def known_below_2(vectors):
        lengths = np.abs(vectors).sum(axis=-1)
        return np.where(lengths > 2.0, np.nan, lengths)

    anchors, labels = [[0.0], [1.0], [-4.0]], [0, 0, 1]
    with pytest.raises(ValueError, match="norm must return numbers; got NaN"):
        lbrs.neighbour_radius([[0.1]], anchors, labels, norm=known_below_2)
