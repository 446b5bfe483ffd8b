"""Radii that follow from two scores, proved in ball arithmetic.

A two-point radius is proved at both extremes of sigma. Let S be the set where the
likelihood ratio of the law at distance a to that at the input is above a number k: a
ball, or where sigma grows the complement of one. Whatever S is, P1(B) <= P1(S) + k
(P0(B) - P0(S)) for every set B (Neyman and Pearson). The kernel proposes the S that has
B's share under P0; its rounding counts in the second order only.
"""

from collections.abc import Mapping
from math import inf
from typing import Any

from rsbounds.audit import _affine
from rsbounds.audit._balls import Arb, Event, arb, ball, bits, ctx, event
from rsbounds.audit._discrete import MOST, least_discrete, proved_discrete
from rsbounds.audit._mixed import (
    is_mixed,
    least_mixed,
    proved_mixed,
    stated_changes,
)
from rsbounds.schemes import METHODS
from rsbounds.special import ball_offset

#: A level nearer to sigma is taken to be so far away: at most 1e-22 of a radius.
_EQUAL = 2.0**-100
#: Methods whose noise is the same at every input.
FIXED = ("gaussian", "anisotropic", "two-queries")
#: Methods whose radii are in l_1, by a curve of their own.
ABSOLUTE = ("laplace", "uniform", "exponential", "splitting")
#: Methods of discrete noise, whose radii count changes.
DISCRETE = tuple(MOST)
#: The method whose radii are those of the law of a parameter.
PARAMETER = "transformed"
#: The method of a finite group gone through, at whose elements the votes are the same.
ORBIT = "orbit"
#: Methods of which any event's least probability is known, at all inputs the same.
TRANSPORTED = (*FIXED, *ABSOLUTE, *DISCRETE, PARAMETER)
#: The methods whose radii are proved here.
COVERED = (
    *(*TRANSPORTED, ORBIT, _affine.METHOD),
    *("semi-elastic", "lipschitz", "range", "generator"),
)


def proved(
    method: str,
    parameters: Mapping[str, Any],
    sigma: float,
    radius: float,
    z_a: float,
    z_b: float | None = None,
) -> bool:
    """Whether scores z_a and z_b (None: -z_a) certify the radius of one of ``COVERED``.

    Of scores less than some 1e-6 apart it may not see that they do.
    """
    if method not in COVERED:
        raise ValueError(f"nothing here can prove a radius of method {method!r}")
    if method == ORBIT:
        return bool(z_a > (-z_a if z_b is None else z_b))
    if method == _affine.METHOD:
        return _affine.proved_affine(parameters, radius, z_a, z_b)
    method, parameters = law_of(method, parameters)
    if is_mixed(method, parameters):
        changes = stated_changes(parameters)
        return proved_mixed(parameters, radius, changes, z_a, z_b)
    if method in DISCRETE:
        return proved_discrete(method, parameters, radius, z_a, z_b)
    if method in ABSOLUTE:
        with ctx.workprec(160):
            return _in_l1(method, parameters, sigma, radius, z_a, z_b)
    return _of_gaussian_noise(method, parameters, sigma, radius, z_a, z_b)


def _of_gaussian_noise(
    method: str,
    parameters: Mapping[str, Any],
    sigma: float,
    radius: float,
    z_a: float,
    z_b: float | None,
) -> bool:
    """Whether scores certify a radius, by one level or by both extremes of it."""
    with ctx.workprec(160):
        numbers = as_balls(method, parameters)
        level, reach = arb(sigma), arb(radius) / _inner(numbers)
        gap = arb(z_a) + (arb(z_a) if z_b is None else -arb(z_b))
        if method in FIXED:
            return _amounts_to(numbers, level) and bool(2 * reach <= level * gap)
        distance, *ends = _extremes(numbers, level, reach)
        # a level that varies certifies less than the one at the input, everywhere
        if not 0 < 2 * distance < level * gap:
            return False
        digits = [bits(_centre(distance, level, end)) for end in ends]
    # each extreme at the precision that its centre needs: it may be far away
    for which, precision in enumerate(digits):
        with ctx.workprec(precision):
            distance, *ends = _extremes(numbers, level, arb(radius) / _inner(numbers))
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


