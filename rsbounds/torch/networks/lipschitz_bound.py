"""Proven l2 bounds of a torch module's Lipschitz constant and of its derivative's.

Nothing is estimated. A dense layer's norm is the largest singular value in float64 plus the
error bound of that computation. A convolution's operator is a compression of the convolution on
the infinite lattice, whose norm is the supremum over the torus of |W(theta)|_2. Each matrix
element of W is a trigonometric polynomial of degree (k - 1)/2 in every angle (up to a phase of
modulus 1), so by M. Riesz's theorem a supremum M attained at t* leaves at least
M cos((k - 1)/2 |t - t*|) nearby; the largest norm on a grid of n points an axis, no angle of
which is further than pi/n from a grid point, times prod 1/cos(pi (k - 1)/(2 n)) is a bound.
A stride makes k smaller and the number of input channels larger (polyphase form).

A module stands for the real function that its floating-point arithmetic approximates; so
``Softplus`` is the exact one, from which torch's linear part beyond a threshold of 20 differs
by 2.1e-9/beta (a lower threshold, where it jumps, is refused).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.modules import module as _hooks

__all__ = ["Scale", "gradient_lipschitz_upper_bound", "lipschitz_upper_bound"]

_EPS = 2.0**-52
_UP = 1 + 16 * _EPS  # covers the roundings of a product of bounds

Matrix = NDArray[Any]


def lipschitz_upper_bound(module: nn.Module) -> float:
    """A proven upper bound of a module's Lipschitz constant from l2 to l2.

    Parameters
    ----------
    module : torch.nn.Module
        In eval mode, without forward hooks: ``Sequential`` of linear layers, convolutions and
        their transposes (zero padding, or circular), pooling, batch normalisation, the usual
        activations. Any other module is asked through its own ``lipschitz_upper_bound()``.

    Returns
    -------
    float
        Never below the true constant of any one layer; for a composition the product, which
        usually exceeds the true constant. A dense layer's bound is within 20 max(rows, columns)
        2^-52 of the truth (relative), a convolution's within 2 % for each axis of its kernel of
        the norm on the infinite lattice.

    Raises
    ------
    ValueError
        A module that is in training mode, has hooks, or holds weights that are not finite; a
        kind of module, padding or pooling that has no proven bound here.

    References
    ----------
    Bergstrom, Sager, Anderson, Lipschitz standard deviation networks, whose power iteration is
    an under-estimate and no proof. M. Riesz 1914 for the step from grid to torus.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import lipschitz_upper_bound
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = layer.weight.data.copy_(torch.tensor([[3.0, 0.0], [0.0, 1.0]]))
    >>> 3.0 <= lipschitz_upper_bound(torch.nn.Sequential(layer, torch.nn.ReLU()).eval()) < 3.001
    True
    """
    _refuse_hooks(module)
    own = getattr(module, "lipschitz_upper_bound", None)
    if callable(own):
        return float(own())
    _check(module)
    if isinstance(module, nn.Sequential):
        bound = 1.0
        for part in module:
            bound *= lipschitz_upper_bound(part) * _UP
        return bound
    constant = _activation(module)
    if constant is not None:
        return constant[0]
    for kind, rule in _RULES.items():
        if _is(module, kind):
            return float(rule(module)) * _UP
    raise ValueError(
        f"no proven Lipschitz bound for {_name(module)}; give the module a method "
        "lipschitz_upper_bound() that returns one"
    )


def gradient_lipschitz_upper_bound(module: nn.Module) -> float:
    """A proven upper bound of the Lipschitz constant of a module's derivative.

    The derivative is measured in the spectral norm, inputs in l2: for one output it is the
    constant of the gradient; for differences g_i - g_j of outputs it is sqrt(2) times the bound.
    By Lip(D(g f)) <= Lip(Dg) Lip(f)^2 + Lip(g) Lip(Df) over the layers; for a dense layer after
    an elementwise function, Lip(D) is at most the supremum of the latter's second derivative
    times the largest l2 norm of the former's columns.

    Parameters
    ----------
    module : torch.nn.Module
        As in :func:`lipschitz_upper_bound`, with smooth activations alone: ``Softplus``,
        ``Tanh``, ``Sigmoid``, ``SiLU``, ``GELU``.

    Returns
    -------
    float
        Never below the true constant; 0 for a linear module.

    Raises
    ------
    ValueError
        As there, and for modules whose derivative jumps (ReLU and its kin, max-pooling).

    References
    ----------
    The constant L of Anderson, Sojoudi, Certified robustness via locally biased randomized
    smoothing, Theorem 8.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import gradient_lipschitz_upper_bound
    >>> one = torch.nn.Linear(1, 1)
    >>> _ = one.weight.data.fill_(2.0)
    >>> net = torch.nn.Sequential(one, torch.nn.Sigmoid()).eval()
    >>> round(gradient_lipschitz_upper_bound(net), 4)  # 4 sup|sigmoid''|
    0.3849
    """
    bound, slope = 0.0, 1.0  # of the layers so far: Lip(Df), Lip(f)
    before = 0.0  # sup|phi''| Lip(f)^2 of an elementwise layer just before, else 0
    for layer in _layers(module):
        lip = lipschitz_upper_bound(layer)
        constant = (lip, 0.0) if _is(layer, Scale) else _activation(layer)
        if constant is None and not _is(layer, _LINEAR):
            raise ValueError(f"no proven bound of the derivative of {_name(layer)}")
        if constant is not None and constant[1] is None:
            raise ValueError(
                f"the derivative of {_name(layer)} is not Lipschitz: use a smooth activation "
                "(Softplus, Tanh, Sigmoid, SiLU, GELU)"
            )
        if constant == (1.0, 0.0):
            continue
        curved = constant[1] * slope**2 if constant is not None and constant[1] else 0.0
        if before and _is(layer, nn.Linear):
            columns = float(np.linalg.norm(_weight(layer), axis=0).max())
            bound = lip * (bound - before) + columns * before
        else:
            bound = curved + lip * bound
        bound, slope, before = bound * _UP, slope * lip * _UP, curved
    return bound * (1 + 1e-12)


class Scale(nn.Module):
    """Multiplies by a fixed number: the plainest way to keep a network's constant small.

    Examples
    --------
    >>> from rsbounds.torch import Scale, lipschitz_upper_bound
    >>> lipschitz_upper_bound(Scale(-0.5))
    0.5
    """

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = float(factor)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``factor`` times x."""
        return self.factor * x

    def lipschitz_upper_bound(self) -> float:
        """The size of the factor."""
        return abs(self.factor)


