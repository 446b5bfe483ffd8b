"""What no votes can show: too few samples, too weak a noise, too far a target."""

import warnings
from dataclasses import replace
from typing import Any

from rsbounds._numerics.decimals import truncated
from rsbounds.answers import Answer
from rsbounds.certify._stopping import job_of
from rsbounds.procedure import Procedure

#: More samples than these are not looked at.
MOST = 10**9


def hopeless(answer: Answer, x: Any, procedure: Procedure) -> str | None:
    """Say why no votes could certify what is asked for at an input.

    None where some could, or where nobody knows.
    """
    job = job_of(answer, procedure)
    largest = job.largest_radius(x)
    if largest is None:
        return None
    if not largest > 0:
        return _nothing(answer, x, procedure)
    if largest >= job.target:
        return None
    return (
        f"the target radius {job.target} is above the largest that "
        f"n = {procedure.n} samples can show at this input, {truncated(largest, 4)}"
    )


def warn_if_hopeless(
    answer: Answer, x: Any, procedure: Procedure, stacklevel: int
) -> None:
    """Warn where no votes could have been an answer at an input that abstained."""
    reason = hopeless(answer, x, procedure)
    if reason is not None:
        warnings.warn(reason, stacklevel=stacklevel + 1)


def _nothing(answer: Answer, x: Any, procedure: Procedure) -> str:
    """Say what it takes to certify anything: more samples, or other noise."""

    def enough(n: int) -> bool:
        largest = job_of(answer, replace(procedure, n=n)).largest_radius(x)
        return largest is not None and largest > 0

    # where all outcomes are evaluated their number is no choice
    if answer.scheme.bound or not enough(MOST):
        return (
            "this noise certifies nothing, however many samples are drawn: "
            f"{answer.scheme.name} needs a stronger one"
        )
    low, high = procedure.n, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return (
        f"n = {procedure.n}, alpha = {procedure.alpha:g} abstains whatever the votes: "
        f"the bound {procedure.bound} needs n = {high}"
    )
