"""Levels chosen for each input, and the memory that makes them valid, on real digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch_digits import attack, digits, model

from rsbounds.certificate import ANOTHERS, Certificate
from rsbounds.certify import certify, predict
from rsbounds.torch import (
    Memory,
    TorchSampler,
    adversarial,
    data_dependent_sigma,
    instance_sigma,
    this_input,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_levels_for_each_input_certify_at_that_input_alone():
    net, _ = model(), torch.manual_seed(0)
    _, _, x, y = digits()
    sampler, certified = TorchSampler(net, 10), 0
    for index in range(8):
        grown = data_dependent_sigma(net, x[index], 0.25, steps=40, samples=16, rate=2e-2)
        chosen = instance_sigma(sampler, x[index], (0.25, 0.5, 1.0), n=200, index=index)
        assert chosen in (0.25, 0.5, 1.0)
        for sigma in (grown, chosen):
            found = certify(sampler, x[index], this_input(sigma), n=1000, index=index)
            assert found.scope == "fixed noise at this input only"
            if found.predict != y[index]:
                continue
            certified += 1
            # the fixed noise of this input does hold
            at = torch.tensor(sigma)
            moved = attack(net, lambda _, at=at: at, x[index], found.predict, found.radius)
            assert predict(sampler, moved, this_input(sigma), n=1000) in (found.predict, -1)
    assert certified >= 8


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


def test_memory_measures_in_l2_alone():
    """Balls in l_inf, 1.5 apart in that norm and 15 in l2, overlapped."""
    memory, far = Memory(), replace(CERTIFIED, radius=1.0, norm=float("inf"))
    for _ in range(2):
        with pytest.raises(ValueError, match="certificate must have an l2 radius; got"):
            memory.correct(np.zeros(100), far)
        memory.correct(np.zeros(100), CERTIFIED)


def test_memory_does_not_make_another_packages_theory_valid():
    with pytest.raises(ValueError, match="certificate must be valid for one input's noise"):
        Memory().correct([0.0], replace(CERTIFIED, scope=ANOTHERS))


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
