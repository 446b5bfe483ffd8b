"""Lower bounds of a probability that counts show, proved in ball arithmetic."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf

from rsbounds.audit._balls import Arb, Event, arb, ctx, event

PRECISION = 192
_BITS = 64  # of a sum, relative to its first term


def _clopper_pearson(count: int, n: int, at: Event, alpha: Arb) -> bool:
    return bool(tail(count, n, *at) <= alpha)


def _anytime(count: int, n: int, at: Event, alpha: Arb) -> bool:
    # the wealth 1/alpha of a bet on the Beta(1/2, 1/2) law cut to what is above p
    if not n * at.p < count:  # the wealth is then below 2
        return False
    hits, misses = 2 * count + 1, 2 * (n - count) + 1
    if misses > hits:
        above = 1 - beta(hits, misses, *at)
    else:
        above = beta(misses, hits, at.q, at.p)
    a, b = at.p * 0 + hits / 2, at.p * 0 + misses / 2
    logs = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs -= count * at.p.log() + (n - count) * at.q.log()
    stake = 2 * (at.q / at.p).sqrt().atan()  # the integral of the law's density above p
    return bool(alpha * above * logs.exp() >= stake)


def _exact(count: int, n: int, at: Event, alpha: Arb) -> bool:
    # the share of all outcomes
    return bool(n * at.p <= count)


#: By the name of the bound: whether p is a lower bound at level alpha after ``count``
#: successes in ``n`` trials.
PROOFS: Mapping[str, Callable[[int, int, Event, Arb], bool]] = {
    "clopper-pearson": _clopper_pearson,
    "anytime": _anytime,
    "staged": _clopper_pearson,  # of one look, whose level rsbounds.audit._looks has
    "exact": _exact,
}


@lru_cache(maxsize=4096)
def proved(
    bound: str,
    form: str,
    v: float,
    count: int,
    n: int,
    alpha: float,
    parts: int,
) -> bool:
    """Tell whether p is a lower bound at one of the parts of alpha.

    p = Phi(v) for the kind "z", p = v for the kind "p".
    """
    trivial = v == (-inf if form == "z" else 0.0)
    if trivial or not abs(v) < inf:
        # the only certainty is that of all outcomes
        return trivial or (form == "z" and bound == "exact" and v == inf and count == n)
    if form == "p" and not 0 <= v <= 1:
        return False
    with ctx.workprec(PRECISION):
        at = event(arb(v)) if form == "z" else Event(arb(v), 1 - arb(v))
        if bound not in PROOFS:
            raise LookupError(f"nothing here can prove the bound {bound!r}")
        return PROOFS[bound](count, n, at, arb(alpha) / parts)


def tail(count: int, n: int, p: Arb, q: Arb) -> Arb:
    """P(Bin(n, p) >= count) for q = 1 - p."""
    if not (p > 0 and q > 0):
        return (
            arb(1 if q <= 0 or not count else 0) if p <= 0 or q <= 0 else arb(0.5, 0.5)
        )
    if not count:
        return arb(1)
    if (n + 1) * p < count + 1:
        return beta(2 * count, 2 * (n - count + 1), p, q)
    return 1 - beta(
        2 * (n - count + 1), 2 * count, q, p
    )  # fewer terms, none above the first


def beta(a: int, b: int, x: Arb, y: Arb) -> Arb:
    """The regularized incomplete beta function I_x(a/2, b/2) for 0 < x = 1 - y < 1.

    I_x(a, b) = T + I_x(a + 1, b - 1) with T = x^a y^(b-1)/(a B(a, b)), again and again:
    positive terms whose ratios fall, summed as whole numbers in fixed point. (Arb's own
    function takes seconds at some points, such as I_.68(441, 3).)
    """
    odds = x / y
    scaled, exponent = (int(part) for part in odds.mid().man_exp())
    scaled, shift = scaled << max(exponent, 0), max(-exponent, 0)
    term = 1 << PRECISION  # of the first one
    total, rest, up, down = 0, 0, a + 2, b - 2
    while down >= 0:
        total += term
        following = (term * scaled * down // up) >> shift
        if following << _BITS < total:
            rest = (
                following * term // (term - following) + 1
            )  # as of a geometric series
            break
        term, up, down = following, up + 2, down - 2
    steps = (up - a) // 2
    slack = steps**2 * (1 + (total >> PRECISION))  # each term is rounded down once
    radius = (odds.rad() / odds.mid()).upper()
    sums = (
        arb(total).union(arb(total + rest + slack)) * (1 + arb(0, 1) * radius) ** steps
    )
    first, second = arb(a) / 2, arb(b) / 2
    logs = (first + second).lgamma() - (first + 1).lgamma() - second.lgamma()
    largest = (first * x.log() + (second - 1) * y.log() + logs).exp()
    return sums / (1 << PRECISION) * largest + (
        _half(up - 2, x, y) if down == -1 else 0
    )


def _half(a: int, x: Arb, y: Arb) -> Arb:
    """Compute I_x(a/2, 1/2) for odd a, by a/2 steps from that of a = 1.

    Of use for small a alone.
    """
    total, term = 2 * (x / y).sqrt().atan() / arb.pi(), 2 * (x * y).sqrt() / arb.pi()
    for i in range(1, a, 2):
        total -= term
        term *= x * (i + 1) / (i + 2)
    return total
