"""[L] Table 2 and Figure 6: certified accuracy from the published certificates of [C].

``python docs/reproductions/run.py experiment_l_table2 --data FOLDER``, see `cohen`.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from cohen import LEVELS, published
from shared import Table, axes, columns, publish, steps

RADII = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
PRINTED = {
    "0.25": (0.67, 0.49, 0.00, 0.00, 0.00, 0.00, 0.00),
    "0.50": (0.57, 0.46, 0.37, 0.29, 0.00, 0.00, 0.00),
    "1.00": (0.44, 0.38, 0.33, 0.26, 0.19, 0.15, 0.12),
}


def table(folder: Path) -> Table:
    found = []
    for data, levels in LEVELS.items():
        for sigma in levels:
            file = published(folder, data, sigma)
            shares = [file.accuracy(radius) for radius in RADII]
            printed = PRINTED[sigma] if data == "ImageNet" else [np.nan] * len(RADII)
            rows = zip(RADII, shares, printed, strict=True)
            found += [(data, sigma, len(file.radii), *row) for row in rows]
    return columns("data sigma images radius accuracy printed", found)


def figure(folder: Path) -> Any:
    result, panels = axes(2, sharey=True)
    for panel, data in zip(panels, ("CIFAR-10", "ImageNet"), strict=True):
        for sigma in LEVELS[data]:
            radii = published(folder, data, sigma).radii
            steps(panel, np.maximum(radii, 0.0), label=rf"$\sigma$ = {sigma}")
        panel.set(xlabel="radius", title=data, xlim=(0, 4))
        panel.legend(fontsize=7)
    panels[0].set_ylabel("certified accuracy")
    return result


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        publish(__file__, table(folder), figure(folder))
    else:
        print(__doc__)
