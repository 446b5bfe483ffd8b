"""Fixed Gaussian noise at the several levels of a decision list."""

from rsbounds._numerics.answered import By
from rsbounds._numerics.parameters import Parameter, Type
from rsbounds.certificate import COMPOSITE
from rsbounds.schemes._scheme import Scheme

__all__ = ["Composite"]


class Composite(Scheme):
    """The noise of a decision list; its parameters hold the ``rule`` as a dictionary.

    It has no radius of its own: that follows from the counts of all levels, see
    :class:`rsbounds.answers.DecisionList`.
    """

    name = "composite"
    follows_input = False
    scope = COMPOSITE
    made_by = "the Rule"
    help = "a decision list over several fixed noise levels"
    declared = (
        Parameter(
            "rule",
            "the decision list",
            answered_by=By.RERUN,
            parts=(
                *("format", "sigmas", "items.kind", "items.stage"),
                *("items.threshold", "items.classes"),
            ),
            type=Type.OBJECT,
        ),
    )
