"""Fit a decision list to counts of a calibration split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array, choice, count, real, whole
from rsbounds.composite.geometry import radius
from rsbounds.composite.rule import Cond, Rule

#: Gates that are tried: a class passes on where its score is above minus this, in sigmas.
GATES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
_STEPS = 25  # radii of the curve


@dataclass(frozen=True)
class Fit:
    """A rule and what it reaches on the calibration split.

    Attributes
    ----------
    rule : Rule
        The best list.
    constant : Rule
        The best single level.
    radii : ndarray, shape (steps,)
        Radii of the curves.
    accuracy, accuracy_constant : ndarray, shape (steps,)
        Certified accuracies of the two at these radii, from plug-in probabilities.
    acr, acr_constant : float
        Average certified radii.
    """

    rule: Rule
    constant: Rule
    radii: Array
    accuracy: Array
    accuracy_constant: Array
    acr: float
    acr_constant: float

    def __str__(self) -> str:
        lines = [
            "calibration split, plug-in probabilities; certify on another split: these inputs "
            "chose the rule",
            "  radius    list  constant",
        ]
        for row in zip(self.radii, self.accuracy, self.accuracy_constant, strict=True):
            lines.append("{:8.3f}  {:6.3f}  {:8.3f}".format(*row))
        lines.append(f"     ACR  {self.acr:6.3f}  {self.acr_constant:8.3f}")
        return "\n".join(lines)


def fit(
    counts: Any,
    labels: Any,
    sigmas: Sequence[float],
    *,
    objective: str = "acr",
    items: int = 3,
    gates: Sequence[float] = GATES,
) -> Fit:
    """The decision list that does best on a calibration split.

    Tried are every level alone; a gate {margin > 0, score > -s} at one level and the argmax
    at a smaller one; and between the two a majority or another gate.

    Parameters
    ----------
    counts : array_like of int, shape (N, K, C)
        Counts of the calibration inputs' classes at each level.
    labels : array_like of int, shape (N,)
        Their true classes.
    sigmas : sequence of K floats
        Noise levels, > 0, in any order.
    objective : {"acr", "curve"}
        "acr": the average certified radius. "curve": the certified accuracy relative to the
        best single level's at the same radius, averaged over the radii at which one of them
        certifies at least 5 % of the inputs.
    items : int
        Longest list tried, 1 to 3: longer ones gained nothing where we tried them.
    gates : sequence of float
        Thresholds s that are tried, in sigmas, >= 0.

    Returns
    -------
    Fit
        Its text shows both curves. The rule depends on these inputs: certify others.

    Raises
    ------
    ValueError
        If shapes do not fit, a label is not a class, or an input has no counts.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.composite import fit
    >>> rng = np.random.default_rng(0)
    >>> sure, unclear = [[900, 50, 50], [950, 25, 25]], [[280, 380, 340], [800, 100, 100]]
    >>> found = fit([sure] * 50 + [unclear] * 50, [0] * 100, [1.0, 0.5])
    >>> len(found.rule.items), found.acr > found.acr_constant
    (2, True)
    """
    z, y, levels = _arguments(counts, labels, sigmas)
    choice("objective", objective, ("acr", "curve"))
    if (longest := count("items", items, 1)) > 3:
        raise ValueError(f"items must be at most 3; got {longest}")
    s = real("gates", gates, 0.0, closed="left", nan=False).ravel().tolist()
    constants = [Rule(sigmas, [[Cond("margin", k)]]) for k in range(len(levels))]
    alone = np.stack([radius(rule, z, y) for rule in constants])
    reach = float(alone.max())
    grid = np.linspace(0.0, reach if reach > 0 else 1.0, _STEPS)
    union = np.stack([_curve(r, grid) for r in alone]).max(axis=0)
    told = union >= 0.05

    def worth(radii: Array) -> float:
        if objective == "acr" or not told.any():
            return float(radii.mean())
        return float((_curve(radii, grid)[told] / union[told]).mean())

    first = max(range(len(constants)), key=lambda k: worth(alone[k]))
    best = (worth(alone[first]), constants[first], alone[first])
    for rule in _lists(levels, s, longest):
        radii = radius(rule, z, y)
        best = max(best, (worth(radii), rule, radii), key=lambda found: found[0])
    return Fit(
        rule=best[1],
        constant=constants[first],
        radii=grid,
        accuracy=_curve(best[2], grid),
        accuracy_constant=_curve(alone[first], grid),
        acr=float(best[2].mean()),
        acr_constant=float(alone[first].mean()),
    )


def _lists(levels: list[float], gates: list[float], longest: int) -> Iterator[Rule]:
    order = sorted(range(len(levels)), key=lambda k: -levels[k])

    def gated(k: int, s: float) -> list[Cond]:
        return [Cond("margin", k), Cond("score", k, -s * levels[k])]

    for length in range(2, longest + 1):
        for stages in combinations(order, length):
            last = [Cond("margin", stages[-1])]
            for s in gates:
                if length == 2:
                    yield Rule(levels, [gated(stages[0], s), last])
                    continue
                yield Rule(levels, [gated(stages[0], s), [Cond("score", stages[1])], last])
                for t in gates[::3]:
                    yield Rule(levels, [gated(stages[0], s), gated(stages[1], t), last])


def _curve(radii: Array, grid: Array) -> Array:
    """Share of the inputs whose radius is positive and at least that of the grid."""
    certified = (radii[:, None] >= grid) & (radii[:, None] > 0)
    return np.asarray(certified.mean(axis=0))


def _arguments(
    counts: Any, labels: Any, sigmas: Sequence[float]
) -> tuple[Array, NDArray[np.int64], list[float]]:
    k, y = whole("counts", counts), whole("labels", labels)
    levels = real("sigmas", sigmas, 0.0, closed="neither", nan=False).ravel().tolist()
    if k.ndim != 3 or k.shape[1] != len(levels) or k.shape[2] < 2 or not len(k):
        raise ValueError(
            f"counts must have shape (inputs, {len(levels)} levels, two classes or more); "
            f"got {k.shape}"
        )
    if y.shape != k.shape[:1] or not np.all(y < k.shape[2]):
        raise ValueError(
            f"labels must be {k.shape[0]} of {k.shape[2]} classes; got shape {y.shape}, "
            f"largest {y.max() if y.size else 'none'}"
        )
    total = k.sum(axis=-1, keepdims=True)
    if not np.all(total > 0):
        raise ValueError(f"counts must be above 0 in all; got {int((total == 0).sum())} empty")
    return sc.ndtri((k + 0.5) / (total + 1.0)), y, levels
