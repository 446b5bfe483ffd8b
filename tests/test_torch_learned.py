"""Learned smoothing on real digits: certificates, and attacks inside their radii."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from scipy.special import ndtr, ndtri
from torch import nn

from rsbounds import datasets, lipschitz, schemes
from rsbounds.certify import certify, predict
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import (
    CertifiedGenerator,
    FixedNoise,
    NoiseGenerator,
    NoiseMaps,
    Scale,
    SigmaNetwork,
    TorchSampler,
    augment,
    average_radius_loss,
    certified_radius,
    fit,
    generator_loss,
    norm_penalty,
    pgd,
    small_cnn,
    soft_vote,
)

SIGMA, DIM = 0.5, 784


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@cache
def digits() -> tuple[torch.Tensor, ...]:
    """2,000 digits to train on and 200 held out."""
    parts = datasets.split(*datasets.mnist_digits(), 3000)
    x, y, x_held, y_held = (torch.from_numpy(part) for part in parts)
    return x, y, x_held[:200], y_held[:200]


def network(width: int = 64) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(196, width), nn.Softplus(), nn.Linear(width, 10)
    )


def noisy_loss(model: nn.Module, sigma: float = SIGMA):
    return lambda x, y: nn.functional.cross_entropy(model(augment(x, sigma)), y)


@cache
def model() -> nn.Module:
    net = network()
    fit(net, noisy_loss(net), digits()[:2], epochs=8, rate=1e-2)
    return net


def attack(net, levels, x, label: int, radius: float, samples: int = 32) -> torch.Tensor:
    """PGD on the soft smoothed scores, the noise level following the attacked point."""
    noise = torch.randn(samples, *x.shape, generator=torch.Generator().manual_seed(1))

    def harm(point: torch.Tensor) -> torch.Tensor:
        found = levels(point)
        mean, sigma = found if isinstance(found, tuple) else (0.0, found.reshape(1, 1, 1, 1))
        scores = net(point + mean + sigma * noise).log_softmax(1).mean(0)
        others = scores.index_fill(0, torch.tensor([label]), -torch.inf)
        return (others.max() - scores[label])[None]

    return pgd(harm, x[None], radius, steps=20)[0]


def certify_and_attack(net, scheme, levels, rows=range(12), least=5, sampler=None) -> list[float]:
    """Certifies held-out digits and attacks each inside its radius: none may flip.

    ``levels`` maps a batch of one to its noise level, or to mean and level.

    ``least`` digits must be certified, or the test would show nothing. At alpha = .001 a false
    certificate among a dozen has a chance of 1 %, that an attack then finds it of less.
    """
    _, _, x, y = digits()
    sampler, radii = sampler or TorchSampler(net, 10), []
    for index in rows:
        found = certify(sampler, x[index], scheme, n=2000, index=index)
        if found.predict != int(y[index]) or found.radius <= 0:
            continue
        radii.append(found.radius)
        moved = attack(net, levels, x[index], found.predict, found.radius)
        assert (moved - x[index]).norm() <= found.radius
        again = predict(sampler, moved, scheme, n=1000, index=index)
        assert again in (found.predict, -1), f"digit {index} flips inside {found.radius}"
    assert len(radii) >= least
    return radii


# sigma networks


def sigma_network() -> SigmaNetwork:
    torch.manual_seed(1)
    normed = nn.utils.parametrizations.spectral_norm
    h = nn.Sequential(
        normed(nn.Conv2d(1, 4, 4, stride=2, padding=1)), nn.ReLU(), nn.Flatten(),
        normed(nn.Linear(784, 1)),
    )  # fmt: skip
    return SigmaNetwork(nn.Sequential(h, Scale(0.02)), 0.3)


def test_sigma_network_trained_by_its_objective_certifies_and_holds():
    net, levels = network(), sigma_network()
    fit(net, noisy_loss(net, 0.4), digits()[:2], epochs=6, rate=1e-2)
    before, lip = average(net, levels), levels.lip

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return average_radius_loss(net, levels, x, y, lip=lip, dim=DIM, samples=4, penalty=1e-3)

    rows = [column[:600] for column in digits()[:2]]
    fit(nn.ModuleList([net, levels]), loss, rows, epochs=2, batch_size=100)
    assert average(net, levels) > 1.02 * before
    assert 0 < levels.lip < 0.05
    with torch.no_grad():
        spread = levels(digits()[2])
    assert spread.min() >= 0.3
    assert spread.max() > spread.min()
    certify_and_attack(net, levels.scheme(DIM), levels)


def average(net: nn.Module, levels: SigmaNetwork) -> float:
    _, _, x, y = digits()
    torch.manual_seed(9)
    with torch.no_grad():
        known = {"lip": levels.lip, "dim": DIM, "samples": 16}
        return -float(average_radius_loss(net.eval(), levels.eval(), x, y, **known))


def test_bound_of_a_sigma_network_is_above_its_slopes_in_training_mode_too():
    levels = sigma_network().train()
    levels.h[0][3].bias.data += 1.0  # no dead relu
    bound = levels.lip
    x = digits()[2].double()
    frozen = levels.frozen()
    moved = pgd(lambda p: frozen(p), x, 1e-2, steps=30)
    with torch.no_grad():
        slopes = (frozen(moved) - frozen(x)).abs() / (moved - x).flatten(1).norm(dim=1)
    assert 0.2 * bound < slopes.max() <= bound
    assert levels.training
    assert levels.lip == bound


def test_scheme_is_frozen():
    levels = sigma_network()
    scheme, x = levels.scheme(DIM), digits()[2][0]
    before = scheme.sigma(x)
    levels.h[0][3].bias.data += 100.0
    assert scheme.sigma(x) == before
    assert levels.scheme(DIM).sigma(x) > before + 1


def test_methods_are_ordered_and_follow_the_core():
    levels = sigma_network()
    paper = levels.scheme(DIM, method="paper", p_min=1e-4, classes=10)
    known = {"lip": levels.lip, "sigma_min": 0.3, "dim": DIM}
    for score in (0.1, 1.0, 3.0):
        radii = [
            scheme.radius(score, 0.35)
            for scheme in (paper, levels.scheme(DIM, method="integrated"), levels.scheme(DIM))
        ]
        assert 0 < radii[0] < radii[1] < radii[2]
        # Remark 2 by hand: both probabilities through the affine map
        p_a, p_b = (1e-4 + (1 - 1e-3) * ndtr(z) for z in (score, -score))
        truth = lipschitz.radius(p_a, 0.35, p_b=p_b, method="paper", p_min=1e-4, **known)
        # by hand, p_a near 1 has an absolute error of 1e-16, so its score one of some 1e-14
        assert float(truth) * (1 - 1e-9) <= radii[0] <= float(truth) * (1 + 1e-11)
    with pytest.raises(ValueError, match="needs p_min and classes"):
        levels.scheme(DIM, method="paper")
    with pytest.raises(ValueError, match="method must be one of"):
        levels.scheme(DIM, method="power")
    with pytest.raises(ValueError, match="sigma_min must be"):
        SigmaNetwork(nn.Linear(2, 1), 0.0)


@pytest.mark.parametrize("method", ["exact", "integrated", "paper"])
def test_gradient_of_the_radius(method):
    # two slopes of the same function: central differences of step 1e-3 agree to 1e-5
    known = {"lip": 0.05, "dim": 784.0, "sigma_min": 0.25, "method": method}
    core = dict(known, p_min=1e-3) if method == "paper" else known
    z = torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor([0.25, 0.5, 1.0], dtype=torch.float64, requires_grad=True)
    radius = certified_radius(z, sigma, **core)
    expected = lipschitz.radius(z.detach().numpy(), sigma.detach().numpy(), scores=True, **core)
    assert radius.detach().numpy() == pytest.approx(expected)
    radius.sum().backward()
    for index in range(3):
        at = [z.detach().numpy()[index], sigma.detach().numpy()[index]]
        for argument, grad in ((0, z.grad), (1, sigma.grad)):
            up, down = list(at), list(at)
            up[argument] += 1e-4
            if not (argument and index == 0):
                down[argument] -= 1e-4
            rise = np.diff([lipschitz.radius(*p, scores=True, **core) for p in (down, up)])[0]
            assert grad[index].item() == pytest.approx(
                # "integrated" bends at the floor of sigma, where its slope is 0
                rise / (up[argument] - down[argument]),
                rel=1e-3,
                abs=1e-7 if index else 5e-3,
            )


def test_radius_of_a_level_below_its_floor_is_refused():
    known = {"sigma_min": 0.5, "lip": 0.0, "dim": 784}
    with pytest.raises(ValueError, match="sigma must be"):
        certified_radius(torch.tensor([2.0]), torch.tensor([0.1]), **known)
    rounded = torch.nextafter(torch.tensor([0.5]), torch.tensor([0.0]))
    assert certified_radius(torch.tensor([2.0]), rounded, **known).item() == pytest.approx(1.0)
    floor = nn.Sequential(nn.Flatten(), nn.Linear(784, 1), Scale(0.0))
    levels = SigmaNetwork(floor, 0.45)  # in float32 it lies below .45
    x, y = (column[:4] for column in digits()[:2])
    assert average_radius_loss(model(), levels, x, y, lip=0.0, dim=DIM) < 0


def test_radius_is_rounded_down_to_the_type_of_the_scores():
    score = torch.linspace(0.1, 3, 500)
    known = {"sigma_min": 0.25, "lip": 0.05, "dim": 784}
    sigma = torch.full_like(score, 0.5)
    truth = lipschitz.radius(score.double().numpy(), 0.5, scores=True, **known)
    found = certified_radius(score, sigma, **known).double().numpy()
    assert np.all(found <= truth)
    assert found == pytest.approx(truth, rel=1e-6)


def test_objective_of_the_paper_is_its_certificate():
    """Radii of "paper" are those of the scheme, of scores after Remark 2."""
    levels = sigma_network()
    scheme = levels.scheme(DIM, method="paper", p_min=0.01, classes=3)
    z = torch.tensor([0.3, 1.5], dtype=torch.float64)
    known = {"lip": levels.lip, "dim": DIM, "method": "paper", "p_min": 0.01, "classes": 3}
    found = certified_radius(z, torch.full_like(z, 0.3), sigma_min=0.3, **known)
    assert found.tolist() == [scheme.radius(float(score), 0.3) for score in z]

    def net(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(len(x), -1)[:, :3] * 0 + torch.tensor([1.0, 0.0, 0.0])

    p = float(torch.tensor([1.0, 0.0, 0.0]).softmax(0)[0])
    y = torch.zeros(4, dtype=torch.long)
    known = {"lip": levels.lip, "dim": DIM, "method": "paper", "p_min": 0.01}
    loss = average_radius_loss(net, levels, digits()[2][:4], y, **known)
    assert -loss.item() == pytest.approx(scheme.radius(float(ndtri(p)), 0.3), rel=1e-5)


def test_penalty_lowers_the_bound():
    """Without spectral normalisation it is lambda sum |W| that keeps sigma's constant small."""
    lips = []
    for penalty in (0.0, 1.0):
        torch.manual_seed(1)
        h = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.ReLU(), nn.Linear(8, 1), Scale(0.1))
        levels = SigmaNetwork(h, 0.3)

        def loss(x, y, levels=levels, penalty=penalty):
            known = {"lip": levels.lip, "dim": DIM, "samples": 2, "penalty": penalty}
            return average_radius_loss(model(), levels, x, y, **known)

        rows = [column[:400] for column in digits()[:2]]
        fit(levels, loss, rows, epochs=3, rate=1e-2)
        lips.append(levels.lip)
    assert lips[1] < 0.7 * lips[0]


