"""Flags: whether a detector raises its alarm with probability above a threshold.

The smoothed detector flags an input where the event has probability above tau under
noise. One event moves and tau stays where it is, so the radius is not that of two
scores: a flagged input stays flagged while the least probability that transport leaves
the event is above tau, and one that passes keeps passing while the largest is at most
tau. One bound at all of alpha is enough for either. The n0 samples choose which is
asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from rsbounds._numerics.checks import number
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers._answer import (
    Answer,
    Answered,
    Options,
    Summary,
    two_phases,
)
from rsbounds.answers._flag_calibration import (
    Calibration,
    conformal_threshold,
    require_benign,
    require_noise,
)
from rsbounds.answers._flag_curve import curve
from rsbounds.answers._flag_radius import (
    checked_threshold,
    event_radius,
    follows,
    require_scheme,
    scores_of,
)
from rsbounds.answers._flag_rows import (
    FLAGGED,
    NAME,
    PASSES,
    alarm_labels,
    checked_flagged,
    detection,
    number_of,
    summary,
    votes_of,
)
from rsbounds.answers._flag_sides import Side, pair_of
from rsbounds.answers._votes import (
    Recorded,
    Votes,
    class_counts,
    require_drawn,
)
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import BOUNDS
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase, Sampler, as_sampler
from rsbounds.sampling.adapters import output_sampler
from rsbounds.sampling.internal import is_watched
from rsbounds.sampling.questions import Above
from rsbounds.sampling.sampler import ModelSampler
from rsbounds.schemes import Option, Scheme

_DEFAULT = 0.05  # threshold, and share of benign inputs
_LARGEST = 40.0  # no number of samples gives a larger score


class Flag(Answer):
    """Whether a detector's alarm has probability above a threshold, and how far so.

    The smoothed detector flags an input where more than a share ``threshold`` of all
    noisy copies raise the alarm; the threshold is small where a miss is worse than a
    false alarm. In its rows ``predict`` is 1 for an input that is certified to be
    flagged, 0 for one that is certified to pass, -1 for neither; ``count`` and ``p_a``
    are of the samples on that side. Samples without a class count against it.

    Parameters
    ----------
    scheme : Scheme
        Noise that is the same at every input; or whose level follows it within bounds,
        where flagged inputs have a radius at thresholds up to a half and passing ones
        from a half on, and the others 0.
    threshold : float
        In (0, 1), chosen before rows are drawn.
    flagged : int, sequence of int or str
        The classes of the model that raise the alarm; or ``"score>0.5"`` for a model
        with one real output, which raises it above that number.

    Raises
    ------
    ValueError
        For an argument out of its domain, or noise of which nothing bounds one event.

    Notes
    -----
    Reports tell detections from false alarms by the labels: an input is to be flagged
    whose label is among ``flagged``, of a score whose label is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset
    >>> from rsbounds.answers import Flag
    >>> from rsbounds.schemes import gaussian
    >>> data = np.array([[0.5], [-1.5]], np.float32), np.array([1, 0])
    >>> answer = Flag(gaussian(0.5), 0.05, flagged="score>0")
    >>> run = certify_dataset(lambda b: b[:, 0], data, answer, n=10_000)
    >>> [(row.predict, row.radius > 0.4) for row in run.rows]
    [(1, True), (0, True)]
    """

    name = NAME
    help = "whether an alarm has probability above a threshold: detectors, filters"
    options = (
        Option("threshold", "flag where the alarm is likelier (0.05)", default=None),
        Option(
            "flagged",
            "the classes that raise the alarm, or score>NUMBER (1)",
            checked_flagged,
            default="1",
            metavar="LABELS|score>T",
        ),
        Option(
            "calibrate",
            "a result file of benign inputs, which choose the threshold",
            Path,
            default=None,
            metavar="BENIGN.tsv",
            opens=True,
        ),
        Option(
            "share",
            "with --calibrate: how many benign inputs may fail to pass (0.05)",
            default=None,
        ),
    )
    restated: ClassVar[Mapping[str, str]] = {
        "threshold": (
            "of each input the bound from below and that from above fail with "
            "probability alpha each, whatever the threshold: chosen after looking, "
            "flags hold with probability 1 - 2 alpha"
        )
    }
    classifies = False

    def __init__(
        self, scheme: Scheme, threshold: float = 0.05, flagged: Any = (1,)
    ) -> None:
        require_scheme(scheme)
        self.scheme = scheme
        self.threshold = checked_threshold(threshold)
        self.flagged = checked_flagged(flagged)
        self.columns = scheme.columns
        self.calibration: Calibration | None = None
        self._least = scores_of(self.threshold)

    @classmethod
    def calibrated(
        cls,
        scheme: Scheme,
        rows: Sequence[Recorded],
        share: float,
        procedure: Procedure,
        flagged: Any = (1,),
    ) -> Self:
        """The flag whose threshold is chosen from benign inputs; its files record it.

        Parameters
        ----------
        scheme, flagged
            As of the class.
        rows, share, procedure
            As of :func:`conformal_threshold`. Rows have hashes of their inputs: a run
            refuses these inputs and draws noise independent of theirs, also under their
            seed; reports and audits look for them.

        Returns
        -------
        Flag

        Raises
        ------
        ValueError
            As :func:`conformal_threshold` does, and for rows without hashes.
        """
        threshold = conformal_threshold(rows, share, procedure, flagged)
        answer = cls(scheme, threshold, flagged)
        require_noise(scheme, rows)
        record = Calibration.of(threshold, share, procedure, rows)
        answer._set_calibration(record)
        return answer

    def _set_calibration(self, calibration: Calibration) -> None:
        self.calibration = calibration
        self.excluded = frozenset(calibration.inputs)

    def parameters(self) -> dict[str, Any]:
        flagged = self.flagged
        named = flagged if isinstance(flagged, str) else list(flagged)
        recorded: dict[str, Any] = {"threshold": self.threshold, "flagged": named}
        if self.calibration is not None:
            recorded["calibrated"] = self.calibration.entries()
        return recorded

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Self:
        answer = cls(scheme, parameters["threshold"], parameters["flagged"])
        if "calibrated" in parameters:
            # also beside another threshold: it says which noise was drawn
            calibration = Calibration.from_entries(parameters["calibrated"])
            answer._set_calibration(calibration)
        return answer

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        benign, share, threshold, flagged = (
            options[name] for name in ("calibrate", "share", "threshold", "flagged")
        )
        if benign is None:
            if share is not None:
                raise ArgumentError("share", "needs calibrate='BENIGN.tsv'")
            return cls(scheme, _DEFAULT if threshold is None else threshold, flagged)
        if threshold is not None:
            raise ArgumentError(
                "threshold", "must be left out: calibrate='BENIGN.tsv' chooses it"
            )
        require_benign(benign, scheme, flagged)
        share = _DEFAULT if share is None else share
        try:
            return cls.calibrated(
                scheme, benign.rows, share, benign.manifest.procedure, flagged
            )
        except ArgumentError as error:
            if error.name != "rows":
                raise
            raise ArgumentError("calibrate", error.problem) from None

    def check(self, procedure: Procedure) -> None:
        """ValueError for a bound on anything but counts, and for what it has no use."""
        if BOUNDS[procedure.bound].evidence != "counts":
            raise ArgumentError(
                "bound",
                f"must be one on counts for the answer {self.name!r}; got "
                f"{procedure.bound!r}",
            )
        if not procedure.runner_up:
            raise ArgumentError(
                "runner_up", f"is not for the answer {self.name!r}, which has one bound"
            )
        if procedure.margin is not None and isinstance(self.flagged, str):
            raise ArgumentError(
                "margin",
                f"is for votes, and {self.flagged!r} is of a real output: move its "
                "number by the error of that",
            )

    def check_labels(self, classes: int) -> None:
        """ArgumentError unless a model of so many classes has those that are named."""
        if isinstance(self.flagged, str):
            return
        passing = set(range(classes)) - set(self.flagged)
        if not (max(self.flagged) < classes and passing):
            raise ArgumentError(
                "flagged",
                f"must be some of {classes} classes, counted from 0, and not all; got "
                f"{list(self.flagged)}",
            )

    def sampler(self, model: Any, **options: Any) -> Sampler:
        if not isinstance(self.flagged, str):
            return as_sampler(model, self.scheme, **options)
        sampler = output_sampler(model, "values", self.scheme, **options)
        if isinstance(sampler, ModelSampler):
            return ModelSampler(sampler.backend, Above(number_of(self.flagged)))
        return sampler  # of one's own, which counts by itself

    def samplers(self, model: Any) -> Sequence[Sampler]:
        if isinstance(self.flagged, str) and is_watched(model):
            model = model.above(number_of(self.flagged))
        return super().samplers(model)

    def draw(self, draws: Draws, procedure: Procedure) -> Votes:
        select = class_counts(draws(Phase.SELECT, procedure.n0))
        counts = class_counts(draws(Phase.ESTIMATE, procedure.n))
        self.check_labels(len(select))
        return Votes(draws.sigma, select, counts, procedure.n, len(select))

    def asks(self, procedure: Procedure) -> Sequence[tuple[Phase, int]]:
        return two_phases(procedure)

    def stored(self, row: Recorded) -> Votes:
        return Votes.of(row)

    def scaled(self, evidence: Votes, n: int) -> Votes:
        return evidence.scaled(n)

    def shown(self, votes: Votes, procedure: Procedure) -> float:
        side = self._side(votes, procedure)
        return self._earned(side, pair_of(side, votes.n, procedure).z_a, votes.sigma)

    def reach(self, votes: Votes, procedure: Procedure) -> float:
        side = self._side(votes, procedure)
        best = np.inf
        if votes.n:
            best, _ = BOUNDS[procedure.bound].optimistic(
                np.array([side.hits, side.rest]),
                0,
                votes.n,
                procedure.alpha,
                runner_up=False,
            )
        return self._earned(side, min(best, _LARGEST), votes.sigma)

    def certify(
        self, evidence: Votes, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        require_drawn("select", evidence.select, procedure.n0)
        require_drawn("counts", evidence.counts, evidence.n)
        side = self._side(evidence, procedure)
        pair = pair_of(side, evidence.n, procedure)
        certificate = self.voted(
            evidence,
            procedure,
            of=0,
            pair=pair,
            predict=side.predict if pair.z_a > side.least else ABSTAIN,
            radius=self._earned(side, pair.z_a, evidence.sigma),
        )
        columns = self.scheme.further_above(pair.z_a, side.least)
        return Answered(replace(certificate, count=side.hits), columns)

    def largest_radius(self, x: Any, procedure: Procedure) -> float:
        n = procedure.n
        sides = [Side(predict, n, 0, self._least[predict]) for predict in (0, 1)]
        sigma = self.scheme.sigma(x)
        return max(
            self._earned(side, pair_of(side, n, procedure).z_a, sigma) for side in sides
        )

    def _side(self, votes: Votes, procedure: Procedure) -> Side:
        """The side that the selection samples chose, and its count."""
        labels = alarm_labels(self.flagged)
        selected = votes_of(labels, votes.select.tolist())
        alarms = votes_of(labels, votes.counts.tolist())
        # which of the two is asked is free, so long as other samples answer
        if selected > self.threshold * procedure.n0:
            predict, hits = FLAGGED, alarms
        else:
            predict, hits = PASSES, int(votes.counts.sum()) - alarms
        return Side(predict, hits, votes.n - hits, self._least[predict])

    def _earned(self, side: Side, z: float, sigma: float) -> float:
        return event_radius(z, side.least, self.scheme, sigma)

    def radius(self, z: float, *, sigma: float | None = None) -> float:
        """Radius within which an event keeps a probability above the threshold.

        Parameters
        ----------
        z : float
            The normal score of a lower bound of its probability at the input.
        sigma : float, optional
            The noise level, where the parameters of the scheme don't hold it.

        Returns
        -------
        float
            0.0 where it is not above the threshold at the input itself.

        Raises
        ------
        ValueError
            If an argument is out of its domain, or the threshold above 1/2 where the
            level of the noise follows the input.

        Notes
        -----
        That an event of probability p passes, at most tau, is that the opposite one
        keeps at least 1 - tau: ask a flag of that threshold, and give -z.

        Examples
        --------
        >>> from rsbounds.answers import Flag
        >>> from rsbounds.schemes import gaussian
        >>> round(Flag(gaussian(0.5), 0.05).radius(2.0), 4)  # .5 (2 + 1.6449)
        1.8224
        """
        score = number("z", z)
        least = self._least[FLAGGED]
        if follows(self.scheme) and least > 0:
            raise ArgumentError(
                "threshold",
                "must be at most 1/2 where the level of the noise follows the input: "
                f"beyond a half the worst level is not known; got {self.threshold}",
            )
        return event_radius(score, least, self.scheme, self.scheme.fixed_level(sigma))

    def detection(
        self,
        rows: Sequence[Recorded],
        *,
        radii: Sequence[float] | None = None,
        calibrated: Sequence[Any] = (),
    ) -> dict[str, Any]:
        """Certified detections at each radius, beside the false alarms.

        Parameters
        ----------
        rows : sequence of Row
            Of a run or of a file of this flag.
        radii : sequence of float, optional
            Round ones up to the largest of the rows, unless given.
        calibrated : sequence of Row
            Those that the threshold was chosen from, if any.

        Returns
        -------
        dict
            ``radii``; at each of them ``detected``, of the inputs that are to be
            flagged, and ``passing``, of the benign ones, those that certainly keep
            doing so; ``false_alarms``, the benign inputs that are certainly flagged.
            Each of these is [share, low, high], with an exact interval of 95 % over
            inputs, or None. ``to_flag`` and ``benign`` are numbers of inputs,
            ``undecided`` how many of each are certified for neither side.

        Raises
        ------
        ValueError
            For rows of another answer, or of an input that the threshold was chosen
            from.

        Examples
        --------
        >>> import numpy as np
        >>> from rsbounds import certify_dataset
        >>> from rsbounds.answers import Flag
        >>> from rsbounds.schemes import gaussian
        >>> data = np.array([[0.5], [-1.5]], np.float32), np.array([1, 0])
        >>> answer = Flag(gaussian(0.5), 0.05, flagged="score>0")
        >>> run = certify_dataset(lambda b: b[:, 0], data, answer, n=10_000)
        >>> shares = answer.detection(run.rows)
        >>> [round(share, 3) for share in shares["false_alarms"]]
        [0.0, 0.0, 0.975]
        """
        return detection(rows, self.flagged, radii=radii, calibrated=calibrated)

    def curve(
        self,
        rows: Sequence[Recorded],
        procedure: Procedure,
        thresholds: Any,
        radius: float = 0.0,
    ) -> dict[str, Any]:
        """Detections and false alarms at several thresholds, from one set of counts.

        Parameters
        ----------
        rows : sequence of Row
            Of a run or of a file of this flag.
        procedure : Procedure
            That of the run.
        thresholds : array_like
            Each in (0, 1).
        radius : float
            Within which an input that is to be flagged stays flagged, >= 0.

        Returns
        -------
        dict
            ``thresholds``; for each of them ``detected`` and ``false_alarms`` as
            :meth:`detection` has them, ``undecided`` too; ``level``, twice alpha: of
            each input the bound from below and that from above hold together, at
            whatever threshold, but with this probability.

        Raises
        ------
        ValueError
            For rows of another answer, a procedure that stops early, or an argument out
            of its domain.

        Examples
        --------
        >>> import numpy as np
        >>> from rsbounds.answers import Flag
        >>> from rsbounds.certify import Procedure, certify_dataset
        >>> from rsbounds.schemes import gaussian
        >>> data = np.array([[0.5], [-0.5]], np.float32), np.array([1, 0])
        >>> answer = Flag(gaussian(0.5), flagged="score>0")
        >>> procedure = Procedure(n=10_000)
        >>> run = certify_dataset(lambda b: b[:, 0], data, answer, n=10_000)
        >>> curve = answer.curve(run.rows, procedure, [0.05, 0.5], radius=0.3)
        >>> [share for share, _, _ in curve["detected"]]
        [1.0, 1.0]
        >>> [share for share, _, _ in curve["false_alarms"]]
        [1.0, 0.0]
        """
        return curve(self._at, rows, self.flagged, procedure, thresholds, radius)

    def _at(self, threshold: float) -> Flag:
        """The flag of another threshold."""
        return Flag(self.scheme, threshold, self.flagged)

    @classmethod
    def report(cls, parameters: Mapping[str, Any], rows: Sequence[Recorded]) -> Summary:
        return summary(parameters["threshold"], parameters["flagged"], rows)
