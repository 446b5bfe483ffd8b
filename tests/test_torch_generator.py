"""Noise maps and generators on real digits: certificates, and attacks inside their radii."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch_digits import DIM, SIGMA, certify_and_attack, digits, network, sigma_network

from rsbounds import anisotropic, composite, envelope, gaussian, schemes
from rsbounds.certify import certify, stream
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import (
    CertifiedGenerator,
    FixedNoise,
    NoiseGenerator,
    NoiseMaps,
    Scale,
    SigmaNetwork,
    TorchSampler,
    fit,
    generator_loss,
    small_cnn,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_fixed_maps_certify_and_hold():
    net, maps = network(), NoiseMaps((1, 28, 28), SIGMA)
    both = nn.ModuleList([net, maps])

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return generator_loss(net, maps, x, y, target=SIGMA, variance_weight=10.0)

    fit(both, loss, digits()[:2], epochs=6, rate=1e-2)
    noise = maps.noise()
    assert noise.scope == "fixed noise"
    assert noise.sigma.log().mean().exp().item() == pytest.approx(SIGMA, rel=0.3)
    assert noise.sigma.max() > noise.sigma.min()
    certify_and_attack(net, noise.scheme(), maps, sampler=noise.sampler(net, 10))


def test_ellipsoid_volume_is_that_of_the_core():
    noise = FixedNoise(torch.zeros(2), torch.tensor([2.0, 3.0]))
    assert np.exp(noise.log_volume(1.0)) == pytest.approx(6 * np.pi, rel=2.0**-22)
    scheme = noise.scheme(norm=np.inf)
    found = scheme.radius(1.0, scheme.sigma(noise.mean))
    assert found == pytest.approx(1 / np.hypot(1 / 2, 1 / 3), rel=2.0**-22)
    with pytest.raises(ValueError, match="sigma must be"):
        FixedNoise(torch.zeros(2), torch.tensor([1.0, 0.0]))


def test_level_of_fixed_noise_is_a_real_one_and_the_shape_is_exact():
    """The level written down times the shape gives the certified levels."""
    noise = FixedNoise(torch.zeros(3), torch.tensor([0.1, 0.4, 0.7]))
    scheme = noise.scheme()
    level = scheme.sigma(noise.mean)
    assert level == pytest.approx((0.1 * 0.4 * 0.7) ** (1 / 3), rel=1e-6)
    assert level == float(np.float32(level))
    levels = noise.shape.double().numpy() * level
    assert levels == pytest.approx([0.1, 0.4, 0.7], rel=2.0**-23)
    seen = []
    net = nn.Linear(3, 2)
    net.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    noise.sampler(net)(torch.zeros(3), level, 40_000, stream(0, 0, 1))
    spread = torch.cat(seen[:1] + seen[2:]).std(0).double().numpy()
    assert np.all(np.abs(spread / levels - 1) < 5 / 80_000**0.5)  # five standard errors
    with pytest.raises(ValueError, match="within float32's range"):
        FixedNoise(torch.zeros(2), torch.tensor([1e-40, 1e38]))


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_parameters_of_shaped_noise_give_the_radius_again(norm):
    shape = torch.tensor([0.5, 2.0, 1.5])
    scheme = FixedNoise(torch.zeros(3), shape).scheme(norm)
    known, sigma = scheme.parameters, scheme.sigma(shape)
    assert known["dim"] == 3
    levels = (shape.double() / sigma).float().double().numpy() * sigma
    for a, b in ((2.0, None), (2.0, -1.5), (0.3, -4.0)):
        found = scheme.radius(a, sigma, b)
        truth = float(anisotropic.radius(a, levels, b, norm=norm, scores=True))
        by_hand = known["inner"] * float(gaussian.radius(a, sigma, b, scores=True))
        assert found <= min(by_hand, truth * (1 + 1e-14))
        assert found == pytest.approx(truth, rel=1e-11) == pytest.approx(by_hand, rel=1e-12)
        assert found > 0
    assert pickle.loads(pickle.dumps(scheme)).radius(2.0, sigma) == scheme.radius(2.0, sigma)
    level = SigmaNetwork(nn.Sequential(nn.Linear(3, 1), Scale(0.01)), 0.5)
    scheme = CertifiedGenerator(Scale(0.5), level, shape).noise().scheme(norm)
    known = scheme.parameters
    assert set(known) == {"lip", "mean_lip", "sigma_min", "norm", "inner", "dim"}
    sigma = scheme.sigma(shape)
    for b in (None, -3.0):
        bounds = envelope.LipschitzSigma(known["lip"], known["sigma_min"])
        reach = envelope.radius(2.0, sigma, bounds, 3, b, mean_lip=known["mean_lip"], scores=True)
        assert 0 < scheme.radius(2.0, sigma, b) <= known["inner"] * float(reach)
    copy = pickle.loads(pickle.dumps(scheme))
    assert copy.sigma(shape) == sigma
    counts = [
        np.asarray(s.sampler(nn.Linear(3, 2).eval())(shape, sigma, 50, np.random.default_rng(0)))
        for s in (scheme, copy)
        if not torch.manual_seed(0).initial_seed()
    ]
    np.testing.assert_array_equal(*counts)


def test_generator_trains_and_states_its_scope():
    net, generator = network(), NoiseGenerator(small_cnn(1, 4), 0.1)
    x, y = (column[:500] for column in digits()[:2])

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return generator_loss(net, generator, x, y, target=SIGMA)

    history = fit(nn.ModuleList([net, generator]), loss, (x, y), epochs=3, rate=1e-2)
    assert history[-1] < history[0]
    point = digits()[2][0]
    noise = generator.at(point)
    found = certify(noise.sampler(net, 10), point, noise.scheme(), n=1000)
    assert found.scope == "fixed noise at this input only"
    assert found.radius > 0
    held = 0
    for index in range(8):  # the noise of each input, kept as it is, does hold
        noise = generator.at(digits()[2][index])
        held += len(certify_and_attack(
            net, noise.scheme(), lambda _, noise=noise: (noise.mean, noise.sigma),
            [index], least=0, sampler=noise.sampler(net, 10),
        ))  # fmt: skip
    assert held >= 4


def test_samplers_and_schemes_of_other_noise_are_refused():
    """Isotropic noise under the radius of a shape, or the reverse, was certified."""
    net, x = nn.Linear(3, 2), torch.zeros(3)
    noise = FixedNoise(torch.zeros(3), torch.tensor([0.01, 1.0, 10.0]))
    wider = FixedNoise(torch.zeros(3), torch.tensor([0.01, 1.0, 20.0]))
    with pytest.raises(ValueError, match="the noise that the radius is for"):
        certify(TorchSampler(net), x, noise.scheme(), n=10)
    with pytest.raises(ValueError, match="the noise that the radius is for"):
        certify(wider.sampler(net), x, noise.scheme(), n=10)
    with pytest.raises(ValueError, match="the noise that the radius is for"):
        certify(noise.sampler(net), x, schemes.gaussian(20.0), n=10)
    rule = composite.Rule([0.5], [[composite.Cond("margin", 0)]])
    with pytest.raises(ValueError, match="the noise that the radius is for"):
        composite.certify(noise.sampler(net), x, rule, n=10)
    maps = [
        CertifiedGenerator(
            nn.Sequential(nn.Linear(3, 3), f), SigmaNetwork(nn.Linear(3, 1), 0.5), torch.ones(3)
        )
        for f in (nn.ReLU(), nn.Tanh())
    ]
    maps[1].load_state_dict(maps[0].state_dict())
    here, there = (each.noise() for each in maps)
    with pytest.raises(ValueError, match="the noise that the radius is for"):
        certify(here.sampler(net), x, there.scheme(), n=10)
    certify(here.sampler(net), x, pickle.loads(pickle.dumps(here.scheme())), n=10)


def test_noise_of_another_shape_is_refused():
    """Torch would broadcast it, and the radius would be that of fewer dimensions."""
    net, x = nn.Linear(784, 2), torch.zeros(784)
    with pytest.raises(ValueError, match=r"mean must be of shape \(784,\); got \(1,\)"):
        FixedNoise(torch.zeros(1), torch.ones(784))
    short = FixedNoise(torch.zeros(1), torch.ones(1))
    level_one = schemes.Anisotropic({"inner": 1.0}, level=lambda x: 1.0)
    level_one.drawn_by(short)
    with pytest.raises(ValueError, match=r"x must be of shape \(1,\); got \(784,\)"):
        certify(short.sampler(net, 2), x, level_one, n=10)
    with pytest.raises(ValueError, match="dim must be at least the size of the input, 784; got 1"):
        short.scheme().sigma(x)
    with pytest.raises(ValueError, match=r"net returns must be of shape \(1, 1568\); got \(1, 2\)"):
        NoiseGenerator(net, 0.1).at(x)
    level = SigmaNetwork(nn.Sequential(nn.Linear(784, 1), Scale(0.0)), 0.5)
    for mean, shape in ((Scale(0.0), torch.ones(1)), (nn.Linear(784, 1), torch.ones(784))):
        noise = CertifiedGenerator(mean, level, shape).noise()
        with pytest.raises(ValueError, match=r"must be of shape|dim must be at least"):
            certify(noise.sampler(net, 2), x, noise.scheme(), n=10)
    with pytest.raises(ValueError, match="dim must be at least the size of the input, 784; got 1"):
        level.scheme(1).sigma(x)
    with pytest.raises(ValueError, match="dim must be at least"):
        schemes.semielastic(KNNSigma(np.zeros((3, 784)), 0.5, 0.01, 1, 0.0), 1).sigma(x)


def test_scheme_and_sampler_of_a_noise_are_of_the_same_maps():
    mean = nn.Linear(1, 1)
    mean.weight.data, mean.bias.data = torch.zeros(1, 1), torch.zeros(1)
    level = SigmaNetwork(nn.Sequential(nn.Linear(1, 1), Scale(0.0)), 1.0)
    generator = CertifiedGenerator(mean, level, torch.ones(1))
    noise = generator.noise()
    mean.weight.data.fill_(12.0), mean.bias.data.fill_(9.0)  # the counterexample's, too late
    found = certify(noise.sampler(half_line()), torch.tensor([-1.0]), noise.scheme(), n=10**5)
    assert found.radius < 1.0  # where N(-1, 1) has the majority
    assert noise.scheme().parameters["mean_lip"] == 0.0
    assert generator.noise().scheme().parameters["mean_lip"] >= 12.0


def test_shaped_noise_in_half_precision():
    net = nn.Linear(2, 2).bfloat16()
    noise = FixedNoise(torch.zeros(2), torch.tensor([0.5, 1.0]))
    counts = noise.sampler(net, 2)(torch.ones(2), 1.0, 1000, np.random.default_rng(0))
    assert np.asarray(counts).sum() == 1000


def half_line() -> nn.Linear:
    """1[z < 0] on the line."""
    f = nn.Linear(1, 2)
    f.weight.data, f.bias.data = torch.tensor([[1.0], [-1.0]]), torch.zeros(2)
    return f


def test_counterexample_to_the_certificate_of_a_generator():
    net = nn.Linear(1, 2)  # mu(x) = 12 (x + 1) - 3, sigma = 1
    net.weight.data = torch.tensor([[12.0], [0.0]])
    net.bias.data = torch.tensor([9.0, float(np.log(np.expm1(0.9)))])
    generator, f = NoiseGenerator(net, 0.1), half_line()
    found = {}
    for x in (-1.0, -0.5):
        noise = generator.at(torch.tensor([x]))
        found[x] = certify(noise.sampler(f), torch.tensor([x]), noise.scheme(), n=10**6)
    assert found[-1.0].predict == 1
    assert found[-1.0].radius > 3.5  # "certified" further than 3.5, and it flips at .5
    assert found[-0.5].predict == 0
    assert found[-1.0].scope == "fixed noise at this input only"


def test_certified_generator_on_the_counterexample():
    mean = nn.Linear(1, 1)
    mean.weight.data, mean.bias.data = torch.tensor([[12.0]]), torch.tensor([9.0])
    level = SigmaNetwork(nn.Sequential(nn.Linear(1, 1), Scale(0.0)), 1.0)
    generator, f = CertifiedGenerator(mean, level, torch.ones(1)), half_line()
    noise = generator.noise()
    scheme = noise.scheme()
    assert scheme.radius(4.0, 1.0) == pytest.approx(4 / 13, rel=1e-9)
    found = certify(noise.sampler(f), torch.tensor([-1.0]), scheme, n=10**6)
    assert found.predict == 1
    # the class flips where the centre crosses 0: x + 12 (x + 1) - 3 = 0 at x = -9/13
    assert 0.8 * 4 / 13 < found.radius < 4 / 13 == pytest.approx(1 - 9 / 13)


def test_certified_generator_certifies_and_holds():
    net, levels = network(), sigma_network()
    torch.manual_seed(2)
    mean = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Tanh(), Scale(0.1))
    shape = torch.linspace(0.9, 1.2, DIM).reshape(1, 28, 28)
    generator = CertifiedGenerator(mean, levels, shape)

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return generator_loss(net, generator, x, y, target=0.4)

    fit(nn.ModuleList([net, generator]), loss, digits()[:2], epochs=6, rate=1e-2)
    noise = generator.noise()
    scheme = noise.scheme()
    assert scheme.scope == "sigma(x), mu(x) with proven bounds"
    assert scheme.parameters["mean_lip"] > 0 < scheme.parameters["lip"]
    certify_and_attack(net, scheme, generator, sampler=noise.sampler(net, 10))


def test_a_level_whose_floor_nobody_proved_is_refused():
    """A linear map has a proven slope, but not the floor that is written beside it."""
    level = nn.Linear(2, 1)
    level.sigma_min = 0.25
    generator = CertifiedGenerator(nn.Identity(), level, torch.ones(2))
    with pytest.raises(ValueError, match="level must be a SigmaNetwork; got Linear"):
        generator.noise()