def test_levels_do_not_change_the_input():
    levels = SigmaNetwork(nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 1)), 0.5)
    x = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    levels.scheme(2).sigma(x)
    assert x.tolist() == [-1.0, 1.0]


def test_gradient_is_zero_without_a_majority():
    z = torch.tensor([-1.0, 0.0], requires_grad=True)
    radius = certified_radius(z, torch.tensor([0.5, 0.5]), lip=0.1, dim=10, sigma_min=0.5)
    radius.sum().backward()
    assert radius.tolist() == [0.0, 0.0]
    assert z.grad.tolist() == [0.0, 0.0]


def test_norm_penalty_is_the_sum_of_spectral_norms():
    net = network()
    truth = sum(np.linalg.norm(m.weight.detach().numpy(), 2) for m in (net[2], net[4]))
    assert norm_penalty(net.modules()).item() == pytest.approx(truth, rel=1e-5)
    assert norm_penalty([nn.ReLU()]).item() == 0.0


def test_constant_noise_certifies_and_holds():
    certify_and_attack(model(), schemes.gaussian(SIGMA), lambda _: torch.tensor(SIGMA), least=8)


def test_soft_vote_takes_a_level_for_each_row():
    x = digits()[2][:4]
    with torch.no_grad():
        one = soft_vote(model(), x, torch.tensor([0.0, 0.0, 5.0, 5.0]), 16)
        clean = model()(x).softmax(1)
    assert torch.allclose(one[:2], clean[:2], atol=1e-5)
    assert not torch.allclose(one[2:], clean[2:], atol=1e-3)
    assert torch.allclose(one.sum(1), torch.ones(4), atol=1e-5)


