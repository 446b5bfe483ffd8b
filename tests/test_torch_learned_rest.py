"""Locally biased torch models, baselines and training helpers, on real digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_torch_learned import (
    SIGMA,
    attack,
    certify_and_attack,
    digits,
    model,
    network,
    noisy_loss,
)
from torch import nn
from torch.nn.functional import cross_entropy

from rsbounds import lbrs
from rsbounds.certificate import Certificate
from rsbounds.certify import certify, predict
from rsbounds.schemes import gaussian
from rsbounds.torch import (
    Memory,
    TorchSampler,
    adversarial,
    augment,
    data_dependent_sigma,
    fit,
    gradient_lipschitz_upper_bound,
    instance_sigma,
    locally_biased,
    pgd,
    this_input,
    value_and_grad,
)


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# locally biased smoothing: 8 against the rest


def eights() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    x, y, _, _ = digits()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.Softplus(), nn.Linear(8, 1))
    sign = torch.where(y == 8, 1, -1)

    def loss(x: torch.Tensor, sign: torch.Tensor) -> torch.Tensor:
        return nn.functional.softplus(-sign * net(augment(x, 0.5))[:, 0]).mean()

    fit(net, loss, (x, sign), epochs=5, rate=1e-2)
    return net, x, sign


def test_locally_biased_model_certifies_and_holds():
    net, x, sign = eights()
    queries = digits()[2][:20]
    flat = queries.flatten(1).numpy()
    sign_of_g = np.sign(value_and_grad(net, (1, 28, 28))(flat)[0])
    nearest = lbrs.LocallyBiased(
        lambda rows: (np.zeros(len(rows)), np.zeros(rows.shape) + 1e-9),
        x.flatten(1).numpy(), sign.numpy(), 1.0, 0.0,
    ).predict(flat)  # fmt: skip
    certified = 0
    for alpha in (0.0, 0.5, 1e6):
        f = locally_biased(net, x, sign.numpy(), alpha)
        label, radius = f.certify(flat)
        if alpha in (0.0, 1e6):
            assert label.tolist() == (nearest if alpha else sign_of_g).tolist()
        certified += int(np.sum(radius > 0.01))
        for norm_part in (0.5, 0.999):
            side = torch.from_numpy(label).float()
            moved = pgd(
                lambda p, side=side: -side * net(p)[:, 0], queries,
                torch.from_numpy(radius * norm_part).float(), steps=20,
            )  # fmt: skip
            assert f.predict(moved.flatten(1).numpy()).tolist() == label.tolist()
        certified += attacked_towards_anchors(f, x, sign, queries, 2.0)
    assert certified > 20


def attacked_towards_anchors(f, anchors, labels, queries, norm: float) -> int:
    """Steps of the radius towards anchors of other labels, where the bias turns; how many."""
    flat, points = queries.flatten(1).double().numpy(), anchors.flatten(1).double().numpy()
    label, radius = f.certify(flat)
    count = 0
    for row, own, reach in zip(flat, label, radius, strict=True):
        rivals = points[labels.numpy() != own]
        near = np.argsort(np.linalg.norm(rivals - row, axis=1))[:10]
        steps = rivals[near] - row
        steps = np.sign(steps) if norm == np.inf else steps
        length = np.linalg.norm(steps, ord=norm, axis=1, keepdims=True)
        if reach > 0:
            assert set(f.predict(row + 0.9999 * reach * steps / length).tolist()) == {own}
            count += 1
    return count


def test_multiclass_model_and_its_bound():
    net = model()
    _, _, x, _ = digits()
    rows = x[:5].flatten(1).numpy()
    value, grad = value_and_grad(net, (1, 28, 28))(rows)
    assert value.shape == (5, 10)
    assert grad.shape == (5, 10, 784)
    step = 1e-5 * np.random.default_rng(0).normal(size=784)
    ahead = value_and_grad(net, (1, 28, 28))(rows + step)[0]
    behind = value_and_grad(net, (1, 28, 28))(rows - step)[0]
    assert (ahead - behind) / 2 == pytest.approx(grad @ step, rel=1e-4, abs=1e-9)
    anchors = digits()[0][:200]
    two = locally_biased(net, anchors, digits()[1][:200].numpy(), 0.5)
    sup = locally_biased(net, anchors, digits()[1][:200].numpy(), 0.5, norm=np.inf)
    assert np.all(two.certify(rows)[1] > sup.certify(rows)[1])
    labels = digits()[1][:200]
    assert attacked_towards_anchors(two, anchors, labels, x[:10], 2.0) > 5
    assert attacked_towards_anchors(sup, anchors, labels, x[:10], np.inf) > 5
    moved = attack_scores(net, x[:5], torch.from_numpy(two.certify(rows)[1]).float())
    assert two.predict(moved.flatten(1).numpy()).tolist() == two.predict(rows).tolist()
    known = np.sqrt(2) * gradient_lipschitz_upper_bound(net) * (1 + 1e-9)
    by_hand = locally_biased(net, anchors, digits()[1][:200].numpy(), 0.5, lip_grad=known)
    assert by_hand.certify(rows)[1] == pytest.approx(two.certify(rows)[1], rel=1e-6)


def attack_scores(net: nn.Module, x: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
    top = net(x).argmax(1)
    return pgd(lambda p: cross_entropy(net(p), top, reduction="none"), x, radius, steps=20)


def test_relu_is_refused():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    with pytest.raises(ValueError, match="use a smooth activation"):
        locally_biased(net, [[0.0, 0.0]], [1], 0.5)


# baselines


def test_levels_for_each_input_certify_at_that_input_alone():
    net, _ = model(), torch.manual_seed(0)
    _, _, x, y = digits()
    sampler, gains, certified = TorchSampler(net, 10), [], 0
    for index in range(8):
        grown = data_dependent_sigma(net, x[index], 0.25, steps=40, samples=16, rate=2e-2)
        chosen = instance_sigma(sampler, x[index], (0.25, 0.5, 1.0), n=200, index=index)
        assert chosen in (0.25, 0.5, 1.0)
        base = certify(sampler, x[index], this_input(0.25), n=1000, index=index)
        for sigma in (grown, chosen):
            found = certify(sampler, x[index], this_input(sigma), n=1000, index=index)
            assert found.scope == "fixed noise at this input only"
            if found.predict != y[index]:
                continue
            certified += 1
            gains.append(found.radius - base.radius)
            # the fixed noise of this input does hold
            at = torch.tensor(sigma)
            moved = attack(net, lambda _, at=at: at, x[index], found.predict, found.radius)
            assert predict(sampler, moved, this_input(sigma), n=1000) in (found.predict, -1)
    assert certified >= 8
    assert np.mean(gains) > 0


def test_levels_by_search_spend_no_sample_of_the_certificate():
    """Where no level is better than another, the best of 40 must not look good again."""

    def coin(x, sigma, n, generator):
        votes = np.bincount(generator.integers(0, 2, n), minlength=2)
        return votes

    false = 0
    for index in range(100):
        known = {"n": 200, "alpha": 0.05, "index": index}
        level = instance_sigma(coin, None, np.geomspace(0.5, 2, 40), **known)
        false += certify(coin, None, this_input(level), **known).radius > 0
    assert false <= 13  # binomial(100, .05): more once in 10^3; 85 with the same samples


def test_levels_leave_the_model_as_it_is():
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).train()
    net[0].eval()
    before = net[1].running_mean.clone()
    data_dependent_sigma(net, torch.ones(4), 0.5, steps=2)
    adversarial(net, torch.zeros(2, 4), torch.zeros(2, dtype=torch.long), 0.1, steps=2)
    assert torch.equal(net[1].running_mean, before)
    assert (net.training, net[0].training, net[1].training) == (True, False, True)
    with pytest.raises(ValueError, match="sigmas must hold at least one level"):
        instance_sigma(TorchSampler(net), torch.ones(4), [])


def test_memory_on_digits_holds_under_attack():
    """Levels chosen for each input, the later balls cut; attacked points remembered classes."""
    net, memory = model(), Memory()
    _, _, x, y = digits()
    sampler, kept = TorchSampler(net, 10), []

    def classified(point: torch.Tensor, index: int) -> Certificate:
        level = instance_sigma(sampler, point, (0.25, 0.5, 1.0), n=200, index=index)
        found = certify(sampler, point, this_input(level), n=1000, index=index)
        return memory.correct(point.numpy(), found)

    for index in range(12):
        found = classified(x[index], index)
        assert found.scope == "memory-based"
        if found.predict == y[index] and found.radius > 0:
            kept.append((index, found))
    assert len(kept) >= 6
    for index, found in kept:
        at = torch.tensor(found.sigma)
        moved = attack(net, lambda _, at=at: at, x[index], found.predict, found.radius)
        again = classified(moved, 100 + index)
        assert again.predict == found.predict
        assert again.radius == pytest.approx(
            found.radius - float((moved - x[index]).norm()), abs=1e-5
        )
        assert (again.count, again.sigma) == (found.count, found.sigma)  # the ball's evidence
    # halfway to an input of another class the balls may not overlap
    one, two = next((i, j) for i, a in kept for j, b in kept if a.predict != b.predict)
    for share in np.linspace(0, 1, 9):
        classified(x[one] * (1 - share) + x[two] * share, 200)
    points, certificates = np.array(memory._points), memory._kept
    for i, first in enumerate(certificates):
        for j, second in enumerate(certificates[:i]):
            if first.predict != second.predict:
                gap = np.linalg.norm(points[i] - points[j])
                assert first.radius + second.radius <= gap


def test_memory_refuses_what_it_cannot_place():
    memory = Memory()
    memory.correct([0.0, 0.0], CERTIFIED)
    with pytest.raises(ValueError, match="x must be in"):
        memory.correct([np.nan, 0.0], CERTIFIED)
    with pytest.raises(ValueError, match="x must have 2 numbers; got 1"):
        memory.correct([0.7], replace(CERTIFIED, predict=1))
    assert memory.correct([0.1, 0.0], replace(CERTIFIED, predict=1)).predict == 0


def test_memory_keeps_balls_of_different_classes_apart():
    rng = np.random.default_rng(0)
    memory, kept = Memory(), []
    for _ in range(300):
        x = rng.normal(size=3)
        own = Certificate(int(rng.integers(3)), 0.4, 1.0, 0.9, 9, 10, 0.5, "gaussian", "")
        found = memory.correct(x, own)
        assert found.scope == "memory-based"
        assert found.radius <= 0.4
        for other, before in kept:
            distance = np.linalg.norm(x - other)
            if distance < before.radius:
                assert found.predict == before.predict
            if found.predict != before.predict:
                assert found.radius + before.radius <= distance
        kept.append((x, found))
    assert len({found.radius for _, found in kept}) > 50  # it did cut


def test_memory_holds_where_the_level_moves():
    # of two inputs with overlapping balls the later one gives way, whatever its own noise says
    memory = Memory()
    first = memory.correct([0.0, 0.0], CERTIFIED)
    again = memory.correct([0.9, 0.0], replace(CERTIFIED, predict=1, radius=5.0))
    assert (first.predict, first.radius) == (0, 1.0)
    assert again.predict == 0
    assert again.radius == pytest.approx(0.1)
    abstained = memory.correct([3.0, 0.0], replace(CERTIFIED, predict=-1, radius=0.0))
    assert (abstained.predict, abstained.radius) == (-1, 0.0)
    assert memory.correct([3.0, 0.0], CERTIFIED).radius == 1.0


CERTIFIED = Certificate(0, 1.0, 2.0, 0.97, 990, 1000, 0.5, "gaussian", "")


# training helpers


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


def test_adversarial_training_makes_robust():
    x, y, held, truth = digits()
    x, y = x[:1000], y[:1000]

    def robust(net: nn.Module) -> float:
        moved = adversarial(net, held, truth, 1.5, steps=10)
        return float((net(moved).argmax(1) == truth).float().mean())

    plain, hard = network(), network()
    fit(plain, lambda x, y: cross_entropy(plain(x), y), (x, y), epochs=6, rate=1e-2)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return cross_entropy(hard(adversarial(hard, x, y, 1.5, steps=5)), y)

    fit(hard, loss, (x, y), epochs=6, rate=1e-2)
    assert robust(hard) > robust(plain) + 0.05
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
