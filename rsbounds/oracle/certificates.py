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
from typing import Any

from mpmath import mp

from rsbounds.oracle._composite import composite_radius
from rsbounds.oracle._envelope import (
    Envelope,
    lipschitz_sigma,
    semi_elastic,
    sigma_range,
    worst_score,
)
from rsbounds.oracle._fixed import gaussian_radius
from rsbounds.oracle._lipschitz import integrated_radius, lipschitz_constant
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, ndtr, ndtri
from rsbounds.oracle._sequential import log_wealth

Parameters = Mapping[str, Any]
Excess = Callable[[Parameters, Mpf, Mpf, Mpf, Mpf | None, int], Mpf]


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


def binomial_excess(count: int, n: int, z: Real, alpha: Real, *, dps: int = 20) -> Mpf:
    """log P(Binomial(n, Phi(z)) >= count) - log alpha: positive where z is no lower bound's score.

    One sum of terms of one sign, in whole numbers of fixed point.
    """
    with mp.workdps(dps + GUARD):
        z, alpha = exact(z), exact(alpha)
        if count == 0 or z == mp.inf:
            return -mp.log(alpha)  # probability 1
        if z == -mp.inf:
            return -mp.inf
        p, q = ndtr(z, dps=dps + GUARD), ndtr(-z, dps=dps + GUARD)
        odds = p / q
        bits = int(3.33 * (dps + GUARD)) + max(0, int(-mp.log(odds, 2))) + n.bit_length()
        scaled = int(mp.floor(odds * mp.mpf(2) ** bits))
        one = 1 << bits
        term = total = one
        for j in range(count, n):
            term = term * scaled * (n - j) // ((j + 1) << bits)
            total += term
            if term << (3 * dps + 10) < total and scaled * (n - j) < (j + 1) << bits:
                break
        log_choose = mp.loggamma(n + 1) - mp.loggamma(count + 1) - mp.loggamma(n - count + 1)
        log_first = log_choose + count * mp.log(p) + (n - count) * mp.log(q)
        return log_first + mp.log(mp.mpf(total) / one) - mp.log(alpha)


