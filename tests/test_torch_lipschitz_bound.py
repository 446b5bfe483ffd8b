"""Proven Lipschitz bounds against the exact norms of small operators."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from exact_layers import exact, line
from torch import nn

from rsbounds.torch import (
    Scale,
    SigmaNetwork,
    gradient_lipschitz_upper_bound,
    lipschitz_upper_bound,
)

pytestmark = pytest.mark.usefixtures("one_thread")


LAYERS = {
    "dense": (lambda: nn.Linear(30, 20), (30,), 1e-9),
    "conv": (lambda: nn.Conv2d(2, 3, 3, padding=1), (2, 14, 14), 0.05),
    "even kernel": (lambda: nn.Conv2d(2, 3, 4, padding=2), (2, 14, 14), 0.10),
    "stride": (lambda: nn.Conv2d(2, 3, 4, stride=2, padding=1), (2, 16, 16), 0.10),
    "stride beyond the kernel": (lambda: nn.Conv2d(2, 3, 2, stride=3), (2, 12, 12), 0.02),
    "mixed": (lambda: nn.Conv2d(2, 3, (3, 2), (1, 2), (2, 1), (2, 3)), (2, 14, 14), 0.15),
    "groups": (lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2), (4, 10, 10), 0.10),
    "circular": (lambda: nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular"), (2, 12, 12), 0.04),
    "circular stride": (
        lambda: nn.Conv2d(2, 2, 3, 2, padding=1, padding_mode="circular"), (2, 11, 11), 1.5
    ),
    "same": (lambda: nn.Conv2d(2, 2, 3, padding="same"), (2, 12, 12), 0.08),
    "one axis": (lambda: nn.Conv1d(3, 2, 5, padding=2), (3, 40), 0.05),
    "three axes": (lambda: nn.Conv3d(1, 2, 2, padding=1), (1, 5, 5, 5), 0.15),
    "transposed": (lambda: nn.ConvTranspose2d(3, 2, 4, 2, 1), (3, 7, 7), 0.12),
    "transposed, output padding": (
        lambda: nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, groups=2), (2, 7, 7), 0.12
    ),
    "average": (lambda: nn.AvgPool2d(3, 2, padding=1), (1, 12, 12), 1.0),
    "average, apart": (lambda: nn.AvgPool2d(2), (1, 12, 12), 1e-9),
    "average, one axis": (lambda: nn.AvgPool1d(3, 1), (1, 30), 0.05),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_bound_of_a_linear_layer_is_above_its_norm_and_near_it(name):
    # the operator on a finite image is a compression of the lattice's: some per cent below
    make, shape, slack = LAYERS[name]
    for seed in range(2):
        torch.manual_seed(seed)
        layer = make().double().eval()
        norm = exact(layer, shape)
        assert norm <= lipschitz_upper_bound(layer) <= norm * (1 + slack)


def test_bound_is_above_the_largest_frequency_between_grid_points():
    # a single frequency, off every grid: the worst case of the step from grid to torus
    for angle in np.linspace(0.0, 0.2, 11):
        layer = nn.Conv1d(1, 2, 4, bias=False).double().eval()
        wave = np.exp(1j * angle * np.arange(4))
        layer.weight.data = torch.tensor(np.stack([wave.real, wave.imag])[:, None])
        theta = np.linspace(-0.5, 0.5, 20001)
        taps = np.exp(1j * np.outer(theta, np.arange(4)))
        truth = np.sqrt(sum(abs(taps @ w) ** 2 for w in (wave.real, wave.imag))).max()
        assert truth <= lipschitz_upper_bound(layer) <= 1.02 * truth


def test_circular_padding_that_repeats_outputs_is_refused():
    layer = nn.Conv2d(1, 1, 1, padding=1, padding_mode="circular").eval()
    with pytest.raises(ValueError, match="repeats outputs"):
        lipschitz_upper_bound(layer)


def test_power_iteration_under_estimates_and_the_bound_does_not():
    # few steps of power iteration on a flat spectrum: the scaled layer's norm is above 1
    torch.manual_seed(0)
    layer = nn.utils.parametrizations.spectral_norm(nn.Conv2d(8, 8, 3, padding=1))
    for _ in range(5):
        layer(torch.zeros(1, 8, 8, 8))
    norm = exact(layer, (8, 8, 8))
    assert norm > 1.05
    assert norm <= lipschitz_upper_bound(layer.eval()) <= 1.1 * norm


ACTIVATIONS = [
    *(nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.2), nn.LeakyReLU(-3.0), nn.ELU(1.7), nn.Tanh()),
    *(nn.Sigmoid(), nn.SiLU(), nn.GELU(), nn.Softplus(2.0), nn.Softplus(0.5)),
]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=repr)
def test_constants_of_activations(activation):
    x = torch.linspace(-20, 20, 100_001, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(activation(x).sum(), x, create_graph=True)
    bound = lipschitz_upper_bound(activation.eval())
    assert first.abs().max() <= bound <= 1.01 * first.abs().max()
    try:
        curvature = gradient_lipschitz_upper_bound(activation)
    except ValueError as error:
        assert "use a smooth activation" in str(error)  # noqa: PT017
        return
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.abs().max() <= curvature <= 1.01 * second.abs().max()


def test_max_pooling_and_batch_norm():
    x = torch.zeros(1, 1, 5, 5)
    y = x.clone()
    y[0, 0, 2, 2] = 1.0  # seen by all nine windows of width 3
    pool = nn.MaxPool2d(3, 1).eval()
    assert float((pool(x) - pool(y)).norm()) == pytest.approx(3.0)
    assert lipschitz_upper_bound(pool) == pytest.approx(3.0, rel=1e-12)
    assert lipschitz_upper_bound(nn.MaxPool2d(2).eval()) == pytest.approx(1.0, rel=1e-12)
    norm = nn.BatchNorm2d(3)
    norm(torch.randn(50, 3, 4, 4) * torch.tensor([1.0, 5.0, 0.1])[:, None, None])
    truth = exact(norm, (3, 2, 2))
    assert truth <= lipschitz_upper_bound(norm) <= truth * (1 + 1e-9)


def test_composition_is_above_every_observed_slope():
    torch.manual_seed(3)
    net = nn.Sequential(
        *(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64, 8), nn.Dropout(), nn.ELU(), nn.Linear(8, 1)),
    )
    net = net.double().eval()
    x = torch.randn(500, 1, 8, 8, dtype=torch.float64)
    step = 1e-3 * torch.randn_like(x)
    with torch.no_grad():
        slopes = (net(x + step) - net(x)).abs()[:, 0] / step.flatten(1).norm(dim=1)
    bound = lipschitz_upper_bound(net)
    assert slopes.max() <= bound
    product = np.prod([lipschitz_upper_bound(layer) for layer in net])
    assert bound == pytest.approx(float(product), rel=1e-12)


class Scaled(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 3 * x


class Bounded(Scaled):
    def lipschitz_upper_bound(self) -> float:
        return 3.0


class Overridden(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 100 * super().forward(x)


def test_modules_are_asked_or_refused():
    assert lipschitz_upper_bound(nn.Sequential(Bounded(), Bounded()).eval()) >= 9
    hooked = nn.Linear(2, 2).eval()
    hooked.register_forward_hook(lambda _m, _x, y: 100 * y)
    infinite = nn.Linear(2, 2).eval()
    infinite.weight.data[0, 0] = torch.inf
    for module, message in [
        (Scaled().eval(), "no proven Lipschitz bound for the module Scaled"),
        (Overridden(2, 2).eval(), "no proven Lipschitz bound for the module Overridden"),
        (hooked, "hooks"),
        (nn.Linear(2, 2), "must be in eval mode"),
        (infinite, "must be finite"),
        (nn.AvgPool2d(3, ceil_mode=True).eval(), "ceil_mode"),
        (nn.AvgPool2d(3, divisor_override=1).eval(), "divisor_override"),
        (nn.BatchNorm1d(2, track_running_stats=False).eval(), "running statistics"),
    ]:
        with pytest.raises(ValueError, match=message):
            lipschitz_upper_bound(module)


def test_bound_of_the_derivative_is_above_every_observed_change():
    torch.manual_seed(5)
    for smooth in (nn.Softplus(3.0), nn.Tanh(), nn.Sigmoid(), nn.SiLU()):
        net = nn.Sequential(
            nn.Linear(6, 12), smooth, nn.Identity(), nn.Linear(12, 5), smooth, nn.Linear(5, 1)
        )
        net = net.double().eval()
        bound = gradient_lipschitz_upper_bound(net)
        x = torch.randn(2000, 6, dtype=torch.float64, requires_grad=True)
        y = (x + 1e-3 * torch.randn_like(x)).detach().requires_grad_()
        gradients = [torch.autograd.grad(net(at).sum(), at)[0] for at in (x, y)]
        change = (gradients[0] - gradients[1]).norm(dim=1) / (x - y).norm(dim=1)
        assert 0.02 * bound <= change.max() <= bound


def test_bound_of_the_derivative_of_one_hidden_layer():
    # sup|phi''| |W1|^2 max|w2|: attained here, where one unit works alone
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Softplus(), nn.Linear(2, 1, bias=False))
    net[0].weight.data = 2 * torch.eye(2)
    net[2].weight.data = torch.tensor([[3.0, 1.0]])
    assert gradient_lipschitz_upper_bound(net.eval()) == pytest.approx(3.0, rel=1e-9)
    assert gradient_lipschitz_upper_bound(nn.Linear(3, 1).eval()) == 0.0
    with pytest.raises(ValueError, match="use a smooth activation"):
        gradient_lipschitz_upper_bound(nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval())


def test_replaced_forward_is_refused():
    layer = nn.Linear(2, 2).eval()
    layer.forward = lambda x: 100 * x
    with pytest.raises(ValueError, match="hooks"):
        lipschitz_upper_bound(layer)


def test_scale_in_both_bounds():
    net = nn.Sequential(Scale(-3.0), nn.Sigmoid(), Scale(2.0), nn.Identity(), nn.Linear(1, 1))
    net[-1].weight.data.fill_(1.0)
    net = net.eval()
    assert lipschitz_upper_bound(net) == pytest.approx(1.5)
    assert gradient_lipschitz_upper_bound(net) == pytest.approx(18 / (6 * 3**0.5), rel=1e-6)


@pytest.mark.parametrize("kind", ["module", "before", "global", "instance", "convolution"])
def test_hooks_are_refused_wherever_they_sit(kind):
    module: nn.Module = nn.Sequential(line(1.0), Scale(0.5)).eval()
    handle = None
    if kind == "module":
        module[1].register_forward_hook(lambda m, i, o: 1000 * o)
    elif kind == "before":
        module[1].register_forward_pre_hook(lambda m, i: (1000 * i[0],))
    elif kind == "global":
        handle = nn.modules.module.register_module_forward_hook(lambda m, i, o: 1000 * o)
    elif kind == "instance":
        module[1].forward = lambda x: 1000 * x
    else:

        class Louder(nn.Conv2d):
            def _conv_forward(self, x, weight, bias):
                return super()._conv_forward(x, 100 * weight, bias)

        module = Louder(1, 1, 3).eval()
    try:
        for bound in (lipschitz_upper_bound, gradient_lipschitz_upper_bound):
            with pytest.raises(ValueError, match=r"has hooks|no proven"):
                bound(module)
    finally:
        if handle is not None:
            handle.remove()


def test_hook_of_a_sigma_network_is_refused():
    network = SigmaNetwork(line(0.01), 0.5)
    network.register_forward_hook(lambda m, i, o: 100 * o)
    with pytest.raises(ValueError, match="SigmaNetwork has hooks"):
        _ = network.lip
    with pytest.raises(ValueError, match="SigmaNetwork has hooks"):
        network.scheme(2)


def test_softplus_with_a_jump_is_refused():
    jump = nn.Softplus(threshold=0)(torch.tensor([-1e-6, 1e-6]))
    assert jump[0] > jump[1] + 0.6
    for bound in (lipschitz_upper_bound, gradient_lipschitz_upper_bound):
        with pytest.raises(ValueError, match="threshold of Softplus must be >= 20; got 0"):
            bound(nn.Softplus(threshold=0).eval())


def test_parameters_that_are_no_numbers_are_refused():
    norm = nn.BatchNorm1d(2).eval()
    for wrong in (torch.nan, -1.0, torch.inf):
        norm.running_var.fill_(wrong)
        with pytest.raises(ValueError, match="running variance of the module BatchNorm1d"):
            lipschitz_upper_bound(norm)
    with pytest.raises(ValueError, match="negative_slope of the module LeakyReLU must be finite"):
        lipschitz_upper_bound(nn.LeakyReLU(float("nan")).eval())
    with pytest.raises(ValueError, match="must be real; got torch"):
        lipschitz_upper_bound(nn.Linear(2, 2, dtype=torch.complex64).eval())


@pytest.mark.parametrize(("kernel", "axes"), [(4, 1), (8, 1), (4, 2), (8, 2)])
def test_convolutions_are_within_two_per_cent_an_axis(kernel, axes):
    layer = (nn.Conv1d, nn.Conv2d)[axes - 1](1, 1, kernel, bias=False).eval()
    layer.weight.data.fill_(1.0)
    truth = kernel**axes  # at the zero angle
    assert truth <= lipschitz_upper_bound(layer) <= 1.02**axes * truth
