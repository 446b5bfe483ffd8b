"""Fixed Gaussian noise at the several levels of a decision list."""

from rsbounds.certificate import COMPOSITE
from rsbounds.schemes._scheme import Scheme

__all__ = ["Composite"]


class Composite(Scheme):
    """The noise of a decision list; its parameters hold the ``rule`` as a dictionary.

    It has no radius of its own: that follows from the counts of all levels, see
    :class:`rsbounds.answers.DecisionList`.
    """

    name = "composite"
    scope = COMPOSITE
    sound = True  # the levels are the same numbers at every input
    made_by = "the Rule"
    help = "a decision list over several fixed noise levels"
