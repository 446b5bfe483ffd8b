"""The rows of a result file and what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import cached_property
from html import escape
from typing import Any, Self

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import round_radii, short, truncated
from rsbounds._numerics.extras import need
from rsbounds._numerics.text import abridged, shown
from rsbounds.answers import ANSWERS, Summary
from rsbounds.certificate import ABSTAIN, WHOLE_GROUP
from rsbounds.results._manifest import Manifest
from rsbounds.results._program import program
from rsbounds.results._row import Row
from rsbounds.results._text import html_table, some


@dataclass(frozen=True)
class Counted:
    """What one pass over rows gives to tables, plots, pages and cards.

    ``radii`` are those of the rows that are correct, in increasing order; ``p_a`` lower
    bounds of the true class's probability, 0 where it is not certified; the rest are
    distinct values in the order met, and sums. Inputs that weren't sampled, because
    their selected class is wrong, are ``left_out`` and not ``abstained``.
    """

    rows: int
    radii: Array
    abstained: int
    left_out: int
    p_a: tuple[float, ...]
    sigmas: tuple[float, ...]
    norms: tuple[float | str, ...]
    ns: tuple[int, ...]
    bounds: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...]  # method and scope
    largest: float  # of all finite radii, correct or not; 0 without one
    seconds: float

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for method, _ in self.kinds))

    @property
    def scopes(self) -> list[str]:
        return list(dict.fromkeys(scope for _, scope in self.kinds))

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """One pass."""
        number = abstained = left_out = 0
        seconds = largest = 0.0
        radii = list[float]()
        p_a = list[float]()
        kinds: dict[tuple[str, str], None] = {}
        names = ("sigma", "norm", "n", "bound")
        distinct: dict[str, dict[Any, None]] = {name: {} for name in names}
        for row in rows:
            number += 1
            left_out += row.is_left_out
            abstained += row.predict == ABSTAIN and not row.is_left_out
            seconds += row.seconds
            kinds[row.method, row.scope] = None
            if math.isfinite(row.radius):
                largest = max(largest, row.radius)
            if row.correct:
                radii.append(row.radius)
            if row.p_a >= 0:
                p_a.append(row.p_a if row.correct else 0.0)
            for name, values in distinct.items():
                value = getattr(row, name)
                # NaN, which is not itself, would be kept again for each row
                values[math.nan if value != value else value] = None
        return cls(
            rows=number,
            radii=np.sort(np.array(radii, dtype=np.float64)),
            abstained=abstained,
            left_out=left_out,
            p_a=tuple(p_a),
            sigmas=tuple(distinct["sigma"]),
            norms=tuple(distinct["norm"]),
            ns=tuple(distinct["n"]),
            bounds=tuple(distinct["bound"]),
            kinds=tuple(kinds),
            largest=largest,
            seconds=seconds,
        )

    def share(self, count: Any) -> Array:
        """A count or sum over the number of rows; NaN without rows."""
        total = np.asarray(count, dtype=np.float64)
        with np.errstate(under="ignore"):
            return total / self.rows if self.rows else np.full(total.shape, np.nan)


@dataclass(frozen=True, repr=False)
class Results:
    """Rows of one certification file.

    Attributes
    ----------
    name : str
        Path of the file; "" where there is none.
    rows : tuple of Row
        In the order of the file.
    note : str
        What a report must tell of how it was read.
    manifest : Manifest or None
        What the rows depend on; None of another tool's file.
    columns : tuple of str
        The names in its first line.
    printed : mapping
        The cells of ``radius`` and ``p_a`` as they stand in a file without a manifest.
    """

    name: str
    rows: tuple[Row, ...]
    note: str = ""
    manifest: Manifest | None = None
    columns: tuple[str, ...] = ()
    printed: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        """In a line; the rows are in ``rows``."""
        parts = [f"{len(self.rows)} rows"]
        if self.manifest is not None:
            parts.append(self.answer)
        levels = [sigma for sigma in self.counted.sigmas if not math.isnan(sigma)]
        if levels:
            ends = dict.fromkeys((f"{min(levels):.4g}", f"{max(levels):.4g}"))
            parts.append(f"sigma {' to '.join(ends)}")
        if self.rows and self.classifies:
            parts.append(f"accuracy {self.clean_accuracy():.4f}")
            parts.append(f"average radius {truncated(self.average_radius(), 4)}")
        name = f" {shown(self.name)}" if self.name else ""
        return f"<Results{name}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """As a notebook shows it: the line, the table of a report, its notes."""
        title = f"<p><code>{escape(repr(self))}</code></p>"
        notes = "".join(f"<li>{escape(shown(note))}</li>" for note in self.notes())
        return f"{title}{html_table(self._shown())}<ul>{notes}</ul>"

    def _shown(self) -> list[Sequence[str]]:
        """The head and the lines of the table that a notebook shows.

        None of rows that can't be reported.
        """
        try:
            report = self.report()
        except ValueError:  # columns are missing: the line still says what it is
            return []
        if report is not None:
            return list(report.table)
        if not self.rows or not self.classifies:
            return []
        radii = round_radii(self.counted.largest)
        shares = self.certified_accuracy(radii).tolist()
        head = ["radius", *(short(radius) for radius in radii)]
        return [head, ["certified accuracy", *(f"{share:.3f}" for share in shares)]]

    def to_pandas(self) -> Any:
        """The rows as a data frame of pandas, a line for each.

        Their further columns too.

        Raises
        ------
        ImportError
            Without pandas.
        """
        pandas = need("pandas", "to_pandas")
        lines = []
        for row in self.rows:
            line = {own.name: getattr(row, own.name) for own in fields(row)}
            further = line.pop("extra", {})
            lines.append(line | dict(further))
        return pandas.DataFrame(lines)

    @cached_property
    def counted(self) -> Counted:
        """One pass over the rows, made once."""
        return Counted.of(self.rows)

    @property
    def answer(self) -> str:
        """The name of the answer; a file without a manifest answers with a class."""
        stated = self.manifest.answer["name"] if self.manifest else next(iter(ANSWERS))
        return str(stated)

    @property
    def classifies(self) -> bool:
        """Whether rows predict classes, so that certified accuracies say something."""
        return self.answer not in ANSWERS or ANSWERS[self.answer].classifies

    def report(self) -> Summary | None:
        """What a report shows of its rows; None: certified accuracies, as of classes.

        ValueError for rows that lack a column of their answer.
        """
        if self.manifest is None or not self.rows or self.answer not in ANSWERS:
            return None
        try:
            return ANSWERS[self.answer].report(self.manifest.answer, self.rows)
        except (LookupError, TypeError) as error:
            raise ValueError(
                f"{self.name}: rows or manifest lack {error} of the answer "
                f"{self.answer!r}"
            ) from None
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def certified_accuracy(self, radii: Any) -> Array:
        """Share of rows that are correct with radius >= r, for each r.

        NaN without rows.
        """
        at = checks.as_floats("radii", radii, 0.0, nan=False)
        held = self.counted.radii
        return self.counted.share(len(held) - np.searchsorted(held, at))

    def clean_accuracy(self) -> float:
        """Accuracy of the smoothed classifier; an abstention counts as an error."""
        return float(self.counted.share(len(self.counted.radii)))

    def abstention(self) -> float:
        """Share of rows that abstain (predict = -1).

        Inputs that weren't sampled are left out.
        """
        sampled = self.counted.rows - self.counted.left_out
        return self.counted.abstained / sampled if sampled else math.nan

    def average_radius(self) -> float:
        """Average certified radius; a row that is not correct counts as radius 0."""
        held = self.counted.radii.tolist()
        try:
            return float(self.counted.share(math.fsum(held)))
        except OverflowError:  # the sum is beyond float64, the average isn't
            return math.fsum(radius / len(self.rows) for radius in held)

    def by_class(self) -> dict[int, Results]:
        """The rows of each label, labels in order."""
        groups: dict[int, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.label, []).append(row)
        return {
            k: replace(self, rows=tuple(groups[k]), printed={}) for k in sorted(groups)
        }

    def scopes(self) -> list[str]:
        """The distinct scopes of the rows, in the order met."""
        return self.counted.scopes

    def missing(self) -> list[int]:
        """Indices of inputs that the manifest selects and the file lacks.

        [] where it can't say.
        """
        return (
            self.manifest.places({row.idx for row in self.rows})[0]
            if self.manifest
            else []
        )

    def p_a(self) -> list[float]:
        """Lower bounds of the true class's probability.

        p_A where it is certified, else 0.
        """
        return list(self.counted.p_a)

    def samples(self) -> int:
        """How many samples were drawn to bound probabilities, of all rows together."""
        return sum(row.drawn for row in self.rows)

    def rate(self) -> float:
        """Rows a second of one worker, by the rows' own times.

        NaN where they don't say.
        """
        seconds = self.counted.seconds
        return len(self.rows) / seconds if seconds > 0 else math.nan

    def notes(self) -> list[str]:
        """What a report must tell of the file.

        How it was read, how it came about, what it leaves out, how far the run is.
        """
        return [shown(note) for note in self._notes() if note]

    def program(self) -> str:
        """For which program the certificates hold, in one line; "" without a margin."""
        if self.manifest is None:
            return ""
        counted = self.counted
        return program(self.manifest, norms=counted.norms, scopes=counted.scopes)

    def _notes(self) -> Iterator[str]:
        yield self.note
        if self.manifest is None:
            return
        yield self.manifest.selection()
        yield from self._notes_of_evidence()
        yield from self._notes_of_history(self.manifest)
        yield from self._notes_of_choice(self.manifest)
        if left := self.manifest.corrupt() - {row.idx for row in self.rows}:
            yield f"{len(left)} inputs left out: they are said to be corrupt (stated)"
        yield self._progress()

    def _notes_of_evidence(self) -> Iterator[str]:
        """What certificates are against, for which program, and what wasn't sampled."""
        for norm in self.counted.norms:
            if str(norm).startswith(WHOLE_GROUP) and self.classifies:
                yield (
                    f"certified against {norm}, whatever the radius: "
                    f"{self.clean_accuracy():.4f} of the rows are right"
                )
        yield self.program()
        manifest = self.manifest
        if manifest and not manifest.procedure.repeats and not self.program():
            yield (
                "noise of the operating system's bits: no seed draws these samples "
                "again"
            )
        if left_out := self.counted.left_out:
            yield (
                f"{left_out} of {len(self.rows)} inputs were not sampled, because "
                "their selected class is wrong: abstentions and p_A are of the others"
            )

    def _notes_of_history(self, manifest: Manifest) -> Iterator[str]:
        """Say which part of a run the rows are, and what changed on the way."""
        if manifest.shard != "0/1":
            yield f"shard {manifest.shard} alone: a part of its run"
        for step in manifest.history:
            if changes := step.get("changes"):
                yield (
                    f"{step.get('rows')} rows are from before a change: "
                    f"{abridged('; '.join(changes))}"
                )
        yield from manifest.after_looking()

    def _notes_of_choice(self, manifest: Manifest) -> Iterator[str]:
        """Whether the inputs that are certified chose the rule."""
        if manifest.fitted_on(self.rows):
            yield (
                "the rule was fitted on the rows that it certifies: its level does not "
                "hold"
            )
        elif chosen := manifest.chosen_on(self.rows):
            yield (
                f"{chosen} of these inputs chose the rule: on others it may do worse"
            )

    def _progress(self) -> str:
        """How far the run is; "" where nothing is missing."""
        missing = self.missing()
        if not missing:
            return ""
        done = len(self.rows)
        rate = self.rate()
        text = f"{done} of {done + len(missing)} rows"
        if rate > 1e-6:
            left = timedelta(seconds=math.ceil(len(missing) / rate))
            text += f", {rate:.3g} a second for one worker, {left} left for one"
        return f"{text}: {some(missing)} missing"
