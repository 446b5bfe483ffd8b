"""What a smoothed model can answer: a class, a list, the best k classes, values, maps.

An answer is a question about a model under noise: what it draws, and what the samples
say. ``ANSWERS`` holds those that write result rows, a file each; sets stand beside
them. Arguments out of their domain raise ValueError.
"""

from collections.abc import Mapping
from typing import Any

from rsbounds._numerics.registry import Registry
from rsbounds.answers._answer import Answer, Answered, Summary
from rsbounds.answers._class import TopClass, certify_counts
from rsbounds.answers._list import DecisionList
from rsbounds.answers._list import Stages as Stages
from rsbounds.answers._list import read_list as read_list
from rsbounds.answers._list import stage_counts as stage_counts
from rsbounds.answers._map_rows import map_summary
from rsbounds.answers._maps import Maps, certified_maps, certify_map
from rsbounds.answers._maps import read_truth as read_truth
from rsbounds.answers._sets import (
    SetRule,
    conformal_level,
    conformalize,
    predict_set,
    set_rule,
)
from rsbounds.answers._topk import TopK, top_k_radius
from rsbounds.answers._topk_plan import Choice as Choice
from rsbounds.answers._topk_plan import Plan as Plan
from rsbounds.answers._topk_plan import plan as plan
from rsbounds.answers._values import BOUND as BOUND
from rsbounds.answers._values import Values, intervals, value_interval
from rsbounds.answers._votes import Recorded, Votes, class_counts
from rsbounds.answers._votes import require_drawn as require_drawn
from rsbounds.answers._votes import void_votes as void_votes
from rsbounds.certificate import ANOTHERS
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.schemes import Scheme

__all__ = [
    "ANSWERS",
    "Answer",
    "Answered",
    "DecisionList",
    "Maps",
    "Recorded",
    "SetRule",
    "Summary",
    "TopClass",
    "TopK",
    "Values",
    "Votes",
    "certified_maps",
    "certify_counts",
    "certify_map",
    "class_counts",
    "conformal_level",
    "conformalize",
    "intervals",
    "map_summary",
    "predict_set",
    "set_rule",
    "top_k_radius",
    "value_interval",
]


def _admit(entry: Any) -> None:
    if not (isinstance(entry, type) and issubclass(entry, Answer)):
        raise ValueError(f"an answer must be a subclass of Answer; got {entry!r:.80}")


#: Every answer that writes result rows, by its name in manifests.
ANSWERS: Registry[type[Answer]] = Registry(
    "rsbounds.answers", (TopClass, DecisionList, TopK, Values, Maps), _admit
)


def asked(question: Any) -> Answer:
    """The answer itself; a bare scheme asks for the class, a rule for the list."""
    if isinstance(question, Answer):
        return question
    if isinstance(question, Rule):
        return DecisionList(question)
    return TopClass(question)


def restored(description: Mapping[str, Any], scheme: Scheme) -> Answer:
    """The answer that a manifest describes (:meth:`Answer.describe`), under its scheme.

    ValueError where the description is damaged, LookupError for an unknown name.
    """
    name = str(description.get("name"))
    parameters = {key: value for key, value in description.items() if key != "name"}
    try:
        return ANSWERS[name].from_parameters(parameters, scheme)
    except (KeyError, TypeError) as error:
        if name not in ANSWERS:
            raise
        raise ValueError(f"the answer {name!r} lacks {error}") from None


def scope_of(answer: Answer, bound: str) -> str:
    """For which classifier its certificates hold, as rows state it.

    That is the scheme's scope where this package stands for answer, scheme and bound.
    """
    ours = (
        ANSWERS.is_own(answer.name)
        and type(answer) is ANSWERS[answer.name]
        and BOUNDS.is_own(bound)
    )
    return answer.scheme.scope if ours else ANOTHERS


def __dir__() -> list[str]:
    return sorted(__all__)
