"""Joining the files of several shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds.results._commitment import uncommitted
from rsbounds.results._file import load, write
from rsbounds.results._manifest import Manifest
from rsbounds.results._row import Row
from rsbounds.results._text import as_path, quoted


def merge(out: Path, files: Sequence[Path]) -> tuple[int, list[int]]:
    """Join result files of one run, in the order of the inputs.

    Rows that several files share must be equal (but for their time); their manifests must be
    equal (but for their shard), the probes of the model too. The history of each is kept.

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
    ValueError
        If ``out`` exists, files are of different runs or disagree on an input, a row contradicts
        itself or is of no input of the run; for an argument that is no path.
    OSError
        If a file can't be read or written.

    Examples
    --------
    >>> merge(Path("all.tsv"), [Path("shard0.tsv"), Path("shard1.tsv")])  # doctest: +SKIP
    (10000, [])
    """
    out = as_path("out", out)
    if not isinstance(files, list | tuple) or not files:
        raise ValueError(f"files must be a list of at least one path; got {quoted(files)}")
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
            first = uncommitted(first)
        history += [step for step in manifest.history if step not in history]
        for row in load(path).rows:
            other, source = merged.setdefault(row.idx, (row, path))
            if replace(other, time=row.time) != row:
                raise ValueError(f"{path} and {source} disagree on input {row.idx}")
    first = replace(first, history=history)
    write(out, first, [row for row, _ in merged.values()])
    return len(merged), first.places(set(merged))[0]
