"""[S] E.3, E.4 and E.6 on images, with the paper's k and m: is it the moving level?

sigma(x) at the base level, networks trained at the base, at the mean of sigma(x) over
the test images, or under a moving level, and fixed noise at that mean. Some trainings
are repeated, and one evaluation.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from images import Data, as_table, certified, curves, every, row, run, trained
from shared import Table

from rsbounds import schemes
from rsbounds.semielastic import KNNSigma

SIGMAS, RATE, NEIGHBOURS = (0.12, 0.25, 0.5), 0.01, 20
SHIFTS = {"MNIST": 1.5, "CIFAR-10": 5.0}
SEEDS, DRAWS = 8, 7
REPEATED = (  # the training, and the noise of the certification
    ("base", "fixed at the base"),
    ("base", "rate 0.01"),
    ("mean", "rate 0.01"),
    ("mean", "fixed at the mean"),
    ("rate 0.01", "rate 0.01"),
)
ONCE = (
    ("base", "rate 0.05"),
    *((f"rate {rate:g}", "rate 0.01") for rate in (0.04, 0.1)),
)


class Base:
    """A base level with what follows from it on some data."""

    def __init__(self, data: Data, sigma: float) -> None:
        self.data, self.sigma = data, sigma
        held = data.held.flatten(1).double().numpy()
        # in single precision, as noise is drawn
        self.mean = float(np.float32(self.levels(RATE).sigma(held).mean()))

    def levels(self, rate: float) -> KNNSigma:
        shift = SHIFTS[self.data.name]
        return KNNSigma(self.data.flat, self.sigma, rate, NEIGHBOURS, shift)

    def network(self, training: str, seed: int) -> Any:
        if training.startswith("rate"):
            rate = float(training.split()[1])
            levels = torch.from_numpy(self.levels(rate).sigma(self.data.flat))
            return trained(self.data, levels, seed)
        level = self.sigma if training == "base" else self.mean
        return trained(self.data, level, seed)

    def scheme(self, noise: str) -> Any:
        if noise.startswith("rate"):
            rate = float(noise.split()[1])
            return schemes.semielastic(self.levels(rate), self.data.dim)
        return schemes.gaussian(self.sigma if noise.endswith("base") else self.mean)

    def rows(self, seed: int, draws: int) -> Iterator[tuple[Any, ...]]:
        """The rows of one seed of the trainings; the second also certified again."""
        networks: dict[str, Any] = {}
        for training, noise in REPEATED if seed else REPEATED + ONCE:
            if training not in networks:
                networks[training] = self.network(training, seed)
            again = (training, noise) == REPEATED[1] and seed == 0
            for draw in range(draws if again else 1):
                scheme = self.scheme(noise)
                found = certified(self.data, networks[training], scheme, draw)
                names = self.data.name, self.sigma, training, noise, seed, draw
                yield *names, *row(self.data, found, scheme.radius)


def table(quick: bool = False, folder: str | None = None) -> Table:
    data = next(iter(every(quick, folder)))
    rows: list[tuple[Any, ...]] = []
    for sigma in SIGMAS[-1:] if quick else SIGMAS:
        draws = DRAWS if sigma == SIGMAS[-1] else 1
        for seed in range(1 if quick else SEEDS):
            rows += Base(data, sigma).rows(seed, draws)
    return as_table("data sigma_b training noise seed draw", rows)


def figure(table: Table) -> Any:
    shown = {
        ("base", "fixed at the base"): "fixed noise {:g}",
        ("mean", "rate 0.01"): "{:g}, rate 0.01",
        ("mean", "fixed at the mean"): "fixed at the mean of {:g}",
    }

    def label(i: int) -> str | None:
        if table["seed"][i] or table["draw"][i]:
            return None
        text = shown.get((table["training"][i], table["noise"][i]))
        return text and text.format(table["sigma_b"][i])

    return curves(table, label, 2.0)


if __name__ == "__main__":
    run(__file__, table, figure)
