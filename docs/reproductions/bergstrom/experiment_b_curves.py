"""[B] Figure 1 and Table 1: Lipschitz sigma networks on images, three certificates."""

import time
from functools import partial
from typing import Any

import torch
from images import as_table, certified, curves, every, row, trained
from scipy.special import ndtr
from shared import Table, publish
from torch import nn

import rsbounds.torch as rst
from rsbounds import lipschitz, schemes

DIM, P_MIN, CLASSES = 784, 1e-7, 10
SETTINGS = {
    "paper": (0.5, 0.65),
    "small": (0.02, 0.45),
}  # name: Lipschitz constant, sigma_min
FIXED = (0.5, 0.65, 1.0)


def sigma_network(lip: float, floor: float) -> rst.SigmaNetwork:
    torch.manual_seed(1)
    normed = nn.utils.parametrizations.spectral_norm
    h = nn.Sequential(
        *(nn.Flatten(), normed(nn.Linear(DIM, 32)), nn.ReLU()),
        *(normed(nn.Linear(32, 1)), rst.Scale(0.99 * lip)),
    )
    nn.init.constant_(
        h[3].bias, 1.0
    )  # at 0 all levels of the digits collapse to the floor
    return rst.SigmaNetwork(h, floor)


def table(quick: bool = False) -> Table:
    rows: list[tuple[Any, ...]] = []
    for data in every(quick):
        for sigma in FIXED:
            scheme = schemes.gaussian(sigma)
            found = certified(data, trained(data, sigma), scheme)
            name = f"fixed {sigma:g}"
            rows.append(
                (data.name, name, "fixed", 0.0, *row(data, found, scheme.radius))
            )
        for name, (lip, floor) in SETTINGS.items():
            level, net = sigma_network(lip, floor), trained(data, max(floor, 0.5))

            def loss(
                x: Any, y: Any, net: Any = net, level: Any = level, lip: float = lip
            ) -> Any:
                known: dict[str, Any] = {
                    "lip": lip,
                    "dim": DIM,
                    "samples": 2,
                    "penalty": 1e-3,
                }
                noisy = rst.augment(x, level(x).detach())
                return rst.average_radius_loss(
                    net, level, x, y, **known
                ) + nn.functional.cross_entropy(net(noisy), y)

            both = nn.ModuleList([net, level])
            rst.fit(both, loss, (data.x, data.y), epochs=1 if quick else 3, rate=1e-3)
            scheme = level.scheme(DIM)
            found = certified(data, net, scheme)
            lip = scheme.parameters["lip"]
            for method in ("paper", "integrated", "exact"):
                radius = partial(certified_by, method, lip, floor)
                rows.append((data.name, name, method, lip, *row(data, found, radius)))
    return as_table("data sigma certificate lip", rows)


def certified_by(
    method: str, lip: float, floor: float, z: float, sigma: float
) -> float:
    """A Lipschitz radius of the score z > 0; by the paper's theorem after Remark 2."""
    known: Any = {"lip": lip, "sigma_min": floor, "dim": DIM, "method": method}
    if method != "paper":
        return float(lipschitz.radius(z, sigma, scores=True, **known))
    p_a, p_b = (P_MIN + (1 - CLASSES * P_MIN) * ndtr(score) for score in (z, -z))
    return float(lipschitz.radius(p_a, sigma, p_b=p_b, p_min=P_MIN, **known))


def figure(table: Table) -> Any:
    def label(i: int) -> str:
        name = str(table["sigma"][i])
        if name.startswith("fixed"):
            return f"fixed noise {name[6:]}"
        return f"Lip {SETTINGS[name][0]:g}: {table['certificate'][i]}"

    return curves(table, label, 2.5, 0.2)


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
