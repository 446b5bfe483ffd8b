"""A result file against itself and, as far as they are given, its data, its noise and
its model.
"""

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from rsbounds._numerics.checks import count
from rsbounds._numerics.extras import need
from rsbounds._numerics.threads import cores
from rsbounds.audit import _given, _rows
from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.audit._given import Numbered
from rsbounds.audit._radii import COVERED
from rsbounds.certificate import ASSERTED_ENVELOPE, MEMORY, SCOPES, THIS_INPUT
from rsbounds.certify import Progress
from rsbounds.composite import Rule
from rsbounds.loading import CorruptInput, as_data
from rsbounds.results import Manifest, Row, read_rows, some, sparse_counts
from rsbounds.schemes import METHODS, Scheme

_MOST_SAMPLES = 10**9  # a bound of more takes minutes to prove
_WEAKER = (
    ASSERTED_ENVELOPE,
    MEMORY,
    THIS_INPUT,
)  # what any method's own scope may be cut to


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

    Bounds and radii are proved from the counts and the manifest in ball arithmetic: a
    row without a finding is right, whatever wrote it, if its counts and noise level
    are.

    Parameters
    ----------
    path : path-like
        The result file; its manifest lies beside it.
    data : optional
        As :func:`rsbounds.loading.as_data` takes them: compared with labels, hashes and
        what the manifest says of them, and noise levels with the bound of sigma(x).
    model : optional
        The model, as :func:`rsbounds.certify_dataset` takes it, for ``rerun``.
    scheme : Scheme, optional
        The noise: its sigma(x) is compared at every input, its parameters with the
        manifest's.
    describe : mapping, optional
        What a manifest says of ``model``: the ``describe`` of
        :func:`rsbounds.loading.load_model`.
    rerun, sample : int
        Draw again, and prove, only so many rows, chosen at random; by default none, and
        all.
    jobs : int
        Processes that prove, >= 1; no more than there are cores.
    seed : int, optional
        Chooses the rows of ``rerun`` and ``sample``; by default the operating system
        does, so that nobody who writes a file knows them.

    Raises
    ------
    ValueError
        If the file or its manifest is damaged, is of a method that nothing here can
        prove, or doesn't go with the scheme, or if an argument is out of its domain.
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
    need("flint", "an audit")
    path, jobs, rerun = Path(path), count("jobs", jobs, 1), count("rerun", rerun)
    if (rerun > 0) != (model is not None) or (
        data is None and (scheme or model) is not None
    ):
        raise ValueError("rerun and model go together, and they and scheme need data")
    manifest = Manifest.read(path)
    _check(manifest, path)
    if manifest.method not in (*COVERED, "composite"):
        text = f"is of method {manifest.method!r}, which nothing here can prove"
        raise ValueError(f"{path} {text}: it can't be verified")
    rows = list(enumerate(read_rows(path) if path.stat().st_size else [], start=2))
    seed = secrets.randbits(63) if seed is None else count("seed", seed)
    random, chosen = Random(seed), rows
    if sample is not None and count("sample", sample, 1) < len(rows):
        chosen = random.sample(rows, sample)
    findings = [*_structure(rows, manifest)]
    missing = manifest.places({row.idx for _, row in rows})[0]
    if missing or not rows:
        text = (
            f"{len(rows)} of {len(rows) + len(missing)} rows: {some(missing)} missing"
        )
        findings.append(Finding(Kind.ROWS, None, text if rows else "has no rows"))
    findings += _given.refuted(rows, manifest)
    findings += _judged(chosen, manifest, jobs)
    as_seen, inside = False, list[Numbered]()
    if data is not None:
        if scheme is not None:
            _given.check_noise(scheme, manifest, path)
        of_model = manifest.model if isinstance(manifest.model, dict) else {}
        source = as_data(data, labels=of_model.get("labels"))
        # without a model, pictures may not be resized as it sees them
        as_seen = model is not None or "preprocessing" not in source.identity
        own = {
            k: v for k, v in manifest.data.items() if as_seen or k != "preprocessing"
        }
        findings += _given.identity(Kind.DATA, own, source.identity)
        if describe is not None and isinstance(manifest.model, dict):
            findings += _given.identity(Kind.MODEL, manifest.model, describe)
        findings += _given.left_out(manifest, source)
        for line, row in rows:
            try:
                findings += _given.at_input(
                    (line, row), manifest, source, scheme, as_seen
                )
                inside.append((line, row))
            except (CorruptInput, IndexError) as error:
                findings.append(Finding(Kind.DATA, row.idx, str(error), line))
        if as_seen:
            findings += _given.refuted(
                inside, manifest, lambda index: source.item(index).x
            )
        wrong = {found.line for found in findings if found.kind == Kind.CONTRADICTION}
        inside = [
            each for each in inside if each[0] not in wrong
        ]  # it may ask for any number
        inside = random.sample(inside, min(rerun, len(inside)))
        if inside:
            findings += _given.redrawn(inside, manifest, source, model, scheme)
    findings.sort(key=lambda found: (found.line is None, found.line or 0))
    stated = _given.unshown(manifest, scheme, as_seen=as_seen, redrawn=bool(inside))
    corrupt = tuple(sorted(manifest.corrupt()))
    return Audit(
        tuple(findings), stated, len(rows), len(chosen), len(inside), corrupt, seed
    )


