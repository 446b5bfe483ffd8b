"""Sigma networks and nearest digits: certificates, and attacks inside their radii."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import ndtr, ndtri
from torch import nn
from torch_digits import (
    DIM,
    SIGMA,
    certify_and_attack,
    digits,
    model,
    network,
    noisy_loss,
    sigma_network,
)

from rsbounds import lipschitz, schemes
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import (
    Scale,
    SigmaNetwork,
    augment,
    average_radius_loss,
    certified_radius,
    fit,
    norm_penalty,
    pgd,
    soft_vote,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_sigma_network_trained_by_its_objective_certifies_and_holds():
    net, levels = network(), sigma_network()
    fit(net, noisy_loss(net, 0.4), digits()[:2], epochs=6, rate=1e-2)
    before, lip = average(net, levels), levels.lip

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return average_radius_loss(net, levels, x, y, lip=lip, dim=DIM, samples=4, penalty=1e-3)

    rows = [column[:600] for column in digits()[:2]]
    fit(nn.ModuleList([net, levels]), loss, rows, epochs=2, batch_size=100)
    assert average(net, levels) > before
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
    known = {"lip": levels.lip, "sigma_min": 0.3, "dim": DIM}
    for score in (0.1, 1.0, 3.0):
        radii = [
            lipschitz.radius_of_scores(score, 0.35, method=method, **more, **known)
            for method, more in (("paper", {"p_min": 1e-4, "classes": 10}), ("integrated", {}))
        ]
        radii.append(levels.scheme(DIM).radius(score, 0.35))
        assert 0 < radii[0] < radii[1] < radii[2]
        # Remark 2 by hand: both probabilities through the affine map
        p_a, p_b = (1e-4 + (1 - 1e-3) * ndtr(z) for z in (score, -score))
        truth = lipschitz.radius(p_a, 0.35, p_b=p_b, method="paper", p_min=1e-4, **known)
        # by hand, p_a near 1 has an absolute error of 1e-16, so its score one of some 1e-14
        assert float(truth) * (1 - 1e-9) <= radii[0] <= float(truth) * (1 + 1e-11)
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
    """Radii of "paper" are of scores after Remark 2."""
    levels = sigma_network()
    z = torch.tensor([0.3, 1.5], dtype=torch.float64)
    known = {"lip": levels.lip, "dim": DIM, "method": "paper", "p_min": 0.01, "classes": 3}
    found = certified_radius(z, torch.full_like(z, 0.3), sigma_min=0.3, **known)
    paper = [lipschitz.radius_of_scores(s, 0.3, sigma_min=0.3, **known) for s in z.tolist()]
    assert found.tolist() == paper

    def net(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(len(x), -1)[:, :3] * 0 + torch.tensor([1.0, 0.0, 0.0])

    p = float(torch.tensor([1.0, 0.0, 0.0]).softmax(0)[0])
    y = torch.zeros(4, dtype=torch.long)
    known = {"lip": levels.lip, "dim": DIM, "method": "paper", "p_min": 0.01}
    loss = average_radius_loss(net, levels, digits()[2][:4], y, **known)
    known |= {"sigma_min": 0.3, "classes": 3}
    expected = lipschitz.radius_of_scores(float(ndtri(p)), 0.3, **known)
    assert -loss.item() == pytest.approx(expected, rel=1e-5)


def test_lip_as_a_tensor_is_trained_by_its_price():
    levels, (x, y) = sigma_network().eval(), (column[:20] for column in digits()[:2])
    net = model()

    def loss(lip: float | torch.Tensor, **more: object) -> torch.Tensor:
        torch.manual_seed(0)
        return average_radius_loss(net, levels, x, y, lip=lip, dim=DIM, **more)

    lip = torch.tensor(0.02, dtype=torch.float64, requires_grad=True)
    value = loss(lip)
    assert value.item() == loss(0.02).item()
    value.backward()
    slope = (loss(0.0201).item() - loss(0.0199).item()) / 2e-4
    assert slope > 0.1
    assert lip.grad.item() == pytest.approx(slope, rel=1e-3)
    with pytest.raises(ValueError, match="lip must be a number with method 'integrated'"):
        loss(lip, method="integrated")
    # what no sample shows wins nothing: with no price, sigma times the score at most
    most = 0.5 * levels(x).mean().item()
    assert -most * (1 + 1e-6) <= loss(0.0, largest=0.5).item() < -0.5 * most
    with pytest.raises(ValueError, match="largest must be in"):
        loss(0.0, largest=0.0)


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
    assert lips[1] < lips[0]


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
