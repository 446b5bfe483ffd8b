"""What other rooms of the package take of this one besides its public names."""

from rsbounds.answers._flag_rows import FLAGGED, alarm_labels
from rsbounds.answers._list import Stages, read_list, stage_counts
from rsbounds.answers._map_rows import certified_labels
from rsbounds.answers._maps import read_truth
from rsbounds.answers._sets import SetRule
from rsbounds.answers._topk_plan import TopKChoice, TopKPlan, plan
from rsbounds.answers._values import BOUND, quantile_ends
from rsbounds.answers._votes import Recorded, require_drawn, void_votes

__all__ = [
    "BOUND",
    "FLAGGED",
    "Recorded",
    "SetRule",
    "Stages",
    "TopKChoice",
    "TopKPlan",
    "alarm_labels",
    "certified_labels",
    "plan",
    "quantile_ends",
    "read_list",
    "read_truth",
    "require_drawn",
    "stage_counts",
    "void_votes",
]
