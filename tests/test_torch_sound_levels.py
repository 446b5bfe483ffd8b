"""The rounding of a sigma network: bounded for every kind of layer, against exact arithmetic."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from cli_models import MODELS, arguments, models, one_line, prepare, savez
from mpmath import mp
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.nn.utils.parametrize import is_parametrized

from rsbounds.certify import certify, stream
from rsbounds.cli import main
from rsbounds.oracle import certificates
from rsbounds.results import Manifest, read_rows
from rsbounds.schemes import METHODS
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
    draw,
)
from rsbounds.torch.networks import _rounding, shaped, sigma

pytestmark = pytest.mark.usefixtures("one_thread")
numbers = partial(np.vectorize, otypes=[object])
exactly = numbers(mp.mpf)

# --- the real functions


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
            values(t)[:, None, None] for t in (m.running_mean, m.running_var, m.weight, m.bias)
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
    """By the definition, from the linear map of unit inputs: exact products, exact sums."""
    kernels = values(m.weight)
    k = kernels.shape[-1]
    if isinstance(m, nn.ConvTranspose2d):
        out = np.full((kernels.shape[1], *(n + k - 1 for n in x.shape[1:])), mp.zero, dtype=object)
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
            out[:, i, j] = (kernels * wide[None, :, i : i + k, j : j + k]).sum((1, 2, 3))
    return out


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


# --- a mean and a level on every axis

TOP = 2**63


def drawn(u, centre, scale):
    count, ambiguous = draw.rounded(*(torch.tensor(a) for a in (u[None], centre, scale)))
    return count[0].numpy(), ambiguous[0].numpy()


def whole_of(u, centre, scale):
    """The nearest whole number to centre + scale Phi^-1(u / 2^63)."""
    z = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(int(u)) / TOP - 1)
    return int(mp.floor(mp.mpf(float(centre)) + mp.mpf(float(scale)) * z + mp.mpf(0.5)))


def test_rounded_noise_is_decided_rightly_or_not_at_all():
    """Next to thresholds, in the tails, for all levels and means; and nearly all is decided."""
    rng = np.random.default_rng(0)
    u, centre, scale = [], [], []
    with mp.workdps(40):
        for case in range(900):
            s, c = 10 ** rng.uniform(-1, 2.5), rng.choice([0.0, rng.uniform(-300, 300)])
            k = int(np.floor(c + s * rng.standard_normal() * rng.choice([1, 3])))
            threshold = int(mp.floor(TOP * mp.ncdf((k + 0.5 - mp.mpf(c)) / mp.mpf(s))))
            off = int(rng.choice([0, 1, 2, 10**3, 10**6, 10**9, 10**12])) * int(rng.choice([-1, 1]))
            near = threshold + off
            u.append(near if case % 3 and 0 < near < TOP - 1 else int(rng.integers(1, TOP - 1)))
            centre.append(c)
            scale.append(s)
        known = np.array(u), np.array(centre, float), np.array(scale)
        counts, ambiguous = drawn(*known)
        for i in np.flatnonzero(~ambiguous):
            ends = [whole_of(known[0][i] + d, centre[i], scale[i]) for d in (0, 1)]
            assert ends == [counts[i]] * 2
    assert not ambiguous[::3].any()  # those anywhere
    assert ambiguous[[i for i in range(900) if i % 3]].any()
    assert drawn(np.array([0, TOP - 1]), np.zeros(2), np.ones(2))[1].all()


def test_one_level_on_every_axis_draws_what_the_table_of_that_level_draws():
    seeds, whole = [1, 2, 3], torch.arange(256, dtype=torch.int32)
    scale, centre = (torch.full((256,), v, dtype=torch.float64) for v in (255 * 0.25, 0.0))
    a, _ = draw.shaped_on_grid(whole, centre, scale, 40, seeds, torch.Generator())
    b, _ = draw.on_grid(whole, 0.25, 40, seeds, torch.Generator())
    assert torch.equal(a, b)


def test_noise_of_a_shape_has_the_law_of_rounded_normal_numbers():
    whole = torch.zeros(4000, 2, dtype=torch.int32)
    scale, centre = torch.tensor([2.0, 20.0]).double(), torch.tensor([0.3, -1.7]).double()
    noisy, void = draw.shaped_on_grid(whole, centre, scale, 20, [1, 2], torch.Generator())
    assert not void.any()
    noise = torch.round(255 * noisy)
    for axis in (0, 1):
        for k in range(-30, 31, 3):
            p = float(mp.ncdf((k + 0.5 - centre[axis].item()) / scale[axis].item()))
            share = (noise[..., axis] <= k).double().mean()
            assert abs(share - p) < 5 * (p * (1 - p) / noise[..., axis].numel()) ** 0.5 + 1e-9


def test_fixed_noise_of_a_shape_in_sound_noise():
    seen = []
    model = nn.Linear(2, 2)
    model.weight.data.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    model.bias.data.zero_()
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    noise = FixedNoise(torch.tensor([0.1, 0.0]), torch.tensor([0.25, 1.0]))
    x = torch.tensor([102.0, 0.0]) / 255
    known = {"n0": 100, "n": 20_000, "alpha": 0.001}
    one, many = (
        certify(noise.sampler(model, sound_noise=True, batch=batch), x, noise.scheme(), **known)
        for batch in (17, 10_000)
    )
    assert one == many
    inputs = 255 * torch.cat(seen)
    assert (inputs - inputs.round()).abs().max() < 1e-3
    # the axis that counts has level .25 and mean .1: the truth is .5 up to half a step of 1/255
    assert one.predict == 0
    assert 0.46 < one.radius < 0.5 + 0.5 / 255
    plain = certify(noise.sampler(model), x, noise.scheme(), **known)
    assert abs(plain.counts[0] - one.counts[0]) < 200
    with pytest.raises(ValueError, match="grid of 1/255"):
        certify(noise.sampler(model, sound_noise=True), x + 1e-3, noise.scheme(), **known)
    with pytest.raises(ValueError, match=r"must be of shape \(2,\); got \(3,\)"):
        noise.sampler(model, sound_noise=True)(torch.zeros(3), 0.5, 10, stream(0, 0, 0))
    far = FixedNoise(torch.tensor([1e8, 0.0]), torch.ones(2))
    with pytest.raises(ValueError, match="mean and level must be below"):
        far.sampler(model, sound_noise=True)(x, 0.5, 10, stream(0, 0, 0))
    smooth = Smooth(model, 2, noise, sound_noise=True)
    assert smooth.certificate(x, 100, 2000, 0.01, 1000).predict == 0


# --- a mean that follows the input


def following() -> CertifiedGenerator:
    torch.manual_seed(3)
    mean = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), Scale(0.2))
    level = SigmaNetwork(nn.Sequential(nn.Linear(4, 1), Scale(0.05)), 0.3)
    level.h[0].bias.data.fill_(2.0)
    return CertifiedGenerator(mean.eval(), level.eval(), torch.tensor([0.3, 1.0, 1.5, 2.0]))


def test_slack_and_shift_bound_the_rounding_of_a_generator():
    kept = following().noise()._generator
    known = following().noise().scheme(sound=True).parameters
    assert 0 < known["slack"] < 1e-12
    assert 0 < known["shift"] < 1e-12
    rng = np.random.default_rng(0)
    worst = 0
    with mp.workdps(40):
        for _ in range(60):
            whole = rng.integers(0, 256, 4)
            u = numbers(lambda v: mp.mpf(int(v)) / 255)(whole) / values(kept.shape)
            mean = shaped._mean_on_grid(kept, whole / 255)
            lost = mp.sqrt(mp.fsum((values(mean) - real(kept.mean, u)) ** 2))
            assert lost <= known["shift"] / 2
            level = shaped._level_at(kept, True, whole / 255)
            truth = max(real(kept.level.h, u).item(), mp.zero) + mp.mpf(kept.level.sigma_min)
            assert abs(mp.log(level / truth)) <= known["slack"] / 2
            worst = max(worst, lost)
    assert worst > 0


def test_shift_takes_from_the_radius_what_the_centres_may_move():
    noise = following().noise()
    known = {**noise.scheme(sound=True).parameters, "shift": 1e-3}
    score, sigma, steps = 2.0, 0.4, 1 + known["mean_lip"]
    found = METHODS["generator"].of(known)(score, sigma)
    without = METHODS["generator"].of({**known, "shift": 0.0})(score, sigma)
    assert found == pytest.approx(without - known["inner"] * 1e-3 / steps, rel=1e-9)
    assert not certificates.exceeds("generator", known, sigma, found, score)
    assert certificates.exceeds("generator", known, sigma, found * (1 + 1e-9), score)
    assert METHODS["generator"].of({**known, "shift": 1e6})(score, sigma) == 0
    plain = noise.scheme()
    assert noise.scheme(sound=True).radius(score, sigma) == pytest.approx(
        plain.radius(score, sigma), rel=1e-9
    )


def test_a_generator_in_sound_noise():
    noise = following().noise()
    seen = []
    model = nn.Linear(4, 2)
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    x = torch.tensor([10.0, 200.0, 0.0, 255.0]) / 255
    scheme, known = noise.scheme(sound=True), {"n0": 50, "n": 3000, "alpha": 0.001}
    one, many = (
        certify(noise.sampler(model, sound_noise=True, batch=batch), x, scheme, **known)
        for batch in (7, 10_000)
    )
    assert one == many
    assert one.scope == "sigma(x), mu(x) with proven bounds"
    inputs = 255 * torch.cat(seen)
    assert (inputs - inputs.round()).abs().max() < 1e-2
    plain = certify(noise.sampler(model), x, noise.scheme(), **known)
    assert abs(plain.counts[0] - one.counts[0]) < 6 * (2 * 3000 / 4) ** 0.5
    with pytest.raises(ValueError, match="sound=True; got one of method 'generator' without"):
        certify(noise.sampler(model, sound_noise=True), x, noise.scheme(), **known)
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        noise.sampler(model, sound_noise=True)(2 * x, 0.5, 10, stream(0, 0, 0))


# --- the command line

LEVELS = """
def network():
    import torch
    from rsbounds.torch import SigmaNetwork
    torch.manual_seed(0)
    layers = torch.nn.Flatten(), torch.nn.Linear(36, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
    return SigmaNetwork(torch.nn.Sequential(*layers), 0.25)
"""


def test_lipschitz_rows_in_sound_noise(tmp_path, monkeypatch, capsys):
    prepare(tmp_path, monkeypatch)
    models(MODELS + LEVELS)
    rng = np.random.default_rng(0)
    savez(x=(rng.integers(0, 256, (12, 1, 6, 6)) / 255).astype(np.float32))
    known = {"model": "models:torch_linear", "method": "lipschitz", "sigma": None}
    known |= {"sigma_function": "models:network", "sound_noise": ""}
    assert main(arguments(**known)) == 0
    manifest = Manifest.read(Path("out.tsv"))
    assert 0 < manifest.parameters["slack"] < 1e-11
    assert sum(row.radius > 0 for row in read_rows(Path("out.tsv"))) > 3
    for more in ([], ["--rigorous"]):
        assert main(["verify", "out.tsv", *more]) == 0, capsys.readouterr().out
    assert main(["recertify", "out.tsv", "--runner-up", "off", "--out", "off.tsv"]) == 0
    assert main(["verify", "off.tsv"]) == 0, capsys.readouterr().out
    other = ["recertify", "out.tsv", "--method", "lipschitz-integrated", "--out", "other.tsv"]
    one_line(capsys, other, "--method lipschitz-integrated has no radius for sound noise")
