"""Fit a decision list to counts of a calibration split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import (
    Array,
    as_floats,
    as_integers,
    choice,
    count,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.records import Record
from rsbounds.composite.estimate import certified_counts
from rsbounds.composite.geometry import radius
from rsbounds.composite.measure import worst_ratio
from rsbounds.composite.rule import Cond, Rule
from rsbounds.procedure import Procedure

#: Gates that are tried: a class passes on where its score is above minus this, in
#: sigmas.
GATES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
_STEPS = 25  # radii of the curve
_LEAST = 0.05  # share of the inputs that some level certifies where it counts


@dataclass(frozen=True, eq=False)
class Fit(Record):
    """A rule and what n samples a level certify with it on the calibration split.

    Attributes
    ----------
    rule, constant : Rule
        The best list, and the best single level: the same where no list does better.
    radii : ndarray of float64, shape (radii,)
        Where accuracies are stated, in the input's unit.
    accuracy, accuracy_constant : ndarray of float64, shape (radii,)
        Share of the inputs that each of the two classifies rightly and certifies so
        far.
    acr, acr_constant : float
        Average certified radius of each.
    n : int
        Samples of each level.
    alpha : float
        Probability of error.
    """

    rule: Rule
    constant: Rule
    radii: Array
    accuracy: Array
    accuracy_constant: Array
    acr: float
    acr_constant: float
    n: int
    alpha: float

    def __str__(self) -> str:
        sigma = self.constant.sigmas[self.constant.items[0][0].stage]
        lines = [
            f"certified on the calibration split, n = {self.n} a level, alpha = "
            f"{self.alpha:g}; these inputs chose the rule: certify others",
            f"  radius    list  constant (the best single level, sigma {sigma:g})",
        ]
        for row in zip(self.radii, self.accuracy, self.accuracy_constant, strict=True):
            lines.append("{:8.3f}  {:6.3f}  {:8.3f}".format(*row))
        lines.append(f"     ACR  {self.acr:6.3f}  {self.acr_constant:8.3f}")
        if self.rule == self.constant:
            lines.append(
                f"no list did better: the rule is the constant, sigma {sigma:g} alone"
            )
        return "\n".join(lines)


def fit(
    counts: Any,
    labels: Any,
    sigmas: Sequence[float],
    *,
    objective: str = "acr",
    items: int = 3,
    gates: Sequence[float] = GATES,
    select: Any = None,
    n: int | None = None,
    alpha: float = 0.001,
) -> Fit:
    """The decision list that does best on a calibration split.

    Tried are every level alone; a gate {margin > 0, score > -s} at one level and the
    argmax at a smaller one; and between the two a majority or another gate. Lists are
    compared by plug-in probabilities; the best is taken if more is certified by it than
    by any level alone.

    Parameters
    ----------
    counts : array_like of int, shape (N, K, C)
        Counts of the calibration inputs' classes at each level, of as many samples:
        votes that one level lacks are void.
    labels : array_like of int, shape (N,)
        Their true classes.
    sigmas : sequence of K floats
        Noise levels, > 0, in any order.
    objective : {"acr", "curve", "worst"}
        "acr": the average certified radius. "curve": the certified accuracy relative to
        the best single level's at the same radius, averaged over the radii at which one
        of them certifies at least 5 % of the inputs. "worst": the same ratio at the
        radius where it is least, :func:`worst_ratio`.
    items : int
        Longest list tried, 1 to 3: longer ones gained nothing where we tried them.
    gates : sequence of float
        Thresholds s that are tried, in sigmas, >= 0.
    select : array_like of int, shape (N, K, C), optional
        Counts of the samples that choose class and items in the certificates that are
        reported; by default ``counts``, which is slightly better than new samples would
        be.
    n, alpha : int, float
        Samples drawn at each level, by default the largest sum of ``counts``, and
        probability of error of these certificates.

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
    >>> from rsbounds.composite import fit
    >>> sure = [[900, 50, 50], [950, 25, 25]]
    >>> unclear = [[280, 380, 340], [800, 100, 100]]
    >>> best = fit([sure] * 50 + [unclear] * 50, [0] * 100, [1.0, 0.5])
    >>> len(best.rule.items), best.acr > best.acr_constant
    (2, True)
    """
    drawn, classes, levels = _arguments(counts, labels, sigmas)
    warn_of_confidence(alpha, stacklevel=2)
    chosen = drawn
    if select is not None:
        chosen, _, _ = _arguments(select, labels, sigmas, "select")
    # as many at each level: votes missing there are void
    samples = drawn.sum(axis=-1).max(axis=-1)
    empty = int((samples == 0).sum())
    if empty:
        raise ArgumentError("counts", f"must be above 0 in all; got {empty} empty")
    procedure = Procedure(n=int(samples.max()) if n is None else n, alpha=alpha)
    choice("objective", objective, ("acr", "curve", "worst"))
    longest = count("items", items, 1)
    if longest > 3:
        raise ArgumentError("items", f"must be at most 3; got {longest}")
    thresholds = as_floats("gates", gates, 0.0, closed="left", nan=False).ravel()

    # all rules are compared by plug-in probabilities, which take no time
    z = sc.ndtri((drawn + 0.5) / (samples[:, None, None] + 1.0))
    constants = [Rule(levels, [[Cond("margin", k)]]) for k in range(len(levels))]
    plug_in = np.stack([radius(rule, z, classes) for rule in constants])
    goal = _Goal(objective, plug_in)

    # the best list and the levels alone by what n samples certify
    def certified(rule: Rule) -> Array:
        radii = np.zeros(len(drawn))
        for i in range(len(drawn)):
            result = certified_counts(rule, chosen[i], drawn[i], procedure)
            if result.predict == classes[i]:
                radii[i] = result.radius
        return radii

    single = np.stack([certified(rule) for rule in constants])
    best_constant = max(
        range(len(constants)), key=lambda k: goal.worth(single[k], single)
    )
    constant = best = constants[best_constant]
    of_constant = of_list = single[best_constant]
    lists = list(_lists(levels, thresholds.tolist(), longest))
    if lists:
        likely = max(
            lists, key=lambda rule: goal.worth(radius(rule, z, classes), plug_in)
        )
        radii = certified(likely)
        if goal.worth(radii, single) > goal.worth(of_constant, single):
            best, of_list = likely, radii
    grid = _grid(np.stack([of_list, of_constant]))
    return Fit(
        rule=best,
        constant=constant,
        radii=grid,
        accuracy=_curve(of_list, grid),
        accuracy_constant=_curve(of_constant, grid),
        acr=float(of_list.mean()),
        acr_constant=float(of_constant.mean()),
        n=procedure.n,
        alpha=procedure.alpha,
    )


class _Goal:
    """What a rule is worth; ``plug_in`` has the radii of each level alone."""

    def __init__(self, objective: str, plug_in: Array) -> None:
        self._objective = objective
        self._grid = _grid(plug_in)
        curves = np.stack([_curve(radii, self._grid) for radii in plug_in])
        self._union = curves.max(axis=0)
        # beyond, a ratio would be of few inputs
        self._common = self._union >= _LEAST

    def worth(self, radii: Array, single: Array) -> float:
        """The rule of these radii, beside those of each level alone."""
        if self._objective == "worst":
            # with less certified by any level, the ratio has no radius to be taken at
            if (single > 0).mean(axis=1).max() >= _LEAST:
                return worst_ratio(radii, single).ratio
        elif self._objective == "curve" and self._common.any():
            common = self._common
            ratio = _curve(radii, self._grid)[common] / self._union[common]
            return float(ratio.mean())
        return float(radii.mean())


def _lists(levels: list[float], gates: list[float], longest: int) -> Iterator[Rule]:
    order = sorted(range(len(levels)), key=lambda k: -levels[k])

    def gated(k: int, s: float) -> list[Cond]:
        return [Cond("margin", k), Cond("score", k, -s * levels[k])]

    for length in range(2, longest + 1):
        for stages in combinations(order, length):
            last = [Cond("margin", stages[-1])]
            for s in gates:
                first = gated(stages[0], s)
                if length == 2:
                    yield Rule(levels, [first, last])
                    continue
                majority = [Cond("score", stages[1])]
                yield Rule(levels, [first, majority, last])
                for t in gates[::3]:
                    yield Rule(levels, [first, gated(stages[1], t), last])


def _grid(radii: Array) -> Array:
    reach = float(radii.max())
    return np.linspace(0.0, reach if reach > 0 else 1.0, _STEPS)


def _curve(radii: Array, grid: Array) -> Array:
    """Share of the inputs whose radius is positive and at least that of the grid."""
    certified = (radii[:, None] >= grid) & (radii[:, None] > 0)
    return np.asarray(certified.mean(axis=0))


def _arguments(
    counts: Any, labels: Any, sigmas: Sequence[float], name: str = "counts"
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[float]]:
    drawn = as_integers(name, counts)
    classes = as_integers("labels", labels)
    levels = as_floats("sigmas", sigmas, 0.0, closed="neither", nan=False).ravel()
    if not levels.size:
        raise ArgumentError("sigmas", "must hold at least one noise level; got none")
    stages = drawn.shape[1:2]
    if (
        drawn.ndim != 3
        or stages != levels.shape
        or drawn.shape[2] < 2
        or not len(drawn)
    ):
        raise ArgumentError(
            name,
            f"must have shape (inputs, {levels.size} levels, two classes or more); got "
            f"{drawn.shape}",
        )
    if classes.shape != drawn.shape[:1] or not np.all(classes < drawn.shape[2]):
        raise ArgumentError(
            "labels",
            f"must be {drawn.shape[0]} of {drawn.shape[2]} classes; got shape "
            f"{classes.shape}, largest {classes.max() if classes.size else 'none'}",
        )
    return drawn, classes, levels.tolist()
