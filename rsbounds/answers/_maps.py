"""Maps: the class of many positions at once, from one set of noisy runs.

Each position's hypothesis "the class has probability at most tau" gets the exact
p-value of its count. Holm's procedure keeps the probability of any wrong rejection at
alpha, however the positions depend on each other; those not rejected abstain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers, count, number
from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import array_of
from rsbounds._numerics.rounding import round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.answers._answer import (
    Answer,
    Answered,
    Options,
    Summary,
    checked_alpha,
    require_fixed,
    require_rows,
)
from rsbounds.answers._map_rows import (
    MOST_POSITIONS,
    NAME,
    agreement,
    from_runs,
    map_summary,
    runs,
)
from rsbounds.answers._votes import Recorded
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase, Sampler
from rsbounds.schemes import Option, Scheme

BOUND = "binomial-holm"
Labels = NDArray[np.int64]


def certify_map(
    select: Any,
    counts: Any,
    tau: float,
    *,
    n: int,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> tuple[Labels, float]:
    """The classes of many positions that hold together within one radius.

    Parameters
    ----------
    select, counts : array_like of int, shape (positions, classes)
        For each position the class counts of the samples that choose its class, and of
        the n fresh samples that bound its probability. What is missing of n fell on no
        class there.
    tau : float
        Certify positions whose class has a probability above tau, in [1/2, 1).
    n, alpha : int, float
        Number of samples drawn for ``counts``, and the probability that any position is
        wrong.
    scheme, sigma
        As in :func:`top_k_radius`.

    Returns
    -------
    labels : ndarray of int, shape (positions,)
        The class of each position, -1 where it abstains.
    radius : float
        Within it none of the labels changes: sigma Phi^-1(tau) for Gaussian noise.

    References
    ----------
    Fischer, Baader, Vechev, Scalable certified segmentation via randomized smoothing,
    2021.

    Examples
    --------
    >>> from rsbounds.answers import certify_map
    >>> from rsbounds.schemes import gaussian
    >>> select, counts = [[10, 0], [1, 9], [6, 4]], [[99, 1], [0, 100], [55, 45]]
    >>> labels, radius = certify_map(
    ...     select, counts, 0.75, n=100, alpha=0.001, scheme=gaussian(0.5))
    >>> labels, round(radius, 6)
    (array([ 0,  1, -1]), 0.337245)
    """
    require_fixed(scheme)
    chosen, hits, n = chosen_counts(select, counts, n)
    labels = np.where(holm(hits, n, tau, alpha), chosen, ABSTAIN)
    return labels, map_radius(tau, scheme, sigma)


def chosen_counts(select: Any, counts: Any, n: int) -> tuple[Labels, Labels, int]:
    """Return the class of each position by its selection samples.

    Beside it: how many other samples fell on that class.
    """
    select, counts = as_integers("select", select), as_integers("counts", counts)
    n = count("n", n, 1)
    if (
        select.ndim != 2
        or select.shape != counts.shape
        or select.shape[1] < 2
        or not len(select)
    ):
        raise ValueError(
            "select and counts must have one shape (positions, classes), two classes "
            f"or more; got {select.shape} and {counts.shape}"
        )
    if (sums := counts.sum(axis=1)).max() > n:
        raise ValueError(f"counts must sum to at most n = {n}; got {sums.max()}")
    chosen: Labels = select.argmax(axis=1)
    return chosen, np.take_along_axis(counts, chosen[:, None], axis=1)[:, 0], n


def holm(hits: Labels, n: int, tau: float, alpha: float) -> NDArray[np.bool_]:
    """Which of the hypotheses "probability at most tau" Holm's procedure rejects.

    A p-value is at most a level if the lower bound of the count at that level is at
    least tau.
    """
    least = _tau(tau)
    level = checked_alpha(alpha)
    values, which, many = np.unique(hits, return_inverse=True, return_counts=True)
    # the largest count has the smallest p-value: so many are left then
    left = np.cumsum(many)
    with np.errstate(under="ignore"):
        limits = np.nextafter(level / left, 0.0)
    # of equal p-values all are rejected if the first is: the limits of the others are
    # higher
    passed = np.zeros(len(values), dtype=bool)
    some = limits > 0  # no count shows anything at level 0
    passed[some] = lower_bound(values[some], n, limits[some]) >= least
    rejected = np.logical_and.accumulate(passed[::-1])[::-1]
    return np.asarray(rejected[which], dtype=bool)


def map_radius(tau: float, scheme: Scheme, sigma: float | None) -> float:
    """The radius that a probability above tau earns."""
    z = float(round_down(ndtri(np.asarray(_tau(tau))), NDTRI_ERROR))
    return scheme.radius(z, scheme.fixed_level(sigma)) if z > 0 else 0.0


def _tau(tau: float) -> float:
    return number("tau", tau, 0.5, 1.0, closed="left")


@dataclass(frozen=True)
class Chosen:
    """Evidence of maps: the class of each position, and how many of n fell on it."""

    sigma: float
    labels: Labels
    hits: Labels
    n: int
    classes: int  # 0 where a row doesn't say
    void: int


class Maps(Answer):
    """The classes of the positions of each input that hold together within one radius.

    n0 samples choose the class of each position, n others bound it; any position of an
    input is wrong with probability alpha. Its rows predict no class: ``chosen`` and
    ``hits`` hold the class of each position and its count. :func:`map_summary` sums
    them up.

    Parameters
    ----------
    scheme, tau
        As in :func:`certify_map`.
    truth : sequence of arrays, optional
        The true maps, one for each input with its positions, to which ``right``,
        ``overlap`` and ``union`` refer.

    Raises
    ------
    ValueError
        For an argument out of its domain, or noise that is not the same at every input.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset
    >>> from rsbounds.answers import Maps, map_summary
    >>> from rsbounds.schemes import gaussian
    >>> x = np.array([[2.0, -2.0, 0.0]], np.float32)
    >>> answer = Maps(gaussian(1.0), 0.75, truth=np.array([[0, 1, 0]]))
    >>> run = certify_dataset(lambda b: np.stack([b, -b], 1), x, answer)
    >>> summary = map_summary(run.rows)
    >>> round(summary["accuracy"], 3), round(summary["abstain"], 3)
    (0.667, 0.333)
    """

    name = NAME
    help = "the classes of many positions at once: segmentation"
    options = (
        Option("tau", "certify positions whose class is likelier (0.75)", default=0.75),
        Option(
            "truth",
            "the true maps, shape (inputs, *positions)",
            Path,
            default=None,
            metavar="FILE.npy",
        ),
    )
    columns = ("chosen", "hits", "certified", "right", "overlap", "union")
    n0 = 10
    n = 100
    classifies = False

    def __init__(self, scheme: Scheme, tau: float = 0.75, truth: Any = None) -> None:
        require_fixed(scheme)
        self.scheme = scheme
        self.tau = _tau(tau)
        self.truth = truth

    def parameters(self) -> dict[str, Any]:
        radius = map_radius(self.tau, self.scheme, self.scheme.fixed_level())
        stated: dict[str, Any] = {"tau": self.tau, "radius": radius}
        if self.truth is not None:
            digest = hashlib.sha256()
            for true_map in self.truth:
                digest.update(np.ascontiguousarray(true_map, dtype="<i8").tobytes())
            stated["truth"] = digest.hexdigest()
        return stated

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Answer:
        return cls(scheme, parameters["tau"])

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        place = options.get("truth")
        truth = None
        if place is not None:
            truth = read_truth(place)
        return cls(scheme, options["tau"], truth)

    def check(self, procedure: Procedure) -> None:
        procedure.require_defaults(self.name, counts_votes=True)

    def check_inputs(self, inputs: int) -> None:
        if self.truth is not None and len(self.truth) != inputs:
            raise ArgumentError(
                "truth",
                f"must be a map for each of {inputs} inputs; got {len(self.truth)}",
            )

    def sampler(self, model: Any, **options: Any) -> Sampler:
        return self.scheme.output_sampler(model, "maps", **options)

    def draw(self, draws: Draws, procedure: Procedure) -> Chosen:
        select = _position_counts(draws(Phase.SELECT, procedure.n0))
        counts = _position_counts(draws(Phase.ESTIMATE, procedure.n))
        labels, hits, n = chosen_counts(select, counts, procedure.n)
        if len(labels) > MOST_POSITIONS:
            raise ValueError(
                f"a map must have at most {MOST_POSITIONS} positions; got {len(labels)}"
            )
        drawn = (procedure.n0 + procedure.n) * len(labels)
        return Chosen(
            sigma=draws.sigma,
            labels=labels,
            hits=hits,
            n=n,
            classes=select.shape[1],
            void=int(drawn - select.sum() - counts.sum()),
        )

    def stored(self, row: Recorded) -> Chosen:
        labels = from_runs(row.extra["chosen"])
        hits = from_runs(row.extra["hits"])
        if len(labels) != len(hits) or hits.max() > row.n:
            raise ValueError(
                f"{len(labels)} positions, {len(hits)} counts, at most {hits.max()}"
            )
        return Chosen(
            sigma=row.sigma,
            labels=labels,
            hits=hits,
            n=row.n,
            classes=row.extra.get("union", "").count(",") + 1,
            void=row.void,
        )

    def certify(
        self, evidence: Chosen, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        held = holm(evidence.hits, evidence.n, self.tau, procedure.alpha)
        columns = dict.fromkeys(self.columns, "")
        columns |= {
            "chosen": runs(evidence.labels),
            "hits": runs(evidence.hits),
            "certified": str(held.sum()),
        }
        if self.truth is not None:
            columns |= agreement(
                np.where(held, evidence.labels, ABSTAIN),
                np.asarray(self.truth[index]).ravel(),
                evidence.classes,
            )
        certificate = self.unclassified(
            procedure,
            sigma=evidence.sigma,
            bound=BOUND,
            void=evidence.void,
        )
        return Answered(certificate, columns)

    def fingerprint(self, draws: Draws, procedure: Procedure) -> Sequence[int]:
        """The votes of all positions together."""
        votes = _position_counts(draws(Phase.SELECT, procedure.n0))
        return [int(count) for count in votes.sum(axis=0)]

    def recorded_fingerprint(self, row: Recorded) -> Sequence[int] | None:
        return None

    @classmethod
    def report(cls, parameters: Mapping[str, Any], rows: Sequence[Recorded]) -> Summary:
        radius = float(parameters["radius"])
        figures = map_summary(rows)
        shares = (figures["accuracy"], figures["miou"], figures["abstain"])
        cells = ["-" if np.isnan(share) else f"{share:.4f}" for share in shares]
        table = [
            ["radius", "accuracy", "mIoU", "abstain"],
            [truncated(radius, 4), *cells],
        ]
        title = f"maps, classes likelier than {parameters['tau']:g}"
        return Summary(title, table, {"radius": radius, **figures})


def read_truth(path: Path) -> Any:
    """The true maps of an npy file; -1 stands for positions of no class."""
    return as_integers("truth", array_of(path), -1)


def _position_counts(sampled: Any) -> Labels:
    """What a sampler of maps returned, as class counts of each position."""
    return as_integers("what the sampler returns", np.asarray(sampled))


def certified_maps(rows: Sequence[Recorded], *, tau: float, alpha: float) -> Labels:
    """The classes that rows of maps certify, position by position.

    Parameters
    ----------
    rows : sequence of Row
        Of a run or of a file, with one number of positions.
    tau, alpha : float
        As the run had them.

    Returns
    -------
    int64 array of shape (rows, positions)
        A class, or -1 where a position abstains; positions in the order of the model's
        output, its last axis fastest.

    Raises
    ------
    ValueError
        For rows of another answer or of maps of several sizes, a number out of its
        domain, or numbers by which a row certifies another number of positions.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset
    >>> from rsbounds.answers import Maps, certified_maps
    >>> from rsbounds.schemes import gaussian
    >>> x = np.array([[2.0, -2.0, 0.0]], np.float32)
    >>> answer = Maps(gaussian(1.0), 0.75)
    >>> run = certify_dataset(lambda b: np.stack([b, -b], 1), x, answer, alpha=0.001)
    >>> certified_maps(run.rows, tau=0.75, alpha=0.001)
    array([[ 0,  1, -1]])
    """
    threshold = _tau(tau)
    require_rows(rows, Maps.name, ("certified",))
    maps = []
    for row in rows:
        chosen = from_runs(row.extra["chosen"])
        held = holm(from_runs(row.extra["hits"]), row.n, threshold, alpha)
        if held.sum() != int(row.extra["certified"]):
            raise ArgumentError(
                "tau and alpha",
                f"must be those of the run; input {row.idx} has "
                f"{row.extra['certified']} certified positions, and {held.sum()} by "
                "these",
            )
        maps.append(np.where(held, chosen, ABSTAIN))
    sizes = {labels.size for labels in maps}
    if len(sizes) > 1:
        raise ArgumentError("rows", f"must be of one size; got {sorted(sizes)}")
    return np.stack(maps)
