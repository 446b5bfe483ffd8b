"""Noise of a shape: fixed, chosen for each input, following the input within proven
bounds.
"""

import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch_digits import digits, network

from rsbounds import anisotropic, composite, envelope, gaussian, schemes
from rsbounds.certify import certify
from rsbounds.procedure import Procedure
from rsbounds.sampling import as_sampler
from rsbounds.sampling.internal import stream
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import (
    CertifiedGenerator,
    DenseMaps,
    FixedNoise,
    NoiseGenerator,
    NoiseMaps,
    Scale,
    SigmaNetwork,
    TorchSampler,
    generator_loss,
)


def test_level_of_fixed_noise_is_a_float32_number_and_the_shape_is_exact():
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
    as_sampler(net, noise.scheme())(torch.zeros(3), level, 40_000, stream(0, 0, 1))
    spread = torch.cat(seen[1:]).std(0).double().numpy()
    assert np.all(np.abs(spread / levels - 1) < 5 / 80_000**0.5)  # five standard errors
    with pytest.raises(ValueError, match="within float32's range"):
        FixedNoise(torch.zeros(2), torch.tensor([1e-40, 1e38]))
    with pytest.raises(ValueError, match="sigma must be"):
        FixedNoise(torch.zeros(2), torch.tensor([1.0, 0.0]))


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_parameters_of_shaped_noise_give_the_radius_again(norm):
    shape = torch.tensor([0.5, 2.0, 1.5])
    scheme = FixedNoise(torch.zeros(3), shape).scheme(norm)
    known, sigma = scheme.parameters, scheme.sigma(shape)
    assert known["dim"] == 3
    levels = (shape.double() / sigma).float().double().numpy() * sigma
    for a, b in ((2.0, None), (2.0, -1.5), (0.3, -4.0)):
        found = scheme.radius(a, sigma, b)
        truth = float(anisotropic.radius(a, levels, p_b=b, norm=norm, scores=True))
        by_hand = known["inner"] * float(gaussian.radius(a, sigma, p_b=b, scores=True))
        assert found <= min(by_hand, truth * (1 + 1e-14))
        assert (
            found
            == pytest.approx(truth, rel=1e-11)
            == pytest.approx(by_hand, rel=1e-12)
        )
        assert found > 0
    level = SigmaNetwork(nn.Sequential(nn.Linear(3, 1), Scale(0.01)), 0.5)
    scheme = CertifiedGenerator(Scale(0.5), level, shape).noise().scheme(norm)
    known = scheme.parameters
    assert set(known) == {"lip", "mean_lip", "sigma_min", "norm", "inner", "dim"}
    sigma = scheme.sigma(shape)
    for b in (None, -3.0):
        bounds = envelope.LipschitzSigma(known["lip"], known["sigma_min"])
        more = {"mean_lip": known["mean_lip"], "scores": True}
        reach = envelope.radius(2.0, sigma, bounds, 3, b, **more)
        assert 0 < scheme.radius(2.0, sigma, b) <= known["inner"] * float(reach)


def test_dense_maps_are_the_block_written_out():
    """Each convolution sees the image and all that came before it."""
    torch.manual_seed(0)
    net = DenseMaps(3, growth=5)
    x = torch.randn(2, 3, 6, 7)
    seen = [x]
    assert len(net.block) == 4
    for convolution in net.block:
        assert convolution.out_channels == 5
        step = nn.functional.leaky_relu(convolution(torch.cat(seen, dim=1)))
        seen.append(step)
    features = torch.cat(seen, dim=1)
    expected = torch.cat([net.mean(features), net.level(features)], dim=1)
    assert torch.equal(net(x), expected)
    assert net(x).shape == (2, 6, 6, 7)


