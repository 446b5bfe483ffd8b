"""What is done to each input of a data set: one scheme, or a decision list over several levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rsbounds import composite
from rsbounds.certificate import COMPOSITE, Certificate
from rsbounds.certify._counts import class_counts
from rsbounds.certify._input import certify_input, level, sampler_of
from rsbounds.procedure import Procedure
from rsbounds.results import sparse_counts
from rsbounds.sampling import Phase, Sampler, as_sampler, stream
from rsbounds.schemes import Scheme

Counts = Sequence[int]
Certified = tuple[Certificate, Mapping[str, str]]  # with the row's further columns


@dataclass(frozen=True)
class Task:
    """Certifies inputs; ``further`` names the rows' columns beyond those of every file.

    ``classes`` is whether labels are classes of the model.
    """

    samplers: Sequence[Sampler]  # one, or an expert for each level of a rule
    scheme: Scheme | composite.Rule
    procedure: Procedure
    method: str
    scope: str
    parameters: Mapping[str, Any]
    further: tuple[str, ...] = ()
    classes: bool = True

    def select(self, x: Any, index: int) -> Counts:
        """The counts that choose the class, at the first level: they tell models apart."""
        stage = 0 if isinstance(self.scheme, composite.Rule) else None
        generator = stream(self.procedure.seed, index, Phase.SELECT, stage)
        return self._counts(x, self._level(x), self.procedure.n0, generator)

    def alone(self, x: Any) -> Counts:
        """Counts of one sample with hardly any noise."""
        return self._counts(x, self._level(x) / 64, 1, stream(0, 0, Phase.SEARCH))

    def certify(self, x: Any, index: int, label: int) -> Certified:
        """The certificate, and the row's further columns; ``label`` is for answers about it."""
        if isinstance(self.scheme, Scheme):
            return certify_input(self.samplers[0], x, self.scheme, self.procedure, index), {}
        numbers = {name: getattr(self.procedure, name) for name in ("n0", "n", "alpha", "seed")}
        certificate = composite.certify(self.samplers, x, self.scheme, index=index, **numbers)
        return certificate, further(certificate)

    def _level(self, x: Any) -> float:
        return level(self.scheme, x) if isinstance(self.scheme, Scheme) else self.scheme.sigmas[0]

    def _counts(self, x: Any, sigma: float, n: int, generator: np.random.Generator) -> Counts:
        return [int(c) for c in class_counts(self.samplers[0](x, sigma, n, generator))]


@runtime_checkable
class Question(Protocol):
    """What may stand in place of a scheme: it makes the task of its inputs itself."""

    def task(self, model: Any, procedure: Procedure) -> Task:
        """The task, for one model."""
        ...


def task(model: Any, scheme: Scheme | composite.Rule | Question, procedure: Procedure) -> Task:
    """The task of a scheme with one model, or of a rule with one or an expert for each level.

    What has a method ``task`` of its own makes it, such as a question of :mod:`rsbounds.answers`.
    """
    if isinstance(scheme, Question):
        return scheme.task(model, procedure)
    if isinstance(scheme, composite.Rule):
        if procedure != Procedure(procedure.n0, procedure.n, procedure.alpha, procedure.seed):
            raise ValueError(
                "a rule has its own bounds: target_radius, bound and runner_up are not for it"
            )
        experts = model if isinstance(model, Sequence) else [model]
        samplers = [as_sampler(expert) for expert in experts]
        samplers *= 1 if isinstance(model, Sequence) else len(scheme.sigmas)
        columns = ("item", "binding", "stage_select", "stage_counts")
        stated: dict[str, Any] = {"rule": scheme.to_dict()}
        return Task(samplers, scheme, procedure, "composite", COMPOSITE, stated, columns)
    samplers = [sampler_of(model, scheme)]
    return Task(samplers, scheme, procedure, scheme.name, scheme.scope, scheme.parameters)


def further(certificate: composite.CompositeCertificate) -> dict[str, str]:
    """The further columns of a composite's row."""
    counts = ("*" if c is None else sparse_counts(c) for c in certificate.stage_counts)
    return {
        "item": str(certificate.item),
        "binding": certificate.binding,
        "stage_select": ";".join(map(sparse_counts, certificate.stage_select)),
        "stage_counts": ";".join(counts),
    }
