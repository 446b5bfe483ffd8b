"""The radius of two scores under Gaussian noise, and how large it can be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import (
    Floats,
    as_floats,
    as_integers,
    broadcast,
    every,
    operand,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.rounding import (
    EPS,
    SMALLEST,
    capped,
    product,
    round_down,
    round_up,
)
from rsbounds._numerics.scores import (
    NDTRI_ERROR,
    ScorePair,
    ndtri,
    score_of,
)
from rsbounds._numerics.threads import apply
from rsbounds_ext.kernels import affine_radius

#: Of one radius of brightness and contrast, in microseconds.
_BRIGHTNESS_COST = 1000


def radius(
    p_a: ArrayLike,
    sigma: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    norm: ArrayLike = 2,
    dim: ArrayLike | None = None,
    scores: bool = False,
) -> Floats:
    """Certified radius of the Gaussian-smoothed classifier in an l_p norm.

    sigma (z_a - z_b)/2 in l_2, with z the normal score of a probability: no
    perturbation shorter than this changes the top class. Where norm > 2 it is divided
    by dim^(1/2 - 1/norm); below 2 the l_2 radius stands, because |x|_2 <= |x|_norm.
    Source: [C] Theorem 1 and its one-sided form; [Z] for expected scores; [L] for l_p,
    where r_p is printed without the condition norm >= 2 that it needs.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the probability (or expected score, [Z]) of the top class, in [0,
        1].
    sigma : array_like
        Noise level (standard deviation), in the units of the input; positive.
    p_b : array_like, optional
        Upper bound on the probability of every other class; 1 - p_a by default.
    norm : array_like
        The p of the l_p norm that measures the perturbation, in [1, inf].
    dim : array_like, optional
        Dimension of the input, at least 1; needed where norm > 2.
    scores : bool
        `p_a` and `p_b` are normal scores (any real number, inf included).

    Returns
    -------
    Array
        The radius, broadcast over the arguments: never above the true value and within
        1e-11 of it (relative; scores less than 1e-295 apart may count as equal, and
        numbers below 1e-300 have fewer digits). 0 where p_a <= p_b (p_a <= 1/2 without
        p_b); inf where p_a = 1 or p_b = 0. NaN in, NaN out with numpy's invalid flag.

    Examples
    --------
    >>> from rsbounds import gaussian
    >>> round(float(gaussian.radius(0.99, 0.5)), 6)
    1.163174
    >>> gaussian.radius([0.4, 1.0], 0.5)
    array([ 0., inf])
    """
    half = ScorePair.of(p_a, p_b, scores=scores).half
    sigma = operand("sigma", sigma, 0.0, closed="neither", towards=-np.inf)
    norm, dim = norm_and_dim(norm, dim)
    half, sigma, norm, dim = broadcast(p_a=half, sigma=sigma, norm=norm, dim=dim)
    spread, error = spread_of(norm, dim)
    with np.errstate(over="ignore", under="ignore"):
        value = sigma * half / spread
        if not every((abs(value) < np.inf) | (half == np.inf)):
            # an overflow, only for sigma > 1, so sigma / spread is not subnormal
            over = np.isinf(value) & (half < np.inf)
            other = product(sigma / spread, np.where(over, half, 0.0))
            value = np.where(over, other, value)
    return round_down(value, error)


def brightness_radius(
    p_a: ArrayLike,
    sigma_brightness: ArrayLike,
    sigma_contrast: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    contrast: ArrayLike = 0.0,
    scores: bool = False,
) -> Floats:
    r"""Certified brightness under noise in brightness and contrast.

    Its copies are e^k x + b, with k ~ N(0, sigma_contrast^2) and b ~ N(0,
    sigma_brightness^2). At every e^kappa x + beta with \|kappa\| <= ``contrast`` and
    \|beta\| below the radius the class is the same. An array of contrasts gives the
    frontier. Derived on the theory page "Noise in a parameter", with the error of its
    integrals.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the probability of the top class, in [0, 1].
    sigma_brightness : array_like
        Standard deviation of b, in the unit of the numbers; positive.
    sigma_contrast : array_like
        Standard deviation of k, in (0, 2].
    p_b : array_like, optional
        Upper bound on the probability of every other class; 1 - p_a by default.
    contrast : array_like
        The largest \|kappa\|, >= 0.
    scores : bool
        `p_a` and `p_b` are normal scores (any real number, inf included).

    Returns
    -------
    Array
        The radius, broadcast over the arguments: never above the true value. Its
        integrals are known to some 1e-16. At contrast 0 the radius is within 1e-11 of
        the true value (relative) where `p_b` is 1 - p_a and the score of `p_a` is
        between .1 and 5; it loses 1e-9 at .0003, 1e-9 at 6, 1e-6 at 7, 1e-3 at 8. For
        two scores .1 apart it loses 1e-9 at 3, 1e-6 at 5, .001 at 6, and may be 0 above
        7. With a contrast it is within .0011 of the smaller of its ends at -contrast
        and contrast, which lose as much, and nearer where it is a small part of
        sigma_contrast. Scores beyond 8 count as 8. 0 where p_a <=
        p_b, where contrast alone can change the class, and below 1e-6 sigma_brightness.
        NaN in, NaN out with numpy's invalid flag.

    Examples
    --------
    >>> from rsbounds import gaussian
    >>> most = [0.0, 0.4]
    >>> gaussian.brightness_radius(3.8, 0.4, 0.4, contrast=most, scores=True).round(3)
    array([1.459, 1.404])
    """
    pair = ScorePair.of(p_a, p_b, scores=scores)
    sigma = operand(
        "sigma_brightness", sigma_brightness, 0.0, closed="neither", towards=-np.inf
    )
    spread = as_floats(
        "sigma_contrast", sigma_contrast, 0.0, 2.0, closed="right", exact=True
    )
    most = as_floats("contrast", contrast, 0.0, closed="left", towards=np.inf)
    z_a, z_b, sigma, spread, most = broadcast(
        p_a=pair.z_a,
        p_b=pair.z_b,
        sigma_brightness=sigma,
        sigma_contrast=spread,
        contrast=most,
    )
    reach = apply(affine_radius, z_a, z_b, spread, most, cost=_BRIGHTNESS_COST)
    return round_down(product(reach, sigma), 2 * EPS)


def norm_and_dim(norm: ArrayLike, dim: ArrayLike | None) -> tuple[Any, Any]:
    """The two, checked; dim 1 where it has no part."""
    norm = operand("norm", norm, 1.0, nan=False, towards=np.inf)
    if dim is None:
        if not every(norm <= 2):
            raise ArgumentError("dim", "must be given where norm > 2; got None")
        return norm, 1.0
    return norm, operand("dim", dim, 1.0, closed="left", towards=np.inf)


def spread_of(norm: Any, dim: Any) -> tuple[Any, Any]:
    """dim^(1/2 - 1/norm) where norm > 2, else 1; and the radius's relative error."""
    if every(norm <= 2):
        return 1.0, 16.0 * EPS
    with np.errstate(under="ignore"):
        power = np.maximum(0.5 - 1.0 / norm, 0.0)
    # the rounded exponent costs log(dim) 2^-54, the power, product and quotient an ulp
    # each
    error = EPS * np.maximum(16.0, 4.0 + (power > 0) * np.log(dim) / 2)
    return dim**power, error


