"""[A] Figures 3 and 4: accuracy of an eight-against-the-rest network under attacks.

With a folder of CIFAR-10 that is Figures 5 and 6, ships against the rest. A network
with ReLU has no Lipschitz gradient, so nothing of this is certified.
"""

from typing import Any

import cifar10
import numpy as np
import torch
from images import run
from shared import Table, axes, columns
from torch import nn

import rsbounds.torch as rst
from rsbounds import datasets

HELD, ANCHORS, SAMPLES = 100, 5, 100  # of each class; draws of the smoothed network
ALPHAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
SIGMAS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
CHOSEN = (  # the network, the paper's two levels, and two near our corners
    *(("biased", 0.0), ("biased", 10.0), ("smoothed", 0.05)),
    *(("biased", 0.3), ("smoothed", 0.2)),
)
TRAIN, TEST = 10_000, 2_000  # the first pictures of CIFAR-10
RADII = {
    2.0: (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0),
    np.inf: (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
}


def network(channels: int, side: int) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        *(nn.Conv2d(channels, 8, 4, stride=2, padding=1), nn.ReLU()),
        *(nn.Conv2d(8, 16, 4, stride=2, padding=1), nn.ReLU()),
        *(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten()),
        nn.Linear(16 * (side // 4) ** 2, 1),
    )


def balanced(x: Any, y: Any, each: int) -> tuple[torch.Tensor, torch.Tensor]:
    """As many eights as others, in their order, and their signs."""
    eights, others = np.flatnonzero(y == 8)[:each], np.flatnonzero(y != 8)[:each]
    sign = torch.cat([torch.ones(len(eights)), -torch.ones(len(others))])
    return torch.from_numpy(x[np.concatenate([eights, others])]), sign


def images(folder: str | None) -> tuple[Any, ...]:
    """Images and labels to train with and to test, of MNIST or of CIFAR-10."""
    if folder is None:
        return datasets.split(*datasets.mnist_digits(), 1000)
    train = cifar10.pictures("train", folder, TRAIN)
    return *train, *cifar10.pictures("test", folder, TEST)


class Attacked:
    """The network, its anchors and its test images; all attacks are of the network."""

    def __init__(self, folder: str | None) -> None:
        x, y, held, truth = images(folder)
        self.x, self.sign = balanced(held, truth, HELD)
        self.anchors, self.labels = balanced(x, y, ANCHORS)
        own = np.isin(np.arange(len(y)), np.flatnonzero(y == 8)[:ANCHORS], invert=True)
        train, sign = balanced(x[own], y[own], int((y[own] == 8).sum()))
        self.g = network(*x.shape[1:3])
        rst.fit(self.g, self.loss, (train, sign), epochs=15, rate=3e-3)
        self.g.eval()
        self.found: dict[tuple[float, float], torch.Tensor] = {}

    def loss(self, x: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        return nn.functional.softplus(-sign * self.g(x)[:, 0]).mean()

    def moved(self, radius: float, norm: float) -> torch.Tensor:
        """The test images after ten steps of the attack, made once."""

        def harm(x: torch.Tensor) -> torch.Tensor:
            return -self.sign * self.g(x)[:, 0]

        if (radius, norm) not in self.found:
            self.found[radius, norm] = rst.pgd(
                harm, self.x, radius, norm=norm, steps=10, box=(0.0, 1.0)
            )
        return self.found[radius, norm]

    def nearest(self, x: torch.Tensor) -> torch.Tensor:
        apart = torch.cdist(x.flatten(1), self.anchors.flatten(1))
        return self.labels[apart.argmin(1)]

    def biased(self, x: torch.Tensor, alpha: float, norm: float) -> torch.Tensor:
        x = x.clone().requires_grad_()
        value = self.g(x)[:, 0]
        (slope,) = torch.autograd.grad(value.sum(), x)
        dual = slope.flatten(1).norm(p=2 if norm == 2 else 1, dim=1)
        return torch.sign(value.detach() + alpha * self.nearest(x) * dual)

    def smoothed(self, x: torch.Tensor, sigma: float, norm: float) -> torch.Tensor:
        torch.manual_seed(1)
        with torch.no_grad():
            scores = sum(
                torch.sigmoid(self.g(x + sigma * torch.randn_like(x))[:, 0])
                for _ in range(SAMPLES)
            )
        return torch.sign(scores / SAMPLES - 0.5)

    def accuracy(self, name: str, level: float, radius: float, norm: float) -> float:
        x = self.moved(radius, norm)
        if name == "nearest":
            found = self.nearest(x)
        else:
            found = getattr(self, name)(x, level, norm)
        return float((found == self.sign).float().mean())


def table(quick: bool = False, folder: str | None = None) -> Table:
    torch.set_num_threads(1)
    model, rows = Attacked(folder), []
    most = 2 if quick else None
    for radius in RADII[2.0][: 1 if quick else 3]:
        for name, levels in (("biased", ALPHAS), ("smoothed", SIGMAS)):
            own = levels[:most]
            rows += [("Figure 3", name, level, 2.0, radius) for level in own]
        rows.append(("Figure 3", "nearest", np.nan, 2.0, radius))
    for norm, radii in RADII.items():
        for radius in radii[:most]:
            rows += [("Figure 4", *chosen, norm, radius) for chosen in CHOSEN]
    found = [(*row, model.accuracy(*row[1:3], row[4], row[3])) for row in rows]
    return columns("figure classifier level norm radius accuracy", found)


def figure(table: Table) -> Any:
    result, panels = axes(2, rows=2, sharey=True)
    for panel, name in zip(panels, ("biased", "smoothed"), strict=False):
        for radius in RADII[2.0][:3]:
            here = (table["figure"] == "Figure 3") & (table["radius"] == radius)
            own = here & (table["classifier"] == name)
            label = f"attack {radius:g}" if radius else "clean"
            style = {"marker": ".", "label": label}
            panel.plot(table["level"][own], table["accuracy"][own], **style)
        level = r"$\alpha$" if name == "biased" else r"$\sigma$"
        panel.set(title=f"Figure 3, {name}", xlabel=level)
    panels[0].set_xscale("symlog", linthresh=0.1)
    panels[0].legend(fontsize=7)
    for panel, norm in zip(panels[2:], RADII, strict=True):
        here = (table["figure"] == "Figure 4") & (table["norm"] == norm)
        for name, level in CHOSEN:
            own = here & (table["classifier"] == name) & (table["level"] == level)
            label = f"{name} {level:g}" if level else "network"
            panel.plot(table["radius"][own], table["accuracy"][own], label=label)
        kind = r"$l_2$" if norm == 2 else r"$l_\infty$"
        panel.set(title=f"Figure 4, {kind}", xlabel="radius of the attack")
    panels[2].legend(fontsize=7)
    for panel in panels[::2]:
        panel.set_ylabel("accuracy")
    return result


if __name__ == "__main__":
    run(__file__, table, figure)
