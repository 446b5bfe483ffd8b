"""The rows of learned.py: certificates of held-out images, and decision lists over
levels.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from learned_case import CLASSES, LARGEST, Data, Tensor
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import nn

from rsbounds import composite, schemes
from rsbounds import torch as rst
from rsbounds.certificate import Certificate
from rsbounds.certify import certify, certify_counts
from rsbounds.composite import Cond, Rule
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase
from rsbounds.sampling.internal import stream
from rsbounds.schemes import Scheme

RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
N0, ALPHA = 100, 0.001
GATES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.65)
SHARE = 0.75  # of n that a decision list draws at each of its levels
CALIBRATE = 1000  # samples of a calibration image at each level

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """Radii of the images, 0 where the class is wrong, and what they cost."""

    name: str
    radii: Floats
    samples: float
    seconds: float
    found: Sequence[Certificate] = field(default=(), repr=False)

    @property
    def curve(self) -> Floats:
        return np.array([np.mean(self.radii > r) for r in RADII])

    @property
    def acr(self) -> float:
        return float(self.radii.mean())

    @property
    def levels(self) -> Floats:
        return np.array([c.sigma for c in self.found])

    def cells(self) -> list[str]:
        flag = "! " if self.found[0].scope.endswith("input only") else ""
        curve = [f"{v:.3f}" for v in self.curve]
        return [
            flag + self.name,
            *curve,
            f"{self.acr:.3f}",
            f"{self.samples:.0f}",
            f"{self.seconds:.0f}",
        ]


class Bench:
    """Certifies one data set's held-out images."""

    def __init__(self, data: Data, n: int) -> None:
        self.data, self.n = data, n
        self.rows: list[Row] = []

    def row(
        self, name: str, one: Callable[[int], Certificate], spent: int | None = None
    ) -> Row:
        start = time.process_time()
        found = [one(index) for index in range(len(self.data.held.y))]
        seconds = time.process_time() - start
        samples = N0 + self.n if spent is None else spent
        return self.add(name, found, samples, seconds)

    def add(
        self,
        name: str,
        found: Sequence[Certificate],
        samples: float,
        seconds: float,
        *,
        keep: bool = True,
    ) -> Row:
        right = np.array([c.predict for c in found]) == self.data.held.y.numpy()
        row = Row(
            name, np.array([c.radius for c in found]) * right, samples, seconds, found
        )
        if keep:
            self.rows.append(row)
            print(*row.cells(), flush=True)
        return row

    def under(
        self,
        name: str,
        net: nn.Module,
        scheme: Scheme,
        inputs: Tensor | None = None,
        sampler: Any = None,
    ) -> Row:
        """A network's certificates under one scheme."""
        draw = rst.TorchSampler(net, CLASSES) if sampler is None else sampler
        held = self.data.held.u if inputs is None else inputs
        known: dict[str, Any] = {"n0": N0, "n": self.n, "alpha": ALPHA}
        return self.row(
            name, lambda i: certify(draw, held[i], scheme, index=i, **known)
        )

    def constant(self, name: str, net: nn.Module, sigma: float) -> Row:
        return self.under(f"{name}, {sigma:g}", net, schemes.gaussian(sigma))

    def without_runner_up(self, row: Row, sigma: float) -> Row:
        """The same counts, with p_B = 1 - p_A."""
        scheme = schemes.gaussian(sigma)
        known: dict[str, Any] = {
            "n0": N0,
            "n": self.n,
            "alpha": ALPHA,
            "runner_up": False,
        }
        found = [
            certify_counts(scheme, sigma, c.select, c.counts, Procedure(**known))
            for c in row.found
        ]
        return self.add(f"{row.name}, Cohen's bound", found, row.samples, row.seconds)

    def again(
        self, row: Row, name: str, radius: Callable[..., float], *, keep: bool
    ) -> Row:
        """Another radius from the same evidence."""
        found = [
            replace(c, radius=radius(c.z_a, c.sigma, c.z_b) if c.radius > 0 else 0.0)
            for c in row.found
        ]
        return self.add(name, found, row.samples, row.seconds, keep=keep)


