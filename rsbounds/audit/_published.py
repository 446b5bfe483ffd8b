"""A file without a manifest: whether any count could have earned its radii.

They are judged as they are printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import nan
from pathlib import Path

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import number, truncated
from rsbounds._numerics.extras import need
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds.audit import _bounds, _rows
from rsbounds.audit._balls import Event, arb, ctx, event
from rsbounds.audit._finding import Audit, Finding, Kind, Remark
from rsbounds.audit._printing import DOUBLE, Printing, as_text
from rsbounds.confidence.internal import arguments, end
from rsbounds.gaussian import radius as gaussian_radius
from rsbounds.procedure import Procedure
from rsbounds.results import Results, Row
from rsbounds.results.internal import Reading, load, manifest_path

#: What others call the lower bound of the top class's probability.
_P_A = ("p_a", "pA", "pa", "p_A", "pABar")
#: Numbers of inputs of the usual data sets, and of pictures of ImageNet.
_SIZES = (784, 1024, 3072, 12288, 150528, 196608, 268203)
_NEAR_SIZE = 0.005  # as far as three digits and a largest count of n - 1 go
_FEW = 5
_FAR = 0.1
_UNCHECKED = (
    "without counts a radius that some count earns stands as it is; whether the model "
    "drew that count, labels, predictions and times can't be checked"
)


def verify_printed(
    path: str | os.PathLike[str],
    *,
    sigma: float,
    n: int,
    alpha: float,
    columns: Mapping[str, str] | None = None,
    norm: float | None = None,
) -> Audit:
    """Audit radii of fixed Gaussian noise in a file that has no manifest.

    Radii are compared with those that counts of ``n`` samples earn by Clopper and
    Pearson's bound at level ``alpha``, with 1 - p_a for the rest, as the field
    certifies. How the column was printed (digits, rounded or cut, a common factor) is
    inferred from the column. A finding's kind says what is wrong with a radius:

    - too large: above every count's radius, by more than printing explains; or above
      that of its own count, in a column ``count``,
    - rounded up: above every count's radius that prints so, by printing alone,
    - arithmetic: the same by less than 1e-10 of it, as formulas in doubles may be,
    - no count earns it: below the largest, but no count's radius prints so,
    - contradiction: the row has something otherwise than itself, or than is stated.

    The first and the last fail, the third not even where printing does; a radius that
    is at most what some count earns never does. Bounds are decided in ball
    arithmetic. A column ``p_a`` (or ``pA``) is
    compared with the counts and with the radii; other columns are said to be unused.

    Parameters
    ----------
    path : path-like
        A result file, also in the formats of others that ``rsbounds.results.read``
        reads.
    sigma, n, alpha
        As the file's paper states them.
    columns : mapping, optional
        As of ``rsbounds.results.read``.
    norm : float, optional
        The p of the radii's norm, where it isn't 2 and no column says it. Counts
        earn no larger radius in any other norm than in l2, and for p above 2 a smaller
        one, by a factor of the dimension, which is inferred as any other is.

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
    warn_of_confidence(procedure.alpha, stacklevel=2)
    level = checks.number("sigma", sigma, 0, closed="neither")
    measured = 2.0 if norm is None else checks.number("norm", norm, 1.0, finite=False)
    file = load(place, strict=False, reading=Reading.of(columns, norm))
    if "counts" in file.columns:
        raise ValueError(
            f"{place} has the columns of rsbounds: without its manifest "
            f"{manifest_path(place).name} beside it it can't be verified"
        )
    numbered = list(enumerate(file.rows, start=2))
    by_paper = {"sigma": level, "n": procedure.n}
    by_paper = {name: value for name, value in by_paper.items() if name in file.columns}
    printed = _Published.of(file, level, procedure, measured)
    findings = [] if numbered else [Finding(Kind.ROWS, None, "has no rows")]
    findings += _rows.twice(numbered)
    for line, row in numbered:
        texts = [
            *_rows.of_itself(row),
            *_otherwise(row, by_paper | {"norm": measured}),
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


def _otherwise(row: Row, by_paper: Mapping[str, float]) -> Iterator[Remark]:
    """What the row has otherwise than its paper is said to state."""
    if row.idx < 0:
        yield Kind.ROWS, "is no index of an input"
    for name, value in by_paper.items():
        if getattr(row, name) != value:
            text = f"{name} is {getattr(row, name)}, {value} as stated"
            yield Kind.CONTRADICTION, text


@dataclass(frozen=True)
class _Published:
    """The radii that counts earn, and how a file prints its own.

    ``norm``: the p of the radii's norm; ``counts``: whether a column has the counts;
    ``column``: that of p_a, and how it is printed, or "".
    """

    level: float
    n: int
    alpha: float
    norm: float
    radii: Array
    printing: Printing
    counts: bool
    column: str
    printing_p: Printing
    printed: Mapping[float, int]  # the largest count that prints as a radius; -1: none

    @classmethod
    def of(
        cls, file: Results, level: float, procedure: Procedure, norm: float
    ) -> _Published:
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
        printing = Printing.of_radii(cells, radii)
        distinct = np.unique([row.radius for row in file.rows])
        largest = printing.counts(distinct, radii)
        return cls(
            level=level,
            n=procedure.n,
            alpha=procedure.alpha,
            norm=norm,
            radii=radii,
            printing=printing,
            printed=dict(zip(distinct.tolist(), largest.tolist(), strict=True)),
            counts="count" in file.columns and counted,
            column=column,
            printing_p=Printing.of([text for text in bounds if _is_number(text)]),
        )

    def notes(self, file: Results) -> Iterator[str]:
        """What holds for the file as a whole, each said once."""
        known = {"idx", "label", "predict", "radius", "correct", "time"}
        known |= {"sigma", "n", "norm", self.column, "count" if self.counts else ""}
        unused = [name for name in file.columns if name not in known]
        if file.note:
            yield file.note
        if any(row.radius for row in file.rows):
            yield f"radii are printed with {self.printing}"
        if self.printing.factor != 1:
            factor = f"{self.printing.factor:.6g}"
            level = f"{self.printing.factor * self.level:.6g}"
            yield (
                f"radii are {factor} times those of counts at sigma {self.level:g}, as "
                f"they are at sigma {level}"
            )
        if hint := self._hint_of_norm(file):
            yield hint
        if unused:
            yield f"columns that nothing is compared with: {', '.join(unused)}"
        if file.rows and not self.counts:
            yield _UNCHECKED

    def _hint_of_norm(self, file: Results) -> str:
        """What to say where all radii are far below those of the stated level."""
        largest = max((row.radius for row in file.rows), default=0.0)
        share = largest / float(self.radii[-1])
        if self.norm != 2 or len(file.rows) < _FEW or not 0 < share < _FAR:
            return ""
        sizes = [d for d in _SIZES if abs(share * d**0.5 - 1) < _NEAR_SIZE]
        size = str(sizes[0]) if sizes else f"some {share**-2:.2g}"
        return (
            f"no radius is above {share:.3g} times the most that {self.n} of {self.n} "
            f"samples earn at sigma {self.level:g}: another sigma, or radii in linf, "
            f"l2/sqrt(d) with d = {size}? Then give norm=inf"
        )

    def findings(self, row: Row) -> Iterator[Remark]:
        """What is wrong with a row's radius, count and p_a."""
        p_a = _p_a(row, self.column)
        if p_a == p_a:
            yield from self._of_bound(row, p_a)
        if not row.radius:
            return
        if self.counts:
            yield from self._of_count(row)
            return
        opening = f"radius is {row.radius}"
        count = self.printed[row.radius]
        if row.radius > self.radii[-1] and not self._fits(row.radius, self.n):
            most = f"the most that {self.n} of {self.n} samples earn"
            yield Kind.TOO_LARGE, f"{opening}, above {_cut(self.radii[-1])}, {most}"
        elif count < 0:
            text = f"{opening}, which no count of {self.n} samples earns"
            yield Kind.UNEARNED, text
        elif self.printing.factor >= 1 and not self._shown(row.radius, count):
            which = f"the largest count that is printed so, {count} of {self.n}, earns"
            yield self._above(row.radius, count, f"{which} {_cut(self.radii[count])}")

    def _of_count(self, row: Row) -> Iterator[Remark]:
        """What is wrong with a radius beside its count."""
        if self._shown(row.radius, row.count):
            return
        most = f"its {row.count} of {self.n} samples earn {_cut(self.radii[row.count])}"
        if self._fits(row.radius, row.count):
            yield self._above(row.radius, row.count, most)
        else:
            yield Kind.TOO_LARGE, f"radius is {row.radius}, but {most}"

    def _above(self, radius: float, count: int, most: str) -> Remark:
        """How a radius came to be above the one of its count."""
        if self._shown(radius * (1 - DOUBLE), count):
            return Kind.ARITHMETIC, f"radius is {radius}, above by arithmetic: {most}"
        return Kind.ROUNDED, f"radius is {radius}, rounded up: {most}"

    def _of_bound(self, row: Row, p_a: float) -> Iterator[Remark]:
        """What is wrong with a bound of the top class's probability."""
        opening = f"{self.column} is {p_a}"
        count = row.count if self.counts else self.n
        low, high = (
            float(end[0]) for end in self.printing_p.ends(np.array([p_a]))
        )  # what prints so
        if not self._is_bound(p_a, count):
            kind = Kind.TOO_LARGE
            if self._is_bound(p_a * (1 - DOUBLE), count):
                kind = Kind.ARITHMETIC
            elif low <= 0 or self._is_bound(low, count):
                kind = Kind.ROUNDED
            most = _bound_of(count, self.n, self.alpha)
            text = f"{opening}, above {_cut(most)}, that of {count} of {self.n} samples"
            yield kind, text
        if not row.radius or high >= 1:
            return
        least, _ = self.printing.ends(np.array([row.radius]))
        shown = float(gaussian_radius(high, self.level))
        if least[0] > shown * (1 + self.printing.slack):
            text = f"radius is {row.radius}, but {opening}, which gives {_cut(shown)}"
            yield Kind.CONTRADICTION, text

    def _fits(self, radius: float, count: int) -> bool:
        """Whether printing alone can have made a radius of a count's."""
        low, _ = self.printing.ends(np.array([radius]))
        return bool(low[0] <= self.radii[count])

    def _shown(self, radius: float, count: int) -> bool:
        """Whether a count is proved to earn a radius; what can't be decided is not."""
        if not 0 < radius < np.inf:
            return radius == 0
        terms = count, self.n, self.alpha
        # whoever earns a radius earns each smaller one: a proof for each count, once
        most = float(self.radii[count])
        if radius < most < np.inf and _earns(most, self.level, *terms):
            return True
        return _earns(radius, self.level, *terms)

    def _is_bound(self, p: float, count: int) -> bool:
        """Whether a count is proved to show a bound."""
        terms = count, self.n, self.alpha
        most = _bound_of(*terms)
        return p == 0 or (p < most and _bounds_p(most, *terms)) or _bounds_p(p, *terms)


@lru_cache(maxsize=2**16)
def _earns(radius: float, level: float, count: int, n: int, alpha: float) -> bool:
    """Whether balls prove that a count earns this very radius."""
    with ctx.workprec(_bounds.PRECISION):
        at = event(arb(radius) / arb(level))
        return bool(_bounds.tail(count, n, *at) <= arb(alpha))


@lru_cache(maxsize=2**16)
def _bounds_p(p: float, count: int, n: int, alpha: float) -> bool:
    """Whether balls prove that a count shows this very bound."""
    with ctx.workprec(_bounds.PRECISION):
        at = Event(arb(p), 1 - arb(p))
        return bool(_bounds.tail(count, n, *at) <= arb(alpha))


@lru_cache(maxsize=2**16)
def _bound_of(count: int, n: int, alpha: float) -> float:
    """The bound that a count shows, in doubles."""
    return float(end(*arguments(count, n, alpha)).p)


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
    return end(*arguments(np.arange(n + 1), n, alpha)).z
