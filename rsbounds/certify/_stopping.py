"""What is drawn of an input next, and when that ends.

By default n samples. Inputs whose selected class is wrong may be left out; a target
radius ends the sampling once it is decided; and a bound with looks is asked at fixed
numbers of samples, until more of them would gain little.

At each look the samples so far are those of a run whose number of samples was fixed in
advance, at its share of alpha. With probability at least 1 - alpha the certificates of
all looks hold, those that were never drawn included. So the best of those seen holds,
whatever stopped the sampling, and its row needs no more than its own look's counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rsbounds._numerics.decimals import whole_number
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import Answer, Answered, Recorded, Votes, class_counts
from rsbounds.certificate import Certificate
from rsbounds.confidence import BOUNDS, Look
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, GrowingDraws, Phase

DRAWN = "drawn"
#: Fewer samples don't tell what more would show: scores are off by .04 and more.
FEWEST = 1000


class Stopping:
    """All n samples of an input, or none where its selected class is wrong.

    Parameters
    ----------
    procedure : Procedure
        How many samples at most, and what ends the sampling.

    Attributes
    ----------
    columns : tuple of str
        The columns that rows have besides those of the answer.
    target : float
        The radius that is certified or nothing; 0 where any is.
    """

    columns: tuple[str, ...] = ()
    target: float = 0.0

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure

    @staticmethod
    def of(procedure: Procedure) -> Stopping:
        """What a procedure asks for."""
        if procedure.target_radius is not None:
            return _Decided(procedure, procedure.target_radius)
        if BOUNDS[procedure.bound].looks is not None:
            return _ByLooks(procedure)
        return Stopping(procedure)

    def check(self, answer: Answer) -> None:
        """ValueError for an answer that can't be asked so; may warn."""
        if self.procedure.only_correct:
            _require(
                answer,
                "selected",
                "only_correct",
                "needs one selected class to compare with the label, which the answer "
                f"{answer.name!r} does not have",
            )
        for procedure in self._procedures():
            answer.check(procedure)

    def draw(self, answer: Answer, draws: Draws, label: int) -> Any:
        """The evidence of an input."""
        if self.procedure.only_correct:
            draws = GrowingDraws(draws)  # the selection samples are asked for again
            votes = self._selection(draws)
            if label not in answer.selected(votes.select):
                return self._unasked(votes)
        return self._drawn(answer, draws, label)

    def stored(self, answer: Answer, row: Recorded) -> Any:
        """The evidence that a row holds; ValueError where rows don't hold it."""
        return answer.stored(row)

    def certify(
        self, answer: Answer, evidence: Any, *, label: int, index: int
    ) -> Answered:
        """The certificate that the evidence of an input supports: a pure function."""
        answered = answer.certify(evidence, self.procedure, label=label, index=index)
        if self.procedure.only_correct:
            return self._of_correct(answer, answered, label)
        return answered

    def _of_correct(self, answer: Answer, answered: Answered, label: int) -> Answered:
        """Certify nothing of an input that was left out because its class is wrong."""
        certificate = answered.certificate
        if certificate.n:
            return answered
        selected = answer.selected(np.array(certificate.select, dtype=np.int64))
        if label in selected:
            self._require_samples()
            return answered
        # nothing was asked about it
        unasked = replace(certificate, z_a=np.nan, z_b=np.nan, p_a=np.nan)
        return answered._replace(certificate=unasked)

    def largest_radius(self, answer: Answer, x: Any) -> float | None:
        """The most that the samples can show at an input; None: not known."""
        return answer.largest_radius(x, self.procedure)

    # --- what the ways of stopping do otherwise

    def _procedures(self) -> Sequence[Procedure]:
        """The procedures by which an answer is asked."""
        return [self.procedure]

    def _drawn(self, answer: Answer, draws: Draws, label: int) -> Any:
        return answer.draw(draws, self.procedure)

    def _unasked(self, votes: Votes) -> Any:
        """The evidence of an input of which no more is drawn."""
        return votes

    def _require_samples(self) -> None:
        """ValueError unless an input whose selected class is right may have none."""
        raise ValueError("n must be at least 1 for an input that is to be sampled")

    def _selection(self, draws: Draws) -> Votes:
        """The votes of the selection samples, and no others."""
        select = class_counts(draws(Phase.SELECT, self.procedure.n0))
        return Votes(draws.sigma, select, np.zeros_like(select), 0)


class _Decided(Stopping):
    """Samples until the target radius is proved or out of reach, or n are spent."""

    def __init__(self, procedure: Procedure, target: float) -> None:
        super().__init__(procedure)
        self.target = target

    def check(self, answer: Answer) -> None:
        _require(
            answer,
            "reach",
            "target_radius",
            f"is not for the answer {answer.name!r}, which does not stop early",
        )
        super().check(answer)

    def _drawn(self, answer: Answer, draws: Draws, label: int) -> Votes:
        # The bound holds at all numbers of samples at once. So it may be looked at
        # after each step, and what it says may stop the sampling.
        most = self.procedure.n
        votes = self._selection(draws)
        generator = draws.generator(Phase.ESTIMATE)
        while votes.n < most and not self._is_decided(answer, votes):
            step = min(step_after(votes.n), most - votes.n)
            votes = votes.grown(class_counts(draws.more(generator, step)), step)
        return votes

    def _is_decided(self, answer: Answer, votes: Votes) -> bool:
        """Whether the target is proved, or out of reach."""
        if votes.n and answer.shown(votes, self.procedure) >= self.target:
            return True
        return answer.reach(votes, self.procedure) < self.target

    def certify(
        self, answer: Answer, evidence: Any, *, label: int, index: int
    ) -> Answered:
        answered = super().certify(answer, evidence, label=label, index=index)
        certificate = answered.certificate
        radius = self.target if certificate.radius >= self.target else 0.0
        return answered._replace(certificate=replace(certificate, radius=radius))

    def _require_samples(self) -> None:
        """A target that no number of samples reaches needs none."""


