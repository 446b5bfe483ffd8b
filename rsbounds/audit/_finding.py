"""What an audit returns."""

import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import Any

from rsbounds._numerics.text import shown
from rsbounds.results import Row
from rsbounds.results.internal import Status
from rsbounds.sampling.margins import Difference


class Kind(StrEnum):
    """What is wrong."""

    ROWS = "rows"  # missing, twice, or of no input of the run
    CONTRADICTION = "contradiction"  # of a row with the manifest or with its own counts
    UNDECLARED = "undeclared"  # an entry, parameter or column that nothing declares
    BOUND = "bound"  # the counts don't prove it
    RADIUS = "radius"  # the bounds don't prove it
    WEAK = "weak"  # sound, but well below what the counts show
    DATA = "data"  # an input's label, hash or size; inputs left out; other data
    MODEL = "model"  # another one than the manifest states
    LEVEL = (
        "level"  # of noise: not that of the input, or it refutes the bound of sigma(x)
    )
    COUNTS = "counts"  # redrawing gives other counts
    CARD = "card"  # an entry of it that its file gives otherwise
    TOO_LARGE = "too large"  # above every count, by more than printing explains
    ROUNDED = "rounded up"  # above what its count earns, by printing alone
    ARITHMETIC = "arithmetic"  # above it by less than 1e-10, relative
    UNEARNED = "no count earns it"  # and some count earns more

    @property
    def fails(self) -> bool:
        """Whether a file with such a finding is wrong.

        What printing or arithmetic in doubles explains, and a radius below what some
        count earns, is told and no more.
        """
        return self not in _TOLD

    @property
    def fails_strictly(self) -> bool:
        """Whether it fails where a radius that printing rounded up does."""
        return self is not Kind.ARITHMETIC

    @property
    def rank(self) -> int:
        """The order in which findings are told: the worst first."""
        return 1 + _TOLD.index(self) if self in _TOLD else 0


#: Findings that are told and make no file wrong, in the order in which they are told.
_TOLD = (Kind.ROUNDED, Kind.UNEARNED, Kind.ARITHMETIC)
Remark = tuple[Kind, str]
Numbered = tuple[int, Row]  # a row and its line


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a result file.

    Attributes
    ----------
    kind, text : Kind, str
        What it is about, and what is wrong in words.
    index, line : int or None
        The input and the line of the file, from 1; None for the file as a whole.
    """

    kind: Kind
    index: int | None
    text: str
    line: int | None = None

    def at(self, path: object) -> str:
        """The finding behind the name of its file, as compilers write it."""
        line = "" if self.line is None else f"{self.line}:"
        return (
            f"{path}:{line}{'' if self.index is None else f' input {self.index}:'} "
            f"{self.text}"
        )


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of :func:`verify`.

    Attributes
    ----------
    findings : tuple of Finding
        In the order of the lines.
    stated : tuple of str
        What the file rests on and nothing given here shows: names of the manifest's
        parameters; "sigma": the noise levels of the rows; "exact_noise": how
        noise was drawn; "sampler": that the writer's own draws the noise that radii are
        for; "system_bits": that its bits came from the operating system; "margin": that
        scores are within half of it of those of exact arithmetic; "counts": that the
        model draws them, of the manifest's seed, n0 and margin; "outputs": the same of
        real outputs, so the ends of all intervals; "data": labels and hashes of inputs;
        "truth": how maps agree with the true ones; "classes": how many those maps tell
        apart; "times": how long rows took.
    rows, proved, drawn : int
        How many rows the file has, were proved or are findings, and were drawn again.
    corrupt : tuple of int
        Inputs that the manifest says can't be decoded; where data were given, they were
        tried.
    seed : int
        What chose the rows of a sample.
    notes : tuple of str
        What holds for the file as a whole, each said once.
    facts : mapping
        Each entry of the manifest, and whether it is proved, compared or stated.
    votes : rsbounds.sampling.margins.Difference or None
        How the samples drawn again differ from those of other settings, where that was
        asked for.
    """

    findings: tuple[Finding, ...]
    stated: tuple[str, ...]
    rows: int
    proved: int
    drawn: int
    corrupt: tuple[int, ...]
    seed: int
    votes: Difference | None = None
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Status] = field(default_factory=dict)

    @property
    def fails(self) -> bool:
        """Whether a finding says that the file is wrong: not of printing alone."""
        return any(finding.kind.fails for finding in self.findings)

    @property
    def fails_strictly(self) -> bool:
        """Whether a finding is more than arithmetic in doubles explains."""
        return any(finding.kind.fails_strictly for finding in self.findings)

    def of_kind(self) -> dict[str, int]:
        """How many findings there are of each kind, the worst first."""
        kinds = sorted(self.findings, key=lambda finding: finding.kind.rank)
        return dict(Counter(finding.kind.value for finding in kinds))

    def on_card(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """What a card says of it: its entry ``verified``, plain numbers and texts.

        ``path`` is the file that was verified.
        """
        first = [finding.at(Path(path).name) for finding in self.findings[:20]]
        return {
            "rows": self.rows,
            "proved": self.proved,
            "findings": len(self.findings),
            "first": first,
            "stated": list(self.stated),
        }

    def missed(self, share: float) -> float:
        """The probability that no forged row was drawn again.

        ``share`` of all rows are forged.
        """
        forged = math.ceil(share * self.rows)
        return math.comb(self.rows - forged, self.drawn) / math.comb(
            self.rows, self.drawn
        )

    def _repr_html_(self) -> str:
        """As a notebook shows it: what was found, a line for each finding."""
        proved = f"{self.rows} rows, {self.proved} of them proved, {self.drawn} drawn"
        many = len(self.findings)
        line = f"Audit: {proved} again, {many or 'no'} finding{'s' * (many != 1)}"
        as_stated = f"; as stated: {', '.join(self.stated)}" if self.stated else ""
        texts = [escape(shown(finding.at(""))) for finding in self.findings[:20]]
        found = "".join(f"<li>{text}</li>" for text in texts)
        more = f"<li>and {many - 20} more</li>" if many > 20 else ""
        return f"<p><code>{escape(line + as_stated)}</code></p><ul>{found}{more}</ul>"