def test_sigmoids_hold_the_means_and_levels_of_a_generator():
    torch.manual_seed(0)
    net = DenseMaps(1, growth=2)
    x = 1e3 * torch.randn(3, 1, 4, 4)
    generator = NoiseGenerator(net, 0.1, sigma_max=2.0, mean_max=0.5)
    mean, sigma = generator(x)
    raw_mean, raw_level = net(x).chunk(2, dim=1)
    torch.testing.assert_close(mean, 0.5 * (2 * torch.sigmoid(raw_mean) - 1))
    torch.testing.assert_close(sigma, 0.1 + 1.9 * torch.sigmoid(raw_level))
    assert raw_mean.abs().max() > 10
    assert mean.abs().max() <= 0.5
    assert sigma.min() >= 0.1
    assert sigma.max() <= 2.0
    with pytest.raises(ValueError, match="sigma_max must be"):
        NoiseGenerator(net, 0.5, sigma_max=0.5)
    with pytest.raises(ValueError, match="mean_max must be"):
        NoiseGenerator(net, 0.5, mean_max=0.0)
    with pytest.raises(ValueError, match="growth must be"):
        DenseMaps(1, growth=0)


def test_loss_of_a_generator_and_the_noise_of_one_input():
    """The losses at known maps: no mean, level .5, scores that no noise moves."""
    x, y = torch.zeros(4, 1, 2, 2), torch.tensor([0, 1, 0, 1])

    def model(x):
        return 0 * x.flatten(1)[:, :2]

    maps = NoiseMaps((1, 2, 2), 0.5)
    loss = generator_loss(model, maps, x, y, target=0.25, variance_weight=3.0)
    assert loss.item() == pytest.approx(np.log(2) + 3 * np.log(2) ** 2, rel=1e-4)
    maps.mean.data.fill_(2.0)
    more = generator_loss(model, maps, x, y, target=0.5, mean_weight=0.1)
    assert more.item() == pytest.approx(np.log(2) + 0.1 * 4, rel=1e-4)
    generator, point = (
        NoiseGenerator(nn.Conv2d(1, 2, 3, padding=1), 0.1),
        digits()[2][0],
    )
    noise = generator.at(point)
    result = certify(
        as_sampler(network(), noise.scheme(), num_classes=10),
        point,
        noise.scheme(),
        n=100,
    )
    assert result.scope == "fixed noise at this input only"
    mean, sigma = generator(point[None])
    assert torch.equal(noise.mean, mean[0])
    assert torch.equal(noise.sigma, sigma[0])
    assert sigma.min() >= 0.1


def test_samplers_and_schemes_of_other_noise_are_refused():
    """Isotropic noise under the radius of a shape, or the reverse, was certified."""
    net, x = nn.Linear(3, 2), torch.zeros(3)
    noise = FixedNoise(torch.zeros(3), torch.tensor([0.01, 1.0, 10.0]))
    wider = FixedNoise(torch.zeros(3), torch.tensor([0.01, 1.0, 20.0]))
    rule = composite.Rule([0.5], [[composite.Cond("margin", 0)]])
    with pytest.raises(ValueError, match=r"noise.*radius"):
        composite.certify(as_sampler(net, noise.scheme()), x, rule, Procedure(n=10))
    pairs = [
        (TorchSampler(net), noise.scheme()),
        (as_sampler(net, wider.scheme()), noise.scheme()),
        (as_sampler(net, noise.scheme()), schemes.gaussian(20.0)),
    ]
    maps = [
        CertifiedGenerator(
            nn.Sequential(nn.Linear(3, 3), f),
            SigmaNetwork(nn.Linear(3, 1), 0.5),
            torch.ones(3),
        )
        for f in (nn.ReLU(), nn.Tanh())
    ]
    maps[1].load_state_dict(maps[0].state_dict())
    here, there = (each.noise() for each in maps)
    for sampler, scheme in (*pairs, (as_sampler(net, here.scheme()), there.scheme())):
        with pytest.raises(ValueError, match=r"noise.*radius"):
            certify(sampler, x, scheme, n=10)
    certify(
        as_sampler(net, here.scheme()),
        x,
        pickle.loads(pickle.dumps(here.scheme())),
        n=20,
    )


