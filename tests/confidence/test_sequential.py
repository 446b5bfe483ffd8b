"""Betting tests: exact error by dynamic programming, wealth against interval
arithmetic.
"""

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from refusals import refusals
from scipy.special import ndtr, ndtri

from rsbounds import oracle
from rsbounds.confidence import (
    ScoreHistogram,
    SequentialTest,
    anytime_lower_bound,
    anytime_upper_bound,
    lower_bound,
    pair_bounds,
    soft_lower_bound,
)
from rsbounds_ext import kernels

MANY = [20, pytest.param(200, marks=pytest.mark.slow)]


pytestmark = [
    pytest.mark.usefixtures("balls"),
    pytest.mark.filterwarnings("ignore:alpha = "),  # levels of all sizes
]


def stopping(test, p, horizon, batch=1):
    """P(the test stops at trial t), t = 1 ... horizon, for hits of chance p, seen by
    batch.

    Where less than 1e-25 is left the test is not asked, and counts as stopped.
    """
    alive, stopped = np.ones(1), np.zeros(horizon)
    for t in range(1, horizon + 1):
        alive = np.append(alive * (1 - p), 0.0) + np.append(0.0, alive * p)
        if t % batch:
            continue
        done = alive < 1e-25
        asked = np.flatnonzero(~done)
        done[asked] = test.proves(asked, t)
        stopped[t - 1] = alive[done].sum()
        alive[done] = 0.0
    return stopped


@pytest.mark.parametrize(
    ("radius", "alpha", "horizon"),
    [
        (0.0, 0.5, 400),
        (1.0, 0.05, 400),
        (2.0, 0.2, 400),
        pytest.param(1.0, 0.001, 2000, marks=pytest.mark.slow),
    ],
)
def test_error_is_at_most_alpha(radius, alpha, horizon):
    test = SequentialTest(radius, 1.0, alpha)
    p0 = ndtr(radius)
    error = stopping(test, p0, horizon).sum()
    assert error <= alpha
    # A test that never stops would pass too: below 2000 trials it spends some of alpha.
    assert error >= 0.05 * alpha
    for p in p0 * np.array([0.9, 0.999]):
        assert stopping(test, p, 100).sum() <= error


@pytest.mark.parametrize(("batch", "expected"), [(1, 133.5), (100, 195.7)])
def test_mean_sample_size_at_p_95(batch, expected):
    """Between 134 and 200 samples, by how often one looks, where 1e5 were fixed."""
    stopped = stopping(SequentialTest(0.25, 0.25, 0.001), 0.95, 2000, batch)
    assert stopped.sum() >= 1 - 1e-12
    assert stopped @ np.arange(1, stopped.size + 1) == pytest.approx(expected, abs=0.1)


def exact_log_wealth(hits, trials, z0):
    tails = ((sign * arb(z0) / arb(2).sqrt()).erfc() / 2 for sign in (-1, 1))
    return exact_wealth(hits, trials, *tails)


def exact_log_wealth_at(hits, trials, x):
    """x is p0 or, below 0, p0 - 1."""
    return exact_wealth(
        hits, trials, *((arb(x), 1 - arb(x)) if x > 0 else (1 + arb(x), -arb(x)))
    )


def exact_wealth(hits, trials, p0, q0):
    misses, half = trials - hits, arb(1) / 2
    ratio = q0.beta_lower(misses + half, hits + half) / q0.beta_lower(half, half)
    return ratio.log() - hits * p0.log() - misses * q0.log()


def test_log_wealth_of_one_trial_and_of_a_tail_that_underflows():
    for hits, z0 in ((1, 0.0), (0, 0.5)):
        exact = float(exact_log_wealth(hits, 1, z0))
        assert SequentialTest(z0, 1.0, 0.1).log_wealth(hits, 1) == pytest.approx(
            exact, abs=1e-11
        )
    assert (
        SequentialTest(3.0, 1.0, 0.1).log_wealth(10, 10**6) == -np.inf
    )  # the safe side


