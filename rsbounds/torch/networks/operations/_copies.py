"""Operations whose results are made of their inputs' numbers and of constants.

Each number of the result is a number of one input, or a constant, so the matrix has at
most one 1 in a row: its norm is exactly the root of how often a number is copied at
most. How often that is, is counted by running the operation on positions.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.graph import DOUBLE, Value
from rsbounds.torch.networks.operations._record import (
    Call,
    OperationRecord,
    SizeAndError,
    Term,
    always,
    never,
    same,
    zero,
)


def copies(call: Call, value: Value) -> int:
    """How often the result holds one number of a value, at most."""
    tensors = {
        other: torch.zeros(call.shape_of(other), **DOUBLE) for other in call.values
    }
    count = call.numel(value)
    # Positions are whole numbers, exact in float64. A constant of the operation is the
    # same in both runs, a copy is not.
    positions = torch.arange(count, **DOUBLE)
    positions = positions.reshape(call.shape_of(value))
    first = call.run(tensors | {value: positions})
    copied = call.run(tensors | {value: positions + count}) != first
    found = first[copied].long().numpy()
    return int(np.bincount(found, minlength=1).max())


def root(count: float) -> float:
    """The square root, rounded up, exact for 0 and 1."""
    return math.sqrt(count) * (1 + 8 * EPS) if count > 1 else float(count)


class Torus(NamedTuple):
    """A value whose last axes are circles, each continued by some places in all."""

    value: Value
    further: tuple[int, ...]


def continued(call: Call) -> Torus | None:
    """The torus that a step continues, if it pads around one and does nothing else."""
    step = call.step
    if step.operation != "aten.pad.default" or step.arguments["mode"] != "circular":
        return None
    sides = list(step.arguments["pad"])
    if min(sides) < 0:  # something is cut off
        return None
    totals = [a + b for a, b in zip(sides[::2], sides[1::2], strict=True)]
    return Torus(call.values[0], tuple(reversed(totals)))


def _terms(call: Call) -> list[Term]:
    def term(value: Value) -> Term:
        constant = partial(_constant, call, value)
        return Term(value, constant, constant)

    return [term(value) for value in dict.fromkeys(call.values)]


def _constant(call: Call, value: Value) -> float:
    return root(copies(call, value))


def _range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    """As the inputs, or as a constant among the numbers of the result."""
    zeros = {
        value: torch.zeros(call.shape_of(value), **DOUBLE) for value in call.values
    }
    size, error = same(call, ranges)
    result = call.run(zeros)
    constant = float(result.abs().max()) if result.numel() else 0.0
    return SizeAndError(max(size, constant), error)


def _record(*inputs: str, plain: bool = False) -> OperationRecord:
    return OperationRecord(
        inputs=inputs,
        terms=_terms,
        bend=zero,
        rounding=_range,
        affine=True,
        root=True,
        several=True,
        plain=always if plain else never,
    )


_MOVED = (
    *("reshape.default", "permute.default", "transpose.int", "t.default"),
    *("movedim.int", "select.int", "slice.Tensor"),
    *("narrow.default", "split.Tensor", "split_with_sizes.default", "chunk.default"),
    *("unbind.int", "flip.default", "roll.default", "diagonal.default"),
    *("pixel_shuffle.default", "pixel_unshuffle.default", "channel_shuffle.default"),
    *("tril.default", "triu.default"),
)
_REPEATED = (
    *("expand.default", "repeat.default", "tile.default", "repeat_interleave.self_int"),
    *("pad.default", "constant_pad_nd.default", "unfold.default", "im2col.default"),
    *("index.Tensor", "index_select.default"),
)

COPIES = {
    **{f"aten.{name}": _record("self", plain=True) for name in _MOVED},
    **{f"aten.{name}": _record("self") for name in _REPEATED},
    **{f"aten.upsample_nearest{n}d.vec": _record("input") for n in (1, 2, 3)},
    "aten.cat.default": _record("tensors"),
    "aten.stack.default": _record("tensors"),
    "aten.slice_scatter.default": _record("self", "src"),
    "aten.select_scatter.default": _record("self", "src"),
    "aten.where.self": _record("self", "other"),
    "aten.masked_fill.Scalar": _record("self", plain=True),
}
