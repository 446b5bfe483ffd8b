"""Rounding of levels and means in sound noise: bounded for every layer, against exact
numbers.
"""

import numpy as np
import pytest
import torch
from cases import quick_each
from exact_layers import numbers, real, values
from mpmath import mp
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from rsbounds.certify import certify
from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.oracle import certificates
from rsbounds.sampling import as_sampler
from rsbounds.sampling.internal import stream
from rsbounds.schemes.internal import Generator
from rsbounds.torch import (
    CertifiedGenerator,
    Concatenation,
    FixedNoise,
    GroupSort,
    Residual,
    Scale,
    SigmaNetwork,
    Smooth,
    TorchSampler,
)


def dense(*activation):
    first, second = nn.Linear(9, 8), nn.Linear(8, 1)
    return nn.Sequential(nn.Flatten(), first, *activation, second)


def pictures(*layers, features):
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(features, 1))


def norm(channels):
    layer = nn.BatchNorm2d(channels)
    for tensor in (layer.running_mean, layer.running_var, layer.weight, layer.bias):
        tensor.data.uniform_(0.5, 3)
    return layer


ELEMENTWISE = [
    *(
        nn.ReLU(),
        nn.ReLU6(),
        nn.Hardtanh(-0.1, 0.3),
        nn.LeakyReLU(-1.5),
        nn.PReLU(),
        nn.ELU(2.0),
    ),
    *(
        nn.Tanh(),
        nn.Sigmoid(),
        nn.SiLU(),
        nn.GELU(),
        nn.Softplus(beta=2.0),
        GroupSort(),
    ),
    *(Residual(nn.Sequential(nn.Tanh(), nn.Linear(8, 8))), Scale(-3.0)),
]
NETWORKS = {
    type(layer).__name__: lambda layer=layer: dense(layer) for layer in ELEMENTWISE
} | {
    "linear": dense,
    "spectral": lambda: nn.Sequential(nn.Flatten(), spectral_norm(nn.Linear(9, 1))),
    "convolution": lambda: pictures(nn.Conv2d(1, 3, 2), nn.ReLU(), features=12),
    "padded": lambda: pictures(nn.Conv2d(1, 2, 3, padding=1), features=18),
    "transposed": lambda: pictures(nn.ConvTranspose2d(1, 2, 2), nn.ReLU(), features=32),
    "norm": lambda: pictures(norm(1), nn.ReLU(), norm(1), features=9),
    "constant pad": lambda: pictures(nn.ConstantPad2d(1, -4.0), features=25),
    "average": lambda: pictures(nn.ConstantPad2d(1, 1.0), nn.AvgPool2d(5), features=1),
    "maximum": lambda: pictures(nn.Conv2d(1, 4, 2), nn.MaxPool2d(2), features=4),
    "branches": lambda: nn.Sequential(
        nn.Flatten(), Concatenation(nn.Linear(9, 3), nn.Linear(9, 2)), nn.Linear(5, 1)
    ),
}


def network(kind):
    torch.manual_seed(len(kind))
    net = SigmaNetwork(NETWORKS[kind](), 0.25).double().eval()
    if kind == "spectral":  # a fixed weight, as in what is exported
        remove_parametrizations(net.h[1], "weight")
    last = [m for m in net.h.modules() if isinstance(m, nn.Linear)][-1]
    last.bias.data.fill_(3.0)  # away from the floor, where errors can't be seen
    return net


def error(net, whole, level):
    x = numbers(lambda v: mp.mpf(int(v)) / 255)(whole)
    truth = max(real(net.h, x).item(), mp.zero) + mp.mpf(net.sigma_min)
    return abs(mp.mpf(level) - truth)


@pytest.mark.parametrize("kind", quick_each(3, NETWORKS))
def test_rounding_bounds_the_error_under_a_climbing_search(kind):
    net = network(kind)
    bound = net.rounding((1, 3, 3))
    assert bound < 2e-12
    frozen = net.freeze((1, 3, 3))
    rng = np.random.default_rng(0)
    with mp.workdps(40):
        best = rng.integers(0, 256, (1, 3, 3))
        worst = error(net, best, frozen(best / 255))
        for _ in range(25):
            whole = best.copy()
            whole.reshape(9)[rng.integers(0, 9, 2)] = rng.integers(0, 256, 2)
            found = error(net, whole, frozen(whole / 255))
            if found > worst:
                best, worst = whole, found
        assert 0 < worst <= bound
        # single precision breaks the bound: it is one that can fail
        x = torch.from_numpy(best / 255)[None].float()
        assert error(net, best, SigmaNetwork(net.h, 0.25).float()(x).item()) > bound


def test_bound_covers_sums_in_any_order():
    """The terms of a long sum in an order that loses the most: one large, then all the
    others.
    """
    layer = nn.Linear(4096, 1)
    layer.weight.data.fill_(1e-3)
    layer.weight.data[0, 0] = 1e3
    net = SigmaNetwork(nn.Sequential(nn.Flatten(), layer), 0.25)
    terms = [1e3, *[float(np.float32(1e-3)) * (v / 255) for v in [253] * 4095]]
    total = 0.0
    for term in terms:
        total += term
    with mp.workdps(40):
        lost = abs(mp.mpf(total) - mp.fsum(terms))
    assert 1e-11 < lost < net.rounding(4096) < 5e-9


