"""Joining the files of several shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds.results._file import read_rows, write
from rsbounds.results._manifest import Manifest
from rsbounds.results._row import Row


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
        If ``out`` exists, files are of different runs, or disagree on an input.
    OSError
        If a file can't be read or written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rsbounds.results import Manifest, Row, Writer, merge
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for rank in (0, 1):
    ...     manifest = Manifest(data={"inputs": 3}, shard=f"{rank}/2")
    ...     with Writer(folder / f"{rank}.tsv", manifest) as writer:
    ...         writer.append(Row(rank, 7, 7, 0.75, True))
    >>> merge(folder / "all.tsv", [folder / "0.tsv", folder / "1.tsv"])
    (2, [2])
    """
    if out.exists():
        raise ValueError(f"{out} exists: choose another output file")
    if not files:
        raise ValueError("files must be at least one; got none")
    first = replace(Manifest.read(files[0]), shard="0/1")
    merged: dict[int, tuple[Row, Path]] = {}
    history: list[Any] = []
    for path in files:
        manifest = replace(Manifest.read(path), shard="0/1")
        if changes := first.differences(manifest):
            raise ValueError(
                f"{path} is not of the run of {files[0]}: {'; '.join(changes.values())}"
            )
        history += [step for step in manifest.history if step not in history]
        for row in read_rows(path):
            other, source = merged.setdefault(row.idx, (row, path))
            if replace(other, time=row.time) != row:
                raise ValueError(f"{path} and {source} disagree on input {row.idx}")
    first = replace(first, history=history)
    write(out, first, [row for row, _ in merged.values()])
    return len(merged), first.places(set(merged))[0]
