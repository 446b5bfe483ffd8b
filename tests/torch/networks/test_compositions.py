"""Operations that follow each other: no shortcut of a pair is below the exact norm."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from rsbounds.torch import gradient_lipschitz_upper_bound, lipschitz_upper_bound
from rsbounds.torch.networks import _walk
from rsbounds.torch.networks.freeze import _needed, freeze

SHAPES = {1: (2, 6), 2: (2, 4, 5), 3: (2, 3, 2, 4)}
LARGEST = 400  # numbers of a result


def conv(axes):
    return getattr(F, f"conv{axes}d")


def transposed(axes):
    return getattr(F, f"conv_transpose{axes}d")


def padded(*sides, mode="constant", **options):
    """Pad each of the axes in the same way."""

    def make(shape, draw):
        every = sides * (len(shape) - 1)
        return lambda x: F.pad(x, every, mode=mode, **options)

    return make


def last_axis(*sides):
    """Pad around the last axis alone."""

    def make(shape, draw):
        every = sides + (0, 0) * (len(shape) - 2)
        return lambda x: F.pad(x, every, mode="circular")

    return make


def plain(function):
    return lambda shape, draw: function


def pooled(name, *arguments, **options):
    def make(shape, draw):
        function = getattr(F, f"{name}{len(shape) - 1}d")
        return lambda x: function(x, *arguments, **options)

    return make


def convolved(kernel=3, groups=1, mode=None, padding=0, **options):
    """A convolution, with the padding of a layer of that padding mode."""

    def make(shape, draw):
        axes = len(shape) - 1
        weight = draw(2 * groups, shape[0] // groups, *[kernel] * axes)
        run = partial(conv(axes), weight=weight, groups=groups, **options)
        if mode is None:
            return partial(run, padding=padding)
        sides = (padding, padding) * axes
        return lambda x: run(F.pad(x, sides, mode=mode))

    return make


def spread(kernel=3, groups=1, **options):
    """A transposed convolution."""

    def make(shape, draw):
        axes = len(shape) - 1
        weight = draw(shape[0], 2, *[kernel] * axes)
        return partial(transposed(axes), weight=weight, groups=groups, **options)

    return make


def dense(shape, draw):
    weight = draw(3, shape[-1])
    return lambda x: F.linear(x, weight)


def mixed(shape, draw):
    matrix = draw(shape[-2], shape[-2])
    return lambda x: matrix @ x


def normed(shape, draw):
    mean, weight = draw(shape[0]), draw(shape[0])
    variance = draw(shape[0]).square() + 0.1
    return lambda x: F.batch_norm(x, mean, variance, weight)


def residual(shape, draw):
    layer = convolved(padding="same")(shape, draw)
    return lambda x: x - layer(x).sum(1, keepdim=True)


PLACES = {
    "zeros": padded(1, 1),
    "constant": padded(2, 0, value=2.0),
    "cut": padded(-1, 1),
    "around": padded(1, 1, mode="circular"),
    "around, behind": padded(0, 1, mode="circular"),
    "around, before": padded(2, 0, mode="circular"),
    "around, wide": padded(2, 2, mode="circular"),
    "around, last axis": last_axis(1, 1),
    "reflect": padded(1, 1, mode="reflect"),
    "reflect, before": padded(1, 0, mode="reflect"),
    "replicate": padded(2, 1, mode="replicate"),
    "slice": plain(lambda x: x[..., 1:]),
    "steps": plain(lambda x: x[..., ::2]),
    "flip": plain(lambda x: x.flip(-1)),
    "roll": plain(lambda x: x.roll(1, -1)),
    "swap": plain(lambda x: x.transpose(1, -1)),
    "view": plain(lambda x: x.reshape(len(x), x.shape[-1], *x.shape[2:-1], x.shape[1])),
    "side by side": plain(lambda x: torch.cat([x, x.flip(-1)], 1)),
    "one after another": plain(lambda x: torch.cat([x, 2 * x], -1)),
    "average": pooled("avg_pool", 2, 1),
    "average, padded": pooled("avg_pool", 2, 2, padding=1, count_include_pad=False),
    "average, adaptive": pooled("adaptive_avg_pool", 3),
    "upsample": plain(lambda x: F.interpolate(x, scale_factor=2)),
    "scale": plain(lambda x: -1.5 * x),
}
WEIGHTS = {
    "convolution": convolved(),
    "stride": convolved(stride=2),
    "stride beyond the kernel": convolved(2, stride=3),
    "dilation": convolved(dilation=2),
    "dilation and stride": convolved(dilation=2, stride=2),
    "groups": convolved(groups=2),
    "padding": convolved(padding=1),
    "same": convolved(padding="same"),
    "valid": convolved(padding="valid", dilation=2),
    **{
        f"mode {mode}": convolved(padding=1, mode=mode, stride=stride)
        for mode, stride in (("circular", 1), ("reflect", 2), ("replicate", 1))
    },
    "mode circular, stride": convolved(padding=1, mode="circular", stride=2),
    "mode circular, groups": convolved(padding=1, mode="circular", groups=2),
    "transposed": spread(),
    "transposed, stride": spread(stride=2),
    "transposed, output padding": spread(stride=2, padding=1, output_padding=1),
    "transposed, dilation": spread(dilation=2),
    "transposed, groups": spread(groups=2, padding=1),
    "dense": dense,
    "mixed": mixed,
    "residual": residual,
}
BENT = {
    "largest": pooled("max_pool", 2, 1),
    "largest, apart": pooled("max_pool", 2, 2, padding=1),
    "largest, adaptive": pooled("adaptive_max_pool", 3),
    "relu": plain(torch.relu),
    "sort": plain(lambda x: x.sort(-1).values),
}
SMOOTH = {"tanh": plain(torch.tanh), "softplus": plain(F.softplus)}
NORM = {"norm": normed}
WEIGHTED = {**WEIGHTS, **NORM}
LINEAR = {**PLACES, **WEIGHTED}
ALL = {**LINEAR, **BENT, **SMOOTH}


def drawer(seed, positive):
    """Weights; where all are positive, what padding repeats adds up most."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        found = torch.randn(shape, dtype=torch.float64, generator=generator)
        return found.abs() if positive else found

    return draw


