"""[A] Figures 3 and 4: eight against the rest on MNIST digits, certified without
samples.
"""

import time
from typing import Any

import numpy as np
import torch
from shared import Table, axes, columns, listed, publish, steps, unlisted
from torch import nn

import rsbounds.torch as rst
from rsbounds import datasets, schemes
from rsbounds.certify import certify

ALPHAS = (0.0, 0.2, 0.5, 1.0, 2.0, 1e9)
SIGMAS = (0.25, 0.5, 1.0)
RADII = (0.5, 1.0, 1.5, 2.0)
TRAIN_NOISE = 0.5


def network(kind: str) -> nn.Sequential:
    """A g of one output: linear, or with softplus units, whose gradient has a proven
    constant.
    """
    torch.manual_seed(0)
    if kind == "linear":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 1))
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 8), nn.Softplus(), nn.Linear(8, 1)
    )


def trained(
    kind: str, x: torch.Tensor, sign: torch.Tensor, epochs: int
) -> nn.Sequential:
    g = network(kind)

    def loss(x: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        weight = torch.where(sign > 0, 9.0, 1.0)  # as many eights as others
        margin = sign * g(rst.augment(x, TRAIN_NOISE))[:, 0]
        return (weight * nn.functional.softplus(-margin)).mean()

    rst.fit(g, loss, (x, sign), epochs=epochs, rate=5e-3)
    return g


def two_scores(g: nn.Module) -> nn.Module:
    """The classes "rest" and "eight" of g, as a base classifier for smoothing."""

    class Two(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            value = g(x)
            return torch.cat([-value, value], dim=1)

    return Two()


def table(quick: bool = False) -> Table:
    torch.set_num_threads(1)
    parts = datasets.split(*datasets.mnist_digits(), 1000)
    x, y, held, truth = (torch.from_numpy(part) for part in parts)
    sign, count = torch.where(y == 8, 1, -1), 4 if quick else 100
    places = [
        torch.nonzero((truth == 8) == eight)[:count, 0] for eight in (True, False)
    ]
    points = held[torch.cat(places)]
    own = np.repeat([1, -1], [len(place) for place in places])
    rows = []
    for kind in ("linear", "softplus"):
        g = trained(kind, x, sign, 1 if quick else 12)
        lip = rst.gradient_lipschitz_upper_bound(g, x[0])

        def keep(
            name: str, label: Any, radius: Any, lip: float, kind: str = kind
        ) -> None:
            right = label == own
            curve = [float(np.mean(right & (radius > r))) for r in RADII]
            eights = float(np.mean(right[own == 1])), float(np.mean(right[own == -1]))
            average = float(np.mean(radius * right))
            more = float(np.max(radius * right)), *curve, listed(radius * right)
            rows.append((kind, name, np.mean(right), *eights, average, lip, *more))

        for alpha in ALPHAS[::3] if quick else ALPHAS:
            f = rst.locally_biased(g, x, sign.numpy(), alpha)
            keep(f"biased {alpha:g}", *f.certify(points.flatten(1).numpy()), lip)
        sampler = rst.TorchSampler(two_scores(g), 2)
        for sigma in SIGMAS:
            n, scheme = 200 if quick else 2000, schemes.gaussian(sigma)
            found = [
                certify(sampler, point, scheme, n=n, index=i)
                for i, point in enumerate(points)
            ]
            label = np.array([{0: -1, 1: 1}.get(c.predict, 0) for c in found])
            keep(
                f"smoothed {sigma:g}",
                label,
                np.array([c.radius for c in found]),
                np.nan,
            )
    names = " ".join(f"above_{r:.1f}" for r in RADII)
    return columns(
        "g classifier accuracy accuracy_eights accuracy_rest average_radius lip_grad "
        f"largest_radius {names} radii",
        rows,
    )


def figure(table: Table) -> Any:
    result, panels = axes(2, sharey=True)
    for panel, kind in zip(panels, ("linear", "softplus"), strict=True):
        for i in np.flatnonzero(table["g"] == kind):
            name = str(table["classifier"][i])
            if name.endswith("1e+09"):
                name = "biased, nearest anchor"
            style = "--" if name.startswith("smoothed") else "-"
            steps(
                panel,
                unlisted(table["radii"][i]),
                linestyle=style,
                label=name,
                linewidth=1.2,
            )
        panel.set(xlabel="radius", title=f"g {kind}")
    panels[0].set_ylabel("certified accuracy")
    panels[0].legend(fontsize=7)
    return result


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
