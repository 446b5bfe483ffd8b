"""Semi-elastic smoothing ([S]): sigma(x) whose logarithm is rate-Lipschitz.

Every function raises ValueError for an argument outside its domain and for shapes that
do not broadcast.

References
----------
.. [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent
   randomized smoothing, 2022. Theorem 2's coefficient and Theorem 3's case sigma0 <
   sigma1 are used in their corrected form; see the errata in the documentation.
.. [C] Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized
   smoothing, 2019.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rsbounds import envelope as _envelope
from rsbounds._neighbours.knn import KNNSigma
from rsbounds._numerics.checks import Floats, as_floats, broadcast, choice
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import flag_nan
from rsbounds._numerics.scores import score_of
from rsbounds._numerics.threads import apply
from rsbounds.special import ball_offset, log_ndtr, ncx2_isf, ncx2_ppf, ncx2_ppf_exp
from rsbounds_ext.kernels import worst_score

__all__ = ["KNNSigma", "radius", "ratio_threshold", "worst_case_ball", "xi"]


def radius(
    p_a: ArrayLike,
    sigma: ArrayLike,
    rate: ArrayLike,
    dim: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    scores: bool = False,
) -> Floats:
    """Certified l_2 radius of a semi-elastic smoothed classifier.

    Source: [S] Theorems 2, 6, 7; both sigma1 < sigma0 and sigma1 > sigma0 are checked.

    Parameters
    ----------
    p_a, sigma, dim, p_b, scores
        As in :func:`rsbounds.envelope.radius`.
    rate : array_like
        Semi-elasticity: \\|log sigma(x) - log sigma(y)\\| <= rate \\|x - y\\|; in [0,
        inf). A long double is rounded up.

    Returns
    -------
    Array
        The radius, as :func:`rsbounds.envelope.radius` of ``SemiElastic(rate)``, with
        its error: never above the true value. `rate` 0 gives [C]'s radius.

    Examples
    --------
    >>> print(f"{radius([0.9, 0.99, 0.99993], 0.25, 0.01, 784)}")
    [0.31882811 0.57875069 0.94738778]
    """
    return _envelope.radius(
        p_a, sigma, _envelope.SemiElastic(rate), dim, p_b, scores=scores
    )


def xi(
    distance: ArrayLike,
    p_a: ArrayLike,
    sigma0: ArrayLike,
    sigma1: ArrayLike,
    dim: ArrayLike,
    *,
    scores: bool = False,
) -> Floats:
    """Worst-case probability of the other classes at a point with another sigma.

    Over all classifiers whose top class has probability `p_a` under N(x0, sigma0^2 I),
    the largest probability of the rest under N(x1, sigma1^2 I), \\|x1 - x0\\| =
    `distance`. Source: [S] Theorem 3 (xi_> and xi_<), corrected for sigma0 < sigma1.

    Parameters
    ----------
    distance : array_like
        Distance of the two points, in [0, inf).
    p_a, dim
        As in :func:`radius`.
    sigma0, sigma1 : array_like
        Noise levels at x0 and x1; positive, finite.
    scores : bool
        `p_a` is a normal score, in [-1e6, 1e6] or infinite, and the result is one.

    Returns
    -------
    Array
        xi in [0, 1]; error of its score at most 1e-13 max(1, \\|score\\|) while
        \\|offset\\| <= 100 (a few ulp of the ball's offset otherwise).

    Examples
    --------
    >>> print(f"{xi(0.3, 0.99, 0.25, 0.245, 784):.12f}")
    0.183115087492
    """
    z_a = score_of("p_a", p_a, scores=scores, limit=True)
    sigma0 = as_floats("sigma0", sigma0, 0.0, closed="neither")
    sigma1 = as_floats("sigma1", sigma1, 0.0, closed="neither")
    distance = as_floats("distance", distance, 0.0, closed="left")
    dim = as_floats("dim", dim, 1.0, 1e8)
    broadcast(distance=distance, p_a=z_a, sigma0=sigma0, sigma1=sigma1, dim=dim)
    score = apply(worst_score, distance, -z_a, sigma0, sigma1, dim, cost=1.5)
    if scores:
        return _value(flag_nan(score))
    with np.errstate(under="ignore"):
        return _value(flag_nan(scipy.special.ndtr(score)))


@np.errstate(over="ignore", under="ignore")
def worst_case_ball(
    distance: ArrayLike,
    p_a: ArrayLike,
    sigma0: ArrayLike,
    sigma1: ArrayLike,
    dim: ArrayLike,
) -> tuple[Floats, Floats, NDArray[np.bool_] | np.bool_]:
    """The set that attains :func:`xi`: a ball or the complement of one.

    Source: [S] Theorem 2, with the coefficient sigma0^2 sigma1^2 in the radius for
    sigma1 > sigma0.

    Parameters
    ----------
    distance, p_a, sigma0, sigma1, dim : array_like
        As in :func:`xi`.

    Returns
    -------
    tuple of Array
        (centre, radius, complement). The centre lies on the line through x0 and x1, at
        the signed distance `centre` from x0 towards x1; the worst set is the ball of
        that radius, or its complement where `complement` is True (sigma1 > sigma0).
        sigma1 = sigma0 gives a half-space: centre and radius inf. Relative error of
        both at most 1e-14 plus that of sigma0^2 - sigma1^2.

    Examples
    --------
    >>> centre, ball, complement = worst_case_ball(0.3, 0.99, 0.25, 0.245, 784)
    >>> print(f"{centre:.6f} {ball:.6f} {complement}")
    7.575758 9.803853 False
    """
    z_a = score_of("p_a", p_a)
    sigma0 = as_floats("sigma0", sigma0, 0.0, closed="neither")
    sigma1 = as_floats("sigma1", sigma1, 0.0, closed="neither")
    distance = as_floats("distance", distance, 0.0, closed="left")
    dim = as_floats("dim", dim, 1.0, 1e8)
    z_a, sigma0, sigma1, distance, dim = broadcast(
        p_a=z_a, sigma0=sigma0, sigma1=sigma1, distance=distance, dim=dim
    )
    complement = np.asarray(sigma1 > sigma0)
    gap = (sigma0 - sigma1) / sigma0 * (1 + sigma1 / sigma0)
    flat = gap == 0
    centre = distance / np.where(flat, 1.0, gap)
    s = np.abs(centre) / sigma0
    z = np.where(complement, z_a, -z_a)
    u = ball_offset(z, dim, s)
    # where it is far smaller than s, the radius by itself, not as a difference
    inner = (u < -s / 2) & np.isfinite(z)
    square = np.where(inner, s, 0.0) ** 2
    rho = np.where(inner, np.sqrt(ncx2_ppf_exp(log_ndtr(z), dim, square)), s + u)
    unknown = np.isnan([z_a, sigma0, sigma1, distance, dim]).any(0)
    centre = np.where(unknown, np.nan, np.where(flat, np.inf, centre))
    radius = np.where(unknown, np.nan, np.where(flat, np.inf, sigma0 * rho))
    return _value(flag_nan(centre)), _value(radius), complement[()]


def ratio_threshold(
    p_a: ArrayLike, dim: ArrayLike, *, side: str = "below", bound: str = "chernoff"
) -> Floats:
    """Where sigma1/sigma0 alone rules out a certificate, at any distance.

    Parameters
    ----------
    p_a : array_like
        Probability of the top class, in (1/2, 1).
    dim : array_like
        Dimension, a real number in [1, 1e8]; above 1 for side "above" (but for
        "exact").
    side : {"below", "above"}
        The smallest or the largest sigma1/sigma0 not ruled out.
    bound : {"chernoff", "simple", "exact"}
        "chernoff" is [S] Theorem 4; "simple" is Corollary 5, its closed form, which
        needs dim >= 4 log(1/(1 - p_a)) on the side "below" (above: Laurent, Massart,
        Adaptive estimation of a quadratic functional by model selection, Annals of
        Statistics 28, 2000); "exact" is the true threshold, where xi at distance 0 is
        1/2.

    Returns
    -------
    Array
        The ratio sigma1/sigma0, relative error at most 1e-12. Below 1 for side "below",
        above 1 for "above". The exact threshold is the nearest to 1.

    Examples
    --------
    >>> for bound in ("simple", "chernoff", "exact"):
    ...     print(f"{ratio_threshold(0.99, 784, bound=bound):.10f}")
    0.9201721102
    0.9243627693
    0.9418172702
    """
    choice("side", side, ("below", "above"))
    choice("bound", bound, ("chernoff", "simple", "exact"))
    p_a = as_floats("p_a", p_a, 0.5, 1.0, closed="neither")
    dim = as_floats("dim", dim, 1.0, 1e8)
    p_a, dim = broadcast(p_a=p_a, dim=dim)
    below = side == "below"
    if bound == "exact":
        edge = ncx2_isf(p_a, dim, 0.0) if below else ncx2_ppf(p_a, dim, 0.0)
        return _value(np.sqrt(edge / ncx2_ppf(0.5, dim, 0.0)))
    if not below and np.any(dim <= 1):
        first = np.asarray(dim)[np.asarray(dim) <= 1].flat[0]
        raise ArgumentError("dim", f"must be above 1 for side 'above'; got {first}")
    depth = -np.log1p(-p_a) / dim  # log(1/(1 - p_a)) / dim
    if bound == "chernoff":
        # t e^{1 - t} = (1 - p_a)^{2/dim}
        with np.errstate(under="ignore"):
            branch = 0 if below else -1
            t = -np.real(scipy.special.lambertw(-np.exp(-1 - 2 * depth), branch))
    elif below:
        if np.any(depth > 0.25):
            raise ArgumentError(
                "dim",
                "must be at least 4 log(1/(1 - p_a)) for bound 'simple'; "
                f"got log(1/(1 - p_a)) = {float(np.max(depth)):.3g} dim",
            )
        t = 1 - 2 * np.sqrt(depth)
    else:
        t = 1 + 2 * np.sqrt(depth) + 2 * depth
    return _value(flag_nan(np.sqrt(t if below else t * dim / (dim - 1))))


def _value(x: ArrayLike) -> Floats:
    value: Floats = np.asarray(x, dtype=np.float64)[()]
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
