"""From counts and scores to bounds on probabilities, rounded outward.

`counts`: Clopper-Pearson; `exact`: all outcomes evaluated;
`soft`: scores in [0, 1], by their `histogram`; `sequential`: tests and bounds that hold
at all sample sizes at once;
`distribution`: a certificate from the distribution of a score; `bound` and `bounds`:
top class and runner-up together, by name. Arguments outside their domain and shapes
that do not broadcast raise ValueError.
"""

from rsbounds.confidence.bound import Bound, End
from rsbounds.confidence.bounds import BOUNDS, pair_bounds
from rsbounds.confidence.counts import interval, lower_bound, upper_bound
from rsbounds.confidence.distribution import CDFCertificate
from rsbounds.confidence.histogram import ScoreHistogram
from rsbounds.confidence.sequential import (
    SequentialTest,
    anytime_lower_bound,
    anytime_upper_bound,
)
from rsbounds.confidence.soft import soft_lower_bound, soft_upper_bound

__all__ = [
    "BOUNDS",
    "Bound",
    "CDFCertificate",
    "End",
    "ScoreHistogram",
    "SequentialTest",
    "anytime_lower_bound",
    "anytime_upper_bound",
    "interval",
    "lower_bound",
    "pair_bounds",
    "soft_lower_bound",
    "soft_upper_bound",
    "upper_bound",
]


def __dir__() -> list[str]:
    return sorted(__all__)
