"""Reading result files: of rsbounds, of the field, and as papers published them."""

from __future__ import annotations

import math
import os
from collections.abc import Container, Mapping
from pathlib import Path

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.decimals import whole_number
from rsbounds._numerics.files import LARGE, array_of, as_path, content_of
from rsbounds._numerics.text import quoted
from rsbounds.certificate import ABSTAIN
from rsbounds.results._foreign import as_the_field
from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._results import Results
from rsbounds.results._row import FIELD, Row, as_radius, holds

_ARRAYS = {"radius_l1.npy": 1.0, "radius_l2.npy": 2.0, "radius_linf.npy": math.inf}
_MOST_COUNTS = 2 * 10**8  # class counts of all rows, with their zeros: 1.6 GB


def read(path: str | os.PathLike[str]) -> Results:
    r"""Read a certification file.

    Parameters
    ----------
    path : path-like
        A TSV of the field (``idx label predict radius correct time``, -1 for an
        abstention, as Cohen, Rosenfeld and Kolter 2019 wrote it), a log of adaptive
        smoothing (Lyu et al. 2024), a table of rotations or scalings (Li et al. 2021:
        margins below 0 are abstentions), or a TSV of ``rsbounds certify``, with its
        manifest if one lies beside it. An unfinished last line of ours is left out,
        with a note.

    Raises
    ------
    ValueError, OSError
        For a malformed line, one that contradicts itself, stands twice or is of no
        input of the run: names the file, the line and what was expected. For a path
        that can't be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.tsv"
    >>> _ = file.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
    ...                     "0\t7\t7\t0.75\t1\t0:00:01\n1\t2\t-1\t0.0\t0\t0:00:01\n")
    >>> results = read(file)
    >>> results.certified_accuracy([0, 0.75, 1])
    array([0.5, 0.5, 0. ])
    >>> results.average_radius(), results.abstention()
    (0.375, 0.5)
    """
    return load(as_path("path", path))


def load(path: Path, content: bytes | None = None, *, strict: bool = True) -> Results:
    """Read a result file: the one reader of all commands.

    Blank lines, Windows' line ends and a byte order mark are passed over. An unfinished
    last line is left out where a manifest or a column "scope" stands by it: a row or
    its scope, cut short, may say more than it did. Other tools may write no line end.
    ``strict`` refuses rows that contradict themselves, stand twice or are not of the
    run.
    """
    name = os.fspath(path)
    content = content_of(path, LARGE) if content is None else content
    manifest = Manifest.read(path) if manifest_path(path).exists() else None
    if not content:
        return Results(name, (), "empty file", manifest)
    if manifest is None and (own := _arrays(path)):
        return Results(name, own)
    if manifest is None and (texts := _pairs(content)):
        pairs = [_row_of_pair(*pair) for pair in texts]
        if strict and len({row.idx for row in pairs}) < len(pairs):
            raise ValueError(f"{path}: expected each index once")
        note = "index and radius alone: an input with a radius counts as right"
        printed = {"radius": [text for _, text in texts]}
        return Results(name, tuple(pairs), note, printed=printed)
    return _table(path, content, manifest, strict=strict)


