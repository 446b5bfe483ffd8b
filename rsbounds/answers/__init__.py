"""What else a smoothed model can answer: the best k classes, values, maps, sets.

Each answer carries the probability of an event over a distance
(:meth:`rsbounds.schemes.Scheme.transport`) and bounds that probability by samples.
Arguments out of their domain raise ValueError, and so does noise that is not the same
at every input.
"""

from rsbounds.answers._datasets import (
    certify_maps,
    certify_values,
    intervals,
    map_summary,
)
from rsbounds.answers._datasets import report as report
from rsbounds.answers._maps import certify_map
from rsbounds.answers._questions import TopK
from rsbounds.answers._sets import (
    SetRule,
    conformal_level,
    conformalize,
    predict_set,
    set_rule,
)
from rsbounds.answers._topk import top_k_radius
from rsbounds.answers._values import value_interval

__all__ = [
    "SetRule",
    "TopK",
    "certify_map",
    "certify_maps",
    "certify_values",
    "conformal_level",
    "conformalize",
    "intervals",
    "map_summary",
    "predict_set",
    "set_rule",
    "top_k_radius",
    "value_interval",
]
