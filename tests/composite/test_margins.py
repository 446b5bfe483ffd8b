"""Decision lists by a margin: void votes count against the class at every level."""

import json
from itertools import product

import numpy as np
import pytest
import torch

from rsbounds import certify_dataset
from rsbounds.answers import DecisionList
from rsbounds.audit import verify
from rsbounds.certify import Procedure, measure_margin
from rsbounds.composite import Cond, Rule
from rsbounds.composite.internal import certify_drawn
from rsbounds.composite.planning import plan
from rsbounds.results import read
from rsbounds.sampling import ArraySampler
from rsbounds.sampling.margins import leads

SIGMAS = [0.5, 0.25]
RULES = {
    "cascade": [
        [Cond("margin", 0), Cond("score", 0, -0.15)],
        [Cond("margin", 1)],
    ],
    "scores": [[Cond("score", 0, 0.3)], [Cond("score", 1, 0.0)]],
    "sets": [
        [Cond("set", 0, 0.1, (0, 1)), Cond("margin", 0)],
        [Cond("margin", 1)],
    ],
}
EACH = pytest.mark.parametrize("name", RULES)
X = np.array([[0.9, 0.0], [0.35, 0.1], [0.0, 0.7]], np.float32)
Y = np.array([0, 0, 1])
WEIGHTS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], np.float32)


def scores(batch):
    return batch @ WEIGHTS.T.astype(batch.dtype)


def linear():
    model = torch.nn.Linear(2, 3, bias=False)
    model.weight.data = torch.from_numpy(WEIGHTS)
    return model


def rule_of(name):
    return Rule(SIGMAS, RULES[name])


def every_share(counts, void):
    """The counts with the void samples dealt out to the classes, each way."""
    for parts in product(range(void + 1), repeat=counts.size):
        if sum(parts) <= void:
            yield counts + np.array(parts)


@EACH
def test_void_votes_are_allowed_for_wherever_they_belong(name):
    """Whatever the void samples are in truth, the exact list certifies as much."""
    rule = rule_of(name)
    generator = np.random.default_rng(2)
    certified = lost = 0
    for _ in range(12):
        select = generator.multinomial(40, [0.7, 0.2, 0.1], size=2)
        shares = generator.dirichlet([8, 2, 1, 0.5], size=2)
        counts = [generator.multinomial(60, share)[:3] for share in shares]
        void = [60 - int(stage.sum()) for stage in counts]
        if max(void) > 5:
            continue
        procedure = Procedure(n=60, alpha=0.05)
        by_margin = Procedure(n=60, alpha=0.05, margin=0.1)
        safe = certify_drawn(rule, select, counts.__getitem__, by_margin)
        plain = certify_drawn(rule, select, counts.__getitem__, procedure)
        assert safe.radius <= plain.radius
        lost += safe.radius < plain.radius
        certified += safe.radius > 0
        first = list(every_share(counts[0], void[0]))
        second = list(every_share(counts[1], void[1]))
        for whole in zip(
            generator.permutation(first), generator.permutation(second), strict=False
        ):
            exact = certify_drawn(rule, select, whole.__getitem__, procedure)
            assert exact.radius >= safe.radius
    assert certified
    # a score has no upper bound but 1 - p of its own class, so it may lose nothing
    assert lost or name == "scores"


@EACH
@pytest.mark.parametrize("make", [lambda: scores, linear], ids=["numpy", "torch"])
def test_files_are_proved_and_forged_ones_found(name, make, tmp_path):
    path = tmp_path / "run.tsv"
    numbers = {"n": 1000, "margin": 0.1, "out": path}
    run = certify_dataset(make(), (X, Y), DecisionList(rule_of(name)), **numbers)
    assert any(row.void for row in run.rows)
    assert any(row.radius for row in run.rows)
    checked = verify(path, data=(X, Y), model=make(), rerun=3, margin=True)
    assert not checked.findings
    assert (checked.votes.samples, checked.votes.changed) == (6000, 0)
    assert "margin" in checked.stated
    bare = certify_dataset(make(), (X, Y), DecisionList(rule_of(name)), n=1000)
    for row, without in zip(run.rows, bare.rows, strict=True):
        assert row.radius <= without.radius


def test_rows_that_forget_their_void_votes_are_found(tmp_path):
    """The same votes are void by NaN, which is of nobody, under a margin."""

    def near(batch):
        found = scores(batch).astype(np.float32)
        found[~leads(found, 0.3)] = np.nan
        return found

    path = tmp_path / "run.tsv"
    with pytest.warns(RuntimeWarning, match="void"):
        certify_dataset(
            near, (X, Y), DecisionList(rule_of("cascade")), n=1000, out=path
        )
    assert not verify(path).findings
    place = tmp_path / "run.tsv.manifest.json"
    entries = json.loads(place.read_text())
    place.write_text(json.dumps(entries | {"margin": 0.3}))
    assert "radius" in {str(finding.kind) for finding in verify(path).findings}


def test_a_margin_is_measured_at_each_level():
    levels = []

    class Watched(ArraySampler):
        def compared(self, x, sigma, n, generator):
            levels.append(sigma)
            return super().compared(x, sigma, n, generator)

    sampler = Watched(lambda batch: batch / 3)
    measure_margin(sampler, (X, Y), DecisionList(rule_of("cascade")))
    assert sorted({*levels}) == sorted(SIGMAS)
    assert len(levels) == 4  # of two inputs


def test_the_plan_does_not_depend_on_void_votes():
    """It is made of the selection samples alone, whose errors cost no certificate."""
    select = np.array([[30, 5, 5], [20, 10, 10]])
    chosen = plan(rule_of("cascade"), select, 100, 0.01)
    assert chosen.cls == 0
    found = certify_drawn(
        rule_of("cascade"),
        select,
        lambda k: np.array([0, 0, 0]),  # every sample is void
        Procedure(n=100, alpha=0.01, margin=0.1),
    )
    assert (found.predict, found.radius) == (-1, 0.0)


def test_only_correct_says_what_it_needs(tmp_path):
    numbers = {"n": 100, "only_correct": True}
    with pytest.raises(ValueError, match=r"only_correct.*selected"):
        certify_dataset(scores, (X, Y), DecisionList(rule_of("scores")), **numbers)
    assert Procedure(only_correct=True).only_correct
    path = tmp_path / "run.tsv"
    certify_dataset(
        scores, (X, Y), DecisionList(rule_of("sets")), n=500, margin=0.1, out=path
    )
    assert read(path).manifest.procedure.margin == 0.1