@pytest.mark.parametrize("kind", ["spectral", "convolution", "Residual"])
def test_levels_of_a_sound_scheme_do_not_depend_on_what_is_evaluated_beside_them(kind):
    net = network(kind)
    scheme = net.scheme((1, 3, 3)).on_grid()
    whole = np.random.default_rng(0).integers(0, 256, (64, 1, 3, 3))
    alone = np.array([scheme.sigma(w / 255) for w in whole])
    graph = net.freeze((1, 3, 3)).graph
    assert (graph(torch.from_numpy(whole / 255)).numpy() == alone).all()
    with torch.no_grad():
        together = net(torch.from_numpy(whole / 255)).numpy()
    assert np.abs(alone - together).max() <= 2 * net.rounding((1, 3, 3))
    single = (whole[0] / 255).astype(np.float32)
    assert scheme.sigma(single) == scheme.sigma(torch.from_numpy(single)) == alone[0]


def test_a_sound_scheme_loses_little_and_leaves_the_network():
    net = SigmaNetwork(
        nn.Sequential(nn.Flatten(), spectral_norm(nn.Linear(9, 1))), 0.25
    )
    sound, plain = net.scheme(9).on_grid(), net.scheme(9)
    assert 0 < sound.parameters["slack"] < 1e-11
    assert sound.parameters.keys() - plain.parameters.keys() == {"slack"}
    assert 1 - 1e-9 < sound.radius(2.0, 3.0) / plain.radius(2.0, 3.0) <= 1 + 1e-11
    # parametrised weights become numbers in the copy alone, which shares its class with
    # the network
    x = torch.rand(1, 9)
    assert is_parametrized(net.eval().h[1])
    assert net(x).item() == pytest.approx(plain.sigma(x[0]), rel=1e-5)


class Own(nn.Module):
    """A bound of its own is no proof."""

    def forward(self, x):
        return x.exp()

    def lipschitz_upper_bound(self):
        return 1.0


def test_what_has_no_bound_is_refused():
    for part, features, message in (
        (Own(), 9, r"the operation aten.exp.default has no record \(.*return x.exp"),
        (nn.LayerNorm(3), 9, "no bound of the rounding of aten.layer_norm"),
    ):
        net = SigmaNetwork(pictures(part, features=features), 0.25)
        with pytest.raises(ValueError, match=message):
            net.scheme((1, 3, 3))
    # a bound beyond a quarter of the floor
    net = SigmaNetwork(
        nn.Sequential(nn.Flatten(), Scale(1e4), nn.Linear(9, 1)).eval(), 1e-12
    )
    with pytest.raises(ValueError, match="rounding"):
        net.scheme(9).on_grid()


def test_the_drawn_level_is_the_computed_one_to_the_last_bit(monkeypatch):
    """The tables are made for the float64 number, whatever float32 makes of it."""
    asked, tables = [], grid_noise.tables
    monkeypatch.setattr(
        grid_noise,
        "tables",
        lambda level, levels: asked.append(level) or tables(level, levels),
    )
    net = network("ReLU")
    net.h[-1].bias.data.fill_(0.4)
    scheme = net.scheme((1, 3, 3)).on_grid()
    model = nn.Sequential(nn.Flatten(), nn.Linear(9, 2))
    x = torch.tensor(np.random.default_rng(5).integers(0, 256, (1, 3, 3)) / 255).float()
    result = certify(TorchSampler(model, noise=OnGrid()), x, scheme, n0=10, n=100)
    assert set(asked) == {result.sigma}
    assert float(np.float32(result.sigma)) != result.sigma
    with pytest.raises(ValueError, match=r"on_grid.*'lipschitz'"):
        certify(TorchSampler(model, noise=OnGrid()), x, net.scheme((1, 3, 3)), n=100)
    one, many = (Smooth(model, 2, scheme) for _ in range(2))
    assert one.certificate(x, 10, 900, 0.01, 1) == many.certificate(
        x, 10, 900, 0.01, 1000
    )


def in_sound_noise(noise, model, x, **known):
    """The certificate at x for two batches: the same, from inputs on the grid; and
    without.
    """
    seen = []
    handle = model.register_forward_pre_hook(
        lambda _, args: seen.append(255 * args[0].clone())
    )
    scheme = noise.scheme().on_grid()
    one, many = (
        certify(
            as_sampler(model, noise.scheme().on_grid(), batch=batch),
            x,
            scheme,
            **known,
        )
        for batch in (17, 10_000)
    )
    assert one == many
    inputs = torch.cat(seen)
    assert (inputs - inputs.round()).abs().max() < 1e-2
    handle.remove()
    assert (
        Smooth(model, 2, noise.scheme().on_grid()).predict(x, 3000, 0.01, 999)
        == one.predict
    )
    plain = certify(as_sampler(model, noise.scheme()), x, noise.scheme(), **known)
    assert abs(plain.counts[0] - one.counts[0]) < 6 * (2 * known["n"] / 4) ** 0.5
    return one


