"""An answer whose run looks at fixed numbers of samples, and stops where more gain
little.

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
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers._answer import Answer, Answered, Recorded
from rsbounds.certificate import Certificate
from rsbounds.confidence import BOUNDS, Look
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, GrowingDraws, Sampler

DRAWN = "drawn"
#: Fewer samples don't tell what more would show: scores are off by .04 and more.
FEWEST = 1000


@dataclass(frozen=True)
class Looked:
    """Evidence of the look that certifies most, and how many samples were drawn."""

    look: Any
    samples: int
    drawn: int


def under(answer: Answer, procedure: Procedure) -> Answer:
    """The answer as a procedure draws it: by looks, where its bound has some."""
    if BOUNDS[procedure.bound].looks is None or isinstance(answer, ByLooks):
        return answer
    return ByLooks(answer)


class ByLooks(Answer):
    """An answer whose samples are drawn look by look.

    Its rows are those of the look that certifies most: their ``n`` says which one, the
    column ``drawn`` how many samples were drawn in all.

    Parameters
    ----------
    asked : Answer
        The question. It is asked at each look, by the bound of one look.
    """

    def __init__(self, asked: Answer) -> None:
        self.asked = asked
        self.scheme = asked.scheme
        # what the class says of the answer asked, an instance says of this one
        for name in ("name", "help", "options", "n0", "n", "classifies"):
            setattr(self, name, getattr(asked, name))
        self.columns = (*asked.columns, DRAWN)

    def parameters(self) -> dict[str, Any]:
        return self.asked.parameters()

    def check(self, procedure: Procedure) -> None:
        if type(self.asked).scaled is Answer.scaled:
            raise ArgumentError(
                "bound",
                "must be for one number of samples: the answer "
                f"{self.name!r} does not stop early",
            )
        for look in looks_of(procedure):
            self.asked.check(at_look(procedure, look))

    def check_inputs(self, inputs: int) -> None:
        self.asked.check_inputs(inputs)

    def sampler(self, model: Any, **options: Any) -> Sampler:
        return self.asked.sampler(model, **options)

    def samplers(self, model: Any) -> Sequence[Sampler]:
        return self.asked.samplers(model)

    def levels(self, x: Any) -> Sequence[float]:
        return self.asked.levels(x)

    def draw(self, draws: Draws, procedure: Procedure) -> Looked:
        growing = GrowingDraws(draws)
        looks = looks_of(procedure)
        room = (procedure.tolerance or 0.0) * min(draws.levels)
        best: Looked | None = None
        most: Certificate | None = None
        drawn = 0
        for look in looks:
            of_look = at_look(procedure, look)
            evidence = self.asked.draw(growing, of_look)
            certificate = self._certificate(evidence, of_look, draws)
            drawn = look.samples
            if most is None or _is_better(certificate, most):
                best = Looked(evidence, drawn, drawn)
                most = certificate
            if not certificate.n:  # nothing more is asked about this input
                break
            if look is looks[-1]:
                break
            if look.samples < FEWEST:
                continue
            expected = self._certificate(
                self.asked.scaled(evidence, looks[-1].samples),
                at_look(procedure, looks[-1]),
                draws,
            )
            # two infinite radii, too, leave nothing to gain
            if not expected.radius - most.radius > room:
                break
        assert best is not None  # there is a look at n
        return replace(best, drawn=drawn)

    def stored(self, row: Recorded) -> Looked:
        drawn = row.extra.get(DRAWN)
        return Looked(
            look=self.asked.stored(row),
            samples=row.n,
            # a row of a run without looks holds what the last one saw
            drawn=row.n if drawn is None else whole_number(drawn),
        )

    def certify(
        self, evidence: Looked, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        looks = looks_of(procedure)
        by_samples = {look.samples: look for look in looks}
        # an input that nothing more was asked about has no samples: any look does
        look = by_samples.get(evidence.samples or looks[0].samples)
        if look is None:
            raise ValueError(
                f"n must be one of the looks at {list(by_samples)}; "
                f"got {evidence.samples}"
            )
        certificate, columns = self.asked.certify(
            evidence.look, at_look(procedure, look), label=label, index=index
        )
        drawn = evidence.drawn if certificate.n else 0
        return Answered(
            replace(certificate, bound=procedure.bound),
            {**columns, DRAWN: str(drawn)},
        )

    def largest_radius(self, x: Any, procedure: Procedure) -> float | None:
        last = looks_of(procedure)[-1]
        return self.asked.largest_radius(x, at_look(procedure, last))

    def fingerprint(self, draws: Draws, procedure: Procedure) -> Sequence[int]:
        return self.asked.fingerprint(draws, procedure)

    def recorded_fingerprint(self, row: Recorded) -> Sequence[int] | None:
        return self.asked.recorded_fingerprint(row)

    def _certificate(
        self, evidence: Any, procedure: Procedure, draws: Draws
    ) -> Certificate:
        label = -1 if draws.label is None else draws.label
        return self.asked.certify(
            evidence, procedure, label=label, index=draws.index
        ).certificate


def looks_of(procedure: Procedure) -> tuple[Look, ...]:
    """The looks of a procedure whose bound has some."""
    looks = BOUNDS[procedure.bound].looks
    if looks is None:
        raise ValueError(f"the bound {procedure.bound!r} has no looks")
    return looks.at(procedure.n, procedure.alpha)


def at_look(procedure: Procedure, look: Look) -> Procedure:
    """The procedure of one look, as if it were the only one."""
    looks = BOUNDS[procedure.bound].looks
    assert looks is not None
    return replace(
        procedure,
        n=look.samples,
        alpha=look.alpha,
        bound=looks.bound,
        tolerance=None,
    )


def _is_better(certificate: Certificate, most: Certificate) -> bool:
    """Whether a later look's certificate is to be preferred."""
    if certificate.radius != most.radius:
        return certificate.radius > most.radius
    # of abstentions the last one tells most of the input
    return most.abstained or not certificate.abstained
