"""Decision lists from counts: the oracle, what is drawn, the level by enumeration."""

from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest
from decision_lists import CASCADE, tables
from decision_lists import RULES as NAMED
from scipy.special import ndtr, ndtri
from scipy.stats import multinomial

from rsbounds import oracle
from rsbounds.certificate import ABSTAIN
from rsbounds.composite import Cond, Rule, certify, certify_counts, radius
from rsbounds.composite.estimate import _Bounds, estimate
from rsbounds.composite.internal import certify_drawn, plan
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure
from rsbounds.sampling import ArraySampler, Phase
from rsbounds.sampling.internal import stream

RULES = [NAMED[name] for name in ("cascade", "constant", "gates", "set")]


def draw(rng, rule, n0, n, classes=3):
    p = rng.dirichlet(np.full(classes, rng.choice([0.3, 1.0, 5.0])), len(rule.sigmas))
    p = 0.95 * p  # some samples are void
    full = np.concatenate([p, 1 - p.sum(axis=-1, keepdims=True)], axis=-1)
    select, counts = (
        np.stack([rng.multinomial(m, row)[:-1] for row in full]) for m in (n0, n)
    )
    return p, select, counts


@pytest.mark.slow
def test_recomputed_by_the_oracle():
    rng, certified = np.random.default_rng(0), 0
    for _ in range(40):
        rule = RULES[rng.integers(len(RULES))]
        n = int(rng.choice([50, 1000, 10_000]))
        _, select, counts = draw(rng, rule, 40, n)
        result = certify_counts(rule, select, counts, Procedure(n=n, alpha=0.01))
        chosen = asdict(plan(rule, select, n, 0.01))
        truth = oracle.composite_radius(
            rule.to_dict(), chosen, counts.tolist(), n, 0.01
        )
        assert result.radius <= truth
        assert result.radius >= truth - 1e-9
        assert (result.predict == ABSTAIN) == (result.radius == 0)
        certified += result.radius > 0
    assert certified > 10


class Recorder:
    def __init__(self, p):
        self.p, self.drawn = p, []

    def __call__(self, x, sigma, n, generator):
        counts = generator.multinomial(n, self.p[sigma])
        self.drawn.append((sigma, n, counts))
        return counts


def test_early_stop_changes_nothing_but_the_samples():
    rng, early = np.random.default_rng(4), 0
    for case in range(60):
        rule = RULES[case % 4]
        sampler = Recorder({s: rng.dirichlet([0.6] * 4) for s in rule.sigmas})
        result = certify(
            sampler, None, rule, Procedure(n0=30, n=500, alpha=0.01, seed=5), index=case
        )
        select = [c for _, n, c in sampler.drawn if n == 30]
        used = {s: c for s, n, c in sampler.drawn if n == 500}
        counts = [
            used[s]
            if s in used
            else sampler(None, s, 500, stream(5, case, Phase.ESTIMATE, k))
            for k, s in enumerate(rule.sigmas)
        ]
        assert result == certify_counts(
            rule, select, counts, Procedure(n=500, alpha=0.01)
        )
        assert result.samples == 30 * len(rule.sigmas) + 500 * len(used)
        assert len(used) == len(result.stages) >= 1
        early += len(used) < len(rule.sigmas)
    assert early > 10


def test_confident_inputs_stop_after_the_first_level():
    sampler = Recorder({1.0: [0.9, 0.1], 0.5: [0.9, 0.1]})
    result = certify(sampler, None, CASCADE, Procedure(n=5000))
    assert result.stages == (0,)
    assert result.samples == 5200
    # no class likely at the first: the gate lets it through
    sampler = Recorder({1.0: [0.26, 0.25, 0.25, 0.24], 0.5: [0.9, 0.05, 0.05, 0.0]})
    result = certify(sampler, None, CASCADE, Procedure(n=5000))
    assert (result.item, result.stages) == (1, (0, 1))
    assert result.binding.startswith("item 0 blocks class")
    assert result.sigma == 0.5


def test_an_expert_for_each_level():
    w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    samplers = [ArraySampler(lambda b: b @ w.T), ArraySampler(lambda b: -b @ w.T)]
    rule = Rule([0.5, 0.5], [[Cond("score", 0, 2.0)], [Cond("margin", 1)]])
    assert certify(samplers, [0.5, 0.0], rule, Procedure(n=1000)).predict == 1
    with pytest.raises(ValueError, match=r"samplers.*3"):
        certify([*samplers, samplers[0]], [0.5, 0.0], rule, Procedure(n=1000))


