"""Bounds of a whole graph, one step after the other: slope, derivative, rounding.

The Lipschitz constant of a value is bounded by the rules of its step's record. Where
several affine operations follow each other their matrix is computed too, column by
column, if it is small: its norm is at most the product of theirs.

Bounds are multiplied and added as exact fractions and rounded up once.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.graph import DOUBLE, Graph, Value
from rsbounds.torch.networks.operations import TABLE
from rsbounds.torch.networks.operations._norms import dense, longest_column, one_thread
from rsbounds.torch.networks.operations._record import (
    Call,
    NoBound,
    OperationRecord,
    SizeAndError,
    Term,
)

__all__ = ["computed", "derivative", "lipschitz"]

# Bounds other than 0 lie in this range, so that floating point is away from subnormal
# numbers and from infinity.
_SMALLEST, _LARGEST = Fraction(1, 2**960), Fraction(2**500)
_ENTRIES, _INPUTS = 2**21, 2**12  # of a matrix that is computed
_UP = 1 + 1e-9  # for the rounding of the bounds of rounding
_TINY = 1e-300  # what underflow may take from a sum
_LEAST = 5e-324  # the smallest number


class _Bent(NamedTuple):
    """A bound of the derivative's Lipschitz constant, in two parts.

    ``fresh`` is the part by an elementwise function just before: behind it a matrix
    counts by its longest column.
    """

    older: Fraction
    fresh: Fraction = Fraction(0)

    @property
    def total(self) -> Fraction:
        return self.older + self.fresh


def lipschitz(graph: Graph) -> Fraction:
    """An upper bound of a graph's Lipschitz constant from l2 to l2."""
    if isinstance(graph.result, torch.Tensor):
        return Fraction(0)
    with _all_numbers():
        return _Walk(graph).slope[graph.result.number]


def derivative(graph: Graph) -> Fraction:
    """Bound the Lipschitz constant of a graph's derivative from above.

    ValueError where a step has none.
    """
    if isinstance(graph.result, torch.Tensor):
        return Fraction(0)
    with _all_numbers():
        walk = _Walk(graph)
        walk.bend()
    return walk.bent[graph.result.number].total


def computed(graph: Graph, at_input: SizeAndError) -> SizeAndError:
    """Bound the range of a graph's result for inputs of that range.

    NoBound where a step has none.
    """
    if isinstance(graph.result, torch.Tensor):
        return SizeAndError(float(graph.result.abs().max()), 0.0)
    with _all_numbers():
        return _between(graph, Value(0), graph.result, at_input)


@contextmanager
def _all_numbers() -> Iterator[None]:
    """Keep numbers below 2^-1022, which ``torch.set_flush_denormal`` makes 0.

    A weight of that size would have the bound 0, whatever is multiplied after it.
    Infinite bounds are refused where they appear, so NumPy needn't tell of them.
    """
    flushed = float(torch.tensor(_LEAST, **DOUBLE) * 1) == 0
    torch.set_flush_denormal(False)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    finally:
        torch.set_flush_denormal(flushed)


def _between(
    graph: Graph, start: Value, end: Value, at_start: SizeAndError
) -> SizeAndError:
    ranges = {start: at_start}
    for index in graph.needed(start, end):
        call = Call(graph, index)
        record = TABLE[call.step.operation]
        size, error = record.rounding(call, [ranges[v] for v in call.values])
        ranges[Value(index)] = SizeAndError(size * _UP, error * _UP + _TINY)
    return ranges[end]


