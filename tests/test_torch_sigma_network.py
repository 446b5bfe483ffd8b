"""Levels that networks give: proven slopes, frozen schemes, the objective."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch_digits import DIM, digits, model, sigma_network

from rsbounds.torch import (
    Scale,
    SigmaNetwork,
    average_radius_loss,
    data_dependent_sigma,
    pgd,
    radius,
    soft_vote,
)
from rsbounds.torch.networks._trust import frozen


LAYERS = nn.Linear, nn.Conv2d


def batch(count):
    return [column[:count] for column in digits()[:2]]


def test_bound_of_a_sigma_network_is_above_its_slopes_in_training_mode_too():
    levels = sigma_network().train()
    levels.h[0][3].bias.data += 1.0  # no dead relu
    bound = levels.lip
    x = digits()[2][:50].double()
    copied = frozen(levels)
    moved = pgd(lambda p: copied(p), x, 1e-2, steps=30)
    with torch.no_grad():
        slopes = (copied(moved) - copied(x)).abs() / (moved - x).flatten(1).norm(dim=1)
    assert 0.2 * bound < slopes.max() <= bound
    assert levels.training
    assert levels.lip == bound


def test_scheme_is_frozen_and_leaves_the_input():
    levels = sigma_network()
    scheme, x = levels.scheme(DIM), digits()[2][0]
    before = scheme.sigma(x)
    levels.h[0][3].bias.data += 100.0
    assert scheme.sigma(x) == before
    assert levels.scheme(DIM).sigma(x) > before + 1
    in_place = SigmaNetwork(nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 1)), 0.5)
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    in_place.scheme(2).sigma(x)
    assert x.tolist() == [-1.0, 1.0]
    with pytest.raises(ValueError, match="sigma_min must be"):
        SigmaNetwork(nn.Linear(2, 1), 0.0)


def test_objective_is_the_mean_radius_and_its_gradient_reaches_all():
    levels, (x, y), p = sigma_network().eval(), batch(4), torch.tensor([0.8, 0.15, 0.05])

    def net(x):
        return x.reshape(len(x), -1)[:, :3] * 0 + p.log()

    y = torch.zeros_like(y)
    known = {"lip": 0.02, "dim": DIM}
    exact = radius.lipschitz(torch.full((4,), 0.8), levels(x), sigma_min=0.3, **known)
    loss = average_radius_loss(net, levels, x, y, **known)
    assert -loss.item() == pytest.approx(exact.mean().item(), rel=1e-5)
    net, y = copy.deepcopy(model()), batch(4)[1]
    average_radius_loss(net, levels, x, y, **known).backward()
    assert net[2].weight.grad.abs().sum() > 0
    assert sum(p.grad.abs().sum() for p in levels.parameters() if p.grad is not None) > 0
    floor = SigmaNetwork(nn.Sequential(nn.Flatten(), nn.Linear(784, 1), Scale(0.0)), 0.45)
    assert average_radius_loss(net, floor, x, y, lip=0.0, dim=DIM).isfinite()  # float32: below .45


def test_lip_as_a_tensor_is_trained_by_its_price():
    levels, (x, y) = sigma_network().eval(), batch(20)
    net = model()

    def loss(lip, **more):
        torch.manual_seed(0)
        return average_radius_loss(net, levels, x, y, lip=lip, dim=DIM, **more)

    lip = torch.tensor(0.02, dtype=torch.float64, requires_grad=True)
    value = loss(lip)
    assert value.item() == loss(0.02).item()
    value.backward()
    slope = (loss(0.0201).item() - loss(0.0199).item()) / 2e-4
    assert slope > 0.1
    assert lip.grad.item() == pytest.approx(slope, rel=1e-3)
    # what no sample shows wins nothing: with no price, sigma times the score at most
    most = 0.5 * levels(x).mean().item()
    assert -most * (1 + 1e-6) <= loss(0.0, largest=0.5).item() < -0.5 * most
    with pytest.raises(ValueError, match="largest must be in"):
        loss(0.0, largest=0.0)
    weights = (m.weight.detach().flatten(1) for m in levels.modules() if isinstance(m, LAYERS))
    penalty = sum(np.linalg.norm(weight.numpy(), 2) for weight in weights)
    assert loss(0.0, penalty=2.0).item() == pytest.approx(loss(0.0).item() + 2 * penalty, rel=1e-5)


def test_a_level_for_one_input_climbs_its_radius_and_leaves_the_model():
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).train()
    net[0].eval()
    before = net[1].running_mean.clone()
    level = data_dependent_sigma(net, torch.ones(4), 0.5, steps=3)
    assert level == data_dependent_sigma(net, torch.ones(4), 0.5, steps=3)
    assert torch.equal(net[1].running_mean, before)
    assert (net.training, net[0].training, net[1].training) == (True, False, True)

    def sure(x):  # whatever the noise: sigma times a constant
        return torch.tensor([[3.0, 0.0]]).expand(len(x), 2)

    z = float(torch.special.ndtri(torch.tensor([3.0, 0.0]).softmax(0)[0].double()))
    climbed = data_dependent_sigma(sure, torch.ones(4), 0.5, steps=10, rate=0.01)
    assert climbed == pytest.approx(0.5 + 10 * 0.01 * z, rel=1e-5)


def test_soft_vote_takes_a_level_for_each_row():
    x = digits()[2][:4]
    with torch.no_grad():
        votes = soft_vote(model(), x, torch.tensor([0.0, 0.0, 5.0, 5.0]), 16)
        clean = model()(x).softmax(1)
    assert torch.allclose(votes[:2], clean[:2], atol=1e-5)
    assert not torch.allclose(votes[2:], clean[2:], atol=1e-3)
    assert torch.allclose(votes.sum(1), torch.ones(4), atol=1e-5)
