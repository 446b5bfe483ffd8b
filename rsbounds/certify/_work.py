"""What is done to each input of a data set, and who does it.

A task is one scheme, or a decision list over several levels. This process carries it
out, or workers elsewhere that hold one of these each.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rsbounds import composite
from rsbounds._numerics.threads import processor
from rsbounds.certificate import COMPOSITE, Certificate
from rsbounds.certify._counts import class_counts
from rsbounds.certify._input import certify_input, level, sampler_of
from rsbounds.loading import Data, as_data, guarded, prefetched
from rsbounds.procedure import Procedure
from rsbounds.results import Row, sparse_counts
from rsbounds.sampling import Phase, Sampler, as_sampler, stream
from rsbounds.schemes import Scheme

Counts = Sequence[int]
Certified = tuple[Certificate, Mapping[str, str]]  # with the row's further columns

#: Makes a worker's model, data and scheme where the worker is.
Build = Callable[[], tuple[Any, Any, Any]]


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
        """The certificate, and the row's further columns; ``label`` is for answers
        about it.
        """
        if isinstance(self.scheme, Scheme):
            return certify_input(
                self.samplers[0], x, self.scheme, self.procedure, index
            ), {}
        numbers = {
            name: getattr(self.procedure, name) for name in ("n0", "n", "alpha", "seed")
        }
        certificate = composite.certify(
            self.samplers, x, self.scheme, index=index, **numbers
        )
        return certificate, further(certificate)

    def _level(self, x: Any) -> float:
        return (
            level(self.scheme, x)
            if isinstance(self.scheme, Scheme)
            else self.scheme.sigmas[0]
        )

    def _counts(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> Counts:
        return [int(c) for c in class_counts(self.samplers[0](x, sigma, n, generator))]


@runtime_checkable
class Question(Protocol):
    """What may stand in place of a scheme: it makes the task of its inputs itself."""

    def task(self, model: Any, procedure: Procedure) -> Task: ...


def task(
    model: Any, scheme: Scheme | composite.Rule | Question, procedure: Procedure
) -> Task:
    """The task of a scheme with one model, or of a rule with one or an expert for each
    level.
    """
    if isinstance(scheme, Question):
        return scheme.task(model, procedure)
    if isinstance(scheme, composite.Rule):
        if procedure != Procedure(
            procedure.n0, procedure.n, procedure.alpha, procedure.seed
        ):
            text = "target_radius, bound and runner_up are not for it"
            raise ValueError(f"a rule has its own bounds: {text}")
        experts = model if isinstance(model, Sequence) else [model]
        samplers = [as_sampler(expert) for expert in experts]
        samplers *= 1 if isinstance(model, Sequence) else len(scheme.sigmas)
        columns = ("item", "binding", "stage_select", "stage_counts")
        stated: dict[str, Any] = {"rule": scheme.to_dict()}
        return Task(
            samplers, scheme, procedure, "composite", COMPOSITE, stated, columns
        )
    samplers = [sampler_of(model, scheme)]
    return Task(
        samplers, scheme, procedure, scheme.name, scheme.scope, scheme.parameters
    )


def further(certificate: composite.CompositeCertificate) -> dict[str, str]:
    """The further columns of a composite's row."""
    counts = ("*" if c is None else sparse_counts(c) for c in certificate.stage_counts)
    return {
        "item": str(certificate.item),
        "binding": certificate.binding,
        "stage_select": ";".join(map(sparse_counts, certificate.stage_select)),
        "stage_counts": ";".join(counts),
    }


@dataclass(frozen=True)
class Outcome:
    """What came of the input at ``index``: its row, or the problem because of which it
    has none.

    ``alone`` has the counts of one sample with hardly any noise, where they were asked
    for.
    """

    index: int
    row: Row | None
    problem: str | None = None
    alone: Counts | None = None


class Work(Protocol):
    """Certifies inputs by their index.

    ``select`` draws the counts that choose the class, which tell one model from
    another; ``outcomes`` gives one for each index, in any order, ``alone()`` being
    whether the next has such counts; ``machines`` are where it is done.
    """

    def select(self, index: int) -> Counts: ...
    def outcomes(
        self, indices: Iterable[int], alone: Callable[[], bool]
    ) -> Iterator[Outcome]: ...
    def machines(self) -> Sequence[Mapping[str, Any]]: ...


class Here:
    """Work done in this process, the next inputs read ahead."""

    def __init__(self, job: Task, source: Data, skip_corrupt: bool) -> None:
        self._job, self._source, self._skip_corrupt = job, source, skip_corrupt

    @classmethod
    def built(
        cls,
        build: Build,
        procedure: Procedure,
        expected: Mapping[str, Any],
        skip_corrupt: bool,
    ) -> Here:
        model, data, scheme = build()
        source = as_data(data)
        job = task(model, scheme, procedure)
        for name, value in facts(job, source).items():
            if value != expected[name]:
                raise ValueError(
                    f"a worker on {platform.node()} must have the same {name} as the process "
                    f"that writes; got {value} in place of {expected[name]}"
                )
        return cls(job, source, skip_corrupt)

    def select(self, index: int) -> Counts:
        drawn = partial(self._job.select, self._source.input(index), index)
        return guarded(f"input {index}", drawn)

    def outcomes(
        self, indices: Iterable[int], alone: Callable[[], bool]
    ) -> Iterator[Outcome]:
        for item in prefetched(self._source, indices, skip_corrupt=self._skip_corrupt):
            if item.x is None:
                yield Outcome(item.index, None, item.problem)
                continue
            name, start = f"input {item.index}", time.perf_counter()
            certify = partial(self._job.certify, item.x, item.index, item.label)
            certificate, extra = guarded(name, certify)
            seconds, digest = time.perf_counter() - start, (item.digest or "-")[:16]
            row = Row.of(
                item.index, item.label, certificate, seconds, input=digest, extra=extra
            )
            wanted = certificate.n and alone()
            counts = guarded(name, partial(self._job.alone, item.x)) if wanted else None
            yield Outcome(item.index, row, alone=counts)

    def several(self, indices: Sequence[int], alone: bool) -> list[Outcome]:
        """What comes of inputs up to the first that fails; if that is the first, its
        error.
        """
        outcomes: list[Outcome] = []
        try:
            for outcome in self.outcomes(indices, lambda: alone):
                outcomes.append(outcome)
        except ValueError:
            if not outcomes:
                raise
        return outcomes

    def machines(self) -> Sequence[Mapping[str, Any]]:
        return [machine()]


def facts(job: Task, source: Data) -> dict[str, str]:
    """What worker and writer must agree on."""
    return {
        "method": json.dumps([job.method, dict(job.parameters)], sort_keys=True),
        "data": json.dumps(dict(source.identity), sort_keys=True),
    }


def machine() -> dict[str, Any]:
    """This machine, as a manifest records it: where PyTorch uses a GPU, with its
    arithmetic.
    """
    entries = {"host": platform.node(), "cpu": processor(), "cores": os.cpu_count()}
    torch = sys.modules.get("torch")  # it isn't loaded for this
    if torch is None:
        return entries
    entries["threads"] = torch.get_num_threads()
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return entries
    cudnn, tf32 = torch.backends.cudnn, torch.backends.cuda.matmul.allow_tf32
    settings = {name: getattr(cudnn, name) for name in ("benchmark", "deterministic")}
    return entries | {
        "gpu": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "cudnn": {"version": cudnn.version(), **settings},
        "tf32": {"matmul": tf32, "cudnn": cudnn.allow_tf32},  # rows depend on it
    }
