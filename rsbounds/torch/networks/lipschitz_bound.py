"""Proven l2 bounds of a torch module's Lipschitz constant and of its derivative's.

Nothing is estimated. A dense layer's norm is the largest singular value in float64 plus
the error bound of that computation; a convolution's is bounded through its symbol on
the torus. Bounds are multiplied and added as exact fractions and rounded up once.

A module stands for the exact function that its floating-point arithmetic approximates,
so ``Softplus`` is log(1 + exp(beta x))/beta, from which torch's linear part beyond a
threshold of 20 differs by 2.1e-9/beta.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from torch import nn

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks import _layers
from rsbounds.torch.networks._convolutions import convolution
from rsbounds.torch.networks._layers import activation, weight
from rsbounds.torch.networks._trust import (
    is_plain,
    name,
    overridden,
    refuse_hooks,
    require_eval,
    require_steady,
)
from rsbounds.torch.networks.combine import Concatenation, Residual, Scale

_LINEAR: dict[tuple[type[nn.Module], ...], Callable[[Any], float]] = {
    (nn.Linear,): _layers.dense,
    (*_layers.CONVOLUTIONS, *_layers.TRANSPOSES): convolution,
    _layers.AVERAGE: _layers.average_pool,
    _layers.ADAPTIVE: _layers.adaptive_average_pool,
    (*_layers.REFLECTION, *_layers.REPLICATION, *_layers.CONSTANT): _layers.pad,
    _layers.NORMS: _layers.batch_norm,
}
# range of a product of bounds other than 0, so that nested branches stay away from
# subnormals
_SMALLEST, _LARGEST = Fraction(1, 2**100), Fraction(2**500)


def lipschitz_upper_bound(module: nn.Module) -> float:
    """A proven upper bound of a module's Lipschitz constant from l2 to l2.

    Parameters
    ----------
    module : torch.nn.Module
        In eval mode, without forward hooks: ``Sequential``, :class:`Residual` and
        :class:`Concatenation` of linear layers, convolutions and their transposes,
        pooling, padding, batch normalisation, the usual activations. Any other module
        is asked through its own ``lipschitz_upper_bound()``. A subclass that overrides
        what the bound rests on is refused.

    Returns
    -------
    float
        Never below the true constant of any one layer; for a composition the product,
        which usually exceeds the true constant. A dense layer's bound is within 20
        max(rows, columns) 2^-52 of the truth (relative), a convolution's within 2 % for
        each axis of its kernel of the norm on the infinite lattice (with reflect
        padding up to sqrt(3) times that for each axis, with replicate padding up to the
        root of 1 + both sides).

    Raises
    ------
    ValueError
        A module in training mode, with hooks, with weights that are not finite, or
        without a proven bound here; bounds whose product leaves [2^-100, 2^500].

    References
    ----------
    Bergstrom, Sager, Anderson, Lipschitz standard deviation networks, whose power
    iteration bounds the norm from below and proves nothing. M. Riesz 1914 for the step
    from grid to torus.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import lipschitz_upper_bound
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = layer.weight.data.copy_(torch.tensor([[3.0, 0.0], [0.0, 1.0]]))
    >>> net = torch.nn.Sequential(layer, torch.nn.ReLU()).eval()
    >>> 3.0 <= lipschitz_upper_bound(net) < 3.001
    True
    """
    refuse_hooks(module)
    supplier = next(
        (c for c in type(module).__mro__ if "lipschitz_upper_bound" in vars(c)), None
    )
    if supplier is not None:
        changed = overridden(module, supplier)
        if changed:
            raise ValueError(
                f"no proven Lipschitz bound for {name(module)}: it overrides "
                f"{', '.join(changed)} of {supplier.__name__}, whose bound it would "
                "inherit"
            )
        bound = module.lipschitz_upper_bound()  # type: ignore[operator]
        return _finite(float(bound), module)
    require_eval(module)
    require_steady(module)
    if is_plain(module, nn.Sequential):
        return _round_up(reduce(mul, _bounds(list(module)), Fraction(1)))  # type: ignore[call-overload]
    if is_plain(module, Residual):
        return _round_up(
            sum(Fraction(lipschitz_upper_bound(part)) for part in _branches(module))
        )
    if is_plain(module, Concatenation):
        return _root(lipschitz_upper_bound(part) for part in _branches(module))
    constant = activation(module)
    if constant is not None:
        return constant[0]
    for kinds, rule in (*_LINEAR.items(), (_layers.MAXIMUM, _layers.max_pool)):
        if is_plain(module, kinds):
            return _finite(rule(module), module)
    raise ValueError(
        f"no proven Lipschitz bound for {name(module)}; give the module a method "
        "lipschitz_upper_bound() that returns one"
    )


def gradient_lipschitz_upper_bound(module: nn.Module) -> float:
    """A proven upper bound of the Lipschitz constant of a module's derivative.

    The derivative is measured in the spectral norm, inputs in l2: for one output this
    is the constant of the gradient; for differences g_i - g_j of outputs it is sqrt(2)
    times the bound. By Lip(D(g f)) <= Lip(Dg) Lip(f)^2 + Lip(g) Lip(Df) over the
    layers; for a dense layer after an elementwise function, Lip(D) is at most the
    supremum of that function's second derivative times the largest l2 norm of the dense
    layer's columns.

    Parameters, Returns and Raises as in :func:`lipschitz_upper_bound`, with smooth
    activations alone: ``Softplus``, ``Tanh``, ``Sigmoid``, ``SiLU``, ``GELU``. The
    bound of a linear module is 0.

    References
    ----------
    The constant L of Anderson, Sojoudi, Certified robustness via locally biased
    randomized smoothing, Theorem 8.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import gradient_lipschitz_upper_bound
    >>> layer = torch.nn.Linear(1, 1)
    >>> _ = layer.weight.data.fill_(2.0)
    >>> net = torch.nn.Sequential(layer, torch.nn.Sigmoid()).eval()
    >>> round(gradient_lipschitz_upper_bound(net), 4)  # 4 sup|sigmoid''|
    0.3849
    """
    refuse_hooks(module)
    chain = _layers_of(module)
    bound = Fraction(0)
    slope = Fraction(1)
    of_last = Fraction(0)  # the part of the bound by the last layer, if elementwise
    for layer, lip in zip(chain, _bounds(chain), strict=True):
        curvature = Fraction(_curvature(layer))
        elementwise = activation(layer) is not None
        if elementwise and lip == 1 and curvature == 0:
            continue
        if of_last and is_plain(layer, nn.Linear):
            column = Fraction(_longest_column(layer))
            bound = lip * (bound - of_last) + column * of_last
        else:
            bound = curvature * slope**2 + lip * bound
        of_last = curvature * slope**2 if elementwise else Fraction(0)
        slope *= lip
    return _round_up(bound)


def _curvature(layer: nn.Module) -> float:
    """A bound of the Lipschitz constant of one layer's derivative."""
    if is_plain(layer, Scale) or any(is_plain(layer, kinds) for kinds in _LINEAR):
        return 0.0
    if is_plain(layer, Residual):
        return _round_up(
            sum(Fraction(gradient_lipschitz_upper_bound(b)) for b in _branches(layer))
        )
    if is_plain(layer, Concatenation):
        return _root(gradient_lipschitz_upper_bound(b) for b in _branches(layer))
    constants = (1.0, None) if is_plain(layer, _layers.MAXIMUM) else activation(layer)
    if constants is None:
        raise ValueError(f"no proven bound of the derivative of {name(layer)}")
    if constants[1] is None:
        raise ValueError(
            f"the derivative of {name(layer)} is not Lipschitz: use a smooth "
            "activation (Softplus, Tanh, Sigmoid, SiLU, GELU)"
        )
    return constants[1]