# sigma from the distance to the nearest digits


def test_knn_sigma_end_to_end():
    # trained under noise of a larger rate than the one it is certified for
    x, y, _, _ = digits()
    flat = x.flatten(1).double().numpy()
    training = KNNSigma(flat, SIGMA, 0.02, 10, "mean")
    levels = torch.from_numpy(training.sigma(flat)).float()
    assert levels.std() > 0.005
    net = network()
    fit(
        net,
        lambda x, y, sigma: nn.functional.cross_entropy(net(augment(x, sigma)), y),
        (x, y, levels), epochs=6, rate=1e-2,
    )  # fmt: skip
    knn = KNNSigma(flat, SIGMA, 0.01, 10, training.shift)
    scheme = schemes.semielastic(knn, DIM)

    def level(point: torch.Tensor) -> torch.Tensor:
        return torch.tensor(float(knn.sigma(point.detach().numpy().ravel())))

    certify_and_attack(net, scheme, level)


# noise generators


def test_fixed_maps_certify_and_hold():
    net, maps = network(), NoiseMaps((1, 28, 28), SIGMA)
    both = nn.ModuleList([net, maps])

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return generator_loss(net, maps, x, y, target=SIGMA, variance_weight=10.0)

    fit(both, loss, digits()[:2], epochs=6, rate=1e-2)
    noise = maps.noise()
    assert noise.scope == "fixed noise"
    assert noise.sigma.log().mean().exp().item() == pytest.approx(SIGMA, rel=0.05)
    assert noise.sigma.max() > 1.1 * noise.sigma.min()
    certify_and_attack(net, noise.scheme(), maps, sampler=noise.sampler(net, 10))


