"""What the experiments on images share: data, a small network, and rows of certified
accuracy.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from shared import Table, axes, columns, listed, steps, unlisted
from torch import nn

import rsbounds.torch as rst
from rsbounds import datasets
from rsbounds.certificate import Certificate
from rsbounds.certify import certify

DIM = 784
COUNT, N = 200, 1000


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


def every(quick: bool) -> Iterable[Data]:
    """The two data sets; quick: a few of the digits."""
    torch.set_num_threads(1)
    for name in ("MNIST",) if quick else ("MNIST", "Fashion-MNIST"):
        if name == "MNIST":
            parts = datasets.split(*datasets.mnist_digits(), 1000)
        else:
            x, y = datasets.fashion_mnist("train")
            parts = (x[:4000], y[:4000], *datasets.fashion_mnist("test"))
        x, y, held, truth = (torch.from_numpy(part) for part in parts)
        train, count = (500, 6) if quick else (4000, COUNT)
        yield Data(
            name, x[:train], y[:train], held[:count], truth[:count], 100 if quick else N
        )


def trained(data: Data, sigma: float | torch.Tensor) -> nn.Module:
    """A convolutional network trained under noise of one level, or of one for each
    image.
    """
    torch.manual_seed(0)
    net = nn.Sequential(
        *(nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ReLU()),
        *(nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10)),
    )
    levels = torch.as_tensor(sigma).float().expand(len(data.x))

    def loss(x: torch.Tensor, y: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(net(rst.augment(x, level)), y)

    rst.fit(net, loss, (data.x, data.y, levels), epochs=12, rate=5e-3)
    return net


def certified(data: Data, net: nn.Module, scheme: Any) -> list[Certificate]:
    sampler = rst.TorchSampler(net, 10)
    return [
        certify(sampler, x, scheme, n=data.n, index=i) for i, x in enumerate(data.held)
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
