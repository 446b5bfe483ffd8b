"""Proven Lipschitz bounds against exact norms of small operators, observed slopes and
changes.
"""

from fractions import Fraction

import numpy as np
import pytest
import torch
from cases import quick_each
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
)
from rsbounds.torch.networks import _walk
from rsbounds.torch.networks.freeze import freeze
from rsbounds.torch.networks.operations import _norms

CIRCULAR, REFLECT = {"padding_mode": "circular"}, {"padding_mode": "reflect"}
# an input's shape, and how far the bound may exceed the norm there: the operator on a
# finite image is a compression of the lattice's, some per cent below
LINEAR = {
    "dense": (lambda: nn.Linear(30, 20), (30,), 1e-9),
    "conv": (lambda: nn.Conv2d(2, 3, 3, padding=1), (2, 14, 14), 0.05),
    "stride": (lambda: nn.Conv2d(2, 3, 4, stride=2, padding=1), (2, 16, 16), 0.10),
    "stride beyond the kernel": (
        lambda: nn.Conv2d(2, 3, 2, stride=3),
        (2, 12, 12),
        0.02,
    ),
    "mixed": (
        lambda: nn.Conv2d(2, 3, (3, 2), (1, 2), (2, 1), (2, 3)),
        (2, 14, 14),
        0.15,
    ),
    "groups": (lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2), (4, 10, 10), 0.10),
    "circular": (lambda: nn.Conv2d(2, 2, 3, padding=1, **CIRCULAR), (2, 12, 12), 0.04),
    "same": (lambda: nn.Conv2d(2, 2, 3, padding="same"), (2, 12, 12), 0.08),
    "three axes": (lambda: nn.Conv3d(1, 2, 2, padding=1), (1, 5, 5, 5), 0.15),
    "transposed": (lambda: nn.ConvTranspose2d(3, 2, 4, 2, 1), (3, 7, 7), 0.12),
    "transposed, output padding": (
        lambda: nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, groups=2),
        (2, 7, 7),
        0.12,
    ),
    "reflect": (lambda: nn.Conv2d(2, 3, 3, padding=1, **REFLECT), (2, 8, 8), 3.2),
    "reflect, wide": (lambda: nn.Conv1d(1, 1, 7, padding=3, **REFLECT), (1, 5), 1.9),
    "replicate": (
        lambda: nn.Conv2d(1, 2, 3, 2, padding=1, padding_mode="replicate"),
        (1, 8, 8),
        3.2,
    ),
    "average": (lambda: nn.AvgPool2d(3, 2, padding=1), (1, 12, 12), 1.0),
    "average, apart": (lambda: nn.AvgPool2d(2), (1, 12, 12), 1e-9),
    "average, three axes": (lambda: nn.AvgPool3d(2), (1, 4, 4, 4), 1e-9),
    "residual": (lambda: Residual(nn.Conv2d(2, 2, 3, padding=1)), (2, 9, 9), 1.5),
    "concatenation": (
        lambda: Concatenation(nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(2, 1, 1)),
        (2, 9, 9),
        1.5,
    ),
    "reflection pad": (lambda: nn.ReflectionPad1d((2, 2)), (1, 3), 1e-9),
    "replication pad": (lambda: nn.ReplicationPad2d((1, 2, 0, 3)), (1, 1, 1), 1e-9),
    "zero pad": (lambda: nn.ZeroPad2d((1, -1, 2, 0)), (1, 4, 4), 1e-9),
    "adaptive": (lambda: nn.AdaptiveAvgPool2d(1), (2, 1, 1), 1e-9),
    "adaptive, two axes": (lambda: nn.AdaptiveAvgPool2d((3, None)), (1, 1, 4), 1e-9),
}


@pytest.mark.parametrize("name", quick_each(2, LINEAR))
def test_bounds_of_linear_layers_are_above_their_norms_and_near_them(name, monkeypatch):
    make, shape, loose = LINEAR[name]
    slack = min(loose, 1e-8)
    torch.manual_seed(0)
    layer = make().double().eval()
    norm, graph = exact(layer, shape), freeze(layer, shape)
    assert norm <= lipschitz_upper_bound(graph, shape) <= norm * (1 + slack)
    assert gradient_lipschitz_upper_bound(graph, shape) == 0.0
    # without the matrix, which larger inputs don't have
    monkeypatch.setattr(_walk, "_ENTRIES", 0)
    assert norm <= lipschitz_upper_bound(graph, shape) <= norm * (1 + loose)


def test_bound_is_above_the_largest_frequency_between_grid_points(monkeypatch):
    monkeypatch.setattr(_walk, "_ENTRIES", 0)  # no matrix of a finite input
    # a single frequency, off every grid: the worst case of the step from grid to torus
    for angle in np.linspace(0.0, 0.2, 11):
        layer = nn.Conv1d(1, 2, 4, bias=False).double().eval()
        wave = np.exp(1j * angle * np.arange(4))
        layer.weight.data = torch.tensor(np.stack([wave.real, wave.imag])[:, None])
        theta = np.linspace(-0.5, 0.5, 20001)
        taps = np.exp(1j * np.outer(theta, np.arange(4)))
        truth = np.sqrt(sum(abs(taps @ w) ** 2 for w in (wave.real, wave.imag))).max()
        assert truth <= lipschitz_upper_bound(layer, (1, 999)) <= 1.02 * truth


