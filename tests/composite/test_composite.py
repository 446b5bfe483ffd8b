"""Decision lists and routes from exact probabilities: brute force, climbs, oracle."""

import json

import numpy as np
import pytest
from cases import slow_among, slow_but
from decision_lists import CASCADE, RULES
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import refusals
from scipy.special import ndtr, ndtri

from rsbounds import oracle
from rsbounds.composite import Cond, Rule, classify, radius, route_radius


class Cells:
    """Classifiers that are constant on the cells of a grid: their probabilities are
    exact.
    """

    def __init__(self, rng, stages, dim, classes, width):
        self.edges = [
            [
                np.sort(rng.uniform(-width, width, rng.integers(2, 6)))
                for _ in range(dim)
            ]
            for _ in range(stages)
        ]
        self.cells = [
            rng.integers(0, classes, [len(e) + 1 for e in edges])
            for edges in self.edges
        ]
        self.classes = classes

    def scores(self, x, sigmas):
        """x (points, dim) -> normal scores (points, K, C)."""
        p = np.zeros((len(x), len(sigmas), self.classes))
        for k, sigma in enumerate(sigmas):
            mass = []
            for axis, edges in enumerate(self.edges[k]):
                z = (
                    np.concatenate([[-np.inf], edges, [np.inf]]) - x[:, axis, None]
                ) / sigma
                # the smaller tail on either side, so that no difference cancels
                below, above = ndtr(z), ndtr(-z)
                mass.append(np.where(z[:, :-1] > 0, -np.diff(above), np.diff(below)))
            joint = mass[0][:, :, None] * (
                mass[1][:, None, :] if len(mass) == 2 else 1.0
            )
            cells = self.cells[k].reshape(joint.shape[1:])
            for c in range(self.classes):
                p[:, k, c] = (joint * (cells == c)).sum(axis=(1, 2))
        rest = np.stack(
            [np.delete(p, c, axis=-1).sum(axis=-1) for c in range(self.classes)], -1
        )
        return np.where(
            p < 0.5, ndtri(np.minimum(p, 0.5)), -ndtri(np.minimum(rest, 0.5))
        )