class _Walk:
    def __init__(self, graph: Graph) -> None:
        assert isinstance(graph.result, Value)
        self.graph = graph
        self.calls = [Call(graph, index + 1) for index in range(len(graph.steps))]
        self.records = [TABLE[call.step.operation] for call in self.calls]
        self.terms = [
            record.terms(call)
            for record, call in zip(self.records, self.calls, strict=True)
        ]
        self.sources = self._sources()
        self.ends = self._ends(graph.result.number)
        self.needed = self._needed(graph.result.number)
        self.matrices: dict[int, tuple[float, float]] = {}
        self.slope = {0: Fraction(1)}
        for index in self.needed:
            self.slope[index] = self._slope(index)

    def _sources(self) -> list[int]:
        """For each value the earlier one that it is an affine function of."""
        sources = [0]
        for index, (call, record) in enumerate(
            zip(self.calls, self.records, strict=True), start=1
        ):
            before = {sources[value.number] for value in call.values}
            merges = record.affine and len(before) == 1
            sources.append(before.pop() if merges else index)
        return sources

    def _ends(self, result: int) -> set[int]:
        """Where a run of affine steps ends."""
        ends = {result}
        for index, call in enumerate(self.calls, start=1):
            for value in call.values:
                if self.sources[index] != self.sources[value.number]:
                    ends.add(value.number)
        return {index for index in ends if self.sources[index] != index}

    def _needed(self, result: int) -> list[int]:
        wanted = {result}
        for index in range(result, 0, -1):
            if index in wanted:
                wanted.update(term.value.number for term in self.terms[index - 1])
                if index in self.ends:
                    wanted.add(self.sources[index])
        return sorted(wanted - {0})

    def _slope(self, index: int) -> Fraction:
        record, terms = self.records[index - 1], self.terms[index - 1]
        parts = [
            self._exact(index, term.constant()) * self.slope[term.value.number]
            for term in terms
        ]
        slope = _together(record, parts)
        matrix = self._matrix(index)
        if matrix is not None:
            slope = min(slope, Fraction(matrix[0]) * self.slope[self.sources[index]])
        if slope and not _SMALLEST <= slope <= _LARGEST:
            power = slope.numerator.bit_length() - slope.denominator.bit_length()
            raise ValueError(
                f"the bounds up to {self.calls[index - 1].step} multiply to "
                f"2^{power}: floating-point numbers under- or overflow there, and "
                "compute another function"
            )
        return slope

    def _exact(self, index: int, constant: float) -> Fraction:
        """A constant as a fraction; ValueError near the ends of floating point."""
        if not (constant == 0 or _SMALLEST <= constant < math.inf):
            step = self.calls[index - 1].step
            raise ValueError(
                f"the bound of {step} must be finite, and 0 or at least 2^-960; got "
                f"{constant}"
            )
        return Fraction(constant)

    def _matrix(self, index: int) -> tuple[float, float] | None:
        """The norm of the affine function that ends here, and its longest column."""
        if index not in self.ends:
            return None
        if index not in self.matrices:
            found = _matrix(self.graph, self.sources[index], index)
            if found is None:
                self.ends.discard(index)
                return None
            self.matrices[index] = found
        return self.matrices[index]

    def bend(self) -> None:
        """Bound the derivative's Lipschitz constant of each value."""
        self.bent = {0: _Bent(Fraction(0))}
        for index in self.needed:
            record, terms = self.records[index - 1], self.terms[index - 1]
            bent = (
                self._bent_after_affine(index, record, terms)
                if record.affine
                else self._bent_by(index, record, terms)
            )
            matrix = self._matrix(index)
            if matrix is not None:
                norm, column = map(Fraction, matrix)
                source = self.bent[self.sources[index]]
                whole = norm * source.older + min(norm, column) * source.fresh
                bent = min(bent, _Bent(whole), key=lambda part: part.total)
            self.bent[index] = bent

    def _bent_after_affine(
        self, index: int, record: OperationRecord, terms: list[Term]
    ) -> _Bent:
        parts = []
        for term in terms:
            constant = self._exact(index, term.constant())
            column = (
                constant if term.column is None else self._exact(index, term.column())
            )
            bent = self.bent[term.value.number]
            if record.root and len(terms) == 1 and constant <= 1:
                return bent  # some of the numbers, in another order
            parts.append(constant * bent.older + column * bent.fresh)
        return _Bent(_together(record, parts))

    def _bent_by(self, index: int, record: OperationRecord, terms: list[Term]) -> _Bent:
        call = self.calls[index - 1]
        curvature = record.bend(call)
        if curvature is None:
            raise ValueError(
                f"the derivative of {call.step} is not Lipschitz: use a smooth "
                "activation (Softplus, Tanh, Sigmoid, SiLU, GELU)"
            )
        (term,) = terms
        older = Fraction(term.constant()) * self.bent[term.value.number].total
        fresh = Fraction(curvature) * self.slope[term.value.number] ** 2
        return _Bent(older, fresh) if record.pointwise else _Bent(older + fresh)


def _together(record: OperationRecord, parts: list[Fraction]) -> Fraction:
    if len(parts) == 1:
        return parts[0]
    return Fraction(_root(parts)) if record.root else sum(parts, Fraction(0))


def _root(parts: Iterable[Fraction]) -> float:
    """The root of the sum of squares, rounded up."""
    return math.sqrt(round_up(sum(part**2 for part in parts))) * (1 + 4 * EPS)


def round_up(value: Fraction | int) -> float:
    """The nearest float64 that is not below ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _matrix(graph: Graph, source: int, end: int) -> tuple[float, float] | None:
    """Norm and longest column of an affine run of steps; None where it isn't worth it.

    Its columns are differences of computed values, each off by what rounding may do.
    """
    start, last = Value(source), Value(end)
    shape = graph.shape_of(start)
    inputs, outputs = math.prod(shape), math.prod(graph.shape_of(last))
    steps = [Call(graph, index) for index in graph.needed(start, last)]
    small = inputs <= _INPUTS and inputs * outputs <= _ENTRIES
    if not (small and _gains(steps)):
        return None
    try:
        error = _between(graph, start, last, SizeAndError(1.0, 0.0)).error
    except NoBound:
        return None
    rows = np.empty((inputs, outputs))
    with one_thread(), torch.no_grad():
        offset = graph.between(start, last, torch.zeros(shape, **DOUBLE))
        for row, unit in zip(rows, torch.eye(inputs, **DOUBLE), strict=True):
            image = graph.between(start, last, unit.reshape(shape)) - offset
            row[:] = image.flatten().numpy()
    lost = (2 * error + EPS * float(np.abs(rows).max())) * _UP
    if not (np.isfinite(rows).all() and math.isfinite(lost)):
        return None
    lost *= math.sqrt(outputs) * _UP
    norm = dense(rows) + math.sqrt(inputs) * lost * _UP
    column = longest_column(rows.T) + lost
    return norm * (1 + 4 * EPS), column * (1 + 4 * EPS)


def _gains(steps: list[Call]) -> bool:
    """Whether the matrix of some steps may be smaller than their constants' product."""
    loose = [call for call in steps if not TABLE[call.step.operation].plain(call)]
    return len(loose) > 1 or any(
        "conv" in call.step.operation or len(call.values) > 1 for call in loose
    )
