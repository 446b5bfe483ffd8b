"""Training helpers: they harm, harden, repeat and stop as they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch_digits import SIGMA, certify_and_attack, digits, model, network, noisy_loss

from rsbounds.schemes import gaussian
from rsbounds.torch import (
    adversarial,
    augment,
    certified_radius,
    fit,
    pgd,
)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(("norm", "radius"), [(2, 1.0), (np.inf, 0.05)])
def test_pgd_stays_in_the_ball_and_the_box_and_harms(norm, radius):
    net, (_, _, x, y) = model(), digits()
    moved = adversarial(net, x, y, radius, norm=norm, steps=20, box=(0.0, 1.0))
    change = (moved - x).flatten(1)
    assert torch.linalg.vector_norm(change, ord=norm, dim=1).max() <= radius
    assert moved.min() >= 0
    assert moved.max() <= 1
    with torch.no_grad():
        before, after = (cross_entropy(net(p), y, reduction="none") for p in (x, moved))
        # a random step of the same length does less
        random = torch.randn_like(x)
        size = torch.linalg.vector_norm(random.flatten(1), ord=norm, dim=1)
        random = x + radius * random / size.reshape(-1, 1, 1, 1)
        by_chance = cross_entropy(net(random), y)
    assert torch.all(after >= before)
    assert after.mean() > 1.2 * max(before.mean(), by_chance)
    with pytest.raises(ValueError, match="norm must be 2 or inf"):
        pgd(lambda p: p.sum(1), torch.zeros(1, 2), 1.0, norm=1)
    with pytest.raises(ValueError, match="norm must be 2 or inf; got '2'"):
        pgd(lambda p: p.sum(1), torch.zeros(1, 2), 1.0, norm="2")
    with pytest.raises(ValueError, match="x must lie in box"):
        pgd(lambda p: p.sum(1), torch.full((1, 2), 2.0), 0.1, box=(0.0, 1.0))
    for wrong in (-1.0, torch.inf, torch.nan):
        with pytest.raises(ValueError, match="radius must be in"):
            pgd(lambda p: p.sum(1), torch.zeros(1, 2), wrong)


def test_adversarial_training_lowers_the_loss_under_attack():
    x, y = (column[:1000] for column in digits()[:2])
    hard = network()

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return cross_entropy(hard(adversarial(hard, x, y, 1.5, steps=5)), y)

    history = fit(hard, loss, (x, y), epochs=6, rate=1e-2)
    assert history[-1] < history[0]
    certify_and_attack(hard, gaussian(0.25), lambda _: torch.tensor(0.25))


def test_training_is_seeded_and_leaves_the_generator_alone():
    def trained(seed: int) -> tuple[list[float], torch.Tensor]:
        net = network(8)
        state = torch.get_rng_state()
        rows = [column[:300] for column in digits()[:2]]
        history = fit(net, noisy_loss(net, SIGMA), rows, epochs=2, seed=seed)
        assert torch.equal(torch.get_rng_state(), state)
        assert not net.training
        return history, net[2].weight.detach()

    one, same, other = trained(0), trained(0), trained(1)
    assert one[0] == same[0]
    assert torch.equal(one[1], same[1])
    assert one[0] != other[0]


def test_early_stop_keeps_the_best_epoch(capsys):
    net, seen = nn.Linear(1, 1), []

    def validate() -> float:
        assert not net.training
        seen.append(net.weight.item())
        return [3.0, 1.0, 2.0, 2.0, 0.0][len(seen) - 1]

    x = torch.ones(10, 1)
    history = fit(
        net, lambda x: (net(x) - 5).square().mean(), (x,), epochs=5, rate=0.1,
        validate=validate, patience=2, progress=True,
    )  # fmt: skip
    assert len(history) == len(seen) == 4
    assert net.weight.item() == seen[1]
    assert "epoch" in capsys.readouterr().err


def test_training_refuses_what_cannot_work():
    net = nn.Linear(1, 1)
    with pytest.raises(ValueError, match="columns must have one length"):
        fit(net, lambda x, y: net(x).mean(), (torch.ones(3, 1), torch.ones(2)))
    with pytest.raises(ValueError, match="the loss must stay finite; got nan in epoch 0"):
        fit(net, lambda x: net(x).mean() * torch.nan, (torch.ones(3, 1),))
    net = nn.Linear(1, 1)
    with pytest.raises(ValueError, match="the loss must stay finite; got -inf"):
        fit(net, lambda x: net(x).mean() - torch.inf, (torch.ones(3, 1),))
    with pytest.raises(ValueError, match="columns must have one length, at least 1"):
        fit(net, lambda x: net(x).mean(), (torch.ones(0, 1),))
    with pytest.raises(ValueError, match="sigma must be >= 0; got -1"):
        augment(torch.ones(2, 1), torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="epochs must be >= 1"):
        fit(net, lambda x: net(x).mean(), (torch.ones(3, 1),), epochs=0)


@pytest.mark.parametrize("method", ["exact", "integrated", "paper"])
def test_the_objective_s_radius_refuses_a_second_derivative(method):
    """It once gave .0998 where .0989 is true."""
    score = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor([0.5], dtype=torch.float64)
    more = {"p_min": 1e-4} if method == "paper" else {}
    known = {"sigma_min": 0.4, "lip": 0.01, "dim": 784, "method": method, **more}
    r = certified_radius(score, sigma, **known)
    (slope,) = torch.autograd.grad(r.square().sum(), score, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()
