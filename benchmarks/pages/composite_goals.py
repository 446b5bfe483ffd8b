"""Curves of composite.py's certificates, and what was wanted of them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
FINE, LEAST = (
    np.arange(0.0, 5.0, 0.05),
    0.05,
)  # radii of "any radius", while so many are certified

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """Radii of the images, 0 where the class is wrong, and samples that each used."""

    name: str
    radii: Floats
    samples: float

    def accuracy(self, radius: float) -> float:
        return float(np.mean(self.radii > radius))

    @property
    def acr(self) -> float:
        return float(self.radii.mean())

    def cells(self) -> list[str]:
        """Name, certified accuracy at each of ``RADII``, ACR and samples."""
        curve = [f"{self.accuracy(r):.3f}" for r in RADII]
        return [self.name, *curve, f"{self.acr:.3f}", f"{self.samples:.0f}"]


def worst(
    row: Row, base: list[Row], radii: Iterable[float] = FINE
) -> tuple[float, str]:
    """Per cent, as printed, that a row is above the best of ``base`` where it is least
    so.
    """
    found = []
    for r in radii:
        best = max(other.accuracy(r) for other in base)
        if best >= LEAST:
            found.append((row.accuracy(r) / best - 1, r, best))
    part, r, best = min(found)
    of = len(row.radii)
    where = f" (beyond {r:g}: {row.accuracy(r) * of:.0f} images, {best * of:.0f})"
    return round(100 * part, 1), where


def compared(row: Row, other: Row) -> tuple[float, float, float, float, float]:
    """Points at radius 0, worst of the table's radii, of any, ACR and samples: as
    printed.
    """
    return (
        round(100 * (row.accuracy(0) - other.accuracy(0)), 1),
        worst(row, [other], RADII)[0],
        worst(row, [other])[0],
        round(row.acr / other.acr, 3),
        round(row.samples / other.samples, 2),
    )


LIST = [
    "list",
    "points at 0",
    "worst of the table, %",
    "of any, %",
    "ACR",
    "samples",
    "all met",
]
WANTED = ["goal", ">= 1.5", ">= -2", ">= -2", ">= 1", "<= 1.3", ""]


def judged(row: Row, base: Row) -> list[str]:
    """A list against its constant, what it missed in bold type; whether it met all."""
    points, columns, anywhere, acr, samples = compared(row, base)
    won = (row.radii > 0) * 1.0 - (base.radii > 0)
    error = 100 * float(won.std()) / np.sqrt(len(won))
    figures = [
        (f"{points:+.1f} ± {error:.1f}", points >= 1.5),
        (f"{columns:+.1f}", columns >= -2),
        (f"{anywhere:+.1f}", anywhere >= -2),
        (f"{acr:.3f}", acr >= 1),
        (f"{samples:.2f}", samples <= 1.3),
    ]
    cells = [text if met else f"**{text}**" for text, met in figures]
    return [row.name, *cells, "yes" if all(met for _, met in figures) else "no"]


def beside(cohen: Row, runner: Row, lists: list[Row], union: list[Row]) -> str:
    """What was wanted of the bound, and of the best row against the union."""
    acr = compared(runner, cohen)[3]
    part, where = max(worst(row, union) for row in (*union, *lists))
    return (
        f"The runner-up's bound has {acr:g} of the ACR of Cohen's at sigma 1; the "
        f"goal was 1.05. The best row is {part:+.1f} % from the union where it is worst"
        f"{where}; the goal was -3 %."
    )
