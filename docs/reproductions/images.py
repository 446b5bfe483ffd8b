"""What the experiments on images share: data, a small network, and rows of certified
accuracy.
"""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import cifar10
import numpy as np
import torch
from shared import Table, axes, columns, listed, publish, steps, unlisted
from torch import nn

import rsbounds.torch as rst
from rsbounds import datasets
from rsbounds.certificate import Certificate
from rsbounds.certify import certify

COUNT, N = 200, 1000
TRAIN = 4000


class Data(NamedTuple):
    name: str
    x: torch.Tensor
    y: torch.Tensor
    held: torch.Tensor
    truth: torch.Tensor
    n: int

    @property
    def flat(self) -> Any:
        return self.x.flatten(1).double().numpy()

    @property
    def dim(self) -> int:
        return self.x[0].numel()


def every(quick: bool, folder: str | None = None) -> Iterable[Data]:
    """The two data sets, or CIFAR-10 from a folder; quick: a few of the digits, or of
    the pictures.
    """
    torch.set_num_threads(1)
    train, count = (500, 6) if quick else (TRAIN, COUNT)
    if folder is not None:
        names: tuple[str, ...] = ("CIFAR-10",)
    else:
        names = ("MNIST",) if quick else ("MNIST", "Fashion-MNIST")
    for name in names:
        x, y, held, truth = map(torch.from_numpy, parts(name, folder))
        kept = x[:train], y[:train], held[:count], truth[:count]
        yield Data(name, *kept, 100 if quick else N)


def parts(name: str, folder: str | None) -> tuple[Any, ...]:
    """Images and labels to train with, and images and labels that are held out."""
    if name == "MNIST":
        return datasets.split(*datasets.mnist_digits(), 1000)
    if name == "Fashion-MNIST":
        x, y = datasets.fashion_mnist("train")
        return x[:TRAIN], y[:TRAIN], *datasets.fashion_mnist("test")
    assert folder is not None
    train = cifar10.pictures("train", folder, TRAIN)
    return *train, *cifar10.pictures("test", folder, COUNT)


def trained(data: Data, sigma: float | torch.Tensor, seed: int = 0) -> nn.Module:
    """A convolutional network trained under noise of one level, or of one for each
    image.
    """
    torch.manual_seed(seed)
    channels, side = data.x.shape[1], data.x.shape[2] // 4
    net = nn.Sequential(
        *(nn.Conv2d(channels, 16, 4, stride=2, padding=1), nn.ReLU()),
        *(nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(32 * side * side, 64), nn.ReLU(), nn.Linear(64, 10)),
    )
    levels = torch.as_tensor(sigma).float().expand(len(data.x))

    def loss(x: torch.Tensor, y: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(net(rst.augment(x, level)), y)

    sets = data.x, data.y, levels
    rst.fit(net, loss, sets, epochs=12, rate=5e-3, seed=seed)
    return net


def certified(
    data: Data, net: nn.Module, scheme: Any, seed: int = 0
) -> list[Certificate]:
    """Certificates of the held-out images, all of alpha for the bound of the class, as
    the papers have it.
    """
    sampler = rst.TorchSampler(net, 10)
    options = {"n": data.n, "seed": seed, "runner_up": False}
    return [
        certify(sampler, x, scheme, index=i, **options) for i, x in enumerate(data.held)
    ]


def row(
    data: Data, found: list[Certificate], radius: Callable[[float, float], float]
) -> list[Any]:
    """Accuracy, abstentions, average radius, spread over the classes, and all radii."""
    right = np.array(
        [c.predict == y for c, y in zip(found, data.truth.tolist(), strict=True)]
    )
    radii = (
        np.array([radius(c.z_a, c.sigma) if c.z_a > 0 else 0.0 for c in found]) * right
    )
    each = [
        right[data.truth.numpy() == k].mean() for k in np.unique(data.truth.numpy())
    ]
    levels = [c.sigma for c in found]
    return [
        *(float(right.mean()), float(np.mean([c.predict < 0 for c in found]))),
        *(float(radii.mean()), float(radii.max()), float(np.std(each))),
        *(min(levels), max(levels), listed(radii)),
    ]


def as_table(names: str, rows: list[tuple[Any, ...]]) -> Table:
    own = "accuracy abstains average_radius largest_radius class_std"
    return columns(f"{names} {own} sigma_low sigma_high radii", rows)


def curves(table: Table, label: Callable[[int], str | None], *widths: float) -> Any:
    """A panel for each data set, a row for each width; rows without a label are left
    out.
    """
    names = list(dict.fromkeys(table["data"]))
    result, panels = axes(len(names), rows=len(widths), sharey=True)
    places = [(width, name) for width in widths for name in names]
    for panel, (width, name) in zip(panels, places, strict=True):
        for i in np.flatnonzero(table["data"] == name):
            if (text := label(i)) is not None:
                style = "--" if text.startswith("fixed") else "-"
                radii = unlisted(table["radii"][i])
                steps(panel, radii, linestyle=style, label=text, linewidth=1.2)
        title = name if width == widths[0] else f"{name}, small radii"
        panel.set(xlabel="radius", title=title, xlim=(0, width))
        panel.locator_params(axis="x", nbins=6)
    for panel in panels[:: len(names)]:
        panel.set_ylabel("certified accuracy")
    panels[len(names) - 1].legend(fontsize=7, labelspacing=0.3)
    return result


def run(
    script: str, table: Callable[..., Table], figure: Callable[[Table], Any]
) -> None:
    """Publish the numbers of a script beside it; those of CIFAR-10, from the folder in
    the command line, under a name of their own.
    """
    start = time.perf_counter()
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    place = Path(script)
    if folder is not None:
        place = place.with_stem(f"{place.stem}_cifar10")
    numbers = table(folder=folder)
    publish(str(place), numbers, figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
