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
        curve = [f"{self.accuracy(r):.3f}" for r in RADII]
        return [self.name, *curve, f"{self.acr:.3f}", f"{self.samples:.0f}"]


@dataclass(frozen=True)
class Goal:
    """A figure, as it is printed, beside what was wanted of it."""

    what: str
    measured: float
    wanted: float
    at_least: bool = True
    unit: str = ""
    more: str = ""

    @property
    def met(self) -> bool:
        return (
            self.measured >= self.wanted
            if self.at_least
            else self.measured <= self.wanted
        )

    def cells(self) -> list[str]:
        sign = ">=" if self.at_least else "<="
        return [
            self.what,
            f"{self.measured:g}{self.unit}{self.more}",
            f"{sign} {self.wanted:g}{self.unit}",
            "met" if self.met else "**missed**",
        ]


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


def goals(
    cohen: Row, runner: Row, lists: list[tuple[Row, Row]], union: list[Row]
) -> list[Goal]:
    """``lists``: each with its constant."""
    found = [
        Goal("runner-up over Cohen, sigma 1: ACR", compared(runner, cohen)[3], 1.05)
    ]
    for row, base in lists:
        name = row.name.split(":")[0]
        points, columns, anywhere, acr, samples = compared(row, base)
        won = (row.radii > 0) * 1.0 - (base.radii > 0)
        error = 100 * float(won.std()) / np.sqrt(len(won))
        where = {"unit": " %", "more": worst(row, [base])[1]}
        found += [
            Goal(
                f"{name}: points at radius 0",
                points,
                1.5,
                more=f" (standard error {error:.1f})",
            ),
            Goal(f"{name}: worst of the table's radii", columns, -2.0, unit=" %"),
            Goal(f"{name}: worst at any radius", anywhere, -2.0, **where),
            Goal(f"{name}: ACR over its constant's", acr, 1.0),
            Goal(f"{name}: samples over its constant's", samples, 1.3, at_least=False),
        ]
    part, where = max(worst(row, union) for row in (*union, *(row for row, _ in lists)))
    name = "open: the best row, worst against the union"
    return [*found, Goal(name, part, -3.0, unit=" %", more=where)]
