"""Bounds of one layer each: dense, normalisation, pooling, padding, activations."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks._trust import is_plain, name
from rsbounds.torch.networks.combine import GroupSort

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
TRANSPOSES = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
AVERAGE = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
MAXIMUM = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
ADAPTIVE = (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)
REFLECTION = (nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d)
REPLICATION = (nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d)
CONSTANT = (
    *(nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d),
    *(nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d),
)
Matrix = NDArray[Any]
_UP = 1 + 8 * EPS


def weight(module: nn.Module) -> NDArray[np.float64]:
    """The weight of a layer in float64; ValueError unless it is real and finite."""
    value = module.weight
    assert isinstance(value, torch.Tensor)
    if value.is_complex():
        raise ValueError(
            f"the weights of {name(module)} must be real; got {value.dtype}"
        )
    array: NDArray[np.float64] = value.detach().cpu().double().numpy()
    if not np.isfinite(array).all():
        raise ValueError(f"the weights of {name(module)} must be finite")
    return array


def dense(layer: nn.Module) -> float:
    """Of a dense layer; kept until its weights change."""
    values = weight(layer)
    return kept(values, ("dense",), lambda: spectral_norm(torch.from_numpy(values)))


_KEPT = 256
_norms: dict[tuple[Any, ...], float] = {}


def kept(array: Matrix, kind: tuple[Any, ...], norm: Callable[[], float]) -> float:
    """``norm()``, found again by the numbers of ``array`` and by ``kind``.

    The numbers themselves are the key: a tensor's version misses changes by ``.data``.
    """
    array = np.ascontiguousarray(array)
    key = (blake2b(array.tobytes()).digest(), array.shape, *kind)
    if key not in _norms:
        while len(_norms) >= _KEPT:
            _norms.pop(next(iter(_norms)), None)
        _norms[key] = norm()
    return _norms[key]


def spectral_norm(matrices: torch.Tensor) -> float:
    """The largest singular value of a stack of matrices, rounded up.

    LAPACK's backward error is below 10 max(m, n) eps. It runs on a CPU alone: the
    error of another library is another.
    """
    with one_thread():
        value = float(torch.linalg.svdvals(matrices.cpu()).max())
    return value * (1 + 10 * float(max(matrices.shape[-2:])) * EPS)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread: on matrices of this size more threads take up to a hundred times
    as long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def batch_norm(module: Any) -> float:
    """In eval mode: the largest |weight|/sqrt(running variance + eps)."""
    if module.running_var is None or module.running_mean is None:
        raise ValueError(
            "batch normalisation without running statistics has no proven bound"
        )
    variance = module.running_var.detach().cpu().double().numpy()
    if not ((variance >= 0) & (variance < np.inf)).all():
        raise ValueError(
            f"the running variance of {name(module)} must be finite and >= 0"
        )
    if not ((variance + module.eps > 0) & (variance + module.eps < np.inf)).all():
        raise ValueError(f"eps of {name(module)} must be > 0; got {module.eps}")
    # torch multiplies by the weight where there is one, whatever ``affine`` says
    scale = 1.0 if module.weight is None else np.abs(weight(module))
    return float(np.max(scale / np.sqrt(variance + module.eps))) * (1 + 4 * EPS)


def average_pool(module: Any) -> float:
    """sqrt(windows that share an input / inputs of a window)."""
    if module.ceil_mode or not module.count_include_pad:
        raise ValueError(
            "average pooling needs ceil_mode=False and count_include_pad=True"
        )
    if getattr(module, "divisor_override", None) is not None:
        raise ValueError("average pooling with divisor_override has no proven bound")
    shared, cells = windows(module)
    return math.sqrt(shared / cells) * _UP


def max_pool(module: Any) -> float:
    """sqrt(windows that share an input)."""
    return math.sqrt(windows(module)[0]) * _UP


def adaptive_average_pool(module: Any) -> float:
    """sqrt(number of cells), since each of them repeats an input of one number.

    An input at least as large as the output has norm 1 or less, but the module doesn't
    know the size of its input.
    """
    sizes = _tuple(module.output_size, _axes(module, ADAPTIVE))
    return math.sqrt(math.prod(size or 1 for size in sizes)) * _UP


def pad(module: Any) -> float:
    mode = "reflect" if is_plain(module, REFLECTION) else "replicate"
    return padding("constant" if is_plain(module, CONSTANT) else mode, module.padding)


def padding(mode: str, sides: Sequence[int]) -> float:
    """sqrt(how often padding by (left, right, ...) copies an input, at most).

    Reflection copies it once on either side, replication as often as the edge is wide;
    an input of one number lies on both edges.
    """
    copies = 1
    for left, right in zip(sides[::2], sides[1::2], strict=True):
        if mode == "reflect":
            copies *= 1 + (left > 0) + (right > 0)
        elif mode == "replicate":
            copies *= 1 + max(left, 0) + max(right, 0)
    return math.sqrt(copies) * _UP


def windows(module: Any) -> tuple[int, int]:
    """How many windows share one input at most, and how many inputs a window has."""
    axes = _axes(module, AVERAGE) or _axes(module, MAXIMUM)
    kernel, stride, dilation = (
        _tuple(value, axes)
        for value in (module.kernel_size, module.stride, getattr(module, "dilation", 1))
    )
    shared = (
        math.gcd(s, d) * (k - 1) // s + 1
        for k, s, d in zip(kernel, stride, dilation, strict=True)
    )
    return math.prod(shared), math.prod(kernel)


def _axes(module: nn.Module, kinds: tuple[type[nn.Module], ...]) -> int:
    return next((n for n, kind in enumerate(kinds, 1) if is_plain(module, kind)), 0)


def _tuple(value: Any, axes: int) -> tuple[Any, ...]:
    same = value is None or isinstance(value, int)
    return (value,) * axes if same else tuple(value) * (axes // len(value))


# Activations: suprema of |phi'| and of |phi''|; None where the derivative jumps.

Constants = tuple[float, float | None]
_CONSTANTS: dict[type[nn.Module], Constants] = {
    nn.ReLU: (1.0, None),
    nn.ReLU6: (1.0, None),
    nn.Hardtanh: (1.0, None),
    GroupSort: (1.0, None),  # sorting brings no two vectors further apart
    nn.Tanh: (1.0, 0.76980036),  # 4/(3 sqrt 3)
    nn.Sigmoid: (0.25, 0.09622505),  # 1/(6 sqrt 3)
    nn.SiLU: (1.1, 0.5),  # 1.09984
    nn.Identity: (1.0, 0.0),
    nn.Flatten: (1.0, 0.0),
    nn.Unflatten: (1.0, 0.0),
    nn.Dropout: (1.0, 0.0),
    nn.Dropout2d: (1.0, 0.0),
}
_JUMP = 1e-6


def activation(module: nn.Module) -> Constants | None:
    """The two suprema, rounded up; None for a module that is not an activation."""
    for kind, constants in _CONSTANTS.items():
        if is_plain(module, kind):
            return constants
    if is_plain(module, nn.GELU) and module.approximate == "none":
        return 1.13, 0.79788457  # 1.12890, 2 phi(0)
    if is_plain(module, nn.LeakyReLU):
        return max(1.0, abs(_number(module, "negative_slope"))), None
    if is_plain(module, nn.PReLU):
        return max(1.0, float(abs(weight(module)).max())), None
    if is_plain(module, nn.ELU):
        return max(1.0, abs(_number(module, "alpha"))), None
    if is_plain(module, nn.Softplus):
        return 1.0, _softplus(module)
    return None


def _softplus(module: nn.Module) -> float:
    """The supremum of |phi''|; ValueError if torch's linear part begins with a jump."""
    beta = abs(_number(module, "beta"))
    threshold = _number(module, "threshold")
    if not threshold >= 20:
        raise ValueError(f"the threshold of Softplus must be >= 20; got {threshold:g}")
    jump = math.log1p(math.exp(-threshold)) / beta if beta > 0 else math.inf
    if not jump <= _JUMP:
        raise ValueError(
            f"Softplus with beta = {beta:g} and threshold = {threshold:g} jumps by "
            f"{jump:.2g} where torch's linear part begins; at most {_JUMP:g} is "
            "allowed: raise one of them"
        )
    return beta / 4


def _number(module: nn.Module, key: str) -> float:
    value = float(getattr(module, key))
    if not math.isfinite(value):
        raise ValueError(f"{key} of {name(module)} must be finite; got {value}")
    return value