def test_noise_of_another_shape_is_refused():
    """Torch would broadcast it, and the radius would be that of fewer dimensions."""
    net, x = nn.Linear(784, 2), torch.zeros(784)
    with pytest.raises(ValueError, match=r"mean.*\(784,\)"):
        FixedNoise(torch.zeros(1), torch.ones(784))
    short = FixedNoise(torch.zeros(1), torch.ones(1))
    level_one = schemes.Anisotropic({"inner": 1.0}, level=lambda x: 1.0)
    level_one.drawn_by(short)
    with pytest.raises(ValueError, match=r"^x must.*\(1,\)"):
        certify(as_sampler(net, short.scheme(), num_classes=2), x, level_one, n=10)
    with pytest.raises(ValueError, match=r"dim must.*784"):
        short.scheme().sigma(x)
    with pytest.raises(ValueError, match=r"net.*\(1, 1568\)"):
        NoiseGenerator(net, 0.1).at(x)
    level = SigmaNetwork(nn.Sequential(nn.Linear(784, 1), Scale(0.0)), 0.5)
    for mean, shape, message in (
        (Scale(0.0), torch.ones(1), r"can't be exported for an input of shape \(1,\)"),
        (nn.Linear(784, 1), torch.ones(784), r"must be of shape \(784,\); got \(1,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            CertifiedGenerator(mean, level, shape).noise()
    with pytest.raises(ValueError, match=r"exported.*shape"):
        level.scheme(1)
    with pytest.raises(ValueError, match=r"dim must.*size"):
        level.scheme(784).sigma(torch.zeros(785))
    with pytest.raises(ValueError, match=r"dim.*least"):
        schemes.semielastic(KNNSigma(np.zeros((3, 784)), 0.5, 0.01, 1, 0.0), 1).sigma(x)


def half_line():
    f = nn.Linear(1, 2)
    f.weight.data, f.bias.data = torch.tensor([[1.0], [-1.0]]), torch.zeros(2)
    return f


def test_counterexample_to_the_certificate_of_a_generator():
    """mu(x) = 12 (x + 1) - 3, sigma = 1, centre 0 at x = -9/13: 4/13 from -1, where it
    is -4.
    """
    net, mean, f = nn.Linear(1, 2), nn.Linear(1, 1), half_line()
    net.weight.data = torch.tensor([[12.0], [0.0]])
    net.bias.data = torch.tensor([9.0, float(np.log(np.expm1(0.9)))])
    chosen, results = NoiseGenerator(net, 0.1), []
    for x in (torch.tensor([-1.0]), torch.tensor([-0.5])):
        noise = chosen.at(x)
        results.append(
            certify(as_sampler(f, noise.scheme()), x, noise.scheme(), n=10**5)
        )
    assert [c.predict for c in results] == [1, 0]
    assert results[0].radius > 3.4  # "certified" further than that, and it flips at .5
    assert results[0].scope == "fixed noise at this input only"
    level = SigmaNetwork(nn.Sequential(nn.Linear(1, 1), Scale(0.0)), 1.0)
    mean.weight.data, mean.bias.data = torch.tensor([[12.0]]), torch.tensor([9.0])
    noise = CertifiedGenerator(mean, level, torch.ones(1)).noise()
    mean.weight.data.zero_()  # too late
    assert noise.scheme().radius(4.0, 1.0) == pytest.approx(4 / 13, rel=1e-9)
    result = certify(
        as_sampler(f, noise.scheme()), torch.tensor([-1.0]), noise.scheme(), n=10**5
    )
    assert result.predict == 1
    assert 0.8 * 4 / 13 < result.radius < 4 / 13


def test_a_level_whose_floor_nobody_proved_is_refused():
    """A linear map has a proven slope, but not the floor that is written beside it."""
    level = nn.Linear(2, 1)
    level.sigma_min = 0.25
    with pytest.raises(ValueError, match=r"level.*SigmaNetwork"):
        CertifiedGenerator(nn.Identity(), level, torch.ones(2)).noise()


def test_fixed_noise_is_that_of_the_moment_it_was_made():
    """A mean changed between two rows changed the classifier."""
    mean, sigma = torch.zeros(3), torch.ones(3)
    noise = FixedNoise(mean, sigma)
    law, x = noise.law, torch.zeros(3, dtype=torch.float64)
    mean.fill_(5.0)
    sigma[0] = 9.0
    assert noise.law == law
    assert noise.centre(x).tolist() == [0.0, 0.0, 0.0]


def test_generators_that_differ_in_a_factor_are_of_different_laws():
    laws = set()
    for factor in (0.1, 0.2):
        level = SigmaNetwork(nn.Sequential(nn.Linear(3, 1), Scale(0.0)), 0.5)
        for parameter in level.parameters():
            nn.init.zeros_(parameter)
        laws.add(CertifiedGenerator(Scale(factor), level, torch.ones(3)).noise().law)
    assert len(laws) == 2
