"""Radius from Renyi divergence for two noise levels, scope "fixed noise".

Weaker than the exact two-point certificate of :mod:`rsbounds.semielastic`, which it can never
exceed; in closed form but for one scalar search.

Derivation. Let P be the class probabilities under N(x0, sigma0^2 I) and Q those under
N(x1, sigma1^2 I). Among all Q whose top class is not that of P, the divergence D_alpha(Q|P)
is least where Q gives both classes the same mass, and that least value is

    B(alpha) = -log(1 - p_a - p_b + 2 M),   M = ((p_a^s + p_b^s)/2)^(1/s),   s = 1 - alpha

(M the geometric mean at s = 0). For the two Gaussians at distance a, by data processing,

    D_alpha(Q|P) <= alpha a^2/(2 sigma_alpha^2) + (dim/2) L/s,
    sigma_alpha^2 = alpha sigma0^2 + s sigma1^2,
    L = log(sigma_alpha^2) - s log(sigma1^2) - alpha log(sigma0^2),

finite iff sigma_alpha^2 > 0: every alpha > 0 if sigma1 <= sigma0, the open range below
sigma1^2/(sigma1^2 - sigma0^2) otherwise. Hence the class is the same at every distance below

    R = sup_alpha sigma_alpha sqrt(2 B/alpha - dim L/(alpha s)),

and where no alpha makes the root's argument positive there is no certificate. B and L are
formed without cancellation: with v = artanh((p_a - p_b)/(p_a + p_b)) and 2 m = p_a + p_b it
is M = m e^-c, c = log cosh v - log cosh(s v)/s, and both c/alpha and L/(alpha s) have one form
for alpha <= 1/2 and one for the rest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import Array, Floats, broadcast, real
from rsbounds._numerics.rounding import EPS, product, round_down, round_up

__all__ = ["radius"]

_GRID = np.linspace(-30.0, 40.0, 281)
_PIECE = 1024  # problems searched at a time
_STEPS = 40  # golden-section steps: each bracket shrinks to 2e-9
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def radius(
    p_a: ArrayLike,
    sigma0: ArrayLike,
    sigma1: ArrayLike,
    dim: ArrayLike,
    p_b: ArrayLike | None = None,
) -> Floats:
    """Distance within which a point of noise level sigma1 has the top class of x0.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the probability of the top class at x0, in [0, 1].
    sigma0, sigma1 : array_like
        Noise levels (standard deviations) at x0 and at the other point; positive.
    dim : array_like
        Dimension of the input, at least 1.
    p_b : array_like, optional
        Upper bound on the probability of every other class at x0; 1 - p_a by default, and
        never taken larger than that.

    Returns
    -------
    Array
        Never above the supremum over alpha. Relative to it, within 1e-11 unless the two
        terms under the root cancel: then within 1e-12 of the larger term, before the root.
        0 where p_a <= p_b, where no alpha certifies (R^2 <= 0) or where the ratio of the levels
        is beyond 1e150; inf where p_a = 1. NaN in,
        NaN out with the invalid flag.

    Raises
    ------
    ValueError
        Probability outside [0, 1], a level not in (0, inf), dim not in [1, inf), shapes that
        do not broadcast.

    References
    ----------
    [S] Sukenik, Kuvshinov, Guennemann, Intriguing properties of input-dependent randomized
    smoothing, 2022, Theorem 14. As printed it has a closed range of alpha and no word on
    R^2 < 0.

    Examples
    --------
    >>> from rsbounds import renyi
    >>> round(float(renyi.radius(0.99, 0.5, 0.5, 784)), 4)
    0.954
    >>> float(renyi.radius(0.99, 0.5, 0.6, 784))
    0.0
    """
    p_a = real("p_a", p_a, 0.0, 1.0, towards=-np.inf)
    rest = 1.0 - p_a
    p_b = rest if p_b is None else np.minimum(real("p_b", p_b, 0.0, 1.0, towards=np.inf), rest)
    sigma0 = real("sigma0", sigma0, 0.0, closed="neither")
    sigma1 = real("sigma1", sigma1, 0.0, closed="neither")
    dim = real("dim", dim, 1.0, closed="left")
    p_a, p_b, sigma0, sigma1, dim = broadcast(
        p_a=p_a, p_b=p_b, sigma0=sigma0, sigma1=sigma1, dim=dim
    )
    square = np.empty(p_a.shape)
    with np.errstate(all="ignore"):
        for start in range(0, p_a.size, _PIECE):
            piece = slice(start, start + _PIECE)
            problems = (v.reshape(-1)[piece] for v in (p_a, p_b, sigma0, sigma1, dim))
            square.reshape(-1)[piece] = _supremum(_Terms(*problems))
    unknown = np.isnan([p_a, p_b, sigma0, sigma1, dim]).any(0)
    square = np.where(~unknown & np.isnan(square), np.where(p_a == 1.0, np.inf, 0.0), square)
    shift = np.sqrt(np.where(p_a <= p_b, 0.0, np.maximum(square, 0.0)))
    return round_down(product(sigma1, shift), 4 * EPS)


def _supremum(terms: _Terms) -> Array:
    """The largest value over t: a grid, then golden section around its best point."""
    best = np.argmax(terms(_GRID), axis=-1)[..., None]
    low, high = _GRID[np.maximum(best - 1, 0)], _GRID[np.minimum(best + 1, _GRID.size - 1)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = terms(left), terms(right)
    for _ in range(_STEPS):
        keep = at_left > at_right
        low, high = np.where(keep, low, left), np.where(keep, right, high)
        middle, at_middle = np.where(keep, left, right), np.where(keep, at_left, at_right)
        fresh = np.where(keep, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_fresh = terms(fresh)
        left, right = np.where(keep, fresh, middle), np.where(keep, middle, fresh)
        at_left = np.where(keep, at_fresh, at_middle)
        at_right = np.where(keep, at_middle, at_fresh)
    result: Array = np.maximum(at_left, at_right)[..., 0]
    return result


class _Terms:
    """A lower bound of R^2/sigma1^2 as a function of t: 1/alpha = max(y, 0) + e^-t.

    y = 1 - sigma0^2/sigma1^2, so the t are the whole open range of alpha, and
    sigma_alpha^2 = sigma1^2 u with u = 1 - alpha y, which is alpha e^-t where y > 0.
    """

    def __init__(self, p_a: Array, p_b: Array, sigma0: Array, sigma1: Array, dim: Array) -> None:
        ratio = sigma0 / sigma1
        self.y = ((sigma1 - sigma0) / sigma1 * (1.0 + ratio))[..., None]
        self.rho = ((sigma1 - sigma0) / sigma0 * (1.0 + 1.0 / ratio))[..., None]
        self.square = (ratio**2)[..., None]  # 1 - y = 1/(1 + rho)
        self.dim = dim[..., None]
        self.mass = (p_a + p_b)[..., None]
        self.rest = np.maximum((1.0 - p_a) - p_b, 0.0)[..., None]
        far = p_a > 1e10 * p_b
        v = np.where(far, np.log(p_a) - np.log(p_b), np.log1p((p_a - p_b) / p_b)) / 2
        self.v = np.maximum(v, 0.0)[..., None]

    def __call__(self, t: Array) -> Array:
        inverse = np.exp(-t)
        alpha = 1.0 / (np.maximum(self.y, 0.0) + inverse)
        s = 1.0 - alpha
        u = np.where(self.y > 0, alpha * inverse, 1.0 - alpha * self.y)
        # bounds of the rounding errors: v up to 745 costs 1e-12, the rest a few units
        gain = round_down(self._gain(alpha, s), 1e-12)
        loss = round_up(self.dim / 2 * self._loss(alpha, s, u), 1e-13)
        value: Array = 2 * u * (gain - loss)
        return value

    def _gain(self, alpha: Array, s: Array) -> Array:
        """B/alpha."""
        v = self.v
        shrunk = np.where(s == 0, 0.0, _log_cosh(s * v) / s)
        above = (_log_cosh(v) - shrunk) / alpha
        step = alpha * v
        near = np.log1p(2 * np.sinh(step / 2) ** 2 - np.tanh(v) * np.sinh(step))
        wide = step + np.log1p(np.expm1(-2 * step) / (np.exp(2 * s * v) + 1))
        below = np.where(v < 1, -near, wide) / alpha - shrunk
        cost = np.where(alpha > 0.5, above, below)
        cost = np.where(np.isinf(v), np.where(s > 0, np.log(2) / s, np.inf), cost)
        c = alpha * cost
        lost = -self.mass * np.expm1(-c)
        log = np.where(lost < 0.5, np.log1p(-lost), np.log(self.rest + self.mass * np.exp(-c)))
        result: Array = np.where(self.rest == 0, cost, -log / alpha)
        return result

    def _loss(self, alpha: Array, s: Array, u: Array) -> Array:
        """L/(alpha s), not negative."""
        small = np.abs(self.y) < 0.25
        below = _log1p(-alpha * self.y, u, small) / alpha - _log1p(-self.y, self.square, small)
        small = np.abs(self.rho) < 0.25
        rest = _log1p(s * self.rho, u / self.square, small) / s
        rest = np.where(s == 0, np.where(small, 0.0, self.rho), rest)
        above = rest - _log1p(self.rho, 1.0 / self.square, small)
        result: Array = np.maximum(np.where(alpha > 0.5, above / alpha, below / s), 0.0)
        return result


def _log_cosh(x: Array) -> Array:
    x = np.abs(x)
    large = x + np.log1p(np.exp(-2 * x)) - np.log(2)
    result: Array = np.where(x < 1, np.log1p(2 * np.sinh(x / 2) ** 2), large)
    return result


def _log1p(x: Array, one_plus_x: Array, less_x: NDArray[np.bool_]) -> Array:
    """log(1 + x), or log(1 + x) - x where ``less_x``, without cancellation for small x."""
    r = x / (2.0 + x)
    square = r * r
    tail = np.polynomial.polynomial.polyval(square, 2.0 / np.arange(3, 23, 2))
    log = np.where(np.abs(x) < 0.5, np.log1p(x), np.log(one_plus_x))
    less = np.where(np.abs(x) < 0.25, r * square * tail - x * r, log - x)
    return np.where(less_x, less, log)
