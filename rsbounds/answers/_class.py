"""The class: Cohen's question, with the runner-up's bound where it is asked for.

A few samples choose the class, fresh ones bound its probability, and the scheme turns
the bounds into a radius.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers._answer import (
    Answer,
    Answered,
    ClassCounts,
    Options,
    Recorded,
    Votes,
    class_counts,
    drawn_counts,
    require_scheme,
    sampler_of,
    void_votes,
    voted,
)
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import BOUNDS, Pair
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase, Sampler, stream
from rsbounds.schemes import Scheme
from rsbounds.schemes._domains import POSITIVE, RADIUS

LARGEST = 40.0  # no number of samples gives a larger score
NONE: ClassCounts = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Scores:
    """Evidence of a bound on scores: one histogram for each class, of either phase."""

    sigma: float
    select: Sequence[Any]
    estimate: Sequence[Any]
    n: int


class Class(Answer):
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
    >>> from rsbounds.answers import Class
    >>> from rsbounds.schemes import gaussian
    >>> Class(gaussian(0.5)).name
    'class'
    """

    name = "class"
    help = "the most likely class"

    def __init__(self, scheme: Scheme) -> None:
        require_scheme(scheme)
        self.scheme = scheme
        self.columns = (*type(self).columns, *scheme.columns)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Answer:
        return cls(scheme)

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        return cls(scheme)

    def check(self, procedure: Procedure) -> None:
        require_evidence(self.scheme, procedure)
        if procedure.only_correct and BOUNDS[procedure.bound].evidence != "counts":
            raise ArgumentError("only_correct", "needs a bound on counts")
        if (
            procedure.margin is not None
            and BOUNDS[procedure.bound].evidence != "counts"
        ):
            raise ArgumentError(
                "margin",
                "needs a bound on counts of votes drawn by chance; "
                f"{procedure.bound!r} is on {BOUNDS[procedure.bound].evidence}",
            )

    def samplers(self, model: Any) -> Sequence[Sampler]:
        return [sampler_of(model, self.scheme)]

    def draw(self, draws: Draws, procedure: Procedure) -> Votes | Scores:
        evidence = getattr(draws.samplers[0], "evidence", "counts")
        needed = BOUNDS[procedure.bound].evidence
        exact = needed == "outcomes"  # which samplers count as they count samples
        if evidence != ("counts" if exact else needed):
            raise ValueError(
                f"bound {procedure.bound!r} is on {needed}: the sampler gives "
                f"{evidence} "
                "(rsbounds.sampling.SoftSampler: scores)"
            )
        if exact:
            # all outcomes at once: no luck chooses the class, so they choose it too
            counts = class_counts(draws(Phase.ESTIMATE, procedure.n))
            return Votes(draws.sigma, select=counts, counts=counts, n=procedure.n)
        # n0 samples guess the class, fresh ones bound its probability: among the
        # samples that chose it the class is ahead by luck, too, and their counts would
        # promise too much.
        select = draws(Phase.SELECT, procedure.n0)
        if procedure.only_correct:
            votes = class_counts(select)
            if int(np.argmax(votes)) != draws.label:
                return Votes(draws.sigma, votes, np.zeros_like(votes), 0)
        if procedure.target_radius is not None:
            return self._until_decided(draws, class_counts(select), procedure)
        # Both are asked for before either is read: a GPU may still be at work on the
        # first.
        estimate = draws(Phase.ESTIMATE, procedure.n)
        if evidence == "scores":
            return Scores(draws.sigma, select, estimate, procedure.n)
        return Votes(
            sigma=draws.sigma,
            select=class_counts(select),
            counts=class_counts(estimate),
            n=procedure.n,
        )

    def scaled(self, evidence: Votes, n: int) -> Votes:
        return evidence.scaled(n)

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
        require_evidence(self.scheme, procedure)
        kind = BOUNDS[procedure.bound].evidence
        if kind == "scores":
            raise ValueError(
                f"bound must be one on counts; {procedure.bound!r} is on {kind}"
            )
        n0 = procedure.n if kind == "outcomes" else procedure.n0
        select = drawn_counts("select", evidence.select, n0)
        counts = drawn_counts("counts", evidence.counts, evidence.n)
        top = int(np.argmax(select))
        if evidence.n:
            uniform = uniform_of(procedure, index)
            pair = self._bounds(counts, top, evidence.n, procedure, uniform)
        elif procedure.only_correct and top != label:  # nothing was asked about it
            pair = Pair(np.nan, np.nan, np.nan, np.nan)
        else:  # a target that no number of samples reaches: none was drawn
            pair = Pair(-np.inf, np.inf, 0.0, 1.0)
        radius = self._radius(pair.z_a, pair.z_b, evidence.sigma)
        target = procedure.target_radius
        if target is not None:
            radius = target if radius >= target else 0.0
        certificate = voted(
            self.scheme,
            Votes(evidence.sigma, select, counts, evidence.n),
            replace(procedure, n0=n0),
            of=top,
            pair=pair,
            predict=top if pair.z_a > pair.z_b else ABSTAIN,
            radius=radius,
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
        counts = class_counts(draws(Phase.ESTIMATE, procedure.n))
        return [int(count) for count in counts]

    def largest_radius(self, x: Any, procedure: Procedure) -> float | None:
        if BOUNDS[procedure.bound].evidence == "scores":
            return None
        certain = replace(procedure, target_radius=None)
        votes = Votes(  # all samples fall on one class
            sigma=self.scheme.sigma(x),
            select=np.array([1]),
            counts=np.array([procedure.n]),
            n=procedure.n,
        )
        return self.certify(votes, certain, label=0, index=0).certificate.radius

    def _of_scores(self, scores: Scores, procedure: Procedure) -> Certificate:
        # the classes are ranked by their mean scores
        top = int(np.argmax([h.counts @ h.edges for h in scores.select]))
        pair = BOUNDS[procedure.bound].pair(
            scores.estimate,
            top,
            scores.n,
            procedure.alpha,
            runner_up=procedure.runner_up,
        )
        return voted(
            self.scheme,
            Votes(scores.sigma, NONE, NONE, scores.n),
            procedure,
            of=top,
            pair=pair,
            predict=top if pair.z_a > pair.z_b else ABSTAIN,
            radius=self._radius(pair.z_a, pair.z_b, scores.sigma),
        )

    def _bounds(
        self,
        counts: ClassCounts,
        top: int,
        n: int,
        procedure: Procedure,
        uniform: float | None = None,
    ) -> Pair:
        """The bounds of ``top`` and of the others that n samples give."""
        first = int(counts[top]) if top < len(counts) else 0
        below, above = counts[:top], counts[top + 1 :]
        second = int(max(below.max(initial=0), above.max(initial=0)))
        second += void_votes(counts, n)
        return _pair(
            procedure.bound,
            first,
            second,
            n,
            procedure.alpha,
            procedure.runner_up,
            uniform,
        )

    def _radius(self, z_a: float, z_b: float, sigma: float) -> float:
        """The radius of these scores; ValueError unless it is >= 0, or inf."""
        if not z_a > z_b:
            return 0.0
        name = f"the radius of the scheme {self.scheme.name!r}"
        return RADIUS.one(name, self.scheme.radius(z_a, sigma, z_b))

    def _until_decided(
        self, draws: Draws, select: ClassCounts, procedure: Procedure
    ) -> Votes:
        """Draw until the target is proved or out of reach, or n samples are spent."""
        # The bound holds at all numbers of samples at once. So it may be looked at
        # after each step, and what it says may stop the sampling.
        target = procedure.target_radius or 0.0
        bound = BOUNDS[procedure.bound]
        generator = draws.generator(Phase.ESTIMATE)
        top = int(np.argmax(select))
        counts = np.zeros_like(select)
        drawn = 0
        proved = False
        hopeless = self._radius(LARGEST, -LARGEST, draws.sigma) < target
        while drawn < procedure.n and not proved and not hopeless:
            step = min(step_after(drawn), procedure.n - drawn)
            counts = counts + class_counts(draws.more(generator, step))
            drawn += step
            pair = self._bounds(counts, top, drawn, procedure)
            proved = self._radius(pair.z_a, pair.z_b, draws.sigma) >= target
            if not proved:
                # out of reach where even the favourable ends of both bounds miss
                best, other = bound.optimistic(
                    counts, top, drawn, procedure.alpha, runner_up=procedure.runner_up
                )
                best, other = min(best, LARGEST), max(other, -LARGEST)
                hopeless = self._radius(best, other, draws.sigma) < target
        return Votes(draws.sigma, select, counts, drawn)


def require_evidence(scheme: Scheme, procedure: Procedure) -> None:
    """ValueError unless the bound "exact" and noise with few outcomes go together."""
    exact = BOUNDS[procedure.bound].evidence == "outcomes"
    if exact and scheme.outcomes is None:
        raise ArgumentError(
            "bound",
            "must be one on samples: the noise of the scheme "
            f"{scheme.name!r} has outcomes that are not evaluated; got "
            f"{procedure.bound!r}",
        )
    if scheme.outcomes is None:
        return
    if not exact:
        raise ArgumentError(
            "bound",
            f"must be 'exact' for the scheme {scheme.name!r}, all of whose outcomes "
            f"are evaluated; got {procedure.bound!r}",
        )
    if procedure.n != scheme.outcomes:
        raise ArgumentError(
            "n",
            f"must be {scheme.outcomes}, all outcomes of the noise; got {procedure.n}",
        )


def step_after(drawn: int) -> int:
    """How many samples come next: an eighth to a quarter of those drawn, or 64."""
    # powers of two are few: a compiled model sees few shapes
    return max(64, 1 << (drawn // 4).bit_length() >> 1)


def uniform_of(procedure: Procedure, index: int) -> float | None:
    """The uniform number of an input in (0, 1], fixed before its counts are seen.

    None for a bound that needs none.
    """
    if not BOUNDS[procedure.bound].uniform:
        return None
    return 1.0 - stream(procedure.seed, index, Phase.BOUND).random()


@lru_cache(maxsize=4096)
def _pair(
    bound: str,
    first: int,
    second: int,
    n: int,
    alpha: float,
    runner_up: bool,
    uniform: float | None,
) -> Pair:
    """The bounds of the two largest counts: many inputs share them."""
    return BOUNDS[bound].pair(
        [first, second], 0, n, alpha, runner_up=runner_up, u=uniform
    )


def certify_counts(
    scheme: Scheme,
    sigma: float,
    select: Sequence[int] | NDArray[Any],
    counts: Sequence[int] | NDArray[Any],
    *,
    n0: int,
    n: int,
    alpha: float,
    seed: int = 0,
    index: int = 0,
    bound: str = "clopper-pearson",
    runner_up: bool = True,
) -> Certificate:
    """The certificate that class counts support, whenever they were sampled.

    Other parameters as in :func:`rsbounds.certify.certify`; only the bound "randomized"
    draws from seed and index.

    Parameters
    ----------
    scheme : Scheme
        Its radius is used; its ``sigma`` is not.
    sigma : float
        The noise level that was sampled, > 0.
    select, counts : array_like of int, shape (classes,)
        Class counts of the samples that choose the class and of those that bound it;
        trailing zeros may be left out, and what is missing of n0 and n is void.

    Raises
    ------
    ValueError
        Counts that sum to more than was drawn, or another argument out of its domain.

    Examples
    --------
    >>> from rsbounds.certify import certify_counts
    >>> from rsbounds.schemes import gaussian
    >>> numbers = {"n0": 100, "n": 10_000, "alpha": 0.001}
    >>> c = certify_counts(gaussian(0.5), 0.5, [60, 40], [4500, 700], **numbers)
    >>> c.predict, c.radius > 0.3  # no majority, but a wide lead over the runner-up
    (0, True)
    """
    procedure = Procedure(
        n0=n0, n=n, alpha=alpha, seed=seed, bound=bound, runner_up=runner_up
    )
    votes = Votes(
        sigma=POSITIVE.one("sigma", sigma),
        select=_written("select", select, procedure.n0),
        counts=_written("counts", counts, procedure.n),
        n=procedure.n,
    )
    answer = Class(scheme)
    return answer.certify(votes, procedure, label=ABSTAIN, index=index).certificate


def _written(name: str, counts: Any, samples: int) -> ClassCounts:
    """Counts that were written down: without trailing zeros, so perhaps without any."""
    return drawn_counts(name, counts if np.size(counts) else [0], samples)
