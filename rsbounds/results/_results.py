"""The rows of a result file and what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Self

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import round_radii, short, truncated
from rsbounds._numerics.extras import need
from rsbounds._numerics.notebook import view
from rsbounds._numerics.text import abridged, named_inputs, shown
from rsbounds.answers import ANSWERS, Summary
from rsbounds.certificate import Norm
from rsbounds.results._columns import Columns, FileRows, seconds_of_rows
from rsbounds.results._foreign import OF_INTERVALS
from rsbounds.results._manifest import Manifest
from rsbounds.results._program import program
from rsbounds.results._row import COLUMNS, Row
from rsbounds.schemes import METHODS


@dataclass(frozen=True)
class Counted:
    """What the columns of rows give to tables, plots, pages and cards.

    ``radii`` are those of the rows that are correct, in increasing order; the rest are
    distinct values in the order met, and sums. Inputs that weren't sampled, because
    their selected class is wrong, are ``left_out`` and not ``abstained``.
    """

    rows: int
    radii: Array
    abstained: int
    left_out: int
    sigmas: tuple[float, ...]
    norms: tuple[float | str, ...]
    ns: tuple[int, ...]
    bounds: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...]  # method and scope
    largest: float  # of all finite radii, correct or not; 0 without one
    idx: Array

    @property
    def whole(self) -> bool:
        """Whether all radii count changes, so that they are whole numbers."""
        return bool(self.norms) and all(Norm.of(norm).counts for norm in self.norms)

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for method, _ in self.kinds))

    @property
    def scopes(self) -> list[str]:
        return list(dict.fromkeys(scope for _, scope in self.kinds))

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """What the columns of rows say."""
        columns = Columns.of(rows)
        correct, radius = columns.correct, columns.radius
        radii = radius[correct]
        radii.sort()
        return cls(
            rows=len(radius),
            radii=radii,
            abstained=int((columns.abstains & ~columns.left_out).sum()),
            left_out=int(columns.left_out.sum()),
            sigmas=columns.sigmas,
            norms=columns.norms,
            ns=columns.ns,
            bounds=columns.bounds,
            kinds=columns.kinds,
            largest=float(radius.max(where=np.isfinite(radius), initial=0.0)),
            idx=columns.idx,
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
    rows : sequence of Row
        In the order of the file; those of a file are made when they are asked for.
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
    rows: Sequence[Row]
    note: str = ""
    manifest: Manifest | None = None
    columns: tuple[str, ...] = ()
    printed: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        """One line of what was read; the rows are in ``rows``."""
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
        return view(repr(self), self._shown(), self.notes())

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
        radii = round_radii(self.counted.largest, whole=self.counted.whole)
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
            line = {column.name: getattr(row, column.name) for column in fields(row)}
            further = line.pop("extra", {})
            lines.append(line | dict(further))
        return pandas.DataFrame(lines)

    @cached_property
    def counted(self) -> Counted:
        """What the rows say together, counted once."""
        return Counted.of(self.rows)

    def has_column(self, name: str) -> bool:
        """Whether rows have a further column of this name."""
        if isinstance(self.rows, FileRows):
            return name in self.rows.columns
        return any(name in row.extra for row in self.rows)

    @property
    def answer(self) -> str:
        """The name of the answer; a file without a manifest answers with a class."""
        if self.manifest is None:
            return next(iter(ANSWERS))
        return str(self.manifest.answer["name"])

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
        ordered = self.counted.radii
        below = np.searchsorted(ordered, at)
        return self.counted.share(len(ordered) - below)

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
        ordered = self.counted.radii
        try:
            return float(self.counted.share(math.fsum(ordered)))
        except OverflowError:  # the sum is beyond float64, the average isn't
            return math.fsum(ordered / len(self.rows))

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
        if self.manifest is None:
            return []
        return self.manifest.places(self.counted.idx)[0]

    def p_a(self) -> list[float]:
        """Lower bounds of the true class's probability.

        p_A where it is certified, else 0.
        """
        columns = Columns.of(self.rows)
        is_known = columns.p_a >= 0
        bounds: list[float]
        bounds = np.where(columns.correct, columns.p_a, 0.0)[is_known].tolist()
        return bounds

    @property
    def unused(self) -> list[str]:
        """Columns of another tool's file that nothing is read from."""
        known = {*COLUMNS, *OF_INTERVALS}
        return [name for name in self.columns if name not in known]

    def samples(self) -> int:
        """How many samples were drawn to bound probabilities, of all rows together."""
        return sum(row.drawn for row in self.rows)

    def rate(self) -> float:
        """Rows a second of one worker, by the rows' own times.

        NaN where they don't say.
        """
        seconds = seconds_of_rows(self.rows)
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
            if unused := self.unused:
                yield f"columns that are not used: {', '.join(unused)}"
            return
        yield self.manifest.selection()
        yield from self._notes_of_evidence()
        yield from self._notes_of_history(self.manifest)
        yield from self._notes_of_choice(self.manifest)
        yield from self._notes_of_threshold(self.manifest)
        corrupt = self.manifest.corrupt()
        if corrupt and (left := corrupt - set(self.counted.idx.tolist())):
            yield f"{len(left)} inputs left out: they are said to be corrupt (stated)"
        yield self._progress()

    def _notes_of_evidence(self) -> Iterator[str]:
        """What certificates are against, for which program, and what wasn't sampled."""
        for norm in self.counted.norms:
            if Norm.of(norm).whole_group and self.classifies:
                [right] = self.certified_accuracy([math.inf])
                yield (
                    f"certified against {norm}, whatever the radius: "
                    f"{right:.4f} of the rows are right"
                )
        manifest = self.manifest
        if manifest and self.classifies and METHODS.is_own(manifest.method):
            yield METHODS[manifest.method].remark(manifest.parameters, self.rows)
        yield self.program()
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

    def _notes_of_threshold(self, manifest: Manifest) -> Iterator[str]:
        """How the threshold of a flag was chosen, and whether these inputs did it."""
        yield manifest.calibration()
        if chosen := manifest.calibrated_on(self.rows):
            yield (
                f"{chosen} of these inputs chose the threshold: what is said of "
                "further ones does not hold for them"
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
        return f"{text}: {named_inputs(missing)} missing"