@pytest.mark.slow
def test_fixed_noise_of_a_shape_in_sound_noise():
    model = nn.Linear(2, 2, bias=False)
    model.weight.data.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    noise = FixedNoise(torch.tensor([0.1, 0.0]), torch.tensor([0.25, 1.0]))
    x = torch.tensor([102.0, 0.0]) / 255
    result = in_sound_noise(noise, model, x, n0=100, n=20_000, alpha=0.001)
    # the axis that counts has level .25 and mean .1: the truth is .5 up to half a step
    # of 1/255
    assert result.predict == 0
    assert 0.46 < result.radius < 0.5 + 0.5 / 255
    sampler = as_sampler(model, noise.scheme().on_grid())
    far = as_sampler(
        model,
        FixedNoise(torch.tensor([1e8, 0.0]), torch.ones(2)).scheme().on_grid(),
    )
    for draw, at, message in (
        (sampler, x + 1e-3, "grid of 1/255"),
        (sampler, torch.zeros(3), r"must be of shape \(2,\); got \(3,\)"),
        (far, x, "mean and level must be below"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(at, 0.5, 10, stream(0, 0, 0))


def following():
    torch.manual_seed(3)
    mean = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), Scale(0.2))
    level = SigmaNetwork(nn.Sequential(nn.Linear(4, 1), Scale(0.05)), 0.3)
    level.h[0].bias.data.fill_(2.0)
    return CertifiedGenerator(
        mean.eval(), level.eval(), torch.tensor([0.3, 1.0, 1.5, 2.0])
    )


def test_slack_and_shift_bound_the_rounding_of_a_generator():
    noise = following().noise()
    scheme, kept = noise.scheme().on_grid(), following().double()
    known = scheme.parameters
    assert 0 < known["slack"] < 1e-12
    assert 0 < known["shift"] < 1e-12
    rng = np.random.default_rng(0)
    worst = 0
    with mp.workdps(40):
        for _ in range(60):
            whole = rng.integers(0, 256, 4)
            u = numbers(lambda v: mp.mpf(int(v)) / 255)(whole) / values(kept.shape)
            mean = noise.offset(whole / 255)
            lost = mp.sqrt(mp.fsum((values(mean) - real(kept.mean, u)) ** 2))
            assert lost <= known["shift"] / 2
            level = scheme.sigma(whole / 255)
            truth = max(real(kept.level.h, u).item(), mp.zero) + mp.mpf(
                kept.level.sigma_min
            )
            assert abs(mp.log(level / truth)) <= known["slack"] / 2
            worst = max(worst, lost)
    assert worst > 0


def test_shift_takes_from_the_radius_what_the_centres_may_move():
    noise = following().noise()
    known = {**noise.scheme().on_grid().parameters, "shift": 1e-3}
    z, sigma, steps = 2.0, 0.4, 1 + known["mean_lip"]
    reach = Generator(known).radius(z, sigma)
    without = Generator({**known, "shift": 0.0}).radius(z, sigma)
    assert reach == pytest.approx(without - known["inner"] * 1e-3 / steps, rel=1e-9)
    assert certificates.excess("generator", known, sigma, reach, z) <= 0
    assert certificates.excess("generator", known, sigma, reach * (1 + 1e-9), z) > 0
    assert Generator({**known, "shift": 1e6}).radius(z, sigma) == 0


def test_a_generator_in_sound_noise():
    noise, model = following().noise(), nn.Linear(4, 2)
    model.bias.data[0] = 10.0
    x = torch.tensor([10.0, 200.0, 0.0, 255.0]) / 255
    result = in_sound_noise(noise, model, x, n0=50, n=3000, alpha=0.001)
    assert result.scope == "sigma(x), mu(x) with proven bounds"
    sampler = as_sampler(model, noise.scheme().on_grid())
    with pytest.raises(ValueError, match=r"on_grid.*'generator'"):
        certify(sampler, x, noise.scheme(), n=10)
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        sampler(2 * x, 0.5, 10, stream(0, 0, 0))


def test_adaptive_pooling_is_bounded_for_any_window():
    net = SigmaNetwork(pictures(nn.AdaptiveAvgPool2d(1), features=1), 0.25).double()
    whole = np.random.default_rng(0).integers(0, 256, (1, 3, 3))
    with mp.workdps(40):
        mean = mp.mpf(int(whole.sum())) / (9 * 255)
        layer = net.h[-1]
        exact = mp.mpf(layer.weight.item()) * mean + mp.mpf(layer.bias.item())
        truth = max(exact, mp.zero) + mp.mpf("0.25")
        apart = abs(net.freeze((1, 3, 3))(whole / 255) - truth)
    assert apart <= net.rounding((1, 3, 3)) < 1e-14
    assert net.scheme((1, 3, 3)).on_grid().grid == 255
