"""What certification refuses of inputs and of schemes that others wrote."""

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds import certify_dataset
from rsbounds.certify import Procedure, certify, certify_counts, certify_radius, predict
from rsbounds.composite import Cond, Rule
from rsbounds.composite import certify as certify_list
from rsbounds.sampling import ArraySampler, SoftSampler
from rsbounds.schemes import Scheme, gaussian
from rsbounds.torch import Smooth, TorchSampler

WEIGHTS = np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32)
ARRAYS = ArraySampler(lambda batch: batch @ WEIGHTS.T)
X = np.array([0.5, 0.0])


def module():
    model = nn.Linear(2, 2, bias=False)
    model.weight.data.copy_(torch.from_numpy(WEIGHTS))
    return model


def soft(batch):
    p = np.clip(0.5 + batch[:, 0], 0, 1)
    return np.stack([p, 1 - p], axis=1)


RULE = Rule([1.0, 0.5], [[Cond("score", 0, 1.0)], [Cond("margin", 1)]])
WAYS = {
    "certify": lambda x: certify(ARRAYS, x, gaussian(0.5), n=100),
    "scores": lambda x: certify(
        SoftSampler(soft), x, gaussian(0.5), n=100, bound="betting"
    ),
    "certify_radius": lambda x: certify_radius(
        ARRAYS, x, gaussian(0.5), Procedure(target_radius=0.1)
    ),
    "predict": lambda x: predict(ARRAYS, x, gaussian(0.5), Procedure(n=100)),
    "torch": lambda x: certify(TorchSampler(module()), x, gaussian(0.5), n=100),
    "Smooth": lambda x: Smooth(module(), 2, 0.5).certify(
        torch.as_tensor(x), 10, 100, 0.01, 10
    ),
    "composite": lambda x: certify_list(ARRAYS, x, RULE, Procedure(n=100)),
}
BAD = {
    "infinite": (np.array([np.inf, 0.0]), "x must be in"),
    "NaN": (np.array([0.0, np.nan], np.float32), "x must be in"),
    "beyond float32": (np.array([1e300, 0.0]), r"x must be in .*first 1e\+300"),
    "pixels": (np.array([200, 0], np.uint8), "x must be floating"),
    "whole": (np.array([1, 0]), "x must be floating"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("way", WAYS)
def test_inputs_that_no_noise_can_be_added_to_are_refused(way, kind):
    x, said = BAD[kind]
    with pytest.raises(ValueError, match=said):
        WAYS[way](x)


@pytest.mark.parametrize("way", WAYS)
def test_floats_of_any_width_are_certified(way):
    for kind in (np.float16, np.float32, np.float64):
        WAYS[way](X.astype(kind))


class Mine(Scheme):
    name, scope = "mine", "fixed noise"

    def __init__(self, sigma, radius):
        super().__init__({})
        self.level, self.reach = sigma, radius

    def sigma(self, x):
        return self.level

    def radius(self, z_a, sigma, z_b=None):
        return self.reach


def mine(radius, sigma=0.5):
    return Mine(sigma, radius)


@pytest.mark.parametrize("radius", [-9.0, np.nan, -np.inf, [1.0, 2.0], "far", None])
def test_a_radius_that_is_none_is_refused(radius):
    said = "the radius of the scheme 'mine' must be"
    with pytest.raises(ValueError, match=said):
        certify(ARRAYS, X, mine(radius), n=100)
    with pytest.raises(ValueError, match=said):
        certify_counts(
            mine(radius), 0.5, [10, 0], [100, 0], Procedure(n0=10, n=100, alpha=0.01)
        )
    with pytest.raises(ValueError, match=said):
        certify(SoftSampler(soft), X, mine(radius), n=1000, bound="betting")
    with pytest.raises(ValueError, match=said):
        certify_radius(ARRAYS, X, mine(radius), Procedure(target_radius=0.1))


def test_a_radius_of_zero_or_of_one_element_is_one():
    with pytest.warns(UserWarning, match="mine needs a stronger"):
        assert certify(ARRAYS, X, mine(0.0), n=100).radius == 0.0
    assert certify(ARRAYS, X, mine(np.array([0.25])), n=100).radius == 0.25
    assert certify(ARRAYS, X, mine(np.inf), n=100).radius == np.inf


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf, [0.5, 0.5]])
def test_a_level_that_is_none_is_refused(sigma):
    sampler = lambda x, sigma, n, generator: np.array([n, 0])  # noqa: E731
    said = r"sigma\(x\) of the scheme 'mine' must be"
    with pytest.raises(ValueError, match=said):
        certify(sampler, X, mine(1.0, sigma), n=100)
    with pytest.raises(ValueError, match=said):
        predict(sampler, X, mine(1.0, sigma), Procedure(n=100))
    with pytest.raises(ValueError, match=said):
        certify_radius(sampler, X, mine(1.0, sigma), Procedure(target_radius=0.1))


def test_the_level_of_smooth_is_what_is_drawn_and_certified():
    """sigma could be set, and read back, without any effect."""
    x = torch.tensor([0.1, 0.0])
    smooth = Smooth(module(), 2, 0.5)
    smooth.certify(x, 10, 100, 0.01, 10)
    smooth.sigma = 0.25
    found = smooth.certificate(x, 100, 1000, 0.01, 100)
    fresh = Smooth(module(), 2, 0.25)
    fresh.certify(x, 10, 100, 0.01, 10)
    again = fresh.certificate(x, 100, 1000, 0.01, 100)
    assert found == again
    assert (smooth.sigma, found.sigma, smooth.scheme.parameters) == (
        0.25,
        0.25,
        {"sigma": 0.25},
    )
    with pytest.raises(ValueError, match="sigma must be"):
        smooth.sigma = -1.0
    assert smooth.sigma == 0.25
    with pytest.raises(AttributeError):
        smooth.scheme = gaussian(1.0)


def test_soft_scores_are_certified_over_a_data_set():
    """Its probe took histograms for counts."""
    inputs = np.array([X, -X], np.float32)
    run = certify_dataset(
        SoftSampler(soft), (inputs, [0, 1]), gaussian(0.5), n=1000, bound="betting"
    )
    assert len(run.rows) == 2
    one = certify(SoftSampler(soft), inputs[0], gaussian(0.5), n=1000, bound="betting")
    assert (run.rows[0].predict, run.rows[0].radius) == (one.predict, one.radius)
