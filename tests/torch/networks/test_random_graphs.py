"""Networks that hypothesis composes: no slope above the bound, no error above that of
the rounding.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from torch import nn

from rsbounds.torch import gradient_lipschitz_upper_bound, lipschitz_upper_bound
from rsbounds.torch.networks._rounding import UNIT
from rsbounds.torch.networks._walk import computed
from rsbounds.torch.networks.freeze import freeze

SIZE = 6


def rows(matrix, value):
    return value.reshape(1, SIZE) @ matrix


UNARY = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "abs": torch.abs,
    "clamp": lambda v: v.clamp(-0.5, 1.5),
    "softmax": lambda v: v.softmax(1),
    "sort": lambda v: v.sort(1, descending=True).values,
    "pairs": lambda v: v.reshape(1, 3, 2).sort(2).values.transpose(1, 2).reshape(1, 6),
    "slice": lambda v: torch.cat([v[:, 1:], v[:, :3:2]], 1)[:, :SIZE],
    "spread": lambda v: v.mean(1, keepdim=True) - 2 * v,
    "peak": lambda v: v.amax(1, keepdim=True).expand(1, SIZE),
    "pad": lambda v: nn.functional.pad(v[None], (2, 1), mode="reflect")[0, :, 1:7],
    "pool": lambda v: nn.functional.max_pool1d(v, 3, 1, 1),
    "average": lambda v: nn.functional.avg_pool1d(v, 3, 1, 1, ceil_mode=True),
    "write": lambda v: v.slice_scatter(v[:, :2] * 3, 1, 4, 6),
    "silu": nn.functional.silu,
    "softplus": nn.functional.softplus,
    "elu": lambda v: nn.functional.elu(v, 1.5),
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: 0.5 * a - b,
    "max": torch.maximum,
    "min": torch.minimum,
    "mix": lambda a, b: torch.stack([a, b], 2).flatten(1)[:, 3:9],
    "where": lambda a, b: torch.where(torch.arange(SIZE) % 2 == 0, a, b),
    "broadcast": lambda a, b: a[:, :1] + b,
}
SMOOTH = ("tanh", "sigmoid", "silu", "softplus", "slice", "spread", "average", "write")


class Composed(nn.Module):
    """Steps (operation, places of its inputs among the values so far)."""

    def __init__(self, steps, seed):
        super().__init__()
        self.steps = steps
        generator = torch.Generator().manual_seed(seed)
        self.layers = nn.ModuleList(nn.Linear(SIZE, SIZE) for _ in steps)
        self.convolution = nn.Conv1d(1, 1, 3, padding=1)
        for parameter in self.parameters():
            parameter.data.normal_(generator=generator)

    def forward(self, x):
        held = [x]
        for (name, first, second), layer in zip(self.steps, self.layers, strict=True):
            a, b = held[first % len(held)], held[second % len(held)]
            if name == "linear":
                held.append(layer(a))
            elif name == "convolution":
                held.append(self.convolution(a[None])[0])
            else:
                held.append(UNARY[name](a) if name in UNARY else BINARY[name](a, b))
        return held[-1]


def composed(names, most=7):
    place = st.integers(0, 20)
    step = st.tuples(st.sampled_from([*names, "linear", "convolution"]), place, place)
    steps = st.lists(step, min_size=1, max_size=most)
    return st.builds(Composed, steps, st.integers(0, 2**20))


def climbed(function, points):
    """The largest ratio that gradient ascent finds on pairs of points."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(points, SIZE, dtype=torch.float64, generator=generator)
    step = torch.randn(x.shape, dtype=torch.float64, generator=generator) * 0.1
    pair = torch.stack([x, x + step]).requires_grad_()
    best = 0.0
    for _ in range(15):
        moved = (function(pair[1]) - function(pair[0])).flatten(1).norm(dim=1)
        ratio = moved / (pair[1] - pair[0]).norm(dim=1).clamp_min(1e-6)
        best = max(best, ratio.detach().max().item())
        if not ratio.requires_grad:
            return best
        (slope,) = torch.autograd.grad(ratio.sum(), pair)
        with torch.no_grad():
            pair += 0.1 * slope / slope.norm().clamp_min(1e-12)
    return best


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(composed([*UNARY, *BINARY]))
def test_no_ascent_finds_a_slope_above_the_bound(net):
    graph = freeze(net, SIZE)
    bound = lipschitz_upper_bound(graph, SIZE)
    assert climbed(graph, 6) <= bound * (1 + 1e-9) + 1e-12


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(composed([*SMOOTH, "add", "sub", "mix", "broadcast"], most=5))
def test_no_ascent_finds_a_change_of_the_derivative_above_its_bound(net):
    graph = freeze(net, SIZE)
    bound = gradient_lipschitz_upper_bound(graph, SIZE)
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        x = torch.randn(1, SIZE, dtype=torch.float64, generator=generator)
        y = x + 0.05 * torch.randn(x.shape, dtype=torch.float64, generator=generator)
        at, to = (torch.autograd.functional.jacobian(graph, p)[0, :, 0] for p in (x, y))
        change = torch.linalg.matrix_norm(at - to, 2) / (x - y).norm()
        assert float(change) <= bound * (1 + 1e-9) + 1e-9


