"""Fitting a list: it finds what was built in, and refuses what it can't use."""

import numpy as np
import pytest
from scipy.special import ndtri

from rsbounds.composite import fit, radius

SURE, UNCLEAR = [[900, 50, 50], [950, 25, 25]], [[280, 380, 340], [800, 100, 100]]


def random_counts(seed=0, inputs=150, classes=4):
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


@pytest.mark.parametrize("objective", ["acr", "curve"])
def test_never_worse_than_the_best_constant_by_its_objective(objective):
    counts, y = random_counts()
    found = fit(counts, y, [1.5, 1.0, 0.5], objective=objective)
    z = ndtri((counts + 0.5) / (counts.sum(axis=-1, keepdims=True) + 1))
    assert found.acr == radius(found.rule, z, y).mean()
    assert found.acr_constant == radius(found.constant, z, y).mean()
    if objective == "acr":
        assert found.acr >= found.acr_constant
        others = [fit(counts, y, [1.5, 1.0, 0.5], items=m).acr for m in (1, 2)]
        assert others[0] <= others[1] <= found.acr
    assert np.all(np.diff(found.accuracy) <= 0)


def test_a_gate_is_found_where_it_pays():
    found = fit([SURE] * 50 + [UNCLEAR] * 50, [0] * 100, [1.0, 0.5])
    assert [q.kind for q in found.rule.items[0]] == ["margin", "score"]
    assert found.accuracy[0] == 1.0
    assert found.accuracy_constant[0] in (0.5, 1.0)
    assert "certify on another split" in str(found)
    assert f"ACR  {found.acr:6.3f}" in str(found)


def test_order_of_the_levels_does_not_matter():
    counts, y = random_counts(1, 60)
    ahead = fit(counts, y, [1.5, 1.0, 0.5])
    back = fit(counts[:, ::-1], y, [0.5, 1.0, 1.5])
    assert ahead.acr == pytest.approx(back.acr, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"counts": np.ones((4, 3, 3))}, r"counts must have shape \(inputs, 2 levels"),
        ({"counts": np.zeros((4, 2, 3))}, "counts must be above 0 in all; got 8 empty"),
        ({"labels": [0, 1, 2, 3]}, "labels must be 4 of 3 classes"),
        ({"labels": [0, 1]}, "labels must be 4 of 3 classes; got shape"),
        ({"sigmas": [1.0, 0.0]}, "sigmas must be in"),
        ({"objective": "mean"}, "objective must be one of"),
        ({"items": 4}, "items must be at most 3; got 4"),
        ({"gates": [-0.1]}, "gates must be in"),
    ],
)
def test_bad_input_is_named(change, match):
    good = {"counts": np.ones((4, 2, 3)), "labels": [0, 1, 2, 0], "sigmas": [1.0, 0.5]}
    with pytest.raises(ValueError, match=match):
        fit(**{**good, **change})
