"""Fitting a list: it finds what was built in, and refuses what it can't use."""

import numpy as np
import pytest
from scipy.special import ndtri

from rsbounds.composite import certify_counts, fit, radius
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure

SURE, UNCLEAR = [[900, 50, 50], [950, 25, 25]], [[280, 380, 340], [800, 100, 100]]


def random_counts(seed=0, inputs=30, classes=4):
    """The larger level knows less: more of its mass is spread evenly."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, inputs)
    clear = rng.beta(2, 1, inputs)
    counts = []
    for sigma in (1.5, 1.0, 0.5):
        sharp = clear ** (1 + 1.5 * sigma)
        p = (1 - sharp)[:, None] * rng.dirichlet(np.full(classes, 3.0), inputs)
        p[np.arange(inputs), y] += sharp
        counts.append([rng.multinomial(1000, row) for row in p])
    return np.swapaxes(counts, 0, 1), y


def certified(rule, counts, labels, select=None, n=1000, alpha=0.001):
    select = counts if select is None else select
    each = [
        certify_counts(rule, a, b, Procedure(n=n, alpha=alpha))
        for a, b in zip(select, counts, strict=True)
    ]
    return np.array(
        [c.radius * (c.predict == y) for c, y in zip(each, labels, strict=True)]
    )


@pytest.mark.parametrize(
    "objective", ["acr", pytest.param("curve", marks=pytest.mark.slow)]
)
def test_reports_what_the_samples_certify(objective):
    counts, y = random_counts()
    select = np.stack([np.maximum(counts[i] // 10, 1) for i in range(len(counts))])
    result = fit(
        counts, y, [1.5, 1.0, 0.5], objective=objective, select=select, alpha=0.01
    )
    assert (result.n, result.alpha) == (1000, 0.01)
    radii = certified(result.rule, counts, y, select, 1000, 0.01)
    assert result.acr == radii.mean()
    assert (
        result.acr_constant
        == certified(result.constant, counts, y, select, alpha=0.01).mean()
    )
    assert result.accuracy[0] == (radii > 0).mean()
    assert np.all(np.diff(result.accuracy) <= 0)
    assert result.radii[-1] >= radii.max()
    # no more than n successes in n samples show, at whatever level
    assert result.radii[-1] <= 1.5 * lower_bound(1000, 1000, 0.005, scores=True)
    half = fit(counts, y, [1.5, 1.0, 0.5], objective=objective, n=2000)
    assert half.rule == result.rule
    assert half.n == 2000


def test_the_list_is_the_best_by_plug_in_probabilities():
    counts, y = random_counts()
    z = ndtri((counts + 0.5) / (counts.sum(axis=-1, keepdims=True) + 1))
    rules = [
        fit(counts, y, [1.5, 1.0, 0.5], items=m, gates=[0.2, 0.5]).rule
        for m in (1, 2, 3)
    ]
    worth = [radius(rule, z, y).mean() for rule in rules]
    assert sorted(worth) == worth


def test_a_gate_is_found_where_it_pays():
    result = fit([SURE] * 10 + [UNCLEAR] * 10, [0] * 20, [1.0, 0.5])
    assert [q.kind for q in result.rule.items[0]] == ["margin", "score"]
    assert result.accuracy[0] == 1.0
    assert result.acr > result.acr_constant
    assert "certify others" in str(result)
    assert f"ACR  {result.acr:6.3f}" in str(result)
    assert "no list did better" not in str(result)
    alone = fit([SURE] * 5, [0] * 5, [1.0, 0.5])
    assert alone.rule == alone.constant
    assert "no list did better: the rule is the constant, sigma 1 alone" in str(alone)


def test_void_votes_were_drawn():
    """A level with 300 of 1,000 votes seemed to have 300 samples, so its gate did not
    pass.
    """
    sure, mostly_void = [[990, 5, 5], [900, 50, 50]], [[100, 110, 90], [900, 50, 50]]
    best = fit([sure] * 30 + [mostly_void] * 30, [0] * 60, [1.0, 0.5], gates=(0.5,))
    assert len(best.rule.items) == 2
    assert best.acr > 1.1 * best.acr_constant
    assert fit([[[0, 0, 0], [900, 50, 50]]] * 3, [0] * 3, [1.0, 0.5]).acr > 0


def test_order_of_the_levels_does_not_matter():
    counts, y = random_counts(1, 30)
    ahead = fit(counts, y, [1.5, 1.0, 0.5], gates=[0.3])
    back = fit(counts[:, ::-1], y, [0.5, 1.0, 1.5], gates=[0.3])
    assert ahead.acr == back.acr


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"counts": np.ones((4, 3, 3))}, "counts must have shape"),
        ({"counts": np.zeros((4, 2, 3))}, "counts must be above"),
        ({"select": np.ones((4, 1, 3))}, "select must have shape"),
        ({"labels": [0, 1, 2, 3]}, "labels must be 4 of"),
        ({"items": 4}, "items must be at most"),
    ],
)
def test_bad_input_is_named(change, match):
    good = {"counts": np.ones((4, 2, 3)), "labels": [0, 1, 2, 0], "sigmas": [1.0, 0.5]}
    with pytest.raises(ValueError, match=match):
        fit(**{**good, **change})
