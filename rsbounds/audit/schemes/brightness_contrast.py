"""Radii in brightness for a range of contrasts, proved in ball arithmetic.

Copies are e^k x + b, a change is e^kappa x + beta. An event of probability p has under
the change at least Q_t + e^t (p - P_t), whatever t is, where P_t and Q_t are what the
two laws give to the log likelihood ratios up to t (Neyman and Pearson). A sum in
doubles proposes t, and how far the next step from one contrast to another may go; only
integrals in balls decide.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import exp, inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds.audit._balls import Arb, acb, arb, ctx, event
from rsbounds.audit.schemes._proof import Parameters, SchemeProof
from rsbounds.special import log_ndtr, ndtri_exp

_BITS = 72
_FAR = 12  # beyond so many standard deviations lies less than 4e-33
_FAR_MASS = 4e-33
_MOST_STEPS = 400
_WIDER = 1 + 1e-7  # how much further a step is proved than it goes
_BEYOND = 1e-15  # how far beyond the last contrast, relative, steps may end
_LARGEST = 8.0  # scores beyond count as this one


class Change(NamedTuple):
    """kappa in standard deviations of k, and that of k; beta in those of b."""

    shift: float
    spread: float
    reach: float


class ContrastStep(NamedTuple):
    """Contrasts around one, as far as ``half`` standard deviations, and two t's."""

    shift: float
    half: float
    t_a: float
    t_b: float | None


class BrightnessContrastProof(SchemeProof):
    """The proof of a brightness, for all contrasts up to one of the parameters."""

    method = "brightness-contrast"

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        levels = (
            float(parameters["sigma_brightness"]),
            float(parameters["sigma_contrast"]),
            float(parameters["contrast"]),
        )
        return _proved(*levels, radius, z_a, z_b)

    def entry_proved(
        self, parameters: Parameters, entry: str, z_a: float, z_b: float | None
    ) -> bool:
        radius, contrast = entry.split(",")
        at_contrast = {**parameters, "contrast": float(contrast)}
        return self.proved(at_contrast, 0.0, float(radius), z_a, z_b)


@lru_cache(maxsize=4096)  # many rows share their scores
def _proved(
    sigma_brightness: float,
    sigma_contrast: float,
    contrast: float,
    radius: float,
    z_a: float,
    z_b: float | None,
) -> bool:
    """Whether two scores certify a brightness for contrasts up to one."""
    if not contrast >= 0:
        return False
    if not (0 < radius < inf and z_a > (-z_a if z_b is None else z_b)):
        return False
    first = min(z_a, _LARGEST)
    second = None if z_b is None else min(-z_b, _LARGEST)
    with ctx.workprec(_BITS):
        spread = arb(sigma_contrast)
        most = arb(contrast) / spread
        reach = arb(radius) / arb(sigma_brightness)
        end = float(most.upper()) * (1 + 1e-15)
        rough = Change(0.0, float(spread), float(reach))
        covered, proved_to = -end, -inf
        for step in _steps(rough, end, first, second):
            room = arb(step.half) * _WIDER
            least = _loss(step.shift, spread, reach, arb(first) - room, step.t_a)
            other = least
            if second is not None:
                assert step.t_b is not None
                other = _loss(step.shift, spread, reach, arb(second) - room, step.t_b)
            if not least + other < 1:
                return False
            # from where the step before ended, or from the first contrast
            if not step.shift - step.half * _WIDER <= covered:
                return False
            covered = proved_to = step.shift + step.half
        return proved_to >= end


def _steps(
    change: Change, end: float, first: float, second: float | None
) -> Iterator[ContrastStep]:
    """Steps that lead from one end of the contrasts to the other, as doubles see it."""
    covered, half = -end, end
    for _ in range(_MOST_STEPS):
        # a little further: rounding must not leave a step of one ulp before the end
        half = min(half, (end - covered) / 2 + _BEYOND * end)
        there = change._replace(shift=covered + half)
        room = half * _WIDER
        loss, t_a = _rough_loss(there, first - room)
        other, t_b = loss, None
        if second is not None:
            other, t_b = _rough_loss(there, second - room)
        # at one contrast alone there is no other step to try
        if end and not loss + other < 1 - 1e-12:
            half /= 2
            if not half > 1e-7 * end:
                return
            continue
        yield ContrastStep(there.shift, half, t_a, t_b)
        covered = there.shift + half
        if covered >= end:
            return
        half = max(2 * half, (end - covered) / 4)


def _rough_loss(change: Change, z: float) -> tuple[float, float]:
    """What an event of score z may lose, and the t that shows it, in doubles."""
    size = sqrt(change.shift**2 + change.reach**2)
    low, high = -size * (abs(z) + size + 40), size * (abs(z) + size + 40)
    t = size * (z - size / 2)
    q = float(np.exp(log_ndtr(-z)))
    plain = moved = 1.0
    last: tuple[float, float] | None = None
    for _ in range(60):
        plain, moved = _rough_masses(change, t)
        score = -float(ndtri_exp(np.log(plain))) if 0 < plain < 1 else inf
        score = -inf if plain >= 1 else score
        if abs(score - z) < 1e-7:
            break
        low, high = (t, high) if score < z else (low, t)
        following = (low + high) / 2
        if last is not None and np.isfinite(score) and score != last[1]:
            secant = t + (z - score) * (t - last[0]) / (score - last[1])
            following = secant if low < secant < high else following
        elif last is None and np.isfinite(score):
            newton = t + (z - score) * size
            following = newton if low < newton < high else following
        last = (t, score)
        t = following
    return moved + exp(t) * (q - plain), t


def _rough_masses(change: Change, t: float) -> tuple[float, float]:
    """1 - P_t and 1 - Q_t by a sum."""
    shift, spread, reach = change
    u = np.linspace(min(shift, 0) - 9, max(shift, 0) + 9, 1200)
    with np.errstate(over="ignore", under="ignore"):
        mean = reach * np.exp(spread * (u - shift))
        ratio = (t - u * shift + shift**2 / 2) / mean
        height = (u[1] - u[0]) / sqrt(2 * np.pi)

        def mass(centre: float, c: NDArray[np.float64]) -> float:
            tails = np.exp(log_ndtr(-c.clip(-1e6, 1e6)))
            return float((np.exp(-((u - centre) ** 2) / 2) * tails).sum() * height)

        return mass(0.0, ratio + mean / 2), mass(shift, ratio - mean / 2)


def _loss(shift: float, spread: Arb, reach: Arb, z: Arb, t: float) -> Arb:
    """The most that an event of score z can have lost: 1 - (Q_t + e^t (p - P_t))."""
    at = arb(shift)
    plain = _mass(at, spread, reach, t, moved=False)
    moved = _mass(at, spread, reach, t, moved=True) + _FAR_MASS
    return moved + arb(t).exp() * (event(z).q - plain)


def _mass(shift: Arb, spread: Arb, reach: Arb, t: float, *, moved: bool) -> Arb:
    """1 - P_t, or 1 - Q_t, without what lies beyond ``_FAR``."""
    centre = shift if moved else shift * 0
    side = arb(-0.5 if moved else 0.5)
    root = arb(2).sqrt()
    threshold = arb(t) + shift * shift / 2

    def density(u: Any, analytic: bool) -> Any:
        mean = (spread * (u - shift)).exp() * reach
        c = (threshold - u * shift) / mean + side * mean
        off = u - centre
        return (-off * off / 2).exp() * (c / root).erfc()

    total = arb(0)
    for k in range(-_FAR, _FAR):
        total += acb.integral(density, centre + k, centre + k + 1).real
    return total / (2 * (2 * arb.pi()).sqrt())
