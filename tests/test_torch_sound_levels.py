"""The rounding of a sigma network: bounded for every kind of layer, against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from exact_layers import numbers, real
from mpmath import mp
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.nn.utils.parametrize import is_parametrized

from rsbounds.certify import certify
from rsbounds.torch import (
    Concatenation,
    GroupSort,
    Residual,
    Scale,
    SigmaNetwork,
    Smooth,
    TorchSampler,
)
from rsbounds.torch.networks import _rounding, sigma

pytestmark = pytest.mark.usefixtures("one_thread")
# --- networks


def dense(*activation: nn.Module) -> nn.Sequential:
    first, second = nn.Linear(9, 8), nn.Linear(8, 1)
    return nn.Sequential(nn.Flatten(), first, *activation, second)


def pictures(*layers: nn.Module, features: int) -> nn.Sequential:
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, 1))


def norm(channels: int) -> nn.BatchNorm2d:
    found = nn.BatchNorm2d(channels)
    for tensor in (found.running_mean, found.running_var, found.weight, found.bias):
        tensor.data.uniform_(0.5, 3)
    return found


NETWORKS = {
    "linear": dense,
    "relu": lambda: dense(nn.ReLU()),
    "relu6": lambda: dense(nn.ReLU6()),
    "hardtanh": lambda: dense(nn.Hardtanh(-0.1, 0.3)),
    "leaky": lambda: dense(nn.LeakyReLU(-1.5)),
    "prelu": lambda: dense(nn.PReLU()),
    "elu": lambda: dense(nn.ELU(2.0)),
    "tanh": lambda: dense(nn.Tanh()),
    "sigmoid": lambda: dense(nn.Sigmoid()),
    "silu": lambda: dense(nn.SiLU()),
    "gelu": lambda: dense(nn.GELU()),
    "softplus": lambda: dense(nn.Softplus(beta=2.0)),
    "sort": lambda: dense(GroupSort()),
    "scale": lambda: dense(Scale(-3.0), Scale(0.1)),
    "spectral": lambda: nn.Sequential(nn.Flatten(), spectral_norm(nn.Linear(9, 1))),
    "convolution": lambda: pictures(nn.Conv2d(1, 3, 2), nn.ReLU(), features=12),
    "padded": lambda: pictures(nn.Conv2d(1, 2, 3, padding=1), features=18),
    "transposed": lambda: pictures(nn.ConvTranspose2d(1, 2, 2), nn.ReLU(), features=32),
    "norm": lambda: pictures(norm(1), nn.ReLU(), norm(1), features=9),
    "constant pad": lambda: pictures(nn.ConstantPad2d(1, -4.0), features=25),
    "average": lambda: pictures(nn.ConstantPad2d(1, 1.0), nn.AvgPool2d(5), features=1),
    "maximum": lambda: pictures(nn.Conv2d(1, 4, 2), nn.MaxPool2d(2), features=4),
    "residual": lambda: dense(Residual(nn.Sequential(nn.Tanh(), nn.Linear(8, 8)))),
    "branches": lambda: nn.Sequential(
        nn.Flatten(), Concatenation(nn.Linear(9, 3), nn.Linear(9, 2)), nn.Linear(5, 1)
    ),
}


def network(kind: str, floor: float = 0.25) -> SigmaNetwork:
    torch.manual_seed(len(kind))
    h = NETWORKS[kind]().eval()
    found = SigmaNetwork(h, floor).frozen()
    _rounding.settle(found)
    last = [m for m in found.h.modules() if isinstance(m, nn.Linear)][-1]
    last.bias.data.fill_(3.0)  # away from the floor, where errors can't be seen
    return found


def error(net, whole, level=None):
    """Of the computed level, or of one given, at a point of the grid."""
    x = numbers(lambda v: mp.mpf(int(v)) / 255)(whole)
    truth = max(real(net.h, x).item(), mp.zero) + mp.mpf(net.sigma_min)
    computed = sigma._level(net, whole / 255) if level is None else level
    return abs(mp.mpf(computed) - truth)


@pytest.mark.parametrize("kind", NETWORKS)
def test_rounding_bounds_the_error_under_a_climbing_search(kind):
    net = network(kind)
    bound = net.rounding()
    assert bound < 2e-12
    rng = np.random.default_rng(0)
    with mp.workdps(40):
        best = rng.integers(0, 256, (1, 3, 3))
        worst = error(net, best)
        for _ in range(25):
            whole = best.copy().ravel()
            whole[rng.integers(0, 9, 2)] = rng.integers(0, 256, 2)
            found = error(net, whole.reshape(1, 3, 3))
            if found > worst:
                best, worst = whole.reshape(1, 3, 3), found
        assert 0 < worst <= bound
        # single precision breaks the bound: it is one that can fail
        x = torch.from_numpy(best / 255)[None].float()
        assert error(net, best, SigmaNetwork(net.h, 0.25).float()(x).item()) > bound


def test_bound_covers_sums_in_any_order():
    """The terms of a long sum in an order that loses the most: one large, then all the others."""
    layer = nn.Linear(4096, 1)
    layer.weight.data.fill_(1e-3)
    layer.weight.data[0, 0] = 1e3
    net = SigmaNetwork(nn.Sequential(nn.Flatten(), layer).eval(), 0.25).frozen()
    terms = [1e3, *[float(np.float32(1e-3)) * (v / 255) for v in [253] * 4095]]
    total = 0.0
    for term in terms:
        total += term
    with mp.workdps(40):
        lost = abs(mp.mpf(total) - mp.fsum(terms))
    assert 1e-11 < lost < net.rounding() < 5e-9


@pytest.mark.parametrize("kind", ["spectral", "convolution", "residual"])
def test_levels_of_a_sound_scheme_do_not_depend_on_what_is_evaluated_beside_them(kind):
    net = network(kind)
    scheme = net.scheme(9, sound=True)
    whole = np.random.default_rng(0).integers(0, 256, (64, 1, 3, 3))
    alone = np.array([scheme.sigma(w / 255) for w in whole])
    with torch.no_grad():
        together = net(torch.from_numpy(whole / 255)).numpy()
    assert np.abs(alone - together).max() <= 2 * net.rounding()
    single = (whole[0] / 255).astype(np.float32)
    assert scheme.sigma(single) == scheme.sigma(torch.from_numpy(single)) == alone[0]


def test_parametrised_weights_become_numbers_in_the_schemes_copy_alone():
    net = SigmaNetwork(nn.Sequential(nn.Flatten(), spectral_norm(nn.Linear(9, 1))), 0.25)
    scheme = net.scheme(9, sound=True)
    kept = scheme.sigma.args[0].args[0]
    assert not is_parametrized(kept.h[1])
    assert is_parametrized(net.h[1])
    net.eval()  # the copy shares its class with the original, which must go on to work
    x = torch.rand(2, 9)
    assert torch.allclose(kept(x.double()).float(), net(x))
    assert 1 <= scheme.parameters["lip"] < 1.1


def test_a_sound_scheme_loses_little():
    net = network("relu")
    sound, plain = net.scheme(9, sound=True), net.scheme(9)
    assert 0 < sound.parameters["slack"] < 1e-11
    assert sound.parameters.keys() - plain.parameters.keys() == {"slack"}
    ratio = sound.radius(2.0, 3.0) / plain.radius(2.0, 3.0)
    assert 1 - 1e-9 < ratio <= 1 + 1e-11


class Own(nn.Module):
    def forward(self, x):
        return x

    def lipschitz_upper_bound(self):
        return 1.0


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (nn.AdaptiveAvgPool2d(1), "the rounding of the module AdaptiveAvgPool2d"),
        (Own(), "the rounding of the module Own"),
        (nn.LayerNorm(3), "no proven Lipschitz bound"),
    ],
)
def test_layers_without_a_bound_are_refused(part, said):
    net = SigmaNetwork(pictures(part, features=9 if not isinstance(part, nn.AdaptiveAvgPool2d)
                                else 1).eval(), 0.25)  # fmt: skip
    with pytest.raises(ValueError, match=said):
        net.scheme(9, sound=True)


def test_a_bound_beyond_a_quarter_of_the_floor_is_refused():
    net = SigmaNetwork(nn.Sequential(nn.Flatten(), Scale(1e4), nn.Linear(9, 1)).eval(), 1e-12)
    with pytest.raises(ValueError, match="rounding"):
        net.scheme(9, sound=True)


# --- what draws


def test_the_drawn_level_is_the_computed_one_to_the_last_bit(monkeypatch):
    """The tables are made for the float64 number itself, whatever float32 makes of it."""
    from rsbounds.sampling import grid_noise

    asked, tables = [], grid_noise.tables
    monkeypatch.setattr(grid_noise, "tables", lambda level: asked.append(level) or tables(level))
    net = network("relu")
    scheme = net.scheme(9, sound=True)
    model = nn.Sequential(nn.Flatten(), nn.Linear(9, 2))
    sampler = TorchSampler(model, sound_noise=True)
    x = torch.tensor(np.random.default_rng(5).integers(0, 256, (1, 3, 3)) / 255).float()
    found = certify(sampler, x, scheme, n0=10, n=100)
    assert set(asked) == {found.sigma}
    assert float(np.float32(found.sigma)) != found.sigma


def test_smooth_in_sound_noise_wants_a_sound_scheme():
    net = network("relu")
    model = nn.Sequential(nn.Flatten(), nn.Linear(9, 2))
    x = torch.zeros(1, 3, 3)
    with pytest.raises(ValueError, match="sound=True; got one of method 'lipschitz' without"):
        Smooth(model, 2, net.scheme(9), sound_noise=True).certify(x, 10, 100, 0.01, 100)
    scheme = net.scheme(9, sound=True)
    one, many = (Smooth(model, 2, scheme, sound_noise=True) for _ in range(2))
    assert one.certificate(x, 10, 900, 0.01, 1) == many.certificate(x, 10, 900, 0.01, 1000)
