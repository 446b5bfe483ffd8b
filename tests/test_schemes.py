"""Smoothing schemes as values: what they hold, and what a worker process gets of it."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

from rsbounds import schemes, semielastic

ANCHORS = np.random.default_rng(0).standard_normal((30, 4))


def level(base: float, x: np.ndarray) -> float:
    return base + 0.1 * abs(float(x[0]))


SCHEMES = {
    "gaussian": lambda: schemes.gaussian(0.5),
    "semi-elastic": lambda: schemes.semielastic(
        semielastic.KNNSigma(ANCHORS, 0.5, 0.1, 5, "mean"), 4
    ),
    "lipschitz": lambda: schemes.lipschitz(partial(level, 0.3), 0.1, 0.3, 4),
}


@pytest.mark.parametrize("method", SCHEMES)
def test_schemes_survive_pickling(method):
    scheme = SCHEMES[method]()
    copy = pickle.loads(pickle.dumps(scheme))
    x = np.array([0.4, -0.1, 0.2, 0.0])
    assert (copy.method, copy.scope) == (method, scheme.scope)
    assert copy.parameters == scheme.parameters
    sigma = scheme.sigma(x)
    assert copy.sigma(x) == sigma
    assert copy.radius(2.0, sigma) == scheme.radius(2.0, sigma) > 0


def test_parameters_are_those_of_the_radius():
    assert schemes.gaussian(0.5).parameters == {"sigma": 0.5}
    assert SCHEMES["semi-elastic"]().parameters == {"rate": 0.1, "dim": 4}
    assert SCHEMES["lipschitz"]().parameters == {"lip": 0.1, "sigma_min": 0.3, "dim": 4}
    for method in ("semi-elastic", "lipschitz"):
        with pytest.raises(ValueError, match="dim must be at least the size of the input, 9"):
            SCHEMES[method]().sigma(np.zeros((3, 3)))


def test_every_method_that_writes_rows_can_be_verified():
    from rsbounds import confidence
    from rsbounds.certificate import SCOPES
    from rsbounds.cli.certify import COUNTED
    from rsbounds.oracle import certificates

    assert set(schemes.METHODS) == set(certificates.METHODS)
    assert set(COUNTED) == set(certificates.BOUNDS) <= set(confidence.BOUNDS)
    assert {method.scope for method in schemes.METHODS.values()} <= set(SCOPES)


def test_a_method_is_found_by_name_alone():
    assert schemes.find("range") is schemes.METHODS["range"]
    with pytest.raises(ValueError, match="'gausian' is unknown; did you mean gaussian"):
        schemes.find("gausian")


def test_a_scheme_with_noise_of_its_own_is_sampled_by_it():
    """certify_dataset given a bare model asks the scheme; a sampler stays what it is."""
    from rsbounds import certify_dataset

    asked = []

    def sampler(model, **options):
        asked.append(model)
        return lambda x, sigma, n, generator: np.array([n, 0])

    def model(batch):
        raise AssertionError("it is the scheme's sampler that is called")

    fixed = schemes.gaussian(0.5)
    own = schemes.Scheme("gaussian", fixed.scope, fixed.sigma, fixed.radius, sampler=sampler)
    data = np.zeros((2, 3), np.float32), np.zeros(2, int)
    assert [r.count for r in certify_dataset(model, data, own, n=100).rows] == [100, 100]
    assert asked == [model]
    ready = lambda x, sigma, n, generator: np.array([0, n])  # noqa: E731
    assert [r.predict for r in certify_dataset(ready, data, own, n=100).rows] == [1, 1]
    assert len(asked) == 1


def test_an_input_larger_than_the_dimension_of_its_radius_is_refused():
    scheme = schemes.gaussian(0.5, norm=float("inf"), dim=4)
    assert scheme.sigma(np.zeros((2, 2))) == 0.5
    with pytest.raises(ValueError, match=r"dim must be at least the size of the input, 6; got 4"):
        scheme.sigma(np.zeros((2, 3)))
