"""Smoothing schemes as values: what they hold, and what a worker process gets of it."""

from functools import partial

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes, semielastic
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import (
    ASSERTED_ENVELOPE,
    PROVEN,
    PROVEN_ENVELOPE,
)
from rsbounds.noises.internal import NormalNoise
from rsbounds.sampling import as_sampler
from rsbounds.sampling.adapters import output_sampler
from rsbounds.schemes.internal import rounding_of_levels

ANCHORS = np.random.default_rng(0).standard_normal((30, 4))


def level(base, x):
    return base + 0.1 * abs(float(x[0]))


SCHEMES = {
    "gaussian": lambda: schemes.gaussian(0.5),
    "semi-elastic": lambda: schemes.semielastic(
        semielastic.KNNSigma(ANCHORS, 0.5, 0.1, 5, "mean"), 4
    ),
    "lipschitz": lambda: schemes.lipschitz(partial(level, 0.3), 0.1, 0.3, 4),
}


LEVEL = partial(level, 0.3)


@pytest.mark.parametrize(
    "stated",
    [
        lambda **how: schemes.lipschitz(LEVEL, 0.0, 0.3, 4, **how),  # false: it is 0.1
        lambda **how: schemes.lipschitz(LEVEL, 0.0, 0.3, 4, rounding=1e-13, **how),
        lambda **how: schemes.sigma_range(LEVEL, 0.3, 0.4, 4, **how),
    ],
)
def test_bounds_that_are_stated_are_asserted(stated):
    assert stated().scope == ASSERTED_ENVELOPE
    assert stated(proven=False).scope == ASSERTED_ENVELOPE
    assert stated(proven=True).scope == PROVEN_ENVELOPE
    with pytest.raises(ValueError, match=r"proven.*True"):
        stated(proven="no")


@pytest.mark.parametrize("name", sorted(schemes.METHODS))
def test_no_method_gives_a_proof_away(name):
    """A scheme made of a method and parameters rests on what these say, and no more."""
    method = schemes.METHODS[name]
    assert method({}, level=LEVEL).scope not in PROVEN
    assert method({}, level=LEVEL, proven=True).scope == method.scope


def test_the_rate_of_a_subclass_is_asserted():
    class Faster(semielastic.KNNSigma):
        def sigma(self, x):
            return super().sigma(x) ** 9

    def overridden():
        knn = semielastic.KNNSigma(ANCHORS, 0.5, 0.1, 5, "mean")
        knn.distance = lambda x: 100 * np.linalg.norm(x, axis=-1)
        return knn

    class Stand:
        rate, sigma = 0.0, staticmethod(lambda x: 0.3 + np.abs(x[..., 0]))

    for knn in (Faster(ANCHORS, 0.5, 0.1, 5, "mean"), overridden(), Stand()):
        assert schemes.semielastic(knn, 4).scope == ASSERTED_ENVELOPE
    proven = semielastic.KNNSigma(ANCHORS, 0.5, 0.1, 5, "mean")
    assert schemes.semielastic(proven, 4).scope == PROVEN_ENVELOPE


def test_a_rate_that_is_set_later_is_not_the_one_certified():
    knn = semielastic.KNNSigma(ANCHORS, 0.5, 0.1, 5, "mean")
    scheme, x = schemes.semielastic(knn, 4), np.ones(4)
    before = scheme.sigma(x)
    knn.rate = 3.0
    assert scheme.sigma(x) == before
    assert scheme.parameters["rate"] == 0.1


def test_parameters_are_those_of_the_radius():
    assert schemes.gaussian(0.5).parameters == {"sigma": 0.5}
    assert SCHEMES["semi-elastic"]().parameters == {"rate": 0.1, "dim": 4}
    assert SCHEMES["lipschitz"]().parameters == {"lip": 0.1, "sigma_min": 0.3, "dim": 4}
    for method in ("semi-elastic", "lipschitz"):
        with pytest.raises(ValueError, match=r"dim must.*9"):
            SCHEMES[method]().sigma(np.zeros((3, 3)))


def test_a_scheme_with_noise_of_its_own_is_sampled_by_it():
    """certify_dataset given a model draws what the scheme does; a sampler stays."""

    class Far(NormalNoise):
        def noisy(self, x, sigma, size, bits):
            return super().noisy(x, sigma, size, bits) - 100

    class Own(schemes.Gaussian):
        @property
        def drawn(self):
            return Far()

    def model(batch):
        return np.stack([-batch[:, 0], batch[:, 0]], axis=1)

    own = Own({"sigma": 0.5})
    data = np.full((2, 3), 9, np.float32), np.zeros(2, int)
    assert [r.count for r in certify_dataset(model, data, own, n=100).rows] == [
        100,
        100,
    ]
    ready = lambda x, sigma, n, generator: np.array([0, n])  # noqa: E731
    assert [r.predict for r in certify_dataset(ready, data, own, n=100).rows] == [1, 1]


def test_a_law_that_a_scheme_does_not_draw_needs_a_sampler():
    class Named(schemes.Gaussian):
        law = "of another program"

    def model(batch):
        return np.stack([batch[:, 0], -batch[:, 0]], axis=1)

    named = Named({"sigma": 0.5})
    for made in (as_sampler, lambda m, s: output_sampler(m, "values", s)):
        with pytest.raises(ArgumentError, match=r"model must be a sampler.*program"):
            made(model, named)
    stated = schemes.anisotropic([0.5, 1.0]).parameters
    restored = schemes.Anisotropic.from_parameters(stated, level=lambda x: 0.7)
    with pytest.raises(ArgumentError, match="model must be a sampler"):
        as_sampler(model, restored)
    with pytest.raises(ArgumentError, match="scheme must be a scheme"):
        as_sampler(model, NormalNoise())


def test_a_rate_that_costs_most_of_the_radius_is_warned_of():
    class Given:
        dim = 784
        sound = False

        def inputs(self, path):
            return np.zeros((3, 784)), "digest"

    def made(rate):
        options = {"anchors": None, "sigma": 0.5, "rate": rate, "k": 1, "shift": 0.0}
        return schemes.METHODS["semi-elastic"].from_options(options, Given())

    # sqrt(2 * 784) .2 * .5 = 3.96, and 1 / sqrt(1 + 3.96^2) = .245
    with pytest.warns(RuntimeWarning, match=r"3\.96.*0\.24"):
        made(0.2)
    made(0.05)  # .99: warnings are errors here


@pytest.mark.parametrize("rounding", [-1e-9, 0.26, np.nan])
def test_levels_are_computed_to_a_quarter_of_the_least(rounding):
    with pytest.raises(ValueError, match="rounding"):
        rounding_of_levels(rounding, 1.0)


def test_a_matrix_of_levels_that_could_be_a_covariance_is_named():
    with pytest.warns(RuntimeWarning, match=r"shape \(2, 2\).*look like a covariance"):
        schemes.anisotropic([[1.0, 0.5], [0.5, 2.0]])
    for levels in (np.full((3, 3), 0.5), [[1.0, 2.0], [2.0, 1.0]], np.ones((2, 3))):
        schemes.anisotropic(levels)  # levels of a picture
