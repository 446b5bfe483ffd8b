"""The registry of bounds: its interface, the level of a pair; randomized
Clopper-Pearson.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusals
from scipy.stats import binom

from rsbounds.confidence import (
    BOUNDS,
    Bound,
    ScoreHistogram,
    anytime_lower_bound,
    anytime_upper_bound,
    lower_bound,
    opposite_uniform,
    pair_bounds,
    randomized_lower_bound,
    soft_lower_bound,
    soft_upper_bound,
    upper_bound,
)
from rsbounds.confidence.bound import check_entry, divided
from rsbounds.confidence.counts import randomized_end

SOFT = [name for name, bound in BOUNDS.items() if bound.evidence == "scores"]


def histograms(n=400):
    rng = np.random.default_rng(3)
    scores = rng.dirichlet([6.0, 2.0, 1.0], n)
    made = [ScoreHistogram() for _ in range(3)]
    for h, column in zip(made, scores.T, strict=True):
        h.add(column)
    return made


def test_values_are_those_of_the_functions():
    assert all(bound.name == name for name, bound in BOUNDS.items())
    args = ([40, 300, 55], 1, 400, 0.01)
    for method in ("clopper-pearson", "anytime"):
        pair = BOUNDS[method].pair(*args, runner_up=True)
        assert (pair.z_a, pair.z_b) == pair_bounds(
            300, 55, 400, 0.01, scores=True, method=method
        )
        assert (pair.p_a, pair.p_b) == pair_bounds(300, 55, 400, 0.01, method=method)
    assert (
        upper_bound(55, 400, 0.005) == pair_bounds(300, 55, 400, 0.01)[1] < 1 - pair.p_a
    )
    pair = BOUNDS["clopper-pearson"].pair(*args, runner_up=False)
    assert pair.z_a == -pair.z_b == lower_bound(300, 400, 0.01, scores=True)
    assert pair.p_a == lower_bound(300, 400, 0.01)
    pair = BOUNDS["anytime"].pair(*args, runner_up=False)
    assert pair.p_a == anytime_lower_bound(300, 400, 0.01)
    u = 1 - np.random.default_rng(5).random()
    pair = BOUNDS["randomized"].pair(*args, runner_up=False, u=u)
    assert pair.p_a == randomized_lower_bound(300, 400, 0.01, 5)
    made = histograms()
    for name in SOFT:
        pair = BOUNDS[name].pair(made, 0, 400, 0.01, runner_up=True)
        assert pair.p_a == soft_lower_bound(made[0], 0.005, method=name)
        others = [soft_upper_bound(h, 0.005, method=name) for h in made[1:]]
        assert pair.p_b == max(others) < 1 - pair.p_a
        pair = BOUNDS[name].pair(made, 0, 400, 0.01, runner_up=False)
        assert (
            pair.z_a
            == -pair.z_b
            == soft_lower_bound(made[0], 0.01, method=name, scores=True)
        )


def test_optimistic_ends_are_those_of_the_functions():
    bound = BOUNDS["anytime"]
    most = anytime_upper_bound(300, 400, 0.01, scores=True)
    least = anytime_lower_bound(55, 400, 0.01, scores=True)
    ends = bound.optimistic([40, 300, 55], 1, 400, 0.01, runner_up=True)
    assert ends == (most, least)
    ends = bound.optimistic([40, 300, 55], 1, 400, 0.01, runner_up=False)
    assert ends == (most, -most)
    # two classes: the other one can't be likelier than what the first leaves
    ends = bound.optimistic([200, 200], 0, 400, 0.01, runner_up=True)
    assert ends == (-ends[1], -ends[0])
    with pytest.raises(ValueError, match=r"'randomized'.*any time"):
        BOUNDS["randomized"].optimistic([1, 2], 1, 3, 0.01, runner_up=True)


test_an_entry_is_a_bound = refusals(
    {
        r"confidence\.Bound": lambda: check_entry("clopper-pearson"),
        r"evidence.*one of": lambda: Bound("mine", "votes", None),
        "most_alpha must": lambda: Bound("mine", "counts", None, most_alpha=0.0),
    }
)


@pytest.mark.parametrize("name", BOUNDS)
def test_two_classes_are_capped_at_the_complement(name):
    if BOUNDS[name].evidence != "scores":
        given = [300, 100]
    else:
        # the second class's scores are spread wider than the first's complement
        given = [ScoreHistogram(), ScoreHistogram()]
        given[0].add([0.75] * 400)
        given[1].add([0.0, 0.5] * 200)
    pair = BOUNDS[name].pair(given, 0, 400, 0.01, runner_up=True, u=0.5)
    assert pair.z_b <= -pair.z_a
    if name in ("clopper-pearson", "anytime", "chernoff"):
        assert pair.z_b == -pair.z_a
        assert pair.p_b == pytest.approx(1 - pair.p_a, rel=1e-12)


BAD = [
    ({"top": 3}, "top must be one of 3 classes; got 3"),
    ({"top": -1}, "top must be >= 0"),
    ({"evidence": [300, 101]}, "evidence must sum to at most n = 400; got 401"),
    ({"evidence": [6.5, 1]}, "evidence must be whole numbers"),
    (
        {"name": "chernoff", "evidence": histograms(399)},
        "histograms of n = 400 scores; got 399",
    ),
]


@pytest.mark.parametrize(("wrong", "match"), BAD)
@pytest.mark.parametrize("runner_up", [True, False])
def test_bad_input_is_named(wrong, match, runner_up):
    given = {"name": "clopper-pearson", "evidence": [40, 300, 55], "top": 1, "n": 400}
    given |= {"alpha": 0.01, "u": 0.5} | wrong
    with pytest.raises(ValueError, match=match):
        BOUNDS[given.pop("name")].pair(**given, runner_up=runner_up)


def test_bad_levels_of_pairs_are_named():
    with pytest.raises(ValueError, match=r"alpha must.*0\.7"):
        pair_bounds(6, 4, 10, 0.7, method="anytime")
    with pytest.raises(ValueError, match=r"alpha must.*0\.7"):
        BOUNDS["anytime"].pair([6, 4], 0, 10, 0.7, runner_up=False)
    with pytest.raises(ValueError, match=r"method.*one of"):
        pair_bounds(6, 4, 10, 0.1, method="bonferroni")
    # half of it is 0, and 0 was never given
    with pytest.raises(ValueError, match=r"alpha must.*5e-324"):
        pair_bounds(5, 3, 10, 5e-324)
    assert pair_bounds(5, 3, 10, 1e-323)[0] >= 0.0


def test_levels_that_are_divided_sum_to_no_more():
    """Half of 3 times the smallest number was twice it: 4 in all."""
    smallest = 2.0**-1074
    for units in range(2, 40):
        for parts in range(1, units + 1):
            level = divided(units * smallest, parts)
            assert level == units // parts * smallest
    assert divided(0.3, 7) == np.nextafter(0.3 / 7, 0)
    assert divided(np.array([3 * smallest, 0.3]), 2).tolist() == [smallest, 0.15]
    with pytest.raises(ValueError, match="alpha must"):
        divided(smallest, 2)


def error_probability(n, alpha, p):
    """P(bound > p) over the count and U, the bound being decreasing in U."""
    counts = np.broadcast_to(np.arange(n + 1), (p.size, n + 1))
    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    for _ in range(34):
        u = 0.5 * (low + high)
        bound = randomized_end(
            counts, np.full_like(counts, n), np.full(u.shape, alpha), u
        ).p
        wrong = bound > p[:, None]
        low, high = np.where(wrong, u, low), np.where(wrong, high, u)
    return np.sum(binom.pmf(counts, n, p[:, None]) * low, axis=1)


@pytest.mark.parametrize("n", [1, 2, 5, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.8])
def test_level_is_exact_below_the_cap(n, alpha):
    cap = alpha ** (1 / (n + 1))
    p = np.append(np.linspace(0.02, 0.999, 12), [cap * (1 - 1e-6), cap * (1 + 1e-6)])
    error = error_probability(n, alpha, p)
    assert np.all(error <= alpha * (1 + 1e-13))
    # 34 halvings leave 6e-11 of each U; outward rounding moves less than that.
    assert np.all(error[p < cap] >= alpha - 1e-10)
    # With the cap only the successes that stop short of n can err.
    assert np.all(error[p > cap] < alpha)


@settings(deadline=None)
@given(
    st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.floats(1e-9, 0.999),
    st.integers(0, 2**32),
)
def test_between_this_count_and_the_next(case, alpha, seed):
    count, n = case
    z = randomized_lower_bound(count, n, alpha, seed, scores=True)
    assert z >= lower_bound(count, n, alpha, scores=True)
    if count < n:
        assert z <= lower_bound(count + 1, n, alpha, scores=True)
    else:
        assert z <= lower_bound(n + 1, n + 1, alpha, scores=True)


@pytest.mark.parametrize("alpha", [1e-120, 1e-150, 1e-199, 1e-300])
def test_never_below_clopper_pearson_at_tiny_levels(alpha):
    counts = np.arange(1, 6)
    for n in (5, 6, 8, 16):
        for scores in (False, True):
            z = randomized_lower_bound(counts, n, alpha, 1, scores=scores)
            assert np.all(z >= lower_bound(counts, n, alpha, scores=scores))


def test_seeded():
    draw = [randomized_lower_bound(7, 10, 0.1, [3, i]) for i in (0, 1, 0)]
    assert draw[0] == draw[2] != draw[1]
    assert randomized_lower_bound(7, 10, 0.1, np.random.default_rng([3, 1])) == draw[1]
    assert randomized_lower_bound([[0], [10]], 10, [0.1, 0.5, 0.9], 0).shape == (2, 3)
    with pytest.raises(ValueError, match=r"count.*<= n"):
        randomized_lower_bound(11, 10, 0.1, 0)


def test_opposites_are_on_one_grid():
    for u in (2.0**-53, 0.5, 1.0, 1.0 - 2.0**-53):
        assert opposite_uniform(opposite_uniform(u)) == u
        assert 0.0 < opposite_uniform(np.float32(u)) <= 1.0


def test_a_seed_that_seeds_nothing_is_named():
    for seed in (-1, "x", 0.5, object()):
        with pytest.raises(ValueError, match=r"^seed.*generator"):
            randomized_lower_bound(1, 2, 0.1, seed)
