"""[H] Table 3: inputs perturbed before the noise is chosen for them."""

import time
from typing import Any

import numpy as np
import torch
from images import Data, every, trained
from shared import Table, axes, columns, publish
from torch import nn

import rsbounds.torch as rst
from rsbounds.certify import certify, predict
from rsbounds.procedure import Procedure

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


def table(quick: bool = False) -> Table:
    rows: list[tuple[Any, ...]] = []
    for data in every(quick):
        torch.manual_seed(0)
        first, last = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1)
        chosen = rst.NoiseGenerator(nn.Sequential(first, nn.ReLU(), last), 0.1)
        for name, maps in (
            ("chosen", chosen),
            ("fixed", rst.NoiseMaps((1, 28, 28), SIGMA)),
        ):
            net = together(data, maps, 1 if quick else 8)

            def at(x: torch.Tensor, maps: Any = maps) -> rst.FixedNoise:
                return (
                    maps.at(x) if isinstance(maps, rst.NoiseGenerator) else maps.noise()
                )

            inputs = list(
                zip(data.held[:COUNT], data.truth[:COUNT].tolist(), strict=True)
            )
            found = []
            for i, (x, _) in enumerate(inputs):
                noise = at(x)
                found.append(
                    certify(
                        noise.sampler(net, 10), x, noise.scheme(), n=data.n, index=i
                    )
                )
            kept = [
                i
                for i, (_, y) in enumerate(inputs)
                if found[i].predict == y and found[i].radius
            ]
            average = float(np.mean([found[i].radius for i in kept]))
            for share in SHARES:
                flips = abstains = 0
                radii = []
                for i in kept:
                    x, y = inputs[i]
                    moved = attacked(net, maps, x, y, share * found[i].radius)
                    noise = at(moved)
                    sampler, scheme = noise.sampler(net, 10), noise.scheme()
                    voted = predict(
                        sampler, moved, scheme, Procedure(n=data.n), index=i
                    )
                    abstains += voted < 0
                    flips += voted not in (y, -1)
                    again = certify(sampler, moved, scheme, n=data.n, index=i)
                    radii.append(again.radius if again.predict == y else 0.0)
                scope = found[kept[0]].scope
                rows.append(
                    (
                        data.name,
                        name,
                        scope,
                        share,
                        len(kept),
                        average,
                        float(np.mean(radii)),
                        int(abstains),
                        int(flips),
                    )
                )
    return columns(
        "data noise scope share certified average_radius average_radius_after "
        "abstains flips",
        rows,
    )


def figure(table: Table) -> Any:
    names = list(dict.fromkeys(table["data"]))
    result, panels = axes(len(names), sharey=True)
    for panel, data in zip(panels, names, strict=True):
        for name in ("chosen", "fixed"):
            rows = (table["data"] == data) & (table["noise"] == name)
            colour = "C0" if name == "chosen" else "C1"
            for what, line in (("flips", "-"), ("abstains", ":")):
                part = table[what][rows] / table["certified"][rows]
                panel.plot(
                    table["share"][rows],
                    part,
                    line,
                    marker="o",
                    color=colour,
                    label=f"{name} noise: {what}",
                )
        panel.set(xlabel="distance over the radius", title=data)
    panels[0].set_ylabel("part of the certified")
    panels[0].legend()
    return result


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
