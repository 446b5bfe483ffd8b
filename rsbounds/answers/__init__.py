"""What a smoothed model can answer: class, list, best k classes, values, maps, flags.

An answer is a question about a model under noise: what it draws, and what the samples
say. ``ANSWERS`` holds those that write result rows, a file each; sets stand beside
them. Arguments out of their domain raise ValueError.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.registry import Registry
from rsbounds.answers._answer import Answer, Answered, Summary
from rsbounds.answers._class import TopClass, certify_counts
from rsbounds.answers._flag import Flag
from rsbounds.answers._flag_calibration import conformal_threshold
from rsbounds.answers._list import DecisionList
from rsbounds.answers._map_labels import certify_map
from rsbounds.answers._maps import Maps
from rsbounds.answers._sets import conformal_level, conformalize, predict_set, set_rule
from rsbounds.answers._topk import TopK, top_k_radius
from rsbounds.answers._values import Values, value_interval
from rsbounds.answers._votes import Votes, class_counts
from rsbounds.certificate import ANOTHERS, WATCHED, asserts_noise, with_asserted_noise
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.sampling import Sampler
from rsbounds.sampling.internal import is_watched
from rsbounds.sampling.known import draws_known_noise
from rsbounds.schemes import Gaussian, Scheme

__all__ = [
    "ANSWERS",
    "Answer",
    "Answered",
    "DecisionList",
    "Flag",
    "Maps",
    "Summary",
    "TopClass",
    "TopK",
    "Values",
    "Votes",
    "certify_counts",
    "certify_map",
    "class_counts",
    "conformal_level",
    "conformal_threshold",
    "conformalize",
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
    "rsbounds.answers", (TopClass, DecisionList, TopK, Values, Maps, Flag), _admit
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


def scope_of(answer: Answer, bound: str, samplers: Sequence[Sampler] = ()) -> str:
    """For which classifier its certificates hold, as rows state it.

    That is the scheme's scope where this package stands for answer, scheme and bound.
    It says so where a sampler is not this package's.
    """
    ours = (
        ANSWERS.is_own(answer.name)
        and type(answer) is ANSWERS[answer.name]
        and BOUNDS.is_own(bound)
        and _is_as_its_class(answer)
        and _is_as_its_class(answer.scheme)
    )
    scope = answer.scheme.scope if ours else ANOTHERS
    if any(map(is_watched, samplers)):
        _require_composing(answer.scheme)
        scope = WATCHED if ours else ANOTHERS
    drawn = answer.scheme.drawn
    known = all(draws_known_noise(sampler, drawn) for sampler in samplers)
    # of samples that were drawn before, the scheme says what their file does
    if known and not asserts_noise(answer.scheme.scope):
        return scope
    return with_asserted_noise(scope)


def _require_composing(scheme: Scheme) -> None:
    """ValueError for noise of whose steps nothing is proved together."""
    if not (isinstance(scheme, Gaussian) and scheme.norm == 2):
        raise ArgumentError(
            "scheme",
            "must be gaussian in l2 for episodes, whose steps compose: of other noise "
            f"an attacker who watches may do more than is proved; got {scheme!r}",
        )


def _is_as_its_class(entry: Answer | Scheme) -> bool:
    """Whether no function of the object's own stands in place of a method."""
    return not any(callable(getattr(type(entry), name, None)) for name in vars(entry))


def __dir__() -> list[str]:
    return sorted(__all__)