@dataclass(frozen=True)
class Stage:
    """A classifier under one level. Of more than CLASSES classes the last one is a
    rejection.
    """

    net: nn.Module
    sigma: float

    def sampler(self) -> Any:
        inner = rst.TorchSampler(self.net)
        return lambda *known: np.asarray(inner(*known))[
            :CLASSES
        ]  # a rejection is a void vote


def known_scores(bench: Bench, stage: Stage, index: int) -> Floats:
    """Normal scores of the calibration images' classes by plug-in probabilities."""
    draw, split = stage.sampler(), bench.data.calibration
    counts = [
        draw(u, stage.sigma, CALIBRATE, stream(0, i, Phase.SEARCH, index))
        for i, u in enumerate(split.u)
    ]
    return np.asarray(
        np.minimum(ndtri((np.stack(counts) + 0.5) / (CALIBRATE + 1.0)), LARGEST)
    )


def lists(sigmas: Sequence[float]) -> Iterable[Rule]:
    """A gate at one level, then the argmax at a smaller one; ``sigmas`` fall."""
    for a in range(len(sigmas)):
        for b in range(a + 1, len(sigmas)):
            for s in GATES:
                gate = [Cond("margin", a), Cond("score", a, -s * sigmas[a])]
                yield Rule(sigmas, [gate, [Cond("margin", b)]])


def chosen(bench: Bench, stages: Sequence[Stage]) -> Rule:
    """The list of most calibration images rightly classified, at no loss of mean
    radius.

    None to the constant of its first level, and none to the best constant but 2 %;
    where there is no such list, that of the largest mean radius.
    """
    sigmas, y = [s.sigma for s in stages], bench.data.calibration.y.numpy()
    z = np.stack([known_scores(bench, s, k) for k, s in enumerate(stages)], axis=1)

    def mean(rule: Rule) -> tuple[float, float]:
        radii = composite.radius(rule, z, y)
        return float(np.mean(radii > 0)), float(radii.mean())

    alone = [mean(Rule(sigmas, [[Cond("margin", k)]]))[1] for k in range(len(sigmas))]
    found = [(*mean(rule), rule) for rule in lists(sigmas)]
    fair = [
        f
        for f in found
        if f[1] >= max(alone[f[2].items[0][0].stage], 0.98 * max(alone))
    ]
    if fair:
        return max(fair, key=lambda f: f[0])[2]
    return max(found, key=lambda f: f[1])[2]


def listed(bench: Bench, name: str, stages: Sequence[Stage]) -> tuple[Row, Rule]:
    """The list that the calibration images choose, certified with SHARE of n at each
    level.
    """
    rule = chosen(bench, stages)
    used = [item[0].stage for item in rule.items]
    items = [[replace(q, stage=k) for q in item] for k, item in enumerate(rule.items)]
    asked = Rule([rule.sigmas[k] for k in used], items)
    draw, held = [stages[k].sampler() for k in used], bench.data.held.u
    known: dict[str, Any] = {"n0": N0, "n": round(SHARE * bench.n), "alpha": ALPHA}
    start = time.process_time()
    found = [
        composite.certify(draw, u, asked, Procedure(**known), index=i)
        for i, u in enumerate(held)
    ]
    seconds, spent = (
        time.process_time() - start,
        float(np.mean([c.samples for c in found])),
    )
    first, second = asked.sigmas
    level = -items[0][1].threshold / first
    title = f"{name}: gate {first:g} > -{level:g}, argmax {second:g}"
    return bench.add(title, found, spent, seconds), asked


def against(row: Row, curve: Floats) -> list[str]:
    """Points of certified accuracy more than another curve's, at each radius."""
    return [f"{100 * d:+.1f}" for d in row.curve - curve]


def columns(rows: list[list[str]], names: Sequence[str]) -> list[list[str]]:
    """The columns of these names, which stand in the first row."""
    places = [rows[0].index(name) for name in names]
    return [[row[place] for place in places] for row in rows]


def table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
