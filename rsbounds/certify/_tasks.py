"""What is done to each input of a data set: one scheme, or a decision list over several levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rsbounds import composite
from rsbounds.certificate import COMPOSITE, Certificate
from rsbounds.certify._procedure import BOUND, certify, class_counts
from rsbounds.certify._sequential import certify_radius
from rsbounds.results import sparse_counts as sparse
from rsbounds.sampling import Phase, Sampler, as_sampler, stream
from rsbounds.schemes import Scheme

Counts = Sequence[int]
Found = tuple[Certificate, Mapping[str, str]]


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

    def certify(self, x: Any, index: int) -> Found:
        """The certificate, and the row's further columns."""
        ...


def task(
    model: Any,
    scheme: Scheme | composite.Rule,
    *,
    n0: int,
    n: int,
    alpha: float,
    seed: int,
    bound: str,
    runner_up: bool,
    target_radius: float | None,
) -> Task:
    """The task of a scheme with one model, or of a rule with one or an expert for each level."""
    known = {"n0": n0, "n": n, "alpha": alpha, "seed": seed}
    if isinstance(scheme, composite.Rule):
        if target_radius is not None or bound != BOUND or not runner_up:
            raise ValueError(
                "a rule has its own bounds: target_radius, bound and runner_up are not for it"
            )
        if scheme.values:
            raise ValueError(
                "a rule with conditions of kind 'value' needs values that no model gives: use "
                "rsbounds.composite.certify"
            )
        several = isinstance(model, Sequence)
        samplers = [as_sampler(m) for m in model] if several else as_sampler(model)
        return _Composite(samplers, scheme, known)
    sampler = as_sampler(model)
    if scheme.sampler is not None and sampler is not model:
        sampler = scheme.sampler(model)
    if target_radius is not None:
        procedure: Callable[..., Certificate] = partial(certify_radius, target=target_radius)
    else:
        procedure = partial(certify, bound=bound)
    return _Single(sampler, scheme, partial(procedure, runner_up=runner_up, **known), n0, seed)


@dataclass(frozen=True)
class _Single:
    sampler: Sampler
    scheme: Scheme
    procedure: Callable[..., Certificate]
    n0: int
    seed: int
    further: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        return self.scheme.method

    @property
    def scope(self) -> str:
        return self.scheme.scope

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.scheme.parameters

    def select(self, x: Any, index: int) -> Counts:
        generator = stream(self.seed, index, Phase.SELECT)
        return _whole(self.sampler(x, self.scheme.sigma(x), self.n0, generator))

    def alone(self, x: Any) -> Counts:
        return _whole(self.sampler(x, self.scheme.sigma(x) / 64, 1, stream(0, 0, Phase.SEARCH)))

    def certify(self, x: Any, index: int) -> Found:
        return self.procedure(self.sampler, x, self.scheme, index=index), {}


@dataclass(frozen=True)
class _Composite:
    samplers: Sampler | Sequence[Sampler]
    rule: composite.Rule
    known: Mapping[str, Any]
    method: str = "composite"
    scope: str = COMPOSITE
    further: tuple[str, ...] = ("item", "binding", "stage_select", "stage_counts")

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"rule": self.rule.to_dict()}

    def select(self, x: Any, index: int) -> Counts:
        generator = composite.stage_stream(self.known["seed"], index, Phase.SELECT, 0)
        return _whole(self._first(x, self.rule.sigmas[0], self.known["n0"], generator))

    def alone(self, x: Any) -> Counts:
        return _whole(self._first(x, min(self.rule.sigmas) / 64, 1, stream(0, 0, Phase.SEARCH)))

    @property
    def _first(self) -> Sampler:
        return self.samplers if callable(self.samplers) else self.samplers[0]

    def certify(self, x: Any, index: int) -> Found:
        found = composite.certify(self.samplers, x, self.rule, index=index, **self.known)
        return found, further(found)


def further(found: composite.CompositeCertificate) -> dict[str, str]:
    """The further columns of a composite's row."""
    return {
        "item": str(found.item),
        "binding": found.binding,
        "stage_select": ";".join(map(sparse, found.stage_select)),
        "stage_counts": ";".join("*" if c is None else sparse(c) for c in found.stage_counts),
    }


def _whole(sampled: Any) -> Counts:
    return [int(c) for c in class_counts(sampled)]
