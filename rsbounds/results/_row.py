"""One row of a result file, and the columns."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Self

import numpy as np

from rsbounds._numerics.decimals import (
    dense_counts,
    number,
    sparse_counts,
    truncated,
    whole_number,
)
from rsbounds._numerics.records import Record
from rsbounds.certificate import ABSTAIN, Certificate, Norm


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("0 or 1")
    return text == "1"


def as_radius(text: str) -> float:
    with suppress(ValueError):
        if (value := number(text.lower())) >= 0:
            return value
    raise ValueError("a number >= 0")


def _or_nan(text: str) -> float:
    return math.nan if text == "-" else number(text)


def norm_of(text: str) -> float | str:
    """The norm that a cell names."""
    return number(text) if Norm.named(text) is None else text


def _labels(text: str) -> int | tuple[int, ...]:
    several = tuple(map(whole_number, text.split(",")))
    return several if len(several) > 1 else several[0]


_INTEGER, _TEXT, _COUNTS = (
    (whole_number, str),
    (str, str),
    (dense_counts, sparse_counts),
)
_EXACT = _or_nan, lambda value: "-" if math.isnan(value) else repr(float(value))
# each column with what reads it and what writes it
_COLUMNS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("idx", "label"), _INTEGER),
    "predict": (_labels, lambda labels: ",".join(map(str, np.ravel(labels)))),
    "radius": (as_radius, truncated),
    "correct": (_flag, "{:d}".format),
    "time": _TEXT,
    **dict.fromkeys(("count", "n"), _INTEGER),
    "p_a": (_or_nan, truncated),
    "sigma": _EXACT,
    **dict.fromkeys(("method", "scope", "bound"), _TEXT),
    "norm": (norm_of, str),
    **dict.fromkeys(("z_a", "z_b"), _EXACT),
    **dict.fromkeys(("select", "counts"), _COUNTS),
    "void": _INTEGER,
    "input": _TEXT,
}
#: The columns of a new file; the first five are the field's.
COLUMNS = tuple(_COLUMNS)
FIELD = COLUMNS[:5]
_OF_CERTIFICATE = [field.name for field in fields(Certificate)]


@dataclass(frozen=True, slots=True, eq=False)
class Row(Record):
    """One certified input; what a file does not say stands at its default.

    Rows are equal if they say the same; a NaN says that there is no value, and equals
    another NaN.

    Parameters
    ----------
    idx, label, predict, radius, correct : int, int, int, float, bool
        The field's columns; ``predict`` is -1 for an abstention, and for the best k
        classes a tuple of labels.
    scope : str
        For which classifier the certificate holds; "" where the file has no such
        column.
    time : str
        How long it took, as h:mm:ss.
    count, n, p_a, sigma, method, bound, norm, z_a, z_b, select, counts, void
        As in :class:`rsbounds.certificate.Certificate`; counts without their trailing
        zeros.
    input : str
        Hash of the input and its label.
    extra : mapping
        Further columns of the file, as text.

    Examples
    --------
    >>> from rsbounds.results import Row
    >>> Row(0, 7, 7, 0.75, True, "fixed noise").radius
    0.75
    """

    idx: int
    label: int
    predict: int | tuple[int, ...]
    radius: float
    correct: bool
    scope: str = ""
    time: str = ""
    count: int = 0
    n: int = 0
    p_a: float = math.nan
    sigma: float = math.nan
    method: str = ""
    bound: str = "clopper-pearson"
    norm: float | str = 2.0
    z_a: float = math.nan
    z_b: float = math.nan
    select: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    void: int = 0
    input: str = "-"
    extra: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        idx: int,
        label: int,
        certificate: Certificate,
        seconds: float,
        *,
        input: str = "-",
        extra: Mapping[str, str] | None = None,
    ) -> Self:
        """The row of a certificate."""
        entries = {name: getattr(certificate, name) for name in _OF_CERTIFICATE}
        for name in ("select", "counts"):
            # a file doesn't hold the zeros behind the last class
            entries[name] = tuple(map(int, np.trim_zeros(entries[name], "b")))
        time = str(timedelta(seconds=seconds))
        entries["time"] = time if "." in time else f"{time}.000000"
        correct = holds(label, certificate.predict)
        return cls(
            idx=idx,
            label=label,
            correct=correct,
            input=input,
            extra=extra or {},
            **entries,
        )

    @classmethod
    def parse(cls, line: str, columns: Sequence[str]) -> Self:
        """Read the row in a line of text under a header.

        The error says what was expected of a bad one.
        """
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise ValueError(f"{len(columns)} fields separated by tabs")
        values: dict[str, Any] = {"extra": {}}
        for column, text in zip(columns, cells, strict=True):
            if column not in _COLUMNS:
                values["extra"][column] = text
                continue
            read = _COLUMNS[column][0]
            try:
                values[column] = read(text if read is str else text.strip())
            except ValueError as error:
                raise ValueError(f"{error} in column {column}") from None
        return cls(**values)

    def text(self, columns: Sequence[str]) -> str:
        """The line of this row under a header."""
        cells = [
            _COLUMNS[column][1](getattr(self, column))
            if column in _COLUMNS
            else self.extra.get(column, "")
            for column in columns
        ]
        return "\t".join(cells)

    @property
    def is_left_out(self) -> bool:
        """Whether the input wasn't sampled, because its selected class is wrong."""
        return not self.n and bool(self.select) and math.isnan(self.p_a)

    @property
    def drawn(self) -> int:
        """How many samples were drawn to bound a probability.

        n, unless the run went on after the look that the row is of.
        """
        text = self.extra.get("drawn", "")
        return int(text) if text.isdecimal() else self.n

    @property
    def seconds(self) -> float:
        """``time`` in seconds; 0 where the file does not say."""
        return seconds_in(self.time)


def seconds_in(time: str) -> float:
    """The seconds of a text such as 1 day, 0:01:07.97; 0 of another text."""
    try:
        days, _, clock = time.rpartition(" day")
        hours, minutes, seconds = map(float, clock.rpartition(" ")[2].split(":"))
        return 86400 * float(days or 0) + 3600 * hours + 60 * minutes + seconds
    except ValueError:
        return 0.0


def holds(label: int, predict: int | tuple[int, ...]) -> bool:
    """Whether a prediction is the label, or has it among its labels."""
    return (
        label in predict if isinstance(predict, tuple) else predict == label != ABSTAIN
    )
