"""Each operation with a record, called in each way that changes what it computes."""

from functools import cache

import pytest
import torch
from cases import slow_but
from mpmath import mp
from torch import nn
from torch.nn import functional as F

from rsbounds.torch import gradient_lipschitz_upper_bound, lipschitz_upper_bound
from rsbounds.torch.networks import _walk
from rsbounds.torch.networks.freeze import freeze
from rsbounds.torch.networks.operations import TABLE
from rsbounds.torch.networks.operations._record import NoBound, SizeAndError

WIDTH = 4.0  # of the cube that points are drawn in
LINE, ROWS, PICTURE, CUBE = (6,), (2, 6), (2, 5, 6), (1, 4, 4, 4)


def numbers(*shape):
    """Numbers without a pattern, the same at every call."""
    generator = torch.Generator().manual_seed(7)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


MATRIX, KERNEL, FOUR = numbers(6, 6), numbers(2, 2, 3), numbers(4)
STACK, BRICK, BLOCK = numbers(1, 5, 6, 3), numbers(3, 2, 3, 2), numbers(2, 1, 2, 2, 2)
MASK = torch.tensor([True, False, True, True, False, True])
POSITIONS = torch.tensor([0, 2, 2, 5, 0, 0])
MEAN, VARIANCE = numbers(2), numbers(2).square() + 0.1


def pooled(function, kernel, stride, **options):
    return lambda x: function(x, kernel, stride, **options)


def normed(x, **options):
    return F.batch_norm(x, MEAN, VARIANCE, **options)