class Grown:
    """Chains of stages that share what they begin with, as branches share a trunk."""

    def __init__(self, shape, seed):
        self.shape = shape
        self.seed = seed
        self.stages = {(): []}
        self.results = {(): torch.rand((2, *shape), dtype=torch.float64)}
        self.signs = {(): None}

    def grow(self, names):
        """The stages of a chain; None where one doesn't fit."""
        for end in range(1, len(names) + 1):
            if names[:end] not in self.stages and not self._add(names[:end]):
                return None
        return self.stages[names]

    def _add(self, names):
        before = names[:-1]
        x = self.results[before]
        number = len(self.signs)
        sign = self.signs[before]
        if sign is None and names[-1] in WEIGHTED:
            sign = number % 2 == 0  # that of all weights behind it too
        self.signs[names] = sign
        draw = drawer(self.seed + number, positive=bool(sign))
        stage = ALL[names[-1]](tuple(x.shape[1:]), draw)
        try:
            x = stage(x)
        except (RuntimeError, ValueError):
            return False
        if not 0 < x.numel() <= 2 * LARGEST:
            return False
        self.stages[names] = [*self.stages[before], stage]
        self.results[names] = x
        return True


class Side(nn.Module):
    """The results of chains side by side; what they share is computed once."""

    def __init__(self, chains):
        super().__init__()
        self.chains = chains

    def forward(self, x):
        known = {(): x}
        for chain in self.chains:
            for end, stage in enumerate(chain):
                before = tuple(chain[:end])
                if (*before, stage) not in known:
                    known[*before, stage] = stage(known[before])
        ends = [known[tuple(chain)] for chain in self.chains]
        return torch.cat([end.flatten(1) for end in ends], 1)


def graphs(chains, shape):
    """The graph of each chain, by one export."""
    graph = freeze(Side(chains), shape)
    results = graph.steps[graph.result.number - 1].arguments["tensors"]
    return [_needed(replace(graph, result=result)) for result in results]


def in_turn(stages, x):
    for stage in stages:
        x = stage(x)
    return x


def compositions(many, axes, seed=0):
    """Names, functions and graphs of those that fit."""
    shape = SHAPES[axes]
    grown = Grown(shape, seed)
    fitting = {names: stages for names in many if (stages := grown.grow(names))}
    functions = [partial(in_turn, stages) for stages in fitting.values()]
    found = graphs(list(fitting.values()), shape)
    return list(zip(fitting, functions, found, strict=True))