def test_adaptive_pooling_of_any_input_is_below_its_bound():
    for size in (1, 2, 3, 4, 7, 12):
        for cells in (1, 2, 3, 5):
            layer = nn.AdaptiveAvgPool1d(cells)
            norm = exact(layer, (1, size))
            bound = lipschitz_upper_bound(layer, (1, size))
            assert norm <= bound <= norm * (1 + 1e-12)
            assert norm <= 1 + 1e-12 or size < cells


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding_of_the_worst_signal(mode):
    """All weight on what is copied most often: a bound without the copies would be too
    small.
    """
    layer = nn.Conv1d(1, 1, 3, padding=1, padding_mode=mode, bias=False)
    layer.weight.data = torch.tensor([[[1.0, 1.0, 1.0]]])
    size = 2 if mode == "reflect" else 1
    assert (
        3.0
        <= exact(layer, (1, size)) + 1e-9
        <= lipschitz_upper_bound(layer, (1, size)) + 1e-9
    )


def test_power_iteration_under_estimates_and_the_bound_does_not():
    # few steps of power iteration on a flat spectrum: the scaled layer's norm is above
    # 1
    torch.manual_seed(0)
    layer = nn.utils.parametrizations.spectral_norm(nn.Conv2d(8, 8, 3, padding=1))
    for _ in range(5):
        layer(torch.zeros(1, 8, 8, 8))
    norm = exact(layer, (8, 8, 8))
    assert norm > 1.05
    assert norm <= lipschitz_upper_bound(layer, (8, 8, 8)) <= 1.1 * norm


def test_max_pooling_batch_norm_and_slopes_of_channels():
    x = torch.zeros(1, 1, 5, 5)
    y = x.clone()
    y[0, 0, 2, 2] = 1.0  # seen by all nine windows of width 3
    pool = nn.MaxPool2d(3, 1).eval()
    assert float((pool(x) - pool(y)).norm()) == pytest.approx(3.0)
    assert lipschitz_upper_bound(pool, (1, 5, 5)) == pytest.approx(3.0, rel=1e-12)
    assert lipschitz_upper_bound(nn.MaxPool2d(2), (1, 5, 5)) == 1.0
    norm = nn.BatchNorm2d(3)
    norm(torch.randn(50, 3, 4, 4) * torch.tensor([1.0, 5.0, 0.1])[:, None, None])
    truth = exact(norm, (3, 2, 2))
    assert truth <= lipschitz_upper_bound(norm, (3, 2, 2)) <= truth * (1 + 1e-9)
    channels = nn.PReLU(3).eval()
    channels.weight.data = torch.tensor([0.5, -3.0, 2.0])
    assert lipschitz_upper_bound(channels, 3) == 3.0


def test_group_sort_sorts_groups_of_channels():
    x = torch.randn(2, 6, 4, 5)
    result = GroupSort(3)(x)
    assert torch.equal(result[:, :3], x[:, :3].sort(1).values)
    assert torch.equal(result[:, 3:], x[:, 3:].sort(1).values)
    assert lipschitz_upper_bound(GroupSort(), 4) == 1.0


def test_branches_that_work_in_place_get_a_copy_and_sums_do_not_broadcast():
    """Without the copy the sum would be of the changed input: 9 where the bound is 1 +
    3.
    """
    residual = Residual(nn.LeakyReLU(-3.0, inplace=True)).eval()
    x = torch.tensor([-1.0])
    assert residual(x).item() == 2.0
    assert x.item() == -1.0
    both = Concatenation(nn.LeakyReLU(-3.0, inplace=True), nn.Identity()).eval()
    assert both(torch.tensor([[-1.0]])).tolist() == [[3.0, -1.0]]
    with pytest.raises(ValueError, match=r"shortcut.*\(2, 3\)"):
        Residual(nn.Linear(3, 1)).eval()(torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"branches.*one"):
        Concatenation()


def images():
    block = nn.Sequential(
        nn.Conv2d(4, 4, 3, padding=1), nn.LeakyReLU(-2.0, inplace=True)
    )
    return nn.Sequential(
        *(nn.Conv2d(1, 4, 3, padding=1, **REFLECT), GroupSort(), Residual(block)),
        *(
            Concatenation(
                nn.PReLU(), nn.Sequential(nn.Hardtanh(inplace=True), Scale(0.5))
            ),
        ),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1)),
    )


