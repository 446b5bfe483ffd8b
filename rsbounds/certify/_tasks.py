"""What is done to each input of a data set: one scheme, or a decision list over several levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rsbounds import composite
from rsbounds.certificate import COMPOSITE, Certificate
from rsbounds.certify._input import certify_input, class_counts, level, sampler_of
from rsbounds.procedure import Procedure
from rsbounds.results import sparse_counts
from rsbounds.sampling import Phase, Sampler, as_sampler, stream
from rsbounds.schemes import Scheme

Counts = Sequence[int]
Certified = tuple[Certificate, Mapping[str, str]]  # with the row's further columns


@dataclass(frozen=True)
class SchemeTask:
    """Certifies by one scheme."""

    sampler: Sampler
    scheme: Scheme
    procedure: Procedure
    further: tuple[str, ...] = ()  # columns beyond those of every file

    @property
    def method(self) -> str:
        return self.scheme.name

    @property
    def scope(self) -> str:
        return self.scheme.scope

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.scheme.parameters

    def select(self, x: Any, index: int) -> Counts:
        """The counts that choose the class: they tell one model from another."""
        generator = stream(self.procedure.seed, index, Phase.SELECT)
        return _listed(self.sampler(x, level(self.scheme, x), self.procedure.n0, generator))

    def alone(self, x: Any) -> Counts:
        """Counts of one sample with hardly any noise."""
        sigma = level(self.scheme, x) / 64
        return _listed(self.sampler(x, sigma, 1, stream(0, 0, Phase.SEARCH)))

    def certify(self, x: Any, index: int) -> Certified:
        """The certificate, and the row's further columns."""
        return certify_input(self.sampler, x, self.scheme, self.procedure, index), {}


@dataclass(frozen=True)
class RuleTask:
    """Certifies by a decision list, with one model or an expert for each of its levels."""

    samplers: Sequence[Sampler]
    rule: composite.Rule
    procedure: Procedure
    method: str = "composite"
    scope: str = COMPOSITE
    further: tuple[str, ...] = ("item", "binding", "stage_select", "stage_counts")

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"rule": self.rule.to_dict()}

    def select(self, x: Any, index: int) -> Counts:
        """Those of the first level."""
        generator = stream(self.procedure.seed, index, Phase.SELECT, 0)
        return _listed(self.samplers[0](x, self.rule.sigmas[0], self.procedure.n0, generator))

    def alone(self, x: Any) -> Counts:
        """Counts of one sample with hardly any noise."""
        sigma = min(self.rule.sigmas) / 64
        return _listed(self.samplers[0](x, sigma, 1, stream(0, 0, Phase.SEARCH)))

    def certify(self, x: Any, index: int) -> Certified:
        """The certificate, and the row's further columns."""
        numbers = {name: getattr(self.procedure, name) for name in ("n0", "n", "alpha", "seed")}
        certificate = composite.certify(self.samplers, x, self.rule, index=index, **numbers)
        return certificate, further(certificate)


Task = SchemeTask | RuleTask


def task(model: Any, scheme: Scheme | composite.Rule, procedure: Procedure) -> Task:
    """The task of a scheme with one model, or of a rule with one or an expert for each level."""
    if isinstance(scheme, composite.Rule):
        if procedure != Procedure(procedure.n0, procedure.n, procedure.alpha, procedure.seed):
            raise ValueError(
                "a rule has its own bounds: target_radius, bound and runner_up are not for it"
            )
        if not isinstance(model, Sequence):
            model = [model] * len(scheme.sigmas)
        samplers = {id(expert): as_sampler(expert) for expert in model}
        return RuleTask([samplers[id(expert)] for expert in model], scheme, procedure)
    return SchemeTask(sampler_of(model, scheme), scheme, procedure)


def further(certificate: composite.CompositeCertificate) -> dict[str, str]:
    """The further columns of a composite's row."""
    counts = ("*" if c is None else sparse_counts(c) for c in certificate.stage_counts)
    return {
        "item": str(certificate.item),
        "binding": certificate.binding,
        "stage_select": ";".join(map(sparse_counts, certificate.stage_select)),
        "stage_counts": ";".join(counts),
    }


def _listed(sampled: Any) -> Counts:
    return [int(c) for c in class_counts(sampled)]