#: For each operation: shape of the input, functions of a batch of one.
SUMS = {
    "neg.default": (LINE, [torch.neg]),
    "add.Tensor": (
        LINE,
        [
            lambda x: x + x.flip(1),
            lambda x: torch.add(x, MATRIX[0], alpha=-3),
            lambda x: torch.add(MATRIX[0], x, alpha=2.5),
            lambda x: x[:, :1] + MATRIX[0],
            lambda x: torch.add(x, x[:, :1], alpha=0.5),
        ],
    ),
    "sub.Tensor": (
        LINE,
        [lambda x: torch.sub(x, x.flip(1), alpha=4), lambda x: MATRIX[0] - x],
    ),
    "rsub.Tensor": (LINE, [lambda x: torch.rsub(x, MATRIX[0], alpha=-3)]),
    "rsub.Scalar": (LINE, [lambda x: torch.rsub(x, 2, alpha=-3)]),
    "mul.Tensor": (LINE, [lambda x: x * MATRIX[0], lambda x: x[:, :1] * MATRIX[1]]),
    "div.Tensor": (
        LINE,
        [lambda x: x / MATRIX[0], lambda x: x[:, :1] / MATRIX[1], lambda x: x / -3],
    ),
}
COPIES = {
    "reshape.default": (ROWS, [lambda x: x.permute(0, 2, 1).reshape(1, 4, 3)]),
    "permute.default": (ROWS, [lambda x: x.permute(0, 2, 1)]),
    "transpose.int": (ROWS, [lambda x: x.transpose(1, 2)]),
    "t.default": (LINE, [lambda x: x.t().reshape(1, 6)]),
    "movedim.int": (ROWS, [lambda x: x.movedim(1, 2)]),
    "select.int": (ROWS, [lambda x: x[:, 1]]),
    "slice.Tensor": (ROWS, [lambda x: x[:, :, 1:5:2]]),
    "narrow.default": (ROWS, [lambda x: x.narrow(2, 1, 3)]),
    "split.Tensor": (LINE, [lambda x: x.split(4, 1)[1]]),
    "split_with_sizes.default": (LINE, [lambda x: x.split([1, 5], 1)[1]]),
    "chunk.default": (LINE, [lambda x: x.chunk(4, 1)[2]]),
    "unbind.int": (ROWS, [lambda x: x.unbind(1)[1]]),
    "flip.default": (ROWS, [lambda x: x.flip([1, 2])]),
    "roll.default": (ROWS, [lambda x: x.roll(2, 2)]),
    "diagonal.default": (ROWS, [lambda x: x.diagonal(1, 1, 2)]),
    "pixel_shuffle.default": ((4, 2, 2), [lambda x: F.pixel_shuffle(x, 2)]),
    "pixel_unshuffle.default": ((1, 4, 4), [lambda x: F.pixel_unshuffle(x, 2)]),
    "channel_shuffle.default": ((4, 2, 2), [lambda x: F.channel_shuffle(x, 2)]),
    "tril.default": (ROWS, [lambda x: x.tril(-1)]),
    "triu.default": (ROWS, [lambda x: x.triu(1)]),
    "expand.default": (
        ROWS,
        [
            lambda x: x[:, None].expand(1, 3, 2, 6),
            lambda x: x.clone().copy_(x[:, :1]),
        ],
    ),
    "repeat.default": (ROWS, [lambda x: x.repeat(1, 2, 2)]),
    "tile.default": (ROWS, [lambda x: x.tile(2, 1)]),
    "repeat_interleave.self_int": (LINE, [lambda x: x.repeat_interleave(3, 1)]),
    "pad.default": (
        ROWS,
        [
            lambda x: F.pad(x, (2, -1), value=3.0),
            lambda x: F.pad(x, (2, 5), mode="reflect"),
            lambda x: F.pad(x, (4, 4), mode="replicate"),
            lambda x: F.pad(x, (6, 6), mode="circular"),
        ],
    ),
    "constant_pad_nd.default": (LINE, [lambda x: torch.constant_pad_nd(x, (1, 2), 5)]),
    "unfold.default": (LINE, [lambda x: x.unfold(1, 3, 1)]),
    "im2col.default": (PICTURE, [lambda x: F.unfold(x, 2, 1, 1, 1)]),
    "index.Tensor": (LINE, [lambda x: x[:, POSITIONS]]),
    "index_select.default": (LINE, [lambda x: x.index_select(1, POSITIONS)]),
    "upsample_nearest1d.vec": (ROWS, [lambda x: F.interpolate(x, scale_factor=1.5)]),
    "upsample_nearest2d.vec": (PICTURE, [lambda x: F.interpolate(x, size=(7, 9))]),
    "upsample_nearest3d.vec": (CUBE, [lambda x: F.interpolate(x, size=(5, 4, 9))]),
    "cat.default": (LINE, [lambda x: torch.cat([x, MATRIX[:1], 2 * x], 1)]),
    "stack.default": (LINE, [lambda x: torch.stack([x, 3 * x.flip(1), x], 2)]),
    "slice_scatter.default": (
        LINE,
        [lambda x: x.slice_scatter(x[:, :2] * 3, 1, 1, 5, 2)],
    ),
    "select_scatter.default": (ROWS, [lambda x: x.select_scatter(3 * x[:, 0], 1, 1)]),
    "where.self": (LINE, [lambda x: torch.where(MASK, x, x.flip(1))]),
    "masked_fill.Scalar": (LINE, [lambda x: x.masked_fill(MASK, 2.0)]),
}
FUNCTIONS = {
    "relu.default": (LINE, [torch.relu]),
    "relu6.default": (LINE, [lambda x: F.relu6(3 * x)]),
    "hardtanh.default": (
        LINE,
        [lambda x: F.hardtanh(x, -2.0, 0.5), lambda x: F.hardtanh(x, 0.0, 3.0)],
    ),
    "clamp.default": (LINE, [lambda x: x.clamp(-1, 2), lambda x: x.clamp(max=-1)]),
    "clip.default": (LINE, [lambda x: x.clip(0, 1)]),
    "clamp_min.default": (LINE, [lambda x: torch.clamp_min(x, 1)]),
    "clamp_max.default": (LINE, [lambda x: torch.clamp_max(x, 1)]),
    "abs.default": (LINE, [torch.abs]),
    "leaky_relu.default": (
        LINE,
        [lambda x, a=a: F.leaky_relu(x, a) for a in (0.1, -3.0, 2.0)],
    ),
    "prelu.default": (ROWS, [lambda x: F.prelu(x, MEAN), lambda x: F.prelu(x, -MEAN)]),
    "elu.default": (
        LINE,
        [
            lambda x: F.elu(x, 1.7),
            lambda x: F.elu(x, -0.5),
        ],
    ),
    "celu.default": (LINE, [lambda x: F.celu(x, 0.25)]),
    "selu.default": (LINE, [F.selu]),
    "hardsigmoid.default": (LINE, [F.hardsigmoid]),
    "hardswish.default": (LINE, [F.hardswish]),
}
SMOOTH = {
    "tanh.default": (LINE, [torch.tanh]),
    "sigmoid.default": (LINE, [torch.sigmoid]),
    "sin.default": (LINE, [torch.sin]),
    "cos.default": (LINE, [torch.cos]),
    "silu.default": (LINE, [F.silu]),
    "gelu.default": (LINE, [F.gelu]),
    "log_sigmoid.default": (LINE, [F.logsigmoid]),
    "softplus.default": (
        LINE,
        [lambda x: F.softplus(x, 2.5), lambda x: F.softplus(x, -0.5, 1e6)],
    ),
}
POOLS = {
    "avg_pool1d.default": (
        ROWS,
        [
            pooled(F.avg_pool1d, 3, 1, padding=1, count_include_pad=count, ceil_mode=up)
            for count in (True, False)
            for up in (True, False)
        ],
    ),
    "avg_pool2d.default": (
        PICTURE,
        [
            pooled(F.avg_pool2d, (3, 2), (2, 3), padding=1, count_include_pad=False),
            pooled(F.avg_pool2d, 3, 2, padding=1, ceil_mode=True),
            pooled(F.avg_pool2d, 2, None, divisor_override=-3),
            pooled(F.avg_pool2d, 2, 1, padding=1, divisor_override=1),
        ],
    ),
    "avg_pool3d.default": (CUBE, [pooled(F.avg_pool3d, 2, 1, divisor_override=5)]),
    "adaptive_avg_pool1d.default": (
        ROWS,
        [lambda x, n=n: F.adaptive_avg_pool1d(x, n) for n in (1, 4, 9)],
    ),
    "adaptive_avg_pool2d.default": (
        PICTURE,
        [lambda x: F.adaptive_avg_pool2d(x, (3, None))],
    ),
    "adaptive_avg_pool3d.default": (CUBE, [lambda x: F.adaptive_avg_pool3d(x, 3)]),
}
LARGEST = {
    "maximum.default": (
        LINE,
        [lambda x: torch.maximum(x, 2 * x.flip(1)), lambda x: x[:, :1].maximum(x)],
    ),
    "minimum.default": (LINE, [lambda x: torch.minimum(MATRIX[0], x)]),
    "max_pool1d.default": (
        ROWS,
        [
            pooled(F.max_pool1d, 3, 1),
            pooled(F.max_pool1d, 3, 2, padding=1, ceil_mode=True),
            pooled(F.max_pool1d, 3, 4, padding=1, dilation=2),
        ],
    ),
    "max_pool2d.default": (PICTURE, [pooled(F.max_pool2d, (2, 3), (1, 2), padding=1)]),
    "max_pool3d.default": (CUBE, [pooled(F.max_pool3d, 2, 1, dilation=2)]),
    "adaptive_max_pool1d.default": (
        ROWS,
        [lambda x, n=n: F.adaptive_max_pool1d(x, n) for n in (1, 4, 9)],
    ),
    "adaptive_max_pool2d.default": (
        PICTURE,
        [lambda x: F.adaptive_max_pool2d(x, (3, 6))],
    ),
    "adaptive_max_pool3d.default": (CUBE, [lambda x: F.adaptive_max_pool3d(x, 3)]),
    "amax.default": (ROWS, [lambda x: x.amax((1, 2)), lambda x: x.amax(2, True)]),
    "amin.default": (ROWS, [lambda x: x.amin(1, keepdim=True)]),
    "max.dim": (ROWS, [lambda x: x.max(1).values, lambda x: x.max(2, True)[0]]),
    "min.dim": (ROWS, [lambda x: x.min(2).values]),
    "max.default": (LINE, [lambda x: x.max().reshape(1)]),
    "min.default": (LINE, [lambda x: x.min().reshape(1)]),
    "sort.default": (
        ROWS,
        [lambda x: x.sort(1).values, lambda x: x.sort(2, descending=True).values],
    ),
    "sort.stable": (LINE, [lambda x: x.sort(dim=1, stable=True).values]),
    "topk.default": (
        ROWS,
        [lambda x: x.topk(2).values, lambda x: x.topk(1, 1, largest=False).values],
    ),
}
SHARES = {
    "softmax.int": (ROWS, [lambda x: x.softmax(1), lambda x: x.softmax(-1)]),
    "layer_norm.default": (
        ROWS,
        [
            lambda x: F.layer_norm(x, (6,), MATRIX[0], eps=0.1),
            lambda x: F.layer_norm(x, (2, 6), eps=2.0),
        ],
    ),
    "group_norm.default": (
        (4, 3),
        [lambda x: F.group_norm(x, 2, FOUR, FOUR, eps=0.3)],
    ),
}
WEIGHTED = {
    "sum.default": (LINE, [lambda x: x.sum().reshape(1)]),
    "sum.dim_IntList": (ROWS, [lambda x: x.sum((1, 2)), lambda x: x.sum(2, True)]),
    "mean.default": (LINE, [lambda x: x.mean().reshape(1)]),
    "mean.dim": (ROWS, [lambda x: x.mean(1), lambda x: x.mean((-1, 1), keepdim=True)]),
    "linear.default": (
        ROWS,
        [
            lambda x: F.linear(x, MATRIX[:3], MATRIX[0, :3]),
            lambda x: F.linear(x, MATRIX[0]),
        ],
    ),
    "matmul.default": (
        ROWS,
        [
            lambda x: x @ MATRIX,
            lambda x: MATRIX[:, :2] @ x,
            lambda x: x @ MATRIX[0],
            lambda x: MATRIX[0, :2] @ x,
            lambda x: x[:, None] @ STACK,
        ],
    ),
    "mm.default": (LINE, [lambda x: torch.mm(x, MATRIX)]),
    "bmm.default": (ROWS, [lambda x: torch.bmm(x, MATRIX[None])]),
    "conv1d.default": (
        ROWS,
        [
            lambda x: F.conv1d(x, KERNEL, MEAN, stride=2, padding=3),
            lambda x: F.conv1d(x, KERNEL, dilation=2),
            lambda x: F.conv1d(x, KERNEL[:, :1], groups=2),
            lambda x: F.conv1d(F.pad(x, (1, 1), mode="circular"), KERNEL),
            lambda x: F.conv1d(F.pad(x, (3, 3), mode="circular"), KERNEL),
            lambda x: F.conv1d(F.pad(x, (1, 1), mode="circular"), KERNEL, stride=2),
            lambda x: F.conv1d(x[0], KERNEL)[None],
        ],
    ),
    "conv1d.padding": (
        ROWS,
        [
            lambda x: F.conv1d(x, KERNEL, padding="same", dilation=2),
            lambda x: F.conv1d(x, KERNEL, padding="valid", stride=3),
        ],
    ),
    "conv2d.default": (
        PICTURE,
        [lambda x: F.conv2d(x, BRICK, stride=(1, 2), padding=(2, 0))],
    ),
    "conv2d.padding": (
        PICTURE,
        [lambda x: F.conv2d(x, BRICK, padding="same")],
    ),
    "conv3d.default": (CUBE, [lambda x: F.conv3d(x, BLOCK)]),
    "conv3d.padding": (
        CUBE,
        [lambda x: F.conv3d(x, BLOCK[:1, :, :, :1], padding="same")],
    ),
    "conv_transpose1d.default": (
        ROWS,
        [
            lambda x: F.conv_transpose1d(x, KERNEL, MEAN, 2, 1, 1),
            lambda x: F.conv_transpose1d(x, KERNEL, groups=2, dilation=3),
            lambda x: F.conv_transpose1d(x, KERNEL, stride=5, output_padding=4),
        ],
    ),
    "conv_transpose2d.input": (
        PICTURE,
        [lambda x: F.conv_transpose2d(x, BRICK.transpose(0, 1), stride=(2, 1))],
    ),
    "conv_transpose3d.input": (
        CUBE,
        [lambda x: F.conv_transpose3d(x, BLOCK.transpose(0, 1))],
    ),
    "_native_batch_norm_legit_no_training.default": (
        ROWS,
        [
            lambda x: normed(x, weight=MEAN, bias=MEAN, eps=0.5, momentum=0.9),
            lambda x: normed(F.conv1d(x, KERNEL), weight=-MEAN),
            lambda x: normed(F.conv_transpose1d(x, KERNEL[:, :1], groups=2)),
            lambda x: normed(F.linear(x[:, 0], MATRIX[:2]), weight=MEAN),
            lambda x: normed(F.linear(x, MATRIX), weight=MEAN),
        ],
    ),
}
AFFINE = {**SUMS, **COPIES, **POOLS, **WEIGHTED}
BENT = {**FUNCTIONS, **LARGEST, **SHARES}
ALL = {**AFFINE, **BENT, **SMOOTH}
#: Whose bound holds for all inputs, and is attained by none of a few.
LOOSE = {
    "softmax.int",
    "layer_norm.default",
    "group_norm.default",
    "max_pool3d.default",
}


