"""Promises of confidence bounds."""

import mpmath as mp
from promises import above, below, promise

from rsbounds import confidence, oracle
from rsbounds.oracle._confidence import bound_excess


@promise(
    "rsbounds.confidence.lower_bound", quick=8,
    count=(0, 1, 2, 50, 99, 100, 10**5, 10**9), misses=(0, 1, 2, 1000, 10**5, 10**9),
    alpha=(1e-300, 1e-9, 0.001, 0.5, 0.9, 1 - 1e-12),
)  # fmt: skip
def _(count, misses, alpha):
    n = max(count + misses, 1)
    value = confidence.lower_bound(count, n, alpha)
    if count == 0:
        yield value, mp.mpf(0), mp.mpf(0)
        return
    z = oracle.lower_score(count, n, alpha, dps=40)
    p, q = (oracle.ndtr(side, dps=40) for side in (z, -z))
    yield below(value, p, absolute=max(min(p, q) * mp.mpf("1e-11"), mp.mpf("1e-15")))
    score = confidence.lower_bound(count, n, alpha, scores=True)
    yield below(score, z, absolute=score_room(z))


def score_room(z):
    """How far a score moves where the smaller probability does by 1e-11 of itself."""
    far = -abs(z)
    hazard = mp.npdf(far) / mp.ncdf(far)
    return mp.mpf("1.01e-11") / hazard


@promise(
    "rsbounds.confidence.pair_bounds", quick=25,
    count=(1, 50, 99, 10**5), other=(0, 1, 49, 10**4), rest=(0, 1, 10**5),
    alpha=(1e-300, 0.001, 0.5, 0.9),
)  # fmt: skip
def _(count, other, rest, alpha):
    n = count + other + rest
    z_a, z_b = oracle.pair_scores(count, other, n, alpha, dps=40)
    low, high = confidence.pair_bounds(count, other, n, alpha, scores=True)
    yield below(low, z_a, absolute=score_room(z_a))
    yield above(high, z_b, absolute=score_room(z_b))


@promise(
    "rsbounds.confidence.SequentialTest.log_wealth", quick=3,
    hits=(1, 2, 100, 9000), misses=(0, 1, 10, 900), radius=(0.0, 0.5, 3.0),
)  # fmt: skip
def _(hits, misses, radius):
    """A radius of the same size as the level's asks for a score of its own size."""
    truth = oracle.log_wealth(hits, hits + misses, radius, dps=30)
    test = confidence.SequentialTest(radius, 1.0, 0.001)
    value = test.log_wealth(hits, hits + misses)
    yield below(value, truth, 5e-14, 5e-12 if truth > 0 else mp.inf)


@promise(
    "rsbounds.confidence.anytime_lower_bound", quick=2,
    hits=(1, 2, 50, 1000), misses=(0, 1, 30),
    alpha=(1e-300, 1e-9, 0.001, 0.01),
)  # fmt: skip
def _(hits, misses, alpha):
    """The excess of the bound changes its sign within 1e-9 above it."""
    n = hits + misses
    z = float(confidence.anytime_lower_bound(hits, n, alpha, scores=True))
    at = bound_excess("anytime", hits, n, z, alpha, dps=20)
    yield at, -mp.inf, mp.mpf(0)
    more = bound_excess("anytime", hits, n, mp.mpf(z) + 1e-9, alpha, dps=20)
    yield more, mp.mpf(0), mp.inf
