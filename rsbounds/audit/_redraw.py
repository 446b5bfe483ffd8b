"""Rows drawn again: what the model samples otherwise than a result file says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rsbounds import composite
from rsbounds.certify import certify_input, further
from rsbounds.loading import guarded
from rsbounds.results import Manifest, Row, sparse_counts
from rsbounds.sampling import as_sampler
from rsbounds.schemes import METHODS, Scheme


def sampler(model: Any, manifest: Manifest, given: Scheme | None) -> Any:
    """The sampler of a run, or one for each level of its rule; ``given`` is its noise, if given."""
    if "stages" in (manifest.model if isinstance(manifest.model, dict) else {}):
        raise ValueError("counts of a rule on several runs can't be drawn again: draw those")
    if isinstance(model, Sequence):
        return [as_sampler(expert) for expert in model]
    ready = as_sampler(model)
    return ready if ready is model or given is None else given.sampler(model)


def differences(samplers: Any, manifest: Manifest, x: Any, row: Row) -> Iterator[str]:
    """The counts of a row that its input doesn't give again."""
    own, where = manifest.procedure, f"input {row.idx}"
    if manifest.method == "composite":
        rule = composite.Rule.from_dict(manifest.parameters["rule"])
        numbers: dict[str, Any] = {k: getattr(own, k) for k in ("n0", "n", "alpha", "seed")}
        draw = partial(composite.certify, samplers, x, rule, **numbers, index=row.idx)
        drawn = further(guarded(where, draw))
        stated = {name: row.extra.get(name, "-") for name in ("stage_select", "stage_counts")}
    else:
        method = METHODS[manifest.method]
        scheme = method.from_parameters(manifest.parameters, level=lambda _: row.sigma)
        scheme.law = getattr(samplers, "law", "")
        again = guarded(where, partial(certify_input, samplers, x, scheme, own, row.idx))
        drawn = {name: sparse_counts(getattr(again, name)) for name in ("select", "counts")}
        stated = {name: sparse_counts(getattr(row, name)) for name in drawn}
    for name, counts in stated.items():
        if drawn[name] != counts:
            yield f"{name} is {counts}, and drawn again {drawn[name]}"
            return  # the class is another, and with it all counts
