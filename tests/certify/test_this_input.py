"""The memory of certified balls: exact distances, and the radii that it cuts."""

from fractions import Fraction

import numpy as np
import pytest

from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import (
    Memory,
)


def squared_distance(a, b):
    """Exact, of two points as they are stored."""
    differences = (Fraction(x) - Fraction(y) for x, y in zip(a, b, strict=True))
    return sum(difference**2 for difference in differences)


def remembered(radius, *, size):
    """A memory of one ball around the origin."""
    memory = Memory()
    memory.correct(np.zeros(size), certificate(0, radius))
    return memory


def certificate(label, radius):
    return Certificate(
        predict=label,
        radius=radius,
        z_a=2.0,
        p_a=0.9,
        count=990,
        n=1000,
        sigma=0.5,
        method="gaussian",
        scope="fixed noise",
    )


def nearly(distance, *, size, seed):
    """A point at about a distance from the origin."""
    direction = np.random.default_rng(seed).standard_normal(size)
    return direction * (distance / np.linalg.norm(direction))


@pytest.mark.parametrize("seed", range(40))
def test_a_point_in_a_remembered_ball_stays_in_it(seed):
    """Its radius and its exact distance from the centre are the ball's at most."""
    size, ball = 7, 1.0
    point = nearly(0.25 + 0.5 * (seed / 40), size=size, seed=seed)
    inside = remembered(ball, size=size).correct(point, certificate(1, 5.0))
    assert inside.predict == 0
    distance_squared = squared_distance(point, np.zeros(size))
    rest = Fraction(ball) - Fraction(inside.radius)
    assert rest >= 0
    assert distance_squared <= rest**2
    # and no less than the error of a norm requires
    assert inside.radius >= ball - np.linalg.norm(point) - 2e-14


@pytest.mark.parametrize("seed", range(40))
def test_a_radius_ends_where_a_remembered_ball_of_another_class_begins(seed):
    size, ball = 7, 1.0
    point = nearly(1.25 + seed / 40, size=size, seed=seed)
    outside = remembered(ball, size=size).correct(point, certificate(1, 5.0))
    assert outside.predict == 1
    distance_squared = squared_distance(point, np.zeros(size))
    assert (Fraction(ball) + Fraction(outside.radius)) ** 2 <= distance_squared
    assert outside.radius >= np.linalg.norm(point) - ball - 2e-14


@pytest.mark.parametrize("seed", range(40))
def test_a_point_that_may_be_in_a_remembered_ball_is_in_it(seed):
    """On the border, but for the error of a norm: the ball's class, and no radius."""
    point = nearly(1.0, size=7, seed=seed)
    border = float(np.linalg.norm(point))
    found = remembered(border, size=7).correct(point, certificate(1, 5.0))
    assert (found.predict, found.radius) == (0, 0.0)


def test_balls_of_the_own_class_cut_no_radius():
    found = remembered(1.0, size=2).correct([1.5, 0.0], certificate(0, 5.0))
    assert (found.predict, found.radius) == (0, 5.0)


def test_abstentions_are_not_remembered():
    memory = Memory()
    abstention = certificate(ABSTAIN, 0.0)
    assert memory.correct([0.0, 0.0], abstention).radius == 0.0
    memory.correct([0.0, 0.1], certificate(0, 0.0))
    assert memory.correct([0.0, 1.0], certificate(1, 3.0)).radius == 3.0
