"""Radii of cascades as tensors: those of the composite certificate, and their
gradients.
"""

from types import SimpleNamespace as Of

import numpy as np
import pytest
import torch
from cases import slow_but
from torch.autograd import gradcheck

import rsbounds
from rsbounds import composite
from rsbounds.composite import Cond, Rule
from rsbounds.torch import radius

GATED = Rule(
    (1.5, 1.0, 0.5),
    [
        [Cond("margin", 0), Cond("score", 0, -0.5)],
        [Cond("score", 1)],
        [Cond("margin", 2)],
    ],
)
SETS = Rule(
    (1.0, 0.5),
    [
        [Cond("margin", 0), Cond("set", 0, 0.1, (0, 2))],
        [Cond("score", 1), Cond("set", 1, -0.3, (1, 2, 3))],
        [Cond("margin", 1)],
    ],
)


def decide(rule, z):
    """The class that a list returns, straight from its definition."""
    for item in rule.items:
        for c in range(z.shape[1]):
            held = []
            for q in item:
                r = rule.sigmas[q.stage] * z[q.stage]
                rival = max(r[b] for b in range(len(r)) if b != c)
                value = r[c] if q.kind == "score" else (r[c] - rival) / 2
                held.append(value > q.threshold)
            if all(held):
                return c
    return None


def feasible(z):
    """At most one class of a stage has more than half."""
    return bool(((z > 0).sum(1) <= 1).all())


def test_no_move_of_the_scores_within_the_radius_changes_the_class():
    """The score box: every signed score may move by less than the radius alone."""
    rng = np.random.default_rng(0)
    certified, tight = 0, 0
    for _ in range(200):
        z = rng.normal(-0.5, size=(3, 3))
        c = decide(GATED, z)
        if c is None or not feasible(z):
            continue
        r = radius.cascade(GATED, torch.tensor(z)[None], c, scores=True).item()
        assert r >= 0
        certified += r > 0
        moves = rng.uniform(-1, 1, size=(60, 3, 3))
        moves = np.where(rng.random((60, 1, 1)) < 0.7, np.sign(moves), moves)
        for scale, flips in ((0.9999, 0), (1.2, 1)):
            moved = z + scale * r * moves / np.array(GATED.sigmas)[:, None]
            other = sum(decide(GATED, m) != c for m in moved if feasible(m))
            assert flips or not other
            tight += bool(flips and other)
    assert certified > 60
    assert (
        tight > 50
    )  # a fifth beyond it, random corners flip many: the radius isn't idle


@pytest.mark.parametrize("rule", [GATED, SETS], ids=["gated", "sets"])
def test_cascade_slopes(rule):
    generator = torch.Generator().manual_seed(3)
    p = (
        2 * torch.randn(12, len(rule.sigmas), 4, generator=generator).double()
    ).softmax(-1)
    z = torch.special.ndtri(p).requires_grad_()
    sigmas = torch.tensor(rule.sigmas, dtype=torch.float64, requires_grad=True)
    label = z.detach()[:, -1].argmax(-1)

    def f(z, sigmas):
        return radius.cascade(rule, z, label, sigmas=sigmas, scores=True)

    assert (f(z, sigmas) > 0).sum() > 4
    assert gradcheck(f, (z, sigmas))


def test_a_set_of_probability_1_has_no_slope():
    rule = Rule([1.0], [[Cond("margin", 0), Cond("set", 0, 0.0, (0, 1, 2, 3))]])
    p = torch.tensor([[[0.7, 0.1, 0.1, 0.1]]], dtype=torch.float64, requires_grad=True)
    radius.cascade(rule, p, 0).sum().backward()
    assert p.grad.isfinite().all()


def test_rules_that_are_none_are_refused():
    z = torch.zeros(1, 1, 3)
    for message, *item in (
        ("each item must have a 'score' or 'margin'", ("score", 0, -1.0, None)),
        ("classes must be given for kind 'set' alone", ("score", 0, 0.0, (1, 2))),
        ("classes must be below 3", ("margin", 0, 0.0, None), ("set", 0, 0.0, (4,))),
    ):
        names = ("kind", "stage", "threshold", "classes")
        conditions = [Of(**dict(zip(names, each, strict=True))) for each in item]
        with pytest.raises(ValueError, match=message):
            radius.cascade(Of(sigmas=(1.0,), items=(conditions,)), z, 0, scores=True)
    with pytest.raises(ValueError, match=r"p must.*3 stages"):
        radius.cascade(GATED, z, 0, scores=True)


