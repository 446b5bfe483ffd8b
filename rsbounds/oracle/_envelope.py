"""The exact two-point certificate for sigma(x) in an envelope.

``z_b=None`` means -z_a.
"""

from __future__ import annotations

from collections.abc import Callable

from mpmath import mp

from rsbounds.oracle._ball import chi_square_tails, log_radius
from rsbounds.oracle._entry import checked, exact
from rsbounds.oracle._normal import GUARD, Mpf, Real, rounded, score

#: Beyond this the search for a ball's offset does not end.
_MOST_SCORE = 1e9
Envelope = tuple[Callable[[Mpf], Mpf], Callable[[Mpf], Mpf]]


@checked
def semi_elastic(sigma: Real, rate: Real) -> Envelope:
    """Bounds on sigma(x) at a distance where log sigma(x) is ``rate``-Lipschitz.

    Functions of the distance, evaluated in the precision that mpmath has set. ``sigma``
    is the level at the input, ``rate`` as of :class:`rsbounds.envelope.SemiElastic`.
    """
    return (
        lambda r: exact(sigma) * mp.exp(-exact(rate) * r),
        lambda r: exact(sigma) * mp.exp(exact(rate) * r),
    )


@checked
def lipschitz_sigma(sigma: Real, lip: Real, sigma_min: Real) -> Envelope:
    """Bounds for a ``lip``-Lipschitz sigma(x) that is at least ``sigma_min``.

    ``sigma`` is the level at the input; other arguments as of
    :class:`rsbounds.envelope.LipschitzSigma`.
    """
    return (
        lambda r: max(exact(sigma_min), exact(sigma) - exact(lip) * r),
        lambda r: exact(sigma) + exact(lip) * r,
    )


@checked
def sigma_range(sigma_min: Real, sigma_max: Real) -> Envelope:
    """Bounds on sigma(x) that are the same at every distance.

    Arguments as of :class:`rsbounds.envelope.SigmaRange`.
    """
    return lambda r: exact(sigma_min), lambda r: exact(sigma_max)


@checked
def worst_score(
    distance: Real, z: Real, sigma0: Real, sigma1: Real, dim: Real, *, dps: int = 30
) -> Mpf:
    """Score of the largest P1(B) over sets with P0(B) = Phi(z) ([S] Theorems 2 and 3).

    P0 is N(0, sigma0^2 I), P1 is N(distance e1, sigma1^2 I). B is a ball about distance
    sigma0^2/(sigma0^2 - sigma1^2) e1, or its complement if sigma1 > sigma0. ``sigma0``
    is the level at the input and ``sigma1`` that at the other point, as in
    :func:`rsbounds.semielastic.worst_case_ball`.
    """
    with mp.workdps(dps + GUARD):
        a, z, sigma0, sigma1, dim = map(exact, (distance, z, sigma0, sigma1, dim))
        if not (abs(z) <= _MOST_SCORE or mp.isinf(z)):
            raise ValueError(
                f"z must be in [-1e9, 1e9] or infinite; got {mp.nstr(z, 5)}"
            )
        if sigma1 == sigma0:
            return z + a / sigma0
        if sigma1 <= 0:
            return mp.inf
        if mp.isinf(z):
            # the laws have the same null sets
            return z
        inside = 1 if sigma1 < sigma0 else -1
        # The centre is far away if the levels are close: carry its digits too.
        far = a * sigma0 / abs((sigma0 - sigma1) * (sigma0 + sigma1))
        with mp.extradps(int(mp.log10(1 + far))):
            s0 = a * sigma0 / abs((sigma0 - sigma1) * (sigma0 + sigma1))
            log_rho = log_radius(inside * z, dim, s0, dps) + mp.log(sigma0 / sigma1)
            x, nc = mp.exp(2 * log_rho), (s0 * sigma1 / sigma0) ** 2
            tails = chi_square_tails(x, dim, nc, dps=dps + 10)
        return inside * score(tails.log_lower, tails.log_upper, dps=dps + 5)