def local_lipschitz(p: ArrayLike, sigma: ArrayLike) -> Floats:
    """Largest gradient norm that a smoothed probability can have where it equals p.

    phi(Phi^-1(p))/sigma, in l_2. It bounds the gradient at the point; it is not a
    Lipschitz constant of the neighbourhood, and a radius made from it and Theorem 0 of
    [L] is void (p_a = .99: 18.4 sigma against the true 2.33 sigma). Source: [L], local
    Lipschitz constant; it follows from the Neyman-Pearson lemma as in [C].

    Parameters
    ----------
    p : array_like
        Smoothed probability at the point, in [0, 1].
    sigma : array_like
        As in :func:`radius`.

    Returns
    -------
    Array
        Upper bound of the value, within 1e-11 of it (relative); 0 at p = 0 and p = 1.

    Examples
    --------
    >>> from rsbounds import gaussian
    >>> round(float(gaussian.local_lipschitz(0.5, 1.0)), 7)
    0.3989423
    """
    z = score_of("p", p)
    sigma = as_floats("sigma", sigma, 0.0, closed="neither", towards=-np.inf)
    z, sigma = broadcast(p=z, sigma=sigma)
    endless = np.isinf(z)
    square = np.where(endless, 0.0, z**2)
    with np.errstate(over="ignore", under="ignore"):
        # by its root: a density below the normal numbers has lost its digits
        root = np.exp(-square / 4) / np.sqrt(sigma) / (2 * np.pi) ** 0.25
        slope = root * root
        # an upper bound: 0 is only for probabilities 0 and 1
        slope = np.where(endless, 0.0, np.maximum(slope, SMALLEST))
    return round_up(slope, 2 * NDTRI_ERROR * (square + 2))


