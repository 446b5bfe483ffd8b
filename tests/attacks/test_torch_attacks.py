"""Every kind of learned smoothing, trained on digits: no attack flips a class inside
its radius.
"""

import copy
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch_digits import (
    DIM,
    SIGMA,
    attack,
    certify_and_attack,
    digits,
    model,
    network,
    noisy_loss,
    sigma_network,
)

from rsbounds.certify import predict
from rsbounds.procedure import Procedure
from rsbounds.sampling import as_sampler
from rsbounds.schemes import gaussian, semielastic
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import (
    CertifiedGenerator,
    NoiseMaps,
    Scale,
    TorchSampler,
    augment,
    average_radius_loss,
    fit,
    generator_loss,
    training,
)
from rsbounds.torch.networks.conditional import NoiseConditional

pytestmark = pytest.mark.slow
Kind = tuple[
    nn.Module, Any, Callable[..., Any], Any
]  # network, scheme, levels, sampler


def level(_):
    return torch.tensor(SIGMA)


@cache
def started():
    x, y, _, _ = digits()
    net = network()
    fit(net, noisy_loss(net), (x[:1000], y[:1000]), epochs=4, rate=1e-2)
    return net


def macer(net, x, y):
    return training.macer_loss(net, x, y, SIGMA, samples=8, weight=4.0)


def consistency(net, x, y):
    return training.consistency_loss(net, x, y, SIGMA)


def smoothadv(net, x, y):
    return training.smooth_adversarial_loss(net, x, y, SIGMA, 1.0, steps=4)


@pytest.mark.parametrize("recipe", [macer, consistency, smoothadv])
def test_each_recipe_lowers_its_own_loss_and_is_certified_truly(recipe):
    """Whether that buys radius depends on the run; learned.md has what it bought on one
    machine.
    """
    x, y = (column[:1000] for column in digits()[:2])
    net = copy.deepcopy(started())
    fit(net, lambda x, y: recipe(net, x, y), (x, y), epochs=4, rate=5e-3)
    losses = []
    for each in (started(), net):
        torch.manual_seed(0)
        losses.append(recipe(each, x, y).item())
    assert losses[1] < losses[0]
    radii = certify_and_attack(net, gaussian(SIGMA), level, rows=range(30), least=10)
    # the attack is one that succeeds beyond the radius
    held, sampler = digits()[2][0], TorchSampler(net, 10)
    label = predict(sampler, held, gaussian(SIGMA), Procedure(n=1000))
    moved = attack(net, level, held, label, 4 * max(radii))
    assert predict(sampler, moved, gaussian(SIGMA), Procedure(n=1000)) not in (
        label,
        -1,
    )


def constant():
    return model(), gaussian(SIGMA), level, None


def every_level():
    net = NoiseConditional(network(), 0.15, 1.0)

    def loss(x, y):
        s = net.draw(len(x))
        return cross_entropy(net(augment(x, s), s), y)

    fit(net, loss, digits()[:2], epochs=5, rate=1e-2)
    return net.at(SIGMA), gaussian(SIGMA), level, None


def shaped(maps):
    net = network()

    def loss(x, y):
        return generator_loss(net, maps, x, y, target=SIGMA, variance_weight=10.0)

    fit(nn.ModuleList([net, maps]), loss, digits()[:2], epochs=6, rate=1e-2)
    noise = maps.noise()
    return net, noise.scheme(), maps, as_sampler(net, noise.scheme(), num_classes=10)


def fixed_maps():
    return shaped(NoiseMaps((1, 28, 28), SIGMA))


def certified_generator():
    levels = sigma_network()
    mean = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Tanh(), Scale(0.1))
    shape = torch.linspace(0.9, 1.2, DIM).reshape(1, 28, 28)
    return shaped(CertifiedGenerator(mean, levels, shape))


def levels_of_a_network():
    net, levels = network(), sigma_network()
    fit(net, noisy_loss(net, 0.4), digits()[:2], epochs=6, rate=1e-2)
    objective = partial(
        average_radius_loss, net, levels, dim=DIM, samples=4, penalty=1e-3
    )
    shape = 1, 28, 28
    lip, rows = levels.freeze(shape).lip, [column[:600] for column in digits()[:2]]
    fit(
        nn.ModuleList([net, levels]),
        lambda x, y: objective(x, y, lip=lip),
        rows,
        epochs=2,
    )
    return net, levels.scheme(shape), levels, None


def levels_of_neighbours():
    x, y, _, _ = digits()
    flat, net = x.flatten(1).double().numpy(), network()
    wide = KNNSigma(
        flat, SIGMA, 0.02, 10, "mean"
    )  # trained under a larger rate than certified
    columns = x, y, torch.from_numpy(wide.sigma(flat)).float()
    fit(
        net,
        lambda x, y, s: cross_entropy(net(augment(x, s)), y),
        columns,
        epochs=6,
        rate=1e-2,
    )
    knn = KNNSigma(flat, SIGMA, 0.01, 10, wide.shift)

    def levels(point):
        return torch.tensor(float(knn.sigma(point.detach().numpy().ravel())))

    return net, semielastic(knn, DIM), levels, None


KINDS = [constant, every_level, fixed_maps, certified_generator, levels_of_a_network]


@pytest.mark.parametrize("kind", [*KINDS, levels_of_neighbours])
def test_no_attack_flips_a_certified_digit(kind):
    net, scheme, levels, sampler = kind()
    certify_and_attack(net, scheme, levels, sampler=sampler)
