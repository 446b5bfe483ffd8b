"""The registry of bounds: one interface, the values of the functions, the level of a pair."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, ndtri, xlogy
from scipy.stats import multinomial

from rsbounds.confidence import (
    BOUNDS,
    ScoreHistogram,
    anytime_lower_bound,
    anytime_pair_bounds,
    lower_bound,
    pair_bounds,
    randomized_lower_bound,
    soft_lower_bound,
    soft_pair_bounds,
    upper_bound,
)

COUNTS = [name for name, bound in BOUNDS.items() if bound.evidence == "counts"]
SOFT = [name for name, bound in BOUNDS.items() if bound.evidence == "scores"]


def histograms(n: int = 400) -> list[ScoreHistogram]:
    rng = np.random.default_rng(3)
    scores = rng.dirichlet([6.0, 2.0, 1.0], n)
    made = [ScoreHistogram() for _ in range(3)]
    for h, column in zip(made, scores.T, strict=True):
        h.add(column)
    return made


def evidence(name: str):
    return [40, 300, 55] if BOUNDS[name].evidence == "counts" else histograms()


def test_names_are_the_keys():
    assert all(bound.name == name for name, bound in BOUNDS.items())
    assert {"clopper-pearson", "randomized", "anytime"} <= set(COUNTS)
    assert {"chernoff", "maurer-pontil", "betting"} == set(SOFT)


def test_values_are_those_of_the_functions():
    args = ([40, 300, 55], 1, 400, 0.01)
    pair = BOUNDS["clopper-pearson"].pair(*args, runner_up=True)
    assert (pair.z_a, pair.z_b) == pair_bounds(300, 55, 400, 0.01, scores=True)
    assert (pair.p_a, pair.p_b) == pair_bounds(300, 55, 400, 0.01)
    assert pair.p_b == upper_bound(55, 400, 0.005) < 1 - pair.p_a
    pair = BOUNDS["clopper-pearson"].pair(*args, runner_up=False)
    assert pair.z_a == -pair.z_b == lower_bound(300, 400, 0.01, scores=True)
    assert pair.p_a == lower_bound(300, 400, 0.01)
    pair = BOUNDS["anytime"].pair(*args, runner_up=True)
    assert (pair.p_a, pair.p_b) == anytime_pair_bounds(300, 55, 400, 0.01)
    pair = BOUNDS["anytime"].pair(*args, runner_up=False)
    assert pair.p_a == anytime_lower_bound(300, 400, 0.01)
    u = 1 - np.random.default_rng(5).random()
    pair = BOUNDS["randomized"].pair(*args, runner_up=False, u=u)
    assert pair.p_a == randomized_lower_bound(300, 400, 0.01, 5)


@pytest.mark.parametrize("name", SOFT)
def test_soft_values_are_those_of_the_functions(name):
    made = histograms()
    pair = BOUNDS[name].pair(made, 0, 400, 0.01, runner_up=True)
    assert (pair.p_a, pair.p_b) == soft_pair_bounds(made[0], made[1:], 0.01, method=name)
    pair = BOUNDS[name].pair(made, 0, 400, 0.01, runner_up=False)
    assert pair.z_a == -pair.z_b == soft_lower_bound(made[0], 0.01, method=name, scores=True)


@pytest.mark.parametrize("name", BOUNDS)
def test_two_classes_are_capped_at_the_complement(name):
    if BOUNDS[name].evidence == "counts":
        given = [300, 100]
    else:
        # the second class's scores are spread wider than the first's complement
        given = [ScoreHistogram(), ScoreHistogram()]
        given[0].add([0.75] * 400)
        given[1].add([0.0, 0.5] * 200)
    pair = BOUNDS[name].pair(given, 0, 400, 0.01, runner_up=True, u=0.5)
    assert pair.z_b <= -pair.z_a
    if name in ("clopper-pearson", "anytime", "chernoff", "joint"):
        assert pair.z_b == -pair.z_a
        assert pair.p_b == pytest.approx(1 - pair.p_a, rel=1e-12)


def test_clopper_pearson_is_solved_once_for_each_end(monkeypatch):
    from rsbounds.confidence import counts

    calls = []
    solve = counts.clopper_pearson
    monkeypatch.setattr(counts, "clopper_pearson", lambda *a: calls.append(a) or solve(*a))
    BOUNDS["clopper-pearson"].pair([40, 300, 55], 1, 400, 0.01, runner_up=True)
    assert len(calls) == 2
    BOUNDS["clopper-pearson"].pair([40, 300, 55], 1, 400, 0.01, runner_up=False)
    assert len(calls) == 3


def error_of_pair(name: str, p: list[list[float]], n: int, alpha: float, grid: int) -> list[float]:
    """P(z_a - z_b exceeds the truth), by enumeration of the counts and, if random, of u."""
    tables = np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)])
    uniforms = (np.arange(grid) + 0.5) / grid if grid > 1 else [None]
    gap = np.empty((len(tables), len(uniforms)))
    for i, j in np.ndindex(gap.shape):
        pair = BOUNDS[name].pair(tables[i], 0, n, alpha, runner_up=True, u=uniforms[j])
        gap[i, j] = pair.z_a - pair.z_b
    truth = [ndtri(one[0]) - ndtri(max(one[1:])) for one in p]
    return [
        multinomial.pmf(tables, n, one) @ (gap > true).mean(axis=1)
        for one, true in zip(p, truth, strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "n", "grid"), [("clopper-pearson", 20, 1), ("anytime", 12, 1), ("randomized", 8, 16)]
)
def test_level_of_the_pair_by_enumeration(name, n, grid):
    p = [[0.4, 0.3, 0.3], [0.6, 0.2, 0.2], [0.5, 0.45, 0.05]]
    # the midpoint rule over u is off by at most 1/(2 grid) of the mass of one count
    assert max(error_of_pair(name, p, n, 0.2, grid)) <= 0.2


def differences(name: str, n: int, alpha: float) -> dict[tuple[int, int], float]:
    """z_a - z_b by counts of the top class and of the largest other one."""
    every = [(a, b) for a in range(n + 1) for b in range(n + 1 - a)]
    found = dict.fromkeys(every, 0.0)  # no bound is positive where b leads
    leading = [(a, b) for a, b in every if a >= b]
    z_a, z_b = pair_bounds(*np.array(leading).T, n, alpha, scores=True, method=name)
    return found | dict(zip(leading, (z_a - z_b).tolist(), strict=True))


def level(found: dict[tuple[int, int], float], p: list[float], n: int) -> float:
    """P(the difference exceeds the truth) by enumeration of all tables."""
    truth = max(ndtri(p[0]) - ndtri(max(p[1:])), 0.0)
    rests = product(range(n + 1), repeat=len(p) - 1)
    over = [(n - sum(r), *r) for r in rests if sum(r) <= n and found[n - sum(r), max(r)] > truth]
    return float(multinomial.pmf(np.array(over), n, p).sum()) if over else 0.0


@pytest.mark.parametrize("name", ["clopper-pearson", "joint"])
def test_level_of_the_difference_for_two_to_four_classes(name):
    alpha, worst = 0.1, 0.0
    for n in (12, 40):
        found = differences(name, n, alpha)
        for p in (
            [0.6, 0.4],
            [0.75, 0.25],
            [0.4, 0.35, 0.25],
            [0.6, 0.05, 0.35],
            [0.5, 0.25, 0.25],
        ):
            worst = max(worst, level(found, p, n))
        if n == 12:
            for p in ([0.4, 0.2, 0.2, 0.2], [0.45, 0.4, 0.1, 0.05]):
                worst = max(worst, level(found, p, n))
    # and it is not empty: the test would see twice the level
    assert 0.3 * alpha < worst <= alpha


@pytest.mark.parametrize(("name", "least"), [("clopper-pearson", 0.4), ("joint", 0.9)])
def test_largest_error_over_a_grid_of_three_classes(name, least):
    """Never above alpha, and the joint limit spends nearly all of it."""
    n, alpha = 20, 0.1
    found = differences(name, n, alpha)
    tables = np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)])
    bound = np.array([found[a, max(b, c)] for a, b, c in tables])
    ways = gammaln(n + 1) - gammaln(tables + 1).sum(axis=-1)
    worst = 0.0
    for p_a, share in product(np.linspace(0.05, 0.99, 95), (0.5, 0.55, 0.65, 0.8, 0.95, 1.0)):
        p = np.array([p_a, (1 - p_a) * share, (1 - p_a) * (1 - share)])
        wrong = bound > max(ndtri(p[0]) - ndtri(p[1]), 0.0)
        worst = max(worst, float(np.exp(ways + xlogy(tables, p).sum(axis=-1))[wrong].sum()))
    assert least * alpha < worst <= alpha


def test_joint_falls_in_the_other_count_and_is_mostly_above_the_pair():
    for a, b in ((600, 50), (450, 70), (450, 300), (970, 5)):
        joint = pair_bounds(a, [b, b + 1, b + 20], 1000, 0.001, scores=True, method="joint")[0]
        assert np.all(np.diff(joint) < 0) or joint[-1] == 0
        z_a, z_b = pair_bounds(a, b, 1000, 0.001, scores=True)
        assert joint[0] > 0.5 * (z_a - z_b)


def test_joint_loses_what_the_theory_says():
    """n = 1e4, alpha = .001: part of the radius that is lost, at most that of the table."""
    for p_a, p_b, loss in ((0.6, 0.3, 0.103), (0.6, 0.05, 0.047), (0.45, 0.07, 0.06)):
        z_a, z_b = pair_bounds(
            round(1e4 * p_a), round(1e4 * p_b), 10_000, 0.001, scores=True, method="joint"
        )
        assert (z_a - z_b) / (ndtri(p_a) - ndtri(p_b)) > 1 - loss


def test_joint_says_what_it_is():
    bound = BOUNDS["joint"]
    assert bound.difference_only
    assert not any(b.difference_only for b in BOUNDS.values() if b is not bound)
    pair = bound.pair([450, 70, 300], 0, 1000, 0.001, runner_up=True)
    assert pair.z_b == -pair.z_a
    assert pair.p_b == pytest.approx(1 - pair.p_a, rel=1e-12)
    # no lead, no certificate, and no infinity for a clean sweep
    assert bound.pair([300, 400], 0, 1000, 0.001, runner_up=True)[:2] == (0.0, 0.0)
    assert np.isfinite(bound.pair([1000, 0], 0, 1000, 0.001, runner_up=True).z_a)
    single = bound.pair([450, 70, 300], 0, 1000, 0.001, runner_up=False)
    assert single == BOUNDS["clopper-pearson"].pair([450, 70, 300], 0, 1000, 0.001, runner_up=False)
    with pytest.raises(ValueError, match=r"n must be <= 1e\+06 for a joint limit; got 2000000"):
        pair_bounds(5, 3, 2_000_000, 0.1, method="joint")
    with pytest.raises(ValueError, match="rigorous must be False"):
        pair_bounds(5, 3, 10, 0.1, method="joint", rigorous=True)
    with pytest.raises(ValueError, match="method must be one of"):
        pair_bounds(5, 3, 10, 0.1, method="bonferroni")


def test_randomized_pair_is_above_the_plain_one_for_every_u():
    plain = BOUNDS["clopper-pearson"].pair([60, 20, 10], 0, 95, 0.01, runner_up=True)
    for u in (2.0**-53, 0.1, 0.5, 1.0):
        pair = BOUNDS["randomized"].pair([60, 20, 10], 0, 95, 0.01, runner_up=True, u=u)
        assert pair.z_a >= plain.z_a
        assert pair.z_b <= plain.z_b


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("runner_up", [True, False])
def test_bad_input_is_named(name, runner_up):
    bound = BOUNDS[name]
    good = {"evidence": evidence(name), "top": 1, "n": 400, "alpha": 0.01, "u": 0.5}
    for wrong, match in (
        ({"top": 3}, "top must be one of 3 classes; got 3"),
        ({"top": -1}, "top must be >= 0"),
        ({"n": 0}, "n must be >= 1"),
        ({"alpha": 0.0}, "alpha must be in"),
        ({"alpha": float("nan")}, "alpha must be one finite number"),
        ({"evidence": evidence(name)[:1], "top": 0}, "evidence must be .*two classes or more"),
    ):
        with pytest.raises(ValueError, match=match):
            bound.pair(**{**good, **wrong}, runner_up=runner_up)


def test_bad_counts_and_uniforms_are_named():
    bound = BOUNDS["clopper-pearson"]
    with pytest.raises(ValueError, match="evidence must sum to at most n = 10; got 11"):
        bound.pair([6, 5], 0, 10, 0.1, runner_up=True)
    with pytest.raises(ValueError, match="evidence must be whole numbers"):
        bound.pair([6.5, 1], 0, 10, 0.1, runner_up=True)
    with pytest.raises(ValueError, match="histograms of n = 399 scores; got 400"):
        BOUNDS["chernoff"].pair(histograms(), 0, 399, 0.1, runner_up=True)
    for u in (None, 0.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="u must be"):
            BOUNDS["randomized"].pair([6, 4], 0, 10, 0.1, runner_up=True, u=u)
    with pytest.raises(ValueError, match=r"alpha must be in .*got 0.7"):
        BOUNDS["anytime"].pair([6, 4], 0, 10, 0.7, runner_up=False)


def test_the_smallest_alpha_is_named_as_given():
    # half of it is 0, and 0 was never given
    with pytest.raises(ValueError, match=r"alpha must be in \[9.88131e-324, inf\]; got 5e-324"):
        pair_bounds(5, 3, 10, 5e-324)
    assert pair_bounds(5, 3, 10, 1e-323)[0] >= 0.0