def plain():
    return nn.Sequential(
        *(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64, 8), nn.Dropout(), nn.ELU(), nn.Linear(8, 1)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("make", [images, plain])
def test_compositions_are_above_every_observed_slope(make):
    torch.manual_seed(3)
    net = make().double().eval()
    x = torch.randn(500, 1, 8, 8, dtype=torch.float64)
    step = 1e-3 * torch.randn_like(x)
    with torch.no_grad():
        slopes = (net(x + step) - net(x)).abs()[:, 0] / step.flatten(1).norm(dim=1)
    bound = lipschitz_upper_bound(net, (1, 8, 8))
    assert 0 < slopes.max() <= bound
    product, shapes = 1.0, [(1, 8, 8)]
    for layer in net:
        product *= lipschitz_upper_bound(layer, shapes[-1])
        shapes.append(layer(torch.zeros(1, *shapes[-1], dtype=torch.float64)).shape[1:])
    assert bound <= product * (1 + 1e-9)
    assert SigmaNetwork(net, 0.5).scheme((1, 8, 8)).parameters["lip"] <= bound


def test_small_products_are_rounded_up():
    third = Fraction(1 / 3)
    for parts in (1, 2, 3, 10):
        bound = Fraction(
            lipschitz_upper_bound(nn.Sequential(*[Scale(1 / 3)] * parts), 1)
        )
        assert third**parts <= bound <= third**parts * (1 + Fraction(1, 2**51))
    assert lipschitz_upper_bound(nn.Sequential(Scale(1e-20), Scale(0.0)), 1) == 0.0
    nested = Scale(1e-28)
    for _ in range(9):  # 1e-280 in the innermost branch: still no subnormal number
        nested = nn.Sequential(Scale(1e-28), Residual(nested), Scale(1e28))
    assert lipschitz_upper_bound(nested, 1) > 0


def smooth_networks():
    torch.manual_seed(5)
    branches = nn.Sequential(
        *(Residual(nn.Sequential(nn.Linear(6, 6), nn.Tanh()), Scale(0.5)),),
        *(Concatenation(nn.Sigmoid(), nn.Linear(6, 2)), nn.Softplus(), nn.Linear(8, 1)),
    )
    return [branches] + [
        nn.Sequential(
            nn.Linear(6, 12), f, nn.Identity(), nn.Linear(12, 5), f, nn.Linear(5, 1)
        )
        for f in (nn.Softplus(3.0), nn.Tanh(), nn.Sigmoid(), nn.SiLU())
    ]


def test_bound_of_the_derivative_is_above_every_observed_change():
    for net in smooth_networks():
        net = net.double().eval()
        bound = gradient_lipschitz_upper_bound(net, 6)
        x = torch.randn(2000, 6, dtype=torch.float64, requires_grad=True)
        y = (x + 1e-3 * torch.randn_like(x)).detach().requires_grad_()
        gradients = [torch.autograd.grad(net(at).sum(), at)[0] for at in (x, y)]
        change = (gradients[0] - gradients[1]).norm(dim=1) / (x - y).norm(dim=1)
        assert 0.01 * bound <= change.max() <= bound


def test_bound_of_the_derivative_where_it_is_attained():
    # sup|phi''| |W1|^2 max|w2|: attained here, where one unit works alone
    net = nn.Sequential(
        nn.Linear(2, 2, bias=False), nn.Softplus(), nn.Linear(2, 1, bias=False)
    )
    net[0].weight.data = 2 * torch.eye(2)
    net[2].weight.data = torch.tensor([[3.0, 1.0]])
    assert gradient_lipschitz_upper_bound(net, 2) == pytest.approx(3.0, rel=1e-9)
    net = nn.Sequential(
        Scale(-3.0), nn.Sigmoid(), Scale(2.0), nn.Identity(), nn.Linear(1, 1)
    )
    net[-1].weight.data.fill_(1.0)
    assert lipschitz_upper_bound(net, 1) == pytest.approx(1.5)
    assert gradient_lipschitz_upper_bound(net, 1) == pytest.approx(
        18 / (6 * 3**0.5), rel=1e-6
    )


SMALL = 2, 6, 6


def test_kept_bounds_follow_the_weights(monkeypatch):
    """In-place changes of ``.data`` leave a tensor's version number as it is."""
    monkeypatch.setattr(_norms, "_norms", {})
    layer = nn.Conv2d(2, 2, 3, bias=False).eval()
    bounds = [lipschitz_upper_bound(layer, SMALL)]
    for _ in range(2):
        layer.weight.data.mul_(2)
        bounds.append(lipschitz_upper_bound(layer, SMALL))
    assert bounds[1] == pytest.approx(2 * bounds[0])
    assert bounds[2] == pytest.approx(4 * bounds[0])
    layer.stride = (2, 2)
    assert lipschitz_upper_bound(layer, SMALL) != bounds[2]
    monkeypatch.setattr(_norms, "_norms", dict.fromkeys(range(256), 0.0))
    assert lipschitz_upper_bound(layer, SMALL) > 0
    assert len(_norms._norms) == 256  # the oldest goes