@dataclass(frozen=True)
class Looked:
    """Evidence of the look that certifies most, and how many samples were drawn."""

    look: Any
    samples: int
    drawn: int


class _ByLooks(Stopping):
    """Samples look by look, until more would gain little.

    Rows are those of the look that certifies most: their ``n`` says which one, the
    column ``drawn`` how many samples were drawn in all.
    """

    columns = (DRAWN,)

    def __init__(self, procedure: Procedure) -> None:
        super().__init__(procedure)
        self._looks = at_looks(procedure)

    def check(self, answer: Answer) -> None:
        _require(
            answer,
            "scaled",
            "bound",
            "must be for one number of samples: the answer "
            f"{answer.name!r} does not stop early",
        )
        super().check(answer)

    def _procedures(self) -> Sequence[Procedure]:
        return self._looks

    def _drawn(self, answer: Answer, draws: Draws, label: int) -> Looked:
        growing = GrowingDraws(draws)
        index = draws.index
        last = self._looks[-1]
        room = (self.procedure.tolerance or 0.0) * min(draws.levels)
        best: Looked | None = None
        most: Certificate | None = None
        drawn = 0
        for look in self._looks:
            evidence = answer.draw(growing, look)
            certificate, _ = answer.certify(evidence, look, label=label, index=index)
            drawn = look.n
            if most is None or _is_better(certificate, most):
                best = Looked(evidence, drawn, drawn)
                most = certificate
            if look is last:
                break
            if look.n < FEWEST:
                continue
            scaled = answer.scaled(evidence, last.n)
            expected, _ = answer.certify(scaled, last, label=label, index=index)
            # two infinite radii, too, leave nothing to gain
            if not expected.radius - most.radius > room:
                break
        assert best is not None  # there is a look at n
        return replace(best, drawn=drawn)

    def _unasked(self, votes: Votes) -> Looked:
        return Looked(votes, samples=0, drawn=0)

    def stored(self, answer: Answer, row: Recorded) -> Looked:
        drawn = row.extra.get(DRAWN)
        return Looked(
            look=answer.stored(row),
            samples=row.n,
            # a row of a run without looks holds what the last one saw
            drawn=row.n if drawn is None else whole_number(drawn),
        )

    def certify(
        self, answer: Answer, evidence: Looked, *, label: int, index: int
    ) -> Answered:
        by_samples = {look.n: look for look in self._looks}
        # an input that nothing more was asked about has no samples: any look does
        look = by_samples.get(evidence.samples or self._looks[0].n)
        if look is None:
            raise ValueError(
                f"n must be one of the looks at {list(by_samples)}; "
                f"got {evidence.samples}"
            )
        certificate, columns = answer.certify(
            evidence.look, look, label=label, index=index
        )
        drawn = evidence.drawn if certificate.n else 0
        answered = Answered(
            replace(certificate, bound=self.procedure.bound),
            {**columns, DRAWN: str(drawn)},
        )
        if self.procedure.only_correct:
            return self._of_correct(answer, answered, label)
        return answered

    def largest_radius(self, answer: Answer, x: Any) -> float | None:
        return answer.largest_radius(x, self._looks[-1])


def looks_of(procedure: Procedure) -> tuple[Look, ...]:
    """The looks of a procedure whose bound has some."""
    looks = BOUNDS[procedure.bound].looks
    if looks is None:
        raise ValueError(f"the bound {procedure.bound!r} has no looks")
    return looks.at(procedure.n, procedure.alpha)


@lru_cache(maxsize=64)
def at_looks(procedure: Procedure) -> Sequence[Procedure]:
    """The procedure of each look, as if it were the only one."""
    looks = BOUNDS[procedure.bound].looks
    assert looks is not None
    return [
        procedure.fixed(look.samples, look.alpha, looks.bound)
        for look in looks_of(procedure)
    ]


def step_after(drawn: int) -> int:
    """How many samples come next: an eighth to a quarter of those drawn, or 64."""
    # powers of two are few: a compiled model sees few shapes
    return max(64, 1 << (drawn // 4).bit_length() >> 1)


def _require(answer: Answer, method: str, name: str, problem: str) -> None:
    """ArgumentError unless an answer has a method that stopping asks it by."""
    if getattr(type(answer), method) is getattr(Answer, method):
        raise ArgumentError(name, problem)


def _is_better(certificate: Certificate, most: Certificate) -> bool:
    """Whether a later look's certificate is to be preferred."""
    if certificate.radius != most.radius:
        return certificate.radius > most.radius
    # of abstentions prefer the latest: it saw the most samples
    return most.abstained or not certificate.abstained
