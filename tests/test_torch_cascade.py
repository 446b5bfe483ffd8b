"""Radii of cascades as tensors: those of the composite certificate, and their gradients."""

from __future__ import annotations

from types import SimpleNamespace as Of
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import rsbounds
from rsbounds import composite
from rsbounds.torch import radius


def condition(kind: str, stage: int, threshold: float = 0.0, classes: Any = None) -> Any:
    return Of(kind=kind, stage=stage, threshold=threshold, classes=classes)


GATED = Of(
    sigmas=(1.5, 1.0, 0.5),
    items=(
        (condition("margin", 0), condition("score", 0, -0.5)),
        (condition("score", 1),),
        (condition("margin", 2),),
    ),
)


def decide(rule: Any, z: np.ndarray) -> int | None:
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


def test_cascade_of_one_margin_or_one_score_is_gaussian():
    p = torch.tensor([[[0.7, 0.2, 0.1]]], dtype=torch.float64)
    margin = Of(sigmas=(0.5,), items=((condition("margin", 0),),))
    score = Of(sigmas=(0.5,), items=((condition("score", 0),),))
    exact = rsbounds.gaussian.radius(0.7, 0.5, [0.2, 0.3])
    assert radius.cascade(margin, p, 0).item() == pytest.approx(exact[0], rel=1e-12)
    assert radius.cascade(score, p, 0).item() == pytest.approx(exact[1], rel=1e-12)
    assert radius.cascade(margin, p, 1).item() == 0


def feasible(z: np.ndarray) -> bool:
    """At most one class of a stage has more than half."""
    return bool(((z > 0).sum(1) <= 1).all())


def test_no_move_of_the_scores_within_the_radius_changes_the_class():
    """The score box: every signed score may move by less than the radius, on its own."""
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
    assert tight > 50  # a fifth beyond it, random corners flip many: the radius isn't idle


@pytest.mark.parametrize("name", ["gated", "mixed"])
def test_cascade_is_the_radius_of_the_composite_certificate(name):
    given = GATED if name == "gated" else mixed()
    items = [[composite.Cond(q.kind, q.stage, q.threshold, q.classes) for q in item]
             for item in given.items]  # fmt: skip
    rule = composite.Rule(given.sigmas, items)
    p = np.random.default_rng(1).dirichlet([0.4] * 4, size=(200, len(given.sigmas)))
    z = rsbounds.special.ndtri(p)
    last = composite.Rule(given.sigmas, items[-1:])
    certified = 0
    for c in range(4):
        mine = radius.cascade(rule, torch.tensor(p), c).numpy()
        theirs = composite.radius(rule, z, c)
        assert np.all(mine <= theirs * (1 + 1e-11) + 1e-15)
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-11)
        certified += ((mine > 0) & (theirs != composite.radius(last, z, c))).sum()
    assert certified > 40  # the first items matter


def test_cascade_slopes():
    generator = torch.Generator().manual_seed(3)
    z = torch.randn(12, 3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    sigmas = torch.tensor(GATED.sigmas, dtype=torch.float64, requires_grad=True)
    label = torch.tensor([decide(GATED, one.detach().numpy()) or 0 for one in z])

    def f(z: torch.Tensor, sigmas: torch.Tensor) -> torch.Tensor:
        return radius.cascade(GATED, z, label, sigmas=sigmas, scores=True)

    assert (f(z, sigmas) > 0).sum() > 5
    assert gradcheck(f, (z, sigmas))
    with pytest.raises(ValueError, match="p must have 3 stages, as the rule has; got 2"):
        radius.cascade(GATED, z[:, :2], label, scores=True)
    rule = Of(sigmas=(1.0,), items=((condition("score", 0, -1.0),),))
    with pytest.raises(ValueError, match="each item must have a 'score' or 'margin'"):
        radius.cascade(rule, z[:, :1], 0, scores=True)
    refused = {
        "classes must be given for kind 'set' alone": condition("score", 0, 0.0, (1, 2)),
        "kind must be one of 'score', 'margin', 'set'; got 'vote'": condition("vote", 0),
        "each item must have a 'score' or 'margin'": condition("set", 0, 0.0, (1, 2)),
    }
    for message, one in refused.items():
        with pytest.raises(ValueError, match=message):
            radius.cascade(Of(sigmas=(1.0,), items=((one,),)), z[:, :1], 0, scores=True)


def mixed() -> Any:
    """Sets of classes beside scores and margins."""
    return Of(
        sigmas=(1.0, 0.5),
        items=(
            (condition("margin", 0), condition("set", 0, 0.1, (0, 2))),
            (condition("score", 1), condition("set", 1, -0.3, (1, 2, 3))),
            (condition("margin", 1),),
        ),
    )


def test_slopes_of_sets():
    generator = torch.Generator().manual_seed(4)
    p = (2 * torch.randn(12, 2, 4, generator=generator, dtype=torch.float64)).softmax(-1)
    z = torch.special.ndtri(p).requires_grad_()
    sigmas = torch.tensor(mixed().sigmas, dtype=torch.float64, requires_grad=True)
    label = z.detach()[:, 1].argmax(-1)

    def f(z: torch.Tensor, sigmas: torch.Tensor) -> torch.Tensor:
        return radius.cascade(mixed(), z, label, sigmas=sigmas, scores=True)

    assert (f(z, sigmas) > 0).sum() > 4
    assert gradcheck(f, (z, sigmas))
    every = Of(sigmas=(1.0,), items=((condition("margin", 0), condition("set", 0, 0.0, range(4))),))
    one = torch.tensor([[[0.7, 0.1, 0.1, 0.1]]], dtype=torch.float64, requires_grad=True)
    radius.cascade(every, one, 0).sum().backward()  # a set of probability 1 has no slope
    assert one.grad.isfinite().all()
    far = Of(sigmas=(1.0,), items=((condition("margin", 0), condition("set", 0, 0.0, (4,))),))
    with pytest.raises(ValueError, match="classes must be below 4; got"):
        radius.cascade(far, one, 0)


def test_levels_of_a_rule_keep_their_precision():
    """As float32 numbers .1 was .10000000149, and so was the radius at score 1."""
    rule = Of(sigmas=[0.1], items=((condition("score", 0),),))
    z = torch.tensor([[[1.0, -1.0]]], dtype=torch.float64)
    assert 0.1 * (1 - 1e-12) < radius.cascade(rule, z, 0, scores=True).item() <= 0.1


def test_a_probability_of_zero_leaves_the_others_their_slack():
    """The rounding of finite scores was forgotten where one was infinite."""
    rule = Of(sigmas=[0.5], items=((condition("margin", 0),),))
    slacks = []
    for last in (1e-300, 0.0):
        p = torch.tensor([[[0.6, 0.3, last]]], dtype=torch.float64)
        exact = rsbounds.oracle.ndtri(0.6) - rsbounds.oracle.ndtri(0.3)
        result = radius.cascade(rule, p, 0).item()
        slacks.append(float(exact * 0.5 / 2 - result))
    assert min(slacks) > 3e-15
