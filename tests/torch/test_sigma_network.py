"""Levels that networks give: proven slopes, frozen schemes, the objective; one network
for all.
"""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch_digits import DIM, digits, model, network, sigma_network

from rsbounds.torch import (
    Scale,
    SigmaNetwork,
    average_radius_loss,
    pgd,
    radius,
    soft_vote,
)
from rsbounds.torch.networks.conditional import NoiseConditional
from rsbounds.torch.training.levels import norm_penalty


def batch(count):
    return [column[:count] for column in digits()[:2]]


@pytest.mark.slow
def test_bound_of_a_sigma_network_is_above_its_slopes_in_training_mode_too():
    levels = sigma_network().train()
    levels.h[0][3].bias.data += 1.0  # no dead relu
    level = levels.freeze((1, 28, 28))
    bound = level.lip
    x = digits()[2][:50].double()
    copied = level.graph
    moved = pgd(lambda p: copied(p), x, 1e-2, steps=30)
    with torch.no_grad():
        slopes = (copied(moved) - copied(x)).abs() / (moved - x).flatten(1).norm(dim=1)
    assert 0.2 * bound < slopes.max() <= bound
    assert levels.training


def test_scheme_is_frozen_and_leaves_the_input():
    levels = sigma_network()
    scheme, x = levels.scheme((1, 28, 28)), digits()[2][0]
    before = scheme.sigma(x)
    levels.h[0][3].bias.data += 100.0
    assert scheme.sigma(x) == before
    assert levels.scheme((1, 28, 28)).sigma(x) > before + 1
    in_place = SigmaNetwork(nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 1)), 0.5)
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    in_place.scheme(2).sigma(x)
    assert x.tolist() == [-1.0, 1.0]
    with pytest.raises(ValueError, match="sigma_min must be"):
        SigmaNetwork(nn.Linear(2, 1), 0.0)


def test_objective_is_the_mean_radius_and_its_gradient_reaches_all():
    levels, (x, y), p = (
        sigma_network().eval(),
        batch(4),
        torch.tensor([0.8, 0.15, 0.05]),
    )

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
    assert (
        sum(p.grad.abs().sum() for p in levels.parameters() if p.grad is not None) > 0
    )
    floor = SigmaNetwork(
        nn.Sequential(nn.Flatten(), nn.Linear(784, 1), Scale(0.0)), 0.45
    )
    assert average_radius_loss(
        net, floor, x, y, lip=0.0, dim=DIM
    ).isfinite()  # float32: below .45


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
    with pytest.raises(ValueError, match="largest must"):
        loss(0.0, largest=0.0)
    penalty = norm_penalty(levels.modules()).item()
    assert loss(0.0, penalty=2.0).item() == pytest.approx(
        loss(0.0).item() + 2 * penalty, rel=1e-5
    )


def test_norm_penalty_is_the_sum_of_spectral_norms():
    net = network()
    truth = sum(np.linalg.norm(m.weight.detach().numpy(), 2) for m in (net[2], net[4]))
    assert norm_penalty(net.modules()).item() == pytest.approx(truth, rel=1e-5)
    assert norm_penalty([nn.ReLU()]).item() == 0.0


def test_soft_vote_takes_a_level_for_each_row():
    net, x = model(), digits()[2][:4]  # trained here if no test did before
    with torch.no_grad():
        votes = soft_vote(net, x, torch.tensor([0.0, 0.0, 5.0, 5.0]), 16)
        clean = net(x).softmax(1)
    assert torch.allclose(votes[:2], clean[:2], atol=1e-5)
    assert not torch.allclose(votes[2:], clean[2:], atol=1e-3)
    assert torch.allclose(votes.sum(1), torch.ones(4), atol=1e-5)


def small():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(108, 5),
        nn.Tanh(),
        nn.Linear(5, 4),
    )


def test_film_is_the_identity_before_training_and_then_knows_the_level():
    base, x = small(), torch.randn(6, 1, 8, 8)
    expected = base(x)
    net = NoiseConditional(base, 0.25, 1.0)
    levels = torch.tensor([0.25, 0.5, 1.0] * 2)
    assert torch.equal(net(x, levels), expected)
    assert torch.equal(net.at(0.3)(x), expected)
    for name, parameter in net.named_parameters():
        if ".net." in name:
            nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    mixed = net(x, levels)
    for row, level in enumerate(levels.tolist()):
        assert torch.allclose(mixed[row], net.at(level)(x)[row], atol=1e-5)
    assert not torch.allclose(net.at(0.25)(x), net.at(1.0)(x), atol=1e-2)
    # beyond the range: its end
    assert torch.equal(net.at(5.0)(x), net.at(1.0)(x))
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(again(x, levels), mixed)
    other = NoiseConditional(small(), 0.25, 1.0)
    other.load_state_dict(net.state_dict())
    assert torch.equal(other(x, levels), mixed)


