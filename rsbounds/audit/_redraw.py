"""Rows drawn again: what the model samples otherwise than a result file says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rsbounds.audit import _answers
from rsbounds.certify import task
from rsbounds.composite import Rule
from rsbounds.loading import guarded
from rsbounds.results import Manifest, Row, sparse_counts
from rsbounds.sampling import as_sampler
from rsbounds.schemes import METHODS, Scheme


def sampler(model: Any, manifest: Manifest, given: Scheme | None) -> Any:
    """The sampler of a run, or one for each level of its rule; ``given`` is its noise, if given."""
    if "stages" in (manifest.model if isinstance(manifest.model, dict) else {}):
        raise ValueError("counts of a rule on several runs can't be drawn again: draw those")
    if manifest.parameters.get("answer") in ("values", "map"):
        return model
    if isinstance(model, Sequence):
        return [as_sampler(expert) for expert in model]
    ready = as_sampler(model)
    return ready if ready is model or given is None else given.sampler(model)


def differences(samplers: Any, manifest: Manifest, x: Any, row: Row) -> Iterator[str]:
    """The counts of a row that its input doesn't give again."""
    scheme: Any
    if manifest.method == "composite":
        scheme = Rule.from_dict(manifest.parameters["rule"])
    else:
        method = METHODS[manifest.method]
        scheme = method.from_parameters(manifest.parameters, level=lambda _: row.sigma)
        scheme.law = getattr(samplers, "law", "")
        if "answer" in manifest.parameters:
            scheme = _answers.question(manifest, scheme)
    given = x, row.idx, row.label
    draw = partial(task(samplers, scheme, manifest.procedure).certify, *given)
    certificate, drawn = guarded(f"input {row.idx}", draw)
    again = {name: sparse_counts(getattr(certificate, name)) for name in ("select", "counts")}
    if manifest.method == "composite":
        again = {}
        drawn = {name: drawn[name] for name in ("stage_select", "stage_counts")}
    if manifest.parameters.get("answer") == "map":  # without the true maps
        drawn = {name: drawn[name] for name in ("chosen", "hits", "certified")}
    for name, value in {**again, **drawn}.items():
        own = row.extra.get(name, "-") if name in drawn else sparse_counts(getattr(row, name))
        if value != own:
            yield f"{name} is {own:.200}, and drawn again {value:.200}"
            return  # the class is another, and with it all counts