def radii(rule, choose, n, alpha, classes):
    """The radius of every pair of tables of counts, the plan fixed; -inf is an
    abstention.
    """
    rows = tables(n, classes)
    select = np.ones((2, classes), dtype=np.int64)
    radius_of = np.empty((len(rows), len(rows)))
    for i, j in product(range(len(rows)), repeat=2):
        counts = rows[i], rows[j]
        result = estimate(
            rule, select, choose, lambda k, c=counts: c[k], Procedure(n=n, alpha=alpha)
        )
        radius_of[i, j] = result.radius if result.predict != ABSTAIN else -np.inf
    return radius_of


def level(rule, p, n, result, cls=0):
    """P(radius exceeds the truth) for those radii: by enumeration of all tables."""
    truth = float(radius(rule, ndtri(np.array(p)), cls))
    first, second = (multinomial.pmf(tables(n, len(stage)), n, stage) for stage in p)
    return np.outer(first, second)[result > truth].sum()


@pytest.mark.slow
def test_level_of_the_whole_procedure():
    """Selection and estimation together, whatever the selection makes it choose."""
    n0, n, alpha = 3, 5, 0.2
    rule = Rule([1.0, 0.7], [[Cond("score", 0, 0.1)], [Cond("margin", 1)]])
    first, rows = tables(n0, 2), tables(n, 2)
    shape = len(first), len(first), len(rows), len(rows)
    result = np.full((2, *shape), -np.inf)  # by class, then by the tables of counts
    for a, b, i, j in np.ndindex(shape):
        one = certify_counts(
            rule, [first[a], first[b]], [rows[i], rows[j]], Procedure(n=n, alpha=alpha)
        )
        if one.predict != ABSTAIN:
            result[one.predict, a, b, i, j] = one.radius
    for p in ([[0.6, 0.4], [0.7, 0.3]], [[0.45, 0.55], [0.75, 0.25]]):
        truth = radius(rule, np.broadcast_to(ndtri(np.array(p)), (2, 2, 2)), [0, 1])
        weigh = [
            multinomial.pmf(t, m, q) for t, m in ((first, n0), (rows, n)) for q in p
        ]
        wrong = (result > truth.reshape(2, 1, 1, 1, 1)).any(axis=0)
        assert np.einsum("abij,a,b,i,j->", wrong, *weigh) <= alpha


TWO = Rule([1.0, 0.5], [[Cond("score", 0, 0.0)], [Cond("score", 1, 0.0)]])
NEAR = (
    [[0.7, 0.3], [0.85, 0.15]],
    [[0.5, 0.5], [0.6, 0.4]],
)  # the radii through both items
THREE = [[0.4, 0.3, 0.3], [0.5, 0.3, 0.2]], [[0.6, 0.2, 0.2], [0.4, 0.3, 0.3]]


@pytest.mark.parametrize(
    ("rule", "items", "n", "truths"),
    [
        (TWO, (0, 1), 25, NEAR),
        pytest.param(TWO, (0, 1), 60, NEAR, marks=pytest.mark.slow),
        (TWO, (1,), 25, ([[0.4, 0.6], [0.9, 0.1]],)),
        (TWO, (0,), 25, ([[0.7, 0.3], [0.5, 0.5]],)),
        (CASCADE, (0,), 5, THREE),
        (CASCADE, (1,), 5, THREE),
        pytest.param(CASCADE, (0, 1), 6, THREE, marks=pytest.mark.slow),
        pytest.param(CASCADE, (0, 1), 8, THREE, marks=pytest.mark.slow),
    ],
)
def test_level_by_enumeration(rule, items, n, truths):
    select = [[9, 1], [9, 1]] if rule is TWO else [[6, 2, 2], [6, 2, 2]]
    chosen = replace(plan(rule, select), cls=0, items=items)
    result = radii(rule, chosen, n, 0.1, len(select[0]))
    for p in truths:
        assert level(rule, p, n, result) <= 0.1


def test_an_item_out_of_reach_takes_no_alpha():
    """All of 100 votes bound no probability from above; what n samples certify does."""
    rule = Rule(
        [1.0, 0.5], [[Cond("margin", 0), Cond("score", 0, -0.25)], [Cond("margin", 1)]]
    )
    assert plan(rule, [[100, 0, 0], [100, 0, 0]]).items == (0,)
    assert plan(rule, [[50, 40, 10], [100, 0, 0]]).items == (0, 1)


