"""The rounding attack on Gaussian smoothing in float32 (Voracek and Hein, 2023).

A classifier that asks whether its input lies on the floating-point grid of one point
tells noisy copies of that point from those of any other. Sampling at the point finds
its class always, and certifies a large radius; well inside of it the class is lost.
"""

import numpy as np
import pytest
import torch

from rsbounds.certify import Procedure, certify, measure_margin
from rsbounds.certify import predict as smoothed_class
from rsbounds.sampling import ArraySampler
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

SIGMA = 0.5
DIM = 784
DISTANCE = 0.8
N = 1000
POINT = np.full(DIM, 1.01, np.float32)
MOVED = (POINT - np.float32(DISTANCE / DIM**0.5)).astype(np.float32)


class OnGrid(torch.nn.Module):
    """Class 0 if y = x + (y - x) at each coordinate, as its arithmetic has it."""

    def __init__(self, point):
        super().__init__()
        self.register_buffer("point", torch.from_numpy(point))

    def forward(self, batch):
        back = (batch - self.point) + self.point
        off = (back != batch).flatten(1).sum(1).to(batch.dtype)
        return torch.stack([0.5 - off, off - 0.5], 1)


def on_grid(batch):
    """The same in NumPy."""
    back = (batch - POINT.astype(batch.dtype)) + POINT.astype(batch.dtype)
    off = (back != batch).sum(1).astype(batch.dtype)
    return np.stack([0.5 - off, off - 0.5], 1)


SAMPLERS = {
    "numpy": lambda point, **options: ArraySampler(on_grid, **options),
    "torch": lambda point, **options: TorchSampler(OnGrid(point), **options),
}
EACH = pytest.mark.parametrize("make", SAMPLERS.values(), ids=list(SAMPLERS))


def distance():
    return float(np.linalg.norm(POINT.astype(float) - MOVED.astype(float)))


@EACH
def test_plain_smoothing_is_broken(make):
    """A failure that ships: this certificate is false."""
    sampler = make(POINT)
    certificate = certify(sampler, POINT, gaussian(SIGMA), n=N)
    assert certificate.predict == 0
    assert certificate.radius > 1.2 > distance()
    at = certify(sampler, MOVED, gaussian(SIGMA), n=N)
    assert (at.predict, at.count) == (1, N)
    assert smoothed_class(sampler, MOVED, gaussian(SIGMA), Procedure(n=N)) == 1


@EACH
def test_sound_noise_refuses_the_certificate(make):
    """Samples of a point of the grid are on no grid of its own: class 0 is not found,
    and the class that is found stays at the distance of the attack.
    """
    point = np.full(DIM, 1.0, np.float32)
    moved = np.full(DIM, 248 / 255, np.float32)
    sampler = make(point, noise=gaussian(SIGMA).on_grid())
    at_point = certify(sampler, point, gaussian(SIGMA), n=N)
    at_moved = certify(sampler, moved, gaussian(SIGMA), n=N)
    assert at_point.radius > float(np.linalg.norm(point - moved)) > 0.75
    assert at_point.predict == at_moved.predict == 1
    # off the grid the inputs of the attack are refused
    with pytest.raises(ValueError, match="grid of 1/255"):
        certify(sampler, POINT, gaussian(SIGMA), n=N)


@EACH
def test_a_measured_margin_refuses_the_certificate(make):
    """In float64 each y lies on the grid: the scores are nothing that float32 knows."""
    model = OnGrid(POINT) if make is SAMPLERS["torch"] else on_grid
    data = np.stack([POINT, MOVED]), np.array([0, 1])
    margin, record = measure_margin(model, data, gaussian(SIGMA))
    assert record["largest"] > 1
    found = certify(make(POINT), POINT, gaussian(SIGMA), n=N, margin=margin)
    assert found.predict == -1
    assert found.radius == 0
    assert sum(found.counts) == 0
