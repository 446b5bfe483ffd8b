"""Rounding attacks on linear models (Jin, Ohrimenko and Rubinstein, 2022).

Of a linear model the distance to the other class is known exactly: |w.x|/|w|. But what
runs sums rounded products. A search over roundings finds inputs within the distance
that the program gives to another class. "Getting a-Round Guarantees: Floating-Point
Attacks on Certified Robustness".
"""

from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest
import torch

from rsbounds.certify import Procedure, certify, measure_margin
from rsbounds.certify import predict as smoothed_class
from rsbounds.lbrs import boundary_radius
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import ArraySampler
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

DIM = 784
INPUTS = 12
TRIES = 300  # roundings of each input
ROUNDING = 2.0**-24


def weights():
    return np.random.default_rng(3).standard_normal(DIM).astype(np.float32)


def points():
    """Points at which the value is about 3, its terms all of one sign."""
    generator = np.random.default_rng(4)
    sizes = generator.integers(0, 256, (INPUTS, DIM)) / 25500
    return (sizes * np.sign(weights())).astype(np.float32)


def value(batch):
    """w.x in float32, summed from the first number to the last on every machine."""
    return np.cumsum(batch * weights(), axis=-1, dtype=np.float32)[..., -1]


def exact(x):
    return sum(
        Fraction(float(a)) * Fraction(float(b))
        for a, b in zip(x, weights(), strict=True)
    )


def squared(numbers):
    return sum(Fraction(float(number)) ** 2 for number in numbers)


def norm():
    """|w|, rounded up."""
    return nextafter(float(np.linalg.norm(weights().astype(np.float64))), inf)


def attack(x, radius):
    """An input nearer than the radius that the program gives to another class.

    None where none of so many roundings is one: the point at that distance towards the
    plane, each number rounded up or down by chance.
    """
    w = weights().astype(np.float64)
    generator = np.random.default_rng(5)
    side = np.sign(float(value(x)))
    exactly = x - side * radius * (1 - 1e-9) * w / np.linalg.norm(w)
    near = exactly.astype(np.float32)
    away = np.where(near < exactly, np.float32(inf), np.float32(-inf))
    other = np.nextafter(near, away, dtype=np.float32)
    choices = generator.random((TRIES, DIM)) < generator.random((TRIES, 1))
    candidates = np.where(choices, other, near)
    flipped = np.sign(value(candidates)) != side
    for candidate in candidates[flipped]:
        # differences of neighbouring numbers of float32 are exact in float64
        moved = candidate.astype(np.float64) - x.astype(np.float64)
        if squared(moved) < Fraction(radius) ** 2:
            return candidate
    return None


@pytest.fixture(scope="module")
def attacked():
    """Of each point the radius of the program's own value, and what breaks it."""
    found = []
    for x in points():
        radius = float(boundary_radius(float(value(x)), norm(), 0.0, 0.0))
        found.append((x, radius, attack(x, radius)))
    return found


def test_radii_of_computed_values_are_broken(attacked):
    """A failure that ships: formulas are right, and the program has other classes."""
    broken = [(x, radius, other) for x, radius, other in attacked if other is not None]
    assert len(broken) >= 3
    for x, radius, other in broken:
        distance = np.linalg.norm(x.astype(np.float64) - other)
        assert 0 < distance < radius
        assert value(x) * value(other) <= 0
    # some are wrong by the formula too: beyond the exact distance
    beyond = [
        Fraction(radius) ** 2 * squared(weights()) > exact(x) ** 2
        for x, radius, _ in attacked
    ]
    assert any(beyond)


def test_a_margin_leaves_nothing_to_find(attacked):
    """The values of both points are within half of it of the exact ones.

    A sum of d rounded products in order is within d u/(1 - d u) of the sum of their
    sizes (Higham, Accuracy and Stability, section 3.1).
    """
    w = np.abs(weights().astype(np.float64))
    share = DIM * ROUNDING / (1 - DIM * ROUNDING)
    for x, radius, _ in attacked:
        sizes = w @ np.abs(x.astype(np.float64)) + norm() * radius
        margin = 2 * share * sizes
        led = max(abs(float(value(x))) - margin, 0.0)
        safe = float(boundary_radius(led, norm(), 0.0, 0.0))
        assert 0.9 * radius < safe < radius
        assert Fraction(safe) ** 2 * squared(weights()) < exact(x) ** 2
        assert attack(x, safe) is None


# --- the same under noise: a linear model whose scores share a large term


SIGMA = 0.1
OFFSET = 2.0**24  # neighbours of it in float32 are 1 and 2 away
X = np.array([51 / 255, 0.0], np.float32)


class Offset(torch.nn.Module):
    """Class 0 where the first number is above 1/2, as two scores near 2^24."""

    def forward(self, batch):
        score = batch[:, 0] - 0.5
        return torch.stack([OFFSET + score, OFFSET + 0 * score], 1)


def offset(batch):
    score = batch[:, 0] - batch.dtype.type(0.5)
    offset = batch.dtype.type(OFFSET)
    return np.stack([offset + score, offset + 0 * score], axis=1)


SAMPLERS = {
    "numpy": (offset, lambda **options: ArraySampler(offset, **options)),
    "torch": (Offset(), lambda **options: TorchSampler(Offset(), **options)),
}
EACH = pytest.mark.parametrize(("model", "make"), SAMPLERS.values(), ids=list(SAMPLERS))


@EACH
def test_plain_smoothing_certifies_the_wrong_class(model, make):
    """A failure that ships: the exact model has class 1, up to a distance of .3."""
    certificate = certify(make(), X, gaussian(SIGMA), n=1000)
    assert certificate.predict == 0
    assert certificate.radius > 0.15
    wide = ArraySampler(lambda batch: offset(batch.astype(np.float64)))
    assert smoothed_class(wide, X, gaussian(SIGMA), Procedure(n=1000)) == 1


@EACH
def test_a_measured_margin_refuses_the_certificate(model, make):
    data = X[None], np.array([1])
    margin, record = measure_margin(model, data, gaussian(SIGMA))
    assert record["largest"] > 0.3
    for options in ({}, {"noise": OnGrid()}):
        found = certify(make(**options), X, gaussian(SIGMA), n=1000, margin=margin)
        assert (found.predict, found.radius) == (-1, 0.0)


@EACH
def test_sound_noise_alone_is_no_help(model, make):
    """It makes the noise exact, and not the scores."""
    found = certify(make(noise=OnGrid()), X, gaussian(SIGMA), n=1000)
    assert found.predict == 0
    assert found.radius > 0.15


def test_without_the_offset_a_margin_costs_nothing():
    """A model in the same float32 whose scores are near the exact ones."""

    def near(batch):
        return np.stack([batch[:, 0] - batch.dtype.type(0.5), 0 * batch[:, 0]], axis=1)

    margin, _ = measure_margin(near, (X[None], np.array([1])), gaussian(SIGMA))
    sampler = ArraySampler(near, noise=OnGrid())
    found = certify(sampler, X, gaussian(SIGMA), n=1000, margin=margin)
    assert found.predict == 1
    assert 0.2 < found.radius < 0.3
