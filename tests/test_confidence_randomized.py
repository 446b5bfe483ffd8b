"""Randomized Clopper-Pearson: exact level by integrating over the random number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from rsbounds.confidence import lower_bound, randomized_lower_bound
from rsbounds.confidence.randomized import randomized_end


def error_probability(n, alpha, p):
    """P(bound > p) over the count and U, the bound being decreasing in U."""
    counts = np.broadcast_to(np.arange(n + 1), (p.size, n + 1))
    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    for _ in range(34):
        u = 0.5 * (low + high)
        bound = randomized_end(counts, np.full_like(counts, n), np.full(u.shape, alpha), u).p
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
    with pytest.raises(ValueError, match="count must be <= n"):
        randomized_lower_bound(11, 10, 0.1, 0)
