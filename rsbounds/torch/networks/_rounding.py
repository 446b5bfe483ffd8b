"""How far a network's float64 arithmetic may lie from the exact function of its
weights.

A running error analysis in the maximum norm, for all inputs with coordinates in [0, 1]
at once: each layer maps a bound of its exact input's size and a bound of that input's
error to the same two bounds of its output. A sum of n products is within gamma_n of the
sum of their sizes, in any order and with any fused operations (Higham 2002, sections
3.1 and 3.5); torch convolves float64 numbers by such sums, on the CPU. Elementary
functions are assumed to be within 4 units in the last place (torch calls SLEEF's, which
claim 1).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from rsbounds._numerics.rounding import EPS
from rsbounds.schemes import level_slack
from rsbounds.torch.networks import _layers
from rsbounds.torch.networks._layers import activation, weight
from rsbounds.torch.networks._trust import is_plain, name
from rsbounds.torch.networks.combine import Concatenation, GroupSort, Residual, Scale

_U = EPS / 2
_UP = 1 + 1e-9  # for the rounding of these bounds themselves
_TINY = 1e-300  # what underflow may take from a sum
_ELEMENTARY = (
    16 * EPS
)  # of a function made of a few operations and elementary functions
# layers whose output is made of their inputs, or of 0
_SAME = (
    *(
        nn.ReLU,
        nn.Identity,
        nn.Flatten,
        nn.Unflatten,
        nn.Dropout,
        nn.Dropout2d,
        GroupSort,
    ),
    *(*_layers.MAXIMUM, *_layers.REFLECTION, *_layers.REPLICATION),
)


# Terms in a sum of adaptive pooling, at most: the module doesn't know its windows,
# and one of more numbers would fill 8 GiB.
_WINDOW = 2**30
# How large the rounding may be where no radius allows for it: a thousandth of what
# the level (or the mean) may move by over one lowest level, or this part of the level.
_SHARE = 1 / 1000
_LEAST = 2.0**-33


class NoBound(ValueError):
    """No bound of the rounding of a layer is known."""


class Range(NamedTuple):
    """Bounds in the maximum norm: the exact value's size, the computed one's error."""

    size: float
    error: float

    @property
    def seen(self) -> float:
        """A bound of the computed value's size."""
        return self.size + self.error


UNIT = Range(1.0, _U)  # the points of the grid in [0, 1], as whole numbers over 255


def computed(module: nn.Module, given: Range) -> Range:
    """The range of a module's output; NoBound for a layer whose rounding has none.

    The caller has asked for the module's Lipschitz bound before, which refuses hooks
    and overrides.
    """
    size, error = _computed(module, given)
    return Range(size * _UP, error * _UP + _TINY)


def level(network: Any, given: Range) -> float:
    """A bound of the error of a sigma network's level, max(h, 0) + sigma_min."""
    size, error = computed(network.h, given)
    floor = float(network.sigma_min)
    return (error + EPS * (size + error + floor)) * _UP


def require_small(network: Any, lip: float, given: Range = UNIT) -> None:
    """ValueError where rounding would move a sigma network's level beyond its rate.

    A radius without an allowance for rounding rests on the exact function. The layers
    may cancel, however: with biases of 1e16 and -1e16 between them, what runs is a
    staircase whose steps no constant bounds. The author of a module that brings its
    own Lipschitz bound answers for its rounding.
    """
    try:
        error = level(network, given)
    except NoBound:
        return
    floor = float(network.sigma_min)
    if not 2 * error <= max(_SHARE * lip, _LEAST) * floor:
        raise ValueError(
            "the level must not drown in rounding: in float64 it may be off by "
            f"{error:.2g} with a Lipschitz bound of {lip:.2g} and a floor of {floor}; "
            "its layers compute with numbers that are too large"
        )


def require_small_maps(generator: Any, lip: float, mean_lip: float) -> None:
    """The same for the level and the mean of a generator."""
    given = _scaled_input(generator)
    require_small(generator.level, lip, given)
    try:
        moved = _shift(generator, given)
    except NoBound:
        return
    floor = float(generator.level.sigma_min)
    if not moved <= _SHARE * (1 + mean_lip) * floor:
        raise ValueError(
            "the mean must not drown in rounding: in float64 it may be off by "
            f"{moved:.2g} where the lowest level is {floor:g}; its layers compute with "
            "numbers that are too large"
        )


def rounding_slacks(generator: Any) -> dict[str, float]:
    """How far a level and a mean on the grid may move beyond their bounds."""
    given = _scaled_input(generator)
    slack = level_slack(level(generator.level, given), generator.level.sigma_min)
    return {"slack": slack, "shift": _shift(generator, given)}


