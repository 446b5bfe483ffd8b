"""What is done to each input of a data set: one scheme, or a decision list over several levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

from rsbounds import composite
from rsbounds.certificate import COMPOSITE, Certificate
from rsbounds.certify._procedure import BOUND, certify_all, class_counts, level
from rsbounds.certify._sequential import certify_radius
from rsbounds.results import sparse_counts
from rsbounds.sampling import Phase, Sampler, Sharing, as_sampler, stream
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

    def room(self, x: Any) -> int:
        """How many inputs like ``x`` share their forward passes."""
        ...

    def certify(self, xs: Sequence[Any], indices: Sequence[int]) -> list[Found]:
        """For each input the certificate, and the row's further columns."""
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
    known: dict[str, Any] = {"n0": n0, "n": n, "alpha": alpha, "seed": seed}
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
    if not isinstance(scheme, Scheme):
        raise ValueError(
            "scheme must be a Scheme or a Rule, such as rsbounds.schemes.gaussian(0.5); got "
            f"{type(scheme).__name__} {scheme!r}"
        )
    sampler = as_sampler(model)
    if scheme.sampler is not None and sampler is not model:
        sampler = scheme.sampler(model)
    known["runner_up"] = runner_up
    if target_radius is not None:
        alone = partial(certify_radius, target=target_radius, **known)
        return _Single(sampler, scheme, partial(_in_turn, alone), n0, seed)
    return _Single(sampler, scheme, partial(certify_all, bound=bound, **known), n0, seed, n0 + n)


def _in_turn(
    alone: Callable[..., Certificate],
    sampler: Sampler,
    xs: Sequence[Any],
    scheme: Scheme,
    indices: Sequence[int],
) -> list[Certificate]:
    return [alone(sampler, x, scheme, index=i) for x, i in zip(xs, indices, strict=True)]


@dataclass(frozen=True)
class _Single:
    sampler: Sampler
    scheme: Scheme
    procedure: Callable[..., list[Certificate]]
    n0: int
    seed: int
    samples: int | None = None  # of each input, where their number is known
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
        return _whole(self.sampler(x, level(self.scheme, x), self.n0, generator))

    def alone(self, x: Any) -> Counts:
        sigma = level(self.scheme, x) / 64
        return _whole(self.sampler(x, sigma, 1, stream(0, 0, Phase.SEARCH)))

    @cached_property
    def _sharing(self) -> Sharing | None:
        return self.sampler if isinstance(self.sampler, Sharing) else None

    def room(self, x: Any) -> int:
        if self.samples is None or self._sharing is None:
            return 1
        return self._sharing.room(x, self.samples)

    def certify(self, xs: Sequence[Any], indices: Sequence[int]) -> list[Found]:
        found = self.procedure(self.sampler, xs, self.scheme, indices=indices)
        return [(certificate, {}) for certificate in found]


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
        generator = stream(self.known["seed"], index, Phase.SELECT, 0)
        return _whole(self._first(x, self.rule.sigmas[0], self.known["n0"], generator))

    def alone(self, x: Any) -> Counts:
        return _whole(self._first(x, min(self.rule.sigmas) / 64, 1, stream(0, 0, Phase.SEARCH)))

    @property
    def _first(self) -> Sampler:
        return self.samplers if callable(self.samplers) else self.samplers[0]

    def room(self, x: Any) -> int:
        return 1

    def certify(self, xs: Sequence[Any], indices: Sequence[int]) -> list[Found]:
        found = [
            composite.certify(self.samplers, x, self.rule, index=i, **self.known)
            for x, i in zip(xs, indices, strict=True)
        ]
        return [(certificate, further(certificate)) for certificate in found]


def further(found: composite.CompositeCertificate) -> dict[str, str]:
    """The further columns of a composite's row."""
    return {
        "item": str(found.item),
        "binding": found.binding,
        "stage_select": ";".join(map(sparse_counts, found.stage_select)),
        "stage_counts": ";".join(
            "*" if c is None else sparse_counts(c) for c in found.stage_counts
        ),
    }


def _whole(sampled: Any) -> Counts:
    return [int(c) for c in class_counts(sampled)]
