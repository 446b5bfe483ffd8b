"""Jobs that may draw less than n samples of an input.

A target radius ends the sampling once it is decided; and a bound with looks is asked at
fixed numbers of samples, until more of them would gain little.

At each look the samples so far are those of a run whose number of samples was fixed in
advance, at its share of alpha. With probability at least 1 - alpha the certificates of
all looks hold, those that were never drawn included. So the best of those seen holds,
whatever stopped the sampling, and its row needs no more than its own look's counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rsbounds._numerics.decimals import whole_number
from rsbounds.answers import Answer, Answered, Votes, class_counts
from rsbounds.answers.internal import Recorded
from rsbounds.certificate import Certificate
from rsbounds.certify._job import Job
from rsbounds.confidence import BOUNDS
from rsbounds.procedure import Procedure, at_looks
from rsbounds.sampling import Draws, Phase
from rsbounds.sampling.internal import GrowingDraws

DRAWN = "drawn"
#: Fewer samples don't tell what more would show: scores are off by .04 and more.
FEWEST = 1000


def job_of(answer: Answer, procedure: Procedure) -> Job:
    """The job that a procedure asks for; nothing is checked yet."""
    if procedure.target_radius is not None:
        return _ToTarget(answer, procedure, procedure.target_radius)
    if BOUNDS[procedure.bound].looks is not None:
        return _ByLooks(answer, procedure)
    return Job(answer, procedure)


class _ToTarget(Job):
    """Samples until the target radius is proved or out of reach, or n are spent."""

    needs = (
        "reach",
        "target_radius",
        "is not for the answer {}, which does not stop early",
    )

    def __init__(self, answer: Answer, procedure: Procedure, target: float) -> None:
        super().__init__(answer, procedure)
        self.target = target

    def asks(self) -> Sequence[tuple[Phase, int]]:
        return ()  # each step follows from the counts before it

    def drawn(self, draws: Draws, label: int) -> Votes:
        # The bound holds at all numbers of samples at once. So it may be looked at
        # after each step, and what it says may stop the sampling.
        most = self.procedure.n
        votes = self.selection(draws)
        generator = draws.generator(Phase.ESTIMATE)
        while votes.n < most and not self._is_decided(votes):
            step = min(step_after(votes.n), most - votes.n)
            votes = votes.grown(class_counts(draws.more(generator, step)), step)
        return votes

    def _is_decided(self, votes: Votes) -> bool:
        """Whether the target is proved, or out of reach."""
        if votes.n and self.answer.shown(votes, self.procedure) >= self.target:
            return True
        return self.answer.reach(votes, self.procedure) < self.target

    def certified(self, evidence: Any, *, label: int, index: int) -> Answered:
        answered = super().certified(evidence, label=label, index=index)
        certificate = answered.certificate
        radius = self.target if certificate.radius >= self.target else 0.0
        return answered._replace(certificate=replace(certificate, radius=radius))

    def require_samples(self) -> None:
        """A target that no number of samples reaches needs none."""


@dataclass(frozen=True)
class Looked:
    """Evidence of the look that certifies most, and how many samples were drawn."""

    look: Any
    samples: int
    drawn: int


class _ByLooks(Job):
    """Samples look by look, until more would gain little.

    Rows are those of the look that certifies most: their ``n`` says which one, the
    column ``drawn`` how many samples were drawn in all.
    """

    further = (DRAWN,)
    needs = (
        "scaled",
        "bound",
        "must be for one number of samples: the answer {} does not stop early",
    )

    def __init__(self, answer: Answer, procedure: Procedure) -> None:
        super().__init__(answer, procedure)
        self._looks = at_looks(procedure)

    def procedures(self) -> Sequence[Procedure]:
        return self._looks

    def asks(self) -> Sequence[tuple[Phase, int]]:
        return ()  # whether a look comes follows from the one before it

    def drawn(self, draws: Draws, label: int) -> Looked:
        answer = self.answer
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

    def unasked(self, votes: Votes) -> Looked:
        return Looked(votes, samples=0, drawn=0)

    def stored(self, row: Recorded) -> Looked:
        drawn = row.extra.get(DRAWN)
        return Looked(
            look=self.answer.stored(row),
            samples=row.n,
            # a row of a run without looks holds what the last one saw
            drawn=row.n if drawn is None else whole_number(drawn),
        )

    def certified(self, evidence: Looked, *, label: int, index: int) -> Answered:
        by_samples = {look.n: look for look in self._looks}
        # an input that nothing more was asked about has no samples: any look does
        look = by_samples.get(evidence.samples or self._looks[0].n)
        if look is None:
            raise ValueError(
                f"n must be one of the looks at {list(by_samples)}; "
                f"got {evidence.samples}"
            )
        certificate, columns = self.answer.certify(
            evidence.look, look, label=label, index=index
        )
        drawn = evidence.drawn if certificate.n else 0
        answered = Answered(
            replace(certificate, bound=self.procedure.bound),
            {**columns, DRAWN: str(drawn)},
        )
        return self.of_correct(answered, label)


def step_after(drawn: int) -> int:
    """How many samples come next: an eighth to a quarter of those drawn, or 64."""
    # powers of two are few: a compiled model sees few shapes
    return max(64, 1 << (drawn // 4).bit_length() >> 1)


def _is_better(certificate: Certificate, most: Certificate) -> bool:
    """Whether a later look's certificate is to be preferred."""
    if certificate.radius != most.radius:
        return certificate.radius > most.radius
    # of abstentions prefer the latest: it saw the most samples
    return most.abstained or not certificate.abstained
