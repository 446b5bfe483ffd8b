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


class Redraw:
    """Draws rows of one run again.

    ``given`` is the noise that was given, ``model`` a model, a sampler or, for a decision list, one
    of them for each level.

    Raises
    ------
    ValueError
        For rows whose counts no model draws in one run.
    """

    def __init__(self, model: Any, manifest: Manifest, given: Scheme | None) -> None:
        if "stages" in (manifest.model if isinstance(manifest.model, dict) else {}):
            raise ValueError("counts of a rule on several runs can't be drawn again: draw those")
        self._manifest = manifest
        self._rule: composite.Rule | None = None
        if manifest.method == "composite":
            self._rule = composite.Rule.from_dict(manifest.parameters["rule"])
            several = isinstance(model, Sequence)
            self._sampler: Any = list(map(as_sampler, model)) if several else as_sampler(model)
            return
        ready = as_sampler(model)
        self._sampler = ready if ready is model or given is None else given.sampler(model)

    def __call__(self, x: Any, row: Row) -> Iterator[str]:
        """What is otherwise in a row, at its input."""
        procedure = self._manifest.procedure
        if self._rule is not None:
            numbers = {k: getattr(procedure, k) for k in ("n0", "n", "alpha", "seed")}
            draw = partial(composite.certify, self._sampler, x, self._rule, **numbers)
            again = further(guarded(f"input {row.idx}", partial(draw, index=row.idx)))
            had = {name: row.extra.get(name, "-") for name in ("stage_select", "stage_counts")}
        else:
            scheme = METHODS[self._manifest.method].from_parameters(
                self._manifest.parameters, level=lambda _: row.sigma
            )
            scheme.law = getattr(self._sampler, "law", "")
            drawn = partial(certify_input, self._sampler, x, scheme, procedure, row.idx)
            certificate = guarded(f"input {row.idx}", drawn)
            again = {k: sparse_counts(getattr(certificate, k)) for k in ("select", "counts")}
            had = {k: sparse_counts(getattr(row, k)) for k in ("select", "counts")}
        for name, text in had.items():
            if again[name] != text:
                yield f"{name} is {text}, and drawn again {again[name]}"
                return