counts_and_trials = st.integers(1, 10**6).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n))
)


@settings(deadline=None, max_examples=40)
@given(counts_and_trials, st.floats(1e-9, 0.5))
def test_bound_is_the_edge_of_the_test(case, alpha):
    hits, trials = max(case[0], 1), case[1]
    z = anytime_lower_bound(hits, trials, alpha, scores=True)
    assert z <= lower_bound(hits, trials, alpha, scores=True)
    if z > 0:
        assert not SequentialTest(z + 1e-8 * (1 + abs(z)), 1.0, alpha).proves(
            hits, trials
        )
        # 1e-9: the rounding noise of the wealth, over its slope in z
        assert SequentialTest(z * (1 - 1e-9), 1.0, alpha).proves(hits, trials)


def betting_bound(hits, trials, alpha):
    made = [ScoreHistogram([trials - k, k], [0.0, 1.0]) for k in hits]
    return np.array([soft_lower_bound(h, alpha, method="betting") for h in made])


@pytest.mark.parametrize(
    ("bound", "horizon"), [(anytime_lower_bound, 40), (betting_bound, 20)]
)
def test_bound_covers_at_all_times_together(bound, horizon):
    """P(some bound up to the horizon exceeds p) <= alpha, exactly, from the bound
    itself.
    """
    alpha, p, error, alive = 0.2, 0.7, 0.0, np.ones(1)
    for t in range(1, horizon + 1):
        alive = np.append(alive * (1 - p), 0.0) + np.append(0.0, alive * p)
        wrong = bound(np.arange(t + 1), t, alpha) > p
        error += alive[wrong].sum()
        alive[wrong] = 0.0
    assert 0.05 * alpha <= error <= alpha


@settings(deadline=None, max_examples=25)
@given(counts_and_trials, st.floats(1e-9, 0.5))
def test_interval(case, alpha):
    hits, trials = case
    lower, upper = (
        anytime_lower_bound(hits, trials, alpha),
        anytime_upper_bound(hits, trials, alpha),
    )
    assert 0 <= lower <= hits / trials <= upper <= 1
    z = anytime_lower_bound(hits, trials, alpha, scores=True)
    assert anytime_upper_bound(trials - hits, trials, alpha, scores=True) == -z
    assert lower <= ndtr(z) * (1 + 1e-12)
    if hits == 0:
        assert lower == 0
        assert z == -np.inf


test_bad_input_is_named = refusals(
    {
        "radius must be one finite number": lambda: SequentialTest(
            [1.0, 2.0], 1.0, 0.1
        ),
        "alpha must be in \\(0, 0.5\\]": lambda: SequentialTest(1.0, 1.0, 0.6),
        "hits must be <= trials; got 11 > 10": lambda: SequentialTest(
            1.0, 1.0, 0.1
        ).proves(11, 10),
    }
)


@pytest.mark.parametrize("cases_drawn", MANY)
def test_bounds_of_many_trials_are_proved_by_interval_arithmetic(cases_drawn):
    """SciPy's betaln is off by 1e-8 and more where both its arguments are large."""
    rng = np.random.default_rng(3)
    cases = [(9279547 - 30, 9279547, 0.0057323712569246794),
             (9800006897 - 74764, 9800006897, 0.004829957642211832),
             (781856090915 - 1971364, 781856090915, 0.003440538211626604)]  # fmt: skip
    for _ in range(cases_drawn):
        trials = int(10 ** rng.uniform(5, 12))
        misses = int(rng.poisson(trials * 10 ** rng.uniform(-8, -1)))
        cases.append((trials - misses, trials, 10 ** rng.uniform(-4, -1)))
    for hits, trials, alpha in cases:
        z = float(anytime_lower_bound(hits, trials, alpha, scores=True))
        assert exact_log_wealth(hits, trials, z) >= -arb(alpha).log()
        assert not SequentialTest(z * (1 + 1e-6), 1.0, alpha).proves(hits, trials)


