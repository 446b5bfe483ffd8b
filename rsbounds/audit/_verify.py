"""A result file against itself and, as far as they are given, its data, its noise and its model."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from rsbounds._numerics.checks import count
from rsbounds._numerics.threads import cores
from rsbounds.audit import _identity, _levels, _redraw, _rows
from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.audit._levels import Numbered
from rsbounds.audit._radii import COVERED
from rsbounds.certificate import ASSERTED_ENVELOPE, MEMORY, SCOPES, THIS_INPUT
from rsbounds.certify import Progress
from rsbounds.composite import Rule
from rsbounds.loading import CorruptInput, Data, as_data
from rsbounds.loading.rows import Item
from rsbounds.results import Manifest, Row, broken, read_rows, some, sparse_counts
from rsbounds.schemes import METHODS, Scheme

_MOST_SAMPLES = 10**9  # a bound of more takes minutes to prove
_WEAKER = (ASSERTED_ENVELOPE, MEMORY, THIS_INPUT)  # what any method's own scope may be cut to


def verify(
    path: str | os.PathLike[str],
    *,
    data: Any = None,
    model: Any = None,
    scheme: Scheme | None = None,
    describe: Mapping[str, Any] | None = None,
    rerun: int = 0,
    sample: int | None = None,
    jobs: int = 1,
    seed: int | None = None,
) -> Audit:
    """Audit a result file: prove every bound and radius, and compare the rest.

    Bounds and radii are proved from the counts and the manifest in ball arithmetic: a row without
    a finding is right, whatever wrote it, if its counts and noise level are. With ``data``, labels,
    hashes and what the manifest says of the data are compared, and noise levels that refute the
    bound of sigma(x) are found; with ``scheme``, levels that aren't its own; with ``model``, rows
    that it doesn't draw again; with ``describe``, what the manifest says of another model.

    Parameters
    ----------
    path : path-like
        The result file; its manifest lies beside it.
    data : optional
        The data, as :func:`rsbounds.loading.as_data` takes them.
    model : optional
        The model, as :func:`rsbounds.certify_dataset` takes it, for ``rerun``.
    scheme : Scheme, optional
        The noise: its sigma(x) is compared at every input, its parameters with the manifest's.
    describe : mapping, optional
        What a manifest says of ``model``: the ``describe`` of :func:`rsbounds.loading.load_model`.
    rerun : int
        Draw so many rows again, chosen at random.
    sample : int, optional
        Prove only so many rows, chosen at random.
    jobs : int
        Processes that prove, >= 1; no more than there are cores.
    seed : int, optional
        Chooses the rows of ``rerun`` and ``sample``; by default the operating system does, so that
        nobody who writes a file knows them.

    Returns
    -------
    Audit

    Raises
    ------
    ValueError
        If the file or its manifest is damaged, is of a method that nothing here can prove, or
        doesn't go with the scheme, or if an argument is out of its domain.
    OSError
        If a file can't be read.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from rsbounds import certify_dataset, schemes
    >>> from rsbounds.audit import verify
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.tsv"
    >>> x, y = np.array([[0.5, 0.0], [0.0, 0.9]], np.float32), np.array([0, 1])
    >>> options = {"n": 1000, "out": path}
    >>> _ = certify_dataset(lambda batch: batch, (x, y), schemes.gaussian(0.25), **options)
    >>> verify(path, data=(x, y)).findings
    ()
    """
    try:
        import flint  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "an audit needs python-flint; install it with: pip install python-flint"
        ) from None
    path, jobs, rerun = Path(path), count("jobs", jobs, 1), count("rerun", rerun)
    if (rerun > 0) != (model is not None) or (data is None and (scheme or model) is not None):
        raise ValueError("rerun and model go together, and they and scheme need data")
    manifest = Manifest.read(path)
    _check(manifest, path)
    if manifest.method not in (*COVERED, "composite"):
        raise ValueError(
            f"{path} is of method {manifest.method!r}, which nothing here can prove: it "
            "can't be verified"
        )
    rows = list(enumerate(read_rows(path) if path.stat().st_size else [], start=2))
    seed = secrets.randbits(63) if seed is None else count("seed", seed)
    random, chosen = Random(seed), rows
    if sample is not None and count("sample", sample, 1) < len(rows):
        chosen = random.sample(rows, sample)
    findings = [*_structure(rows, manifest), *_missing(rows, manifest)]
    findings += _levels.refuted(rows, manifest)
    findings += _judged(chosen, manifest, jobs)
    as_seen, drawn = False, 0
    if data is not None:
        if scheme is not None:
            _levels.check_given(scheme, manifest, path)
        source = as_data(data)
        # without a model, pictures may not be resized as it sees them
        as_seen = model is not None or "preprocessing" not in source.identity
        own = dict(manifest.data)
        if not as_seen:
            own.pop("preprocessing", None)
        findings += _identity.differences(Kind.DATA, "data", own, source.identity)
        if describe is not None and isinstance(manifest.model, dict):
            findings += _identity.differences(Kind.MODEL, "model", manifest.model, describe)
        inside = _compared(rows, manifest, source, scheme, as_seen, findings)
        wrong = {found.line for found in findings if found.kind == Kind.CONTRADICTION}
        inside = [each for each in inside if each[0] not in wrong]  # it may ask for any number
        redrawn = random.sample(inside, min(rerun, len(inside)))
        if drawn := len(redrawn):
            findings += _redrawn(redrawn, manifest, source, model, scheme)
    findings.sort(key=lambda found: (found.line is None, found.line or 0))
    stated = _levels.stated(manifest, scheme, as_seen=as_seen, redrawn=drawn > 0)
    corrupt = tuple(sorted(manifest.corrupt()))
    return Audit(tuple(findings), stated, len(rows), len(chosen), drawn, corrupt, seed)


def _check(manifest: Manifest, path: Path) -> None:
    """ValueError unless the manifest has what rows are judged by."""
    try:
        if manifest.method in METHODS:
            method = METHODS[manifest.method]
            method.check(manifest.parameters)
            lacks = (method.domains.keys() & {"slack", "shift"}) - manifest.parameters.keys()
            for name in ("n", "n0"):
                if (samples := getattr(manifest.procedure, name)) > _MOST_SAMPLES:
                    raise ValueError(f"{name} must be at most {_MOST_SAMPLES}; got {samples}")
            if manifest.engine.get("sound_noise") and not method.sound and lacks:
                raise ValueError(f"engine.sound_noise needs parameters.{min(lacks)}")
        if manifest.method == "composite":
            Rule.from_dict(manifest.parameters.get("rule", {}))
    except ValueError as error:
        raise ValueError(f"the manifest of {path} is damaged: {error}") from None


def contradictions(path: Path, manifest: Manifest, rows: Sequence[Row]) -> Iterator[Finding]:
    """What rows of a file contradict of their manifest and of themselves; nothing is proved.

    For commands that compute with rows before anybody audits them. Rows that are missing are no
    contradiction; a damaged manifest is a ValueError.
    """
    _check(manifest, path)
    numbered = list(enumerate(rows, start=2))
    yield from _structure(numbered, manifest)
    for each in numbered:
        yield from _rows.judged(manifest, each, prove=False)


def _structure(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Rows that are twice there or of no input of the run; a probe or a scope of another run."""
    method, scope = METHODS.get(manifest.method), manifest.scope
    if method and (scope not in SCOPES or scope not in (method.scope, *_WEAKER)):
        text = f"scope is {scope!r}, which no scheme of method {method.name} has"
        yield Finding(Kind.CONTRADICTION, None, text)
    yield from (Finding(Kind.CONTRADICTION, None, text) for text in broken(manifest))
    steps = manifest.history
    fitted = {file for step in steps for file in step.get("fitted", ())}
    if fitted & {step.get("sha256") for step in steps}:
        text = "the rule was fitted to the rows that it certifies: its level does not hold"
        yield Finding(Kind.CONTRADICTION, None, text)
    strangers, seen = set(manifest.places({row.idx for _, row in rows})[1]), set[int]()
    accepted = any("changes" in step for step in steps)
    for line, row in rows:
        if row.idx in seen:
            yield Finding(Kind.ROWS, row.idx, "appears twice", line)
        seen.add(row.idx)
        if row.idx in strangers or 0 <= manifest.data.get("max", -1) <= row.idx:
            text = "is not one of the inputs the manifest names"
            yield Finding(Kind.ROWS, row.idx, text, line)
        probe = manifest.probe.get(str(row.idx))
        if manifest.parameters.get("answer") in ("values", "map"):  # their rows hold no such counts
            continue
        select = row.extra.get("stage_select", sparse_counts(row.select)).split(";")[0]
        if probe is not None and probe != select and not accepted:
            text = f"select is {select}, and {probe!r:.60} in the manifest's probe"
            yield Finding(Kind.CONTRADICTION, row.idx, text, line)


