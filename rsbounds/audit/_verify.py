"""A result file against itself, and its data, noise and model.

The last three as far as they are given.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rsbounds._numerics.checks import count, flag, instance
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds._numerics.files import LARGE, as_path, content_of
from rsbounds.audit import _given, _stated
from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.audit._proof import answer_of
from rsbounds.audit._stages import File
from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.certify.internal import source_of
from rsbounds.loading import Preprocess
from rsbounds.results.internal import commitment_path, manifest_path
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
        As :func:`rsbounds.loading.open_data` takes them: compared with labels, hashes
        and what the manifest says of them, and noise levels with the bound of sigma(x).
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
    path = as_path("path", path)
    rerun = count("rerun", rerun)
    margin = flag("margin", margin)
    if scheme is not None:
        instance("scheme", scheme, Scheme, "a Scheme, such as the run's")
    before = _digests(path)
    _require_together(data=data, model=model, scheme=scheme, rerun=rerun, margin=margin)
    file = File.read(path, rerun, fresh=margin, seed=seed)
    if scheme is not None:
        _given.check_noise(scheme, file.manifest, path)
    chosen = file.chosen(sample)
    file.of_itself(chosen, truth, count("jobs", jobs, 1))
    seen = _Seen()
    if data is not None:
        seen = _against_data(file, data, model, scheme, describe, truth, margin=margin)
    if _digests(path) != before:
        text = "was written while it was verified: what is said of it may be of neither"
        finding = Finding(Kind.ROWS, None, f"{text} version; verify it again")
        file.findings.append(finding)
    available = _stated.shown_by(
        data=data is not None,
        model=describe is not None,
        truth=truth is not None,
        redrawn=seen.drawn > 0,
        noise=scheme is not None and scheme.scope != ASSERTED_ENVELOPE,
    )
    names = _stated.stated_names(file.manifest, scheme, available, absent=seen.absent)
    return Audit(
        findings=tuple(sorted(file.findings, key=_by_line)),
        stated=names,
        rows=len(file.rows),
        proved=len(chosen),
        drawn=seen.drawn,
        corrupt=tuple(sorted(file.manifest.corrupt())),
        seed=file.seed,
        votes=seen.votes,
        notes=seen.notes,
        facts=_stated.facts(file.manifest, scheme, names, available),
    )


class _Seen(NamedTuple):
    """What the data and the model of a file showed besides findings.

    ``absent``: entries of the manifest that the data given can't show; ``notes``: how
    they lie otherwise than the run's; ``drawn``: how many rows were drawn again;
    ``votes``: what changed where scores were compared.
    """

    absent: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    drawn: int = 0
    votes: Difference | None = None


def _against_data(
    file: File,
    data: Any,
    model: Any,
    scheme: Scheme | None,
    describe: Mapping[str, Any] | None,
    truth: Any,
    *,
    margin: bool,
) -> _Seen:
    """Compare the file with its data and, of the rows to redraw, with its model."""
    recorded = file.manifest.data
    source = source_of(
        data,
        answer_of(file.manifest),
        file.model.get("labels"),
        preprocess=Preprocess.of(recorded.get("preprocessing")),
    )
    inside = file.of_data(source, scheme, describe)
    lacking = sorted(_given.lacking(recorded, source.identity))
    seen = _Seen(
        tuple(f"data.{name}" for name in lacking if recorded[name] is not None),
        tuple(_given.held_otherwise(recorded, source.identity)),
    )
    redrawn = file.to_redraw(inside)
    if not redrawn:
        return seen
    file.of_model(redrawn, inside, source, model, scheme, truth)
    votes = None
    if margin:
        votes = file.of_other_settings(redrawn, source, model, scheme)
    drawn = len(redrawn) if file.repeatable else 0
    return seen._replace(drawn=drawn, votes=votes)


def _by_line(finding: Finding) -> tuple[bool, int]:
    return finding.line is None, finding.line or 0


def _digests(path: Path) -> list[str]:
    """The hashes of a result file and of what lies beside it, as far as it is there."""
    digests = []
    for place in (path, manifest_path(path), commitment_path(path)):
        content = content_of(place, LARGE) if place.is_file() else b""
        digests.append(hashlib.sha256(content).hexdigest())
    return digests


def _require_together(
    *, data: Any, model: Any, scheme: Any, rerun: int, margin: bool
) -> None:
    """ValueError for arguments that need one that is not given."""
    if rerun and model is None:
        raise ArgumentError("rerun", "needs model, which draws rows again")
    if model is not None and not rerun:
        raise ArgumentError("model", "needs rerun, the number of rows it draws again")
    if model is not None and data is None:
        raise ArgumentError("model", "needs data, the inputs of the rows")
    if scheme is not None and data is None:
        raise ArgumentError("scheme", "needs data, the inputs it gives levels for")
    if margin and not rerun:
        raise ArgumentError("margin", "needs rerun, the number of rows it compares")
