"""What is known of one operation: the record, and the call that it is asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.graph import DOUBLE, Graph, Step, Value, run, values

__all__ = [
    "ELEMENTARY",
    "Call",
    "NoBound",
    "OperationRecord",
    "SizeAndError",
    "Term",
    "affine_range",
    "same",
]

UNIT_ROUNDOFF = EPS / 2
# of a function made of a few operations and elementary functions
ELEMENTARY = 16 * EPS


class NoBound(ValueError):
    """No bound of an operation's rounding is known."""


class SizeAndError(NamedTuple):
    """Bounds in the maximum norm: the exact value's size, the computed one's error."""

    size: float
    error: float

    @property
    def seen(self) -> float:
        """A bound of the computed value's size."""
        return self.size + self.error


class Term(NamedTuple):
    """A value that a result depends on, and a bound of the l2 norm of that dependence.

    ``constant`` is computed only where it is needed; ``column``, for a linear
    operation, bounds the l2 norm of a column of its matrix.
    """

    value: Value
    constant: Callable[[], float]
    column: Callable[[], float] | None = None


@dataclass(frozen=True)
class Call:
    """One step of a graph, as a record sees it."""

    graph: Graph
    index: int

    @property
    def step(self) -> Step:
        return self.graph.steps[self.index - 1]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.step.shape

    def __getitem__(self, argument: str) -> Any:
        return self.step.arguments[argument]

    @cached_property
    def values(self) -> list[Value]:
        """The values that the step depends on, in the order of its arguments."""
        return values(self.step.arguments)

    def numel(self, value: Value | None = None) -> int:
        """How many numbers the result has, or a value."""
        shape = self.shape if value is None else self.graph.shape_of(value)
        return int(np.prod(shape))

    def shape_of(self, value: Value) -> tuple[int, ...]:
        return self.graph.shape_of(value)

    def producer(self, value: Value) -> Call | None:
        """The step that a value is the result of; None for the input."""
        return Call(self.graph, value.number) if value.number else None

    def array(self, argument: str) -> NDArray[np.float64]:
        """A constant in float64."""
        found = torch.as_tensor(self[argument], **DOUBLE).numpy()
        return np.asarray(found, dtype=np.float64)

    def run(self, tensors: dict[Value, torch.Tensor]) -> torch.Tensor:
        return run(self.step, tensors)

    def refuse(self, reason: str) -> ValueError:
        return ValueError(f"{self.step.operation} {reason} ({self.step.place})")


Rounding = Callable[[Call, list[SizeAndError]], SizeAndError]


def _unknown(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    raise NoBound(
        f"no bound of the rounding of {call.step.operation} is known "
        f"({call.step.place})"
    )


def always(call: Call) -> bool:
    """True, for every call."""
    return True


def never(call: Call) -> bool:
    """False, for every call."""
    return False


@dataclass(frozen=True)
class OperationRecord:
    """What is known of one operation.

    Parameters
    ----------
    inputs : tuple of str
        The arguments that may depend on the input; all others must be constant.
    terms : callable
        From a call to what its result depends on, with Lipschitz constants from l2 to
        l2; raises ValueError for arguments without a bound.
    bend : callable, optional
        From a call to a Lipschitz constant of the derivative (0 for what is affine);
        None where the derivative jumps or has no bound here.
    rounding : callable
        From a call and the ranges of the values that it depends on to that of its
        result, with exact constants.
    affine : bool
        Whether the result is an affine function of ``inputs`` together.
    root : bool
        Whether constants of several values add as the root of the sum of squares.
    several : bool
        Whether more than one of ``inputs`` may depend on the input at once.
    pointwise : bool
        Whether each number of the result is a function of one number of the input.
    plain : callable
        Whether the norm of a call multiplies with that of any before and after it
        without a loss, as for a multiple of a permutation.
    settle : callable, optional
        From the arguments to those that are to be run.
    """

    inputs: tuple[str, ...]
    terms: Callable[[Call], list[Term]]
    bend: Callable[[Call], float | None]
    rounding: Rounding = _unknown
    affine: bool = False
    root: bool = False
    several: bool = False
    pointwise: bool = False
    plain: Callable[[Call], bool] = never
    settle: Callable[[dict[str, Any]], dict[str, Any]] | None = None


def none(call: Call) -> None:
    """The derivative isn't Lipschitz, or has no bound here."""


def zero(call: Call) -> float:
    """The derivative is constant."""
    return 0.0


def one_term(constant: Callable[[Call], float]) -> Callable[[Call], list[Term]]:
    """The terms of an operation of one value."""
    return lambda call: [Term(call.values[0], lambda: constant(call))]


def same(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    """The range of a result made of its inputs' numbers, without rounding."""
    return SizeAndError(max(r.size for r in ranges), max(r.error for r in ranges))


def affine_range(
    at_input: SizeAndError, sums: float, terms: int, offset: float
) -> SizeAndError:
    """The range of weighted sums.

    ``sums`` is the largest sum of weights' sizes, ``terms`` how many numbers a sum has,
    ``offset`` the largest size of what is added.
    """
    # n roundings in a row change a term by at most n u/(1 - n u), in whatever order the
    # sum is taken; one more is that of the product
    steps = (terms + 1) * UNIT_ROUNDOFF
    if not steps < 0.5:
        raise NoBound(f"a sum of {terms} terms has no bound of its rounding")
    gamma = steps / (1 - steps)
    lost = gamma * (sums * at_input.seen + offset)
    return SizeAndError(sums * at_input.size + offset, sums * at_input.error + lost)