@checked
def envelope_branch(
    z_a: Real,
    sigma: Real,
    sigma1: Callable[[Mpf], Mpf],
    dim: Real,
    z_b: Real | None = None,
    *,
    mean_lip: Real = 0,
    dps: int = 30,
) -> Mpf:
    """Zero R of X_B + X_A at distance (1 + mean_lip) R with the one-sided sigma1(R).

    It is 0 where that sum is positive at distance 0 already. ``sigma1`` is a function
    of the distance, one of the two of :func:`semi_elastic`; other arguments as of
    :func:`rsbounds.envelope.branch_radii`.
    """

    def excess(r: Mpf, digits: int) -> Mpf:
        a = (1 + exact(mean_lip)) * r
        with_a = worst_score(a, -exact(z_a), sigma, sigma1(r), dim, dps=digits)
        if z_b is None:
            return with_a
        return with_a + worst_score(a, z_b, sigma, sigma1(r), dim, dps=digits)

    with mp.workdps(dps + GUARD):
        gap = 2 * exact(z_a) if z_b is None else exact(z_a) - exact(z_b)
        if gap <= 0 or excess(mp.zero, dps) >= 0:
            return mp.zero
        radius = _root(excess, exact(sigma) * gap / 2 / (1 + exact(mean_lip)), dps)
    return rounded(radius, dps)


@checked
def envelope_branches(
    z_a: Real,
    sigma: Real,
    envelope: Envelope,
    dim: Real,
    z_b: Real | None = None,
    *,
    mean_lip: Real = 0,
    dps: int = 30,
) -> tuple[Mpf, Mpf]:
    """Both one-sided radii, of which the smaller is certified.

    ``envelope`` is a lower and an upper bound, as :func:`semi_elastic` returns; other
    arguments as of :func:`rsbounds.envelope.branch_radii`.
    """
    low, high = (
        envelope_branch(z_a, sigma, bound, dim, z_b, mean_lip=mean_lip, dps=dps)
        for bound in envelope
    )
    return low, high


def _root(function: Callable[[Mpf, int], Mpf], guess: Mpf, dps: int) -> Mpf:
    """The zero of an increasing function of (r, digits) that is negative at 0.

    Ridders' method, which is at home with exponential growth, then secant steps. Where
    those fail, as next to a floor of sigma that is all but 0, Ridders' method to the
    end.
    """
    # not from above: the scores there may be astronomical
    low, high = mp.zero, guess / 4096
    while (f_high := function(high, 12)) < 0:
        low, high = high, 8 * high
    while not mp.isfinite(f_high):
        middle = (low + high) / 2
        value = function(middle, 12)
        low, high = (middle, high) if value < 0 else (low, middle)
        f_high = f_high if value < 0 else value
    f_low, digits, current = function(low, 12), 12, high
    near, narrow = mp.mpf("1e-7"), mp.mpf("1e-10")
    for _ in range(400):
        middle = (low + high) / 2
        f_middle = function(middle, digits)
        bend = mp.sqrt(f_middle**2 - f_low * f_high)
        previous, current = current, middle - (middle - low) * f_middle / bend
        value = function(current, digits)
        for r, f in sorted([(middle, f_middle), (current, value)]):
            if f < 0:
                low, f_low = r, f
            elif r < high:
                high, f_high = r, f
        if abs(current - previous) < current * near or high - low < high * narrow:
            polished = current if digits > 12 else _polish(function, current, dps)
            if polished is not None:
                return polished
            digits = dps
            near = narrow = mp.mpf(10) ** (-dps - 3)
    raise ArithmeticError("the radius did not converge")


def _polish(function: Callable[[Mpf, int], Mpf], start: Mpf, dps: int) -> Mpf | None:
    """Secant steps to the end, or None."""
    previous, current = start * (1 - mp.mpf("1e-10")), start
    f_previous = function(previous, dps)
    for _ in range(20):
        value = function(current, dps)
        if not mp.isfinite(value) or value == f_previous:
            return None
        step = value * (current - previous) / (value - f_previous)
        previous, f_previous, current = current, value, current - step
        if abs(step) < current * mp.mpf(10) ** (-(dps * 2) // 3):
            return current
    return None


@checked
def ratio_threshold(z_a: Real, dim: Real, *, dps: int = 30) -> Mpf:
    """Ratio sigma1/sigma0 at which the worst case at distance 0 reaches 1/2.

    There xi(0) = 1/2.

    Below 1 for sigma1 < sigma0; with -z_a in place of z_a it is the one above 1.
    Arguments as of :func:`rsbounds.semielastic.ratio_threshold`.
    """
    with mp.workdps(dps + GUARD):
        dim = exact(dim)
        log_rho = log_radius(-exact(z_a), dim, mp.zero, dps)
        log_median = log_radius(mp.zero, dim, mp.zero, dps)
        value = mp.exp(log_rho - log_median)
    return rounded(value, dps)
