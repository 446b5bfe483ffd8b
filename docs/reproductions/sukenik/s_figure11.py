"""[S] Figure 11: the Rényi radius against the dimension, beside the exact one."""

from typing import Any

import numpy as np
from shared import Table, axes, columns, publish

from rsbounds import renyi
from rsbounds.envelope import SigmaRange, branch_radii

P_A = 0.99
LEVELS = ((1.0, 0.8), (0.8, 1.0))  # (sigma0, sigma1)
DIMS = np.arange(1, 101)


def exact_radius(sigma0: float, sigma1: float, dim: Any) -> Any:
    """The exact radius when every other point has sigma1, whatever its distance."""
    grows = sigma1 > sigma0
    envelope = SigmaRange(min(sigma0, sigma1), max(sigma0, sigma1))
    return branch_radii(P_A, sigma0, envelope, dim)[grows]


def table() -> Table:
    rows = []
    for sigma0, sigma1 in LEVELS:
        radii = (
            renyi.radius(P_A, sigma0, sigma1, DIMS),
            exact_radius(sigma0, sigma1, DIMS),
        )
        rows += [(sigma0, sigma1, *row) for row in zip(DIMS, *radii, strict=True)]
    return columns("sigma0 sigma1 dim renyi exact", rows)


def figure(table: Table) -> Any:
    result, panels = axes(2, sharey=True)
    for panel, (sigma0, sigma1) in zip(panels, LEVELS, strict=True):
        chosen = (table["sigma0"] == sigma0) & (table["sigma1"] == sigma1)
        for name in ("exact", "renyi"):
            panel.plot(table["dim"][chosen], table[name][chosen], label=name)
        panel.set(
            xlabel="dimension $N$",
            title=rf"$\sigma_0$ = {sigma0}, $\sigma_1$ = {sigma1}",
        )
    panels[0].set_ylabel("certified distance")
    panels[0].legend()
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
