"""A certificate from the distribution function of a score in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_floats, broadcast, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.records import Record
from rsbounds._numerics.rounding import EPS, product, round_down, round_up
from rsbounds._numerics.search import bisect
from rsbounds.confidence.bound import divided
from rsbounds.confidence.counts import arguments, end
from rsbounds.confidence.histogram import ScoreHistogram, require_histogram
from rsbounds_ext import kernels

#: Of a mean of exp(log Phi), relative: a logarithm is at most 745 in size and within
#: LOG_NDTR_ERROR of itself, which makes 3e-12; the rest is for exp and the sum.
MEAN_ERROR = 3.5e-12


@dataclass(frozen=True, eq=False)
class CDFCertificate(Record):
    """Lower bounds on P(score >= t) at several thresholds t, carried to other inputs.

    Each event score >= t obeys the bound for hard decisions, so at distance R the mean
    is at least sum_i (t_i - t_{i-1}) Phi(z_i - R/sigma). With many samples and
    thresholds that is never below the bound from the mean alone, and far above it where
    the score rarely falls below the level. For a certified decision, take for the score
    the class's own probability with level 1/2, or (1 + score - largest other score)/2.

    Attributes
    ----------
    thresholds : ndarray, shape (k,)
        Increasing, in (0, 1].
    scores : ndarray, shape (k,)
        Normal scores of lower bounds on P(score >= t), all holding together.

    References
    ----------
    A. Kumar, A. Levine, S. Feizi and T. Goldstein, Certifying confidence via randomized
    smoothing, NeurIPS 2020, the bound from the distribution function (here with
    Clopper-Pearson bounds in place of Dvoretzky-Kiefer-Wolfowitz).

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.confidence import CDFCertificate, ScoreHistogram
    >>> h = ScoreHistogram()
    >>> h.add(np.linspace(0.7, 1.0, 10_000))
    >>> certificate = CDFCertificate.from_histogram(h, 0.001)
    >>> print(f"{certificate.lower_mean(0.1, sigma=0.25):.4f}")
    0.8013
    >>> print(f"{certificate.radius(0.25):.4f}")
    0.6268
    """

    thresholds: Array
    scores: Array

    def __post_init__(self) -> None:
        # both rounded down: an event score >= t holds at any smaller t too
        t = as_floats(
            "thresholds",
            self.thresholds,
            0.0,
            1.0,
            closed="right",
            nan=False,
            towards=-np.inf,
        )
        if not (t.ndim == 1 and t.size > 0 and np.all(np.diff(t) > 0)):
            raise ArgumentError(
                "thresholds", "must be one-dimensional and increasing; got others"
            )
        z = as_floats("scores", self.scores, closed="left", nan=False, towards=-np.inf)
        if z.shape != t.shape:
            raise ArgumentError("scores", f"must have shape {t.shape}; got {z.shape}")
        # copies: the caller may change the arrays later
        object.__setattr__(self, "thresholds", np.array(t))
        object.__setattr__(self, "scores", np.array(z))

    @classmethod
    def from_histogram(
        cls, histogram: ScoreHistogram, alpha: Any, thresholds: Any = None
    ) -> CDFCertificate:
        """Clopper-Pearson at each threshold, at level alpha/k each (a union bound).

        Parameters
        ----------
        histogram : ScoreHistogram
            At least one score, independent and identically distributed.
        alpha : float
            Probability of error of all bounds together, in (0, 1).
        thresholds : array_like, shape (k,), optional
            Edges of the histogram, increasing, in (0, 1], chosen without its counts; by
            default the multiples of 1/64 up to 1.
        """
        require_histogram(histogram)
        if thresholds is None:
            t = np.arange(1, 65) / 64.0
        else:
            t = np.atleast_1d(
                as_floats("thresholds", thresholds, 0.0, 1.0, nan=False, exact=True)
            )
        if not t.size:
            raise ArgumentError("thresholds", "must hold at least one; got none")
        alpha = number("alpha", alpha, 0.0, 1.0, closed="neither", towards=-np.inf)
        warn_of_confidence(alpha, stacklevel=2)
        level = divided(alpha, t.size)
        z = end(*arguments(histogram.at_least(t), histogram.n, level)).z
        return cls(thresholds=t, scores=z)

    def lower_mean(self, distance: Any, sigma: Any) -> Any:
        """Lower bound on the mean score at any input within ``distance`` (l2).

        It is rounded down.

        ``distance`` >= 0 and ``sigma`` > 0, in the units of the input, arrays that
        broadcast; ValueError otherwise. Within 1e-11 of the exact value (relative); 0
        at an infinite distance.
        """
        distance = as_floats("distance", distance, 0.0, towards=np.inf)
        sigma = as_floats("sigma", sigma, 0.0, closed="right", towards=-np.inf)
        distance, sigma = broadcast(distance=distance, sigma=sigma)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            # within an infinite distance nothing is certified, whatever the noise
            endless = distance == np.inf
            shift = np.where(endless, distance, np.divide(distance, sigma))
            return self._mean(round_up(shift, EPS))[()]

    def radius(self, sigma: Any, level: Any = 0.5) -> Any:
        """Largest distance at which the mean is certified > ``level``, rounded down.

        ``sigma`` > 0 and finite and ``level`` in (0, 1), arrays that broadcast;
        ValueError otherwise. 0 where the bound at the input itself does not exceed the
        level.
        """
        sigma = as_floats("sigma", sigma, 0.0, closed="neither", towards=-np.inf)
        level = as_floats("level", level, 0.0, 1.0, closed="neither", towards=np.inf)
        sigma, level = broadcast(sigma=sigma, level=level)

        def accepted(shift: Array) -> NDArray[np.bool_]:
            return np.asarray(self._mean(shift) > level)

        reach = np.full(sigma.shape, 40.0 + max(self.scores.max(), 0.0))
        shift = bisect(np.zeros(sigma.shape), reach, accepted)
        with np.errstate(invalid="ignore"):
            result = round_down(product(sigma, shift), EPS)
        return np.where(np.isnan(sigma) | np.isnan(level), np.nan, result)[()]

    def _mean(self, shift: Array) -> Array:
        z = self.scores - np.asarray(shift)[..., None]
        weights = np.diff(self.thresholds, prepend=0.0)
        with np.errstate(under="ignore"):
            p = np.exp(kernels.log_ndtr(round_down(z, EPS)))
            mean = p @ weights
        return round_down(mean, MEAN_ERROR)
