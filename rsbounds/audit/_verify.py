"""A result file against itself and, as far as they are given, its data, its noise and
its model.
"""

from __future__ import annotations

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
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds._numerics.files import LARGE, content_of
from rsbounds._numerics.progress import Progress
from rsbounds._numerics.threads import cores
from rsbounds.audit import _given, _rows
from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.audit._given import Numbered
from rsbounds.audit._proof import answer_of
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit._whole import (
    check_manifest,
    committed_otherwise,
    missing_rows,
    require_provable,
    structure,
)
from rsbounds.certify._job import source_of
from rsbounds.loading import CorruptInput, Data
from rsbounds.results import (
    Manifest,
    commitment_path,
    manifest_path,
    read_rows,
)
from rsbounds.sampling.margins import Difference
from rsbounds.schemes import Scheme


def verify(
    path: str | os.PathLike[str],
    *,
    data: Any = None,
    model: Any = None,
    scheme: Scheme | None = None,
    describe: Mapping[str, Any] | None = None,
    truth: Any = None,
    rerun: int = 0,
    sample: int | None = None,
    jobs: int = 1,
    seed: int | None = None,
    margin: bool = False,
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
    truth : sequence of arrays, optional
        The true maps, as :class:`rsbounds.answers.Maps` takes them: compared with what
        rows of maps say of them.
    rerun, sample : int
        Draw again, and prove, only so many rows, chosen at random; by default none, and
        all.
    jobs : int
        Processes that prove, >= 1; no more than there are cores.
    seed : int, optional
        Chooses the rows of ``rerun`` and ``sample``; by default the operating system
        does, so that nobody who writes a file knows them.
    margin : bool
        Compare the scores of the rows of ``rerun``, up to 10,000 samples of each, with
        those in float64 and of another batch size. In a file with a margin a vote that
        changes is a finding. Rows whose noise is of the operating system have fresh
        samples compared, and nothing else.

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
    >>> scheme = schemes.gaussian(0.25)
    >>> _ = certify_dataset(lambda batch: batch, (x, y), scheme, n=1000, out=path)
    >>> verify(path, data=(x, y)).findings
    ()
    """
    need("flint", "an audit")
    path = Path(path)
    before = _digests(path)
    jobs = count("jobs", jobs, 1)
    rerun = count("rerun", rerun)
    _require_together(data=data, model=model, scheme=scheme, rerun=rerun)
    if margin and not rerun:
        raise ArgumentError("margin", "needs rerun, the number of rows it compares")
    manifest = Manifest.read(path)
    check_manifest(manifest, path)
    require_provable(manifest, path)
    repeatable = manifest.procedure.repeats
    if rerun and not margin and not repeatable:
        raise ArgumentError(
            "rerun",
            f"can't draw the rows of {path} again: their noise is of the operating "
            "system, and no seed repeats it",
        )
    rows = list(enumerate(read_rows(path) if path.stat().st_size else [], start=2))
    seed = secrets.randbits(63) if seed is None else count("seed", seed)
    random = Random(seed)
    chosen = rows
    if sample is not None and count("sample", sample, 1) < len(rows):
        chosen = random.sample(rows, sample)
    findings = [*structure(rows, manifest), *missing_rows(rows, manifest)]
    findings += committed_otherwise(path, manifest)
    findings += _given.refuted(rows, manifest)
    if truth is not None:
        findings += PROOFS[manifest.answer["name"]].against(rows, manifest, truth)
    findings += _judged(chosen, manifest, jobs)
    as_seen = False
    redrawn: list[Numbered] = []
    votes: Difference | None = None
    if data is not None:
        if scheme is not None:
            _given.check_noise(scheme, manifest, path)
        labels = _model_of(manifest).get("labels")
        source = source_of(data, answer_of(manifest), labels)
        # without a model, pictures may not be resized as it sees them
        as_seen = model is not None or "preprocessing" not in source.identity
        findings += _stated_otherwise(manifest, source, describe, as_seen)
        findings += _given.left_out(manifest, source)
        inside = []
        for numbered in rows:
            try:
                findings += _given.at_input(numbered, manifest, source, scheme, as_seen)
                inside.append(numbered)
            except (CorruptInput, IndexError) as error:
                line, row = numbered
                findings.append(Finding(Kind.DATA, row.idx, str(error), line))
        if as_seen:
            findings += _given.refuted(
                inside, manifest, lambda index: source.item(index).x
            )
        redrawn = _to_redraw(inside, findings, rerun, random)
        if redrawn:
            if repeatable:
                findings += _given.redrawn(
                    redrawn, manifest, source, model, scheme, truth
                )
            sound = _sound(inside, findings)
            random.shuffle(sound)
            findings += _given.probed_again(sound, manifest, source, model, scheme)
        if redrawn and margin:
            votes = _given.votes_changed(redrawn, manifest, source, model, scheme)
            findings += _changed(votes, manifest)
    if _digests(path) != before:
        text = "was written while it was verified: what is said of it may be of neither"
        findings.append(Finding(Kind.ROWS, None, f"{text} version; verify it again"))
    findings.sort(key=lambda finding: (finding.line is None, finding.line or 0))
    compared = _given.Compared(
        data=data is not None,
        as_seen=as_seen,
        truth=truth is not None,
        redrawn=bool(redrawn) and repeatable,
    )
    return Audit(
        findings=tuple(findings),
        stated=_given.unshown(manifest, scheme, compared),
        rows=len(rows),
        proved=len(chosen),
        drawn=len(redrawn) if repeatable else 0,
        corrupt=tuple(sorted(manifest.corrupt())),
        seed=seed,
        votes=votes,
    )


def _changed(votes: Difference, manifest: Manifest) -> Iterator[Finding]:
    """Votes that count by a margin, and are for another class under other settings."""
    if manifest.procedure.void_against and votes.changed:
        text = f"{votes.changed} votes that lead by the margin {votes.margin:.4g} are "
        text += f"for another class under other settings ({', '.join(votes.settings)})"
        yield Finding(Kind.COUNTS, None, text)


def _digests(path: Path) -> list[str]:
    """The hashes of a result file and of what lies beside it, as far as it is there."""
    digests = []
    for place in (path, manifest_path(path), commitment_path(path)):
        content = content_of(place, LARGE) if place.is_file() else b""
        digests.append(hashlib.sha256(content).hexdigest())
    return digests


def _require_together(*, data: Any, model: Any, scheme: Any, rerun: int) -> None:
    """ValueError for arguments that need one that is not given."""
    if rerun and model is None:
        raise ArgumentError("rerun", "needs model, which draws rows again")
    if model is not None and not rerun:
        raise ArgumentError("model", "needs rerun, the number of rows it draws again")
    if model is not None and data is None:
        raise ArgumentError("model", "needs data, the inputs of the rows")
    if scheme is not None and data is None:
        raise ArgumentError("scheme", "needs data, the inputs it gives levels for")


def _model_of(manifest: Manifest) -> Mapping[str, Any]:
    return manifest.model if isinstance(manifest.model, dict) else {}


def _stated_otherwise(
    manifest: Manifest,
    source: Data,
    describe: Mapping[str, Any] | None,
    as_seen: bool,
) -> Iterator[Finding]:
    """What the manifest says of data and model, and those given have otherwise."""
    stated = {
        name: value
        for name, value in manifest.data.items()
        if as_seen or name != "preprocessing"
    }
    yield from _given.identity(Kind.DATA, stated, source.identity)
    if describe is not None and _model_of(manifest):
        yield from _given.identity(Kind.MODEL, _model_of(manifest), describe)


def _to_redraw(
    inside: Sequence[Numbered],
    findings: Sequence[Finding],
    rerun: int,
    random: Random,
) -> list[Numbered]:
    """Rows to draw again, at random of those that don't contradict themselves."""
    sound = _sound(inside, findings)
    return random.sample(sound, min(rerun, len(sound)))


def _sound(rows: Sequence[Numbered], findings: Sequence[Finding]) -> list[Numbered]:
    """The rows that don't contradict themselves: one that does may ask for any number
    of samples.
    """
    wrong = {finding.line for finding in findings if finding.kind == Kind.CONTRADICTION}
    return [numbered for numbered in rows if numbered[0] not in wrong]


def _judged(
    rows: Sequence[Numbered], manifest: Manifest, jobs: int
) -> Iterator[Finding]:
    judge, workers = partial(_rows.judged, manifest), min(jobs, cores(), len(rows))
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        judged = (
            map(judge, rows) if pool is None else pool.map(judge, rows, chunksize=8)
        )
        yield from chain.from_iterable(Progress(len(rows), "row").over(judged))
