"""A result file against itself and, as far as they are given, its data, its noise and its model."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from rsbounds._numerics.checks import choice, count
from rsbounds._numerics.threads import cores
from rsbounds.audit import _levels, _rows
from rsbounds.audit._bounds import BOUNDS
from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.audit._levels import Numbered
from rsbounds.audit._redraw import Redraw
from rsbounds.certificate import ASSERTED_ENVELOPE, MEMORY, SCOPES, THIS_INPUT
from rsbounds.certify import Progress
from rsbounds.composite import Rule
from rsbounds.confidence.counts import MAX_N
from rsbounds.loading import CorruptInput, Data, as_data
from rsbounds.loading.rows import Item
from rsbounds.results import Manifest, Row, read_rows
from rsbounds.schemes import METHODS, Scheme

_WEAKER = (ASSERTED_ENVELOPE, MEMORY, THIS_INPUT)  # what any method's own scope may be cut to


def verify(
    path: str | os.PathLike[str],
    *,
    data: Any = None,
    model: Any = None,
    scheme: Scheme | None = None,
    rerun: int = 0,
    sample: int | None = None,
    jobs: int = 1,
    seed: int | None = None,
) -> Audit:
    """Audit a result file: prove every bound and radius, and compare the rest.

    Bounds and radii are proved from the counts and the manifest in ball arithmetic, so that a row
    without a finding is right whatever wrote it. With ``data``, labels and hashes are compared,
    and noise levels that refute the bound of sigma(x). With ``scheme``, the levels are compared
    with its own. With ``model``, rows drawn again.

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
    import flint  # noqa: F401  (its absence is told before anything is read)

    path = Path(path)
    jobs, rerun = count("jobs", jobs, 1), count("rerun", rerun)
    if sample is not None:
        sample = count("sample", sample, 1)
    if (rerun > 0) != (model is not None) or (data is None and not scheme is model is None):
        raise ValueError("rerun needs a model and data, a model needs rerun, a scheme needs data")
    manifest = Manifest.read(path)
    _check(manifest, path)
    rows = list(enumerate(read_rows(path) if path.stat().st_size else [], start=2))
    seed = secrets.randbits(63) if seed is None else count("seed", seed)
    random = Random(seed)
    findings = [*_structure(rows, manifest), *_levels.refuted(rows, manifest)]
    chosen = rows if sample is None else random.sample(rows, min(sample, len(rows)))
    findings += _judged(chosen, manifest, jobs)
    result = _Compared([], _levels.stated(manifest, None, as_seen=False), 0)
    if data is not None:
        if scheme is not None:
            _levels.check_given(scheme, manifest, path)
        with as_data(data) as source:
            result = _compared(rows, manifest, source, scheme, model, rerun, random)
    findings += result.findings
    findings.sort(key=lambda found: (found.line is None, found.line or 0))
    corrupt = tuple(sorted(manifest.corrupt()))
    numbers = len(rows), len(chosen), result.drawn
    return Audit(tuple(findings), result.stated, *numbers, corrupt, seed)


def _check(manifest: Manifest, path: Path) -> None:
    """ValueError unless the manifest has what rows are judged by."""
    if manifest.method not in METHODS:
        raise ValueError(
            f"{path} is of method {manifest.method!r}, which rsbounds can't prove: nothing in it "
            "can be verified"
        )
    method, procedure = METHODS[manifest.method], manifest.procedure
    try:
        method.check(manifest.parameters)
        if manifest.engine.get("sound_noise") and not method.sound:
            for name in ("slack", "shift"):
                if name in method.domains and name not in manifest.parameters:
                    raise ValueError(f"engine.sound_noise needs parameters.{name}; there is none")
        if manifest.method == "composite":
            Rule.from_dict(manifest.parameters.get("rule", {}))
        choice("bound", procedure.bound, tuple(BOUNDS))
        for name in ("n0", "n"):
            if getattr(procedure, name) > MAX_N:
                raise ValueError(f"{name} must be at most {MAX_N:g}")
    except ValueError as error:
        raise ValueError(f"the manifest of {path} is damaged: {error}") from None


