"""A confidence given for a probability of error is told of once, where it is given."""

import warnings

import numpy as np
import pytest

from rsbounds import (
    answers,
    certify,
    composite,
    confidence,
    gaussian,
    sampling,
    schemes,
)
from rsbounds.composite import Cond, Rule
from rsbounds.procedure import Procedure

NOISE = schemes.gaussian(0.5)
RULE = Rule([1.0], [[Cond("margin", 0)]])


def of_two(batch):
    return np.stack([batch[:, 0], -batch[:, 0]], axis=1)


def procedure(alpha):
    return Procedure(n0=10, n=100, alpha=alpha)


def sampler():
    return sampling.ArraySampler(of_two)


CALLS = {
    "lower_bound": lambda alpha: confidence.lower_bound(90, 100, alpha),
    "interval": lambda alpha: confidence.interval(90, 100, alpha),
    "max_radius": lambda alpha: gaussian.max_radius(100, alpha, 1.0),
    "certify": lambda alpha: certify.certify(
        sampler(), [0.5], NOISE, n0=10, n=100, alpha=alpha
    ),
    "certify_counts": lambda alpha: certify.certify_counts(
        NOISE, 0.5, [10, 0], [90, 10], procedure(alpha)
    ),
    "certify_map": lambda alpha: answers.certify_map(
        [[10, 0]], [[90, 10]], 0.75, n=100, alpha=alpha, scheme=NOISE
    ),
    "value_interval": lambda alpha: answers.value_interval(
        np.arange(1000.0), 0.1, alpha=alpha, scheme=NOISE
    ),
    "top_k_radius": lambda alpha: answers.top_k_radius(
        [8, 1, 1], [90, 5, 5], 0, 1, n0=10, n=100, alpha=alpha, scheme=NOISE
    ),
    "conformalize": lambda alpha: answers.conformalize(
        np.linspace(0, 1, 100), alpha, 0.0, NOISE
    ),
    "composite.certify": lambda alpha: composite.certify(
        sampler(), np.array([0.5]), RULE, procedure(alpha)
    ),
    "composite.certify_counts": lambda alpha: composite.certify_counts(
        RULE, [[9, 1]], [[90, 10]], procedure(alpha)
    ),
    "composite.fit": lambda alpha: composite.fit(
        [[[90, 10], [80, 20]]] * 3, [0] * 3, [0.5, 1.0], alpha=alpha
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_confidence_given_for_alpha_is_told_of_once_at_the_call(name):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CALLS[name](0.95)
    told = [each for each in told if "probability of an error" in str(each.message)]
    assert [each.filename for each in told] == [__file__]


@pytest.mark.parametrize("name", CALLS)
def test_a_probability_of_error_is_not_told_of(name):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CALLS[name](0.05)
    assert not [each for each in told if "probability of an error" in str(each.message)]
