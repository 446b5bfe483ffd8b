"""Sums, differences, multiples, maxima of two tensors, with broadcasting."""

from dataclasses import replace
from functools import partial
from typing import Any

import torch

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.graph import DOUBLE, Value
from rsbounds.torch.networks.operations._copies import root
from rsbounds.torch.networks.operations._record import (
    UNIT_ROUNDOFF,
    Call,
    OperationRecord,
    SizeAndError,
    Term,
    none,
    zero,
)

BOTH = ("self", "other")


def _times(call: Call, value: Value) -> float:
    """The norm of broadcasting a value to the result's shape."""
    return root(call.numel() // call.numel(value))


def _operand(
    call: Call, argument: str, ranges: dict[Value, SizeAndError]
) -> SizeAndError:
    """The range of one side, which may be a constant."""
    side = call[argument]
    if isinstance(side, Value):
        return ranges[side]
    return SizeAndError(_size(side), 0.0)


def _size(constant: Any) -> float:
    return float(torch.as_tensor(constant, **DOUBLE).abs().max())


def _ranges(
    call: Call, ranges: list[SizeAndError]
) -> tuple[SizeAndError, SizeAndError]:
    known = dict(zip(call.values, ranges, strict=True))
    first, second = (_operand(call, argument, known) for argument in BOTH)
    return first, second


def _alpha(call: Call) -> float:
    return abs(float(call.step.arguments.get("alpha", 1)))


def _sum_factors(call: Call) -> tuple[float, float]:
    """What a sum or a difference multiplies its two sides by, in size."""
    if call.step.operation.startswith("aten.rsub"):
        return _alpha(call), 1.0
    return 1.0, _alpha(call)


def _sum(call: Call) -> list[Term]:
    factors = _sum_factors(call)
    return [
        Term(side, partial(_multiple, call, side, factor))
        for side, factor in zip((call["self"], call["other"]), factors, strict=True)
        if isinstance(side, Value)
    ]


def _multiple(call: Call, value: Value, factor: float) -> float:
    times = _times(call, value)
    # exact unless two numbers are rounded
    return factor * times * (1.0 if 1.0 in (factor, times) else 1 + EPS)


def _sum_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    sides = []
    for factor, side in zip(_sum_factors(call), _ranges(call, ranges), strict=True):
        lost = 0.0 if factor == 1 else UNIT_ROUNDOFF * factor * side.seen
        sides.append(SizeAndError(factor * side.size, factor * side.error + lost))
    a, b = sides
    lost = UNIT_ROUNDOFF * (a.seen + b.seen)
    return SizeAndError(a.size + b.size, a.error + b.error + lost)


def _constant(call: Call) -> torch.Tensor:
    """The constant side of a product or quotient."""
    side = call["other"] if isinstance(call["self"], Value) else call["self"]
    return torch.as_tensor(side, **DOUBLE)


def _one_number(call: Call) -> bool:
    """Whether all is multiplied by the same number."""
    return call.numel() == call.numel(call.values[0]) and _constant(call).numel() == 1


def _factors(call: Call) -> torch.Tensor:
    """Return what a product or quotient multiplies by, of the result's shape.

    For a quotient |.| is rounded up.
    """
    constant = _constant(call).abs()
    if call.step.operation.startswith("aten.div"):
        if not (constant > 0).all():
            raise call.refuse("divides by 0")
        constant = (1 / constant) * (1 + EPS)
        if not constant.isfinite().all():
            raise call.refuse("divides by numbers too near 0")
    return constant.expand(call.shape)


def _product(call: Call) -> list[Term]:
    value = call.values[0]
    return [Term(value, lambda: _product_norm(call, value))]


def _product_norm(call: Call, value: Value) -> float:
    """The root of the largest sum of squares over the copies of one number."""
    factors = _factors(call)
    times = call.numel() // call.numel(value)
    if times == 1:
        return float(factors.max())
    largest = float(factors.max())
    if largest == 0:
        return 0.0
    squares = (factors / largest).square().sum_to_size(call.shape_of(value))
    return largest * float(squares.max().sqrt()) * (1 + (times + 8) * EPS)


def _product_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    factor = float(_factors(call).max())
    lost = UNIT_ROUNDOFF * factor * ranges[0].seen
    return SizeAndError(factor * ranges[0].size, factor * ranges[0].error + lost)


def _extreme(call: Call) -> list[Term]:
    """|max(a, b) - max(c, d)| <= max(|a - c|, |b - d|)."""
    return [
        Term(side, partial(_times, call, side))
        for side in (call["self"], call["other"])
        if isinstance(side, Value)
    ]


def _extreme_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    a, b = _ranges(call, ranges)
    return SizeAndError(max(a.size, b.size), max(a.error, b.error))


_ADDITION = OperationRecord(BOTH, _sum, zero, _sum_range, affine=True, several=True)
_PRODUCT = OperationRecord(
    BOTH, _product, zero, _product_range, affine=True, plain=_one_number
)
_QUOTIENT = replace(_PRODUCT, inputs=("self",))
_EXTREME = OperationRecord(
    BOTH, _extreme, none, _extreme_range, root=True, several=True
)

ARITHMETIC = {
    "aten.add.Tensor": _ADDITION,
    "aten.sub.Tensor": _ADDITION,
    "aten.rsub.Tensor": _ADDITION,
    "aten.rsub.Scalar": _ADDITION,
    "aten.mul.Tensor": _PRODUCT,
    "aten.div.Tensor": _QUOTIENT,
    "aten.maximum.default": _EXTREME,
    "aten.minimum.default": _EXTREME,
}
