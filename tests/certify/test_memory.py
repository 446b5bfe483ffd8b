"""Levels chosen for each input, and the memory that makes them valid, on digits."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_digits import attack, digits, model

from rsbounds.certificate import ANOTHERS, Certificate
from rsbounds.certify import Memory, certify, instance_sigma, predict
from rsbounds.procedure import Procedure
from rsbounds.schemes import this_input
from rsbounds.torch import TorchSampler, data_dependent_sigma


@pytest.mark.slow
def test_levels_for_each_input_certify_at_that_input_alone():
    net, _ = model(), torch.manual_seed(0)
    _, _, x, _ = digits()
    sampler, certified = TorchSampler(net, 10), 0
    for index in range(6):
        grown = data_dependent_sigma(
            net, x[index], 0.25, steps=40, samples=16, rate=2e-2
        )
        chosen = instance_sigma(
            sampler, x[index], (0.25, 0.5, 1.0), Procedure(n=200), index=index
        )
        assert chosen in (0.25, 0.5, 1.0)
        for sigma in (grown, chosen):
            result = certify(sampler, x[index], this_input(sigma), n=1000, index=index)
            assert result.scope == "fixed noise at this input only"
            if result.radius > 0:  # the fixed noise of this input does hold
                certified += 1
                at = torch.tensor(sigma)
                moved = attack(
                    net, lambda _, at=at: at, x[index], result.predict, result.radius
                )
                again = predict(sampler, moved, this_input(sigma), Procedure(n=1000))
                assert again in (result.predict, -1)
    assert certified >= 5


def test_levels_by_search_spend_no_sample_of_the_certificate():
    """Where no level is better than another, the best of 40 must not look good."""

    def coin(x, sigma, n, generator):
        votes = np.bincount(generator.integers(0, 2, n), minlength=2)
        return votes

    false = 0
    for index in range(100):
        known = {"n": 200, "alpha": 0.05}
        level = instance_sigma(
            coin, None, np.geomspace(0.5, 2, 40), Procedure(**known), index=index
        )
        false += certify(coin, None, this_input(level), **known, index=index).radius > 0
    assert (
        false <= 13
    )  # binomial(100, .05): more once in 10^3; 85 with the same samples
    with pytest.raises(ValueError, match=r"sigmas.*level"):
        instance_sigma(coin, None, [])


@pytest.mark.slow
def test_memory_on_digits_holds_under_attack():
    """Levels chosen for each input, the later balls cut; attacked points remembered
    classes.
    """
    net, memory = model(), Memory()
    _, _, x, y = digits()
    sampler, kept = TorchSampler(net, 10), []

    def classified(point, index):
        level = instance_sigma(
            sampler, point, (0.25, 0.5, 1.0), Procedure(n=200), index=index
        )
        found = certify(sampler, point, this_input(level), n=1000, index=index)
        return memory.correct(point.numpy(), found)

    for index in range(12):
        found = classified(x[index], index)
        assert found.scope == "memory-based"
        if found.predict == y[index] and found.radius > 0:
            kept.append((index, found))
    assert len(kept) >= 4
    for index, found in kept:
        at = torch.tensor(found.sigma)
        moved = attack(net, lambda _, at=at: at, x[index], found.predict, found.radius)
        again = classified(moved, 100 + index)
        left = found.radius - float((moved - x[index]).norm())
        assert (again.predict, again.radius) == (
            found.predict,
            pytest.approx(left, abs=1e-5),
        )
        assert (again.count, again.sigma) == (
            found.count,
            found.sigma,
        )  # the ball's evidence


def test_memory_refuses_what_it_cannot_place():
    memory, plane = Memory(), np.zeros(2)
    memory.correct(plane, CERTIFIED)
    for x, given, message in (
        ([np.nan, 0.0], CERTIFIED, "x must be in"),
        ([0.7], CERTIFIED, "x must have 2 numbers; got 1"),
        # balls in l_inf, 1.5 apart in that norm and 15 in l2, overlapped
        (plane, replace(CERTIFIED, norm=float("inf")), "must have an l2 radius; got"),
        (plane, replace(CERTIFIED, scope=ANOTHERS), "must be of a method of rsbounds"),
    ):
        with pytest.raises(ValueError, match=message):
            memory.correct(x, given)
    assert memory.correct([0.1, 0.0], replace(CERTIFIED, predict=1)).predict == 0


def test_memory_keeps_balls_of_different_classes_apart():
    rng = np.random.default_rng(0)
    memory, kept = Memory(), []
    for _ in range(300):
        x = rng.normal(size=3)
        own = Certificate(
            int(rng.integers(3)), 0.4, 1.0, 0.9, 9, 10, 0.5, "gaussian", ""
        )
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


CERTIFIED = Certificate(0, 1.0, 2.0, 0.97, 990, 1000, 0.5, "gaussian", "")
