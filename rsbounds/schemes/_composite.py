"""Decision lists over several noise levels: radii follow from the counts of all their
stages.
"""

from pathlib import Path

from rsbounds.certificate import COMPOSITE
from rsbounds.schemes._options import Option
from rsbounds.schemes._scheme import Scheme

__all__ = ["Composite"]


class Composite(Scheme):
    """The name and scope of decision lists; a :class:`rsbounds.composite.Rule`
    certifies.
    """

    name = "composite"
    scope = COMPOSITE
    sound = True
    made_by = "the Rule"
    help = "a decision list over several fixed noise levels"
    options = (Option("--rule", "the decision list", Path, metavar="RULE.json"),)
