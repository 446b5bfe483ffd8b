"""Operations with weights: dense layers, convolutions, normalisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.graph import Value
from rsbounds.torch.networks.operations import _lattice
from rsbounds.torch.networks.operations._copies import Torus, continued, root
from rsbounds.torch.networks.operations._norms import dense, frobenius, longest_column
from rsbounds.torch.networks.operations._record import (
    ELEMENTARY,
    Call,
    OperationRecord,
    SizeAndError,
    Term,
    affine_range,
    none,
    zero,
)


def _size(call: Call, argument: str) -> float:
    """The largest size of an optional constant's numbers."""
    return 0.0 if call[argument] is None else float(np.abs(call.array(argument)).max())


# Dense layers and products with a constant matrix.


def _linear(call: Call) -> list[Term]:
    weights = call.array("weight")
    matrix = weights if weights.ndim == 2 else weights[None]
    return [
        Term(
            call.values[0],
            lambda: dense(matrix),
            lambda: longest_column(matrix),
        )
    ]


def _linear_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    sizes = np.abs(call.array("weight"))
    sums = float(sizes.sum(-1).max())
    return affine_range(ranges[0], sums, sizes.shape[-1], _size(call, "bias"))


def _product(call: Call) -> list[Term]:
    """A matrix product of a value and a constant, which may be a stack of matrices."""
    matrix = call.array(_constant_side(call))
    value = call.values[0]
    if matrix.ndim == 1:
        matrix = matrix[None]
    shape = call.shape_of(value)
    if min(len(shape), matrix.ndim) < 2:
        raise call.refuse("needs matrices")
    # a value that is multiplied by several matrices is copied first
    stacked = math.prod(np.broadcast_shapes(shape[:-2], matrix.shape[:-2]))
    times = stacked // math.prod(shape[:-2])
    return [Term(value, lambda: dense(matrix) * root(times))]


def _constant_side(call: Call) -> str:
    first, second = list(call.step.arguments)[:2]
    return second if isinstance(call[first], Value) else first


def _product_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    side = _constant_side(call)
    sizes = np.abs(call.array(side))
    # numbers of the result are weighted by the rows of a constant on the left, by the
    # columns of one on the right
    left = side == next(iter(call.step.arguments))
    axis = -1 if left or sizes.ndim == 1 else -2
    return affine_range(ranges[0], float(sizes.sum(axis).max()), sizes.shape[axis], 0.0)


# Convolutions.


def _axes(call: Call) -> int:
    return call.array("weight").ndim - 2


