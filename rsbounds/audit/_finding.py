"""What an audit returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is wrong."""

    ROWS = "rows"  # missing, twice, or of no input of the run
    CONTRADICTION = "contradiction"  # a row against the manifest, or against its own counts
    BOUND = "bound"  # of a probability, not proved by the counts
    RADIUS = "radius"  # not proved by the bounds
    WEAK = "weak"  # sound, but well below what the counts show
    DATA = "data"  # an input's label, hash or size; inputs left out
    LEVEL = "level"  # a noise level that is not that of its input, or refutes a bound of sigma(x)
    COUNTS = "counts"  # not drawn again by the model


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a result file.

    Attributes
    ----------
    kind : Kind
        What it is about.
    index : int or None
        The input; None for the file as a whole.
    text : str
        The finding in words.
    line : int or None
        Line of the file, from 1.
    """

    kind: Kind
    index: int | None
    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of :func:`verify`.

    Attributes
    ----------
    findings : tuple of Finding
        All that is wrong, in the order of the lines.
    stated : tuple of str
        What the radii rest on and nothing given here shows: names of the manifest's parameters,
        and "sigma" for the noise levels of the rows.
    rows, proved, drawn : int
        Numbers of rows in the file, of those whose bounds and radii were judged, and of those
        drawn again.
    corrupt : tuple of int
        Inputs that the manifest says can't be decoded; with data they were tried.
    seed : int
        What the random choice of rows was made with.
    """

    findings: tuple[Finding, ...]
    stated: tuple[str, ...]
    rows: int
    proved: int
    drawn: int
    corrupt: tuple[int, ...]
    seed: int