def test_void_votes_of_selection_were_drawn():
    """The 35 votes of a stage that is mostly void were taken for all: its gate seemed
    to fire.
    """
    rule = Rule(
        [1.5, 0.5], [[Cond("margin", 0), Cond("score", 0, -0.25)], [Cond("margin", 1)]]
    )
    select, counts = [[16, 11, 8], [0, 0, 100]], [[1700, 1100, 700], [0, 50, 9950]]
    chosen = plan(rule, select, 10_000)
    assert (chosen.cls, chosen.items) == (2, (1,))
    c = certify_counts(rule, select, counts, Procedure(n=10_000, alpha=0.001))
    assert c.predict == 2
    assert 0.9 < c.radius < 1.2


@pytest.mark.slow
def test_maximum_over_items_at_full_alpha_is_caught(monkeypatch):
    """The invalid variant: every item at level alpha, then the best of them."""
    n, alpha = 24, 0.1
    # just below values that the bounds take: each bound alone errs with probability
    # alpha
    z = lower_bound([22, 17], n, alpha, scores=True) * (1 - 1e-9)
    p = [[ndtr(v), ndtr(-v)] for v in z]
    # equal radii through both items, and nothing but their own conditions binds
    rule = Rule([1.0, 1.0], [[Cond("score", 0, z[0] - z[1])], [Cond("score", 1)]])
    both = replace(plan(rule, [[8, 2], [8, 2]]), cls=0, items=(0, 1))

    def error(choose):
        return level(rule, p, n, radii(rule, choose, n, alpha, 2))

    assert 0.5 * alpha < error(both) <= alpha
    halves = _Bounds.__init__
    monkeypatch.setattr(
        _Bounds, "__init__", lambda self, c, m, a, v: halves(self, c, m, 2 * a, v)
    )
    # two independent stages: 1 - (1 - alpha)^2
    assert error(both) == pytest.approx(0.19, rel=1e-3)


def test_bad_counts_are_named():
    select, counts = [[5, 5], [5, 5]], [[50, 50], [50, 50]]
    procedure = Procedure(n=100, alpha=0.1)
    for args, match in (
        (([[5, 5]], counts), r"select must have shape \(2 levels"),
        (
            ([[5, 5], [5, 5, 1]], counts),
            "select must have rows of one length",
        ),
        ((select, counts[:1]), "counts must be of 2 stages"),
        (
            (select, [[50, 50], [50, 49, 1]]),
            r"counts\[1\] must be counts of 2 classes",
        ),
        (
            (select, [[50, 50], [50, 51]]),
            r"counts\[1\] must sum to at most n = 100",
        ),
        (
            (select, [None, counts[1]]),
            "counts must hold stage 0, which the rule needs",
        ),
    ):
        with pytest.raises(ValueError, match=match):
            certify_counts(CASCADE, *args, procedure)


def test_counts_whose_sum_wraps_around_are_refused():
    """Four counts of 2^62 were 0 samples."""
    counts = [[2**62] * 4] * 2
    with pytest.raises(ValueError, match=r"select.*sum"):
        certify_counts(CASCADE, counts, [[1] * 4] * 2, Procedure(n=100, alpha=0.1))
    with pytest.raises(ValueError, match=r"counts\[0\].*sum"):
        certify_counts(CASCADE, [[1] * 4] * 2, counts, Procedure(n=100, alpha=0.1))


def test_stages_are_drawn_once_and_in_the_order_of_the_items():
    drawn = []

    def counts_of(stage):
        drawn.append(stage)
        return np.array(counts[stage])

    select = [[26, 25, 25, 24], [90, 5, 5, 0]]
    counts = [[1300, 1250, 1250, 1200], [4500, 250, 250, 0]]
    result = certify_drawn(CASCADE, select, counts_of, Procedure(n=5000))
    assert drawn == list(result.stages) == [0, 1]
    assert result == certify_counts(
        CASCADE, select, counts, Procedure(n=5000, alpha=0.001)
    )


def test_more_classes_at_one_level_than_at_another():
    samplers = [Recorder({1.0: [0.5, 0.5]}), Recorder({0.5: [0.4, 0.3, 0.3]})]
    with pytest.raises(ValueError, match=r"stage 1.*2 classes"):
        certify(samplers, None, CASCADE, Procedure(n=100))


def test_an_alpha_too_small_to_be_divided_is_named():
    select = [[50, 40, 10], [60, 30, 10]]
    with pytest.raises(ValueError, match=r"^alpha must.*5e-324"):
        certify_counts(CASCADE, select, select, Procedure(n=100, alpha=5e-324))
