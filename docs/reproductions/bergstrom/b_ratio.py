"""[B]: the ratio R_d(p) at d = 784, and that it decreases at every d."""

from typing import Any

import numpy as np
from shared import Table, axes, columns, publish

from rsbounds.lipschitz import ratio
from rsbounds.lipschitz.internal import ratio_derivative

DIMS = (1, 2, 10, 100, 784, 3072, 150528, 1_000_000)
SCORES = np.arange(-37.0, 37.1, 1.0)  # Phi^-1(1 - p)


def table() -> Table:
    rows = []
    for dim in DIMS:
        values = ratio(-SCORES, dim, scores=True)
        slopes = -ratio_derivative(-SCORES, dim, scores=True)
        rows += [(dim, *row) for row in zip(SCORES, values, slopes, strict=True)]
    return columns("dim z ratio slope", rows)


def figure(table: Table) -> Any:
    result, (left, right) = axes(2)
    p = np.linspace(0.0005, 0.9995, 400)
    left.plot(p, ratio(p, 784))
    left.set(xlabel="$p$", ylabel="$R_{784}(p)$", title="d = 784")
    for dim in DIMS:
        chosen = table["dim"] == dim
        right.semilogy(table["z"][chosen], table["slope"][chosen], label=f"{dim:,}")
    right.set(
        xlabel=r"$z = \Phi^{-1}(1 - p)$",
        ylabel="$dR_d/dz$",
        title="positive at every d",
    )
    right.legend(title="$d$", fontsize=7)
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
