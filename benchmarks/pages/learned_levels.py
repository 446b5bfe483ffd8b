"""Levels that follow the input, each beside the constant of its mean level, for
learned.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from learned_case import ANCHORS, COMPONENTS, LEVELS, PIXELS, under, with_levels
from learned_rows import Bench, Row
from theorem_3 import theorem_3
from torch import nn

from rsbounds import lipschitz, schemes
from rsbounds import torch as rst
from rsbounds.schemes import Scheme
from rsbounds.semielastic import KNNSigma

SIGMA = 0.5
RATES = (0.01, 0.02, 0.05)
NEIGHBOURS = 10
P_MIN = 1e-4


@dataclass(frozen=True)
class Price:
    """A scheme whose level follows the input, beside the constant of its mean level."""

    row: Row
    free: Row
    pixels: Row
    constant: Row

    def cells(self) -> list[str]:
        levels = self.row.levels
        gain = self.row.radii - self.constant.radii
        percent = 100 / self.constant.acr
        error = percent * gain.std() / np.sqrt(len(gain))
        return [
            self.row.name,
            f"{levels.min():.3f} to {levels.max():.3f}",
            f"{levels.mean():.3f}",
            *(
                f"{r.acr:.3f}"
                for r in (self.row, self.free, self.pixels, self.constant)
            ),
            f"{percent * gain.mean():+.1f} ± {error:.1f}",
            f"{percent * (self.free.radii - self.constant.radii).mean():+.1f}",
        ]


def price(bench: Bench, row: Row, at: Callable[..., Scheme], constant: Row) -> Price:
    """``at(dim, free)``: the scheme in so many dimensions, or as if its level were
    constant.
    """
    free = bench.again(row, "", at(COMPONENTS, free=True).radius, keep=False)
    pixels = bench.again(row, "", at(PIXELS, free=False).radius, keep=False)
    return Price(row, free, pixels, constant)


def sigma_networks(bench: Bench) -> list[Price]:
    found = []
    for sigma in LEVELS[:3]:
        net, level = with_levels(bench.data, sigma, free=True)
        row = bench.under(f"sigma network, {sigma:g}", net, level.scheme(COMPONENTS))
        if sigma == SIGMA:
            known: Any = {
                "lip": level.freeze(COMPONENTS).lip,
                "sigma_min": level.sigma_min,
                "dim": COMPONENTS,
            }

            def integrated(
                z_a: float, sigma: float, z_b: float, known: Any = known
            ) -> float:
                more = {"p_b": z_b, "method": "integrated", "scores": True}
                return float(lipschitz.radius(z_a, sigma, **known, **more))

            paper = theorem_3(**known, p_min=P_MIN, classes=10)
            for method, radius in {"integrated": integrated, "paper": paper}.items():
                bench.again(
                    row, f"sigma network, {sigma:g}, {method}", radius, keep=True
                )

        def at(dim: int, *, free: bool, level: rst.SigmaNetwork = level) -> Scheme:
            lip = 0.0 if free else level.freeze(COMPONENTS).lip
            return schemes.lipschitz(_nowhere, lip, level.sigma_min, dim)

        mean = float(row.levels.mean())
        still, _ = with_levels(bench.data, mean, free=False)
        found.append(price(bench, row, at, still_row(bench, still, mean)))
    return found


def still_row(bench: Bench, net: nn.Module, sigma: float) -> Row:
    return bench.under(f"its mean level, {sigma:.3f}", net, schemes.gaussian(sigma))


def _nowhere(_: Any) -> float:
    """The level of a scheme of which the radius alone is asked."""
    return 1.0


def nearest(bench: Bench) -> list[Price]:
    known, found = bench.data.train.u.double().numpy(), []
    anchors = known[:ANCHORS]
    shift: Any = "mean"
    for rate in RATES:
        level = KNNSigma(anchors, SIGMA, rate, NEIGHBOURS, shift)
        shift = level.shift
        net = under(bench.data, level.sigma(known))
        scheme = schemes.semielastic(level, COMPONENTS)
        row = bench.under(f"nearest images, r = {rate}", net, scheme)

        def at(dim: int, *, free: bool, rate: float = rate) -> Scheme:
            flat = KNNSigma(anchors[:1], SIGMA, 0.0 if free else rate, 1, 0.0)
            return schemes.semielastic(flat, dim)

        mean = float(row.levels.mean())
        still = still_row(bench, under(bench.data, mean), mean)
        found.append(price(bench, row, at, still))
    return found
