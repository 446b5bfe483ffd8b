"""What calibration images choose: the constants that matter, plain lists, a list's thresholds."""

from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds import composite
from rsbounds.composite import Cond, Rule

LEVELS = (0.25, 0.5, 1.0, 1.5)
GATES = (0.05, 0.15, 0.25, 0.35, 0.5)  # thresholds that are tried, in sigmas
GRID = np.arange(0.0, 5.0, 0.05)

Key = tuple[str, float]  # recipe and level
Scores = NDArray[np.float64]
Labels = NDArray[np.int64]


def gated(stages: list[int], sigmas: list[float], gates: tuple[float, ...]) -> Rule:
    """Gated argmaxes, and the argmax of the last stage."""
    items = [[Cond("margin", k), Cond("score", k, -s * sigmas[k])]
             for k, s in zip(stages, gates, strict=False)]  # fmt: skip
    return Rule(sigmas, [*items, [Cond("margin", stages[-1])]])


def radii_of(z: Scores, y: Labels, sigma: float) -> Scores:
    """Radii of a constant by plug-in probabilities."""
    radii: Scores = composite.radius(Rule([sigma], [[Cond("margin", 0)]]), z[:, None], y)
    return radii


def curve(radii: Scores) -> Scores:
    return np.asarray((radii[..., None, :] > GRID[:, None]).mean(-1))


def envelope(alone: dict[Key, Scores]) -> list[Key]:
    """The constants that are the union at a quarter, as long as it certifies 5 %."""
    curves = {key: curve(radii) for key, radii in alone.items()}
    union = np.max(list(curves.values()), axis=0)
    counted = union >= 0.05
    best = [max(curves, key=lambda key: curves[key][k]) for k in np.flatnonzero(counted)[::5]]
    return list(dict.fromkeys(best))


def chosen_list(
    sigmas: list[float], z: Scores | None = None, y: Any = None, alone: Scores | None = None
) -> Rule:
    """A list through all stages, its thresholds by the worst ratio; without scores -.25 sigma."""
    stages = list(range(len(sigmas)))
    if z is None or alone is None:
        return gated(stages, sigmas, (0.25,) * (len(sigmas) - 1))
    rules = [gated(stages, sigmas, gates) for gates in product(GATES, repeat=len(sigmas) - 1)]
    return max(rules, key=lambda r: composite.worst_ratio(composite.radius(r, z, y), alone).ratio)


def plain_list(
    known: dict[Key, Scores], y: Labels, alone: dict[Key, Scores]
) -> tuple[list[Key], Rule]:
    """The best list of two or three of the constants' networks, of the family of composite.fit.

    A first search is by radii from the terms of single items.
    """
    union, terms = np.stack(list(alone.values())), {}
    for (key, z), s in product(known.items(), (*GATES, None)):
        terms[key, s] = _terms(key[1] * z, y, None if s is None else -s * key[1])
    best, found = 0.0, []
    top = np.max([curve(r) for r in union], axis=0)
    counted = top >= 0.05
    for length in (2, 3):
        for sigmas in combinations(sorted(LEVELS, reverse=True), length):
            for keys in product(*([k for k in known if k[1] == s] for s in sigmas)):
                for gates in product(GATES[::2] if length == 3 else GATES, repeat=length - 1):
                    radii, block = np.zeros(len(y)), np.full(len(y), np.inf)
                    for key, s in zip(keys, (*gates, None), strict=True):
                        fires, blocks = terms[key, s]
                        radii = np.maximum(radii, np.minimum(fires, block))
                        block = np.minimum(block, blocks)
                    own = (np.sort(radii)[None] > GRID[counted, None]).mean(1)
                    ratio = float((own / top[counted]).min())
                    if ratio > best:
                        best, found = ratio, [keys, gates]
    keys, gates = found
    return list(keys), gated(list(range(len(keys))), [s for _, s in keys], gates)


def _terms(r: Scores, y: Labels, threshold: float | None) -> tuple[Scores, Scores]:
    """How far a gated argmax is from failing for the class, and from firing for another one."""
    rows, own = np.arange(len(y)), np.eye(r.shape[1], dtype=bool)[y]
    second, first = np.sort(r, axis=1)[:, -2:].T
    margin = (r - np.where(r == first[:, None], second[:, None], first[:, None])) / 2
    if threshold is None:
        return margin[rows, y], np.where(own, np.inf, -margin).min(1)
    blocks = np.where(own, np.inf, np.maximum(-margin, threshold - r))
    return np.minimum(margin, r - threshold)[rows, y], blocks.min(1)
