"""Certificates of several smoothed classifiers together.

`rule`: decision lists; `geometry`: their radius from exact probabilities; `planning`,
`components`, `estimate`: from counts, with its level; `procedure`: from samples; `fitting`: a
list for a model; `potential`: other rules over the same coordinates.
"""

from rsbounds.composite.estimate import CompositeCertificate, certify_counts
from rsbounds.composite.fitting import Fit, fit
from rsbounds.composite.geometry import classify, radius
from rsbounds.composite.planning import Plan, plan
from rsbounds.composite.potential import filtered_radius, potential_radius, route_radius
from rsbounds.composite.procedure import certify, predict
from rsbounds.composite.rule import Cond, Rule

__all__ = [
    "CompositeCertificate",
    "Cond",
    "Fit",
    "Plan",
    "Rule",
    "certify",
    "certify_counts",
    "classify",
    "filtered_radius",
    "fit",
    "plan",
    "potential_radius",
    "predict",
    "radius",
    "route_radius",
]
