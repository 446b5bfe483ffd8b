"""The four certificates of a Lipschitz sigma network against its Lipschitz constant."""

from typing import Any

import numpy as np
from shared import Table, axes, columns, publish

from rsbounds import gaussian, lipschitz

P_A, SIGMA, SIGMA_MIN, P_MIN = 0.999, 0.5, 0.25, 1e-7
DIMS = (784, 3072, 150528)
LIPS = np.logspace(-5, 0, 41)
METHODS = ("exact", "integrated", "paper")


def table() -> Table:
    cohen = float(gaussian.radius(P_A, SIGMA))
    rows = []
    for dim in DIMS:
        setting = {"sigma_min": SIGMA_MIN, "dim": dim, "lip": LIPS}
        radii = [
            lipschitz.radius(
                P_A, SIGMA, method=m, p_min=P_MIN if m == "paper" else None, **setting
            )
            for m in METHODS
        ]
        rows += [
            (dim, lip, cohen, *row) for lip, *row in zip(LIPS, *radii, strict=True)
        ]
    return columns("dim lip cohen exact integrated paper", rows)


def figure(table: Table) -> Any:
    result, panels = axes(3, sharey=True)
    for panel, dim in zip(panels, DIMS, strict=True):
        chosen = table["dim"] == dim
        for name in ("cohen", *METHODS):
            panel.loglog(table["lip"][chosen], table[name][chosen], label=name)
        panel.set(xlabel=r"Lipschitz constant of $\sigma$", title=f"d = {dim:,}")
    panels[0].set_ylabel("certified radius")
    panels[0].legend()
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
