"""Intervals for quantiles of real outputs under noise.

Where the p-quantile at x' is below a value L, the event "output < L" has probability at
least p at x', so at least Phi(z - R/sigma) at x, z = Phi^-1(p). From x' back to x goes
the inverse of the scheme's transport, another map where noise is one-sided. The k-th
smallest of n samples is such an L unless fewer than k of them fall where that event
ends: P(Bin(n, Phi(z - R/sigma)) <= k - 1). "Below" and "at most" are kept apart, so
ties and infinite outputs need no assumption.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, number
from rsbounds._numerics.decimals import short
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.answers._answer import (
    Answer,
    Answered,
    Options,
    Summary,
    checked_alpha,
    checked_radius,
    require_fixed,
    require_rows,
    require_scheme,
)
from rsbounds.answers._votes import Recorded
from rsbounds.confidence import upper_bound
from rsbounds.confidence.bound import half
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase, Sampler
from rsbounds.sampling.adapters import output_sampler
from rsbounds.schemes import Option, Scheme

BOUND = "order-statistics"
FINGERPRINT = 8  # outputs whose samples tell one model from another
Ranks = tuple[int, int]  # from below and from above, 1 ... n; 0: n does not reach


def value_interval(
    samples: Any,
    radius: float,
    *,
    p: float = 0.5,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> tuple[Any, Any]:
    """Where the p-quantile of a real output stays within a radius.

    Parameters
    ----------
    samples : array_like, shape (n,) or (n, outputs)
        Outputs of the model on n independent noisy copies of the input; infinities and
        ties are allowed. A NaN counts against both ends.
    radius : float
        How far the input moves, >= 0.
    p : float
        Which quantile, in (0, 1): 0.5 is the median.
    alpha : float
        Probability that the interval of one output is wrong, in (0, 1). For all outputs
        together give alpha/outputs.
    scheme, sigma
        As in :func:`top_k_radius`.

    Returns
    -------
    low, high : float, or ndarray of shape (outputs,)
        With probability 1 - alpha every p-quantile anywhere within the radius lies
        between. -inf or inf where n samples can't show an end, of which a
        RuntimeWarning tells.

    References
    ----------
    Chiang et al., Detection as regression: certified object detection with median
    smoothing, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.answers import value_interval
    >>> from rsbounds.schemes import gaussian
    >>> rng = np.random.default_rng(0)
    >>> samples = 0.25 * rng.standard_normal(10_000)  # of f(x) = x at 0
    >>> low, high = value_interval(samples, 0.125, alpha=0.001, scheme=gaussian(0.25))
    >>> bool(-0.15 < low < -0.125 < 0.125 < high < 0.15)  # the truth: -0.125 and 0.125
    True
    """
    ends = quantile_ends(samples, radius, p, alpha, scheme, sigma, stacklevel=2)
    warn_of_confidence(alpha, stacklevel=2)
    return ends


def quantile_ends(
    samples: Any,
    radius: float,
    p: float,
    alpha: float,
    scheme: Scheme,
    sigma: float | None,
    stacklevel: int,
) -> tuple[Any, Any]:
    """What :func:`value_interval` returns; it warns only of too few samples."""
    ordered = sorted_samples(samples)
    n = len(ordered)
    ranks = order_ranks(n, radius, p, alpha, scheme, sigma)
    if 0 in ranks:
        warnings.warn(beyond(n, radius), RuntimeWarning, stacklevel=stacklevel + 1)
    low, high = interval(ordered, ranks)
    return (low, high) if np.ndim(samples) > 1 else (low[0], high[0])


def sorted_samples(samples: Any) -> Array:
    """The samples of each output in increasing order, NaN last, shape (n, outputs)."""
    array = as_floats("samples", samples, exact=True)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(
            "samples must have shape (n,) or (n, outputs), at least one; got "
            f"{array.shape}"
        )
    return np.asarray(np.sort(array.reshape(len(array), -1), axis=0))


def order_ranks(
    n: int,
    radius: float,
    p: float,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> Ranks:
    """Ranks of the two ends' order statistics, from below and from above.

    0 where there is none.
    """
    require_scheme(scheme)
    quantile = number("p", p, 0.0, 1.0, closed="neither")
    level = float(half(checked_alpha(alpha)))
    distance = checked_radius(radius)
    z = ndtri(np.asarray(quantile))
    low = scheme.inverse(round_down(z, NDTRI_ERROR), distance, sigma)[0]
    high = scheme.inverse(round_up(z, NDTRI_ERROR), distance, sigma)[1]
    return _rank(n, level, float(low)), _rank(n, level, -float(high))


@lru_cache(maxsize=4096)
def _rank(n: int, level: float, z: float) -> int:
    """The largest k with P(Bin(n, Phi(z)) <= k - 1) <= level; 0 if there is none."""

    def shown(count: int) -> bool:
        return float(upper_bound(count, n, level, scores=True)) <= z

    least, most = -1, n  # of these counts the first is shown, the second is not
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if shown(middle) else (least, middle)
    return least + 1


def interval(ordered: Array, ranks: Ranks) -> tuple[Array, Array]:
    """Return the order statistics of the ranks.

    Void samples are below the low end and above the high end.
    """
    (below, above), n, outputs = ranks, *ordered.shape
    void, column = np.isnan(ordered).sum(axis=0), np.arange(outputs)
    place = below - 1 - void  # NaN is sorted last
    low = np.where(
        (below > 0) & (place >= 0), ordered[np.maximum(place, 0), column], -np.inf
    )
    high = np.full(outputs, np.inf)
    if above:
        high = np.where(above > void, ordered[n - above], np.inf)
    return low, high


def at_input(ordered: Array, p: float) -> Array:
    """The p-quantiles of the samples that aren't void; NaN where all are."""
    valid = (~np.isnan(ordered)).sum(axis=0)
    place = np.maximum(np.ceil(p * valid).astype(np.int64) - 1, 0)
    return np.asarray(ordered[place, np.arange(ordered.shape[1])])


