"""How far a network's float64 arithmetic may lie from the real function of its weights.

A running error analysis in the maximum norm, over all inputs with coordinates in [0, 1] at once:
each layer takes a bound of its true input's size and one of the error it arrives with, and gives
both for its output. A sum of n products is within gamma_n of the sum of their sizes in whatever
order and with whatever fused operations it is formed; torch convolves float64 numbers by such
sums, on the CPU. Elementary functions are taken to be within 4 units in the last place (SLEEF's,
which torch calls, claim 1).

References
----------
N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, sections 3.1 and 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import nn
from torch.nn.utils import parametrize

from rsbounds._numerics.rounding import EPS
from rsbounds.schemes import level_slack
from rsbounds.torch.networks import _pooling
from rsbounds.torch.networks._activations import activation
from rsbounds.torch.networks._matrices import weight
from rsbounds.torch.networks._trust import is_plain, name
from rsbounds.torch.networks.combine import Concatenation, GroupSort, Residual, Scale

_U = EPS / 2
_UP = 1 + 1e-9  # for the rounding of these bounds themselves
_TINY = 1e-300  # what underflow may take from a sum
_ELEMENTARY = 16 * EPS  # of a function made of a few operations and elementary functions
_PLAIN = (nn.ReLU, nn.Identity, nn.Flatten, nn.Unflatten, nn.Dropout, nn.Dropout2d, GroupSort)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSES = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class Range(NamedTuple):
    """Bounds in the maximum norm: of a true value's size, and of the computed one's error."""

    size: float
    error: float

    @property
    def seen(self) -> float:
        """A bound of the computed value's size."""
        return self.size + self.error


UNIT = Range(1.0, _U)  # the points of the grid in [0, 1], as whole numbers over 255


def settle(network: nn.Module) -> None:
    """Make parametrised weights the fixed numbers that they are now."""
    for part in list(network.modules()):
        if parametrize.is_parametrized(part):
            # not by torch's own removal: it strips a class that copies of the module share
            values = {key: getattr(part, key) for key in part.parametrizations}  # type: ignore[union-attr]
            part.__class__ = parametrize.type_before_parametrizations(part)
            del part.parametrizations
            for key, value in values.items():
                part.register_parameter(key, nn.Parameter(value.detach().clone()))


def computed(module: nn.Module, given: Range) -> Range:
    """The range of a module's output; ValueError for a kind that no bound is known of.

    The module's Lipschitz bound must exist: what it refuses is not looked at again.
    """
    found = _computed(module, given)
    return Range(found.size * _UP, found.error * _UP + _TINY)


def level(network: Any, given: Range) -> float:
    """A bound of the error of a sigma network's level, max(h, 0) + sigma_min."""
    size, error = computed(network.h, given)
    floor = float(network.sigma_min)
    return (error + EPS * (size + error + floor)) * _UP


def rounding_slacks(generator: Any) -> dict[str, float]:
    """What a generator's level and mean may move by beyond their bounds, on the grid.

    The coordinates are those divided by the shape, where they are within 3 u of a number of at
    most 1 over the least axis. The mean's error is the maximum norm's times the root of d.
    """
    size = 1 / float(generator.shape.min()) * _UP
    given = Range(size, 3 * _U * size)
    slack = level_slack(level(generator.level, given), generator.level.sigma_min)
    moved = computed(generator.mean, given).error
    return {"slack": slack, "shift": 2 * math.sqrt(generator.shape.numel()) * moved * _UP}


def _computed(module: nn.Module, given: Range) -> Range:
    part: Any = module
    if is_plain(module, nn.Sequential):
        for child in part:
            given = computed(child, given)
        return given
    if is_plain(module, Residual):
        a, b = (computed(m, given) for m in (part.shortcut, part.branch))
        return Range(a.size + b.size, a.error + b.error + _U * (a.seen + b.seen))
    if is_plain(module, Concatenation):
        sizes, errors = zip(*(computed(m, given) for m in part.branches), strict=True)
        return Range(max(sizes), max(errors))
    if is_plain(module, _PLAIN):
        return given
    for kinds, rule in _RULES.items():
        if is_plain(module, kinds):
            return rule(part, given)
    raise ValueError(
        f"no bound of the rounding of {name(module)} is known, which sound noise needs; use "
        "layers, pooling and activations of torch.nn other than adaptive pooling"
    )