def _layers(module: nn.Module) -> list[nn.Module]:
    if not isinstance(module, nn.Sequential):
        return [module]
    _check(module)
    return [layer for part in module for layer in _layers(part)]


def _check(module: nn.Module) -> None:
    if module.training:
        raise ValueError(f"{_name(module)} must be in eval mode: training moves what it computes")
    _refuse_hooks(module)
    if isinstance(module, nn.Sequential) and type(module).forward is not nn.Sequential.forward:
        raise ValueError(f"{_name(module)} is no plain Sequential")


def _refuse_hooks(module: nn.Module) -> None:
    hooks = (module._forward_hooks, module._forward_pre_hooks, _hooks._global_forward_hooks,
             _hooks._global_forward_pre_hooks)  # fmt: skip
    if any(hooks) or not _COMPUTES.isdisjoint(vars(module)):
        raise ValueError(f"{_name(module)} has hooks, which can change what it computes")


_COMPUTES = {"forward", "_conv_forward", "__call__", "_call_impl"}


def _is(module: nn.Module, kinds: Any) -> bool:
    """An instance of a kind that computes what the kind does: parametrised, but not overridden."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)

    def plain(kind: Any) -> bool:
        return all(getattr(type(module), n, 0) is getattr(kind, n, 0) for n in _COMPUTES)

    return any(isinstance(module, kind) and plain(kind) for kind in kinds)


def _name(module: nn.Module) -> str:
    return f"the module {type(module).__name__}"


# sup|phi'| and sup|phi''|; None where the derivative jumps
_ACTIVATIONS: dict[type[nn.Module], tuple[float, float | None]] = {
    nn.ReLU: (1.0, None),
    nn.ReLU6: (1.0, None),
    nn.Tanh: (1.0, 0.76980036),  # 4/(3 sqrt 3)
    nn.Sigmoid: (0.25, 0.09622505),  # 1/(6 sqrt 3)
    nn.SiLU: (1.1, 0.5),  # 1.09984
    nn.Identity: (1.0, 0.0),
    nn.Flatten: (1.0, 0.0),
    nn.Unflatten: (1.0, 0.0),
    nn.Dropout: (1.0, 0.0),
    nn.Dropout2d: (1.0, 0.0),
}


def _activation(module: nn.Module) -> tuple[float, float | None] | None:
    _check(module)
    for kind, constants in _ACTIVATIONS.items():
        if _is(module, kind):
            return constants
    if _is(module, nn.GELU) and module.approximate == "none":
        return 1.13, 0.79788457  # 1.12890, 2 phi(0)
    if _is(module, nn.LeakyReLU):
        return max(1.0, abs(_number(module, "negative_slope"))), None
    if _is(module, nn.ELU):
        return max(1.0, abs(_number(module, "alpha"))), None
    if _is(module, nn.Softplus):
        if not _number(module, "threshold") >= 20:
            raise ValueError(f"the threshold of Softplus must be >= 20; got {module.threshold}")
        return 1.0, abs(_number(module, "beta")) / 4
    return None


def _number(module: nn.Module, name: str) -> float:
    value = float(getattr(module, name))
    if not math.isfinite(value):
        raise ValueError(f"{name} of {_name(module)} must be finite; got {value}")
    return value


def _weight(module: nn.Module) -> NDArray[np.float64]:
    weight = module.weight
    assert isinstance(weight, torch.Tensor)
    if weight.is_complex():
        raise ValueError(f"the weights of {_name(module)} must be real; got {weight.dtype}")
    array: NDArray[np.float64] = weight.detach().cpu().double().numpy()
    if not np.isfinite(array).all():
        raise ValueError(f"the weights of {_name(module)} must be finite")
    return array


def _largest_singular_value(matrices: Matrix) -> float:
    """Of a stack of matrices, rounded up: LAPACK's backward error is below 10 max(m, n) eps."""
    if matrices.shape[-2] > matrices.shape[-1]:
        matrices = matrices.swapaxes(-1, -2)
    value = float(np.linalg.svd(matrices, compute_uv=False).max())
    return value * (1 + 10 * int(matrices.shape[-1]) * _EPS)


