"""What is done to each input of a data set: one scheme, or a decision list over several levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rsbounds import composite
from rsbounds.certificate import COMPOSITE, Certificate
from rsbounds.certify._input import certify_input, class_counts, level
from rsbounds.procedure import Procedure
from rsbounds.results import sparse_counts
from rsbounds.sampling import Phase, Sampler, as_sampler, stream
from rsbounds.schemes import Scheme

Counts = Sequence[int]
Certified = tuple[Certificate, Mapping[str, str]]  # with the row's further columns


class Task(Protocol):
    """Certifies one input after the other, and says what the manifest must hold of it."""

    @property
    def method(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def further(self) -> tuple[str, ...]:
        """Columns beyond those of every file."""
        ...

    def select(self, x: Any, index: int) -> Counts:
        """The counts that choose the class: they tell one model from another."""
        ...

    def alone(self, x: Any) -> Counts:
        """Counts of one sample with hardly any noise."""
        ...

    def certify(self, x: Any, index: int) -> Certified:
        """The certificate, and the row's further columns."""
        ...


def task(model: Any, scheme: Scheme | composite.Rule, procedure: Procedure) -> Task:
    """The task of a scheme with one model, or of a rule with one or an expert for each level."""
    if isinstance(scheme, composite.Rule):
        plain = Procedure(procedure.n0, procedure.n, procedure.alpha, procedure.seed)
        if procedure != plain:
            raise ValueError(
                "a rule has its own bounds: target_radius, bound and runner_up are not for it"
            )
        several = isinstance(model, Sequence)
        samplers = [as_sampler(m) for m in model] if several else as_sampler(model)
        return _Composite(samplers, scheme, procedure)
    if not isinstance(scheme, Scheme):
        raise ValueError(
            "scheme must be a Scheme or a Rule, such as rsbounds.schemes.gaussian(0.5); got "
            f"{type(scheme).__name__} {scheme!r}"
        )
    ready = as_sampler(model)  # a model that is a sampler already stays what it is
    return _Single(ready if ready is model else scheme.sampler(model), scheme, procedure)


@dataclass(frozen=True)
class _Single:
    sampler: Sampler
    scheme: Scheme
    procedure: Procedure
    further: tuple[str, ...] = ()

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
        generator = stream(self.procedure.seed, index, Phase.SELECT)
        return _listed(self.sampler(x, level(self.scheme, x), self.procedure.n0, generator))

    def alone(self, x: Any) -> Counts:
        sigma = level(self.scheme, x) / 64
        return _listed(self.sampler(x, sigma, 1, stream(0, 0, Phase.SEARCH)))

    def certify(self, x: Any, index: int) -> Certified:
        return certify_input(self.sampler, x, self.scheme, self.procedure, index), {}


@dataclass(frozen=True)
class _Composite:
    samplers: Sampler | Sequence[Sampler]
    rule: composite.Rule
    procedure: Procedure
    method: str = "composite"
    scope: str = COMPOSITE
    further: tuple[str, ...] = ("item", "binding", "stage_select", "stage_counts")

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"rule": self.rule.to_dict()}

    def select(self, x: Any, index: int) -> Counts:
        generator = stream(self.procedure.seed, index, Phase.SELECT, 0)
        return _listed(self._first(x, self.rule.sigmas[0], self.procedure.n0, generator))

    def alone(self, x: Any) -> Counts:
        return _listed(self._first(x, min(self.rule.sigmas) / 64, 1, stream(0, 0, Phase.SEARCH)))

    @property
    def _first(self) -> Sampler:
        return self.samplers if callable(self.samplers) else self.samplers[0]

    def certify(self, x: Any, index: int) -> Certified:
        own = self.procedure
        certificate = composite.certify(
            self.samplers,
            x,
            self.rule,
            n0=own.n0,
            n=own.n,
            alpha=own.alpha,
            seed=own.seed,
            index=index,
        )
        return certificate, further(certificate)


def further(certificate: composite.CompositeCertificate) -> dict[str, str]:
    """The further columns of a composite's row."""
    return {
        "item": str(certificate.item),
        "binding": certificate.binding,
        "stage_select": ";".join(map(sparse_counts, certificate.stage_select)),
        "stage_counts": ";".join(
            "*" if c is None else sparse_counts(c) for c in certificate.stage_counts
        ),
    }


def _listed(sampled: Any) -> Counts:
    return [int(c) for c in class_counts(sampled)]
