"""Bounds of sums, concatenations, sorting, padding, adaptive pooling, margins; and their time."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from exact_layers import exact
from torch import nn

from rsbounds.torch import (
    Concatenation,
    GroupSort,
    Residual,
    Scale,
    SigmaNetwork,
    gradient_lipschitz_upper_bound,
    lipschitz_upper_bound,
    margin_gradient_lipschitz_upper_bounds,
    margin_lipschitz_upper_bounds,
)
from rsbounds.torch.networks import _convolutions

pytestmark = pytest.mark.usefixtures("one_thread")


# how far a bound may exceed the norm, at the worst of the sizes tried
LINEAR = {
    "residual": (lambda: Residual(nn.Conv2d(2, 2, 3, padding=1)), (2, 9, 9), 1.5),
    "concatenation": (
        lambda: Concatenation(nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(2, 1, 1)), (2, 9, 9), 1.5
    ),
    "reflect": (
        lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (2, 8, 8), 3.2
    ),
    "reflect, wide": (
        lambda: nn.Conv1d(1, 1, 7, padding=3, padding_mode="reflect"), (1, 5), 1.9
    ),
    "replicate": (
        lambda: nn.Conv2d(1, 2, 3, 2, padding=1, padding_mode="replicate"), (1, 8, 8), 3.2
    ),
    "reflection pad": (lambda: nn.ReflectionPad1d((2, 2)), (1, 3), 1e-9),
    "replication pad": (lambda: nn.ReplicationPad2d((1, 2, 0, 3)), (1, 1, 1), 1e-9),
    "replication pad, large": (lambda: nn.ReplicationPad1d(2), (1, 9), 0.3),
    "zero pad": (lambda: nn.ZeroPad2d((1, -1, 2, 0)), (1, 4, 4), 1e-9),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d(1), (2, 1, 1), 1e-9),
    "adaptive, small input": (lambda: nn.AdaptiveAvgPool1d(5), (1, 1), 1e-9),
    "adaptive, two axes": (lambda: nn.AdaptiveAvgPool2d((3, None)), (1, 1, 4), 1e-9),
    "average, three axes": (lambda: nn.AvgPool3d(2), (1, 4, 4, 4), 1e-9),
}  # fmt: skip


@pytest.mark.parametrize("name", LINEAR)
def test_bounds_of_linear_layers_are_above_their_norms_and_near_them(name):
    make, shape, slack = LINEAR[name]
    torch.manual_seed(0)
    layer = make()
    norm = exact(layer, shape)
    bound = lipschitz_upper_bound(layer)
    assert norm <= bound <= (1 + slack) * norm
    assert gradient_lipschitz_upper_bound(layer) == 0.0


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 7, 11, 12])
def test_adaptive_pooling_of_any_input_is_below_its_bound(size):
    for cells in (1, 2, 3, 5):
        layer = nn.AdaptiveAvgPool1d(cells)
        norm = exact(layer, (1, size))
        assert norm <= lipschitz_upper_bound(layer)
        assert norm <= 1 + 1e-12 or size < cells  # as the docstring says


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding_of_the_worst_signal(mode):
    """All weight on what is copied most often: a bound without the copies would be too small."""
    layer = nn.Conv1d(1, 1, 3, padding=1, padding_mode=mode, bias=False)
    layer.weight.data = torch.tensor([[[1.0, 1.0, 1.0]]])
    size = 2 if mode == "reflect" else 1
    assert 3.0 <= exact(layer, (1, size)) + 1e-9 <= lipschitz_upper_bound(layer) + 1e-9


@pytest.mark.parametrize(
    "activation",
    [nn.PReLU(), nn.PReLU(3), nn.Hardtanh(-2, 0.5), GroupSort(), GroupSort(3)],
    ids=repr,
)
def test_slopes_of_activations(activation):
    torch.manual_seed(1)
    if isinstance(activation, nn.PReLU):
        activation.weight.data.uniform_(-3, 3)
        activation.weight.data[-1] = 2.5
    activation = activation.double().eval()
    size = 3 if isinstance(activation, nn.PReLU) and activation.num_parameters == 3 else 6
    x = 2 * torch.randn(4000, size, dtype=torch.float64)
    step = torch.randn_like(x) * torch.logspace(-6, 0, 4000, dtype=torch.float64)[:, None]
    step[:500] = 0
    step[:500, -1] = 1e-3  # the slope of one channel alone
    with torch.no_grad():
        slopes = (activation(x + step) - activation(x)).norm(dim=1) / step.norm(dim=1)
    bound = lipschitz_upper_bound(activation)
    # a difference of 1e-6 of numbers near 10 keeps nine digits
    assert 0.95 * bound <= slopes.max() <= bound * (1 + 1e-8)
    with pytest.raises(ValueError, match="use a smooth activation"):
        gradient_lipschitz_upper_bound(activation)


def test_group_sort_sorts_groups_of_channels():
    x = torch.randn(2, 6, 4, 5)
    found = GroupSort(3)(x)
    assert torch.equal(found[:, :3], x[:, :3].sort(1).values)
    assert torch.equal(found[:, 3:], x[:, 3:].sort(1).values)
    with pytest.raises(ValueError, match="size must be >= 2"):
        GroupSort(1)
    with pytest.raises(RuntimeError, match="shape"):
        GroupSort(4)(x)


def test_networks_of_all_of_them_keep_their_bound():
    torch.manual_seed(2)
    block = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.LeakyReLU(-2.0, inplace=True))
    net = nn.Sequential(
        *(nn.Conv2d(1, 4, 3, padding=1, padding_mode="reflect"), GroupSort(), Residual(block)),
        *(Concatenation(nn.PReLU(), nn.Sequential(nn.Hardtanh(inplace=True), Scale(0.5))),),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1)),
    )
    net = net.double().eval()
    x = torch.randn(500, 1, 8, 8, dtype=torch.float64)
    step = 1e-4 * torch.randn_like(x)
    with torch.no_grad():
        slopes = (net(x + step) - net(x)).abs()[:, 0] / step.flatten(1).norm(dim=1)
    assert 0 < slopes.max() <= lipschitz_upper_bound(net)
    assert SigmaNetwork(net, 0.5).scheme(64).parameters["lip"] == SigmaNetwork(net, 0.5).lip


def test_branches_that_work_in_place_get_a_copy():
    """Without it the sum would be of the changed input: 9 where the bound is 1 + 3."""
    residual = Residual(nn.LeakyReLU(-3.0, inplace=True)).eval()
    x = torch.tensor([-1.0])
    assert residual(x).item() == 2.0
    assert x.item() == -1.0
    both = Concatenation(nn.LeakyReLU(-3.0, inplace=True), nn.Identity()).eval()
    assert both(torch.tensor([[-1.0]])).tolist() == [[3.0, -1.0]]


def test_sums_that_would_broadcast_are_refused():
    residual = Residual(nn.Linear(3, 1)).eval()
    with pytest.raises(ValueError, match=r"shape of the shortcut, \(2, 3\); got \(2, 1\)"):
        residual(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="branches must hold at least one"):
        Concatenation()


def test_derivative_of_sums_and_concatenations():
    torch.manual_seed(5)
    part = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
    net = nn.Sequential(
        *(Residual(part, Scale(0.5)), Concatenation(nn.Sigmoid(), nn.Linear(6, 2))),
        *(nn.Softplus(), nn.Linear(8, 1)),
    )
    net = net.double().eval()
    bound = gradient_lipschitz_upper_bound(net)
    x = torch.randn(2000, 6, dtype=torch.float64, requires_grad=True)
    y = (x + 1e-3 * torch.randn_like(x)).detach().requires_grad_()
    gradients = [torch.autograd.grad(net(at).sum(), at)[0] for at in (x, y)]
    change = (gradients[0] - gradients[1]).norm(dim=1) / (x - y).norm(dim=1)
    assert 0.01 * bound <= change.max() <= bound


# margins


def test_bounds_of_margins_are_those_of_networks_of_one_margin():
    torch.manual_seed(7)
    net = nn.Sequential(nn.Linear(5, 8), nn.Softplus(), nn.Linear(8, 4), Scale(-0.5)).eval()
    found, slopes = margin_lipschitz_upper_bounds(net), margin_gradient_lipschitz_upper_bounds(net)
    whole, rows = lipschitz_upper_bound(net), net[2].weight.detach().double()
    assert found.shape == slopes.shape == (4, 4)
    for i in range(4):
        for j in range(4):
            one = nn.Sequential(nn.Linear(5, 8), nn.Softplus(), nn.Linear(8, 1)).double().eval()
            one.load_state_dict({k: v for k, v in net.state_dict().items() if k[0] == "0"}, False)
            one[2].weight.data = -0.5 * (rows[i] - rows[j])[None]
            assert found[i, j] == pytest.approx(lipschitz_upper_bound(one), rel=1e-10)
            assert slopes[i, j] == pytest.approx(gradient_lipschitz_upper_bound(one), rel=1e-10)
            assert found[i, j] <= 2**0.5 * whole * (1 + 1e-12)
    net = net.double()
    x = torch.randn(3000, 5, dtype=torch.float64)
    step = 1e-3 * torch.randn_like(x)
    with torch.no_grad():
        change = net(x + step) - net(x)
    seen = (change[:, :, None] - change[:, None]).abs() / step.norm(dim=1)[:, None, None]
    assert np.all(seen.amax(0).numpy() <= found)
    with pytest.raises(ValueError, match="last layer must be Linear; got the module Tanh"):
        margin_lipschitz_upper_bounds(nn.Sequential(nn.Linear(2, 2), nn.Tanh()).eval())


# time


WIDE = """
import time, torch
from rsbounds.torch import lipschitz_upper_bound
torch.manual_seed(0)
layer = torch.nn.Conv2d(128, 128, 3, padding=1).eval()
begin = time.process_time()
bound = lipschitz_upper_bound(layer)
first = time.process_time() - begin
begin = time.process_time()
assert lipschitz_upper_bound(layer) == bound
print(first, time.process_time() - begin, bound)
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_wide_convolution_is_quick_whatever_the_threads(threads):
    """Processor seconds: .5, and 41 with a pool of threads that spins; 2 leave room."""
    env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", WIDE], env=env, capture_output=True, text=True, check=True
    )
    first, again, bound = map(float, done.stdout.split())
    assert first < 2.0
    assert again < 0.1
    assert 1.0 < bound < 2.0


def test_kept_bounds_follow_the_weights(monkeypatch):
    """In-place changes of ``.data`` leave a tensor's version number as it is."""
    monkeypatch.setattr(_convolutions, "_norms", {})
    layer = nn.Conv2d(2, 2, 3, bias=False).eval()
    bounds = [lipschitz_upper_bound(layer)]
    for _ in range(2):
        layer.weight.data.mul_(2)
        bounds.append(lipschitz_upper_bound(layer))
    assert bounds[1] == pytest.approx(2 * bounds[0])
    assert bounds[2] == pytest.approx(4 * bounds[0])
    assert len(_convolutions._norms) == 3
    layer.stride = (2, 2)
    assert lipschitz_upper_bound(layer) != bounds[2]

    for i in range(300):
        layer = nn.Conv1d(1, 1, 1, bias=False).eval()
        layer.weight.data.fill_(i)
        assert lipschitz_upper_bound(layer) == pytest.approx(i)
    assert len(_convolutions._norms) <= 256
