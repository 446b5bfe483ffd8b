"""Lower bounds of a probability that counts show, proved in ball arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rsbounds.audit._balls import Arb, Event
from rsbounds.confidence._rigorous import beta, tail


def _clopper_pearson(count: int, n: int, at: Event, alpha: Arb, u: float | None) -> bool:
    return bool(tail(count, n, *at) <= alpha)


def _randomized(count: int, n: int, at: Event, alpha: Arb, u: float | None) -> bool:
    """P(X > count) + u P(X = count), but no more than one more success of one more would show."""
    from flint import arb

    if u is None:
        return False
    share = arb(u)
    if count == n:
        return bool(share * at.p**n <= alpha and at.p ** (n + 1) <= alpha)
    return bool(share * tail(count, n, *at) + (1 - share) * tail(count + 1, n, *at) <= alpha)


def _anytime(count: int, n: int, at: Event, alpha: Arb, u: float | None) -> bool:
    """The wealth 1/alpha of a bet on the Beta(1/2, 1/2) law cut to what is above p."""
    from flint import arb

    if not n * at.p < count:  # the wealth is then below 2
        return False
    hits, misses = 2 * count + 1, 2 * (n - count) + 1
    above = 1 - beta(hits, misses, *at) if misses > hits else beta(misses, hits, at.q, at.p)
    a, b = arb(hits) / 2, arb(misses) / 2
    logs = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs -= count * at.p.log() + (n - count) * at.q.log()
    stake = 2 * (at.q / at.p).sqrt().atan()  # the integral of the law's density above p
    return bool(alpha * above * logs.exp() >= stake)


#: Whether p is a lower bound at level alpha after ``count`` successes in ``n`` trials.
BOUNDS: Mapping[str, Callable[[int, int, Event, Arb, float | None], bool]] = {
    "clopper-pearson": _clopper_pearson,
    "randomized": _randomized,
    "anytime": _anytime,
}
