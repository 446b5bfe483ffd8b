"""Numbers of a narrow type, tiny levels and contradicting levels in answers."""

import numpy as np
import pytest

from rsbounds.answers import (
    certify_map,
    conformal_level,
    conformalize,
    set_rule,
    top_k_radius,
    value_interval,
)
from rsbounds.schemes import gaussian, sigma_range

SCHEME = gaussian(0.5)
SAMPLES = np.random.default_rng(0).normal(size=500)
SCORES = np.random.default_rng(1).random((300, 20))
MAPS = {"n": 100, "scheme": SCHEME}
CALLS = {
    "value_interval": lambda alpha, radius, p: value_interval(
        SAMPLES, radius, p=p, alpha=alpha, scheme=SCHEME
    ),
    "certify_map": lambda alpha, radius, p: certify_map(
        [[9, 1]], [[99, 1]], p, alpha=alpha, **MAPS
    ),
    "conformal_level": lambda alpha, radius, p: conformal_level(alpha, radius, SCHEME),
    "set_rule": lambda alpha, radius, p: set_rule(20, alpha, radius, SCHEME),
    "conformalize": lambda alpha, radius, p: conformalize(
        SCORES, alpha, radius, SCHEME
    ),
    "top_k_radius": lambda alpha, radius, p: top_k_radius(
        [60, 30, 10], [600, 300, 100], 0, 2, n0=100, n=1000, alpha=alpha, scheme=SCHEME
    ),
}


def test_arrays_of_numbers_are_refused_by_name():
    for change in ({"alpha": [0.1, 0.2]}, {"radius": [0.1, 0.2]}, {"p": [0.5, 0.6]}):
        numbers = {"alpha": 0.1, "radius": 0.1, "p": 0.5} | change
        with pytest.raises(ValueError, match=f"{next(iter(change))} must be one"):
            CALLS["value_interval"](**numbers)


def test_too_few_inputs_for_a_radius_make_an_infinite_threshold():
    with pytest.warns(RuntimeWarning, match="takes more than 1e15"):
        assert conformalize(np.arange(100.0), 0.1, 36.5, gaussian(1.0)) == np.inf


def test_a_level_that_contradicts_the_scheme_is_refused():
    """certify_map at sigma=50 of a scheme of .5 gave a radius of 33.7."""
    with pytest.raises(ValueError, match=r"sigma.*scheme"):
        certify_map([[9, 1]], [[99, 1]], 0.75, alpha=0.1, sigma=50.0, **MAPS)


def test_noise_that_follows_the_input_is_refused_for_every_k():
    moving = sigma_range(lambda x: 0.5, 0.4, 0.6, 5)
    counts = {"n0": 100, "n": 1000, "alpha": 0.01, "scheme": moving, "sigma": 0.5}
    with pytest.raises(ValueError, match="the same at every input"):
        top_k_radius([60, 40], [600, 400], 0, 1, **counts)
    with pytest.raises(ValueError, match="the same at every input"):
        certify_map([[9, 1]], [[99, 1]], 0.75, n=100, alpha=0.1, scheme=moving, sigma=1)