def _structure(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Rows that are missing, twice there or of no input of the run; a scope of another method."""
    method, scope = METHODS[manifest.method], manifest.scope
    if scope not in SCOPES or scope not in (method.scope, *_WEAKER):
        text = f"scope is {scope!r}, which no scheme of method {method.name} has"
        yield Finding(Kind.CONTRADICTION, None, text)
    places: set[int] = set()
    missing, outside = manifest.places({row.idx for _, row in rows})
    strangers = set(outside)
    for line, row in rows:
        if row.idx in places:
            yield Finding(Kind.ROWS, row.idx, "appears twice", line)
        places.add(row.idx)
        if row.idx in strangers or 0 <= manifest.data.get("max", -1) <= row.idx:
            text = "is not one of the inputs the manifest names"
            yield Finding(Kind.ROWS, row.idx, text, line)
    if not rows:
        yield Finding(Kind.ROWS, None, "has no rows")
    elif missing:
        first = ", ".join(map(str, missing[:5]))
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        text = f"{len(rows)} of {len(rows) + len(missing)} rows: inputs {first}{more} missing"
        yield Finding(Kind.ROWS, None, text)


def _judged(rows: Sequence[Numbered], manifest: Manifest, jobs: int) -> Iterator[Finding]:
    """Each row computed again and proved."""
    progress, judge = Progress(len(rows), "row"), partial(_row, manifest)
    workers = min(jobs, cores(), len(rows))
    if workers <= 1:
        for found in progress.over(map(judge, rows)):
            yield from found
        return
    with ProcessPoolExecutor(workers) as pool:
        for found in progress.over(pool.map(judge, rows, chunksize=8)):
            yield from found


def _row(manifest: Manifest, numbered: Numbered) -> list[Finding]:
    line, row = numbered
    return [Finding(kind, row.idx, text, line) for kind, text in _rows.findings(row, manifest)]


class _Compared(NamedTuple):
    findings: list[Finding]
    stated: tuple[str, ...]
    drawn: int


def _compared(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    scheme: Scheme | None,
    model: Any,
    rerun: int,
    random: Random,
) -> _Compared:
    """Labels, hashes, levels and, for some rows, counts; and what is left as it is stated."""
    # without a model, pictures may not be resized as it sees them
    as_seen = model is not None or "preprocessing" not in data.identity
    findings = list(_left_out(manifest, data))
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
    chosen = random.sample(inside, min(rerun, len(inside)))
    if chosen:
        redraw = Redraw(model, manifest, scheme)
        for line, row in chosen:
            texts = redraw(data.input(row.idx), row)
            findings += (Finding(Kind.COUNTS, row.idx, text, line) for text in texts)
    return _Compared(findings, _levels.stated(manifest, scheme, as_seen=as_seen), len(chosen))


def _at_input(
    row: Row, item: Item, manifest: Manifest, scheme: Scheme | None, as_seen: bool
) -> Iterator[tuple[Kind, str]]:
    """What contradicts one input of the data."""
    digest = (item.digest or "-")[:16]
    if row.label != item.label:
        yield Kind.DATA, f"label is {row.label}, {item.label} in the data"
    if row.input != digest:
        yield Kind.DATA, f"input is {row.input}, {digest} in the data"
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
    top = int(manifest.data.get("max", -1))
    selected = len(range(0, len(data) if top < 0 else min(top, len(data)), skip))
    if inputs < selected:
        text = f"is left out: the manifest names {inputs} inputs, {selected} are in the data"
        yield Finding(Kind.DATA, inputs * skip, text)
    for index in sorted(manifest.corrupt()):
        with suppress(CorruptInput, IndexError):
            data.item(index)
            text = "is left out as corrupt, but can be decoded"
            yield Finding(Kind.DATA, index, text)
