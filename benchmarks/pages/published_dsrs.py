"""The exact radius of double sampling randomized smoothing (Li et al. 2022), by
quadrature.

P is the generalized Gaussian of density |x|^-2k exp(-|x|^2/2s^2), for which |x|^2/2s^2
has the law Gamma(d/2 - k); Q is P within the ball of P-probability tau. Of all events
with P >= p and Q in [low, high], the least probable after a shift cuts the likelihood
ratio at one number within the ball and at another outside it: the two parts are chosen
apart (Neyman and Pearson), and the share within the ball is the nearest to the common
cut that Q allows. ``radius`` is where that probability falls to 1/2.
"""

import math

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.special import betainc
from scipy.stats import gamma

_CUTS = (0, 0.5, 1, 2, 3, 4, 6, 8, 12, 18, 30, 60)


class Law:
    """P for d numbers and its k, at level sigma; ``points`` nodes in each piece."""

    def __init__(self, d: int, k: int, sigma: float, points: int = 40) -> None:
        self.d, self.k, self.points = d, k, points
        self.scale = math.sqrt(2 * d / (d - 2 * k)) * sigma
        self.law = gamma(d / 2 - k)
        grid = np.linspace(-12, 12, 12001)  # of the angle's cosine, in units of d^-1/2
        half = (d - 1) / 2
        self._cap = CubicSpline(
            grid, betainc(half, half, (1 + grid / math.sqrt(d)) / 2)
        )

    def cap(self, cosine: np.ndarray) -> np.ndarray:
        """P(the angle's cosine is at most this)."""
        return np.clip(self._cap(np.clip(cosine * math.sqrt(self.d), -12, 12)), 0, 1)


class Shift:
    """Events that cut the likelihood ratio of a shift by ``radius``."""

    def __init__(self, law: Law, radius: float, tau: float = 1.0) -> None:
        self.law, self.rho = law, radius / law.scale
        self.edge = float(law.law.ppf(tau))
        cuts = sorted({*_CUTS, min(self.edge, _CUTS[-1])})
        x, w = np.polynomial.legendre.leggauss(law.points)
        ends = np.array(cuts)
        half = np.diff(ends)[:, None] / 2
        self.t = (half * x + (ends[:-1] + ends[1:])[:, None] / 2).ravel()
        self.weight = (half * w).ravel() * law.law.pdf(self.t)
        self.inside = self.t <= self.edge

    def _growth(self, log_ratio: float) -> np.ndarray:
        """v such that the log density falls by log_ratio from t to t e^v."""
        k, t = self.law.k, self.t
        v = np.full_like(t, log_ratio / k)
        for _ in range(6):
            v -= (k * v + t * np.expm1(v) - log_ratio) / (k + t * np.exp(v))
        return v

    def mass(self, cut: float, part: str) -> float:
        """P of the event at the input: all, or its part inside or outside the ball."""
        fall = -self.t * np.expm1(self._growth(-cut))
        share = self.law.cap((self.rho**2 + fall) / (2 * np.sqrt(self.t) * self.rho))
        kept = {"in": self.inside, "out": ~self.inside, "all": self.t > 0}[part]
        return float((self.weight * share)[kept].sum())

    def shifted(self, cut: float, part: str) -> float:
        """Its probability after the shift."""
        unit = 2 * np.sqrt(self.t) * self.rho
        whole = self.law.cap(
            (self.t * np.expm1(self._growth(cut)) - self.rho**2) / unit
        )
        if part != "all":
            inside = np.minimum(
                self.law.cap((self.edge - self.t - self.rho**2) / unit), whole
            )
            whole = inside if part == "in" else whole - inside
        return float(self.weight @ whole)

    def least(self, mass: float, part: str) -> float:
        """The least probability after the shift of an event of this mass."""
        most = 4000.0
        if mass <= 0:
            return 0.0
        if mass >= self.mass(most, part):
            return self.shifted(most, part)
        return self.shifted(
            brentq(lambda c: self.mass(c, part) - mass, -most, most), part
        )


def radius(
    law: Law, p: float, tau: float = 1.0, low: float = 0.0, high: float = 1.0
) -> float:
    """The exact radius for P >= p and Q in [low, high]; without Q that of Neyman and
    Pearson.
    """

    def lead(r: float) -> float:
        shift = Shift(law, r, tau)
        if tau == 1:
            return shift.least(p, "all") - 0.5
        cut = brentq(lambda c: shift.mass(c, "all") - p, -4000, 4000)
        within = shift.mass(cut, "in")
        own = min(max(within, tau * low), tau * high)
        if own == within:
            return shift.shifted(cut, "all") - 0.5
        return shift.least(own, "in") + shift.least(max(p - own, 0.0), "out") - 0.5

    if lead(1e-3) <= 0:
        return 0.0
    top = 0.05
    while lead(top) > 0:
        top *= 1.3
    return float(brentq(lead, 1e-3, top, xtol=1e-8))
