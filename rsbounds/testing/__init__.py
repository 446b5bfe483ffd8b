"""Suites that hold every entry of a list to its promises.

The lists are those of schemes, answers, bounds and transformations.

Give an entry of yours, or of this package, to the check of its kind: it raises
AssertionError that names the entry, the property that fails, and the numbers. A test of
a scheme is one line::

    def test_my_scheme():
        check_scheme(my_scheme(0.5))

Each property is a function whose first line states it. Radii are compared with exact
classifiers in mpmath, levels with all outcomes of a few samples, rows with
``rsbounds.audit`` (extra: verify). :func:`check_extremes` needs hypothesis too.
"""

from rsbounds.testing._answer import check_answer, claims_too_much
from rsbounds.testing._bound import check_bound
from rsbounds.testing._extremes import check_extremes, extreme_schemes
from rsbounds.testing._scheme import check_scheme
from rsbounds.testing._transform import check_transform

__all__ = [
    "check_answer",
    "check_bound",
    "check_extremes",
    "check_scheme",
    "check_transform",
    "claims_too_much",
    "extreme_schemes",
]


def __dir__() -> list[str]:
    return sorted(__all__)