def ball(rng, count, dim):
    """Steps of length at most 1, count times: a grid, or as many of length 1 as shorter
    ones.
    """
    if dim == 1:
        return np.broadcast_to(np.linspace(-1, 1, 101)[:, None], (count, 101, 1))
    angle, share = (
        rng.uniform(0, 2 * np.pi, (count, 120)),
        rng.uniform(0, 1, (count, 120)),
    )
    share[:, :60] = 1.0
    return np.sqrt(share)[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dim", slow_but([1], [1, 2]))
def test_no_point_within_the_radius_is_of_another_class(name, dim):
    rule, rng = RULES[name], np.random.default_rng(dim)
    certified = 0
    for _ in range(30):
        model = Cells(rng, len(rule.sigmas), dim, 3, 2.0)
        points = rng.uniform(-3, 3, (40, dim))
        z = model.scores(points, rule.sigmas)
        classes = classify(rule, z)
        result = radius(rule, z, np.maximum(classes, 0))
        assert np.all(result[classes < 0] <= 1e-12)
        sure = (classes >= 0) & (result > 0)
        certified += (count := int(sure.sum()))
        r = np.minimum(result[sure], 20.0)  # inf where the model is constant
        near = points[sure][:, None] + (1 - 1e-9) * r[:, None, None] * ball(
            rng, count, dim
        )
        other = classify(rule, model.scores(near.reshape(-1, dim), rule.sigmas))
        assert np.all(other.reshape(count, near.shape[1]) == classes[sure][:, None])
    assert certified > 150


@pytest.mark.parametrize("name", slow_among(["gates"], ["cascade", "gates"]))
def test_climbing_attack_in_two_dimensions(name):
    """From the boundary of the ball towards what threatens the class most, step by
    step.
    """
    rule, rng = RULES[name], np.random.default_rng(5)
    closest = np.inf
    for _ in range(15):
        model = Cells(rng, len(rule.sigmas), 2, 3, 2.0)
        x = rng.uniform(-2, 2, (1, 2))
        c = int(classify(rule, model.scores(x, rule.sigmas))[0])
        if c < 0:
            continue
        r = float(radius(rule, model.scores(x, rule.sigmas), [c])[0])
        angle = rng.uniform(0, 2 * np.pi, 40)
        step = 0.5
        for _ in range(25):
            trial = np.stack([angle - step, angle, angle + step]).ravel()
            near = x + r * (1 - 1e-9) * np.stack(
                [np.cos(trial), np.sin(trial)], axis=-1
            )
            z = model.scores(near, rule.sigmas)
            assert np.all(classify(rule, z) == c)
            left = radius(rule, z, np.full(len(z), c)).reshape(3, -1)
            angle = trial.reshape(3, -1)[left.argmin(axis=0), np.arange(len(angle))]
            step *= 0.8
        if r > 0.05:
            closest = min(closest, left.min() / r)
    assert closest < 0.5  # the climb does come nearer to a change of class


def test_attained_by_slabs():
    """Half-lines of one normal direction: all coordinates move at full rate at once."""
    # stage 0 has class 0 below 0 and class 1 above; stage 1 the same, shifted
    rule = Rule([1.0, 0.5], [[Cond("score", 0, 0.4)], [Cond("margin", 1)]])

    def scores(x):
        z = np.stack([-x, (0.1 - x) / 0.5], axis=-1)
        return np.stack([z, -z], axis=-1)

    x = np.array([-0.9, -0.3, 0.02])
    result = radius(rule, scores(x), [0, 0, 0])
    # class 1 fires at item 0 beyond 0.4; class 0 wins at item 1 below 0.1
    assert result == pytest.approx([1.0, 0.4, 0.08], rel=1e-14)
    assert np.all(classify(rule, scores(x + result * (1 + 1e-9))) != 0)
    assert np.all(classify(rule, scores(x + result * (1 - 1e-9))) == 0)


@settings(deadline=None, max_examples=60)
@example("set", 4881972)  # of rounded scores the set's probabilities sum to 1 + 3e-17
@given(st.sampled_from(sorted(RULES)), st.integers(0, 2**32))
@example("set", 4881972)  # the probabilities of two classes together 3e-17 above 1
def test_oracle_is_never_below_and_close(name, seed):
    rule, rng = RULES[name], np.random.default_rng(seed)
    stages = len(rule.sigmas)
    p = rng.dirichlet(np.full(3, 10 ** rng.uniform(-1.5, 1)), stages)
    z = np.clip(ndtri(p), -30, 6)
    cls = int(rng.integers(3))
    result = float(radius(rule, z, cls))
    truth = oracle.list_radius(rule.to_dict(), z.tolist(), cls)
    assert result <= truth
    # the set's probability is a sum of doubles: 2e-15 in p, over phi(6) = 6e-9
    size = 1e-6 if name == "set" else 1e-14 * (1 + np.abs(z).max())
    assert result >= truth - size


def test_infinite_scores_and_nan():
    sure = [[np.inf, -np.inf, -np.inf]] * 2
    assert radius(CASCADE, sure, 0) == np.inf
    assert radius(CASCADE, sure, 1) == 0.0
    # a stage that only ever sees void samples fires for no class, anywhere
    void = [[-np.inf] * 3, [0.8, -1.0, -1.2]]
    assert radius(CASCADE, void, 0) == pytest.approx(0.45, rel=1e-14)
    with pytest.warns(RuntimeWarning, match="invalid"):
        result = radius(
            CASCADE, [[[np.nan, 0, 0], [1, -1, -1]], [[1, -1, -1], [1, -1, -1]]], [0, 0]
        )
    assert np.isnan(result[0])
    assert result[1] > 0


def test_shapes_and_empty():
    z = np.zeros((4, 5, 2, 3))
    assert radius(CASCADE, z, np.zeros((4, 5), int)).shape == (4, 5)
    assert isinstance(radius(CASCADE, z[0, 0], 0), np.float64)
    assert radius(CASCADE, np.zeros((0, 2, 3)), np.zeros(0, int)).shape == (0,)
    big, cls = (
        np.random.default_rng(0).normal(size=(60_000, 2, 3)),
        np.zeros(60_000, int),
    )
    part = radius(CASCADE, big[50_000:], cls[50_000:])
    assert np.array_equal(radius(CASCADE, big, cls)[50_000:], part)


def test_rule_in_a_file():
    for rule in RULES.values():
        text = json.dumps(rule.to_dict())
        assert Rule.from_dict(json.loads(text)) == rule
        assert hash(rule) == hash(Rule.from_dict(json.loads(text)))
    good = CASCADE.to_dict()
    for wrong, match in (
        ([], "a rule must be an object"),
        ({**good, "extra": 1}, "a rule must be an object"),
        ({**good, "format": 2}, "format 1"),
        (
            {**good, "items": [[{"kind": "score"}]]},
            "a rule's items must be lists of conditions",
        ),
        ({**good, "items": 3}, "a rule's items must be lists of conditions"),
        ({**good, "sigmas": [0.0, 1.0]}, "sigmas must be in"),
    ):
        with pytest.raises(ValueError, match=match):
            Rule.from_dict(wrong)


MARGIN = Cond("margin", 0)


test_bad_input_is_named = refusals(
    {
        r"items\[0\] must be exclusive": lambda: Rule(
            [1.0], [[Cond("margin", 0, -0.1)]]
        ),
        r"items\[0\] must have stages of 1 levels": lambda: Rule(
            [1.0], [[Cond("margin", 1)]]
        ),
        "items must hold at least one item": lambda: Rule([1.0], []),
        r"items\[0\] must hold conditions; got 'margin'": lambda: Rule(
            [1.0], [["margin"]]
        ),
        "sigmas must be a list of noise levels": lambda: Rule([], [[MARGIN]]),
        "kind must be one of": lambda: Cond("value", 0),
        "threshold must be one finite number": lambda: Cond("score", 0, np.inf),
        "classes must be given for kind 'set' alone": lambda: Cond(
            "score", 0, 0.0, (1,)
        ),
        "classes must be different": lambda: Cond("set", 0, 0.0, (1, 1)),
        r"shape \(..., 2 levels, 2 classes or more": lambda: radius(
            CASCADE, np.zeros((3, 3)), 0
        ),
        "cls must be one of 3 classes; got 3": lambda: radius(
            CASCADE, np.zeros((2, 3)), 3
        ),
        "cls must have shape": lambda: radius(CASCADE, np.zeros((4, 2, 3)), [0, 1]),
        "3 classes or more": lambda: radius(
            Rule([1.0], [[MARGIN, Cond("set", 0, 0.0, (0, 2))]]), [[0.0, 0.0]], 0
        ),
        "radii must be of one route more": lambda: route_radius([1.0], 0.5, [1.0]),
        "rule must be a rsbounds.composite.Rule": lambda: radius(
            [[1.0, 0.0]], [[0.1, -0.1]], 0
        ),
        "scores must be non-decreasing": lambda: route_radius(
            [1.0, 0.0], 0.5, [1.0, 1.0, 1.0]
        ),
    }
)


def test_routes_against_every_shift():
    """The router's scores move together by d; routes that come within reach must
    certify.
    """
    rng, sigma = np.random.default_rng(2), 0.5
    for _ in range(200):
        k = int(rng.integers(2, 5))
        p = np.cumsum(rng.dirichlet(np.ones(k)))[:-1]
        radii, q = (
            rng.uniform(0, 1, k) * rng.integers(0, 2, k),
            float(rng.uniform(0.2, 0.8)),
        )
        z = ndtri(p)
        result = float(route_radius(z, sigma, radii, q))
        for d in np.linspace(-result, result, 41)[1:-1]:
            taken = int(np.argmax(np.append(ndtr(z + d / sigma), 1.0) > q))
            # at distance |d| the route that is taken still certifies
            assert radii[taken] > abs(d) or abs(d) >= result * (1 - 1e-12)
        edges = sigma * (np.concatenate([[-np.inf], z, [np.inf]]) - ndtri(q))
        worst = np.maximum.reduce([radii, -edges[1:], edges[:-1]]).min()
        assert result == pytest.approx(max(worst, 0.0), rel=1e-12, abs=1e-13)


def test_routes_that_are_certain():
    """Two infinite scores were taken for a decrease."""
    assert route_radius([np.inf, np.inf], 0.5, [1.0, 0.5, 2.0]) == 1.0
    assert route_radius([-np.inf, -np.inf], 0.5, [1.0, 0.5, 2.0]) == 2.0
    with pytest.warns(RuntimeWarning, match="invalid"):
        assert np.isnan(route_radius([np.nan, 1.0], 0.5, [1.0, 0.5, 2.0]))
