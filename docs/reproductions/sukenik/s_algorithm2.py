"""[S] C.3, Algorithm 2: the level of the largest claim from several starts, for the
indicator of the unit disc of the plane, its probabilities in closed form.
"""

import math

import numpy as np
from discs import claimed
from shared import Table, columns, publish

BASE, LARGEST = 0.5, 16.0  # the level's square is BASE^2 l, l in [1, LARGEST]
STARTS, DRAWS = (1, 4, 16), 20
POINTS = (0.0, 0.25)  # distances from the centre, one within the other's claims


def climbed(distance: float, share: float, step: float) -> float:
    """The last l of one start whose claim did not fall."""

    def claim(factor: float) -> float:
        return float(claimed(distance, BASE * math.sqrt(factor))[1])

    while 1 <= share + step <= LARGEST and claim(share + step) >= claim(share):
        share += step
    return share


def chosen(distance: float, starts: int, rng: np.random.Generator) -> float:
    """The level that Algorithm 2 chooses with so many starts."""
    shares = rng.uniform(1.0, LARGEST, starts)
    steps = rng.uniform(-1.0, 1.0, starts)
    levels = [
        BASE * math.sqrt(climbed(distance, *start))
        for start in zip(shares.tolist(), steps.tolist(), strict=True)
    ]
    return max(levels, key=lambda level: float(claimed(distance, level)[1]))


def table() -> Table:
    rows = []
    for starts in STARTS:
        for draw in range(DRAWS):
            for place, distance in enumerate(POINTS):
                rng = np.random.default_rng([starts, draw, place])
                sigma = chosen(distance, starts, rng)
                inside, radius = claimed(distance, sigma)
                leads = int(inside > 0.5)
                rows.append((starts, draw, distance, sigma, leads, radius))
    return columns("starts draw distance sigma leads claimed", rows)


if __name__ == "__main__":
    publish(__file__, table())
