"""Sums, means, maxima and sorting over axes, pooling, softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.graph import DOUBLE
from rsbounds.torch.networks.operations._copies import root
from rsbounds.torch.networks.operations._norms import dense
from rsbounds.torch.networks.operations._record import (
    ELEMENTARY,
    UNIT_ROUNDOFF,
    Call,
    OperationRecord,
    SizeAndError,
    affine_range,
    none,
    one_term,
    same,
    zero,
)
from rsbounds.torch.networks.operations._weights import tupled


def _group(call: Call) -> int:
    """How many numbers a sum or a mean has."""
    return call.numel(call.values[0]) // call.numel()


def _sum_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    return affine_range(ranges[0], float(_group(call)), _group(call), 0.0)


def _mean_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    return affine_range(ranges[0], 1.0, _group(call), 0.0)


def _mean(call: Call) -> float:
    group = _group(call)
    return math.sqrt(1 / group) * (1 + 8 * EPS) if group > 1 else 1.0


# Averages over windows: the matrix is the Kronecker product of one for each axis, and
# so its norm the product of theirs.


def _window_axes(call: Call) -> int:
    return int(call.step.operation.split(".")[1][-2])


def _lengths(call: Call) -> tuple[int, ...]:
    """The lengths of the axes that are pooled."""
    return call.shape_of(call.values[0])[-_window_axes(call) :]


_LONGEST = 4096  # an axis, so that its matrix stays small


def _pooled_axis(call: Call, axis: int, unit: torch.Tensor) -> torch.Tensor:
    """One axis of average pooling, applied to the rows of a matrix."""
    axes = _window_axes(call)
    if "output_size" in call.step.arguments:
        size = call["output_size"][axis]
        return torch.nn.functional.adaptive_avg_pool1d(unit[None], size)[0]
    kernel = tupled(call["kernel_size"], axes)
    stride = tupled(call["stride"] or kernel, axes)
    padding = tupled(call["padding"], axes)
    return torch.nn.functional.avg_pool1d(
        unit[None],
        kernel[axis],
        stride[axis],
        padding[axis],
        ceil_mode=call["ceil_mode"],
        count_include_pad=call["count_include_pad"],
    )[0]


def _matrices(call: Call) -> list[NDArray[np.float64]]:
    lengths = _lengths(call)
    if max(lengths) > _LONGEST:
        raise call.refuse(f"is bounded for axes of up to {_LONGEST}; got {lengths}")
    return [
        _pooled_axis(call, axis, torch.eye(n, **DOUBLE)).numpy()
        for axis, n in enumerate(lengths)
    ]


def _override(call: Call) -> float:
    """What the averages are multiplied by for a divisor of the caller's own."""
    divisor = call.step.arguments.get("divisor_override")
    if divisor is None:
        return 1.0
    if not call["count_include_pad"] or call["ceil_mode"]:
        # a window over the edge is divided by the cells that it has, which differ
        raise call.refuse("with divisor_override needs full windows")
    cells = math.prod(tupled(call["kernel_size"], _window_axes(call)))
    return float(cells / abs(divisor) * (1 + EPS))


def _average(call: Call) -> float:
    norms = [min(dense(matrix), _schur(matrix)) for matrix in _matrices(call)]
    return math.prod(norms) * _override(call) * (1 + 16 * EPS)


def _schur(matrix: NDArray[np.float64]) -> float:
    """The root of the largest sums of a row and of a column, of numbers >= 0.

    By Schur's test no spectral norm is above it; disjoint windows attain it.
    """
    rows, columns = (max(map(math.fsum, m.tolist())) for m in (matrix, matrix.T))
    return math.sqrt(rows * columns) * (1 + 8 * EPS)


def _average_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    terms = math.prod(int((matrix != 0).sum(0).max()) for matrix in _matrices(call))
    return affine_range(ranges[0], _override(call), terms, 0.0)


# Maxima over windows that overlap.


def _max_pool(call: Call) -> float:
    """The root of how many windows share an input."""
    axes = _window_axes(call)
    kernel = tupled(call["kernel_size"], axes)
    stride = tupled(call["stride"] or kernel, axes)
    dilation = tupled(call["dilation"], axes)
    outputs = call.shape[-axes:]
    zeros = torch.zeros(call.shape_of(call.values[0]), **DOUBLE)
    if not call.run({call.values[0]: zeros}).isfinite().all():
        raise call.refuse("has a window of padding alone")
    # Windows that start j strides apart share an input where dilation divides j stride:
    # every s/gcd(s, d)-th offset within the kernel, and at most all windows.
    shared = math.prod(
        min(math.gcd(s, d) * (k - 1) // s + 1, n)
        for k, s, d, n in zip(kernel, stride, dilation, outputs, strict=True)
    )
    return root(shared)


def _adaptive_max_pool(call: Call) -> float:
    """The term of adaptive max pooling, whose windows are those of averages."""
    return root(math.prod(int((m != 0).sum(1).max()) for m in _matrices(call)))


# Softmax: the Jacobian is diag(p) - p p^T, whose rows have 2 p (1 - p) <= 1/2 as sums
# of sizes.


def _softmax_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    terms = call.shape_of(call.values[0])[call["dim"]] if call.shape else 1
    # x - max x is rounded, and exp makes of it a relative error
    spread = 4 * UNIT_ROUNDOFF * ranges[0].seen
    if not spread < 0.1:
        return SizeAndError(1.0, 2.0)  # no two probabilities are that far apart
    lost = math.expm1(spread) + 2 * (terms * UNIT_ROUNDOFF + ELEMENTARY)
    return SizeAndError(1.0, ranges[0].error / 2 + 2 * lost)


def _linear(
    constant: Callable[[Call], float],
    rounding: Callable[[Call, list[SizeAndError]], SizeAndError],
) -> OperationRecord:
    return OperationRecord(("self",), one_term(constant), zero, rounding, affine=True)


def _picked(constant: Callable[[Call], float]) -> OperationRecord:
    """A record of what picks some of its inputs' numbers."""
    return OperationRecord(("self",), one_term(constant), none, same)


def _sorted(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments; ValueError where the largest may come in any order.

    Two inputs that are close may then have results in two orders, far apart.
    """
    if not arguments["sorted"]:
        raise ValueError("has results in no fixed order: it needs sorted=True")
    return arguments


_SUMS = _linear(lambda call: root(_group(call)), _sum_range)
_MEAN = _linear(_mean, _mean_range)
_SORTED = _picked(lambda call: 1.0)

REDUCTIONS = {
    "aten.sum.default": _SUMS,
    "aten.sum.dim_IntList": _SUMS,
    "aten.mean.default": _MEAN,
    "aten.mean.dim": _MEAN,
    **{
        f"aten.{name}{n}d.default": _linear(_average, _average_range)
        for n in (1, 2, 3)
        for name in ("avg_pool", "adaptive_avg_pool")
    },
    **{f"aten.max_pool{n}d.default": _picked(_max_pool) for n in (1, 2, 3)},
    **{
        f"aten.adaptive_max_pool{n}d.default": _picked(_adaptive_max_pool)
        for n in (1, 2, 3)
    },
    # disjoint groups; sorting brings no two vectors further apart
    **{
        f"aten.{name}": _SORTED
        for name in (
            "amax.default",
            "amin.default",
            "max.dim",
            "min.dim",
            "max.default",
            "min.default",
            "sort.default",
            "sort.stable",
        )
    },
    "aten.topk.default": replace(_SORTED, settle=_sorted),
    "aten.softmax.int": OperationRecord(
        ("self",), one_term(lambda call: 0.5), none, _softmax_range
    ),
}