def _check(manifest: Manifest, path: Path) -> None:
    """ValueError unless the manifest has what rows are judged by."""
    try:
        if method := METHODS.get(manifest.method):
            method.check(manifest.parameters)
            lacks = (
                method.domains.keys() & {"slack", "shift"}
            ) - manifest.parameters.keys()
            for name in ("n", "n0"):
                if (samples := getattr(manifest.procedure, name)) > _MOST_SAMPLES:
                    raise ValueError(
                        f"{name} must be at most {_MOST_SAMPLES}; got {samples}"
                    )
            if manifest.engine.get("sound_noise") and not method.sound and lacks:
                raise ValueError(f"engine.sound_noise needs parameters.{min(lacks)}")
        if manifest.method == "composite":
            Rule.from_dict(manifest.parameters.get("rule", {}))
    except ValueError as error:
        raise ValueError(f"the manifest of {path} is damaged: {error}") from None


def contradictions(
    path: Path, manifest: Manifest, rows: Sequence[Row]
) -> Iterator[Finding]:
    """What rows of a file contradict of their manifest and of themselves; nothing is
    proved.

    Rows that are missing are no contradiction; a damaged manifest is a ValueError.
    """
    _check(manifest, path)
    numbered = list(enumerate(rows, start=2))
    yield from _structure(numbered, manifest)
    for each in numbered:
        yield from _rows.judged(manifest, each, prove=False)


def _structure(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Rows that are twice there or of no input of the run; a probe or a scope of
    another run.
    """
    method, scope, whole = METHODS.get(manifest.method), manifest.scope, list[str]()
    if method and (scope not in SCOPES or scope not in (method.scope, *_WEAKER)):
        whole.append(f"scope is {scope!r}, which no scheme of method {method.name} has")
    stated, own = manifest.run.get("commitment"), manifest.commitment().encode()
    if stated is not None and stated != (now := hashlib.sha256(own).hexdigest()):
        text = f"is not the run that was committed as {stated!r:.80}: its manifest gives {now}"
        whole.append(text)
    if manifest.fitted_on_itself():
        whole.append(
            "the rule was fitted to the rows that it certifies: its level does not hold"
        )
    yield from (Finding(Kind.CONTRADICTION, None, text) for text in whole)
    strangers, seen = set(manifest.places({row.idx for _, row in rows})[1]), set[int]()
    accepted = any("changes" in step for step in manifest.history)
    for line, row in rows:
        if row.idx in seen:
            yield Finding(Kind.ROWS, row.idx, "appears twice", line)
        seen.add(row.idx)
        if row.idx in strangers or 0 <= manifest.data.get("max", -1) <= row.idx:
            yield Finding(
                Kind.ROWS, row.idx, "is not one of the inputs the manifest names", line
            )
        probe = manifest.probe.get(str(row.idx))
        if manifest.parameters.get("answer") in (
            "values",
            "map",
        ):  # their rows hold no such counts
            continue
        select = row.extra.get("stage_select", sparse_counts(row.select)).split(";")[0]
        if probe not in (None, select) and not accepted:
            text = f"select is {select}, and {probe!r:.60} in the manifest's probe"
            yield Finding(Kind.CONTRADICTION, row.idx, text, line)


def _judged(
    rows: Sequence[Numbered], manifest: Manifest, jobs: int
) -> Iterator[Finding]:
    judge, workers = partial(_rows.judged, manifest), min(jobs, cores(), len(rows))
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        judged = (
            map(judge, rows) if pool is None else pool.map(judge, rows, chunksize=8)
        )
        yield from chain.from_iterable(Progress(len(rows), "row").over(judged))