def test_levels_of_a_rule_keep_their_precision():
    """As float32 numbers .1 was .10000000149, and so was the radius at score 1."""
    z = torch.tensor([[[1.0, -1.0]]], dtype=torch.float64)
    result = radius.cascade(Rule([0.1], [[Cond("score", 0)]]), z, 0, scores=True).item()
    assert 0.1 * (1 - 1e-12) < result <= 0.1


def test_a_probability_of_zero_leaves_the_others_their_slack():
    """The rounding of finite scores was forgotten where one was infinite."""
    exact = rsbounds.oracle.ndtri(0.6) - rsbounds.oracle.ndtri(0.3)
    for last in (1e-300, 0.0):
        p = torch.tensor([[[0.6, 0.3, last]]], dtype=torch.float64)
        result = radius.cascade(Rule([0.5], [[Cond("margin", 0)]]), p, 0).item()
        assert exact * 0.5 / 2 - result > 3e-15


def test_a_softmax_at_1_leaves_finite_gradients():
    """They were infinite and NaN, where those of ``gaussian`` are finite."""
    rule = Rule(
        (1.0, 0.5),
        [
            [Cond("margin", 0), Cond("score", 0, 0.2)],
            [Cond("score", 1), Cond("set", 1, -0.3, (0, 1))],
        ],
    )
    p = torch.tensor(
        [
            [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
            [[0.6, 0.4, 0.0], [1.0, 0.0, 0.0]],
            [[0.4, 0.6, 0.0], [0.9, 0.1, 0.0]],
        ],
        dtype=torch.float64,
    )
    for signed in (False, True):
        leaf = p.clone().requires_grad_()
        sigmas = torch.tensor([1.0, 0.5], dtype=torch.float64, requires_grad=True)
        result = radius.cascade(rule, leaf, 0, sigmas=sigmas, signed=signed)
        assert result[0] == torch.inf
        assert result[1] > 0
        result[1:].sum().backward()
        assert leaf.grad.isfinite().all()
        assert sigmas.grad.isfinite().all()
        assert leaf.grad[1].abs().sum() > 0
        leaf.grad = None
        radius.cascade(rule, leaf, 0, sigmas=sigmas, signed=signed).sum().backward()
        assert leaf.grad.isfinite().all()
        assert sigmas.grad.isfinite().all()


def random_rule(rng, classes):
    """Up to four items of up to three conditions over up to three levels."""
    stages = int(rng.integers(1, 4))
    items = []
    for _ in range(rng.integers(1, 5)):
        kind = ("score", "margin")[rng.integers(2)]
        first = Cond(kind, int(rng.integers(stages)), float(rng.choice([0.0, 0.2])))
        item = [first]
        for _ in range(rng.integers(0, 3)):
            kind = ("score", "margin", "set")[rng.integers(3)]
            members = None
            if kind == "set":
                chosen = rng.choice(classes, int(rng.integers(1, classes)), False)
                members = tuple(int(c) for c in chosen)
            threshold = round(float(rng.normal(-0.2, 0.5)), 2)
            item.append(Cond(kind, int(rng.integers(stages)), threshold, members))
        items.append(item)
    return Rule(rng.choice([0.25, 0.5, 1.0, 1.5], stages).tolist(), items)


@pytest.mark.parametrize("rules", slow_but([200], [200, 2000]))
def test_the_two_list_radii_agree_on_random_rules(rules):
    """One is compiled from arrays, one differentiable: they must stay one radius."""
    rng = np.random.default_rng(0)
    certified = 0
    for _ in range(rules):
        classes = int(rng.integers(2, 6))
        rule = random_rule(rng, classes)
        p = rng.dirichlet(
            [rng.choice([0.1, 0.4, 2.0])] * classes, (4, len(rule.sigmas))
        )
        # away from 0 and 1, where the score of a set enlarges the rounding of its sum
        p = 0.999 * p + 0.001 / classes
        cls = p[:, 0].argmax(-1)
        z = rsbounds.special.ndtri(p)
        theirs = composite.radius(rule, z, cls)
        mine = radius.cascade(rule, torch.tensor(z), torch.tensor(cls), scores=True)
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-10, atol=1e-11)
        assert np.all(mine.numpy() <= theirs * (1 + 1e-11) + 1e-15)
        certified += int((theirs > 0).sum())
    assert certified > rules
