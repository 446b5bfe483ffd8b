"""Training: it harms, repeats and stops as it says; each recipe lowers the loss of its
paper.
"""

import functools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot
from torch_digits import SIGMA, digits, model, network, noisy_loss

from rsbounds.torch import augment, fit, pgd
from rsbounds.torch.training import (
    consistency_loss,
    macer_loss,
    passed_on,
    smooth_adversarial,
    soft_labels,
)


@pytest.mark.parametrize(("norm", "radius"), [(2, 1.0), (np.inf, 0.05)])
def test_pgd_stays_in_the_ball_and_the_box_and_harms(norm, radius):
    net, (_, _, x, y) = model(), digits()

    def harm(point):
        return cross_entropy(net(point), y, reduction="none")

    moved = pgd(harm, x, radius, norm=norm, steps=20, box=(0.0, 1.0))
    change = (moved - x).flatten(1)
    assert torch.linalg.vector_norm(change, ord=norm, dim=1).max() <= radius
    assert moved.min() >= 0
    assert moved.max() <= 1
    with torch.no_grad():
        random = torch.randn_like(x)  # a random step of the same length does less
        size = torch.linalg.vector_norm(random.flatten(1), ord=norm, dim=1)
        by_chance = harm(x + radius * random / size.reshape(-1, 1, 1, 1))
        assert torch.all(harm(moved) >= harm(x))
        assert harm(moved).mean() > 1.2 * max(harm(x).mean(), by_chance.mean())


def test_pgd_refuses_what_is_out_of_range():
    x = torch.zeros(1, 2)
    for wrong in (1, "2"):
        with pytest.raises(ValueError, match="norm must"):
            pgd(lambda p: p.sum(1), x, 1.0, norm=wrong)
    with pytest.raises(ValueError, match=r"x must.*box"):
        pgd(lambda p: p.sum(1), x + 2, 0.1, box=(0.0, 1.0))
    for wrong in (-1.0, torch.inf, torch.nan):
        with pytest.raises(ValueError, match="radius must"):
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
    with pytest.raises(ValueError, match=r"columns.*length"):
        fit(net, lambda x, y: net(x).mean(), (*three, torch.ones(2)))
    with pytest.raises(ValueError, match=r"columns.*least 1"):
        fit(net, lambda x: net(x).mean(), (torch.ones(0, 1),))
    for wrong in (torch.nan, -torch.inf):
        net = nn.Linear(1, 1)
        with pytest.raises(ValueError, match=rf"loss.*{wrong}"):
            fit(net, lambda x, net=net, wrong=wrong: net(x).mean() + wrong, three)
    with pytest.raises(ValueError, match=r"sigma must.*-1"):
        augment(torch.ones(2, 1), torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="epochs must"):
        fit(net, lambda x: net(x).mean(), three, epochs=0)


def linear():
    net = nn.Linear(2, 2)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[20.0, 0.0], [-20.0, 0.0]]))
        net.bias.zero_()
    x = torch.tensor([[0.3, 0.0], [-0.4, 1.0], [0.1, 2.0]])
    return net, x, torch.tensor([0, 1, 1])


def test_macer_by_hand():
    """Near a step soft votes are Phi(x/sigma); the wrong third input has no hinge."""
    net, x, y = linear()
    torch.manual_seed(0)
    known = {"samples": 20_000, "gamma": 1.5, "beta": 100.0}
    losses = [
        macer_loss(net, x, y, 0.5, weight=weight, **known).item()
        for weight in (3.0, 0.0)
    ]
    # sigma/2 (1.5 - 2 |x|/sigma): .075 for x = .3, 0 for .4
    assert losses[0] - losses[1] == pytest.approx(3.0 * 0.075 / 3, abs=0.02)


def test_consistency_of_copies_that_agree_is_entropy_alone():
    x, y = torch.zeros(2, 2), torch.tensor([0, 1])

    def model(x):
        return torch.tensor([0.0, 1.0]).expand(len(x), 2)

    p = torch.tensor([0.0, 1.0]).softmax(0)
    accuracy = cross_entropy(model(x), y)
    expected = accuracy - 0.5 * (p * p.log()).sum()
    assert consistency_loss(model, x, y, 1.0).item() == pytest.approx(
        expected.item(), rel=1e-6
    )


def test_the_smooth_attack_goes_where_the_smoothed_loss_grows():
    net, x, y = linear()
    net.train()
    moved, noise = smooth_adversarial(
        net, x, y, 0.5, torch.tensor([0.2, 0.2, 0.0]), samples=50
    )
    assert net.training
    change = moved - x
    assert change[0, 0] < -0.19
    assert change[1, 0] > 0.19
    assert torch.equal(change[2], torch.zeros(2))
    assert noise.shape == (3, 50, 2)
    assert noise.std().item() == pytest.approx(0.5, rel=0.15)


def test_what_a_stage_passes_on():
    _, x, _ = linear()
    step = nn.Linear(2, 2)
    with torch.no_grad():
        step.weight.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])), step.bias.zero_()
    torch.manual_seed(0)
    # the signed radius of each is |x_1|: .3, .4, .1
    for threshold, expected in ((0.0, [0, 0, 0]), (0.2, [0, 0, 1]), (0.5, [1, 1, 1])):
        mask = passed_on(step, x, 0.5, threshold, samples=5000, batch=6000)
        assert mask.tolist() == list(map(bool, expected))