def table(text: str) -> list[list[float]]:
    """The numbers of a row's column: one list for each radius."""
    return [[float(v) for v in part.split(",")] for part in text.split(";")]


def beyond(n: int, radius: float) -> str:
    """The message for a radius beyond what n samples show."""
    return (
        f"{n} samples can't show both ends at radius {radius:g}: the interval is "
        "infinite"
    )


def as_radii(text: str) -> tuple[float, ...]:
    """Radii separated by commas."""
    return tuple(float(part) for part in text.split(","))


@dataclass(frozen=True)
class Outputs:
    """Evidence of values: the real outputs of n samples, shape (n, outputs)."""

    sigma: float
    samples: Array


class Values(Answer):
    """Where the p-quantile of each real output stays, within each of some radii.

    Its rows predict no class; their columns ``quantile``, ``low``, ``high`` hold the
    answers (:meth:`intervals`), ``ranks`` the order statistics that they are. Labels
    are kept in the rows and have no part in the intervals.

    Parameters
    ----------
    scheme, p
        As in :func:`value_interval`; alpha is shared by no more than one output.
    radii : sequence of float
        Where the intervals are given, each >= 0.

    Raises
    ------
    ValueError
        For an argument out of its domain, noise that is not the same at every input, or
        a scheme that states no inverse of its transport.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset
    >>> from rsbounds.answers import Values
    >>> from rsbounds.schemes import gaussian
    >>> x = np.array([[0.5], [2.0]], np.float32)
    >>> answer = Values(gaussian(0.25), radii=[0.1])
    >>> run = certify_dataset(lambda b: b, x, answer, n=1000)
    >>> low, high = answer.intervals(run.rows)  # shape (inputs, radii, outputs)
    >>> bool(0.3 < low[0, 0, 0] < 0.4 < 0.6 < high[0, 0, 0] < 0.7)
    True
    """

    name = "values"
    help = "where real outputs stay: regression, boxes, scores"
    options = (
        Option("radii", "where intervals are given", as_radii, metavar="R,R,..."),
        Option("quantile", "which quantile of the output (0.5)", default=0.5),
    )
    columns = ("quantile", "ranks", "low", "high")
    n0 = 16
    n = 10_000
    classifies = False
    direction = "inverse"

    def __init__(
        self, scheme: Scheme, radii: Sequence[float] = (0.0,), p: float = 0.5
    ) -> None:
        require_fixed(scheme, self.direction)
        checked = as_floats("radii", radii, 0.0, nan=False)
        if not checked.size:
            raise ArgumentError("radii", "must hold at least one; got none")
        self.scheme = scheme
        self.radii = tuple(checked.ravel().tolist())
        self.p = number("p", p, 0.0, 1.0, closed="neither")

    def parameters(self) -> dict[str, Any]:
        return {"radii": list(self.radii), "p": self.p}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Answer:
        return cls(scheme, parameters["radii"], parameters["p"])

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        return cls(scheme, options["radii"], options["quantile"])

    def check(self, procedure: Procedure) -> None:
        procedure.require_defaults(self.name)
        level = self.scheme.fixed_level()
        for radius, ranks in zip(self.radii, self.ranks(procedure, level), strict=True):
            if 0 in ranks:
                message = beyond(procedure.n, radius)
                warnings.warn(message, RuntimeWarning, stacklevel=3)
                return

    def sampler(self, model: Any, **options: Any) -> Sampler:
        return output_sampler(model, "values", self.scheme, **options)

    def ranks(self, procedure: Procedure, sigma: float) -> list[Ranks]:
        """The order statistics at each radius."""
        return [
            order_ranks(
                procedure.n, radius, self.p, procedure.alpha, self.scheme, sigma
            )
            for radius in self.radii
        ]

    def draw(self, draws: Draws, procedure: Procedure) -> Outputs:
        samples = np.asarray(draws(Phase.ESTIMATE, procedure.n), dtype=np.float64)
        if samples.ndim != 2 or len(samples) != procedure.n:
            raise ValueError(
                f"the sampler must return {procedure.n} rows of outputs; got shape "
                f"{samples.shape}"
            )
        return Outputs(draws.sigma, samples)

    def asks(self, procedure: Procedure) -> Sequence[tuple[Phase, int]]:
        return [(Phase.ESTIMATE, procedure.n)]

    def certify(
        self, evidence: Outputs, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        ordered = sorted_samples(evidence.samples)
        ranks = self.ranks(procedure, evidence.sigma)
        ends = [interval(ordered, pair) for pair in ranks]
        certificate = self.unclassified(
            procedure,
            sigma=evidence.sigma,
            bound=BOUND,
            void=int(np.isnan(evidence.samples).any(axis=1).sum()),
        )
        columns = {
            "quantile": joined(at_input(ordered, self.p)),
            "ranks": ";".join(f"{below},{above}" for below, above in ranks),
            "low": ";".join(joined(low) for low, _ in ends),
            "high": ";".join(joined(high) for _, high in ends),
        }
        return Answered(certificate, columns)

    def fingerprint(self, draws: Draws, procedure: Procedure) -> Sequence[int]:
        """How often outputs rise from sample to sample, and how many are positive."""
        samples = np.asarray(draws(Phase.SELECT, procedure.n0), dtype=np.float64)
        first = samples[:, :FINGERPRINT]
        rises = (np.diff(first, axis=0) > 0).sum(axis=0)
        positive = (first > 0).sum(axis=0)
        return [int(number) for number in (*rises, *positive)]

    def recorded_fingerprint(self, row: Recorded) -> Sequence[int] | None:
        return None

    @classmethod
    def intervals(cls, rows: Sequence[Recorded]) -> tuple[Array, Array]:
        """The ends of all intervals of rows of values.

        Parameters
        ----------
        rows : sequence of Row
            Those of a run or of a file.

        Returns
        -------
        low, high : ndarray of float64, shape (inputs, radii, outputs)

        Raises
        ------
        ValueError
            If rows are of another answer.
        """
        require_rows(rows, cls.name, ("low", "high"))
        low = np.array([table(row.extra["low"]) for row in rows])
        high = np.array([table(row.extra["high"]) for row in rows])
        return low, high

    @classmethod
    def report(cls, parameters: Mapping[str, Any], rows: Sequence[Recorded]) -> Summary:
        low, high = cls.intervals(rows)
        table = [["radius", "finite", "median width", "largest width"]]
        figures = list[dict[str, float]]()
        widths_at = np.moveaxis(high - low, 1, 0)
        for radius, widths in zip(parameters["radii"], widths_at, strict=True):
            finite = float(np.isfinite(widths).mean())
            median = float(np.sort(widths, axis=None)[widths.size // 2])
            largest = float(widths.max())
            table.append(
                [short(radius), f"{finite:.4f}", f"{median:.6g}", f"{largest:.6g}"]
            )
            figures.append(
                {
                    "radius": radius,
                    "finite": finite,
                    "median_width": median,
                    "largest_width": largest,
                }
            )
        title = f"{low.shape[2]} outputs, quantile {parameters['p']:g}"
        return Summary(title, table, {"intervals": figures})


def joined(values: Array) -> str:
    """Numbers as text, exactly."""
    return ",".join(repr(float(value)) for value in values)
