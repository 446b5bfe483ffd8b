"""A file without a manifest: whether any count could have earned its radii.

They are judged as they are printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import number, truncated
from rsbounds._numerics.extras import need
from rsbounds.audit import _bounds, _rows
from rsbounds.audit._balls import Event, arb, ctx, event
from rsbounds.audit._finding import Audit, Finding, Kind, Said
from rsbounds.audit._printing import Printing, as_text
from rsbounds.confidence import lower_bound
from rsbounds.gaussian import radius as gaussian_radius
from rsbounds.procedure import Procedure
from rsbounds.results import Results, Row, load, manifest_path

#: What others call the lower bound of the top class's probability.
_P_A = ("p_a", "pA", "pa", "p_A", "pABar")
_UNCHECKED = (
    "without counts a radius that some count earns stands as it is; whether the model "
    "drew that count, labels, predictions and times can't be checked"
)


def verify_printed(
    path: str | os.PathLike[str], *, sigma: float, n: int, alpha: float
) -> Audit:
    """Audit l2 radii of fixed Gaussian noise in a file that has no manifest.

    Radii are compared with those that counts of ``n`` samples earn by Clopper and
    Pearson's bound at level ``alpha``, with 1 - p_a for the rest, as the field
    certifies. How the column was printed (digits, rounded or cut, a common factor) is
    inferred from the column. A finding's kind says what is wrong with a radius:

    - too large: above every count's radius, by more than printing explains; or above
      that of its own count, in a column ``count``,
    - rounded up: above every count's radius that prints so, by printing alone,
    - no count earns it: below the largest, but no count's radius prints so,
    - contradiction: the row has something otherwise than itself, or than is stated.

    The first and the last fail; a radius that is at most what some count earns never
    does. Bounds are decided in ball arithmetic. A column ``p_a`` (or ``pA``) is
    compared with the counts and with the radii; other columns are said to be unused.

    Parameters
    ----------
    path : path-like
        A result file, also in the formats of others that ``rsbounds.results.read``
        reads.
    sigma, n, alpha
        As the file's paper states them.

    Raises
    ------
    ValueError, OSError
        If the file is damaged, or has the columns of rsbounds, which a manifest belongs
        to; if a number is out of its domain; if the file can't be read.

    Examples
    --------
    >>> verify_printed("sigma_0.50", sigma=0.5, n=100000, alpha=0.001)  # doctest: +SKIP
    """
    need("flint", "an audit")
    place = Path(path)
    procedure = Procedure(n=n, alpha=alpha)
    level = checks.number("sigma", sigma, 0, closed="neither")
    file = load(place, strict=False)
    if "counts" in file.columns:
        raise ValueError(
            f"{place} has the columns of rsbounds: without its manifest "
            f"{manifest_path(place).name} beside it it can't be verified"
        )
    numbered = list(enumerate(file.rows, start=2))
    stated = {"sigma": level, "n": procedure.n}
    stated = {name: value for name, value in stated.items() if name in file.columns}
    printed = _Published.of(file, level, procedure)
    findings = [] if numbered else [Finding(Kind.ROWS, None, "has no rows")]
    findings += _rows.twice(numbered)
    for line, row in numbered:
        texts = [
            *_rows.of_itself(row),
            *_otherwise(row, stated | {"norm": 2.0}),
            *printed.findings(row),
        ]
        findings += [Finding(kind, row.idx, text, line) for kind, text in texts]
    findings.sort(key=lambda finding: (finding.kind.rank, finding.line or 0))
    return Audit(
        findings=tuple(findings),
        stated=("sigma", "n", "alpha"),
        rows=len(numbered),
        proved=len(numbered) if printed.counts else 0,  # without counts nothing is
        drawn=0,
        corrupt=(),
        seed=0,
        notes=tuple(printed.notes(file)),
    )


def _otherwise(row: Row, stated: Mapping[str, float]) -> Iterator[Said]:
    """What the row has otherwise than its paper is said to state."""
    if row.idx < 0:
        yield Kind.ROWS, "is no index of an input"
    for name, value in stated.items():
        if getattr(row, name) != value:
            text = f"{name} is {getattr(row, name)}, {value} as stated"
            yield Kind.CONTRADICTION, text


@dataclass(frozen=True)
class _Published:
    """The radii that counts earn, and how a file prints its own.

    ``counts``: whether a column has the counts; ``column``: that of p_a, and how it is
    printed, or "".
    """

    level: float
    n: int
    alpha: float
    radii: Array
    printing: Printing
    counts: bool
    column: str
    printing_p: Printing

    @classmethod
    def of(cls, file: Results, level: float, procedure: Procedure) -> _Published:
        radii = level * earned(procedure.n, procedure.alpha)
        cells = file.printed.get("radius") or [as_text(row.radius) for row in file.rows]
        counted = all(0 <= row.count <= procedure.n for row in file.rows)
        names = [name for name in _P_A if name in file.columns]
        column = names[0] if names else ""
        known = [p for row in file.rows if (p := _p_a(row, column)) == p]
        if not known or not all(0 <= p <= 1 for p in known):
            column = ""
        bounds = file.printed.get(column) or [
            row.extra.get(column, "") for row in file.rows
        ]
        return cls(
            level=level,
            n=procedure.n,
            alpha=procedure.alpha,
            radii=radii,
            printing=Printing.of_radii(cells, radii),
            counts="count" in file.columns and counted,
            column=column,
            printing_p=Printing.of([text for text in bounds if _is_number(text)]),
        )

    def notes(self, file: Results) -> Iterator[str]:
        """What holds for the file as a whole, each said once."""
        known = {"idx", "label", "predict", "radius", "correct", "time"}
        known |= {"sigma", "n", "norm", self.column, "count" if self.counts else ""}
        unused = [name for name in file.columns if name not in known]
        if any(row.radius for row in file.rows):
            yield f"radii are printed with {self.printing}"
        if self.printing.factor != 1:
            factor = f"{self.printing.factor:.6g}"
            level = f"{self.printing.factor * self.level:.6g}"
            yield (
                f"radii are {factor} times those of counts at sigma {self.level:g}, as "
                f"they are at sigma {level}"
            )
        if unused:
            yield f"columns that nothing is compared with: {', '.join(unused)}"
        if file.rows and not self.counts:
            yield _UNCHECKED

    def findings(self, row: Row) -> Iterator[Said]:
        """What is wrong with a row's radius, count and p_a."""
        p_a = _p_a(row, self.column)
        if p_a == p_a:
            yield from self._of_bound(row, p_a)
        if not row.radius:
            return
        if self.counts:
            yield from self._of_count(row)
            return
        stated = f"radius is {row.radius}"
        count = self.printing.count(row.radius, self.radii)
        if row.radius > self.radii[-1] and not self._fits(row.radius, self.n):
            most = f"the most that {self.n} of {self.n} samples earn"
            yield Kind.TOO_LARGE, f"{stated}, above {_cut(self.radii[-1])}, {most}"
        elif count is None:
            text = f"{stated}, which no count of {self.n} samples earns"
            yield Kind.UNEARNED, text
        elif self.printing.factor >= 1 and not self._shown(row.radius, count):
            which = f"the largest count that is printed so, {count} of {self.n}, earns"
            text = f"{stated}, rounded up: {which} {_cut(self.radii[count])}"
            yield Kind.ROUNDED, text

    def _of_count(self, row: Row) -> Iterator[Said]:
        """What is wrong with a radius beside its count."""
        if self._shown(row.radius, row.count):
            return
        most = f"its {row.count} of {self.n} samples earn {_cut(self.radii[row.count])}"
        if self._fits(row.radius, row.count):
            yield Kind.ROUNDED, f"radius is {row.radius}, rounded up: {most}"
        else:
            yield Kind.TOO_LARGE, f"radius is {row.radius}, but {most}"

    def _of_bound(self, row: Row, p_a: float) -> Iterator[Said]:
        """What is wrong with a bound of the top class's probability."""
        stated = f"{self.column} is {p_a}"
        count = row.count if self.counts else self.n
        low, high = (
            float(end[0]) for end in self.printing_p.ends(np.array([p_a]))
        )  # what prints so
        if not self._is_bound(p_a, count):
            rounded = low <= 0 or self._is_bound(low, count)
            kind = Kind.ROUNDED if rounded else Kind.TOO_LARGE
            most = float(lower_bound(count, self.n, self.alpha))
            text = f"{stated}, above {_cut(most)}, that of {count} of {self.n} samples"
            yield kind, text
        if not row.radius or high >= 1:
            return
        least, _ = self.printing.ends(np.array([row.radius]))
        shown = float(gaussian_radius(high, self.level))
        if least[0] > shown * (1 + self.printing.slack):
            text = f"radius is {row.radius}, but {stated}, which gives {_cut(shown)}"
            yield Kind.CONTRADICTION, text

    def _fits(self, radius: float, count: int) -> bool:
        """Whether printing alone can have made a radius of a count's."""
        low, _ = self.printing.ends(np.array([radius]))
        return bool(low[0] <= self.radii[count])

    def _shown(self, radius: float, count: int) -> bool:
        """Whether a count is proved to earn a radius; what can't be decided is not."""
        if not 0 < radius < np.inf:
            return radius == 0
        with ctx.workprec(_bounds.PRECISION):
            at = event(arb(radius) / arb(self.level))
            return bool(_bounds.tail(count, self.n, *at) <= arb(self.alpha))

    def _is_bound(self, p: float, count: int) -> bool:
        """Whether a count is proved to show a bound."""
        with ctx.workprec(_bounds.PRECISION):
            at = Event(arb(p), 1 - arb(p))
            return p == 0 or bool(_bounds.tail(count, self.n, *at) <= arb(self.alpha))


def _p_a(row: Row, column: str) -> float:
    """The bound in a column; NaN if there is none."""
    if column == "p_a":
        return row.p_a
    text = row.extra.get(column, "").strip()
    return number(text) if _is_number(text) else nan


def _is_number(text: str) -> bool:
    try:
        number(text.strip())
    except ValueError:
        return False
    return True


def _cut(limit: float) -> str:
    """A limit as text that is not above it."""
    text = truncated(max(limit, 0.0), 9)
    return text if float(text) == limit else f"{text}..."


def earned(n: int, alpha: float) -> Array:
    """The scores z_a of all counts from 0 to n, in order."""
    scores: Array = lower_bound(np.arange(n + 1), n, alpha, scores=True)
    return scores