def law_of(method: str, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The method and the parameters that radii follow from: of a parameter, its law's.

    An attack moves the parameter and nothing else, by as much as the radius bounds.
    """
    if method != PARAMETER:
        return method, parameters
    law = parameters["law"]
    return law["method"], law


def as_balls(method: str, parameters: Mapping[str, Any]) -> dict[str, Arb]:
    """The parameters that radii of a method depend on."""
    domains = METHODS[method].domains
    numbers = {k: arb(parameters[k]) for k in domains if k in parameters}
    if method == "two-queries":
        numbers["norm"] = arb(inf)
    return numbers


def _amounts_to(numbers: Mapping[str, Arb], level: Arb) -> bool:
    """Whether two queries tell inputs apart no better than one of this level.

    Other noise has the level itself.
    """
    if "sigma_1" not in numbers:
        return True
    information = numbers["sigma_1"] ** -2 + numbers["sigma_2"] ** -2
    return bool(level**2 * information <= 1)


def least(
    method: str, parameters: Mapping[str, Any], sigma: float, radius: float, z: Arb
) -> Event:
    """Bound an event of probability Phi(z) from below within a radius.

    For a method of ``TRANSPORTED``.
    """
    method, parameters = law_of(method, parameters)
    if is_mixed(method, parameters):
        return least_mixed(parameters, radius, z)
    if method in DISCRETE:
        return least_discrete(method, parameters, radius, z)
    if method in FIXED:
        numbers = as_balls(method, parameters)
        if not _amounts_to(numbers, arb(sigma)):
            return Event(arb(0), arb(1))
        step = arb(radius) / (_inner(numbers) * arb(sigma))
        return event(z - step)
    here = event(z)
    if method == "laplace":
        return _laplace_event(_laplace_quantile(here) - arb(radius) / arb(sigma))
    if method == "exponential":
        # what lies outside of the event grows by the largest ratio of densities
        q = here.q * (arb(radius) * arb(parameters["rate"])).exp()
        return Event(1 - q, q) if q < 1 else Event(arb(0), arb(1))
    step = arb(radius) / (2 * _half_width(method, parameters, sigma))
    p = here.p - step
    return Event(p, here.q + step) if p > 0 else Event(arb(0), arb(1))


def _in_l1(
    method: str,
    parameters: Mapping[str, Any],
    sigma: float,
    radius: float,
    z_a: float,
    z_b: float | None,
) -> bool:
    """Whether scores certify an l_1 radius of a method of ``ABSOLUTE``."""
    first = _event_of(z_a)
    second = first.complement() if z_b is None else _event_of(z_b)
    if method == "laplace":
        if z_a == inf or z_b == -inf:
            return True  # of an event that is sure nothing is lost
        gap = _laplace_quantile(first) - _laplace_quantile(second)
        return bool(2 * arb(radius) <= arb(sigma) * gap)
    if method == "exponential":
        # A's complement and B may grow until they fill what is there
        rest = first.q + second.p
        grown = rest * (arb(radius) * arb(parameters["rate"])).exp()
        return bool(grown <= 1)
    # in whichever tail both are small
    lead = second.q - first.q if second.p > 0.5 else first.p - second.p
    return bool(arb(radius) <= _half_width(method, parameters, sigma) * lead)


def _event_of(z: float) -> Event:
    """An event of Phi(z), infinite scores included."""
    if z == inf:
        return Event(arb(1), arb(0))
    return Event(arb(0), arb(1)) if z == -inf else event(arb(z))


def _laplace_quantile(of: Event) -> Arb:
    """The quantile of the standard Laplace law."""
    below, above = (2 * of.p).log(), -(2 * of.q).log()
    if of.p < 0.5:
        return below
    return above if of.p > 0.5 else below.union(above)


def _laplace_event(quantile: Arb) -> Event:
    """The event that the standard Laplace law falls below a quantile."""
    tail = (-abs(quantile)).exp() / 2
    if quantile < 0:
        return Event(tail, 1 - tail)
    upper = Event(1 - tail, tail)
    return upper if quantile > 0 else Event(upper.p.union(tail), upper.q.union(tail))


def _half_width(method: str, parameters: Mapping[str, Any], sigma: float) -> Arb:
    """Half the width of uniform noise, half the distance of the borders of splits."""
    if method == "uniform":
        return arb(sigma)
    levels = int(parameters["levels"])
    return arb(round(2 * sigma * levels)) / (2 * levels)


def _inner(numbers: Mapping[str, Arb]) -> Arb:
    """The radius of the ball of the norm inside the unit ball that scores certify."""
    norm = numbers.get("norm", arb(2))
    if "inner" in numbers or norm <= 2:
        return numbers.get("inner", arb(1))
    return numbers["dim"] ** ((0 if norm == inf else 1 / norm) - arb(0.5))


def _extremes(
    numbers: Mapping[str, Arb], sigma: Arb, reach: Arb
) -> tuple[Arb, Arb, Arb]:
    """Return the distance of the centres, the least and the largest sigma.

    All in the coordinates of the shape.
    """
    steps = 1 + numbers.get("mean_lip", 0 * sigma)
    reach += numbers.get("shift", 0) / steps
    if "rate" in numbers:
        factor = (reach * numbers["rate"]).exp()
        low, high = sigma / factor, sigma * factor
    elif "lip" in numbers:
        change = reach * numbers["lip"]
        low, high = (sigma - change).max(numbers["sigma_min"]), sigma + change
    else:
        low, high = numbers["sigma_min"], numbers["sigma_max"]
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