def exact_norm(function, shape):
    size = int(np.prod(shape))
    units = torch.eye(size, dtype=torch.float64).reshape(size, *shape)
    images = (function(units) - function(torch.zeros_like(units))).reshape(size, -1)
    return float(np.linalg.norm(images.numpy(), 2))


def jacobian(graph, x):
    found = torch.autograd.functional.jacobian(graph, x[None], vectorize=True)
    return found.reshape(-1, x.numel())


def points(shape, count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((count, *shape), dtype=torch.float64, generator=generator)


def observed_norm(graph, count=3):
    found = [jacobian(graph, x) for x in points(graph.shape, count)]
    return max(float(torch.linalg.matrix_norm(j, 2)) for j in found)


def observed_change(graph, count=3):
    """The largest change of the derivative that is seen, over the distance."""
    shape, largest = graph.shape, 0.0
    pairs = zip(points(shape, count), points(shape, count, 1), strict=True)
    for x, away in pairs:
        y = x + 0.01 * away
        change = jacobian(graph, x) - jacobian(graph, y)
        rate = float(torch.linalg.matrix_norm(change, 2) / (x - y).norm())
        largest = max(largest, rate)
    return largest


def ratios(many, axes, seed=0):
    """Bound over norm for each composition, exact where all stages are linear."""
    shape = SHAPES[axes]
    found = {}
    for key, function, graph in compositions(many, axes, seed):
        linear = all(name in LINEAR for name in key)
        true = exact_norm(function, shape) if linear else observed_norm(graph)
        bound = lipschitz_upper_bound(graph, shape)
        assert true <= bound * (1 + 1e-12), (key, true, bound)
        found[key] = bound / true if true else np.inf
    return found


def bent_ratios(many, axes, seed=0):
    """The same for the derivative's constant and the changes that are seen."""
    found = {}
    for key, _, graph in compositions(many, axes, seed):
        seen = observed_change(graph)
        bound = gradient_lipschitz_upper_bound(graph, graph.shape)
        # the difference of two Jacobians is off by rounding, over a distance near 0.01
        assert seen <= bound * (1 + 1e-9) + 1e-9, (key, seen, bound)
        found[key] = bound / seen if seen else np.inf
    return found


def drawn(names, count, seed=0, before=((),)):
    """Each of some chains with so many of these names behind it, drawn."""
    picks = np.random.default_rng(seed).choice(list(names), (len(before), count))
    return [
        (*chain, str(name))
        for chain, row in zip(before, picks, strict=True)
        for name in row
    ]


def branches(names, seed=0):
    """40 pairs, two of which begin alike, and each with a third behind it."""
    pairs = drawn(names, 2, seed + 1, drawn(names, 20, seed))
    return [*pairs, *drawn(names, 1, seed + 2, pairs)]


@pytest.fixture
def without_matrices(monkeypatch):
    """The rules of the records alone, which larger inputs are bounded by."""
    monkeypatch.setattr(_walk, "_ENTRIES", 0)


def test_no_layer_behind_a_circle_has_a_bound_below_its_norm(without_matrices):
    assert len(ratios([("around", weight) for weight in WEIGHTS], 1)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_no_layer_behind_a_place_has_a_bound_below_its_norm(place, without_matrices):
    pairs = [(place, weight) for weight in WEIGHTS]
    found = ratios([*pairs, *[(*pair, "norm") for pair in pairs]], 1)
    assert len(found) > len(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("axes", SHAPES)
def test_no_chain_of_stages_has_a_bound_below_its_norm(axes, without_matrices):
    seed = 10 * axes  # other chains for each number of axes
    merged = drawn(WEIGHTS, 3, seed + 5, drawn(WEIGHTS, 8, seed + 4))
    merged = [(*names, "norm") for names in merged]
    bent = branches({**LINEAR, **BENT}, seed + 6)
    many = [*branches(LINEAR, seed), *merged, *bent]
    assert len(ratios(many, axes, seed)) > 50


@pytest.mark.slow
@pytest.mark.parametrize("axes", SHAPES)
def test_no_chain_of_smooth_stages_bends_more_than_its_bound(axes, without_matrices):
    bends = [(*first, bend) for first in drawn(LINEAR, 20) for bend in SMOOTH]
    chains = drawn(LINEAR, 1, 2, drawn(LINEAR, 4, 1, bends))
    assert len(bent_ratios(chains, axes)) > 50
