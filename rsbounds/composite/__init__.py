"""Certificates of several smoothed classifiers together.

`rule`: decision lists; `geometry`: their radius from exact probabilities; `planning`:
what the selection samples choose; `estimate` and `sampled`: from counts or samples,
with its level; `fitting`: for a model; `measure`: against the best level at each
radius. All raise ValueError for an argument outside its domain, and
for shapes, counts, stages, classes or samplers that do not fit the rule or each other.
"""

from rsbounds.composite.estimate import certify_counts
from rsbounds.composite.fitting import fit
from rsbounds.composite.geometry import classify, radius, route_radius
from rsbounds.composite.rule import Cond, Rule
from rsbounds.composite.sampled import certify

__all__ = [
    "Cond",
    "Rule",
    "certify",
    "certify_counts",
    "classify",
    "fit",
    "radius",
    "route_radius",
]


def __dir__() -> list[str]:
    return sorted(__all__)
