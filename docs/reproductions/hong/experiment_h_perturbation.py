"""[H] Table 3: inputs perturbed before the noise is chosen for them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from images import Data, every, run, trained
from shared import Table, axes, columns
from torch import nn

import rsbounds.torch as rst
from rsbounds.certificate import Certificate
from rsbounds.certify import certify, predict
from rsbounds.procedure import Procedure
from rsbounds.sampling import as_sampler

SIGMA, COUNT, SHARES = 0.5, 60, (0.25, 0.5, 0.75, 1.0)
STEPS, SAMPLES = 20, 32


def together(data: Data, maps: nn.Module, epochs: int) -> nn.Module:
    """A classifier trained with the maps of its noise, by the three losses."""
    net = trained(data, SIGMA)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return rst.generator_loss(net, maps, x, y, target=SIGMA, variance_weight=10.0)

    rst.fit(
        nn.ModuleList([net, maps]), loss, (data.x, data.y), epochs=epochs, rate=2e-3
    )
    return net


def attacked(
    net: nn.Module, maps: nn.Module, x: torch.Tensor, label: int, radius: float
) -> Any:
    """A point within the radius where the class has few votes under the noise chosen
    there.
    """

    def against(point: torch.Tensor) -> torch.Tensor:
        mean, sigma = maps(point)
        noisy = point + mean + sigma * torch.randn(SAMPLES, *point.shape[1:])
        return -net(noisy).softmax(1)[:, label].mean()[None]

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return rst.pgd(against, x[None], radius, steps=STEPS)[0]


class Generated:
    """A classifier, the maps of its noise, and the certificates of some inputs."""

    def __init__(self, data: Data, maps: nn.Module, epochs: int) -> None:
        self.n, self.maps = data.n, maps
        self.net = together(data, maps, epochs)
        held = zip(data.held[:COUNT], data.truth[:COUNT].tolist(), strict=True)
        certified = [(x, y, self.certificate(x, i)) for i, (x, y) in enumerate(held)]
        self.scope = certified[0][2].scope
        self.kept = {
            i: row
            for i, row in enumerate(certified)
            if row[2].predict == row[1] and row[2].radius
        }

    def scheme(self, x: torch.Tensor) -> tuple[Any, Any]:
        """The sampler and the scheme with the noise that the maps give at an input."""
        chosen = isinstance(self.maps, rst.NoiseGenerator)
        scheme = (self.maps.at(x) if chosen else self.maps.noise()).scheme()
        return as_sampler(self.net, scheme, num_classes=10), scheme

    def certificate(self, x: torch.Tensor, i: int) -> Certificate:
        sampler, scheme = self.scheme(x)
        return certify(sampler, x, scheme, n=self.n, index=i)

    def row(self, share: float) -> list[Any]:
        """What attacks within this share of each radius do."""
        abstains, flips, radii = 0, 0, []
        for i, (x, y, found) in self.kept.items():
            moved = attacked(self.net, self.maps, x, y, share * found.radius)
            sampler, scheme = self.scheme(moved)
            voted = predict(sampler, moved, scheme, Procedure(n=self.n), index=i)
            abstains += int(voted < 0)
            flips += int(voted not in (y, -1))
            again = self.certificate(moved, i)
            radii.append(again.radius if again.predict == y else 0.0)
        before = [found.radius for _, _, found in self.kept.values()]
        averages = [float(np.mean(some)) if some else 0.0 for some in (before, radii)]
        return [self.scope, share, len(before), *averages, abstains, flips]


def kinds(shape: tuple[int, ...]) -> Iterator[tuple[str, nn.Module]]:
    """Two generators, one of the paper's form, and maps that are fixed."""
    channels = shape[0]
    torch.manual_seed(0)
    first = nn.Conv2d(channels, 8, 3, padding=1)
    last = nn.Conv2d(8, 2 * channels, 3, padding=1)
    net = nn.Sequential(first, nn.ReLU(), last)
    yield "chosen", rst.NoiseGenerator(net, 0.1)
    yield "fixed", rst.NoiseMaps(shape, SIGMA)
    torch.manual_seed(0)
    dense = rst.DenseMaps(channels, 8)
    yield "dense", rst.NoiseGenerator(dense, 0.1, sigma_max=2.0, mean_max=1.0)


def table(quick: bool = False, folder: str | None = None) -> Table:
    rows: list[tuple[Any, ...]] = []
    for data in every(quick, folder):
        for name, maps in kinds(tuple(data.x.shape[1:])):
            model = Generated(data, maps, 1 if quick else 8)
            rows += [(data.name, name, *model.row(share)) for share in SHARES]
    names = "share certified average_radius average_radius_after abstains flips"
    return columns(f"data noise scope {names}", rows)


def figure(table: Table) -> Any:
    names = list(dict.fromkeys(table["data"]))
    result, panels = axes(len(names), sharey=True)
    for panel, data in zip(panels, names, strict=True):
        for colour, name in enumerate(dict.fromkeys(table["noise"])):
            rows = (table["data"] == data) & (table["noise"] == name)
            for what, line in (("flips", "-"), ("abstains", ":")):
                part = table[what][rows] / np.maximum(table["certified"][rows], 1)
                panel.plot(
                    table["share"][rows],
                    part,
                    line,
                    marker="o",
                    color=f"C{colour}",
                    label=f"{name} noise: {what}",
                )
        panel.set(xlabel="distance over the radius", title=data)
    panels[0].set_ylabel("part of the certified")
    panels[0].legend()
    return result


if __name__ == "__main__":
    run(__file__, table, figure)
