"""Networks for three noise levels, and the counts of their classes: what composite.py
certifies.

All counts of a data set are drawn once, for every level and image, and kept in one
file. The certificates are then computed from them as often as one likes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds import datasets
from rsbounds.sampling import Phase
from rsbounds.sampling.internal import stream

SIGMAS = (1.5, 1.0, 0.5)
N0, N, CALIBRATE = 100, 10_000, 2_000
SEED = 0

Counts = NDArray[np.int64]
Split = tuple[datasets.Images, datasets.Labels]


@dataclass(frozen=True)
class Size:
    """Images to train on, epochs, images to certify; as many are for calibration."""

    train: int
    epochs: int
    images: int


SIZES = {"Fashion-MNIST": Size(30_000, 8, 1000), "MNIST": Size(4_000, 40, 500)}


@dataclass(frozen=True)
class Case:
    """Counts of one data set, images first, then levels, then classes."""

    select: Counts
    counts: Counts
    labels: Counts
    calibration: Counts
    calibration_labels: Counts


def load(path: Path, name: str) -> Case:
    """The counts in a file, drawn and written first if there is none."""
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        drawn = draw(name)
        small = {key: value.astype(np.int16) for key, value in vars(drawn).items()}
        np.savez_compressed(path, **small)
    with np.load(path) as file:
        return Case(**{key: file[key].astype(np.int64) for key in file.files})


def draw(name: str) -> Case:
    import torch

    torch.set_num_threads(1)
    known, other, held = splits(name)
    drawn: dict[str, list[Counts]] = {"select": [], "counts": [], "calibration": []}
    for stage, sigma in enumerate(SIGMAS):
        net = trained(*known, sigma, SIZES[name].epochs)
        for key, images, n, phase in [
            ("calibration", other[0], CALIBRATE, Phase.SEARCH),
            ("select", held[0], N0, Phase.SELECT),
            ("counts", held[0], N, Phase.ESTIMATE),
        ]:
            drawn[key].append(counts_of(net, images, sigma, stage, n, phase))
        print(f"{name}, level {sigma}: drawn", flush=True)
    stacked = {key: np.stack(levels, axis=1) for key, levels in drawn.items()}
    return Case(**stacked, labels=held[1], calibration_labels=other[1])


def splits(name: str) -> tuple[Split, Split, Split]:
    """Images and labels to train on, to calibrate on and to certify."""
    size = SIZES[name]
    if name == "MNIST":
        x, y, held, truth = datasets.split(
            *datasets.mnist_digits(), size.images, seed=SEED
        )
    else:
        x, y = datasets.fashion_mnist("train")
        held, truth = (part[: size.images] for part in datasets.fashion_mnist("test"))
    other = slice(size.train, size.train + size.images)
    return (x[: size.train], y[: size.train]), (x[other], y[other]), (held, truth)


def trained(x: datasets.Images, y: Counts, sigma: float, epochs: int) -> Any:
    """A 784-256-128-10 network under Gaussian augmentation at one level."""
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    from rsbounds.torch import augment, fit

    torch.manual_seed(SEED)
    net = nn.Sequential(
        *(
            nn.Linear(784, 256),
            nn.ReLU(),
            nn.Linear(256, 128),
            nn.ReLU(),
            nn.Linear(128, 10),
        )
    )
    columns = torch.from_numpy(x).flatten(1), torch.from_numpy(y)
    fit(
        net,
        lambda a, b: cross_entropy(net(augment(a, sigma)), b),
        columns,
        epochs=epochs,
        batch_size=128,
        rate=2e-3,
    )
    return net


def counts_of(
    net: Any, images: datasets.Images, sigma: float, stage: int, n: int, phase: Phase
) -> Counts:
    """Counts of n samples of each image."""
    import torch

    from rsbounds.torch import TorchSampler

    short, q = projected(net)
    sampler = TorchSampler(short, 10)
    points = (torch.from_numpy(images).flatten(1).double() @ q).float()
    return np.stack(
        [
            np.asarray(sampler(x, sigma, n, stream(SEED, index, phase, stage)))
            for index, x in enumerate(points)
        ]
    )


def projected(net: Any) -> tuple[Any, Any]:
    """The network behind an orthonormal projection q of its input, and q, (784, 256).

    With W = L Q, the rows of Q = q^T orthonormal, W(x + sigma Z) is L(Qx + sigma Z') in
    law, Z' of 256 numbers and not 784: the same probabilities, at a third of the work.
    """
    import torch
    from torch import nn

    first = net[0]
    q, r = torch.linalg.qr(first.weight.detach().double().T)
    short = nn.Linear(*r.shape)
    short.weight.data, short.bias.data = (
        r.T.float().contiguous(),
        first.bias.detach().clone(),
    )
    return nn.Sequential(short, *list(net)[1:]), q