def test_labels_for_hard_inputs():
    y, hard = torch.tensor([2, 0, 1]), torch.tensor([True, False, True])
    soft = soft_labels(y, 10, hard)
    assert torch.allclose(soft.sum(1), torch.ones(3))
    assert soft[0, 2].item() == pytest.approx(0.37)
    assert torch.equal(soft[1], one_hot(y, 10)[1].float())
    with pytest.raises(ValueError, match="keep must"):
        soft_labels(y, 10, hard, keep=1.5)


@pytest.mark.parametrize("loss", [macer_loss, consistency_loss])
def test_losses_refuse_what_is_out_of_range(loss):
    for sigma, options, message in (
        (0.0, {}, "sigma must be > 0; got 0"),
        (0.5, {"samples": 0}, "samples must be >="),
        (0.5, {"weight": -1}, "weight must be in"),
    ):
        with pytest.raises(ValueError, match=message):
            loss(*linear(), sigma, **options)


def small(norm=False):
    torch.manual_seed(3)
    layers = [nn.Linear(2, 8), nn.BatchNorm1d(8)] if norm else [nn.Linear(2, 8)]
    return nn.Sequential(*layers, nn.ReLU(), nn.Linear(8, 2))


def points():
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0] > 0).long()


def fitted(net, **options):
    loss = lambda x, y: cross_entropy(net(augment(x, 0.1)), y)  # noqa: E731
    history = fit(net, loss, points(), **{"epochs": 4, "batch_size": 20, **options})
    return history, torch.cat([p.detach().flatten() for p in net.parameters()])


def test_a_training_that_was_stopped_goes_on_to_the_same_weights(tmp_path):
    expected = fitted(small())
    file = tmp_path / "state"
    seen = []

    def stop(epoch, mean):
        seen.append((epoch, mean))
        return epoch == 1

    history, early = fitted(small(), checkpoint=file, callback=stop)
    assert [epoch for epoch, _ in seen] == [0, 1]
    assert history == [mean for _, mean in seen] == expected[0][:2]
    assert not torch.equal(early, expected[1])
    history, weights = fitted(small(), checkpoint=file)
    assert history == expected[0]
    assert torch.equal(weights, expected[1])
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    again = fitted(small(), checkpoint=file)  # nothing is left to do
    assert torch.equal(again[1], expected[1])
    with pytest.raises(ValueError, match=r"checkpoint.*training"):
        fitted(small(), checkpoint=file, seed=1)


def test_rates_decay_schedules_and_optimisers_are_those_asked_for():
    seen = []

    def rates(optimizer, steps):
        assert steps == 4 * 3
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 0.5**k)
        step = schedule.step
        schedule.step = lambda: (step(), seen.append(optimizer.param_groups[0]["lr"]))
        return schedule

    fitted(small(), rate=1.0, schedule=rates)
    assert seen == [0.5**k for k in range(1, 13)]
    plain = fitted(small())[1]
    assert torch.equal(fitted(small(), schedule="cosine")[1], plain)
    assert not torch.equal(fitted(small(), schedule="constant")[1], plain)
    net = small()
    optimizer = torch.optim.SGD([net[0].weight], 0.1)
    before = net[2].weight.detach().clone()
    fitted(net, optimizer=optimizer)
    assert torch.equal(net[2].weight, before)  # it trains what it was given
    assert not torch.equal(net[0].weight, small()[0].weight)
    for options, name in (
        ({"schedule": "linear"}, "schedule"),
        ({"autocast": "float8"}, "autocast"),
    ):
        with pytest.raises(ValueError, match=name):
            fitted(small(), **options)


def test_mixed_precision_reaches_the_loss():
    kinds = set()
    net = small()
    net[0].register_forward_hook(lambda m, i, out: kinds.add(out.dtype))
    history, _ = fitted(net, autocast="bfloat16")
    assert kinds == {torch.bfloat16}
    assert np.isfinite(history).all()
    kinds.clear()
    with torch.autocast("cpu", torch.bfloat16):
        fitted(net)  # that of the caller stays
    assert kinds == {torch.bfloat16}


def test_frozen_batch_normalisation_stays_frozen():
    """``fit`` put it in training mode: its statistics moved with every batch."""
    net = small(norm=True)
    net[1].requires_grad_(False)
    before = net[1].running_mean.clone()
    fitted(net)
    assert torch.equal(net[1].running_mean, before)
    net = small(norm=True)
    fitted(net)
    assert not torch.equal(net[1].running_mean, before)


def test_a_training_shows_its_progress(capsys):
    fitted(small())
    assert capsys.readouterr().err == ""
    fitted(small(), progress=True)
    assert fitted(small(), progress=True)[0] == fitted(small())[0]


def test_a_loss_that_takes_other_batches_is_named():
    """fit calls loss(x, y): a loss of module, x and y is refused before it trains."""
    module = torch.nn.Linear(2, 2)
    columns = torch.zeros(4, 2), torch.zeros(4, dtype=torch.long)

    def loss(module, x, y):
        return torch.nn.functional.cross_entropy(module(x), y)

    for other in (loss, lambda x: x, 5):
        with pytest.raises(ValueError, match=r"^loss must take a batch.*partial"):
            fit(module, other, columns, epochs=1)
    assert len(fit(module, functools.partial(loss, module), columns, epochs=1)) == 1
