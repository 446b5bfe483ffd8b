"""Images, networks and training recipes: what learned.py certifies.

All networks read the first COMPONENTS principal components of the training images, u =
Q(x - m) with orthonormal rows Q. Noise on x is noise of the same level on u, and no
distance grows under Q: what is certified for u holds for the pixels.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from rsbounds import datasets
from rsbounds import torch as rst
from rsbounds.torch import training
from rsbounds.torch.networks.conditional import NoiseConditional

LEVELS = (0.25, 0.5, 1.0, 1.5)
PIXELS, COMPONENTS, CLASSES = 784, 32, 10
LARGEST = 3.2  # normal score that 10,000 samples can show
CALIBRATION = 500
ANCHORS = 4_000
SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))

Tensor = torch.Tensor
Loss = Callable[[nn.Module, Tensor, Tensor, float], Tensor]


@dataclass(frozen=True)
class Size:
    """Images to train on, and how often: each as it is, and moved by a pixel."""

    train: int
    shifts: int


SIZES = {"MNIST": Size(4_000, 5), "Fashion-MNIST": Size(20_000, 1)}
EPOCHS = 6  # of Gaussian noise first, then as many of a recipe


@dataclass(frozen=True)
class Split:
    """Pixels as rows, their principal components, and labels."""

    pixels: Tensor
    u: Tensor
    y: Tensor


@dataclass(frozen=True)
class Data:
    train: Split
    calibration: Split
    held: Split
    epochs: int


def load(name: str, count: int, epochs: int = EPOCHS) -> Data:
    """``count`` images to certify (of the test split, where there is one), others to
    choose by.
    """
    size = SIZES[name]
    if name == "MNIST":
        x, y, held, truth = datasets.split(*datasets.mnist_digits(), CALIBRATION)
    else:
        x, y = datasets.fashion_mnist("train")
        held, truth = datasets.fashion_mnist("test")
    end = size.train + CALIBRATION
    moved = [np.roll(x[: size.train], by, (-2, -1)) for by in SHIFTS[: size.shifts]]
    parts = [
        (np.concatenate(moved), np.tile(y[: size.train], size.shifts)),
        (x[size.train : end], y[size.train : end]),
        (held[:count], truth[:count]),
    ]
    rows = [(a.reshape(len(a), -1).astype(float), b) for a, b in parts]
    middle = rows[0][0].mean(0)
    _, axes = np.linalg.eigh(np.cov(rows[0][0].T))
    q = axes[:, ::-1][:, :COMPONENTS]
    splits = [
        Split(
            torch.from_numpy(a).float(),
            torch.from_numpy((a - middle) @ q).float(),
            torch.from_numpy(b),
        )
        for a, b in rows
    ]
    return Data(*splits, epochs)


def network(numbers: int = COMPONENTS, classes: int = CLASSES) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        *(nn.Linear(numbers, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU()),
        nn.Linear(64, classes),
    )


def fit(
    module: nn.Module, loss: Callable[..., Tensor], *columns: Tensor, epochs: int
) -> None:
    rst.fit(module, loss, columns, epochs=epochs, batch_size=128, rate=4e-3)


def gaussian(net: nn.Module, u: Tensor, y: Tensor, sigma: Any) -> Tensor:
    return cross_entropy(net(rst.augment(u, sigma)), y)


def macer(net: nn.Module, u: Tensor, y: Tensor, sigma: float) -> Tensor:
    return training.macer_loss(net, u, y, sigma, samples=8, weight=4.0)


def consistency(net: nn.Module, u: Tensor, y: Tensor, sigma: float) -> Tensor:
    return training.consistency_loss(net, u, y, sigma, samples=2, weight=10.0)


def smoothadv(net: nn.Module, u: Tensor, y: Tensor, sigma: float) -> Tensor:
    reach = 1.0 if sigma >= 1 else 0.5
    return training.smooth_adversarial_loss(net, u, y, sigma, reach, samples=2, steps=4)


def mean_radius(net: nn.Module, u: Tensor, y: Tensor, sigma: float) -> Tensor:
    p = (
        rst.soft_vote(net, u, sigma, 4)
        .gather(1, y[:, None])[:, 0]
        .clamp(1e-6, 1 - 1e-6)
    )
    radii = sigma * torch.special.ndtri(p).clamp(0.0, LARGEST)
    return gaussian(net, u, y, sigma) - 2 / sigma * radii.mean()


RECIPES: dict[str, Loss] = {
    "Gaussian": gaussian,
    "MACER": macer,
    "consistency": consistency,
    "SmoothAdv": smoothadv,
    "mean radius": mean_radius,
}


def recipes(data: Data, sigma: float) -> dict[str, nn.Module]:
    """A network by each recipe, all from the same start."""
    start, found = network(), {}
    columns = data.train.u, data.train.y
    fit(start, lambda u, y: gaussian(start, u, y, sigma), *columns, epochs=data.epochs)
    for name, recipe in RECIPES.items():
        net = copy.deepcopy(start)

        def loss(
            u: Tensor, y: Tensor, net: nn.Module = net, recipe: Loss = recipe
        ) -> Tensor:
            return recipe(net, u, y, sigma)

        fit(net, loss, *columns, epochs=data.epochs)
        found[name] = net
    return found


def noise_conditional(data: Data) -> NoiseConditional:
    """One network for every level, trained as long as two recipes of one."""
    net = NoiseConditional(network(), LEVELS[0], LEVELS[-1])

    def loss(u: Tensor, y: Tensor) -> Tensor:
        s = net.draw(len(u))
        return cross_entropy(net(rst.augment(u, s), s), y)

    fit(net, loss, data.train.u, data.train.y, epochs=4 * data.epochs)
    return net


def under(data: Data, levels: Any, *, pixels: bool = False) -> nn.Module:
    """A network under noise of one level, or of one for each image."""
    inputs = data.train.pixels if pixels else data.train.u
    net = network(inputs.shape[1])
    each = torch.as_tensor(levels, dtype=torch.float32).expand(len(inputs))
    fit(
        net,
        lambda u, y, s: gaussian(net, u, y, s),
        inputs,
        data.train.y,
        each,
        epochs=2 * data.epochs,
    )
    return net


def with_levels(
    data: Data, sigma: float, *, free: bool
) -> tuple[nn.Module, rst.SigmaNetwork]:
    """A classifier and the network of its noise level, trained together for the
    certified radius.

    The gradient sees what the level's Lipschitz constant costs: it is the size of the
    last weight, all before it is kept 1-Lipschitz. Not ``free``: the level stays
    ``sigma``, the training is the same.
    """
    net, floor = network(), sigma / 2
    torch.manual_seed(1)
    normed = nn.utils.parametrizations.spectral_norm
    unit = normed(nn.Linear(COMPONENTS, 64)), rst.GroupSort(), normed(nn.Linear(64, 1))
    last = nn.Linear(1, 1)
    last.weight.data.fill_(1e-3 if free else 0.0), last.bias.data.fill_(sigma - floor)
    level = rst.SigmaNetwork(nn.Sequential(*unit, last), floor)
    level.requires_grad_(free)
    columns = data.train.u, data.train.y

    def first(u: Tensor, y: Tensor) -> Tensor:
        return gaussian(net, u, y, level(u).detach())

    def loss(u: Tensor, y: Tensor) -> Tensor:
        known: dict[str, Any] = {"dim": COMPONENTS, "samples": 4, "largest": LARGEST}
        found = rst.average_radius_loss(
            net, level, u, y, lip=last.weight.abs().sum(), **known
        )
        mean = level(u).mean() / sigma - 1
        return first(u, y) + 2 / sigma * found + 100 * mean.square()

    fit(net, first, *columns, epochs=data.epochs)
    fit(
        nn.ModuleList([net, level] if free else [net]),
        loss,
        *columns,
        epochs=data.epochs,
    )
    return net, level.eval()


def gate(data: Data, net: nn.Module, sigma: float, how: str) -> nn.Module:
    """A first stage that is taught to pass on what ``net`` has no majority for."""
    torch.manual_seed(2)
    u, y = data.train.u, data.train.y
    hard = training.passed_on(net, u, sigma)
    if how == "soft labels":
        labels, found = training.soft_labels(y, CLASSES, hard), network()
    else:
        labels, found = torch.where(hard, CLASSES, y), network(classes=CLASSES + 1)
    fit(
        found,
        lambda u, y: gaussian(found, u, y, sigma),
        u,
        labels,
        epochs=2 * data.epochs,
    )
    return found


def expert(
    data: Data, first: nn.Module, sigma: float, net: nn.Module, own: float
) -> nn.Module:
    """A copy of ``net``, tuned under its own level on what ``first`` passes on under
    sigma.
    """
    torch.manual_seed(3)
    hard = training.passed_on(first, data.train.u, sigma)
    tuned = copy.deepcopy(net)
    columns = data.train.u[hard], data.train.y[hard]
    fit(
        tuned, lambda u, y: gaussian(tuned, u, y, own), *columns, epochs=2 * data.epochs
    )
    return tuned
