"""What torch's layers compute of one input, in mpmath; norms of linear ones; a line."""

from functools import partial

import numpy as np
import torch
from mpmath import mp
from torch import nn

from rsbounds.torch import Concatenation, GroupSort, Residual, Scale

numbers = partial(np.vectorize, otypes=[object])
exactly = numbers(mp.mpf)


def values(tensor):
    return exactly(tensor.detach().double().numpy())


SCALARS = {
    nn.ReLU: lambda m, v: max(v, mp.zero),
    nn.ReLU6: lambda m, v: min(max(v, mp.zero), mp.mpf(6)),
    nn.Hardtanh: lambda m, v: min(max(v, mp.mpf(m.min_val)), mp.mpf(m.max_val)),
    nn.LeakyReLU: lambda m, v: v if v > 0 else mp.mpf(m.negative_slope) * v,
    nn.PReLU: lambda m, v: v if v > 0 else mp.mpf(m.weight.item()) * v,
    nn.ELU: lambda m, v: v if v > 0 else mp.mpf(m.alpha) * mp.expm1(v),
    nn.Tanh: lambda m, v: mp.tanh(v),
    nn.Sigmoid: lambda m, v: 1 / (1 + mp.exp(-v)),
    nn.SiLU: lambda m, v: v / (1 + mp.exp(-v)),
    nn.GELU: lambda m, v: v * mp.ncdf(v),
    nn.Softplus: lambda m, v: mp.log1p(mp.exp(m.beta * v)) / m.beta,
    Scale: lambda m, v: mp.mpf(m.factor) * v,
}


def real(m, x):
    """What a module computes of one input, in mpmath."""
    if isinstance(m, nn.Sequential):
        for part in m:
            x = real(part, x)
        return x
    if type(m) in SCALARS:
        return numbers(partial(SCALARS[type(m)], m))(x)
    if isinstance(m, nn.Linear):
        return values(m.weight) @ x + values(m.bias)
    if isinstance(m, nn.Flatten):
        return x.reshape(-1)
    if isinstance(m, nn.AvgPool2d | nn.MaxPool2d):
        k, (c, h, w) = m.kernel_size, x.shape
        cells = x.reshape(c, h // k, k, w // k, k)
        if isinstance(m, nn.AvgPool2d):
            return cells.sum((2, 4)) / (k * k)
        return cells.transpose(0, 1, 3, 2, 4).reshape(c, h // k, w // k, -1).max(3)
    if isinstance(m, nn.Conv2d | nn.ConvTranspose2d):
        return convolved(m, x) + values(m.bias)[:, None, None]
    if isinstance(m, nn.BatchNorm2d):
        mean, variance, scale, bias = (
            values(t)[:, None, None]
            for t in (m.running_mean, m.running_var, m.weight, m.bias)
        )
        return (x - mean) / numbers(mp.sqrt)(variance + mp.mpf(m.eps)) * scale + bias
    if isinstance(m, GroupSort):
        groups = x.reshape(-1, m.size, *x.shape[1:])
        return np.sort(groups, axis=1).reshape(x.shape)
    if isinstance(m, Residual):
        return x + real(m.branch, x)
    if isinstance(m, Concatenation):
        return np.concatenate([real(branch, x) for branch in m.branches])
    assert isinstance(m, nn.ConstantPad2d), m
    return np.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=mp.mpf(m.value))


def convolved(m, x):
    """By the definition, from the linear map of unit inputs: exact products, exact
    sums.
    """
    kernels = values(m.weight)
    k = kernels.shape[-1]
    if isinstance(m, nn.ConvTranspose2d):
        out = np.full(
            (kernels.shape[1], *(n + k - 1 for n in x.shape[1:])), mp.zero, dtype=object
        )
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                part = (kernels * x[:, i, j][:, None, None, None]).sum(0)
                out[:, i : i + k, j : j + k] += part
        return out
    p = m.padding[0]
    wide = np.pad(x, ((0, 0), (p, p), (p, p)), constant_values=mp.zero)
    size = [n - k + 1 for n in wide.shape[1:]]
    out = np.empty((len(kernels), *size), dtype=object)
    for i in range(size[0]):
        for j in range(size[1]):
            out[:, i, j] = (kernels * wide[None, :, i : i + k, j : j + k]).sum(
                (1, 2, 3)
            )
    return out


def exact(layer, shape):
    """Norm of a linear layer's matrix, by applying it to unit vectors in float64."""
    layer = layer.double().eval()
    size = int(np.prod(shape))
    with torch.no_grad():
        images = layer(torch.eye(size, dtype=torch.float64).reshape(size, *shape))
        zero = layer(torch.zeros(1, *shape, dtype=torch.float64))
    return float(np.linalg.norm((images - zero).reshape(size, -1).numpy(), 2))


def line(weight, bias=0.0):
    layer = nn.Linear(1, 1)
    layer.weight.data.fill_(weight), layer.bias.data.fill_(bias)
    return layer
