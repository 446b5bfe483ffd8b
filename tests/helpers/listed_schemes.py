"""Every scheme of the list as its suites are given it, a line an entry."""

import math

import numpy as np
import pytest

from rsbounds import schemes, semielastic
from rsbounds.sampling import as_sampler

GAUSSIAN = schemes.gaussian(0.5)
ANCHORS = np.random.default_rng(0).standard_normal((30, 4))
KNN = semielastic.KNNSigma(ANCHORS, 0.5, 0.1, 5, "mean")
FIXED = {"rate": 0.0}
#: A map of noise that couples all numbers.
MAP = [[0.5, 0.1, 0, 0], [0.2, -0.4, 0.1, 0], [0, 0.3, 0.6, 0.2], [0.1, 0, 0, 0.5]]
#: Three numbers and three values of three.
TABLE = np.array(
    [
        [0.6, 0.2, 1.4, 0, 1, 2],
        [0.1, 0.9, 0.3, 2, 2, 1],
        [-0.5, 0.4, 0.8, 1, 0, 0],
        [0.7, -1.1, 0.5, 0, 0, 2],
    ],
    np.float32,
)


def cone(x):
    """A level as steep as its Lipschitz constant, 0.1."""
    return 0.3 + 0.1 * float(np.linalg.norm(np.asarray(x, dtype=np.float64)))


def flat(x):
    return 0.35


def of_sequences(sequences):
    """Scores of sequences of any length."""
    return np.array([[len(s), 4 + np.sum(np.equal(s, 1)), 3.5] for s in sequences])


def shaped():
    """Noise of a level for each axis, and what draws it for a function."""
    torch = pytest.importorskip("torch")
    from rsbounds.torch import FixedNoise

    return FixedNoise(torch.zeros(4), torch.tensor([0.3, 0.5, 0.4, 0.6]))


def generated():
    """Noise that follows the input within proven bounds."""
    torch = pytest.importorskip("torch")
    from rsbounds.torch import CertifiedGenerator, Scale, SigmaNetwork

    torch.manual_seed(0)
    mean = torch.nn.Sequential(torch.nn.Linear(4, 4), Scale(0.05))
    level = torch.nn.Sequential(torch.nn.Linear(4, 1), Scale(0.01))
    shape = torch.tensor([0.8, 1.2, 1.0, 1.0])
    return CertifiedGenerator(mean, SigmaNetwork(level, 0.25), shape).noise()


def drawn_by(noise):
    """The scheme of a noise, and what makes a sampler of a function."""
    torch = pytest.importorskip("torch")

    class Module(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, batch):
            return torch.from_numpy(np.asarray(self.function(batch.numpy())))

    return {"sampler": lambda model: as_sampler(Module(model), noise.scheme())}


def asked_twice():
    """What makes a sampler of a function of the second answer."""
    torch = pytest.importorskip("torch")
    from rsbounds.torch import Adaptive

    def sampler(function):
        def model(first, second):
            return torch.from_numpy(np.asarray(function(second.numpy())))

        adaptive = Adaptive(lambda first: torch.ones_like(first), model, 0.48, 0.64)
        return as_sampler(adaptive, schemes.two_queries(*adaptive.query_levels, 4))

    return {"sampler": sampler}


SCHEMES = {
    "gaussian": lambda: (GAUSSIAN, {"fixed": {}}),
    "gaussian in l1": lambda: (schemes.gaussian(0.5, norm=1), {"fixed": {}}),
    "gaussian in linf": lambda: (
        schemes.gaussian(0.5, norm=math.inf, dim=4),
        {"fixed": {}},
    ),
    "gaussian of this input": lambda: (schemes.this_input(0.5), {"fixed": {}}),
    "semi-elastic": lambda: (schemes.semielastic(KNN, 4), {"fixed": FIXED}),
    "semi-elastic, sound": lambda: (
        schemes.semielastic(KNN, 4).on_grid(),
        {"fixed": FIXED | {"slack": 0.0}},
    ),
    "lipschitz": lambda: (
        schemes.lipschitz(cone, 0.1, 0.3, 4),
        {"fixed": {"lip": 0.0}},
    ),
    "range": lambda: (
        schemes.sigma_range(flat, 0.33, 0.37, 4),
        {"fixed": {"sigma_min": 0.35, "sigma_max": 0.35}},
    ),
    "anisotropic": lambda: (shaped().scheme(), drawn_by(shaped())),
    "generator": lambda: (generated().scheme(), drawn_by(generated())),
    "correlated": lambda: (schemes.correlated(MAP), {}),
    "laplace": lambda: (schemes.laplace(0.5), {"fixed": {}}),
    "uniform": lambda: (schemes.uniform(0.5), {"fixed": {}}),
    "exponential": lambda: (schemes.exponential(2.0), {}),
    "transformed": lambda: (
        schemes.transformed(schemes.gaussian(0.5), "brightness"),
        {},
    ),
    "transformed by a law of one side": lambda: (
        schemes.transformed(schemes.exponential(2.0), "brightness"),
        {},
    ),
    "two-queries": lambda: (schemes.two_queries(0.6, 0.8, 4), asked_twice()),
    "brightness-contrast": lambda: (schemes.brightness_contrast(0.4, 0.4), {}),
    "orbit": lambda: (
        schemes.orbit("shift", (2, 3)),
        {"x": np.arange(6.0).reshape(2, 3) / 6},
    ),
    "double-masking": lambda: (
        schemes.double_masking(2, 2, (4, 5)),
        {"x": np.arange(20.0).reshape(4, 5) / 20},
    ),
    "splitting": lambda: (schemes.splitting(0.5, 255), {"fixed": {}}),
    "categorical": lambda: (schemes.categorical(0.8, 4), {"x": [3, 0, 1, 2, 3]}),
    "flips": lambda: (schemes.flips(0.1, 0.3), {"x": [1, 0, 1, 0, 1]}),
    "mask": lambda: (schemes.mask(6, 2), {"x": [1, 2, 3, 4, 5, 6]}),
    "mask of any length": lambda: (
        schemes.mask(keep_probability=0.3, hidden=7),
        {"x": [1, 2, 3, 4, 5, 6]},
    ),
    "deletion": lambda: (
        schemes.deletion(0.7),
        {"x": [3, 1, 2, 1, 1, 2], "model": of_sequences},
    ),
    "blocks": lambda: (
        schemes.blocks(
            schemes.flips(0.05, 0.3), schemes.categorical(0.7, 3), splits=[3]
        ),
        {"x": [1, 0, 1, 0, 1, 1]},
    ),
    "blocks of numbers and values": lambda: (
        schemes.blocks(schemes.gaussian(0.5), schemes.categorical(0.8, 3), splits=[3]),
        {"x": TABLE[0], "data": (TABLE, [0, 1, 2, 0])},
    ),
}
