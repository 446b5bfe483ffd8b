"""Is this result file true? Every bound and radius proved, everything else compared.

Bounds and radii are proved in ball arithmetic (python-flint), where every number is a
ball that holds the true one; nothing that a radius rests on is taken from the code that
wrote a row. That code proposes: kernels where to look, planners which sums or items a
row is about (of the selection samples alone, so that the level holds whatever they
propose), and what columns should repeat. The balls decide.
"""

from rsbounds.audit._card import check_card
from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.audit._verify import verify

__all__ = [
    "Audit",
    "Finding",
    "Kind",
    "check_card",
    "verify",
]


def __dir__() -> list[str]:
    return sorted(__all__)