class Forward(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@cache
def frozen(function, shape):
    return freeze(Forward(function), shape)


SLOW = pytest.mark.slow


def cases(table):
    """Each operation; the first function of every second one is quick."""
    return [
        pytest.param(
            name,
            shape,
            function,
            id=f"{name}-{k}",
            marks=[SLOW] * (k > 0 or place % 2),
        )
        for place, (name, (shape, functions)) in enumerate(table.items())
        for k, function in enumerate(functions)
    ]


def jacobians(graph, count=6):
    """At random points, as matrices."""
    generator = torch.Generator().manual_seed(1)
    points = torch.rand(
        (count, 1, *graph.shape), dtype=torch.float64, generator=generator
    )
    for x in WIDTH * (points - 0.5):
        found = torch.autograd.functional.jacobian(graph, x)
        yield x, found.reshape(-1, x.numel())


def test_each_record_is_called_here():
    assert {f"aten.{name}" for name in ALL} == TABLE.keys()


@pytest.mark.parametrize(("name", "shape", "function"), cases(ALL))
def test_bounds_of_slope_and_size(name, shape, function, monkeypatch):
    graph = frozen(function, shape)
    assert f"aten.{name}" in {step.operation for step in graph.steps}
    monkeypatch.setattr(_walk, "_ENTRIES", 0)  # the records' rules, not a matrix
    bound = lipschitz_upper_bound(graph, shape)
    found = list(jacobians(graph))
    largest = max(float(torch.linalg.matrix_norm(j, 2)) for _, j in found)
    # torch's hardsigmoid has a derivative in single precision
    assert largest <= bound * (1 + (1e-7 if "hardsig" in name else 1e-12))
    assert name in LOOSE or bound <= 2 * largest
    if name.endswith("_norm.default"):
        with pytest.raises(NoBound):
            _walk.computed(graph, SizeAndError(WIDTH / 2, 0.0))
        return
    size, error = _walk.computed(graph, SizeAndError(WIDTH / 2, 0.0))
    assert max(float(graph(x).abs().max()) for x, _ in found) <= size + error
    assert error < 1e-12


@pytest.mark.parametrize(("name", "shape", "function"), cases(AFFINE))
def test_derivatives_of_affine_operations_are_constant(name, shape, function):
    assert gradient_lipschitz_upper_bound(frozen(function, shape), shape) == 0.0


@pytest.mark.parametrize(("name", "shape", "function"), cases(BENT))
def test_derivatives_without_a_bound_are_refused(name, shape, function):
    with pytest.raises(ValueError, match="smooth activation"):
        gradient_lipschitz_upper_bound(frozen(function, shape), shape)


#: Functions of each number alone.
OF_ONE = {
    name: entry
    for name, entry in {**FUNCTIONS, **SMOOTH}.items()
    if name != "prelu.default"
}


@pytest.mark.parametrize(("name", "shape", "function"), cases(OF_ONE))
def test_bounds_of_slopes_are_reached(name, shape, function):
    bound = lipschitz_upper_bound(Forward(function), 1)
    x = torch.linspace(-20, 20, 40_001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(function(x).sum(), x)
    steepest = float(slope.abs().max())
    # torch's hardsigmoid has a derivative in single precision
    assert steepest * (1 - 1e-7) <= bound <= 1.01 * steepest


@pytest.mark.parametrize(("name", "shape", "function"), cases(SMOOTH))
def test_bounds_of_curvature(name, shape, function):
    bound = gradient_lipschitz_upper_bound(Forward(function), 1)
    x = torch.linspace(-9, 9, 40_001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    assert curvature.abs().max() <= bound <= 1.001 * curvature.abs().max()


EXACT = {
    "relu6": (F.relu6, lambda v: min(max(v, mp.zero), mp.mpf(6))),
    "hardsigmoid": (F.hardsigmoid, lambda v: min(max(v + 3, mp.zero), mp.mpf(6)) / 6),
    "hardswish": (
        F.hardswish,
        lambda v: v * min(max(v + 3, mp.zero), mp.mpf(6)) / 6,
    ),
    "sin": (torch.sin, mp.sin),
    "cos": (torch.cos, mp.cos),
    "gelu": (F.gelu, lambda v: v * mp.ncdf(v)),
    "log_sigmoid": (F.logsigmoid, lambda v: -mp.log1p(mp.exp(-v))),
    "softplus": (F.softplus, lambda v: mp.log1p(mp.exp(v))),
    "softplus, other way": (
        lambda x: F.softplus(x, -0.5, 1e6),
        lambda v: mp.log1p(mp.exp(-v / 2)) * -2,
    ),
    "celu": (
        lambda x: F.celu(x, 0.25),
        lambda v: v if v > 0 else mp.expm1(4 * v) / 4,
    ),
    "quotient": (lambda x: x / -0.7, lambda v: v / -mp.mpf(0.7)),
    "difference": (
        lambda x: torch.rsub(x, 0.3, alpha=0.7),
        lambda v: mp.mpf(0.3) - mp.mpf(0.7) * v,
    ),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("reach", slow_but([40.0], [1.0, 40.0, 900.0]))
def test_rounding_of_functions_is_within_its_bound(name, reach):
    function, exact = EXACT[name]
    graph = freeze(Forward(function), 400)
    bound = _walk.computed(graph, SizeAndError(reach, 0.0))
    x = torch.linspace(-reach, reach, 400, dtype=torch.float64)[None]
    with mp.workdps(60):
        for a, b in zip(x[0].tolist(), graph(x)[0].tolist(), strict=True):
            truth = exact(mp.mpf(a))
            assert abs(truth) <= bound.size
            assert abs(truth - mp.mpf(b)) <= bound.error
