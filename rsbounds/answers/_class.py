"""The class: Cohen's question, with the runner-up's bound where it is asked for.

A few samples choose the class, fresh ones bound its probability, and the scheme turns
the bounds into a radius.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_array
from rsbounds._numerics.domains import POSITIVE, RADIUS
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds.answers._answer import (
    Answer,
    Answered,
    Options,
    require_scheme,
    two_phases,
)
from rsbounds.answers._votes import (
    ClassCounts,
    Recorded,
    Votes,
    class_counts,
    drawn_counts,
    require_drawn,
    void_votes,
)
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.internal import Pair
from rsbounds.procedure import Procedure, require_procedure
from rsbounds.sampling import Draws, Phase
from rsbounds.schemes import Scheme

LARGEST = 40.0  # no number of samples gives a larger score
NONE: ClassCounts = np.zeros(0, dtype=np.int64)
#: What no samples show.
NOTHING = Pair(-np.inf, np.inf, 0.0, 1.0)


@dataclass(frozen=True)
class Scores:
    """Evidence of a bound on scores: one histogram for each class, of either phase."""

    sigma: float
    select: Sequence[Any]
    estimate: Sequence[Any]
    n: int


class TopClass(Answer):
    """The most likely class, and how far it stays the most likely.

    Parameters
    ----------
    scheme : Scheme
        Noise level and radius.

    References
    ----------
    Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing,
    2019: procedure Certify, Proposition 2 and, for the runner-up, Theorem 1.

    Examples
    --------
    >>> from rsbounds.answers import TopClass
    >>> from rsbounds.schemes import gaussian
    >>> TopClass(gaussian(0.5)).name
    'class'
    """

    name = "class"
    help = "the most likely class"

    def __init__(self, scheme: Scheme) -> None:
        require_scheme(scheme)
        self.scheme = scheme
        self.columns = (*type(self).columns, *scheme.columns)
        if scheme.outcomes is not None:  # each is evaluated once
            self.n, self.bound = scheme.outcomes, scheme.bound

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Answer:
        return cls(scheme)

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        return cls(scheme)

    def check(self, procedure: Procedure) -> None:
        """ValueError unless the bound "exact" and noise of few outcomes go together."""
        scheme = self.scheme
        exact = BOUNDS[procedure.bound].evidence == "outcomes"
        if exact and not scheme.bound:
            raise ArgumentError(
                "bound",
                f"must be one on samples: the noise of the scheme {scheme.name!r} has "
                f"outcomes that are not evaluated; got {procedure.bound!r}",
            )
        if not scheme.bound:
            return
        if not exact:
            raise ArgumentError(
                "bound",
                f"must be 'exact' for the scheme {scheme.name!r}, all of whose "
                f"outcomes are evaluated; got {procedure.bound!r}",
            )
        if procedure.n != scheme.outcomes:
            raise ArgumentError(
                "n",
                f"must be {scheme.outcomes}, all outcomes of the noise; got "
                f"{procedure.n}",
            )

    def settled(self, procedure: Procedure, classes: int | None) -> Procedure:
        """Without a bound of the runner-up where there are two classes.

        The second has what the first leaves, void samples counted with it: one bound
        at alpha says all that two at alpha/2 do, and more.
        """
        return _of_two_classes(procedure) if classes == 2 else procedure

    def draw(self, draws: Draws, procedure: Procedure) -> Votes | Scores:
        evidence = getattr(draws.samplers[0], "evidence", "counts")
        needed = BOUNDS[procedure.bound].evidence
        exact = needed == "outcomes"  # which samplers count as they count samples
        if evidence != ("counts" if exact else needed):
            raise ValueError(
                f"bound {procedure.bound!r} is on {needed}: the sampler gives "
                f"{evidence} (rsbounds.sampling.SoftSampler: scores)"
            )
        if exact:
            # all outcomes at once: no luck chooses the class, so they choose it too,
            # unless some of them are to
            counts = class_counts(draws(Phase.ESTIMATE, procedure.n))
            select = counts
            if self.scheme.choosing is not None:
                select = self._choosing(draws, procedure)
            return Votes(
                draws.sigma,
                select=select,
                counts=counts,
                n=procedure.n,
                classes=len(counts),
            )
        # n0 samples guess the class, fresh ones bound its probability: among the
        # samples that chose it the class is ahead by luck, too, and their counts would
        # promise too much.
        select = draws(Phase.SELECT, procedure.n0)
        # Both are asked for before either is read: a GPU may still be at work on the
        # first.
        estimate = draws(Phase.ESTIMATE, procedure.n)
        if evidence == "scores":
            return Scores(draws.sigma, select, estimate, procedure.n)
        chosen_by = class_counts(select)
        return Votes(
            sigma=draws.sigma,
            select=chosen_by,
            counts=class_counts(estimate),
            n=procedure.n,
            classes=len(chosen_by),
        )

    def asks(self, procedure: Procedure) -> Sequence[tuple[Phase, int]]:
        if BOUNDS[procedure.bound].evidence == "outcomes":
            return [(Phase.ESTIMATE, procedure.n)]
        return two_phases(procedure)

    def selected(self, select: ClassCounts) -> tuple[int, ...]:
        return (int(np.argmax(select)),)

    def scaled(self, evidence: Votes, n: int) -> Votes:
        return evidence.scaled(n)

    def shown(self, votes: Votes, procedure: Procedure) -> float:
        top = int(np.argmax(votes.select))
        procedure = self.settled(procedure, votes.classes)
        pair = self._bounds(votes, top, procedure)
        return self._radius(pair.z_a, pair.z_b, votes.sigma)

    def reach(self, votes: Votes, procedure: Procedure) -> float:
        best, other = np.inf, -np.inf
        if votes.n:
            # the favourable ends of both bounds
            procedure = self.settled(procedure, votes.classes)
            best, other = BOUNDS[procedure.bound].optimistic(
                votes.counts,
                int(np.argmax(votes.select)),
                votes.n,
                procedure.alpha,
                runner_up=procedure.runner_up,
            )
        return self._radius(min(best, LARGEST), max(other, -LARGEST), votes.sigma)

    def stored(self, row: Recorded) -> Votes:
        return Votes.of(row)

    def certify(
        self,
        evidence: Votes | Scores,
        procedure: Procedure,
        *,
        label: int,
        index: int,
    ) -> Answered:
        if isinstance(evidence, Scores):
            return Answered(self._of_scores(evidence, procedure), {})
        bound = BOUNDS[procedure.bound]
        if bound.evidence == "scores":
            raise ValueError(
                f"bound must be one on counts; {procedure.bound!r} is on scores"
            )
        if bound.evidence == "outcomes":  # which choose the class too
            procedure = replace(procedure, n0=self.scheme.choosing or procedure.n)
        require_drawn("select", evidence.select, procedure.n0)
        require_drawn("counts", evidence.counts, evidence.n)
        procedure = self.settled(procedure, evidence.classes)
        top = int(np.argmax(evidence.select))
        pair = NOTHING
        if evidence.n:
            pair = self._bounds(evidence, top, procedure)
        is_chosen = pair.z_a > pair.z_b
        if self.scheme.choosing is not None:
            is_chosen = int(evidence.select[top]) == self.scheme.choosing
        radius = self._radius(pair.z_a, pair.z_b, evidence.sigma)
        certificate = self.voted(
            evidence,
            procedure,
            of=top,
            pair=pair,
            predict=top if is_chosen else ABSTAIN,
            radius=radius if is_chosen else 0.0,
        )
        columns = self.scheme.further(pair.z_a, pair.z_b)
        return Answered(certificate, columns)

    def fingerprint(self, draws: Draws, procedure: Procedure) -> Sequence[int]:
        evidence = BOUNDS[procedure.bound].evidence
        if evidence == "scores":
            histograms = draws(Phase.SELECT, procedure.n0)
            return [int(histogram.at_least(0.5)) for histogram in histograms]
        if evidence != "outcomes":
            return super().fingerprint(draws, procedure)
        return [int(count) for count in self._choosing(draws, procedure)]

    def largest_radius(self, x: Any, procedure: Procedure) -> float | None:
        if BOUNDS[procedure.bound].evidence == "scores":
            return None
        return self.most_at(self.scheme.sigma(x), procedure)

    def most_at(self, sigma: float, procedure: Procedure) -> float:
        """The radius at a noise level if all samples fall on one class.

        NaN for a bound on scores, where that is not known.
        """
        if BOUNDS[procedure.bound].evidence == "scores":
            return math.nan
        votes = Votes(
            sigma=sigma,
            select=np.array([self.scheme.choosing or 1]),
            counts=np.array([procedure.n]),
            n=procedure.n,
        )
        return self.certify(votes, procedure, label=0, index=0).certificate.radius

    def _choosing(self, draws: Draws, procedure: Procedure) -> ClassCounts:
        """The counts of those outcomes that choose the class."""
        if self.scheme.choosing is None:
            return class_counts(draws(Phase.ESTIMATE, procedure.n))
        return class_counts(draws(Phase.SELECT, self.scheme.choosing))

    def _of_scores(self, scores: Scores, procedure: Procedure) -> Certificate:
        # the classes are ranked by their mean scores
        top = int(np.argmax([h.counts @ h.edges for h in scores.select]))
        procedure = self.settled(procedure, len(scores.select))
        pair = BOUNDS[procedure.bound].pair(
            scores.estimate,
            top,
            scores.n,
            procedure.alpha,
            runner_up=procedure.runner_up,
        )
        return self.voted(
            Votes(scores.sigma, NONE, NONE, scores.n),
            procedure,
            of=top,
            pair=pair,
            predict=top if pair.z_a > pair.z_b else ABSTAIN,
            radius=self._radius(pair.z_a, pair.z_b, scores.sigma),
        )

    def _bounds(self, votes: Votes, top: int, procedure: Procedure) -> Pair:
        """The bounds of ``top`` and of the others that the votes give."""
        counts = votes.counts
        first = int(counts[top]) if top < len(counts) else 0
        below, above = counts[:top], counts[top + 1 :]
        second = int(max(below.max(initial=0), above.max(initial=0)))
        second += void_votes(counts, votes.n)
        return _pair(
            procedure.bound,
            first,
            second,
            votes.n,
            procedure.alpha,
            procedure.runner_up,
        )

    def _radius(self, z_a: float, z_b: float, sigma: float) -> float:
        """The radius of these scores; ValueError unless it is >= 0, or inf."""
        if not z_a > z_b:
            return 0.0
        name = f"the radius of the scheme {self.scheme.name!r}"
        return RADIUS.one(name, self.scheme.radius(z_a, sigma, z_b))


@lru_cache(maxsize=64)  # all inputs of a run share it
def _of_two_classes(procedure: Procedure) -> Procedure:
    return replace(procedure, runner_up=False)


@lru_cache(maxsize=4096)
def _pair(
    bound: str,
    first: int,
    second: int,
    n: int,
    alpha: float,
    runner_up: bool,
) -> Pair:
    """The bounds of the two largest counts: many inputs share them."""
    return BOUNDS[bound].of_two_counts(first, second, n, alpha, runner_up=runner_up)


def certify_counts(
    scheme: Scheme,
    sigma: float,
    select: Sequence[int] | NDArray[Any],
    counts: Sequence[int] | NDArray[Any],
    procedure: Procedure,
    *,
    index: int = 0,
) -> Certificate:
    """The certificate that class counts support, whenever they were sampled.

    Parameters
    ----------
    scheme : Scheme
        Its radius is used; its ``sigma`` is not.
    sigma : float
        The noise level that was sampled, > 0.
    select, counts : array_like of int, shape (classes,)
        Class counts of the samples that choose the class and of those that bound it;
        trailing zeros may be left out, and what is missing of n0 and n is void.
    procedure : Procedure
        How many samples were drawn, and at which level, by which bound. Counts don't
        say that the model has two classes: ``runner_up=False`` does.
    index : int
        Names the input.

    Raises
    ------
    ValueError
        Counts that sum to more than was drawn, or another argument out of its domain.

    Examples
    --------
    >>> from rsbounds.certify import Procedure, certify_counts
    >>> from rsbounds.schemes import gaussian
    >>> procedure = Procedure(n=10_000)
    >>> votes = [4500, 700, *[600] * 8]
    >>> c = certify_counts(gaussian(0.5), 0.5, [60, 40], votes, procedure)
    >>> c.predict, c.radius > 0.3  # no majority, but a wide lead over the runner-up
    (0, True)
    """
    require_procedure(procedure)
    answer = TopClass(scheme)
    answer.check(procedure)
    warn_of_confidence(procedure.alpha, stacklevel=2)
    votes = Votes(
        sigma=POSITIVE.one("sigma", sigma),
        select=_written("select", select, procedure.n0),
        counts=_written("counts", counts, procedure.n),
        n=procedure.n,
    )
    return answer.certify(votes, procedure, label=ABSTAIN, index=index).certificate


def _written(name: str, counts: Any, samples: int) -> ClassCounts:
    """Counts that were written down: without trailing zeros, so perhaps without any."""
    return drawn_counts(name, counts if as_array(name, counts).size else [0], samples)
