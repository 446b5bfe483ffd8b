"""The normal distribution in mpmath, tails in logs."""

from __future__ import annotations

from operator import index
from statistics import NormalDist
from typing import Any

from mpmath import mp

from rsbounds.oracle._entry import checked, exact

Mpf = Any
Real = Any

GUARD = 25  # decimal digits carried beyond those asked for
_FAR = 1e150  # scores from here on have tails by their first term


def whole(name: str, value: Real) -> int:
    """``value`` as a whole number, whatever its width; ValueError for another."""
    try:
        return index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number; got {value!r}") from None


def rounded(value: Mpf, dps: int) -> Mpf:
    """``value`` to ``dps`` digits, whatever the precision of the moment."""
    with mp.workdps(dps):
        return +value


def log_complement(log_p: Mpf) -> Mpf:
    """log(1 - e^log_p) for log_p <= 0."""
    if log_p == 0:
        return -mp.inf
    return mp.log1p(-mp.exp(log_p)) if log_p < -0.7 else mp.log(-mp.expm1(log_p))


@checked
def ndtr(z: Real, *, dps: int = 30) -> Mpf:
    """Phi(z), to ``dps`` digits also where it is tiny.

    As :func:`rsbounds.special.ndtr`.
    """
    with mp.workdps(dps + GUARD):
        p = _ndtr(exact(z))
    return rounded(p, dps)


@checked
def log_ndtr(z: Real, *, dps: int = 30) -> Mpf:
    """Logarithm of Phi(z).

    As :func:`rsbounds.special.log_ndtr`.
    """
    with mp.workdps(dps + GUARD):
        value = _log_ndtr(exact(z))
    return rounded(value, dps)


@checked
def ndtri(p: Real, *, dps: int = 30) -> Mpf:
    """Phi^-1(p) for p in [0, 1].

    As :func:`rsbounds.special.ndtri`.
    """
    with mp.workdps(dps + GUARD):
        p = exact(p)
        z = (
            -mp.inf
            if p == 0
            else ndtri_exp(mp.log(p) if p < 0.5 else mp.log1p(p - 1), dps=dps)
        )
    return rounded(z, dps)


@checked
def ndtri_exp(log_p: Real, *, dps: int = 30) -> Mpf:
    """Phi^-1(e^log_p) for log_p in [-inf, 0].

    As :func:`rsbounds.special.ndtri_exp`.
    """
    with mp.workdps(dps + GUARD):
        log_p = exact(log_p)
        if not log_p <= 0:
            raise ValueError(f"log_p must be <= 0; got {log_p}")
        z = _solve(log_p) if log_p < -mp.log(2) else -_solve(log_complement(log_p))
    return rounded(z, dps)


@checked
def score(log_lower: Mpf, log_upper: Mpf, *, dps: int) -> Mpf:
    """Normal score of a probability from the logs of both tails, by the smaller one.

    ``log_lower`` is the logarithm of the probability, ``log_upper`` that of one minus
    it.
    """
    if log_lower <= log_upper:
        return ndtri_exp(log_lower, dps=dps)
    with mp.workdps(dps):  # a minus sign rounds to the precision of the moment
        return -ndtri_exp(log_upper, dps=dps)


def log_tails(z: Mpf) -> tuple[Mpf, Mpf]:
    """Return log Phi(z) and log Phi(-z), to the working precision."""
    return _log_ndtr(z), _log_ndtr(-z)


def _ndtr(z: Mpf) -> Mpf:
    if _FAR < abs(z) < mp.inf:  # mpmath's erfc overflows
        return mp.exp(_log_far_tail(-z)) if z < 0 else mp.one
    return mp.erfc(-z / mp.sqrt(2)) / 2


def _log_ndtr(z: Mpf) -> Mpf:
    if mp.isinf(z):
        return mp.zero if z > 0 else -mp.inf
    if z < -_FAR:
        return _log_far_tail(-z)
    return mp.log1p(-_ndtr(-z)) if z > 0 else mp.log(_ndtr(z))


def _log_far_tail(z: Mpf) -> Mpf:
    """Logarithm of Phi(-z) but for 1/z^2."""
    return -(z**2) / 2 - mp.log(z) - mp.log(2 * mp.pi) / 2


def _solve(log_p: Mpf) -> Mpf:
    """The root z <= 0 of log Phi(z) = log_p, by Halley's method (cubic)."""
    if mp.isinf(log_p):
        return -mp.inf
    if log_p > -700:
        z = mp.mpf(NormalDist().inv_cdf(float(mp.exp(log_p))))
    else:
        z = -mp.sqrt(-2 * log_p - mp.log(-4 * mp.pi * log_p))
    tiny = mp.mpf(10) ** (-mp.dps // 2)
    for _ in range(60):
        log_cdf = _log_ndtr(z)
        ratio = mp.exp(-z * z / 2 - log_cdf) / mp.sqrt(2 * mp.pi)
        step = (log_cdf - log_p) / ratio
        step /= 1 + step * (z + ratio) / 2
        z -= step
        if abs(step) <= tiny * max(abs(z), tiny):
            return z
    raise ArithmeticError(f"ndtri_exp did not converge at {log_p}")
