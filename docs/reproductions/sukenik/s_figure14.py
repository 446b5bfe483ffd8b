"""[S] C.2, Figure 14: the radius that a level chosen at each input would claim, for the
indicator of the unit disc of the plane, in closed form.
"""

from typing import Any

import numpy as np
from discs import claimed
from shared import Table, axes, columns, publish

POINTS = (50.0, 0.0)  # distances from the centre: the one certified, the one that flips
LEVELS = np.concatenate([np.geomspace(0.05, 2.0, 60), np.arange(4.0, 101.0, 2.0)])


def table() -> Table:
    rows = []
    for distance in POINTS:
        inside, radius = claimed(distance, LEVELS)
        leads = np.where(inside > 0.5, 1, 0)
        rows += [
            (distance, *row) for row in zip(LEVELS, inside, leads, radius, strict=True)
        ]
    return columns("distance sigma disc leads claimed", rows)


def figure(table: Table) -> Any:
    result, panels = axes(2)
    for panel, distance in zip(panels, POINTS, strict=True):
        chosen = table["distance"] == distance
        panel.plot(table["sigma"][chosen], table["claimed"][chosen])
        panel.set(xlabel=r"level $\sigma$", title=f"{distance:g} from the centre")
    panels[0].axhline(POINTS[0], color="k", linestyle="--", linewidth=1)
    panels[0].set_ylabel("radius claimed")
    panels[1].set_xlim(0, 2)
    panels[1].set_ylim(0, 2)
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
