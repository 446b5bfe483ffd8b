"""[B] section 4: the base classifier, 784-200-10, trained under 40-step l2 attacks.

Beside it the same network trained without them and under noise, each certified under
the three fixed levels of the paper.
"""

import time
from typing import Any

import torch
from images import Data, as_table, certified, every, row
from shared import Table, publish
from torch import nn
from torch.nn.functional import cross_entropy

import rsbounds.torch as rst
from rsbounds import schemes

SIGMAS, WIDTH, EPOCHS, NOISE = (0.25, 0.5, 1.0), 200, 12, 0.5
ATTACK: dict[str, Any] = {"radius": 1.0, "steps": 40, "box": (0.0, 1.0)}


def network(data: Data, training: str, epochs: int) -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(
        *(nn.Flatten(), nn.Linear(data.dim, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))
    )

    def moved(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if training == "attacks":

            def harm(points: torch.Tensor) -> torch.Tensor:
                return cross_entropy(net(points), y, reduction="none")

            return rst.pgd(harm, x, **ATTACK)
        return rst.augment(x, NOISE) if training == "noise" else x

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return cross_entropy(net(moved(x, y)), y)

    rst.fit(net, loss, (data.x, data.y), epochs=epochs, rate=2e-3)
    return net


def clean(data: Data, net: nn.Module) -> float:
    """The accuracy of the network itself, without noise."""
    with torch.no_grad():
        return float((net(data.held).argmax(1) == data.truth).double().mean())


def table(quick: bool = False) -> Table:
    data = next(iter(every(quick)))
    rows: list[tuple[Any, ...]] = []
    for training in ("none", "noise", "attacks"):
        net = network(data, training, 1 if quick else EPOCHS)
        for sigma in SIGMAS:
            scheme = schemes.gaussian(sigma)
            cells = row(data, certified(data, net, scheme), scheme.radius)
            rows.append((data.name, training, clean(data, net), sigma, *cells))
    return as_table("data training clean sigma", rows)


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, table())
    print(f"{time.perf_counter() - start:.0f} s")