def _gaussian(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    known = {key: parameters[key] for key in ("norm", "dim") if key in parameters}
    return radius - gaussian_radius(z_a, sigma, z_b, dps=dps + GUARD, **known)


def _two_point(
    envelope: Envelope, distance: Mpf, sigma: Mpf, dim: Real, z_a: Mpf, z_b: Mpf | None,
    dps: int, stretch: Mpf | int = 1,
) -> Mpf:  # fmt: skip
    """The larger X_A + X_B of the two extremes of sigma at that distance."""

    def at(sigma1: Mpf) -> Mpf:
        first = worst_score(stretch * distance, -z_a, sigma, sigma1, dim, dps=dps)
        if z_b is None:
            return first
        return first + worst_score(stretch * distance, z_b, sigma, sigma1, dim, dps=dps)

    return max(at(bound(distance)) for bound in envelope)


def _semi_elastic(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    rate = parameters["rate"]
    if not exact(rate) * radius < 1e4:  # sigma(x) changes by a factor exp(rate r)
        raise ValueError(f"radius {mp.nstr(radius, 6)} is too large for the rate")
    return _two_point(semi_elastic(sigma, rate), radius, sigma, parameters["dim"], z_a, z_b, dps)


def _lipschitz(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    envelope = lipschitz_sigma(sigma, parameters["lip"], parameters["sigma_min"])
    return _two_point(envelope, radius, sigma, parameters["dim"], z_a, z_b, dps)


def _integrated(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    known = {key: parameters[key] for key in ("lip", "sigma_min", "dim")}
    return radius - integrated_radius(z_a, sigma, z_b=z_b, dps=dps, **known)


def _paper(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    """[B] Theorem 3 after Remark 2's map of the scores."""
    p_min, classes = exact(parameters["p_min"]), exact(parameters["classes"])

    def moved(z: Mpf) -> Mpf:
        p = p_min + (1 - classes * p_min) * ndtr(z, dps=dps + GUARD)
        return ndtri(p, dps=dps + GUARD)

    gap = moved(z_a) - moved(-z_a if z_b is None else z_b)
    known = (parameters["dim"], parameters["lip"], parameters["sigma_min"])
    slope = lipschitz_constant(*known, ndtri(p_min, dps=dps + GUARD), dps=dps)
    return radius - max(gap, mp.zero) / (2 * slope)


def _range(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    envelope = sigma_range(parameters["sigma_min"], parameters["sigma_max"])
    return _two_point(envelope, radius, sigma, parameters["dim"], z_a, z_b, dps)


def _anisotropic(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    reach = gaussian_radius(z_a, sigma, z_b, dps=dps + GUARD)
    return radius - exact(parameters["inner"]) * reach


def _generator(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    envelope = lipschitz_sigma(sigma, parameters["lip"], parameters["sigma_min"])
    reach, stretch = radius / exact(parameters["inner"]), 1 + exact(parameters["mean_lip"])
    return _two_point(envelope, reach, sigma, parameters["dim"], z_a, z_b, dps, stretch)


def _composite(
    parameters: Parameters, sigma: Mpf, radius: Mpf, z_a: Mpf, z_b: Mpf | None, dps: int
) -> Mpf:
    """From the counts of all stages, which ``parameters`` hold beside the rule and the plan."""
    known = (parameters[key] for key in ("rule", "plan", "counts", "n", "alpha"))
    return radius - composite_radius(*known, dps=dps)


#: The evaluation of each method that writes rows.
METHODS: Mapping[str, Excess] = {
    "gaussian": _gaussian,
    "semi-elastic": _semi_elastic,
    "lipschitz": _lipschitz,
    "lipschitz-integrated": _integrated,
    "lipschitz-paper": _paper,
    "range": _range,
    "anisotropic": _anisotropic,
    "generator": _generator,
    "composite": _composite,
}


def bound_excess(
    bound: str, count: int, n: int, z: Real, alpha: Real, u: Real | None = None, *, dps: int = 20
) -> Mpf:
    """A number that is positive exactly where z is above the lower bound's score at level alpha.

    Parameters
    ----------
    bound : str
        A key of ``BOUNDS``.
    count, n : int
        Successes and trials.
    z : real
        Normal score of the claimed lower bound.
    alpha : real
        Probability of error.
    u : real, optional
        The uniform number of a randomised bound.

    Returns
    -------
    mpf
    """
    with mp.workdps(dps + GUARD):
        return BOUNDS[bound](count, n, exact(z), exact(alpha), u, dps)


def bound_score(
    bound: str, count: int, n: int, alpha: Real, u: Real | None = None, *, dps: int = 20
) -> Mpf:
    """The score at which ``bound_excess`` is zero: -inf for no success."""
    if count == 0:
        return -mp.inf
    with mp.workdps(dps + GUARD):

        def above(z: Mpf, digits: int = 10) -> Mpf:
            return bound_excess(bound, count, n, z, alpha, u, dps=digits)

        low = high = ndtri((mp.mpf(count) + 0.5) / (n + 1), dps=15)
        step = mp.mpf(0.5)
        while above(high) <= 0:
            low, high, step = high, high + step, 2 * step
        while above(low) > 0:
            low, high, step = low - step, low, 2 * step
        ends = (low, high)
        tol = mp.mpf(10) ** (-2 * dps)
        return mp.findroot(lambda z: above(z, dps), ends, solver="anderson", tol=tol, verify=False)


def _clopper_pearson(count: int, n: int, z: Mpf, alpha: Mpf, u: Real | None, dps: int) -> Mpf:
    return binomial_excess(count, n, z, alpha, dps=dps)


def _randomized(count: int, n: int, z: Mpf, alpha: Mpf, u: Real | None, dps: int) -> Mpf:
    """P(X > count) + u P(X = count) against alpha; never above what n + 1 of n + 1 would give."""
    if u is None:
        raise ValueError("a randomised bound needs its number u")
    if z == -mp.inf:
        return -mp.inf
    p_equal = mp.exp(
        mp.loggamma(n + 1) - mp.loggamma(count + 1) - mp.loggamma(n - count + 1)
        + count * mp.log(ndtr(z, dps=dps + GUARD))
        + (n - count) * mp.log(ndtr(-z, dps=dps + GUARD))
    )  # fmt: skip
    above = mp.zero
    if count < n:
        above = alpha * mp.exp(binomial_excess(count + 1, n, z, alpha, dps=dps))
    found = mp.log(above + exact(u) * p_equal) - mp.log(alpha)
    if count < n:
        return found
    return max(found, (n + 1) * mp.log(ndtr(z, dps=dps + GUARD)) - mp.log(alpha))


def _anytime(count: int, n: int, z: Mpf, alpha: Mpf, u: Real | None, dps: int) -> Mpf:
    if z == -mp.inf:
        return -mp.inf
    return -mp.log(alpha) - log_wealth(count, n, z, dps=dps)


#: The evaluation of each confidence bound on counts that rows can name.
BOUNDS: Mapping[str, Callable[[int, int, Mpf, Mpf, Real | None, int], Mpf]] = {
    "clopper-pearson": _clopper_pearson,
    "randomized": _randomized,
    "anytime": _anytime,
}