def test_levels_drawn_are_log_uniform():
    net = NoiseConditional(small(), 0.25, 4.0)
    torch.manual_seed(0)
    levels = net.draw(4000)
    assert 0.25 <= levels.min() < 0.26
    assert 3.9 < levels.max() <= 4.0
    assert levels.log().mean().item() == pytest.approx(0.0, abs=0.05)


def test_refusals():
    with pytest.raises(ValueError, match="two linear"):
        NoiseConditional(nn.Linear(2, 2), 0.25, 1.0)
    with pytest.raises(ValueError, match="high must"):
        NoiseConditional(small(), 1.0, 0.25)
    net = NoiseConditional(small(), 0.25, 1.0)
    with pytest.raises(ValueError, match=r"sigma must.*0"):
        net(torch.zeros(2, 1, 8, 8), torch.tensor([0.5, 0.0]))
    with pytest.raises(RuntimeError, match=r"NoiseConditional.*level"):
        net.module(torch.zeros(2, 1, 8, 8))


def test_a_state_brings_back_the_function():
    """Floors, factors and ranges were left out: another function was loaded."""
    x = torch.randn(6, 4)
    given = SigmaNetwork(nn.Sequential(nn.Linear(4, 1), Scale(0.3)), 0.1)
    other = SigmaNetwork(nn.Sequential(nn.Linear(4, 1), Scale(2.0)), 0.5)
    other.load_state_dict(given.state_dict())
    assert torch.equal(other(x), given(x))
    assert (other.sigma_min, other.h[1].factor) == (0.1, 0.3)
    half = copy.deepcopy(given).half()
    other.load_state_dict(half.state_dict())
    assert other.sigma_min == 0.1  # not the nearest number of two bytes
    images = torch.randn(3, 1, 8, 8)
    given = NoiseConditional(small(), 0.25, 1.0)
    for parameter in given.parameters():
        nn.init.normal_(parameter)
    other = NoiseConditional(small(), 0.1, 4.0)
    other.load_state_dict(given.state_dict())
    assert torch.equal(other.at(0.4)(images), given.at(0.4)(images))
    bad = given.state_dict() | {"_extra_state": torch.tensor([1.0, -1.0])}
    with pytest.raises(ValueError, match="low must be"):
        other.load_state_dict(bad | {"_extra_state": torch.tensor([-1.0, 1.0])})
    with pytest.raises(ValueError, match="high must be"):
        other.load_state_dict(bad)


class Attending(nn.Module):
    def __init__(self, batch_first):
        super().__init__()
        self.into = nn.Linear(3, 4)
        self.first = batch_first
        self.attention = nn.MultiheadAttention(4, 2, batch_first=batch_first)
        self.out = nn.Linear(4, 2)

    def forward(self, x):  # (n, 5, 3)
        h = self.into(x if self.first else x.transpose(0, 1))
        h = self.attention(h, h, h)[0]
        h = h if self.first else h.transpose(0, 1)
        return self.out(h.mean(1))


def test_attention_takes_levels_and_layers_without_the_rows_of_a_batch_one_level():
    torch.manual_seed(0)
    net = NoiseConditional(Attending(True), 0.25, 1.0).eval()
    for name, parameter in net.named_parameters():
        if ".net." in name:
            nn.init.normal_(parameter)
    x = torch.randn(5, 5, 3)
    mixed = net(x, torch.tensor([0.25, 0.5, 1.0, 0.5, 0.25]))
    assert torch.allclose(mixed[2], net.at(1.0)(x)[2], atol=1e-5)
    assert not torch.allclose(net.at(0.25)(x), net.at(1.0)(x), atol=1e-3)
    other = NoiseConditional(Attending(False), 0.25, 1.0).eval()
    other.load_state_dict(net.state_dict())
    for rows in (x, x[:3]):  # as many as there are places, or fewer
        assert torch.allclose(other.at(0.4)(rows), net.at(0.4)(rows), atol=1e-5)
        with pytest.raises(ValueError, match=r"axis 0.*batch"):
            other(rows, torch.full((len(rows),), 0.5))
