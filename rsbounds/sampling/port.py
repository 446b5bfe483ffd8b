"""The port between certification and a classifier."""

from typing import Any, Protocol

import numpy as np


class Sampler(Protocol):
    """Classifies noisy copies of one input and counts the classes.

    Called as ``sampler(x, sigma, n, generator)``; returns, for each class, how many of n
    samples of x + sigma N(0, I) the classifier put there, as anything ``numpy.asarray``
    turns into whole numbers (on demand: a device may still be at work). All randomness
    comes from ``generator``. A sample whose scores hold a NaN counts for no class. A sampler of
    another noise than that says so in an attribute ``law``, the same as its scheme's.
    """

    def __call__(self, x: Any, sigma: float, n: int, generator: np.random.Generator) -> Any: ...


def require_law(sampler: Sampler, law: str) -> None:
    """ValueError unless the sampler draws noise of that law; "" is sigma N(0, I)."""
    if getattr(sampler, "law", "") != law:
        raise ValueError(
            "the sampler must draw the noise that the radius is for: noise with a mean or a level "
            "of its own on every axis gives both, as noise.sampler(model) and noise.scheme()"
        )
