"""Rows drawn again: what the model samples otherwise than a result file says."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from rsbounds import composite
from rsbounds.certify import class_counts, further, step
from rsbounds.cli import _build, _engine
from rsbounds.loading import Data, Loaded, guarded
from rsbounds.results import Manifest, Row, sparse_counts
from rsbounds.sampling import Phase, Sampler, as_sampler, stream
from rsbounds.schemes import Scheme

#: What is wrong with a row, at its input.
Redraw = Callable[[Any, Row], Iterator[str]]


def redraw(
    args: argparse.Namespace,
    loaded: Loaded,
    data: Data,
    manifest: Manifest,
    sigma: float,
    scheme: Scheme | None,
) -> Redraw:
    """How rows of this run are drawn again.

    ``sigma`` is the level of one of them, ``scheme`` that of what was given of the noise.

    Raises
    ------
    ValueError
        If the command line lacks something that the run had, or has what it did not.
    """
    model = manifest.model if isinstance(manifest.model, Mapping) else {}
    if "stages" in model:
        raise ValueError(
            f"--rerun: {args.file} has no counts that a model draws again: it is a rule's of "
            "several runs (draw those again)"
        )
    for flag, given, had in (
        ("--noise", args.noise, manifest.method in ("anisotropic", "generator")),
        ("--denoiser", args.denoiser, "denoiser" in model),
        ("--model-for", args.model_for, "for" in model),
        # a run from Python says nothing of its sampler
        ("--sound-noise", args.sound_noise, manifest.engine.get("sound_noise", args.sound_noise)),
    ):
        if bool(given) != bool(had):
            raise ValueError(f"--rerun {'needs' if had else 'takes no'} {flag}, as {args.file} had")
    if manifest.method == "composite":
        rule = composite.Rule.from_dict(manifest.parameters["rule"])
        samplers = _build.model(args, _build.classifiers(args, loaded, rule), data, rule)
        return partial(_listed, samplers, rule, manifest)
    (stage,) = _engine.denoised(args, [(loaded, sigma)])
    of = as_sampler if scheme is None else scheme.sampler
    return partial(_row, _engine.sampler(args, stage, data, sigma, of), manifest)


def _row(sampler: Sampler, manifest: Manifest, x: Any, row: Row) -> Iterator[str]:
    seed, index = manifest.procedure.seed, row.idx

    def draw(n: int, generator: np.random.Generator) -> Any:
        call = partial(sampler, x, row.sigma, n, generator)
        return class_counts(guarded(f"input {index}", call))

    select = draw(manifest.procedure.n0, stream(seed, index, Phase.SELECT))
    had, again = sparse_counts(row.select), sparse_counts(select.tolist())
    if again != had:
        yield f"select is {had}, and drawn again {again}"
        return
    generator = stream(seed, index, Phase.ESTIMATE)
    counts = 0 * select
    drawn = 0
    while drawn < row.n:
        more = (
            row.n if manifest.procedure.target_radius is None else min(step(drawn), row.n - drawn)
        )
        counts = counts + draw(more, generator)
        drawn += more
    had, again = sparse_counts(row.counts), sparse_counts(counts.tolist())
    if again != had:
        yield f"counts are {had}, and drawn again {again}"


def _listed(
    samplers: Any, rule: composite.Rule, manifest: Manifest, x: Any, row: Row
) -> Iterator[str]:
    """A decision list's row: the counts of all its stages."""
    known: dict[str, Any] = {
        k: getattr(manifest.procedure, k) for k in ("n0", "n", "alpha", "seed")
    }
    again = partial(composite.certify, samplers, x, rule, index=row.idx, **known)
    drawn = further(guarded(f"input {row.idx}", again))
    for name in ("stage_select", "stage_counts"):
        if drawn[name] != row.extra.get(name):
            yield f"{name} is {row.extra.get(name)}, and drawn again {drawn[name]}"
            return
