"""Reading result files: of rsbounds, of the field, and as papers published them."""

from __future__ import annotations

import math
import os
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.decimals import whole_number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import LARGE, array_of, as_path, content_of
from rsbounds._numerics.text import quoted
from rsbounds.certificate import ABSTAIN
from rsbounds.results._cells import Column, Unplain
from rsbounds.results._columns import FileRows
from rsbounds.results._foreign import ForeignTable, LineError, Reading, as_the_field
from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._results import Results
from rsbounds.results._row import FIELD, Row, as_radius, holds
from rsbounds.results._spelling import cells_of, separator_of

_ARRAYS = {"radius_l1.npy": 1.0, "radius_l2.npy": 2.0, "radius_linf.npy": math.inf}
#: The names above lines of index and radius.
_PAIR = ["idx", "radius"]
#: How files begin that hold text otherwise, and what to do with them.
_PACKED = {
    b"\x1f\x8b": "a gzip archive: unpack it first",
    b"PK": "a zip archive: unpack it first",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
}
_MOST_COUNTS = 2 * 10**8  # class counts of all rows, with their zeros: 1.6 GB
PLAIN = Reading()


def read(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    norm: float | str | None = None,
) -> Results:
    r"""Read a certification file.

    Parameters
    ----------
    path : path-like
        A TSV of the field (``idx label predict radius correct time``, -1 for an
        abstention, as Cohen, Rosenfeld and Kolter 2019 wrote it). Other tools may
        have these columns in another order, among others, separated by commas,
        semicolons or spaces, behind an index of pandas, with cells such as
        ``tensor([7])``, ``3.0`` or ``True``, and a radius below 0 at an abstention.
        Also lines of ``idx radius`` below these names, a log of adaptive smoothing
        (Lyu et al. 2024), a table of rotations or scalings (Li et al. 2021: margins
        below 0 are abstentions), or a TSV of ``rsbounds certify``, with its manifest
        if one lies beside it. A last line that is cut short is left out, with a note.
    columns : mapping, optional
        For a file without a manifest: names of its columns by the field's, where they
        differ, as ``{"radius": "radius_L2", "count": "raw_count"}``;
        ``{"idx": "#"}`` numbers the rows from 0.
    norm : float or str, optional
        For a file without a manifest: the norm of its radii, where it isn't 2 and no
        column says it.

    Raises
    ------
    ValueError, OSError
        For a malformed line, one that contradicts itself, stands twice or is of no
        input of the run: names the file, the line and what was expected. For a file
        without a header: what its columns are is never guessed. For a path that can't
        be read.

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
    return load(as_path("path", path), reading=Reading.of(columns, norm))


def load(
    path: Path,
    content: bytes | None = None,
    *,
    strict: bool = True,
    reading: Reading = PLAIN,
) -> Results:
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
    if manifest is not None:
        reading.require_nothing()
    if not content:
        return Results(name, (), "empty file", manifest)
    if manifest is None and (rows := _arrays(path)):
        return Results(name, rows)
    return _table(path, content, manifest, reading, strict=strict)


def _table(
    path: Path,
    content: bytes,
    manifest: Manifest | None,
    reading: Reading,
    *,
    strict: bool,
) -> Results:
    """The rows under a header, of the field or of ours; ValueError names the line."""
    if reading == PLAIN:
        with suppress(Unplain):
            return _plain(path, content, manifest, strict=strict)
    first, *lines = _lines(path, content)
    _require_one_header(path, first, lines)
    if manifest is None and first.split() == _PAIR:
        return _pairs(path, lines, strict=strict)
    columns, lines, note = _columns_of(
        path, first, lines, None if manifest else reading
    )
    if lines[-1] and (manifest or "scope" in columns):
        note = f"line {len(lines) + 1} is cut short: left out"
        lines.pop()
    rows, seen, room = list[Row](), dict[int, int](), _MOST_COUNTS
    selected = manifest.indices() if manifest else None
    names = () if manifest else ("radius", "p_a")
    printed: dict[str, list[str]] = {name: [] for name in names if name in columns}
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


def _plain(
    path: Path, content: bytes, manifest: Manifest | None, *, strict: bool
) -> Results:
    """The results of a plain file, read as columns; Unplain for any other file."""
    if not content.isascii() or b"\0" in content or b"\r" in content:
        raise Unplain
    start, end = content.find(b"\n") + 1, content.rfind(b"\n") + 1
    columns = tuple(content[:start].decode("ascii").strip().split("\t"))
    ours = manifest is not None
    named = columns[: len(FIELD)] == FIELD if ours else set(FIELD) <= set(columns)
    is_cut = end < len(content)
    if not ours and _is_told_anew(columns):
        raise Unplain
    if not named or len(set(columns)) < len(columns):
        raise Unplain
    if start == end or (is_cut and not (ours or "scope" in columns)):
        raise Unplain
    rows = FileRows(content, start, end, columns)
    if rows.room > _MOST_COUNTS or (strict and not _make_sense(rows, manifest)):
        raise Unplain
    note = f"line {len(rows) + 2} is cut short: left out" if is_cut else ""
    names = [] if ours else [name for name in ("radius", "p_a") if name in columns]
    printed: dict[str, Sequence[str]] = {name: rows.cells(name) for name in names}
    return Results(os.fspath(path), rows, note, manifest, columns, printed)


def _make_sense(rows: FileRows, manifest: Manifest | None) -> bool:
    """Whether no row is one that `_require_sense` refuses."""
    names = ("idx", "label", "predict", "radius", "correct")
    idx, label, predict, radius, correct = map(rows.values, names)
    abstains = predict == ABSTAIN
    return bool(
        (idx >= 0).all()
        and not (abstains & (correct | (radius != 0))).any()
        and (correct == ((predict == label) & ~abstains)).all()
        and (_rises(idx) or _rises(np.sort(idx)))
        and (manifest is None or not manifest.places(idx)[1])
    )


def _rises(numbers: Column) -> bool:
    """Whether each number is above the one before it."""
    return bool((numbers[1:] > numbers[:-1]).all())


def _is_told_anew(columns: Sequence[str]) -> bool:
    """Whether a table of others needs more than its columns' names."""
    return not {"", "Unnamed: 0"}.isdisjoint(columns) or "linf_radius" in columns


