"""Real digits, a small network for them, and the attack on what is certified."""

from functools import cache

import numpy as np
import torch
from torch import nn

from rsbounds import datasets
from rsbounds.certify import certify, predict
from rsbounds.procedure import Procedure
from rsbounds.sampling.internal import stream
from rsbounds.torch import Scale, SigmaNetwork, TorchSampler, augment, fit, pgd

SIGMA, DIM = 0.5, 784


@cache
def digits():
    parts = datasets.split(*datasets.mnist_digits(), 3000)
    x, y, x_held, y_held = (torch.from_numpy(part) for part in parts)
    return x, y, x_held[:200], y_held[:200]


def network(width=64, outputs=10):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(196, width),
        nn.Softplus(),
        nn.Linear(width, outputs),
    )


def noisy_loss(model, sigma=SIGMA):
    return lambda x, y: nn.functional.cross_entropy(model(augment(x, sigma)), y)


@cache
def model():
    net = network()
    fit(net, noisy_loss(net), digits()[:2], epochs=4, rate=1e-2)
    return net


def attack(net, levels, x, label, radius, samples=32):
    """PGD on the soft smoothed scores, the noise level following the attacked point."""
    noise = torch.randn(samples, *x.shape, generator=torch.Generator().manual_seed(1))

    def harm(point):
        found = levels(point)
        mean, sigma = (
            found if isinstance(found, tuple) else (0.0, found.reshape(1, 1, 1, 1))
        )
        scores = net(point + mean + sigma * noise).log_softmax(1).mean(0)
        others = scores.index_fill(0, torch.tensor([label]), -torch.inf)
        return (others.max() - scores[label])[None]

    return pgd(harm, x[None], radius, steps=20)[0]


def certify_and_attack(net, scheme, levels, rows=range(12), least=5, sampler=None):
    """Certifies held-out digits and attacks each inside its radius: none may flip.

    ``levels`` maps a batch of one to its noise level, or to mean and level.

    ``least`` digits must be certified, or the test would show nothing. At alpha = .001
    a false certificate among a dozen has a chance of 1 %, that an attack then finds it
    of less.
    """
    _, _, x, y = digits()
    sampler, radii = sampler or TorchSampler(net, 10), []
    for index in rows:
        found = certify(sampler, x[index], scheme, n=2000, index=index)
        if found.predict != int(y[index]) or found.radius <= 0:
            continue
        radii.append(found.radius)
        moved = attack(net, levels, x[index], found.predict, found.radius)
        assert (moved - x[index]).norm() <= found.radius
        again = predict(sampler, moved, scheme, Procedure(n=1000), index=index)
        assert again in (found.predict, -1), (
            f"digit {index} flips inside {found.radius}"
        )
    assert len(radii) >= least
    return radii


def sigma_network():
    torch.manual_seed(1)
    normed = nn.utils.parametrizations.spectral_norm
    h = nn.Sequential(
        normed(nn.Conv2d(1, 4, 4, stride=2, padding=1)),
        nn.ReLU(),
        nn.Flatten(),
        normed(nn.Linear(784, 1)),
    )
    return SigmaNetwork(nn.Sequential(h, Scale(0.02)), 0.3)


def at_zero(sampler, n, size=4):
    return np.asarray(sampler(torch.zeros(size), 0.5, n, stream(0, 0, 1)))
