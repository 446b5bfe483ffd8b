"""Lower bounds of a probability that counts show, proved in ball arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf

from rsbounds.audit._balls import Arb, Event, event
from rsbounds.audit._binomial import PRECISION, beta, tail


def _clopper_pearson(count: int, n: int, at: Event, alpha: Arb, u: Arb) -> bool:
    return bool(tail(count, n, *at) <= alpha)


def _randomized(count: int, n: int, at: Event, alpha: Arb, u: Arb) -> bool:
    """P(X > count) + u P(X = count), but no more than one more success of one more would show."""
    if count == n:
        return bool(u * at.p**n <= alpha and at.p ** (n + 1) <= alpha)
    return bool(u * tail(count, n, *at) + (1 - u) * tail(count + 1, n, *at) <= alpha)


def _anytime(count: int, n: int, at: Event, alpha: Arb, u: Arb) -> bool:
    """The wealth 1/alpha of a bet on the Beta(1/2, 1/2) law cut to what is above p."""
    if not n * at.p < count:  # the wealth is then below 2
        return False
    hits, misses = 2 * count + 1, 2 * (n - count) + 1
    above = 1 - beta(hits, misses, *at) if misses > hits else beta(misses, hits, at.q, at.p)
    a, b = at.p * 0 + hits / 2, at.p * 0 + misses / 2
    logs = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs -= count * at.p.log() + (n - count) * at.q.log()
    stake = 2 * (at.q / at.p).sqrt().atan()  # the integral of the law's density above p
    return bool(alpha * above * logs.exp() >= stake)


#: Whether p is a lower bound at level alpha after ``count`` successes in ``n`` trials.
BOUNDS: Mapping[str, Callable[[int, int, Event, Arb, Arb], bool]] = {
    "clopper-pearson": _clopper_pearson,
    "randomized": _randomized,
    "anytime": _anytime,
}


@lru_cache(maxsize=4096)
def proved(
    bound: str, form: str, v: float, count: int, n: int, alpha: float, parts: int, u: float
) -> bool:
    """Whether p = Phi(v) ("z") or p = v ("p") is a lower bound at one of the parts of alpha."""
    from flint import arb, ctx

    if v == (-inf if form == "z" else 0.0):
        return True
    if not abs(v) < inf:
        return False
    with ctx.workprec(PRECISION):
        at = event(arb(v)) if form == "z" else Event(arb(v), 1 - arb(v))
        return BOUNDS[bound](count, n, at, arb(alpha) / parts, arb(u))