def _lines(path: Path, content: bytes) -> list[str]:
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        kinds = [kind for start, kind in _PACKED.items() if content.startswith(start)]
        hint = f"; got {kinds[0]}" if kinds else ""
        raise ValueError(
            f"{path}: expected tab-separated text in UTF-8{hint}"
        ) from None
    for number, line in enumerate(lines, start=1):
        if "\r" in line.rstrip("\r"):
            raise ValueError(
                f"{path}:{number}: expected a line feed behind each row; got a "
                "carriage return within the line: write each row on a line of its own"
            )
    return lines


def _columns_of(
    path: Path, first: str, lines: list[str], reading: Reading | None
) -> ForeignTable:
    """The columns that a line names; ValueError unless they have those of the field.

    ``reading``: of a file without a manifest.
    """
    if reading is not None:
        if _is_row(first):
            raise ValueError(
                f"{path}:1: is the header missing? No column is guessed: above such "
                f"rows write a line of {' '.join(FIELD)} time, separated as they are, "
                f"or {' '.join(_PAIR)}; got {quoted(first)}"
            )
        try:
            return as_the_field(first, lines, reading)
        except LineError as error:
            raise ValueError(f"{path}:{error.line}: {error}") from None
        except ArgumentError as error:
            raise ArgumentError(error.name, f"{error.problem} ({path})") from None
    columns = tuple(first.strip().split("\t"))
    if lines and columns[: len(FIELD)] == FIELD and len(set(columns)) == len(columns):
        return ForeignTable(columns, lines)
    raise ValueError(
        f"{path}:1: expected a header of distinct columns that starts with "
        f"{' '.join(FIELD)}, separated by tabs; got {quoted(first)}"
    )


def _require_one_header(path: Path, first: str, lines: Sequence[str]) -> None:
    """ValueError where the header stands again."""
    header = first.strip()
    for number, line in enumerate(lines, start=2):
        if header and line.strip() == header:
            raise ValueError(
                f"{path}:{number}: a second header: the run was started again; keep "
                "the lines of one start, or cut the file here and merge the pieces"
            )


def _is_row(line: str) -> bool:
    """Whether a line begins with a number, as rows do."""
    cells = cells_of(line, separator_of(line))
    return len(cells) > 1 and cells[0].isdecimal()


def _pairs(path: Path, lines: Sequence[str], *, strict: bool) -> Results:
    """Read lines of index and radius, as papers published them, below their names."""
    rows = list[Row]()
    texts = list[str]()
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        try:
            index, text = line.split()
            rows.append(_row_of_pair(whole_number(index), text))
        except ValueError:
            raise ValueError(
                f"{path}:{number}: expected an index and a radius >= 0; got "
                f"{quoted(line)}"
            ) from None
        texts.append(text)
    if strict and len({row.idx for row in rows}) < len(rows):
        raise ValueError(f"{path}: expected each index once")
    note = "index and radius alone: an input with a radius counts as right"
    printed = {"radius": texts}
    return Results(os.fspath(path), tuple(rows), note, None, tuple(_PAIR), printed)


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
        if preds.shape[1] < 2:
            raise ValueError("preds.npy holds scores of two classes or more")
        if not np.array_equal(labels, np.floor(labels)):
            raise ValueError("labels.npy holds numbers of classes")
    except (ValueError, TypeError, IndexError) as error:
        text = "expected numbers, with labels.npy and preds.npy beside them"
        raise ValueError(f"{path}: {text}: {error}") from None
    inputs = zip(
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
        for i, (label, top, r) in enumerate(inputs)
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