EXACT = {
    "relu": lambda v: [max(a, mp.zero) for a in v],
    "tanh": lambda v: [mp.tanh(a) for a in v],
    "sigmoid": lambda v: [1 / (1 + mp.exp(-a)) for a in v],
    "abs": lambda v: [abs(a) for a in v],
    "sort": lambda v: sorted(v, reverse=True),
    "spread": lambda v: [mp.fsum(v) / SIZE - 2 * a for a in v],
    "softmax": lambda v: [mp.exp(a) / mp.fsum(mp.exp(b) for b in v) for a in v],
    "silu": lambda v: [a / (1 + mp.exp(-a)) for a in v],
    "softplus": lambda v: [mp.log1p(mp.exp(a)) for a in v],
}
EXACT_PAIRS = {
    "add": lambda a, b: [x + y for x, y in zip(a, b, strict=True)],
    "sub": lambda a, b: [x / 2 - y for x, y in zip(a, b, strict=True)],
    "max": lambda a, b: [max(x, y) for x, y in zip(a, b, strict=True)],
}


def truth(net, x):
    """The same steps in mpmath."""
    held = [x]
    for (name, first, second), layer in zip(net.steps, net.layers, strict=True):
        a, b = held[first % len(held)], held[second % len(held)]
        if name == "linear":
            weight, bias = (t.detach().double().tolist() for t in layer.parameters())
            held.append(
                [
                    mp.fsum(mp.mpf(w) * v for w, v in zip(row, a, strict=True)) + c
                    for row, c in zip(weight, bias, strict=True)
                ]
            )
        elif name == "convolution":
            (kernel,), bias = (
                t.detach().double().reshape(1, -1).tolist()
                for t in net.convolution.parameters()
            )
            wide = [mp.zero, *a, mp.zero]
            held.append(
                [
                    mp.fsum(mp.mpf(k) * wide[i + j] for j, k in enumerate(kernel))
                    + bias[0][0]
                    for i in range(SIZE)
                ]
            )
        else:
            held.append(EXACT[name](a) if name in EXACT else EXACT_PAIRS[name](a, b))
    return held[-1]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(composed([*EXACT, *EXACT_PAIRS]), st.integers(0, 2**20))
def test_rounding_is_within_its_bound(net, seed):
    graph = freeze(net, SIZE)
    bound = computed(graph, UNIT)
    whole = np.random.default_rng(seed).integers(0, 256, (5, SIZE))
    results = graph(torch.from_numpy(whole / 255)).tolist()
    with mp.workdps(40):
        for row, result in zip(whole, results, strict=True):
            exact = truth(net, [mp.mpf(int(v)) / 255 for v in row])
            for a, b in zip(result, exact, strict=True):
                assert abs(mp.mpf(a) - b) <= bound.error
                assert abs(b) <= bound.size * (1 + 1e-12)


@pytest.mark.parametrize("name", ["add", "linear"])
def test_what_the_rounding_is_compared_with_can_fail(name):
    net = Composed([(name, 0, 0), ("linear", 1, 0)], 3)
    x = np.linspace(0.1, 1, SIZE)
    with mp.workdps(40):
        exact = truth(net, [mp.mpf(v) for v in x])
    single = net.float()(torch.from_numpy(x).float()[None])[0].tolist()
    error = max(abs(mp.mpf(a) - b) for a, b in zip(single, exact, strict=True))
    assert error > computed(freeze(net, SIZE), UNIT).error
