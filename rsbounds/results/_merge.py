"""Complete result files: written in one go, of given rows or of several files."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds._numerics.files import as_path, replace_file
from rsbounds._numerics.text import quoted
from rsbounds.results._file import (
    require_own_manifest,
    require_place,
    require_regular,
    text_of,
)
from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._read import load
from rsbounds.results._row import COLUMNS, Row


def write(path: Path, manifest: Manifest, rows: Iterable[Row]) -> None:
    """Write a complete result file in one go, replacing the file and its manifest.

    Parameters
    ----------
    path : Path
        The TSV; its manifest is written beside it.
    manifest : Manifest
        What the rows depend on.
    rows : iterable of Row
        In the order of the file.

    Raises
    ------
    ValueError
        If something else than a file lies there, or another file's manifest.
    OSError
        If it can't be written.
    """
    require_regular(path)
    require_own_manifest(path)
    rows = list(rows)
    further = dict.fromkeys(name for row in rows for name in row.extra)
    replace_file(manifest_path(path), manifest.text())
    replace_file(path, text_of((*COLUMNS, *further), rows))


def merge(out: Path, files: Sequence[Path]) -> tuple[int, list[int]]:
    """Join result files of one run, in the order of the inputs.

    Rows that several files share must be equal (but for their time); their manifests
    must be equal (but for their shard), the probes of the model too. The history of
    each is kept.

    Parameters
    ----------
    out : Path
        The new file; it can be resumed as a run in one piece.
    files : sequence of Path
        At least one.

    Returns
    -------
    rows : int
        Number of rows written.
    missing : list of int
        Indices of inputs of the run that none of the files has.

    Raises
    ------
    ValueError, OSError
        If ``out`` exists, files are of different runs or disagree on an input; as
        `read`.
    """
    out = require_place(out)
    if not isinstance(files, list | tuple) or not files:
        raise ValueError(
            f"files must be a list of at least one path; got {quoted(files)}"
        )
    paths = [as_path("files", path) for path in files]
    if out.exists():
        raise ValueError(f"{out} exists: choose another output file")
    first = replace(Manifest.read(paths[0]), shard="0/1")
    merged: dict[int, tuple[Row, Path]] = {}
    history: list[Any] = []
    for path in paths:
        manifest = replace(Manifest.read(path), shard="0/1")
        if changes := first.differences(manifest):
            raise ValueError(
                f"{path} is not of the run of {paths[0]}: {'; '.join(changes.values())}"
            )
        if manifest.run.get("commitment") != first.run.get("commitment"):
            first = first.uncommitted()
        history += [step for step in manifest.history if step not in history]
        for row in load(path).rows:
            other, source = merged.setdefault(row.idx, (row, path))
            if replace(other, time=row.time) != row:
                raise ValueError(f"{path} and {source} disagree on input {row.idx}")
    first = replace(first, history=history)
    write(out, first, [row for row, _ in merged.values()])
    return len(merged), first.places(set(merged))[0]