def _sums(sums: float, terms: int, bias: Any, given: Range) -> Range:
    """Of affine maps with that largest sum of weights' sizes, and so many terms in a sum."""
    offset = 0.0 if bias is None else float(bias.detach().abs().max())
    gamma = (terms + 1) * _U / (1 - (terms + 1) * _U)
    lost = gamma * (sums * given.seen + offset)
    return Range(sums * given.size + offset, sums * given.error + lost)


def _dense(module: Any, given: Range) -> Range:
    sizes = np.abs(weight(module)).sum(1)
    return _sums(float(sizes.max()), module.in_features, module.bias, given)


def _convolution(module: Any, given: Range) -> Range:
    kernels = np.abs(weight(module))
    sizes = kernels.reshape(len(kernels), -1).sum(1)
    return _sums(float(sizes.max()), kernels[0].size, module.bias, given)


def _transpose(module: Any, given: Range) -> Range:
    kernels = np.abs(weight(module))  # (in, out/groups, ...)
    inputs = len(kernels) // module.groups
    kernels = kernels.reshape(module.groups, inputs, kernels.shape[1], -1)
    terms = inputs * kernels.shape[-1]
    return _sums(float(kernels.sum((1, 3)).max()), terms, module.bias, given)


def _average(module: Any, given: Range) -> Range:
    cells = module.kernel_size
    axes = next(n for n, kind in enumerate(_pooling.AVERAGE, 1) if is_plain(module, kind))
    whole = cells**axes if isinstance(cells, int) else math.prod(cells)
    return _sums(1.0, whole, None, given)


def _batch_norm(module: Any, given: Range) -> Range:
    variance, mean = (
        v.detach().cpu().double().numpy() for v in (module.running_var, module.running_mean)
    )
    scale = 1.0 if module.weight is None else np.abs(weight(module))
    scale = scale / np.sqrt(variance + module.eps)
    bias = 0.0 if module.bias is None else module.bias.detach().abs().cpu().double().numpy()
    seen = float((scale * (given.seen + np.abs(mean)) + bias).max())
    return Range(seen, float(scale.max()) * given.error + _ELEMENTARY * seen)


def _scale(module: Any, given: Range) -> Range:
    size = abs(float(module.factor))
    return Range(size * given.size, size * given.error + _U * size * given.seen)


def _constant_pad(module: Any, given: Range) -> Range:
    return Range(max(given.size, abs(float(getattr(module, "value", 0.0)))), given.error)


def _clamp(module: Any, given: Range) -> Range:
    return Range(max(abs(float(module.min_val)), abs(float(module.max_val))), given.error)


def _leaky(module: Any, given: Range) -> Range:
    slope = _slope(module)
    return Range(slope * given.size, slope * given.error + _U * slope * given.seen)


def _bounded(module: Any, given: Range) -> Range:
    """Tanh and sigmoid."""
    return Range(1.0, _slope(module) * given.error + _ELEMENTARY)


def _softplus(module: Any, given: Range) -> Range:
    size = given.size + math.log(2) / float(module.beta)
    return Range(size, given.error + _ELEMENTARY * (size + given.error))


def _gate(module: Any, given: Range) -> Range:
    """SiLU, GELU: x times a factor in [0, 1]."""
    return Range(given.size, _slope(module) * given.error + _ELEMENTARY * given.seen)


def _elu(module: Any, given: Range) -> Range:
    alpha = abs(float(module.alpha))
    return Range(max(given.size, alpha), _slope(module) * given.error + _ELEMENTARY * alpha)


def _slope(module: nn.Module) -> float:
    """The supremum of an activation's slope."""
    known = activation(module)
    assert known is not None
    return known[0]


def _given(module: Any, given: Range) -> Range:
    return given


_RULES: dict[type[nn.Module] | tuple[type[nn.Module], ...], Callable[[Any, Range], Range]] = {
    nn.Linear: _dense,
    _CONVOLUTIONS: _convolution,
    _TRANSPOSES: _transpose,
    _pooling.AVERAGE: _average,
    (*_pooling.MAXIMUM, *_pooling.REFLECTION, *_pooling.REPLICATION): _given,
    _pooling.CONSTANT: _constant_pad,
    _NORMS: _batch_norm,
    Scale: _scale,
    (nn.ReLU6, nn.Hardtanh): _clamp,
    (nn.LeakyReLU, nn.PReLU): _leaky,
    (nn.Tanh, nn.Sigmoid): _bounded,
    nn.Softplus: _softplus,
    (nn.SiLU, nn.GELU): _gate,
    nn.ELU: _elu,
}
