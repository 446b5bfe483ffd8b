"""[H] Tables 1 to 3, and the radii of 20 %: fixed noise from the published certificates
of [C], beside what is printed of it and of the generator.

``python docs/reproductions/run.py experiment_h_cohen --data FOLDER``, see `cohen`.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from cohen import LEVELS, published
from shared import Table, columns, publish

FINE, COARSE = np.arange(0.0, 3.51, 0.25), np.arange(0.0, 3.51, 0.5)
PRINTED = {  # in percent: fixed noise, their generator
    "Table 1": (
        (83, 61, 43, 32, 22, 17, 14, 9, 7, 4, 3, 2, 1, 0, 0),
        (84, 75, 68, 61, 55, 50, 45, 41, 36, 32, 28, 23, 19, 16, 12),
    ),
    "Table 2": ((67, 49, 37, 28, 19, 15, 12, 9), (67, 58, 49, 44, 39, 34, 30, 24)),
    "Table 3": ((44, 38, 33, 26, 19, 15, 12, 9), (57, 54, 49, 44, 39, 34, 30, 24)),
}
LOST = {  # Table 3: printed after the attack
    "Table 3": ((30, 24, 19, 14, 10, 7, 6, 5), (40, 33, 30, 27, 23, 20, 17, 14))
}
SHARE = 20
PRINTED_RADII = {  # of SHARE percent: fixed noise, their generator
    "CIFAR-10": (1.10, 2.96),
    "ImageNet": (1.92, 3.73),
}


def best(folder: Path, data: str, levels: tuple[str, ...], radii: Any) -> Any:
    """The largest certified accuracy of the levels at each radius."""
    files = [published(folder, data, sigma) for sigma in levels]
    return [max(file.accuracy(radius) for file in files) for radius in radii]


def reached(folder: Path, data: str) -> float:
    """The largest radius at which some level certifies at least SHARE percent."""
    radii = [published(folder, data, sigma).radii for sigma in LEVELS[data]]
    return max(float(np.quantile(r, 1 - SHARE / 100, method="higher")) for r in radii)


def table(folder: Path) -> Table:
    found = []
    for name, data, levels, radii in (
        ("Table 1", "CIFAR-10", LEVELS["CIFAR-10"], FINE),
        ("Table 2", "ImageNet", LEVELS["ImageNet"], COARSE),
        ("Table 3", "ImageNet", ("1.00",), COARSE),
    ):
        own = 100 * np.array(best(folder, data, levels, radii))
        lost = LOST.get(name, [np.full(len(radii), np.nan)] * 2)
        rows = zip(radii, own, *PRINTED[name], *lost, strict=True)
        found += [(name, data, *row) for row in rows]
    none = np.nan
    for data, printed in PRINTED_RADII.items():
        radii = (*printed, reached(folder, data))
        own = 100 * np.array(best(folder, data, LEVELS[data], radii))
        printed_shares = (SHARE, none, none), (none, SHARE, none)
        rows = zip(radii, own, *printed_shares, strict=True)
        found += [(f"{SHARE} %", data, *row, none, none) for row in rows]
    names = "fixed printed_fixed printed_theirs after_fixed after_theirs"
    return columns(f"table data radius {names}", found)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        publish(__file__, table(Path(sys.argv[1])))
    else:
        print(__doc__)
