"""The demo: a small network on real digits, certified in five ways side by side."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from rsbounds import datasets, schemes, semielastic
from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import Answer, DecisionList, TopClass
from rsbounds.certify import Settings, certify_dataset
from rsbounds.composite import Cond, Rule
from rsbounds.procedure import Procedure
from rsbounds.results import Results, Row
from rsbounds.results.internal import write
from rsbounds.schemes import Scheme
from rsbounds.torch import TorchSampler, augment, fit
from rsbounds.torch.networks.operations._norms import one_thread

SIGMA = 1.0  # noise level
LEVELS = (SIGMA, 0.5)  # those of training, and of the decision list
GATE = (
    -0.25
)  # the list passes an image on where no class's score, in the input's unit, is above
NEIGHBOURS = 20
DISTANCE = 6.0  # about the mean distance of a digit to its nearest 20 others
RATE = 0.01  # semi-elastic: |d log sigma| <= RATE |dx|
LIP = 0.01  # Lipschitz: |d sigma| <= LIP |dx|
SIGMA_MIN = SIGMA - LIP * DISTANCE  # at distance 0
HELD_OUT = 1000
WHY = (
    "Why the input-dependent levels lose to fixed noise here: sigma(x) is 0.97 to 1.03 "
    "on these digits, which gains nothing, and the certificate must allow for the "
    "levels that it may have in the whole ball, which costs radius in 784 dimensions."
)


@cache
def digits(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Digits to train on and held-out digits, in an order set by the seed."""
    return datasets.split(*datasets.mnist_digits(), HELD_OUT, seed=seed)


def model(seed: int = 0) -> nn.Module:
    """The demo's network, trained in seconds, to try ``rsbounds certify`` on."""
    x, y, _, _ = digits(seed)
    return train(x, y, LEVELS, seed=seed)


@one_thread()
def train(
    x: datasets.Images,
    y: datasets.Labels,
    sigma: float | Sequence[float],
    *,
    seed: int = 0,
    epochs: int = 12,
) -> nn.Module:
    """Train a small convolutional network under Gaussian noise of some levels."""
    levels = torch.as_tensor(sigma, dtype=torch.float32).reshape(-1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = nn.Sequential(
            *(nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(), nn.Flatten()),
            *(nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10)),
        )

    def loss(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        drawn = (
            levels
            if len(levels) == 1
            else levels[torch.randint(len(levels), labels.shape)]
        )
        return nn.functional.cross_entropy(network(augment(images, drawn)), labels)

    columns = torch.from_numpy(x), torch.from_numpy(y)
    fit(network, loss, columns, epochs=epochs, rate=5e-3, seed=seed)
    return network


def schemes_of(anchors: datasets.Images) -> dict[str, Scheme | Answer]:
    """Make the demo's schemes: fixed noise, a decision list, and two growing levels.

    These levels grow with the distance to ``anchors``.
    """
    flat = anchors.reshape(len(anchors), -1)
    dim = flat.shape[1]
    knn = semielastic.KNNSigma(flat, SIGMA, RATE, NEIGHBOURS, DISTANCE)

    def linear(x: Any) -> float:
        # the mean distance to the nearest anchors is 1-Lipschitz in x
        return SIGMA_MIN + LIP * float(knn.distance(np.ravel(x)))

    gate = [Cond("margin", 0), Cond("score", 0, GATE)]
    rule = Rule(LEVELS, [gate, [Cond("margin", 1)]])
    return {
        "runner-up": schemes.gaussian(SIGMA),
        # its gate is a constant of this module: no row of the run chose it
        "list": DecisionList(rule, fitted=()),
        "semi-elastic": schemes.semielastic(knn, dim),
        "lipschitz": schemes.lipschitz(linear, LIP, SIGMA_MIN, dim, proven=True),
    }


@one_thread()
def run(
    out: Path,
    *,
    seed: int = 0,
    count: int = 200,
    n0: int = 100,
    n: int = 2000,
    alpha: float = 0.001,
    say: Callable[[str], None] = print,
) -> list[Path]:
    """Train, certify held-out digits by each scheme, write and return the result files.

    Parameters
    ----------
    out : Path
        An existing folder. It also gets ``digits.npz``, the digits that are certified;
        files of an earlier demo are replaced.
    count : int
        Digits to certify, 1 to 1000.
    seed, n0, n, alpha
        As in :func:`rsbounds.certify.certify`; the seed is that of order and training
        too.
    say : callable
        Takes a line about each step.
    """
    if as_integers("count", count, 1) > HELD_OUT:
        raise ArgumentError("count", f"must be at most {HELD_OUT}; got {count}")
    # what is wrong with the other numbers is said before the training
    procedure = Procedure(n0=n0, n=n, alpha=alpha, seed=seed)
    start = time.perf_counter()
    x_train, y_train, x, y = digits(seed)
    x, y = x[:count], y[:count]
    np.savez_compressed(out / "digits.npz", x=x, y=y)
    sampler = TorchSampler(train(x_train, y_train, LEVELS, seed=seed), 10)
    took, levels = time.perf_counter() - start, " and ".join(map(str, LEVELS))
    say(f"trained on {len(x_train)} digits under noise {levels}: {took:.0f} s")
    settings = Settings(describe={"spec": "rsbounds.demo:model"})
    files = []
    for name, scheme in schemes_of(x_train).items():
        start = time.perf_counter()
        file = out / f"{name}.tsv"
        file.unlink(missing_ok=True)
        results = certify_dataset(
            sampler,
            (x, y),
            scheme,
            out=file,
            n0=procedure.n0,
            n=procedure.n,
            alpha=procedure.alpha,
            seed=procedure.seed,
            settings=settings,
        )
        drawn, took = (
            np.mean([_samples(row, n0) for row in results.rows]),
            time.perf_counter(),
        )
        say(
            f"certified {count} digits, {name}: {drawn:.0f} samples each, "
            f"{took - start:.0f} s"
        )
        if name == "runner-up":
            files.append(_cohen(out / "cohen.tsv", results))
            say(
                "certified the same samples with Cohen's bound, cohen: no samples of "
                "its own"
            )
        files.append(file)
    say(WHY)
    return files


def _cohen(file: Path, results: Results) -> Path:
    """The certificates of Cohen's procedure from the counts of another run."""
    assert results.manifest is not None
    procedure = replace(results.manifest.procedure, runner_up=False)
    manifest = replace(results.manifest, procedure=procedure)
    answer = TopClass(schemes.gaussian(SIGMA))
    rows = []
    for row in results.rows:
        again, _ = answer.certify(
            answer.stored(row), procedure, label=row.label, index=row.idx
        )
        rows.append(Row.of(row.idx, row.label, again, 0.0, input=row.input))
    write(file, manifest, rows)
    return file


def _samples(row: Row, n0: int) -> int:
    stages = row.extra.get("stage_counts", "").split(";")
    used = sum(stage != "*" for stage in stages)
    return (n0 + row.n) if not row.extra else n0 * len(stages) + row.n * used
