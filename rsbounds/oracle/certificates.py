"""What result rows claim, evaluated again in mpmath: radii by method, tails of counts.

Nothing here knows the code that wrote the rows; ``METHODS`` has the names of
``rsbounds.schemes.METHODS``, each with its own evaluation from the manifest's parameters.

Examples
--------
>>> from rsbounds.oracle import certificates
>>> parameters = {"sigma": 0.5}
>>> certificates.excess("gaussian", parameters, 0.5, 1.0000001, 2.0) > 0  # the truth is 1
True
>>> certificates.excess("gaussian", parameters, 0.5, 1.0, 2.0) > 0
False
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mpmath import mp

from rsbounds.oracle._composite import composite_radius
from rsbounds.oracle._envelope import lipschitz_sigma, semi_elastic, worst_score
from rsbounds.oracle._fixed import gaussian_radius
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact
from rsbounds.oracle._quick import worst_sum
from rsbounds.oracle._tails import BOUNDS, binomial_excess, bound_excess, bound_score

__all__ = [
    "BOUNDS",
    "METHODS",
    "POINTS",
    "binomial_excess",
    "bound_excess",
    "bound_score",
    "exceeds",
    "excess",
]

Parameters = Mapping[str, Any]
Excess = Callable[[Parameters, Mpf, Mpf, Mpf, Mpf | None, int], Mpf]
Ends = tuple[Mpf, Mpf]
Point = Callable[[Parameters, Mpf, Mpf], tuple[Mpf, Ends]]


def excess(
    method: str,
    parameters: Parameters,
    sigma: Real,
    radius: Real,
    z_a: Real,
    z_b: Real | None = None,
    *,
    dps: int = 20,
) -> Mpf:
    """A number that is positive exactly where the radius exceeds the truth of its method.

    Parameters
    ----------
    method : str
        A key of ``METHODS``.
    parameters : mapping
        Those of the scheme, as the manifest has them.
    sigma, radius : real
        The row's noise level and radius.
    z_a, z_b : real
        Normal scores of the bounds; ``z_b=None`` stands for -z_a.

    Returns
    -------
    mpf

    Raises
    ------
    ValueError
        Where the radius is beyond all measure for the parameters.
    """
    with mp.workdps(dps + GUARD):
        below = None if z_b is None else exact(z_b)
        return METHODS[method](parameters, exact(sigma), exact(radius), exact(z_a), below, dps)


def exceeds(
    method: str,
    parameters: Parameters,
    sigma: Real,
    radius: Real,
    z_a: Real,
    z_b: Real | None = None,
    *,
    dps: int = 20,
) -> bool:
    """Whether the radius exceeds the truth of its method: the sign of ``excess``, sooner.

    Two-point methods are evaluated in floats first, with a bound on the error; where that
    bound leaves the sign open, mpmath decides.

    Parameters
    ----------
    method, parameters, sigma, radius, z_a, z_b, dps
        As in :func:`excess`.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        As in :func:`excess`.

    Examples
    --------
    >>> from rsbounds.oracle import certificates
    >>> known = {"rate": 0.01, "dim": 150528}
    >>> certificates.exceeds("semi-elastic", known, 0.25, 0.3423, 2.3263478740408408)
    False
    >>> certificates.exceeds("semi-elastic", known, 0.25, 0.3424, 2.3263478740408408)
    True
    """
    if method in POINTS:
        with mp.workdps(dps + GUARD):
            below = None if z_b is None else exact(z_b)
            known = (exact(sigma), exact(radius), exact(z_a), below)
            found = _quickly(parameters, *known, POINTS[method])
        if found is not None:
            return found
    return bool(excess(method, parameters, sigma, radius, z_a, z_b, dps=dps) > 0)


def _gaussian(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    known = {key: parameters[key] for key in ("norm", "dim") if key in parameters}
    return radius - gaussian_radius(z_a, sigma, z_b, dps=dps + GUARD, **known)


def _two_point(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int, *,
    point: Point,
) -> Mpf:  # fmt: skip
    """The larger X_A + X_B of the two extremes of sigma at that radius."""
    distance, ends = point(parameters, sigma, radius)
    dim = exact(parameters["dim"])

    def at(sigma1: Mpf) -> Mpf:
        return mp.fsum(
            worst_score(distance, z, sigma, sigma1, dim, dps=dps) for z in _budgets(z_a, z_b)
        )

    return max(map(at, ends))


def _budgets(z_a: Mpf, z_b: Mpf | None) -> tuple[Mpf, ...]:
    return (-z_a,) if z_b is None else (-z_a, z_b)


def _quickly(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, point: Point
) -> bool | None:
    """Whether X_A + X_B > 0 where the quick evaluation is sure."""
    distance, ends = point(parameters, sigma, radius)
    sure = True
    for sigma1 in ends:
        found = worst_sum(distance, _budgets(z_a, z_b), sigma, sigma1, exact(parameters["dim"]))
        if found is not None and found.value > found.error:
            return True
        sure &= found is not None and found.value < -found.error
    return False if sure else None


def _semi_elastic(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    rate = parameters["rate"]
    if not exact(rate) * radius < 1e4:  # sigma(x) changes by a factor exp(rate r)
        raise ValueError(f"radius {mp.nstr(radius, 6)} is too large for the rate")
    low, high = semi_elastic(sigma, rate)
    return radius, _widened(parameters, low(radius), high(radius))


def _lipschitz(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    low, high = lipschitz_sigma(sigma, parameters["lip"], parameters["sigma_min"])
    return radius, _widened(parameters, low(radius), high(radius))


def _widened(parameters: Parameters, low: Mpf, high: Mpf) -> Ends:
    """Both ends further out by exp(slack), where levels are known as they are computed."""
    factor = mp.exp(exact(parameters.get("slack", 0.0)))
    return low / factor, high * factor


def _range(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    return radius, (exact(parameters["sigma_min"]), exact(parameters["sigma_max"]))


def _generator(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    steps = 1 + exact(parameters["mean_lip"])
    reach = radius / exact(parameters["inner"]) + exact(parameters.get("shift", 0.0)) / steps
    _, ends = _lipschitz(parameters, sigma, reach)
    return steps * reach, ends


#: Distance of the centres and the extremes of sigma at a radius, where two points decide.
POINTS: Mapping[str, Point] = {
    "semi-elastic": _semi_elastic,
    "lipschitz": _lipschitz,
    "range": _range,
    "generator": _generator,
}


def _anisotropic(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    reach = gaussian_radius(z_a, sigma, z_b, dps=dps + GUARD)
    return radius - exact(parameters["inner"]) * reach


def _composite(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    """From the counts of all stages, which ``parameters`` hold beside the rule and the plan."""
    known = (parameters[key] for key in ("rule", "plan", "counts", "n", "alpha"))
    return radius - composite_radius(*known, dps=dps)


#: The evaluation of each method that writes rows.
METHODS: Mapping[str, Excess] = {
    **{name: partial(_two_point, point=point) for name, point in POINTS.items()},
    "gaussian": _gaussian,
    "anisotropic": _anisotropic,
    "composite": _composite,
}
