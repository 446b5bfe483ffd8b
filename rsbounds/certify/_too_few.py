"""How many samples it takes before anything can be certified."""

import warnings
from dataclasses import replace
from typing import Any

from rsbounds.answers import Answer
from rsbounds.certify._stopping import Stopping
from rsbounds.procedure import Procedure

#: More samples than these are not looked at.
MOST = 10**9


def may_certify(answer: Answer, x: Any, procedure: Procedure) -> bool | None:
    """Whether samples that all fall on one class would certify it; None: not known."""
    largest = Stopping.of(procedure).largest_radius(answer, x)
    return None if largest is None else largest > 0


def least_samples(answer: Answer, x: Any, procedure: Procedure) -> int | None:
    """The least n that can certify something, where that of a procedure can't.

    None where that is enough, or nobody knows, or ``MOST`` show nothing either.
    """

    def enough(n: int) -> bool:
        return may_certify(answer, x, replace(procedure, n=n)) is True

    if may_certify(answer, x, procedure) is not False or not enough(MOST):
        return None
    low, high = procedure.n, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def too_few(procedure: Procedure, least: int) -> str:
    """The sentence for people, with the n that they need."""
    return (
        f"n = {procedure.n}, alpha = {procedure.alpha:g} abstains whatever the votes: "
        f"the bound {procedure.bound} needs n = {least}"
    )


def warn_of_too_few(answer: Answer, x: Any, procedure: Procedure) -> None:
    """A warning where no votes could have been an answer; stacklevel of `certify`."""
    least = least_samples(answer, x, procedure)
    if least is not None:
        warnings.warn(too_few(procedure, least), stacklevel=4)
