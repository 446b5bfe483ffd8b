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
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Self

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds._numerics.files import LARGE, content_of
from rsbounds._numerics.progress import Progress
from rsbounds._numerics.threads import cores
from rsbounds.audit import _given, _levels, _redrawn, _rows, _stated
from rsbounds.audit._finding import Audit, Finding, Kind, Numbered
from rsbounds.audit._proof import answer_of
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit._whole import (
    check_manifest,
    committed_otherwise,
    missing_rows,
    require_provable,
    structure,
)
from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.certify import source_of
from rsbounds.loading import CorruptInput, Data
from rsbounds.results import (
    Manifest,
    commitment_path,
    folded,
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
    _require_together(data=data, model=model, scheme=scheme, rerun=rerun)
    if margin and not rerun:
        raise ArgumentError("margin", "needs rerun, the number of rows it compares")
    file = _File.read(path, count("rerun", rerun), margin=margin, seed=seed)
    if scheme is not None:
        _given.check_noise(scheme, file.manifest, path)
    chosen = file.chosen(sample)
    file.of_itself(chosen, truth, count("jobs", jobs, 1))
    as_seen = redraws = False
    votes: Difference | None = None
    if data is not None:
        labels = file.model.get("labels")
        source = source_of(data, answer_of(file.manifest), labels)
        # without a model, pictures may not be resized as it sees them
        as_seen = model is not None or "preprocessing" not in source.identity
        inside = file.of_data(source, scheme, describe, as_seen=as_seen)
        redrawn = file.to_redraw(inside)
        redraws = bool(redrawn) and file.repeatable
        if redrawn:
            file.of_model(redrawn, inside, source, model, scheme, truth)
        if redrawn and margin:
            votes = file.of_other_settings(redrawn, source, model, scheme)
    if _digests(path) != before:
        text = "was written while it was verified: what is said of it may be of neither"
        finding = Finding(Kind.ROWS, None, f"{text} version; verify it again")
        file.findings.append(finding)
    given = _stated.shown_by(
        data=data is not None,
        as_seen=as_seen,
        model=describe is not None,
        truth=truth is not None,
        redrawn=redraws,
        noise=scheme is not None and scheme.scope != ASSERTED_ENVELOPE,
    )
    stated = _stated.stated(file.manifest, scheme, given, as_seen=as_seen)
    return Audit(
        findings=tuple(sorted(file.findings, key=_by_line)),
        stated=stated,
        rows=len(file.rows),
        proved=len(chosen),
        drawn=len(redrawn) if redraws else 0,
        corrupt=tuple(sorted(file.manifest.corrupt())),
        seed=file.seed,
        votes=votes,
        facts=_stated.facts(file.manifest, stated, given),
    )


def _by_line(finding: Finding) -> tuple[bool, int]:
    return finding.line is None, finding.line or 0


@dataclass
class _File:
    """A file under audit: its stages in order, each adding to the findings.

    ``repeatable``: a seed draws its rows again.
    """

    path: Path
    manifest: Manifest
    rows: list[Numbered]
    rerun: int
    seed: int
    random: Random
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, rerun: int, *, margin: bool, seed: int | None) -> Self:
        """The file, or ValueError where nothing here can prove or redraw it."""
        manifest = Manifest.read(path)
        check_manifest(manifest, path)
        require_provable(manifest, path)
        if rerun and not margin and manifest.procedure.noise_source != "seed":
            raise ArgumentError(
                "rerun",
                f"can't draw the rows of {path} again: their noise is of the operating "
                "system, and no seed repeats it",
            )
        rows = list(enumerate(read_rows(path) if path.stat().st_size else [], start=2))
        seed = secrets.randbits(63) if seed is None else count("seed", seed)
        return cls(path, manifest, rows, rerun, seed, Random(seed))

    @property
    def repeatable(self) -> bool:
        return self.manifest.procedure.repeats

    @property
    def model(self) -> Mapping[str, Any]:
        return self.manifest.model if isinstance(self.manifest.model, dict) else {}

    def chosen(self, sample: int | None) -> list[Numbered]:
        """The rows to prove: all, or so many at random."""
        if sample is None or count("sample", sample, 1) >= len(self.rows):
            return self.rows
        return self.random.sample(self.rows, sample)

    def of_itself(self, chosen: Sequence[Numbered], truth: Any, jobs: int) -> None:
        """The file against itself and its true maps; proofs of the rows chosen."""
        rows, manifest = self.rows, self.manifest
        self.findings += structure(rows, manifest)
        self.findings += missing_rows(rows, manifest)
        self.findings += committed_otherwise(self.path, manifest)
        self.findings += _levels.refuted(rows, manifest)
        if truth is not None:
            proof = PROOFS[manifest.answer["name"]]
            self.findings += proof.against(rows, manifest, truth)
        self.findings += _judged(chosen, manifest, jobs)

    def of_data(
        self,
        source: Data,
        scheme: Scheme | None,
        describe: Mapping[str, Any] | None,
        *,
        as_seen: bool,
    ) -> list[Numbered]:
        """The file against its data, its noise and what is said of its model: the rows
        whose inputs are there.
        """
        stated = {
            name: value
            for name, value in self.manifest.data.items()
            if as_seen or name != "preprocessing"
        }
        self.findings += _given.identity(Kind.DATA, stated, source.identity)
        if describe is not None and self.model:
            own = folded("model", describe)
            self.findings += _given.identity(Kind.MODEL, self.model, own)
        self.findings += _given.left_out(self.manifest, source)
        inside = []
        for numbered in self.rows:
            try:
                self.findings += _given.at_input(
                    numbered, self.manifest, source, scheme, as_seen
                )
                inside.append(numbered)
            except (CorruptInput, IndexError) as error:
                line, row = numbered
                self.findings.append(Finding(Kind.DATA, row.idx, str(error), line))
        if as_seen:
            self.findings += _levels.refuted(
                inside, self.manifest, lambda index: source.item(index).x
            )
        return inside

    def to_redraw(self, inside: Sequence[Numbered]) -> list[Numbered]:
        """Rows to draw again, at random of those that don't contradict themselves."""
        sound = self._sound(inside)
        return self.random.sample(sound, min(self.rerun, len(sound)))

    def of_model(
        self,
        redrawn: Sequence[Numbered],
        inside: Sequence[Numbered],
        source: Data,
        model: Any,
        scheme: Scheme | None,
        truth: Any,
    ) -> None:
        """Rows and the manifest's probe against what the model draws again."""
        if self.repeatable:
            self.findings += _redrawn.redrawn(
                redrawn, self.manifest, source, model, scheme, truth
            )
        sound = self._sound(inside)
        self.random.shuffle(sound)
        self.findings += _redrawn.probed_again(
            sound, self.manifest, source, model, scheme
        )

    def of_other_settings(
        self,
        redrawn: Sequence[Numbered],
        source: Data,
        model: Any,
        scheme: Scheme | None,
    ) -> Difference:
        """The scores of rows drawn again beside those of other settings."""
        votes = _redrawn.votes_changed(redrawn, self.manifest, source, model, scheme)
        self.findings += _changed(votes, self.manifest)
        return votes

    def _sound(self, rows: Sequence[Numbered]) -> list[Numbered]:
        """The rows that don't contradict themselves: one that does may ask for any
        number of samples.
        """
        wrong = {
            finding.line
            for finding in self.findings
            if finding.kind == Kind.CONTRADICTION
        }
        return [numbered for numbered in rows if numbered[0] not in wrong]


def _changed(votes: Difference, manifest: Manifest) -> Iterator[Finding]:
    """What refutes a margin: votes that count by it and change, or scores that differ
    by more than two programs can that are within half of it of the exact ones.
    """
    if not manifest.procedure.void_against:
        return
    if not votes.largest <= votes.margin:
        text = f"scores differ by {votes.largest:.4g} under other settings, more than "
        yield Finding(Kind.COUNTS, None, f"{text}the margin {votes.margin:.4g} allows")
    if votes.changed:
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


def _judged(
    rows: Sequence[Numbered], manifest: Manifest, jobs: int
) -> Iterator[Finding]:
    judge, workers = partial(_rows.judged, manifest), min(jobs, cores(), len(rows))
    with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as pool:
        judged = (
            map(judge, rows) if pool is None else pool.map(judge, rows, chunksize=8)
        )
        yield from chain.from_iterable(Progress(len(rows), "row").over(judged))
