"""Complete result files: written in one go, of given rows or of several files."""

from collections.abc import Iterable, Mapping, Sequence
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
from rsbounds.results._foreign import Reading
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


def merge(
    out: Path, files: Sequence[Path], *, columns: Mapping[str, str] | None = None
) -> tuple[int, list[int]]:
    """Join result files of one run, in the order of the inputs.

    Rows that several files share must be equal (but for their time); their manifests
    must be equal (but for their shard), the probes of the model too. The history of
    each is kept. Files without manifests, of other tools, must have the same columns
    and no input twice: nothing else of them can be compared.

    Parameters
    ----------
    out : Path
        The new file; with a manifest it can be resumed as a run in one piece.
    files : sequence of Path
        At least one.
    columns : mapping, optional
        As of `read`, for files without manifests.

    Returns
    -------
    rows : int
        Number of rows written.
    missing : list of int
        Indices of inputs of the run that none of the files has, where manifests say
        which they are.

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
    with_manifest = [path for path in paths if manifest_path(path).exists()]
    reading = Reading.of(columns, None)
    if not with_manifest:
        return _merge_pieces(out, paths, reading), []
    reading.require_nothing()
    if len(with_manifest) < len(paths):
        other = next(path for path in paths if path not in with_manifest)
        raise ValueError(
            f"{other} has no manifest and {with_manifest[0]} has one: merge files of "
            "one kind"
        )
    return _merge_run(out, paths)


def _merge_pieces(out: Path, paths: Sequence[Path], reading: Reading) -> int:
    """Join files without manifests, as their cells stand there; return how many rows.

    Radii keep their digits, from which an audit infers how they were printed.
    """
    columns: tuple[str, ...] = ()
    lines: dict[int, str] = {}
    sources: dict[int, Path] = {}
    for path in paths:
        piece = load(path, reading=reading)
        if "counts" in piece.columns:
            Manifest.read(path)  # which says that it is missing
        if not piece.columns:
            raise ValueError(f"{path} is no table with names of columns")
        columns = columns or piece.columns
        if piece.columns != columns:
            raise ValueError(
                f"{path} must have the columns of {paths[0]}, {' '.join(columns)}; got "
                f"{' '.join(piece.columns)}"
            )
        for place, row in enumerate(piece.rows):
            if row.idx in sources:
                raise ValueError(f"{path} and {sources[row.idx]} both have {row.idx}")
            sources[row.idx] = path
            cells = dict(zip(columns, row.text(columns).split("\t"), strict=True))
            cells |= {name: printed[place] for name, printed in piece.printed.items()}
            lines[row.idx] = "\t".join(cells.values())
    text = "\n".join(["\t".join(columns), *(lines[idx] for idx in sorted(lines))])
    replace_file(out, f"{text}\n")
    return len(lines)


def _merge_run(out: Path, paths: Sequence[Path]) -> tuple[int, list[int]]:
    """Join files of one run, whose manifests agree."""
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
