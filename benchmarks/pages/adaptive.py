"""docs/benchmarks/adaptive.md: two queries beside one of the same certificate.

    python benchmarks/pages/adaptive.py

Digits alone, and digits somewhere on a larger picture of blotches. Each network is
trained under the noise that it is certified under, by the same loop, three times.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from machine import machine
from torch import nn

from rsbounds import certify_dataset
from rsbounds.datasets import mnist_digits
from rsbounds.results import Results
from rsbounds.schemes import gaussian
from rsbounds.torch import Adaptive

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "adaptive.md"
SEEDS = (0, 1, 2)
SHARE = 0.5
EPOCHS, BATCH, RATE = 20, 50, 2e-3
TRAINED, TESTED, N0, N, ALPHA = 3000, 100, 100, 1000, 0.001
#: Side of the picture, level of the noise, and radii in l_inf of the table.
CASES = {
    "digits, 28 x 28": (28, 0.5, (0.0, 0.01, 0.02, 0.03, 0.04)),
    "on blotches, 40 x 40": (40, 0.3, (0.0, 0.005, 0.01, 0.015)),
}
INTRODUCTION = """\
# Adaptive smoothing

`rsbounds.torch.Adaptive` shows a network what a mask chose after a first
noisy look, with [the radius in l_inf](../theory/two-queries.md) of one query of the
same level. Here are both, the networks alike but for the mask, each trained under its
own noise ({epochs} epochs of {trained:,} digits, {seeds} times) and certified on
{tested} others (n = {n:,}, alpha = {alpha}). `python benchmarks/pages/adaptive.py`
writes this page ({machine}).

Two queries certify more at every radius of the tables and in each seed's average. But
the mask adds parameters and work, and the common recipe was tuned for neither kind.
With 100 inputs a share of .8 is known to about .08 either way; both lines of a table
are of the same inputs.

Certified accuracy in l_inf, the mean of the seeds and their range:

"""


class Classes(nn.Module):
    """Ten classes of pictures that stand one behind the other."""

    def __init__(self, pictures: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(pictures, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveMaxPool2d(4),
            nn.Flatten(),
            nn.Linear(32 * 16, 10),
        )

    def forward(self, *pictures: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.layers(torch.cat(pictures, 1))
        return scores


class Mask(nn.Module):
    """A weight in (0, 1) for each pixel, by what lies around it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(8, 8, 5, padding=4, dilation=2),
            nn.ReLU(),
            nn.Conv2d(8, 1, 5, padding=4, dilation=2),
            nn.Sigmoid(),
            nn.Upsample(scale_factor=2),
        )

    def forward(self, first: torch.Tensor) -> torch.Tensor:
        weights: torch.Tensor = self.layers(first)
        return weights


def pictures(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits in random order; in larger pictures somewhere, over blotches."""
    rng = np.random.default_rng(0)
    x, y = mnist_digits()
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
    if side == x.shape[2]:
        return x, y
    blotches = 0.5 * rng.random((len(x), 1, 8, 8), dtype=np.float32)
    large = blotches.repeat(side // 8, 2).repeat(side // 8, 3)
    places = rng.integers(0, side - 27, (len(x), 2))
    for picture, digit, (top, left) in zip(large, x, places, strict=True):
        here = picture[:, top : top + 28, left : left + 28]
        np.maximum(here, digit, out=here)
    return large, y


def trained(
    model: nn.Module,
    scores: Callable[[torch.Tensor], torch.Tensor],
    x: np.ndarray,
    y: np.ndarray,
) -> None:
    """Minimise the cross-entropy of scores under noise, drawn anew in each step."""
    steps = EPOCHS * -(-len(x) // BATCH)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(BATCH):
            loss = nn.functional.cross_entropy(
                scores(torch.from_numpy(x)[rows]), torch.from_numpy(y)[rows]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def runs(side: int, sigma: float, seed: int) -> tuple[Results, Results]:
    """One query and two, by networks of one seed."""
    x, y = pictures(side)
    train, test = (x[TESTED:][:TRAINED], y[TESTED:][:TRAINED]), (x[:TESTED], y[:TESTED])
    numbers = {"n0": N0, "n": N, "alpha": ALPHA, "seed": seed}
    torch.manual_seed(seed)
    plain = Classes(1)
    trained(plain, lambda rows: plain(rows + sigma * torch.randn_like(rows)), *train)
    once = gaussian(sigma, norm=np.inf, dim=side**2)
    torch.manual_seed(seed)
    adaptive = Adaptive(Mask(), Classes(2), sigma, SHARE)
    trained(adaptive, adaptive.sample, *train)
    twice = adaptive.scheme(side**2)
    return (
        certify_dataset(plain, test, once, **numbers),
        certify_dataset(adaptive, test, twice, **numbers),
    )


def table(name: str) -> list[str]:
    """Rows of one case, and its head."""
    side, sigma, radii = CASES[name]
    lines = [
        f"**{name}**, sigma = {sigma}\n",
        "| radius | " + " | ".join(f"{r:g}" for r in radii) + " | average radius |",
        "| --- |" + " --- |" * (len(radii) + 1),
    ]
    kinds: tuple[list[Results], list[Results]] = ([], [])
    for seed in SEEDS:
        for kind, results in zip(kinds, runs(side, sigma, seed), strict=True):
            kind.append(results)
            print(name, seed, results, flush=True)
    for title, results in zip(("one query", "two queries"), kinds, strict=True):
        cells = [
            spread([float(one.certified_accuracy(r)) for one in results], 3)
            for r in radii
        ]
        average = spread([one.average_radius() for one in results], 4)
        lines.append(f"| {title} | " + " | ".join([*cells, average]) + " |")
    return [*lines, ""]


def spread(values: list[float], digits: int) -> str:
    """Mean, and the least and the largest value."""
    mean, low, high = (f"{f(values):.{digits}f}" for f in (np.mean, min, max))
    return f"{mean} ({low} to {high})"


def main() -> None:
    lines = [line for name in CASES for line in table(name)]
    introduction = INTRODUCTION.format(
        epochs=EPOCHS,
        seeds=len(SEEDS),
        trained=TRAINED,
        tested=TESTED,
        n=N,
        alpha=ALPHA,
        machine=machine("torch"),
    )
    PAGE.write_text(introduction + "\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