def _layers_of(module: nn.Module) -> list[nn.Module]:
    """The parts of nested ``Sequential`` modules in their order."""
    if not isinstance(module, nn.Sequential):
        return [module]
    refuse_hooks(module)
    if not is_plain(module, nn.Sequential):
        raise ValueError(f"no proven bound of the derivative of {name(module)}")
    return [layer for part in module for layer in _layers_of(part)]


def _branches(module: Any) -> list[nn.Module]:
    return (
        [module.shortcut, module.branch]
        if isinstance(module, Residual)
        else module.branches
    )


def _bounds(parts: list[nn.Module]) -> list[Fraction]:
    """The bound of each part; ValueError where their products leave floating point."""
    bounds = []
    total = Fraction(1)
    for part in parts:
        bounds.append(Fraction(lipschitz_upper_bound(part)))
        total *= bounds[-1]
        if total and not _SMALLEST <= total <= _LARGEST:
            power = total.numerator.bit_length() - total.denominator.bit_length()
            raise ValueError(
                f"the bounds up to {name(part)} multiply to 2^{power}: floating-point "
                "numbers under- or overflow there, and compute another function"
            )
    return bounds


def _longest_column(layer: nn.Module) -> float:
    columns = weight(layer)
    return float(np.linalg.norm(columns, axis=0).max()) * (1 + (len(columns) + 8) * EPS)


def _root(bounds: Any) -> float:
    """The root of the sum of squares, rounded up."""
    return math.sqrt(_round_up(sum(Fraction(bound) ** 2 for bound in bounds))) * (
        1 + 4 * EPS
    )


def _round_up(value: Fraction | int) -> float:
    """The nearest float64 that is not below ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _finite(bound: float, module: nn.Module) -> float:
    if not 0 <= bound < math.inf:
        raise ValueError(
            f"the bound of {name(module)} must be finite and >= 0; got {bound}"
        )
    return bound
