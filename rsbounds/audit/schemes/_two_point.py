"""Radii under Gaussian noise whose level follows the input, proved in ball arithmetic.

A two-point radius is proved at both extremes of sigma. Let S be the set where the
likelihood ratio of the law at distance a to that at the input is above a number k: a
ball, or where sigma grows the complement of one. Whatever S is, P1(B) <= P1(S) + k
(P0(B) - P0(S)) for every set B (Neyman and Pearson). The kernel proposes the S that has
B's share under P0; its rounding counts in the second order only.
"""

from __future__ import annotations

from abc import abstractmethod

from rsbounds.audit._balls import Arb, Event, arb, ball, bits, ctx, event
from rsbounds.audit.schemes._normal import PRECISION, NormalProof, gap, inner
from rsbounds.audit.schemes._proof import Parameters
from rsbounds.special import ball_offset

#: A level nearer to sigma is taken to be so far away: at most 1e-22 of a radius.
_EQUAL = 2.0**-100


class TwoPointProof(NormalProof):
    """The proof of levels that an envelope bounds, within ``slack`` of their log."""

    @abstractmethod
    def ends(self, numbers: dict[str, Arb], sigma: Arb, reach: Arb) -> tuple[Arb, Arb]:
        """The least and the largest level at this distance of one of ``sigma``."""

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        with ctx.workprec(PRECISION):
            numbers = self.numbers(parameters)
            level, reach = arb(sigma), arb(radius) / inner(numbers)
            distance, *ends = self._extremes(numbers, level, reach)
            # a level that varies certifies less than the one at the input, everywhere
            if not 0 < 2 * distance < level * gap(z_a, z_b):
                return False
            digits = [bits(_centre(distance, level, end)) for end in ends]
        # each extreme at the precision that its centre needs: it may be far away
        for which, precision in enumerate(digits):
            with ctx.workprec(precision):
                reach = arb(radius) / inner(numbers)
                distance, *ends = self._extremes(numbers, level, reach)
                end = ends[which]
                if not end > 0:
                    return False
                dim = numbers["dim"]
                wrong = _worst(-arb(z_a), distance, level, end, dim)
                right = wrong
                if z_b is not None:
                    right = _worst(arb(z_b), distance, level, end, dim)
                # P1 of A against P1 of B, in whichever tail is the smaller
                if not (wrong.p < right.q or right.p < wrong.q):
                    return False
        return True

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        """Bound an event from below, where that is at most a half.

        Of levels above that of the input the lowest or the highest is the worst, of
        those below it the lowest.
        """
        least = Event(event(z).p, event(z).q)
        if not radius:
            return least
        with ctx.workprec(PRECISION):
            numbers = self.numbers(parameters)
            level, reach = arb(sigma), arb(radius) / inner(numbers)
            distance, *ends = self._extremes(numbers, level, reach)
            if not ends[0] > 0:
                return Event(arb(0), arb(1))
            least = event(z - distance / level)
            digits = [bits(_centre(distance, level, end)) for end in ends]
        for which, precision in enumerate(digits):
            with ctx.workprec(precision):
                reach = arb(radius) / inner(numbers)
                distance, *ends = self._extremes(numbers, level, reach)
                lost = _worst(-z, distance, level, ends[which], numbers["dim"])
                least = Event(least.p.min(lost.q), least.q.max(lost.p))
        return least

    def _extremes(
        self, numbers: dict[str, Arb], sigma: Arb, reach: Arb
    ) -> tuple[Arb, Arb, Arb]:
        """The distance of the centres, the least and the largest sigma.

        All in the coordinates of the shape.
        """
        steps = 1 + numbers.get("mean_lip", 0 * sigma)
        reach += numbers.get("shift", 0) / steps
        low, high = self.ends(numbers, sigma, reach)
        # levels are known as they are computed, to a factor of this at most
        slack = (0 * sigma + numbers.get("slack", 0)).exp()
        apart = sigma * _EQUAL
        return (
            steps * reach,
            (low / slack).min(sigma - apart),
            (high * slack).max(sigma + apart),
        )


def _worst(z: Arb, a: Arb, sigma0: Arb, sigma1: Arb, dim: Arb) -> Event:
    """The most probable an event of Phi(z) at the input can be at distance a."""
    inside, budget = bool(sigma1 < sigma0), event(z)
    s0 = _centre(a, sigma0, sigma1)
    u0 = z * 0 + float(ball_offset(float(z if inside else -z), float(dim), float(s0)))
    u1 = (sigma0 * u0 + (a if inside else -a)) / sigma1
    here, there = ball(u0, dim, s0), ball(u1, dim, s0 * sigma1 / sigma0)
    if not inside:
        here, there = here.complement(), there.complement()
    ratio = (dim * (sigma0 / sigma1).log() + (u0 * u0 - u1 * u1) / 2).exp()
    more = ratio * (budget.p - here.p if z <= 0 else here.q - budget.q)
    return Event(there.p + more, there.q - more)


def _centre(a: Arb, sigma0: Arb, sigma1: Arb) -> Arb:
    return a * sigma0 / abs((sigma0 - sigma1) * (sigma0 + sigma1))
