"""Attacks on the generator of the noise (Dahiya, Shumailov and Anderson, 2024).

Noise that can be predicted is no noise: a model that knows it answers as it likes under
it, and otherwise elsewhere. Noise from biased bits has another law, and votes under it
bound the probability of something else.
"""

import inspect

import numpy as np
import pytest
import torch
from scipy.special import ndtr, ndtri

from rsbounds import certify_dataset
from rsbounds.certify import Procedure, certify
from rsbounds.certify import predict as smoothed_class
from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import ArraySampler, Phase, as_sampler
from rsbounds.sampling.internal import stream
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler

SIGMA = 0.5
N = 1000
DIM = 64
POINT = np.full(DIM, 102 / 255, np.float32)
MOVED = np.full(DIM, 90 / 255, np.float32)
DISTANCE = DIM**0.5 * 12 / 255  # .38

# --- a linear congruential generator: each number tells the next

FACTOR, TERM, MODULUS = 1103515245, 12345, 2**31


def congruential(x, sigma, n, state=1):
    """Noisy copies by the generator of the C standard's example."""
    u = np.empty(n * x.size, dtype=np.int64)
    for place in range(u.size):
        state = (FACTOR * state + TERM) % MODULUS
        u[place] = state
    z = ndtri((u + 0.5) / MODULUS).reshape(n, *x.shape)
    return x.astype(np.float64) + sigma * z


def knows_the_generator(batch):
    """Class 0 if the noise about the point follows from its first number."""
    noise = (np.asarray(batch, dtype=np.float64) - POINT) / SIGMA
    u = np.rint(ndtr(noise[:, :2]) * MODULUS - 0.5).astype(np.int64)
    follows = (FACTOR * u[:, :1] + TERM) % MODULUS == u[:, 1:2]
    score = np.where(follows[:, 0], 1.0, -1.0)
    return np.stack([score, -score], axis=1)


def weak_sampler(x, sigma, n, generator):
    """A sampler of one's own, with a generator of one's own."""
    scores = knows_the_generator(congruential(np.asarray(x), sigma, n))
    return np.bincount(scores.argmax(1), minlength=2)


def test_plain_smoothing_with_a_weak_generator_is_broken():
    """A failure that ships: this certificate is false."""
    certificate = certify(weak_sampler, POINT, gaussian(SIGMA), n=N)
    assert certificate.predict == 0
    assert certificate.radius > 1.2 > DISTANCE
    # well inside of it, by the same generator
    assert smoothed_class(weak_sampler, MOVED, gaussian(SIGMA), Procedure(n=N)) == 1
    # and at the point itself, by another
    honest = ArraySampler(knows_the_generator)
    assert smoothed_class(honest, POINT, gaussian(SIGMA), Procedure(n=N)) == 1


def test_nobody_plugs_in_a_generator_silently():
    """A sampler that draws by itself claims nothing of the program."""
    assert "generator" not in inspect.signature(certify).parameters
    assert "generator" not in inspect.signature(certify_dataset).parameters
    assert "generator" not in inspect.signature(as_sampler).parameters
    for claim in ({"seed": "os"}, {"margin": 1e-6}):
        with pytest.raises(ValueError, match="got the sampler"):
            certify(weak_sampler, POINT, gaussian(SIGMA), n=N, **claim)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_sound_noise_refuses_the_certificate(library):
    """The model that knows the generator is smoothed by one that it doesn't know."""

    class Knowing(torch.nn.Module):
        def forward(self, batch):
            return torch.from_numpy(knows_the_generator(batch.numpy()))

    sampler = ArraySampler(knows_the_generator, noise=OnGrid())
    if library == "torch":
        sampler = TorchSampler(Knowing(), noise=OnGrid())
    found = certify(sampler, POINT, gaussian(SIGMA), n=N, margin=1e-6)
    assert found.predict == 1
    assert found.counts[0] == 0


# --- a good generator whose seed is known: 0, unless one says another


def knows_the_seed(seed):
    """Class 0 on the very copies that a run of this seed draws of input 0."""
    steps = grid_noise.on_grid(POINT)
    drawn = set()
    for phase, n in ((Phase.SELECT, 100), (Phase.ESTIMATE, N)):
        copies, _ = grid_noise.noisy(steps, SIGMA, n, stream(seed, 0, phase))
        drawn |= {row.tobytes() for row in copies}

    def classifier(batch):
        known = [row.tobytes() in drawn for row in np.asarray(batch)]
        score = np.where(known, 1.0, -1.0)
        return np.stack([score, -score], axis=1)

    return ArraySampler(classifier, noise=OnGrid())


def test_a_known_seed_is_a_weak_generator():
    """A failure that ships: neither exact noise nor a margin is a help here."""
    sampler = knows_the_seed(0)
    certificate = certify(sampler, POINT, gaussian(SIGMA), n=N, margin=1e-6)
    assert certificate.predict == 0
    assert certificate.radius > 1.2 > DISTANCE
    assert smoothed_class(sampler, MOVED, gaussian(SIGMA), Procedure(n=N)) == 1


def test_noise_of_the_operating_system_refuses_the_certificate():
    pytest.importorskip("cryptography")
    sampler = knows_the_seed(0)
    numbers = {"n": N, "margin": 1e-6, "seed": "os"}
    found = certify(sampler, POINT, gaussian(SIGMA), **numbers)
    # one of 1,100 copies of 64 numbers is drawn with probability below 1e-100
    assert (found.predict, found.counts) == (1, (0, N))
    # so is it by a seed that the model doesn't know
    assert certify(sampler, POINT, gaussian(SIGMA), n=N, seed=1).predict == 1


# --- bits with a bias: the law of the noise is another


class Biased:
    """A generator of whole numbers whose second bit is 1 - the first, too often.

    Numbers near 0 and 2^63, those of large noise, become rare.
    """

    def __init__(self, seed, share):
        self._generator = np.random.default_rng(seed)
        self._share = share

    def integers(self, low, high, size, dtype):
        u = self._generator.integers(low, high, size=size, dtype=dtype)
        first = u >> 62 & 1
        forced = self._generator.random(size) < self._share
        second = np.where(forced, 1 - first, u >> 61 & 1)
        return (u & ~(1 << 61)) | (second << 61)


def half_space(batch):
    """Class 0 where the first number is above the middle of the grid's cell 102."""
    score = batch[:, 0].astype(np.float64) - 102.5 / 255
    return np.stack([score, -score], axis=1)


def biased_sampler(x, sigma, n, generator):
    copies, _ = grid_noise.noisy(grid_noise.on_grid(x), sigma, n, Biased(n, 0.5))
    return np.bincount(half_space(copies).argmax(1), minlength=2)


def test_a_biased_bit_makes_radii_too_large():
    """A failure that ships: the radius is beyond the plane that decides the class."""
    x = np.array([200 / 255, 0.0], np.float32)
    truth = 97.5 / 255  # the distance of the plane
    biased = certify(biased_sampler, x, gaussian(SIGMA), n=100_000)
    # 125 steps along the first axis: past the plane and within that radius
    past = np.array([75 / 255, 0.0], np.float32)
    assert biased.radius > 1.5 * truth > 125 / 255 + 1e-6
    sampler = ArraySampler(half_space, noise=OnGrid())
    assert smoothed_class(sampler, past, gaussian(SIGMA), Procedure(n=N)) == 1
    sound = certify(sampler, x, gaussian(SIGMA), n=100_000, margin=1e-9)
    assert 0.95 * truth < sound.radius < truth
    with pytest.raises(ValueError, match="got the sampler"):
        certify(biased_sampler, x, gaussian(SIGMA), n=N, seed="os")
