"""One list over a recipe's levels against the union of Gaussian constants.

Counts of the votes are trained for and drawn once, and kept in one file for each data
set and seed; the tables are made from the files.

python benchmarks/pages/union_gaussian.py docs/benchmarks/union [MNIST ...]
"""

import copy
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from union_case import (
    ALPHA,
    BATCH,
    CLASSES,
    EPOCHS,
    KEPT,
    N0,
    RECIPES,
    Split,
    network,
    scores,
    splits,
    votes,
)
from union_choice import LEAST, LEVELS, Floats, Key, chosen, curve, terms

from rsbounds import composite, datasets, schemes
from rsbounds import torch as rst
from rsbounds.certify import certify_counts
from rsbounds.composite import Rule
from rsbounds.procedure import Procedure

COUNTS = 10_000, 100_000  # samples that estimate, of an image and network
ASKED = "Gaussian", "consistency"
GATED = 2  # gates of a list, at most
SETS = "MNIST", "Fashion-MNIST"
SEEDS = 0, 1, 2
DRAWS = 400  # of the bootstrap


def trained(sigma: float, train: Split, seed: int) -> dict[str, Any]:
    """Networks of one level: under noise, then by each recipe from the same start."""
    torch.manual_seed(seed)
    start = network()

    def fitted(net: Any, loss: Any) -> None:
        rst.fit(
            net,
            lambda u, y: loss(net, u, y, sigma),
            train,
            epochs=EPOCHS,
            batch_size=BATCH,
            rate=4e-3,
            seed=seed,
        )

    fitted(start, RECIPES["Gaussian"])
    nets = {}
    for name in ASKED:
        nets[name] = copy.deepcopy(start)
        fitted(nets[name], RECIPES[name])
    return nets


def draw(name: str, seed: int, n: int, fashion: Path) -> dict[str, Any]:
    """Train, choose on calibration images, and count votes of held-out ones."""
    torch.set_num_threads(1)
    train, calibration, held = splits(name, seed, fashion)
    nets: dict[Key, Any] = {}
    for sigma in LEVELS:
        for recipe, net in trained(sigma, train, seed).items():
            nets[recipe, sigma] = net
    y = calibration[1].numpy()
    largest = ndtri((ALPHA / 10) ** (1 / n))  # about what n samples can show
    known = {
        key: np.minimum(scores(net, calibration[0], key[1], seed), largest)
        for key, net in nets.items()
    }
    gaussian = [key for key in nets if key[0] == "Gaussian"]
    alone = [np.maximum(terms(key[1] * known[key], y)[0], 0.0) for key in gaussian]
    union = curve(np.stack(alone)).max(0)
    lists = {}
    for recipe in ASKED:
        some = {key: z for key, z in known.items() if key[0] == recipe}
        lists[recipe] = chosen(some, some, y, union, GATED)
    needed = set(gaussian).union(*(keys for keys, _, _ in lists.values()))
    order = sorted(needed, key=lambda key: (key[0], key[1]))
    counts = np.stack(
        [
            votes(nets[key], held[0], key[1], N0 + n, 1000 * (seed + 1) + 500 + k)
            for k, key in enumerate(order)
        ],
        axis=1,
    )
    top = np.sort(np.argsort(-counts, axis=-1, kind="stable")[..., :KEPT], axis=-1)
    about = {
        "networks": order,
        "lists": {
            recipe: [[order.index(key) for key in keys], rule.to_dict(), ratio]
            for recipe, (keys, rule, ratio) in lists.items()
        },
    }
    return {
        "labels": held[1].numpy().astype(np.uint8),
        "top": top.astype(np.uint8),
        "counts": np.take_along_axis(counts, top, -1).astype(np.int32),
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
    }


@dataclass(frozen=True)
class Bench:
    """Radii of one seed's held-out images, 0 where the class is wrong."""

    labels: NDArray[np.int64]
    union: Floats  # of the Gaussian constants, one row each
    lists: dict[str, Floats]
    rules: dict[str, str]


