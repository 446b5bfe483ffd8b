"""Result files: a TSV that only grows, row by row, and the JSON manifest beside it.

The manifest states everything the rows depend on. A file is resumed only under an equal
manifest, by one process at a time (a lock held on the TSV), and after a kill or a full disk
all that can be wrong with it is an unfinished last line, which is cut off and done again.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_DOWN, Context, Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rsbounds.certificate import Certificate
from rsbounds.results._fields import real, short, whole

COLUMNS = (
    *("idx", "label", "predict", "radius", "correct", "time"),
    *("count", "n", "p_a", "sigma", "method", "scope"),
)
_HEADER = "\t".join(COLUMNS)
_HEADER_LINE = f"{_HEADER}\n".encode()


def truncated(value: float) -> str:
    """The shortest decimal that is at most ``value`` (>= 0) and reads back as ``value``."""
    text = repr(float(value))
    digits = 17
    while math.isfinite(value) and not (Decimal(text) <= Decimal(value) and float(text) == value):
        text = str(Context(prec=digits, rounding=ROUND_DOWN).create_decimal(Decimal(value)))
        digits += 1
    return text


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a result file; numbers as they were read."""

    idx: int
    label: int
    predict: int
    radius: float
    correct: int
    time: str
    count: int
    n: int
    p_a: float
    sigma: float
    method: str
    scope: str

    @classmethod
    def of(cls, idx: int, label: int, found: Certificate, seconds: float) -> Self:
        """The row of a certificate."""
        time = str(timedelta(seconds=seconds))
        return cls(
            idx=idx,
            label=label,
            predict=found.predict,
            radius=found.radius,
            correct=int(found.predict == label),
            time=time if "." in time else f"{time}.000000",
            count=found.count,
            n=found.n,
            p_a=found.p_a,
            sigma=found.sigma,
            method=found.method,
            scope=found.scope,
        )

    @classmethod
    def parse(cls, line: str) -> Self:
        """The row in a line of text."""
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            raise ValueError(f"{len(COLUMNS)} fields separated by tabs")
        kinds: tuple[Any, ...] = (
            *(whole, whole, whole, real, whole, str),
            *(whole, whole, real, real, str, str),
        )
        try:
            return cls(*(kind(field) for kind, field in zip(kinds, fields, strict=True)))
        except ValueError:
            raise ValueError(f"numbers in the columns {' '.join(COLUMNS[:10])}") from None

    def __str__(self) -> str:
        fields = (getattr(self, column) for column in COLUMNS)
        return "\t".join(
            repr(f) if c == "sigma" else truncated(f) if isinstance(f, float) else str(f)
            for c, f in zip(COLUMNS, fields, strict=True)
        )


def manifest_path(path: Path) -> Path:
    """Where the manifest of a result file lies."""
    return path.with_name(path.name + ".manifest.json")


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a result file."""
    place = manifest_path(path)
    try:
        manifest = json.loads(place.read_text())
        if not isinstance(manifest, dict):
            raise ValueError
    except FileNotFoundError:
        raise ValueError(f"{path} has no manifest: expected {place.name} beside it") from None
    except ValueError:
        raise ValueError(f"{place} is not a manifest: expected a JSON object") from None
    return manifest


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two manifests, a line for each entry; "run" is not compared."""
    a, b = _flat(old), _flat(new)
    return [
        f"{key} was {json.dumps(a.get(key))} and is now {json.dumps(b.get(key))}"
        for key in sorted({*a, *b})
        if a.get(key) != b.get(key)
    ]


def read_rows(path: Path) -> list[Row]:
    """The rows of a result file; an unfinished last line is left out."""
    return _rows(path, path.read_bytes())


class Writer:
    """Appends rows to a result file, creating or resuming it.

    Parameters
    ----------
    path : Path
        The TSV; its manifest is written beside it.
    manifest : mapping
        What the rows depend on, JSON-compatible; the entry "run" is kept, not compared.

    Raises
    ------
    ValueError
        If the file was written under another manifest, or isn't a result file.
    OSError
        If it can't be written, or another process is writing it.
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by __exit__)
        try:
            self.rows = self._resume(json.loads(json.dumps(manifest)))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def append(self, row: Row) -> None:
        """Write one row through to the disk."""
        self._write(f"{row}\n".encode())

    def _resume(self, manifest: dict[str, Any]) -> list[Row]:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{self.path} is being written by another process") from None
        self._file.seek(0)
        content = self._file.read()
        if _HEADER_LINE.startswith(content):  # no row yet: nothing to resume
            _replace(manifest_path(self.path), json.dumps(manifest, indent=2) + "\n")
            self._file.truncate(0)
            self._write(_HEADER_LINE)
            return []
        found = differences(read_manifest(self.path), manifest)
        if found:
            raise ValueError(
                f"{self.path} belongs to another run ({'; '.join(found)}): repeat that run's "
                "arguments, or choose another output file"
            )
        rows = _rows(self.path, content)
        self._file.truncate(content.rfind(b"\n") + 1)
        return rows

    def _write(self, line: bytes) -> None:
        end = self._file.seek(0, os.SEEK_END)
        try:
            left = line
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(end)
            raise OSError(
                f"can't write {self.path}: {error.strerror}; all rows before this one are "
                "kept, the same command goes on from there"
            ) from error


def write(path: Path, manifest: Mapping[str, Any], rows: Iterable[Row]) -> None:
    """A complete result file in one go, replacing the file and its manifest."""
    _replace(manifest_path(path), json.dumps(manifest, indent=2) + "\n")
    _replace(path, "".join(f"{line}\n" for line in (_HEADER, *rows)))


def _rows(path: Path, content: bytes) -> list[Row]:
    try:
        lines = content[: content.rfind(b"\n") + 1].decode().splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a result file: expected text in UTF-8") from None
    if lines and lines[0] != _HEADER:
        raise ValueError(
            f"{path}:1: expected the columns {' '.join(COLUMNS)}; got {short(lines[0])}"
        )
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            rows.append(Row.parse(line))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: expected {error}; got {short(line)}") from None
    return rows


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(path.name + ".new")
    with open(draft, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if not prefix and key == "run":
            continue
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
