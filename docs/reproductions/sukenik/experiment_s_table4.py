"""[S] Table 4: accuracy, abstention and misclassification of fixed noise on CIFAR-10,
from the published certificates of [C].

``python docs/reproductions/run.py experiment_s_table4 --data FOLDER``, see `cohen`.
"""

import sys
from pathlib import Path

from cohen import LEVELS, published
from shared import Table, columns, publish

PRINTED = {
    "0.12": (0.814, 0.038, 0.148),
    "0.25": (0.748, 0.086, 0.166),
    "0.50": (0.652, 0.166, 0.182),
    "1.00": (0.472, 0.290, 0.238),
}


def table(folder: Path) -> Table:
    rows = []
    for sigma in LEVELS["CIFAR-10"]:
        file = published(folder, "CIFAR-10", sigma)
        right, abstains = file.accuracy(0.0), float(file.abstains.mean())
        own = (right, abstains, 1 - right - abstains)
        rows.append((sigma, len(file.radii), *own, *PRINTED[sigma]))
    names = "accuracy abstains wrong printed_accuracy printed_abstains printed_wrong"
    return columns(f"sigma images {names}", rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        publish(__file__, table(Path(sys.argv[1])))
    else:
        print(__doc__)
