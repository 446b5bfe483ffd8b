"""Bounds of convolutions, from their symbol on the torus.

A convolution's operator is a compression of the convolution on the infinite lattice,
whose norm is the supremum over the torus of |W(theta)|_2. Each matrix element of W is a
trigonometric polynomial of degree (k - 1)/2 in every angle (up to a phase of modulus
1), so by M. Riesz's theorem a supremum M attained at t* leaves at least M cos((k - 1)/2
|t - t*|) nearby; the largest norm on a grid of n points an axis, no angle of which is
further than pi/n from a grid point, times prod 1/cos(pi (k - 1)/(2 n)) is a bound. A
stride makes k smaller and the number of input channels larger (polyphase form).
"""

import math
from functools import partial
from itertools import product

import numpy as np
import torch

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks.operations._norms import (
    Matrix,
    cached,
    frobenius,
    one_thread,
    spectral_norm,
)

_UP = 1 + 16 * EPS
_LARGE = (
    32  # channels from which a coarser grid, still within 2 % an axis, saves seconds
)
_CELLS = 2**19  # complex numbers of the symbol held at once


def convolution(
    weights: Matrix, stride: tuple[int, ...], dilation: tuple[int, ...], groups: int
) -> float:
    """Norm of a convolution with weights (out, in/groups, *kernel).

    Or of its adjoint, the transposed convolution with weights (in, out/groups,
    *kernel).
    """
    norms = []
    for group in weights.reshape(groups, -1, *weights.shape[1:]):
        norm = partial(_lattice_norm, group, stride, dilation)
        norms.append(cached(group, (stride, dilation), norm))
    return max(norms) * _UP


def _lattice_norm(
    weights: Matrix, stride: tuple[int, ...], dilation: tuple[int, ...]
) -> float:
    """Norm on the infinite lattice of a convolution, weights (out, in, *kernel)."""
    for axis, (step, spread) in enumerate(zip(stride, dilation, strict=True), start=2):
        if step > 1:
            weights = _polyphase(weights, axis, step, spread)
    shape = weights.shape[2:]
    points = [_points(k, min(weights.shape[:2])) for k in shape]
    flat = weights.reshape(*weights.shape[:2], -1)
    taps = np.array(list(product(*map(range, shape))))
    # real weights: W(-theta) is conjugate to W(theta), so half of the first axis is
    # enough
    grids = [np.arange(n) for n in points]
    grids[0] = grids[0][: points[0] // 2 + 1]
    angles = np.array(list(product(*grids)))
    turns = sum(
        (np.outer(angles[:, axis], taps[:, axis]) % n) * (1 / n)
        for axis, n in enumerate(points)
    )
    phases = np.exp(2j * np.pi * turns)
    rows = max(_CELLS // flat[..., 0].size, 1)
    largest = 0.0
    with one_thread():
        symbol = torch.from_numpy(flat.reshape(-1, len(taps)).T + 0j)
        for part in torch.split(torch.from_numpy(phases), rows):
            matrices = (part @ symbol).reshape(-1, *flat.shape[:2])
            largest = max(largest, spectral_norm(matrices))
    # each element is a sum of len(taps) terms, each with a phase within 32 eps an axis
    terms = len(taps) + 32 * len(points)
    error = 2 * terms * EPS * frobenius(np.abs(flat).sum(-1))
    riesz = 1.0
    for k, n in zip(shape, points, strict=True):
        riesz *= 1 / math.cos(math.pi * (k - 1) / (2 * n))
    return float((largest + error) * riesz * _UP)


def _points(kernel: int, channels: int) -> int:
    if kernel == 1:
        return 1
    return max(16, 8 * (kernel - 1)) if channels > _LARGE else max(32, 8 * kernel)


def _polyphase(weights: Matrix, axis: int, step: int, spread: int) -> Matrix:
    """A stride as more input channels: input position step p + r is channel r at p."""
    kernel = weights.shape[axis]
    length = -(-(spread * (kernel - 1) + 1) // step) * step
    moved = np.moveaxis(weights, axis, -1)
    wide = np.zeros((*moved.shape[:-1], length))
    wide[..., : spread * (kernel - 1) + 1 : spread] = moved
    phases = wide.reshape(*moved.shape[:-1], -1, step)  # (out, in, other axes, q, r)
    split = np.moveaxis(np.moveaxis(phases, -1, 2), -1, axis + 1)
    return split.reshape(weights.shape[0], -1, *split.shape[3:])
