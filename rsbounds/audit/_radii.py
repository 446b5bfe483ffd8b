"""Radii proved in ball arithmetic: one table entry for each method.

A two-point radius is proved at both extremes of sigma. Let S be the set where the likelihood
ratio of the law at distance a to that at the input is above a number k: a ball, or where sigma
grows the complement of one. For every set B, P1(B) <= P1(S) + k (P0(B) - P0(S)) (Neyman and
Pearson), and so whatever S is: the kernel proposes the ball that has B's share under P0, and its
rounding counts in the second order only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rsbounds.audit._balls import Arb, Event, ball, bits, event

Parameters = Mapping[str, Any]
Two = tuple[Arb, Arb, Arb]  # distance of the centres, least and largest sigma

_EQUAL = 2.0**-100  # a level nearer to sigma is taken to be so far away: at most 1e-22 of a radius


def proved(
    method: str,
    parameters: Parameters,
    sigma: float,
    radius: float,
    z_a: float,
    z_b: float | None = None,
) -> bool:
    """Whether scores z_a and z_b (None: -z_a) certify the radius."""
    import flint

    with flint.ctx.workprec(160):
        numbers = [flint.arb(v) for v in (sigma, radius, z_a, -z_a if z_b is None else z_b)]
        if method in _FIXED:
            inner = _FIXED[method](parameters)
            return bool(numbers[1] <= numbers[0] * (numbers[2] - numbers[3]) / 2 * inner)
        distance, *levels = _POINTS[method](parameters, *numbers[:2])
        if not 0 < 2 * distance < numbers[0] * (numbers[2] - numbers[3]):
            return False
        digits = [bits(_centre(distance, numbers[0], level)) for level in levels]
    for k, precision in enumerate(digits):
        with flint.ctx.workprec(precision):
            distance, *levels = _POINTS[method](parameters, *numbers[:2])
            dim = flint.arb(parameters["dim"])
            known = distance, numbers[0], levels[k], dim
            budgets = [-numbers[2]] if z_b is None else [-numbers[2], numbers[3]]
            if not (levels[k] > 0 and _ahead([_worst(z, *known) for z in budgets])):
                return False
    return True


def _ahead(worst: list[Event]) -> bool:
    """Whether the top class keeps more than all others, or than any other one can get."""
    first, last = worst[0], worst[-1]
    return bool(first.p < last.q or last.p < first.q)


def _worst(z: Arb, a: Arb, sigma0: Arb, sigma1: Arb, dim: Arb) -> Event:
    """The most that an event of probability Phi(z) at the input can have at distance a."""
    from rsbounds.special import ball_offset

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


def _ends(distance: Arb, sigma: Arb, low: Arb, high: Arb, slack: float = 0.0) -> Two:
    """Both ends further out by exp(slack), where levels are known as they are computed."""
    from flint import arb

    factor = arb(slack).exp()
    apart = arb(_EQUAL)
    return (
        distance,
        (low / factor).min(sigma * (1 - apart)),
        (high * factor).max(sigma * (1 + apart)),
    )


def _semi_elastic(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    change = (radius * parameters["rate"]).exp()
    return _ends(radius, sigma, sigma / change, sigma * change, parameters.get("slack", 0.0))


def _lipschitz(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    change, floor = radius * parameters["lip"], sigma * 0 + parameters["sigma_min"]
    low = (sigma - change).max(floor)
    return _ends(radius, sigma, low, sigma + change, parameters.get("slack", 0.0))


def _range(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    low, high = (sigma * 0 + parameters[name] for name in ("sigma_min", "sigma_max"))
    return _ends(radius, sigma, low, high)


def _generator(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    """In the coordinates of the shape, where the mean moves too."""
    steps = sigma * 0 + parameters["mean_lip"] + 1
    reach = radius / parameters["inner"] + parameters.get("shift", 0.0) / steps
    _, low, high = _lipschitz(parameters, sigma, reach)
    return steps * reach, low, high


def _ball_of_norm(parameters: Parameters) -> Arb:
    """The radius of the l_p ball inside the unit l2 ball."""
    from flint import arb

    norm = parameters.get("norm", 2.0)
    if norm <= 2:
        return arb(1)
    return arb(parameters["dim"]) ** ((0 if norm == float("inf") else 1 / arb(norm)) - arb(0.5))


def _inner(parameters: Parameters) -> Arb:
    from flint import arb

    return arb(parameters["inner"])


_FIXED: Mapping[str, Callable[[Parameters], Arb]] = {
    "gaussian": _ball_of_norm,
    "anisotropic": _inner,
}
_POINTS: Mapping[str, Callable[[Parameters, Arb, Arb], Two]] = {
    "semi-elastic": _semi_elastic,
    "lipschitz": _lipschitz,
    "range": _range,
    "generator": _generator,
}
#: Methods whose radii follow from two scores.
METHODS = (*_FIXED, *_POINTS)