def load(path: Path, n: int) -> Bench:
    """Certify what a file counts."""
    with np.load(path) as file:
        labels, top, kept = (
            file[key].astype(np.int64) for key in ("labels", "top", "counts")
        )
        about = json.loads(bytes(file["about"]))
    select, counts = parted(top, kept, n)
    constants = []
    for k, (recipe, sigma) in enumerate(about["networks"]):
        if recipe == "Gaussian":
            scheme = schemes.gaussian(sigma)
            found = [
                certify_counts(scheme, sigma, s, c, Procedure(n0=N0, n=n, alpha=ALPHA))
                for s, c in zip(select[:, k], counts[:, k], strict=True)
            ]
            constants.append(right(found, labels))
    lists, rules = {}, {}
    for recipe, (used, data, _) in about["lists"].items():
        rule = Rule.from_dict(data)
        found = [
            composite.certify_counts(rule, s, c, Procedure(n=n, alpha=ALPHA))
            for s, c in zip(select[:, used], counts[:, used], strict=True)
        ]
        lists[recipe] = right(found, labels)
        gates = [item[1].threshold for item in rule.items[:-1]]
        rules[recipe] = ", ".join(
            [f"{s:g} > {t:.2f}" for s, t in zip(rule.sigmas, gates, strict=False)]
            + [f"{rule.sigmas[-1]:g}"]
        )
    return Bench(labels, np.stack(constants), lists, rules)


def parted(
    top: NDArray[np.int64], kept: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts of N0 and of the other n samples, drawn without replacement."""
    rng = np.random.default_rng(n)
    images, nets, _ = kept.shape
    select = np.zeros((images, nets, CLASSES), np.int64)
    counts = np.zeros_like(select)
    for i, k in np.ndindex(images, nets):
        whole = np.append(kept[i, k], N0 + n - kept[i, k].sum())
        first = rng.multivariate_hypergeometric(whole, N0)
        select[i, k, top[i, k]] = first[:KEPT]
        counts[i, k, top[i, k]] = (whole - first)[:KEPT]
    return select, counts


def right(found: list[Any], labels: NDArray[np.int64]) -> Floats:
    return np.array(
        [c.radius * (c.predict == y) for c, y in zip(found, labels, strict=True)]
    )


def ratios(benches: list[Bench], recipe: str, rng: Any = None) -> tuple[float, float]:
    """Least and mean ratio over the radii where the union counts, of mean curves.

    With ``rng`` of images drawn with replacement: the same for list and union.
    """
    own, union = [], []
    for b in benches:
        images = len(b.labels)
        rows = np.arange(images) if rng is None else rng.integers(0, images, images)
        own.append(curve(b.lists[recipe][rows]))
        union.append(curve(b.union[:, rows]).max(0))
    top = np.mean(union, axis=0)
    ratio = np.mean(own, axis=0)[top >= LEAST] / top[top >= LEAST]
    return float(ratio.min()), float(ratio.mean())


def stored(folder: Path, name: str, seed: int, n: int) -> Path:
    return folder / f"gaussian-{name.lower()}-{seed}-{n}.npz"


def loaded(folder: Path, name: str, n: int) -> list[Bench]:
    """What is counted of one set, of the seeds that are there."""
    files = [stored(folder, name, seed, n) for seed in SEEDS]
    return [load(file, n) for file in files if file.exists()]


def table(folder: Path) -> str:
    """Least and mean ratio with 95 % intervals, from the files that are there."""
    columns = [
        "list over the levels of",
        "data",
        "n",
        "least ratio",
        "mean ratio",
        "ACR of the list",
        "of the best Gaussian constant",
    ]
    lines = [
        "| " + " | ".join(columns) + " |",
        "|" + " --- |" * len(columns),
    ]
    for name in SETS:
        for n in COUNTS:
            benches = loaded(folder, name, n)
            if benches:
                lines += rows(name, n, benches)
    return "\n".join(lines)


def rows(name: str, n: int, benches: list[Bench]) -> list[str]:
    """The table's rows of one data set and number of samples."""
    lines = []
    for recipe in ASKED:
        rng = np.random.default_rng(0)
        least, mean = ratios(benches, recipe)
        drawn = np.array([ratios(benches, recipe, rng) for _ in range(DRAWS)])
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        radius = np.mean([b.lists[recipe].mean() for b in benches])
        best = np.mean([b.union.mean(1).max() for b in benches])
        lines.append(
            f"| {recipe} | {name} | {n:,} | {least:.3f} ({low[0]:.3f}, {high[0]:.3f}) "
            f"| {mean:.3f} ({low[1]:.3f}, {high[1]:.3f}) | {radius:.3f} | {best:.3f} |"
        )
    return lines


def main() -> None:
    folder = Path(sys.argv[1])
    for n in COUNTS:
        for name in sys.argv[2:] or SETS:
            for seed in SEEDS:
                path = stored(folder, name, seed, n)
                if not path.exists():
                    counted = draw(name, seed, n, datasets.FASHION_FOLDER)
                    np.savez_compressed(path, **counted)
                    print(path, flush=True)
    print(table(folder))


if __name__ == "__main__":
    main()