def _table(
    path: Path, content: bytes, manifest: Manifest | None, *, strict: bool
) -> Results:
    """The rows under a header, of the field or of ours; ValueError names the line."""
    first, *lines = _lines(path, content)
    columns = tuple(first.strip().split("\t"))
    note = ""
    if manifest is None:
        columns, lines, note = as_the_field(columns, lines)
    if not lines or columns[: len(FIELD)] != FIELD or len(set(columns)) < len(columns):
        raise ValueError(
            f"{path}:1: expected a header of distinct columns that starts with "
            f"{' '.join(FIELD)}, separated by tabs, or lines of index and radius; got "
            f"{quoted(first)}"
        )
    if lines[-1] and (manifest or "scope" in columns):
        note = f"line {len(lines) + 1} is cut short: left out"
        lines.pop()
    rows, seen, room = list[Row](), dict[int, int](), _MOST_COUNTS
    selected = manifest.indices() if manifest else None
    kept = () if manifest else ("radius", "p_a")
    printed: dict[str, list[str]] = {name: [] for name in kept if name in columns}
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        try:
            row = Row.parse(line.rstrip("\r"), columns)
            if (room := room - len(row.select) - len(row.counts)) < 0:
                raise ValueError(f"at most {_MOST_COUNTS} class counts in all rows")
            if strict:
                _require_sense(row, seen, selected)
        except ValueError as error:
            raise ValueError(
                f"{path}:{number}: expected {error}; got {quoted(line)}"
            ) from None
        rows.append(row)
        seen[row.idx] = number
        for name, cells in printed.items():
            cells.append(line.split("\t")[columns.index(name)].strip())
    return Results(os.fspath(path), tuple(rows), note, manifest, columns, printed)


def _lines(path: Path, content: bytes) -> list[str]:
    try:
        return content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected tab-separated text in UTF-8") from None


def _pairs(content: bytes) -> list[tuple[int, str]]:
    """Read lines "index radius ...", as papers published them.

    None of any other file.
    """
    try:
        lines = [
            line.split()
            for line in content.decode("utf-8-sig").splitlines()
            if line.strip()
        ]
        lines = lines[1:] if lines[0] == ["idx", "radius"] else lines
        pairs = [(whole_number(line[0]), line[1]) for line in lines]
        for _, text in pairs:
            as_radius(text)
    except (ValueError, IndexError):
        return []
    return pairs


def _row_of_pair(index: int, text: str) -> Row:
    radius = as_radius(text)
    return Row(index, 0, 0 if radius else ABSTAIN, radius, bool(radius))


def _arrays(path: Path) -> tuple[Row, ...]:
    """Read rows of ``radius_l1.npy`` (l2, linf), as papers published them.

    With ``labels.npy`` and ``preds.npy``; none of any other file.
    """
    if path.name not in _ARRAYS:
        return ()
    try:
        radii, labels, preds = (
            checks.as_floats(name, array_of(path.with_name(name)), nan=False)
            for name in (path.name, "labels.npy", "preds.npy")
        )
        tops = preds.argmax(axis=1)
        if not radii.shape == labels.shape == tops.shape:
            raise ValueError("as many labels and rows of predictions as radii")
    except (ValueError, TypeError, IndexError) as error:
        text = "expected numbers, with labels.npy and preds.npy beside them"
        raise ValueError(f"{path}: {text}: {error}") from None
    each = zip(
        labels.tolist(), np.where(radii > 0, tops, ABSTAIN).tolist(), radii, strict=True
    )
    return tuple(
        Row(
            i,
            int(label),
            top,
            max(float(r), 0.0),
            top == label,
            norm=_ARRAYS[path.name],
        )
        for i, (label, top, r) in enumerate(each)
    )


def _require_sense(
    row: Row, seen: Mapping[int, int], selected: Container[int] | None
) -> None:
    """ValueError, saying what was expected, of a row that can't be one of the run."""
    if row.idx < 0:
        raise ValueError("idx >= 0")
    if row.predict == ABSTAIN and (row.correct or row.radius):
        raise ValueError("radius 0 and correct 0 where predict is -1")
    if row.correct != holds(row.label, row.predict):
        raise ValueError("correct 1 where predict is the label, else 0")
    if row.idx in seen:
        raise ValueError(f"each idx once, {row.idx} is on line {seen[row.idx]} too")
    if selected is not None and row.idx not in selected:
        raise ValueError("idx of an input that the manifest selects")


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a result file in its order, for an audit.

    Parameters
    ----------
    path : Path
        The TSV.

    Returns
    -------
    list of Row
        They may contradict themselves; errors as of :func:`read`.
    """
    return list(load(path, strict=False).rows)
