"""Maps: the class of many positions at once, from one set of noisy runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import array_of
from rsbounds.answers._answer import (
    Answer,
    Answered,
    Options,
    Summary,
    require_fixed,
    two_phases,
)
from rsbounds.answers._map_labels import (
    Labels,
    checked_tau,
    chosen_counts,
    holm,
    map_radius,
)
from rsbounds.answers._map_rows import (
    MOST_POSITIONS,
    NAME,
    agreement,
    certified_labels,
    from_runs,
    map_summary,
    runs,
)
from rsbounds.answers._votes import Recorded
from rsbounds.certificate import ABSTAIN
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase, Sampler
from rsbounds.sampling.adapters import output_sampler
from rsbounds.schemes import Option, Scheme

BOUND = "binomial-holm"


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
    ``hits`` hold the class of each position and its count. :meth:`figures` sums them
    up.

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
    >>> from rsbounds.answers import Maps
    >>> from rsbounds.schemes import gaussian
    >>> x = np.array([[2.0, -2.0, 0.0]], np.float32)
    >>> answer = Maps(gaussian(1.0), 0.75, truth=np.array([[0, 1, 0]]))
    >>> run = certify_dataset(lambda b: np.stack([b, -b], 1), x, answer)
    >>> figures = answer.figures(run.rows)
    >>> round(figures["accuracy"], 3), round(figures["abstain"], 3)
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
        self.tau = checked_tau(tau)
        self.truth = truth

    def parameters(self) -> dict[str, Any]:
        radius = map_radius(self.tau, self.scheme, self.scheme.fixed_level())
        entries: dict[str, Any] = {"tau": self.tau, "radius": radius}
        if self.truth is not None:
            digest = hashlib.sha256()
            for true_map in self.truth:
                digest.update(np.ascontiguousarray(true_map, dtype="<i8").tobytes())
            entries["truth"] = digest.hexdigest()
        return entries

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
        return output_sampler(model, "maps", self.scheme, **options)

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

    def asks(self, procedure: Procedure) -> Sequence[tuple[Phase, int]]:
        return two_phases(procedure)

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
        certified = holm(evidence.hits, evidence.n, self.tau, procedure.alpha)
        columns = dict.fromkeys(self.columns, "")
        columns |= {
            "chosen": runs(evidence.labels),
            "hits": runs(evidence.hits),
            "certified": str(certified.sum()),
        }
        if self.truth is not None:
            columns |= agreement(
                np.where(certified, evidence.labels, ABSTAIN),
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
    def figures(cls, rows: Sequence[Recorded]) -> dict[str, float]:
        """What rows of maps say: certified accuracy, mIoU, share that abstains.

        Parameters
        ----------
        rows : sequence of Row
            Those of a run or of a file.

        Returns
        -------
        dict of str to float
            A position that abstains is of no class. ``accuracy`` and ``miou`` are NaN
            without true maps.

        Raises
        ------
        ValueError
            If rows are of another answer.
        """
        return map_summary(rows)

    def certified(
        self,
        rows: Sequence[Recorded],
        *,
        alpha: float,
        shape: Sequence[int] | None = None,
    ) -> Labels:
        """The classes that rows of these maps certify, position by position.

        Parameters
        ----------
        rows : sequence of Row
            Of a run or of a file, with one number of positions.
        alpha : float
            As the run had it.
        shape : sequence of int, optional
            Of a map, as the model returns it.

        Returns
        -------
        int64 array of shape (rows, *shape), or (rows, positions)
            A class, or -1 where a position abstains; positions in the order of the
            model's output, its last axis fastest.

        Raises
        ------
        ValueError
            For rows of another answer or of maps of several sizes, a number out of its
            domain, or numbers by which a row certifies another number of positions.

        Examples
        --------
        >>> import numpy as np
        >>> from rsbounds import certify_dataset
        >>> from rsbounds.answers import Maps
        >>> from rsbounds.schemes import gaussian
        >>> x = np.array([[2.0, -2.0, 0.0]], np.float32)
        >>> answer = Maps(gaussian(1.0), 0.75)
        >>> run = certify_dataset(
        ...     lambda b: np.stack([b, -b], 1), x, answer, alpha=0.001)
        >>> answer.certified(run.rows, alpha=0.001)
        array([[ 0,  1, -1]])
        """
        return certified_labels(rows, self.tau, alpha, shape)

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
