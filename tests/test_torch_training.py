"""Training: it harms, repeats and stops as it says; each recipe lowers the loss of its paper."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch_digits import SIGMA, digits, model, network, noisy_loss

from rsbounds.torch import augment, fit, pgd
from rsbounds.torch.training import consistency_loss, macer_loss, smooth_adversarial_loss


def test_pgd_stays_in_the_ball_and_harms():
    radius = 1.0
    net, (_, _, x, y) = model(), digits()

    def harm(point):
        return cross_entropy(net(point), y, reduction="none")

    moved = pgd(harm, x, radius, steps=20)
    assert (moved - x).flatten(1).norm(dim=1).max() <= radius
    with torch.no_grad():
        random = torch.randn_like(x)  # a random step of the same length does less
        size = random.flatten(1).norm(dim=1)
        by_chance = harm(x + radius * random / size.reshape(-1, 1, 1, 1))
        assert torch.all(harm(moved) >= harm(x))
        assert harm(moved).mean() > 1.2 * max(harm(x).mean(), by_chance.mean())


def test_pgd_refuses_what_is_out_of_range():
    x = torch.zeros(1, 2)
    for wrong in (-1.0, torch.inf, torch.nan):
        with pytest.raises(ValueError, match="radius must be in"):
            pgd(lambda p: p.sum(1), x, wrong)


def test_fit_is_seeded_and_leaves_the_generator_alone():
    def trained(seed):
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


def test_fit_refuses_what_cannot_work():
    net, three = nn.Linear(1, 1), (torch.ones(3, 1),)
    with pytest.raises(ValueError, match="columns must have one length"):
        fit(net, lambda x, y: net(x).mean(), (*three, torch.ones(2)))
    with pytest.raises(ValueError, match="columns must have one length, at least 1"):
        fit(net, lambda x: net(x).mean(), (torch.ones(0, 1),))
    for wrong in (torch.nan, -torch.inf):
        net = nn.Linear(1, 1)
        with pytest.raises(ValueError, match=f"the loss must stay finite; got {wrong} in epoch 0"):
            fit(net, lambda x, net=net, wrong=wrong: net(x).mean() + wrong, three)
    with pytest.raises(ValueError, match="sigma must be >= 0; got -1"):
        augment(torch.ones(2, 1), torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="epochs must be >= 1"):
        fit(net, lambda x: net(x).mean(), three, epochs=0)


def linear():
    net = nn.Linear(2, 2)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[20.0, 0.0], [-20.0, 0.0]]))
        net.bias.zero_()
    x = torch.tensor([[0.3, 0.0], [-0.4, 1.0], [0.1, 2.0]])
    return net, x, torch.tensor([0, 1, 1])


def test_macer_by_hand():
    """Near a step the soft votes are Phi(x/sigma); the wrong third input has no hinge."""
    net, x, y = linear()
    torch.manual_seed(0)
    known = {"samples": 20_000, "gamma": 1.5, "beta": 100.0}
    losses = [macer_loss(net, x, y, 0.5, weight=weight, **known).item() for weight in (3.0, 0.0)]
    # sigma/2 (1.5 - 2 |x|/sigma): .075 for x = .3, 0 for .4
    assert losses[0] - losses[1] == pytest.approx(3.0 * 0.075 / 3, abs=0.02)


def test_consistency_of_copies_that_agree_is_entropy_alone():
    x, y = torch.zeros(2, 2), torch.tensor([0, 1])

    def model(x):
        return torch.tensor([0.0, 1.0]).expand(len(x), 2)

    p = torch.tensor([0.0, 1.0]).softmax(0)
    accuracy = cross_entropy(model(x), y)
    expected = accuracy - 0.5 * (p * p.log()).sum()
    assert consistency_loss(model, x, y, 1.0).item() == pytest.approx(expected.item(), rel=1e-6)


def test_smoothadv_is_the_loss_where_the_smoothed_loss_grows_under_the_same_noise():
    net, x, y = linear()
    net.train()
    torch.manual_seed(0)
    loss = smooth_adversarial_loss(net, x, y, 0.5, torch.tensor([0.2, 0.2, 0.0]), samples=50)
    assert net.training
    torch.manual_seed(0)
    noise = 0.5 * torch.randn(3, 50, 2)
    for moves, expected in (((-0.2, 0.2, 0.0), True), ((0.0, 0.0, 0.0), False)):
        moved = x + torch.tensor([[move, 0.0] for move in moves])
        scores = net((moved[:, None] + noise).flatten(0, 1))
        value = cross_entropy(scores, y.repeat_interleave(50)).item()
        assert (value == pytest.approx(loss.item(), rel=1e-3)) is expected


@pytest.mark.parametrize("loss", [macer_loss, consistency_loss])
def test_losses_refuse_what_is_out_of_range(loss):
    for sigma, options, message in (
        (0.0, {}, "sigma must be > 0; got 0"),
        (0.5, {"samples": 0}, "samples must be >="),
        (0.5, {"weight": -1}, "weight must be in"),
    ):
        with pytest.raises(ValueError, match=message):
            loss(*linear(), sigma, **options)
