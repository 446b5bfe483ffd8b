"""[S] Figure 3: thresholds of sigma1/sigma0 against the dimension, in theory and in
fact.
"""

from typing import Any

import numpy as np
from shared import Table, axes, columns, publish

from rsbounds.semielastic import ratio_threshold

P_A = (0.9, 0.99, 0.999)
DIMS = (
    10,
    20,
    50,
    100,
    200,
    500,
    784,
    1000,
    2000,
    3072,
    5000,
    10000,
    20000,
    50000,
    150528,
    200000,
)


def table() -> Table:
    rows = []
    for p_a in P_A:
        for side in ("below", "above"):
            theory, exact = (
                ratio_threshold(p_a, np.array(DIMS), side=side, bound=bound)
                for bound in ("chernoff", "exact")
            )
            rows += [(p_a, side, *row) for row in zip(DIMS, theory, exact, strict=True)]
    return columns("p_a side dim theorem_4 exact", rows)


def figure(table: Table) -> Any:
    result, panels = axes(2)
    for panel, side in zip(panels, ("below", "above"), strict=True):
        for colour, p_a in enumerate(P_A):
            chosen = (table["p_a"] == p_a) & (table["side"] == side)
            dims, line = table["dim"][chosen], {"color": f"C{colour}"}
            panel.semilogx(dims, table["theorem_4"][chosen], "--", **line)
            panel.semilogx(dims, table["exact"][chosen], **line, label=f"$p_A$ = {p_a}")
        panel.set(xlabel="dimension $N$", ylabel=r"$\sigma_1/\sigma_0$", title=side)
    panels[0].legend(title="solid: exact\ndashed: Theorem 4")
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