def _missing(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    missing = manifest.places({row.idx for _, row in rows})[0]
    if not rows:
        yield Finding(Kind.ROWS, None, "has no rows")
    elif missing:
        text = f"{len(rows)} of {len(rows) + len(missing)} rows: {some(missing)} missing"
        yield Finding(Kind.ROWS, None, text)


def _judged(rows: Sequence[Numbered], manifest: Manifest, jobs: int) -> Iterator[Finding]:
    """Each row computed again and proved."""
    progress, judge = Progress(len(rows), "row"), partial(_rows.judged, manifest)
    workers = min(jobs, cores(), len(rows))
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        found = map(judge, rows) if pool is None else pool.map(judge, rows, chunksize=8)
        for findings in progress.over(found):
            yield from findings


def _compared(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    scheme: Scheme | None,
    as_seen: bool,
    findings: list[Finding],
) -> list[Numbered]:
    """Compare labels, hashes and levels with the data; the rows whose inputs are there."""
    findings += _left_out(manifest, data)
    inside = []
    for line, row in rows:
        try:
            found = list(_at_input(row, data.item(row.idx), manifest, scheme, as_seen))
        except (CorruptInput, IndexError) as error:
            found = [(Kind.DATA, str(error))]
        else:
            inside.append((line, row))
        findings += (Finding(kind, row.idx, text, line) for kind, text in found)
    if as_seen:
        findings += _levels.refuted(inside, manifest, lambda index: data.item(index).x)
    return inside


def _at_input(
    row: Row, item: Item, manifest: Manifest, scheme: Scheme | None, as_seen: bool
) -> Iterator[tuple[Kind, str]]:
    """What contradicts one input of the data."""
    for name, value in (("label", item.label), ("input", (item.digest or "-")[:16])):
        if (own := getattr(row, name)) != value:
            yield Kind.DATA, f"{name} is {own}, {value} in the data"
    if item.x is None:
        return
    if scheme is not None:
        yield from _levels.at_input(scheme, row, item.x)
    dim = manifest.parameters.get("dim", inf)
    if as_seen and "dim" in METHODS[manifest.method].domains and item.x.size > dim:
        yield Kind.DATA, f"has {item.x.size} numbers, dim is {dim} in the manifest"


def _left_out(manifest: Manifest, data: Data) -> Iterator[Finding]:
    """Inputs of the data that the run leaves out and should not."""
    inputs, skip = manifest.data["inputs"], int(manifest.data.get("skip", 1))
    start, top = (int(manifest.data.get(*own)) for own in (("start", 0), ("max", -1)))
    selected = len(range(start, len(data) if top < 0 else min(top, len(data)), skip))
    if inputs < selected:
        text = f"is left out: the manifest names {inputs} inputs, {selected} are in the data"
        yield Finding(Kind.DATA, start + inputs * skip, text)
    for index in sorted(manifest.corrupt()):
        with suppress(CorruptInput, IndexError):
            data.item(index)
            text = "is left out as corrupt, but can be decoded"
            yield Finding(Kind.DATA, index, text)


def _redrawn(
    rows: Sequence[Numbered], manifest: Manifest, data: Data, model: Any, scheme: Scheme | None
) -> Iterator[Finding]:
    """Rows whose counts the model doesn't draw again."""
    samplers = _redraw.sampler(model, manifest, scheme)
    for line, row in rows:
        for text in _redraw.differences(samplers, manifest, data.input(row.idx), row):
            yield Finding(Kind.COUNTS, row.idx, text, line)