def _scaled_input(generator: Any) -> Range:
    """Of the grid's points divided by the shape.

    Each coordinate is within 3 u of a number of at most 1 over the smallest axis.
    """
    size = 1 / float(generator.shape.min()) * _UP
    return Range(size, 3 * _U * size)


def _shift(generator: Any, given: Range) -> float:
    """How much further apart than their exact values two means may be, in l2.

    Each is off by at most sqrt(d) times its error in the maximum norm.
    """
    moved = computed(generator.mean, given).error
    return 2 * math.sqrt(generator.shape.numel()) * moved * _UP


def _computed(part: Any, given: Range) -> Range:
    size, error = given
    if is_plain(part, nn.Sequential):
        for child in part:
            given = computed(child, given)
        return given
    if is_plain(part, Residual):
        a, b = (computed(m, given) for m in (part.shortcut, part.branch))
        return Range(a.size + b.size, a.error + b.error + _U * (a.seen + b.seen))
    if is_plain(part, Concatenation):
        sizes, errors = zip(*(computed(m, given) for m in part.branches), strict=True)
        return Range(max(sizes), max(errors))
    if is_plain(part, _SAME):
        return given
    if is_plain(part, Scale):
        return _scaled(abs(float(part.factor)), given)
    if is_plain(part, (nn.LeakyReLU, nn.PReLU)):
        return _scaled(_slope(part), given)
    if is_plain(part, (nn.ReLU6, nn.Hardtanh)):
        return Range(max(abs(float(part.min_val)), abs(float(part.max_val))), error)
    if is_plain(part, _layers.CONSTANT):
        return Range(max(size, abs(float(getattr(part, "value", 0.0)))), error)
    if is_plain(part, (nn.Tanh, nn.Sigmoid)):
        return Range(1.0, _slope(part) * error + _ELEMENTARY)
    if is_plain(part, nn.Softplus):
        size += math.log(2) / float(part.beta)
        return Range(size, error + _ELEMENTARY * (size + error))
    if is_plain(part, (nn.SiLU, nn.GELU)):  # x times a factor in [0, 1]
        return Range(size, _slope(part) * error + _ELEMENTARY * given.seen)
    if is_plain(part, nn.ELU):
        alpha = abs(float(part.alpha))
        return Range(max(size, alpha), _slope(part) * error + _ELEMENTARY * alpha)
    if is_plain(part, _layers.NORMS):
        return _batch_norm(part, given)
    return _affine(part, given)


def _affine(part: Any, given: Range) -> Range:
    """Of a layer of weighted sums, from its largest sum of weights' sizes and terms in
    a sum.
    """
    bias = getattr(part, "bias", None)
    if is_plain(part, nn.Linear):
        sums, terms = np.abs(weight(part)).sum(1).max(), part.in_features
    elif is_plain(part, _layers.CONVOLUTIONS):
        kernels = np.abs(weight(part))
        sums, terms = kernels.reshape(len(kernels), -1).sum(1).max(), kernels[0].size
    elif is_plain(part, _layers.TRANSPOSES):
        kernels = np.abs(weight(part))  # (in, out/groups, ...)
        inputs = len(kernels) // part.groups
        kernels = kernels.reshape(part.groups, inputs, kernels.shape[1], -1)
        sums, terms = kernels.sum((1, 3)).max(), inputs * kernels.shape[-1]
    elif is_plain(part, _layers.AVERAGE):
        sums, terms = 1.0, _layers.windows(part)[1]
    elif is_plain(part, _layers.ADAPTIVE):
        sums, terms = 1.0, _WINDOW
    else:
        raise NoBound(
            f"no bound of the rounding of {name(part)} is known, which sound noise "
            "needs; use layers, pooling and activations of torch.nn"
        )
    offset = 0.0 if bias is None else float(bias.detach().abs().max())
    gamma = (terms + 1) * _U / (1 - (terms + 1) * _U)
    lost = gamma * (float(sums) * given.seen + offset)
    return Range(float(sums) * given.size + offset, float(sums) * given.error + lost)


def _batch_norm(module: Any, given: Range) -> Range:
    variance, mean = (
        v.detach().cpu().double().numpy()
        for v in (module.running_var, module.running_mean)
    )
    scale = 1.0 if module.weight is None else np.abs(weight(module))
    scale = scale / np.sqrt(variance + module.eps)
    bias = (
        0.0
        if module.bias is None
        else module.bias.detach().abs().cpu().double().numpy()
    )
    seen = float((scale * (given.seen + np.abs(mean)) + bias).max())
    return Range(seen, float(scale.max()) * given.error + _ELEMENTARY * seen)


def _scaled(factor: float, given: Range) -> Range:
    return Range(factor * given.size, factor * given.error + _U * factor * given.seen)


def _slope(module: nn.Module) -> float:
    """The supremum of an activation's slope."""
    return (activation(module) or (math.nan,))[0]
