"""What is done to each input of a data set: all n samples are drawn, and answered."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds.answers import Answer, Answered, Votes, class_counts, scope_of
from rsbounds.answers.internal import Recorded
from rsbounds.loading import Data
from rsbounds.procedure import Procedure
from rsbounds.results import Row
from rsbounds.sampling import Draws, Phase, Sampler
from rsbounds.sampling.internal import EarlyDraws, GrowingDraws, seed_apart, stream
from rsbounds.sampling.margins import with_margin
from rsbounds.sampling.system_bits import require_system_noise

Counts = Sequence[int]


class Job:
    """Certifies inputs: draws what an answer asks for by a procedure, and answers.

    Of each input it draws all n samples, or none where its selected class is wrong and
    the procedure leaves such inputs out. A job has no samplers until
    :meth:`with_model`: those of samples that were drawn elsewhere need none.

    Parameters
    ----------
    answer : Answer
        What is asked.
    procedure : Procedure
        How many samples at most, and what ends the sampling.

    Attributes
    ----------
    samplers : sequence of Sampler
        Those of the answer's levels, whose votes count by the procedure's margin.
    target : float
        The radius that is certified or nothing; 0 where any is.
    """

    #: The columns that rows have besides those of the answer.
    further: ClassVar[tuple[str, ...]] = ()
    #: Methods by which the answer is asked, the argument that asks for them, and why.
    needs: ClassVar[tuple[str, str, str] | None] = None
    target: float = 0.0

    def __init__(self, answer: Answer, procedure: Procedure) -> None:
        self.answer = answer
        self.procedure = procedure
        self.samplers: Sequence[Sampler] = ()

    def check(self, stacklevel: int = 2) -> None:
        """ValueError for an answer that can't be asked so; may warn."""
        warn_of_confidence(self.procedure.alpha, stacklevel=stacklevel + 1)
        if self.needs is not None:
            method, name, problem = self.needs
            self._require(method, name, problem)
        if self.procedure.only_correct:
            self._require(
                "selected",
                "only_correct",
                "needs one selected class to compare with the label, which the answer "
                "{} does not have",
            )
        for procedure in self.procedures():
            self.answer.check(procedure)

    def _require(self, method: str, name: str, problem: str) -> None:
        """ArgumentError unless the answer has a method that it is asked by."""
        if getattr(type(self.answer), method) is getattr(Answer, method):
            raise ArgumentError(name, problem.format(repr(self.answer.name)))

    def with_model(self, model: Any) -> Self:
        """This job with the samplers of a model."""
        other = copy.copy(self)
        for name in ("scope", "queues"):  # they follow from the samplers too
            other.__dict__.pop(name, None)
        other.samplers = samplers_of(self.answer, model, self.procedure)
        return other

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its rows beyond those of every file."""
        return (*self.answer.columns, *self.further)

    @cached_property
    def scope(self) -> str:
        """The scope of its certificates: the classifier that they hold for."""
        return scope_of(self.answer, self.procedure.bound, self.samplers)

    # --- an input

    def draws(self, x: Any, index: int, procedure: Procedure | None = None) -> Draws:
        """The samples of an input that may be asked for.

        Those of an answer that other inputs chose are independent of theirs.
        """
        procedure = procedure or self.procedure
        if self.answer.excluded:
            seed = seed_apart(procedure.seed, self.answer.excluded)
            procedure = replace(procedure, seed=seed)
        return Draws(self.samplers, x, self.answer.levels(x), procedure, index)

    def certify(self, x: Any, index: int, label: int) -> Answered:
        """The certificate of an input, and the further columns of its row."""
        return self.answered(self.draws(x, index), label)

    @cached_property
    def queues(self) -> bool:
        """Whether a device may be given an input before the last one's counts are read.

        Where one is at work after a call, and which samples an answer asks for doesn't
        follow from others.
        """
        lazy = all(getattr(sampler, "queues", False) for sampler in self.samplers)
        return lazy and bool(self.samplers) and bool(self.asks())

    def begun(self, x: Any, index: int) -> Draws:
        """The samples of an input; a device is at work on those of a fixed number."""
        draws = self.draws(x, index)
        return EarlyDraws(draws, self.asks()) if self.queues else draws

    def answered(self, draws: Draws, label: int) -> Answered:
        """The certificate of an input's samples, and the further columns of its row."""
        evidence = self.evidence(draws, label)
        index = draws.index
        return self._in_scope(self.certified(evidence, label=label, index=index))

    def again(self, row: Recorded) -> Answered:
        """The certificate of the samples that a row holds."""
        return self._in_scope(self.recomputed(row))

    def recomputed(self, row: Recorded) -> Answered:
        """What the samples of a row support, in the scope of the answer alone."""
        evidence = self.stored(row)
        return self.certified(evidence, label=row.label, index=row.idx)

    def _in_scope(self, answered: Answered) -> Answered:
        """What an input's evidence supports, in the scope that rows state."""
        if answered.certificate.scope == self.scope:
            return answered
        # another package's word
        certificate = replace(answered.certificate, scope=self.scope)
        return answered._replace(certificate=certificate)

    def evidence(self, draws: Draws, label: int) -> Any:
        """What is drawn of an input."""
        if self.procedure.only_correct:
            draws = GrowingDraws(draws)  # the selection samples are asked for again
            votes = self.selection(draws)
            if label not in self.answer.selected(votes.select):
                return self.unasked(votes)
        return self.drawn(draws, label)

    def selection(self, draws: Draws) -> Votes:
        """The votes of the selection samples, and no others."""
        select = class_counts(draws(Phase.SELECT, self.procedure.n0))
        return Votes(draws.sigma, select, np.zeros_like(select), 0, len(select))

    # --- what jobs that stop earlier do otherwise

    def procedures(self) -> Sequence[Procedure]:
        """The procedures by which the answer is asked."""
        return [self.procedure]

    def asks(self) -> Sequence[tuple[Phase, int]]:
        """The samples that are drawn of every input, whatever others show."""
        # a wrong class may leave an input out
        return () if self.procedure.only_correct else self.answer.asks(self.procedure)

    def drawn(self, draws: Draws, label: int) -> Any:
        """The evidence of an input that is sampled."""
        return self.answer.draw(draws, self.procedure)

    def unasked(self, votes: Votes) -> Any:
        """The evidence of an input of which no more is drawn."""
        return votes

    def stored(self, row: Recorded) -> Any:
        """The evidence that a row holds; ValueError where rows don't hold it."""
        return self.answer.stored(row)

    def certified(self, evidence: Any, *, label: int, index: int) -> Answered:
        """The certificate that the evidence of an input supports: a pure function."""
        answered = self.answer.certify(
            evidence, self.procedure, label=label, index=index
        )
        return self.of_correct(answered, label)

    def of_correct(self, answered: Answered, label: int) -> Answered:
        """Certify nothing of an input that was left out because its class is wrong."""
        certificate = answered.certificate
        if certificate.n or not self.procedure.only_correct:
            return answered
        selected = self.answer.selected(np.array(certificate.select, dtype=np.int64))
        if label in selected:
            self.require_samples()
            return answered
        # nothing was asked about it
        unasked = replace(certificate, z_a=np.nan, z_b=np.nan, p_a=np.nan)
        return answered._replace(certificate=unasked)

    def require_samples(self) -> None:
        """ValueError unless an input whose selected class is right may have none."""
        raise ValueError("n must be at least 1 for an input that is to be sampled")

    def largest_radius(self, x: Any) -> float | None:
        """The most that the samples can show at an input; None: not known."""
        return self.answer.largest_radius(x, self.procedures()[-1])

    # --- which model it is

    @cached_property
    def _repeatable(self) -> Procedure:
        """The procedure, with noise that follows from a seed."""
        if self.procedure.repeats:
            return self.procedure
        return replace(self.procedure, seed=0)

    def fingerprint(self, x: Any, index: int) -> Counts:
        """Numbers of the selection samples, which tell one model from another.

        They follow from a seed, also where the samples of rows don't: a number that
        can't be drawn again tells nothing.
        """
        draws = self.draws(x, index, self._repeatable)
        return self.answer.fingerprint(draws, self._repeatable)

    def recorded_fingerprint(self, row: Row) -> Counts | None:
        """The fingerprint as far as a row holds it; None where it doesn't."""
        if not self.procedure.repeats:
            return None
        return self.answer.recorded_fingerprint(row)

    @property
    def has_less_noise(self) -> bool:
        """Whether samplers draw noise of any level, also hardly any."""
        noise = self.answer.scheme.drawn
        return noise is None or noise.level is None

    def alone(self, x: Any) -> Counts:
        """Class counts of one sample with hardly any noise."""
        level = self.answer.levels(x)[0] / 64
        sampled = self.samplers[0](x, level, 1, stream(0, 0, Phase.SEARCH))
        return [int(count) for count in class_counts(sampled)]

    def facts(self, source: Data) -> dict[str, str]:
        """What worker and writer must agree on."""
        scheme = self.answer.scheme
        return {
            "method": json.dumps(
                [scheme.name, dict(scheme.parameters)], sort_keys=True
            ),
            "answer": json.dumps(self.answer.describe(), sort_keys=True),
            "data": json.dumps(dict(source.identity), sort_keys=True),
            "scope": self.scope,
        }


def samplers_of(answer: Answer, model: Any, procedure: Procedure) -> Sequence[Sampler]:
    """The samplers of an answer's levels, whose votes count by the procedure's margin.

    ValueError where they can't, or can't draw the noise that the procedure asks for.
    """
    samplers = answer.samplers(model)
    if procedure.margin is not None:
        samplers = [with_margin(sampler, procedure.margin) for sampler in samplers]
    if not procedure.repeats:
        for sampler in samplers:
            require_system_noise(sampler)
    return samplers
