"""What calibration images choose: the constants that matter, and the lists."""

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.composite import Cond, Rule

LEVELS = (0.25, 0.5, 1.0, 1.5)
GATES = (
    -0.5,
    -0.35,
    -0.25,
    -0.15,
    -0.05,
    0.05,
    0.15,
    0.3,
)  # thresholds of scores, in sigmas
GRID = np.arange(0.0, 5.0, 0.05)
SMALL = 0.5  # the least level of a gate, and the largest at which a list may end
LEAST = 0.05  # the union counts as long as it certifies this share

Key = tuple[str, float]  # recipe or stage, and level
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Terms = tuple[Floats, Floats]


def gated(sigmas: list[float], gates: Iterable[float]) -> Rule:
    """Gated argmaxes, and the argmax of the last level."""
    items = [
        [Cond("margin", k), Cond("score", k, t * sigmas[k])]
        for k, t in enumerate(gates)
    ]
    return Rule(sigmas, [*items, [Cond("margin", len(sigmas) - 1)]])


def terms(r: Floats, y: Labels, threshold: float | None = None) -> Terms:
    """How far a gated argmax is from failing for the class, and from firing for another
    one.
    """
    rows, own = np.arange(len(y)), np.eye(r.shape[1], dtype=bool)[y]
    second, first = np.sort(r, axis=1)[:, -2:].T
    excess = (r - np.where(r == first[:, None], second[:, None], first[:, None])) / 2
    if threshold is not None:
        excess = np.minimum(excess, r - threshold)
    return excess[rows, y], np.where(own, np.inf, -excess).min(1)


def radii_through(items: Iterable[Terms]) -> Floats:
    """Radii of a list, as composite.radius has them but for rounding."""
    radii, block = np.float64(0.0), np.float64(np.inf)
    for fires, blocks in items:
        radii, block = (
            np.maximum(radii, np.minimum(fires, block)),
            np.minimum(block, blocks),
        )
    return np.asarray(radii)


def curve(radii: Floats, grid: Floats = GRID) -> Floats:
    """Certified accuracy beyond each radius."""
    flat = np.sort(np.atleast_2d(radii))
    shares = [1 - np.searchsorted(row, grid, "right") / len(row) for row in flat]
    return np.reshape(shares, (*radii.shape[:-1], len(grid)))


def envelope(alone: dict[Key, Floats]) -> list[Key]:
    """The constants that are the union at a quarter, as long as it counts."""
    names, curves = list(alone), curve(np.stack(list(alone.values())))
    counted = np.flatnonzero(curves.max(0) >= LEAST)[::5]
    return list(dict.fromkeys(names[curves[:, k].argmax()] for k in counted))


def chosen(
    gates: dict[Key, Floats],
    lasts: dict[Key, Floats],
    y: Labels,
    union: Floats,
    most: int,
) -> tuple[list[Key], Rule, float]:
    """Networks and rule of the list of largest worst ratio, up to so many gates."""
    counted = union >= LEAST
    ends = {key: terms(key[1] * z, y) for key, z in lasts.items()}
    known = {
        (key, t): terms(key[1] * z, y, t * key[1])
        for (key, z), t in product(gates.items(), GATES)
    }
    best: Any = (-1.0, [], ())
    small = {key: end for key, end in ends.items() if key[1] <= SMALL}
    order = sorted((key for key in gates if key[1] >= SMALL), key=lambda key: -key[1])
    for size in range(most + 1):
        for keys in combinations(order, size):
            for thresholds in product(GATES[:: 1 if size < 3 else 2], repeat=size):
                first = [known[pair] for pair in zip(keys, thresholds, strict=True)]
                for last, end in (small if keys else ends).items():
                    own = curve(radii_through([*first, end]), GRID[counted])
                    ratio = float((own / union[counted]).min())
                    best = max(
                        best, (ratio, [*keys, last], thresholds), key=lambda b: b[0]
                    )
    ratio, keys, thresholds = best
    return keys, gated([sigma for _, sigma in keys], thresholds), ratio
