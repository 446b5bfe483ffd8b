"""What other rooms of the package take of this one besides its public names."""

from rsbounds.composite.estimate import (
    CompositeCertificate,
    certify_drawn,
    checked_stage,
)
from rsbounds.composite.fitting import Fit
from rsbounds.composite.measure import worst_ratio
from rsbounds.composite.planning import Plan, plan

__all__ = [
    "CompositeCertificate",
    "Fit",
    "Plan",
    "certify_drawn",
    "checked_stage",
    "plan",
    "worst_ratio",
]