def _dense(module: nn.Module) -> float:
    return _largest_singular_value(_weight(module))


def _convolution(module: Any) -> float:
    weight = _weight(module)
    stride, dilation = module.stride, module.dilation
    if module.padding_mode == "circular":
        reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
        twice = module._reversed_padding_repeated_twice[::-1]
        if any(a + b > r for a, b, r in zip(twice[::2], twice[1::2], reach, strict=True)):
            raise ValueError("circular padding beyond the kernel repeats outputs: no bound")
        stride = (1,) * len(stride)  # strided rows are some rows of the circulant
    elif module.padding_mode != "zeros":
        raise ValueError(f"no proven bound for padding_mode {module.padding_mode!r}")
    groups = weight.reshape(module.groups, -1, *weight.shape[1:])
    return float(max(_lattice_norm(group, stride, dilation) for group in groups))


def _lattice_norm(weight: Matrix, stride: tuple[int, ...], dilation: tuple[int, ...]) -> float:
    """Norm on the infinite lattice of the convolution with weight (out, in, *kernel)."""
    for axis, (step, spread) in enumerate(zip(stride, dilation, strict=True), start=2):
        if step > 1:
            weight = _polyphase(weight, axis, step, spread)
    shape = weight.shape[2:]
    points = [max(32, 1 << (8 * k - 1).bit_length()) if k > 1 else 1 for k in shape]
    grids = [np.arange(n) for n in points]
    grids[0] = grids[0][: points[0] // 2 + 1]  # real weights: W(-theta) is conjugate to W(theta)
    flat = weight.reshape(*weight.shape[:2], -1)
    taps = np.array(list(product(*map(range, shape))))
    largest = 0.0
    waves = [np.exp(2j * np.pi * (np.outer(g, np.arange(k)) % n) / n)
             for g, n, k in zip(grids, points, shape, strict=True)]  # fmt: skip
    for theta in product(*(range(len(g)) for g in grids[:-1])):
        phase = waves[-1][:, taps[:, -1]]
        for axis, index in enumerate(theta):
            phase = phase * waves[axis][index, taps[:, axis]]
        symbols = np.moveaxis(flat @ phase.T, -1, 0)
        largest = max(largest, _largest_singular_value(symbols))
    # each element is a sum of len(taps) terms, each with a phase within 16 eps
    error = 2 * (len(taps) + 32) * _EPS * np.linalg.norm(np.abs(flat).sum(-1))
    riesz = math.prod(1 / math.cos(math.pi * (k - 1) / (2 * n))
                      for k, n in zip(shape, points, strict=True))  # fmt: skip
    return float((largest + error) * riesz * _UP)


def _polyphase(weight: Matrix, axis: int, step: int, spread: int) -> Matrix:
    """A stride as more input channels: input position step p + r is channel r at p."""
    kernel = weight.shape[axis]
    length = -(-(spread * (kernel - 1) + 1) // step) * step
    moved = np.moveaxis(weight, axis, -1)
    wide = np.zeros((*moved.shape[:-1], length))
    wide[..., : spread * (kernel - 1) + 1 : spread] = moved
    phases = wide.reshape(*moved.shape[:-1], -1, step)  # (out, in, other axes, q, r)
    split = np.moveaxis(np.moveaxis(phases, -1, 2), -1, axis + 1)
    return split.reshape(weight.shape[0], -1, *split.shape[3:])


def _average_pool(module: Any) -> float:
    if module.ceil_mode or not module.count_include_pad:
        raise ValueError("average pooling needs ceil_mode=False and count_include_pad=True")
    if getattr(module, "divisor_override", None) is not None:
        raise ValueError("average pooling with divisor_override has no proven bound")
    count, cells = _windows(module)
    return math.sqrt(count / cells)


def _max_pool(module: Any) -> float:
    return math.sqrt(_windows(module)[0])


def _windows(module: Any) -> tuple[int, int]:
    """The most windows that share one input, and the inputs of a window."""
    axes = _axes(module)
    kernel, stride, dilation = (
        _tuple(value, axes)
        for value in (module.kernel_size, module.stride, getattr(module, "dilation", 1))
    )
    shared = (
        math.gcd(s, d) * (k - 1) // s + 1 for k, s, d in zip(kernel, stride, dilation, strict=True)
    )
    return math.prod(shared), math.prod(kernel)


def _axes(module: nn.Module) -> int:
    return next(n for n, kinds in _POOLS.items() if _is(module, kinds))


def _tuple(value: int | tuple[int, ...], axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value) * (axes // len(value))


def _batch_norm(module: Any) -> float:
    if module.running_var is None:
        raise ValueError("batch normalisation without running statistics has no proven bound")
    variance = module.running_var.detach().cpu().double().numpy()
    if not ((variance >= 0) & (variance < np.inf)).all():
        raise ValueError(f"the running variance of {_name(module)} must be finite and >= 0")
    variance = variance + module.eps
    scale = np.abs(_weight(module)) if module.affine else 1.0
    return float(np.max(scale / np.sqrt(variance)))


_POOLS = {1: (nn.AvgPool1d, nn.MaxPool1d), 2: (nn.AvgPool2d, nn.MaxPool2d)}
_RULES: dict[Any, Callable[[Any], float]] = {
    nn.Linear: _dense,
    (nn.Conv1d, nn.Conv2d, nn.Conv3d): _convolution,
    (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d): _convolution,
    (nn.AvgPool1d, nn.AvgPool2d): _average_pool,
    (nn.MaxPool1d, nn.MaxPool2d): _max_pool,
    (nn.BatchNorm1d, nn.BatchNorm2d): _batch_norm,
}
_LINEAR = tuple(
    kind
    for kinds in _RULES
    for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
    if kind not in (nn.MaxPool1d, nn.MaxPool2d)
)
