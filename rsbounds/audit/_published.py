"""A file without counts: whether any count could have earned its radii, as they are
printed.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.extras import need
from rsbounds.audit import _bounds, _rows
from rsbounds.audit._balls import arb, ctx, event
from rsbounds.audit._finding import Audit, Finding, Kind, Said
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure
from rsbounds.results import Row, load, manifest_path


def verify_printed(
    path: str | os.PathLike[str], *, sigma: float, n: int, alpha: float
) -> Audit:
    """Audit l2 radii of fixed Gaussian noise in a file that has no manifest and no
    counts.

    Each radius must be one that some count of ``n`` samples earns by Clopper and
    Pearson's bound at level ``alpha``, with 1 - p_a for the rest, as the field
    certifies: of a radius with all its digits, one within a relative 1e-6 of it, and
    where a file prints three digits or four decimals, one whose radius prints as the
    row's. A row is a finding if there is none, or unless ball arithmetic proves that
    the largest of them earns it. So are rows that contradict themselves or what is
    stated here.

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
        If the file is damaged, or has counts, which a manifest belongs to; if a number
        is out of its domain; if the file can't be read.

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
    printed = _Printed(
        level=level,
        n=procedure.n,
        alpha=procedure.alpha,
        radii=level * earned(procedure.n, procedure.alpha),
        style=style_of(file.rows),
    )
    findings = [] if numbered else [Finding(Kind.ROWS, None, "has no rows")]
    findings += _rows.twice(numbered)
    for line, row in numbered:
        texts = [
            *_rows.of_itself(row),
            *_otherwise(row, stated | {"norm": 2.0}),
            *printed.unearned(row.radius),
        ]
        findings += [Finding(kind, row.idx, text, line) for kind, text in texts]
    findings.sort(key=lambda finding: finding.line or 0)
    return Audit(
        findings=tuple(findings),
        stated=("sigma", "n", "alpha"),
        rows=len(numbered),
        proved=len(numbered),
        drawn=0,
        corrupt=(),
        seed=0,
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
class _Printed:
    """The radii that counts earn, and how a file prints them."""

    level: float
    n: int
    alpha: float
    radii: Array
    style: str

    def unearned(self, radius: float) -> Iterator[Said]:
        """Why no count earns a radius."""
        if not radius:
            return
        stated = f"radius is {radius}"
        count = count_of(radius, self.radii, self.style)
        if count is None and radius < self.radii[-1]:
            text = f"{stated}, which no count of {self.n} samples earns"
            yield Kind.RADIUS, text
        elif count is None:
            text = f"{stated}, more than any count shows: {self.radii[-1]:.9g}"
            yield Kind.RADIUS, text
        elif not self._shown(radius, count):
            which = f"{count} of {self.n}, which print so, show"
            text = f"{stated}, more than {which}: {self.radii[count]:.9g}"
            yield Kind.RADIUS, text

    def _shown(self, radius: float, count: int) -> bool:
        """Whether a count is proved to earn a radius; what can't be decided is not."""
        with ctx.workprec(_bounds.PRECISION):
            at = event(arb(radius) / arb(self.level))
            return bool(_bounds.tail(count, self.n, *at) <= arb(self.alpha))


def earned(n: int, alpha: float) -> Array:
    """The scores z_a of all counts from 0 to n, in order."""
    scores: Array = lower_bound(np.arange(n + 1), n, alpha, scores=True)
    return scores


def count_of(radius: float, radii: Array, style: str) -> int | None:
    """The largest count whose radius prints as this one; None if none does."""
    half = 0.6e-4 if style == ".4f" else 1e-6 * radius
    if style == ".3":
        half = 0.6 * 10.0 ** (Decimal(repr(radius)).adjusted() - 2)
    k = int(np.searchsorted(radii, radius + half, "right")) - 1
    while k >= 0 and radii[k] >= radius - half:
        if not style or float(f"{radii[k]:{style}}") == radius:
            return k
        k -= 1
    return None


def style_of(rows: Sequence[Row]) -> str:
    """How a file prints radii: three digits, four decimals, or "" for all digits."""
    styles = (".3", ".4f")
    fits = (
        s for s in styles if all(float(f"{r.radius:{s}}") == r.radius for r in rows)
    )
    return next(fits, "")
