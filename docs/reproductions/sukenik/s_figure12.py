"""[S] Figure 12: the worst-case probability xi against the distance."""

from typing import Any

import numpy as np
from shared import Table, axes, columns, publish

from rsbounds.semielastic import xi

BASE = {"dim": 784, "sigma1": 0.95, "p_b": 0.01}  # sigma0 = 1
VARIED = {
    "dim": (1, 10, 100, 784, 3072),
    "sigma1": (0.9, 0.95, 1.0, 1.05, 1.1),
    "p_b": (0.2, 0.1, 0.01, 0.001, 0.0001),
}
DISTANCES = np.linspace(0.0, 6.0, 61)


def table() -> Table:
    rows = []
    for name, values in VARIED.items():
        for value in values:
            case = BASE | {name: value}
            result = xi(DISTANCES, 1 - case["p_b"], 1.0, case["sigma1"], case["dim"])
            rows += [(name, value, *row) for row in zip(DISTANCES, result, strict=True)]
    return columns("varied value distance xi", rows)


def figure(table: Table) -> Any:
    result, panels = axes(3, sharey=True)
    symbols = {"dim": "$N$", "sigma1": r"$\sigma_1$", "p_b": "$p_B$"}
    for panel, (name, values) in zip(panels, VARIED.items(), strict=True):
        for value in values:
            chosen = (table["varied"] == name) & (table["value"] == value)
            panel.plot(table["distance"][chosen], table["xi"][chosen], label=f"{value}")
        panel.axhline(0.5, color="black", linewidth=0.7)
        panel.set(xlabel="distance", title=f"varying {symbols[name]}")
        panel.legend(title=symbols[name])
    panels[0].set_ylabel(r"$\xi$")
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
