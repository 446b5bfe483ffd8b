"""Sound noise with a mean and a level on every axis: fixed, and following the input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from exact_layers import numbers, real, values
from mpmath import mp
from torch import nn

from rsbounds.certify import certify, stream
from rsbounds.oracle import certificates
from rsbounds.schemes import Generator
from rsbounds.torch import CertifiedGenerator, FixedNoise, Scale, SigmaNetwork, Smooth, draw
from rsbounds.torch.networks import shaped

pytestmark = pytest.mark.usefixtures("one_thread")

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
    noise = following().noise()
    kept, scheme = noise._generator, noise.scheme(sound=True)
    known = scheme.parameters
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
            level = scheme.sigma(whole / 255)
            truth = max(real(kept.level.h, u).item(), mp.zero) + mp.mpf(kept.level.sigma_min)
            assert abs(mp.log(level / truth)) <= known["slack"] / 2
            worst = max(worst, lost)
    assert worst > 0


def test_shift_takes_from_the_radius_what_the_centres_may_move():
    noise = following().noise()
    known = {**noise.scheme(sound=True).parameters, "shift": 1e-3}
    score, sigma, steps = 2.0, 0.4, 1 + known["mean_lip"]
    found = Generator(known).radius(score, sigma)
    without = Generator({**known, "shift": 0.0}).radius(score, sigma)
    assert found == pytest.approx(without - known["inner"] * 1e-3 / steps, rel=1e-9)
    assert certificates.excess("generator", known, sigma, found, score) <= 0
    assert certificates.excess("generator", known, sigma, found * (1 + 1e-9), score) > 0
    assert Generator({**known, "shift": 1e6}).radius(score, sigma) == 0
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