def test_ellipsoid_volume_is_that_of_the_core():
    noise = FixedNoise(torch.zeros(2), torch.tensor([2.0, 3.0]))
    assert np.exp(noise.log_volume(1.0)) == pytest.approx(6 * np.pi, rel=1e-9)
    assert noise.scheme(norm=np.inf).radius(1.0, 1.0) == pytest.approx(1 / np.hypot(1 / 2, 1 / 3))
    with pytest.raises(ValueError, match="sigma must be"):
        FixedNoise(torch.zeros(2), torch.tensor([1.0, 0.0]))


def test_generator_trains_and_states_its_scope():
    net, generator = network(), NoiseGenerator(small_cnn(1, 4), 0.1)
    x, y = (column[:500] for column in digits()[:2])

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return generator_loss(net, generator, x, y, target=SIGMA)

    history = fit(nn.ModuleList([net, generator]), loss, (x, y), epochs=3, rate=1e-2)
    assert history[-1] < 0.85 * history[0]
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


def test_noise_of_another_shape_is_refused():
    """Torch would broadcast it, and the radius would be that of fewer dimensions."""
    net, x = nn.Linear(784, 2), torch.zeros(784)
    with pytest.raises(ValueError, match=r"mean must be of shape \(784,\); got \(1,\)"):
        FixedNoise(torch.zeros(1), torch.ones(784))
    short = FixedNoise(torch.zeros(1), torch.ones(1))
    with pytest.raises(ValueError, match=r"x must be of shape \(1,\); got \(784,\)"):
        certify(short.sampler(net, 2), x, schemes.gaussian(1.0), n=10)
    with pytest.raises(ValueError, match=r"x must be of shape \(1,\)"):
        short.scheme().sigma(x)
    with pytest.raises(ValueError, match=r"net returns must be of shape \(1, 1568\); got \(1, 2\)"):
        NoiseGenerator(net, 0.1).at(x)
    level = SigmaNetwork(nn.Sequential(nn.Linear(784, 1), Scale(0.0)), 0.5)
    for mean, shape in ((Scale(0.0), torch.ones(1)), (nn.Linear(784, 1), torch.ones(784))):
        noise = CertifiedGenerator(mean, level, shape).noise()
        with pytest.raises(ValueError, match="must be of shape"):
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
