"""Every entry of the three lists against the suite of its kind, a line an entry; and
entries that are wrong fail, by name.
"""

import math
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from rsbounds import schemes, semielastic
from rsbounds.answers import ANSWERS, Class, List, Maps, TopK, Values
from rsbounds.answers._answer import Answered
from rsbounds.composite import Cond, Rule
from rsbounds.confidence import BOUNDS
from rsbounds.oracle import list_radius
from rsbounds.schemes import METHODS

from rsbounds.testing import check_answer, check_bound, check_scheme

GAUSSIAN = schemes.gaussian(0.5)
ANCHORS = np.random.default_rng(0).standard_normal((30, 4))
KNN = semielastic.KNNSigma(ANCHORS, 0.5, 0.1, 5, "mean")
RULE = Rule([0.5, 0.25], [[Cond("score", 0, 0.1)], [Cond("margin", 1)]])
FIXED = {"rate": 0.0}


def cone(x):
    """A level as steep as its Lipschitz constant, 0.1."""
    return 0.3 + 0.1 * float(np.linalg.norm(np.asarray(x, dtype=np.float64)))


def flat(x):
    return 0.35


class LaplaceSampler:
    """Counts of a function under Laplace noise, which rsbounds doesn't draw."""

    law = "laplace"

    def __init__(self, model):
        self.model = model

    def __call__(self, x, sigma, n, generator):
        batch = x + generator.laplace(0.0, sigma, (n, *x.shape))
        scores = np.asarray(self.model(batch))
        return np.bincount(scores.argmax(axis=1), minlength=scores.shape[1])


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

    return {"sampler": lambda model: noise.sampler(Module(model))}


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
        schemes.semielastic(KNN, 4, sound=True),
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
    "laplace": lambda: (
        schemes.laplace(0.5),
        {"fixed": {}, "sampler": LaplaceSampler},
    ),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_holds_what_every_scheme_promises(name):
    scheme, options = SCHEMES[name]()
    check_scheme(scheme, **options)


# --- what claims of answers mean


@lru_cache(maxsize=None)
def largest_top_k_radius(shares, label, k):
    """The most that a label with this share keeps among the k most likely."""
    others = sorted((p for c, p in enumerate(shares) if c != label), reverse=True)
    best = 0.0
    for t in range(1, k + 1):
        z_a, z_b = ndtri(shares[label]), ndtri(min(sum(others[k - t : k]), 1.0))
        radius = np.linspace(0.0, 3.0, 3001)
        kept = t * ndtr(z_a - radius / 0.5) > ndtr(z_b + radius / 0.5)
        if kept.any():
            best = max(best, radius[kept].max() + 0.001)
    return best


def outside_the_best(k, answered, label, probabilities):
    """Whether a certificate of the k best is more than the truth."""
    radius = answered.certificate.radius
    return radius > 0 and not radius <= largest_top_k_radius(
        tuple(probabilities[0]), label, k
    )


@lru_cache(maxsize=None)
def largest_list_radius(scores, label):
    return float(list_radius(RULE.to_dict(), scores, label, dps=15))


def another_list(answered, label, probabilities):
    """Whether a certificate of the decision list is more than the truth."""
    certificate = answered.certificate
    if not certificate.radius:
        return False
    scores = tuple(tuple(ndtri(p).tolist()) for p in probabilities)
    if np.isinf(scores).any():
        return False  # which the formulas in mpmath don't take
    truth = largest_list_radius(scores, certificate.predict)
    return certificate.radius > truth * (1 + 1e-9)


def outside_the_interval(radii, answered, label, probabilities):
    """Whether a median of 0, 1 and 2 with these shares leaves its interval."""
    below = np.cumsum(probabilities[0])  # of at most 0, 1, 2
    table = {
        name: [float(text) for text in answered.columns[name].split(";")]
        for name in ("low", "high")
    }
    for radius, low, high in zip(radii, table["low"], table["high"], strict=True):
        score = ndtri(np.minimum(below, 1.0))
        # at most as many, at least as many: a median is any number with half of all at
        # most it and half at least it
        most = ndtr(score + radius / 0.5)
        least = ndtr(np.append(-np.inf, score[:-1]) - radius / 0.5)
        smallest = int(np.argmax(most >= 0.5))
        largest = 2 - int(np.argmax((least <= 0.5)[::-1]))
        if low > smallest or high < largest:
            return True
    return False


def wrong_position(tau, answered, label, probabilities):
    """Whether a position is certified whose class is not likelier than tau."""
    if answered.columns["certified"] == "0":
        return False
    p = probabilities[0]
    first = np.array([p[0] + p[1], p[0] + p[2]])  # of the class 0 at each position
    hits = _runs(answered.columns["hits"])
    held = np.array(
        sorted(range(2), key=lambda i: -hits[i])[: int(answered.columns["certified"])]
    )
    return bool((first[held] <= tau).any())


def _runs(text):
    from rsbounds.answers._maps import from_runs

    return from_runs(text)


def positions(counts):
    """Counts of two classes at two positions, of four kinds of samples."""
    both, first, second, neither = counts
    return np.array(
        [[both + first, second + neither], [both + second, first + neither]]
    )


def two_classes(batch):
    batch = np.asarray(batch) - 0.5
    return np.stack([batch, -batch], axis=1)


ANSWER = {
    "class": (Class(GAUSSIAN), {}),
    "class, Cohen's": (Class(GAUSSIAN), {"numbers": {"runner_up": False}}),
    "class under Lipschitz noise": (
        Class(schemes.lipschitz(cone, 0.1, 0.3, 4)),
        {},
    ),
    "top-k, 1": (TopK(GAUSSIAN, 1), {"wrong": partial(outside_the_best, 1)}),
    "top-k": (
        TopK(GAUSSIAN, 2),
        {"wrong": partial(outside_the_best, 2), "options": {"k": 2}},
    ),
    "list": (List(RULE), {"kinds": 2, "wrong": another_list}),
    "values": (
        Values(GAUSSIAN, [0.0, 0.1]),
        {
            "options": {"radii": (0.0, 0.1), "quantile": 0.5},
            "wrong": partial(outside_the_interval, [0.0, 0.1]),
            "returned": lambda counts: np.repeat([[0.0], [1.0], [2.0]], counts, axis=0),
        },
    ),
    "maps": (
        Maps(GAUSSIAN, 0.6),
        {
            "options": {"tau": 0.6},
            "model": two_classes,
            "kinds": 4,
            "wrong": partial(wrong_position, 0.6),
            "returned": positions,
        },
    ),
}


@pytest.mark.filterwarnings("ignore:10 samples can't show")
@pytest.mark.parametrize("name", ANSWER)
def test_an_answer_holds_what_every_answer_promises(name):
    answer, options = ANSWER[name]
    check_answer(answer, **options)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_holds_what_every_bound_promises(name):
    check_bound(BOUNDS[name])


def test_every_entry_has_its_line():
    def named(lines):
        return {name.partition(",")[0].partition(" ")[0] for name in lines}

    # a decision list's noise has no radius of its own
    assert named(SCHEMES) == {*METHODS, "laplace"} - {"composite"}
    assert named(ANSWER) == set(ANSWERS)
