"""[S] B.4: how fast sigma may change if a radius of c sqrt(N) is to be certified."""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from shared import Table, axes, columns, publish

from rsbounds import semielastic

P_A, SHARE = 0.99, 0.02  # SHARE is c: the radius is c sqrt(N), and so is sigma
DIMS = (50, 200, 784, 3072, 12288, 50176, 150528)


def largest(radius: float, dim: int) -> float:
    """The rate at which p_A = .99 certifies just this radius, at sigma = radius."""

    def gap(rate: float) -> float:
        return float(semielastic.radius(P_A, radius, rate, dim)) - radius

    return float(brentq(gap, 0.0, 100.0, xtol=1e-14, rtol=1e-12))


def table() -> Table:
    rows = []
    log = -np.log(1 - P_A)
    for dim in DIMS:
        radius = SHARE * np.sqrt(dim)
        limit = np.sqrt(log) / (SHARE * dim)
        necessary = [
            -np.log(semielastic.ratio_threshold(P_A, dim, bound=bound)) / radius
            for bound in ("simple", "chernoff", "exact")
        ]
        rows.append((dim, radius, limit, *necessary, largest(radius, dim)))
    names = "dim radius limit corollary_5 theorem_4 exact_at_zero largest_rate"
    return columns(names, rows)


def figure(table: Table) -> Any:
    result, (panel,) = axes(1)
    for name, label in (
        ("limit", "limit of B.4"),
        ("theorem_4", "Theorem 4"),
        ("exact_at_zero", "exact, at distance 0"),
        ("largest_rate", "exact, at the radius"),
    ):
        panel.loglog(table["dim"], table[name] * table["dim"], label=label)
    panel.set(xlabel="dimension $N$", ylabel="$N$ times the largest rate")
    panel.legend(fontsize=7)
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