def tupled(value: Any, axes: int) -> tuple[int, ...]:
    """A list of one number for all axes, or of one for each."""
    found = list(value) if isinstance(value, list | tuple) else [value]
    return tuple(found) * (axes // len(found))


def _lattice_norm(call: Call, stride: tuple[int, ...]) -> float:
    """The norm on the infinite lattice, which a finite image with zeros around has."""
    dilation = tupled(call["dilation"], _axes(call))
    return _lattice.convolution(call.array("weight"), stride, dilation, call["groups"])


def _transposed(call: Call) -> list[Term]:
    """The adjoint of a convolution, of whatever value it is given."""
    stride = tupled(call["stride"], _axes(call))
    return [Term(call.values[0], lambda: _lattice_norm(call, stride))]


def _convolution(call: Call) -> list[Term]:
    torus = _torus(call)
    if torus is not None:
        # with its padding the convolution is some rows of a circulant matrix, whose
        # norm is that of the symbol at some points of the torus
        every = (1,) * _axes(call)
        return [Term(torus.value, lambda: _lattice_norm(call, every))]
    stride = tupled(call["stride"], _axes(call))
    return [Term(call.values[0], lambda: _lattice_norm(call, stride))]


def _torus(call: Call) -> Torus | None:
    """The torus that a convolution goes around at most once, where there is one.

    Its outputs are then different rows of the circulant matrix: it adds no padding of
    its own, and no axis is continued further than the kernel reaches. Nothing else
    than a convolution has such rows: a transposed one sums over places of the
    continued axis that are copies of each other.
    """
    before = call.producer(call.values[0])
    torus = None if before is None else continued(before)
    padding = call["padding"]
    # "same" pads with zeros besides
    bare = padding == "valid" or (not isinstance(padding, str) and not any(padding))
    if torus is None or not bare:
        return None
    kernel = call.array("weight").shape[2:]
    dilation = tupled(call["dilation"], len(kernel))
    reaches = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    fits = len(torus.further) == len(reaches) and all(
        further <= reach for further, reach in zip(torus.further, reaches, strict=True)
    )
    return torus if fits else None


def _convolution_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    kernels = np.abs(call.array("weight"))
    sums = float(kernels.reshape(len(kernels), -1).sum(1).max())
    return affine_range(ranges[0], sums, kernels[0].size, _size(call, "bias"))


def _transposed_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    kernels = np.abs(call.array("weight"))  # (in, out/groups, ...)
    groups = call["groups"]
    inputs = len(kernels) // groups
    kernels = kernels.reshape(groups, inputs, kernels.shape[1], -1)
    sums = float(kernels.sum((1, 3)).max())
    terms = inputs * kernels.shape[-1]
    return affine_range(ranges[0], sums, terms, _size(call, "bias"))


# Normalisation.


def _scales(call: Call) -> NDArray[np.float64]:
    """What batch normalisation multiplies each channel by."""
    variance = call.array("running_var")
    shifted = variance + float(call["eps"])
    if not ((variance >= 0) & (shifted > 0) & (shifted < np.inf)).all():
        raise call.refuse("needs a running variance >= 0 and eps > 0")
    weight = 1.0 if call["weight"] is None else call.array("weight")
    return np.asarray(weight / np.sqrt(shifted), dtype=np.float64)


def _batch_norm(call: Call) -> list[Term]:
    """Batch normalisation, together with the layer before it where there is one."""
    scales = _scales(call)
    value = call.values[0]
    before = call.producer(value)
    # One matrix of both is bounded better than by a product: the largest scale is
    # seldom that of the layer's steepest channel.
    merged = None if before is None else _merged(before, scales)
    if merged is not None:
        return [merged]
    largest = float(np.abs(scales).max()) * (1 + 4 * EPS)
    return [Term(value, lambda: largest)]


_SPACED = 8 * EPS  # relative errors of a weight times a scale
_NEAR_0 = 1e-290


def _merged(before: Call, scales: NDArray[np.float64]) -> Term | None:
    """A layer's term with its outputs multiplied by a number for each channel.

    None where it isn't such a layer, or where a product comes near 0.
    """
    operation = before.step.operation
    ndim = len(before.shape)
    layer = _LAYERS.get(operation)
    if layer is None:
        return None
    weights = before.array("weight")
    if ndim != weights.ndim:
        # with further axes, or without a batch's, the channels are not the layer's rows
        return None
    groups = before["groups"] if operation in _TRANSPOSED else 1
    if operation in _TRANSPOSED:  # (in, out/groups, ...)
        factors = scales.reshape(groups, 1, -1, *[1] * (ndim - 2))
    else:
        factors = scales.reshape(1, -1, *[1] * (ndim - 1))
    grouped = weights.reshape(groups, -1, *weights.shape[1:])
    products = grouped * factors
    if (np.abs(products) < _NEAR_0)[(grouped != 0) & (factors != 0)].any():
        return None
    scaled = products.reshape(weights.shape)
    # a convolution's norm is at most that of the matrix of its kernels' sums of sizes
    lost = _SPACED * frobenius(np.abs(scaled).reshape(*scaled.shape[:2], -1).sum(-1))
    (term,) = layer(_Weighted(before.graph, before.index, scaled))
    return Term(term.value, lambda: term.constant() + lost)


class _Weighted(Call):
    """A call with another weight."""

    def __init__(self, graph: Any, index: int, weights: NDArray[np.float64]) -> None:
        super().__init__(graph, index)
        self.__dict__["weights"] = weights

    def array(self, argument: str) -> NDArray[np.float64]:
        if argument == "weight":
            found: NDArray[np.float64] = self.__dict__["weights"]
            return found
        return super().array(argument)


def _batch_norm_range(call: Call, ranges: list[SizeAndError]) -> SizeAndError:
    scales = np.abs(_scales(call))
    mean = np.abs(call.array("running_mean"))
    bias = 0.0 if call["bias"] is None else np.abs(call.array("bias"))
    seen = float((scales * (ranges[0].seen + mean) + bias).max())
    return SizeAndError(seen, float(scales.max()) * ranges[0].error + ELEMENTARY * seen)


def _normalised(call: Call) -> list[Term]:
    """z/sqrt(|z|^2/n + eps) after a projection, times a weight."""
    eps = float(call["eps"])
    if not eps > 0:
        raise call.refuse(f"needs eps > 0; got {eps:g}")
    # The projection off the mean has norm 1, and the rest is steepest at 0, where the
    # derivative is 1/sqrt(eps).
    weight = 1.0 if call["weight"] is None else _size(call, "weight")
    return [Term(call.values[0], lambda: weight / math.sqrt(eps) * (1 + 8 * EPS))]


def _affine(
    terms: Callable[[Call], list[Term]],
    rounding: Callable[[Call, list[SizeAndError]], SizeAndError],
    *inputs: str,
) -> OperationRecord:
    return OperationRecord(inputs, terms, zero, rounding, affine=True)


_CONVOLUTIONS = [
    f"aten.conv{n}d.{kind}" for n in (1, 2, 3) for kind in ("default", "padding")
]
_TRANSPOSED = [
    "aten.conv_transpose1d.default",
    "aten.conv_transpose2d.input",
    "aten.conv_transpose3d.input",
]
# Layers whose rows, or channels, are the axis 1 of their result.
_LAYERS: dict[str, Callable[[Call], list[Term]]] = {
    "aten.linear.default": _linear,
    **dict.fromkeys(_CONVOLUTIONS, _convolution),
    **dict.fromkeys(_TRANSPOSED, _transposed),
}

WEIGHTS = {
    "aten.linear.default": _affine(_linear, _linear_range, "input"),
    "aten.matmul.default": _affine(_product, _product_range, "self", "other"),
    "aten.mm.default": _affine(_product, _product_range, "self", "mat2"),
    "aten.bmm.default": _affine(_product, _product_range, "self", "mat2"),
    **{
        name: _affine(_convolution, _convolution_range, "input")
        for name in _CONVOLUTIONS
    },
    **{name: _affine(_transposed, _transposed_range, "input") for name in _TRANSPOSED},
    "aten._native_batch_norm_legit_no_training.default": _affine(
        _batch_norm, _batch_norm_range, "input"
    ),
    **{
        f"aten.{kind}_norm.default": OperationRecord(("input",), _normalised, none)
        for kind in ("layer", "group")
    },
}