@pytest.mark.parametrize("cases_drawn", MANY)
def test_wealth_is_rounded_down_and_not_far(cases_drawn):
    """By the loss that the page derives: at the bound itself and elsewhere."""
    rng = np.random.default_rng(4)
    for _ in range(cases_drawn):
        trials = int(10 ** rng.uniform(0, 12))
        hits = max(trials - int(rng.poisson(trials * 10 ** rng.uniform(-9, -0.4))), 1)
        bound = kernels.anytime_bound(hits, trials, 0.01)
        for x in (bound, bound * (1.2 if bound < 0 else 0.8)):
            value = float(kernels.log_wealth(hits, trials, x))
            off = exact_log_wealth_at(hits, trials, x) - value
            most = 1e-10 if min(hits, trials - hits) < 1e4 else 1e-6
            assert 0 <= off <= most + 5e-15 * value


def test_tiny_alphas_keep_the_rounding_promise():
    """At p0 near 0 the tail above it is 1 - P(Beta < p0), not a function of a rounded 1
    - p0.
    """
    rng = np.random.default_rng(12)
    for alpha in [1.110990828244705e-16, *10 ** rng.uniform(-16, -11, 8)]:
        z = anytime_lower_bound(1, 1, alpha, scores=True)
        assert oracle.log_wealth(1, 1, z) >= -mp.log(mp.mpf(alpha))
        # one hit in one trial: W tends to 1/(2 p0) as p0 -> 0, by 2 sqrt(p0)/pi
        assert anytime_lower_bound(1, 1, alpha) == pytest.approx(alpha / 2, rel=1e-5)


def test_pair_holds_at_every_time():
    """P(z_a - z_b ever exceeds the truth) by dynamic programming over the trinomial's
    paths.
    """
    alpha, p_a, p_b, rest, n = 0.2, 0.45, 0.4, 0.15, 12
    truth = ndtri(p_a) - ndtri(p_b)
    alive, wrong = {(0, 0): 1.0}, 0.0
    for t in range(1, n + 1):
        new = {}
        for (a, b), mass in alive.items():
            for da, db, p in ((1, 0, p_a), (0, 1, p_b), (0, 0, rest)):
                key = (a + da, b + db)
                new[key] = new.get(key, 0.0) + mass * p
        a, b = np.array(list(new)).T
        # the third class may have more than the second
        z_a, z_b = pair_bounds(
            a, np.maximum(b, t - a - b), t, alpha, scores=True, method="anytime"
        )
        over = z_a - z_b > truth
        wrong += sum(m for m, o in zip(new.values(), over, strict=True) if o)
        alive = {k: m for (k, m), o in zip(new.items(), over, strict=True) if not o}
    assert wrong <= alpha


def test_wealth_against_a_null_far_above_the_counts_is_not_overstated():
    # beyond 1e4 hits and misses: it tends to about 1/(2 misses), and log 2 was returned
    assert kernels.log_wealth(15782.0, 73110.0, -2.255215864510197e-278) < -10


@pytest.mark.parametrize("trials", [1.0, 2.0, 3.0, 10.0, 1e3, 1e9, 1e12, 1e15])
def test_the_wealth_raises_no_flag_inside_its_domain(trials):
    """Whatever NumPy may raise: the compiled loop decides about flags itself."""
    sizes = [5e-324, 1e-300, 1e-17, 0.25, 0.5, 0.75, 1 - 2.0**-53]
    nulls = [*sizes, *(-x for x in sizes)]
    with np.errstate(all="raise"):
        for hits in {0.0, 1.0, trials // 2, trials - 1, trials}:
            for null in nulls:
                assert not np.isnan(kernels.log_wealth(hits, trials, null))
        with pytest.raises(FloatingPointError):
            kernels.log_wealth(trials + 1, trials, 0.5)
