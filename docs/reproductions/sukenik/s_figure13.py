"""[S] Figure 13: certified radius against the distance of x0 from a flat decision
boundary.
"""

from typing import Any

import numpy as np
from shared import Table, axes, columns, publish

from rsbounds import semielastic

DIM = 3072
SIGMAS = (0.12, 0.5)
RATES = (0.0, 0.01, 0.02, 0.05)
STEPS = np.arange(0.05, 4.01, 0.05)  # distance/sigma0


def table() -> Table:
    rows = []
    for sigma in SIGMAS:
        for rate in RATES:
            # the half-space at distance t has p_A = Phi(t/sigma), so its score is
            # t/sigma
            radius = semielastic.radius(STEPS, sigma, rate, DIM, scores=True)
            rows += [
                (sigma, rate, *row) for row in zip(sigma * STEPS, radius, strict=True)
            ]
    return columns("sigma0 rate distance radius", rows)


def figure(table: Table) -> Any:
    result, panels = axes(2)
    for panel, sigma in zip(panels, SIGMAS, strict=True):
        for rate in RATES:
            chosen = (table["sigma0"] == sigma) & (table["rate"] == rate)
            panel.plot(
                table["distance"][chosen], table["radius"][chosen], label=f"{rate}"
            )
        panel.set(xlabel="distance from the boundary", title=rf"$\sigma_0$ = {sigma}")
    panels[0].set_ylabel("certified radius")
    panels[0].legend(title="rate $r$")
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
