"""Lipschitz sigma networks ([B]): sigma(x) with a proven constant and a floor.

Three certificates, each at least the one before: "paper" ([B] Theorem 3, one global
constant), "integrated" (the same differential inequality integrated with the local
sigma and score) and "exact" (the two-point certificate of the envelope, tight over all
classifiers). Every function raises ValueError for an argument outside its domain and
for shapes that do not broadcast.

References
----------
.. [B] Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.
"""

from rsbounds.lipschitz._base import base_radius
from rsbounds.lipschitz._radius import radius
from rsbounds.lipschitz._ratio import (
    constant,
    normalize_scores,
    p_min_search,
    ratio,
)

__all__ = [
    "base_radius",
    "constant",
    "normalize_scores",
    "p_min_search",
    "radius",
    "ratio",
]


def __dir__() -> list[str]:
    return sorted(__all__)