def lipschitz_radius(p_a: ArrayLike, p_b: ArrayLike | None, lip: ArrayLike) -> Floats:
    """Radius of any score vector that is Lipschitz: (p_a - p_b)/(2 lip).

    Source: [L] Theorem 0.

    Parameters
    ----------
    p_a, p_b : array_like
        Lower bound on the top score, upper bound on every other one, in [0, 1];
        p_b = None stands for 1 - p_a.
    lip : array_like
        A Lipschitz constant that holds for every score, on the whole region to be
        certified, with respect to the norm that measures the perturbation; at least 0.

    Returns
    -------
    Array
        The radius in that norm, never above the true value; 0 where p_a <= p_b; inf
        where lip = 0 and p_a > p_b.

    Examples
    --------
    >>> from rsbounds import gaussian
    >>> round(float(gaussian.lipschitz_radius(0.9, 0.1, 2.0)), 12)
    0.2
    """
    p_a = as_floats("p_a", p_a, 0.0, 1.0, towards=-np.inf)
    p_b = 1.0 - p_a if p_b is None else as_floats("p_b", p_b, 0.0, 1.0, towards=np.inf)
    lip = as_floats("lip", lip, 0.0, closed="left", towards=np.inf)
    p_a, p_b, lip = broadcast(p_a=p_a, p_b=p_b, lip=lip)
    difference = p_a - p_b
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        value = np.divide(
            difference / 2,
            lip,
            where=~(difference <= 0),
            out=np.zeros(difference.shape),
        )
    return round_down(capped(value, lip > 0), 2 * EPS)


def max_radius(n: ArrayLike, alpha: ArrayLike, sigma: ArrayLike) -> Floats:
    """Largest l_2 radius that n samples can certify: when all are of the top class.

    The Clopper-Pearson lower bound of n successes in n trials is alpha^(1/n), so no
    input, however easy, is certified beyond sigma Phi^-1(alpha^(1/n)). Source: [S] A.2,
    which prints .48 for sigma = .12, n = 1e5, alpha = .001; it is .4574.

    Parameters
    ----------
    n : array_like of int
        Number of samples; at least 1.
    alpha : array_like
        Probability of error of the bound, in (0, 1).
    sigma : array_like
        As in :func:`radius`.

    Returns
    -------
    Array
        The radius, never above the true value and within 1e-11 of it (relative; where
        alpha^(1/n) is within 1e-4 of 1/2: within 2e-15 sigma). 0 where alpha^(1/n) <=
        1/2.

    Examples
    --------
    >>> from rsbounds import gaussian
    >>> round(float(gaussian.max_radius(100_000, 0.001, 0.12)), 4)
    0.4574
    """
    n = as_integers("n", n, 1)
    alpha = as_floats("alpha", alpha, 0.0, 1.0, closed="neither", towards=-np.inf)
    sigma = as_floats("sigma", sigma, 0.0, closed="neither", towards=-np.inf)
    warn_of_confidence(alpha, stacklevel=2)
    alpha, n, sigma = broadcast(alpha=alpha, n=n, sigma=sigma)
    complement = round_up(-np.expm1(np.log(alpha) / n), 4 * EPS)
    z = np.maximum(-ndtri(np.minimum(complement, 0.5)), 0.0)
    return round_down(product(sigma, z), NDTRI_ERROR + EPS)
