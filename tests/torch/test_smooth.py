"""Smooth: the field's interface, a module, any scheme and noise, sound noise."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from refusals import refusals
from torch import nn

from rsbounds import confidence, schemes
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.procedure import Procedure
from rsbounds.sampling.internal import stream
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import FixedNoise, Scale, SigmaNetwork, Smooth, TorchSampler

X = torch.linspace(0, 1, 144)


def linear():
    torch.manual_seed(2)
    return nn.Sequential(nn.Flatten(), nn.Linear(144, 10))


def test_any_function_is_smoothed():
    def scores(x):
        return torch.stack([x[:, 0], -x[:, 0]], 1)

    x = torch.tensor([0.5, 0.0])
    for function in (scores, lambda x: scores(x)):
        smooth = Smooth(function, 2, 0.5)
        label, radius = smooth.certify(x, 100, 2000, 0.001, 500)
        assert label == 0
        assert 0.4 < radius < 0.5
        assert smooth.train()(x[None]).shape == (1, 2)
    assert pickle.loads(pickle.dumps(Smooth(torch.sin, 2, 0.5))).predict(
        x, 10, 0.1, 10
    ) in (-1, 0)


def test_noise_by_name_is_drawn_and_certified():
    """Its schemes once asked NumPy for a tensor's size."""
    smooth = Smooth(
        lambda x: torch.stack([x[:, 0], -x[:, 0]], 1), 2, schemes.laplace(0.5)
    )
    label, radius = smooth.certify(torch.tensor([0.5, 0.0]), 100, 2000, 0.001, 500)
    assert label == 0
    assert 0.3 < radius < 0.5


def test_the_seed_and_the_batch():
    def radii(seed, batch):
        smooth = Smooth(linear(), 10, 0.1, procedure=Procedure(seed=seed))
        return [smooth.certify(X, 100, 1000, 0.001, batch) for _ in range(3)]

    assert radii(0, 10) == radii(0, 1000)
    assert radii(0, 10) != radii(1, 10)
    assert len(set(radii(0, 10))) > 1  # each call draws its own samples


test_refusals = refusals(
    {
        r"shape \(\d+, 7\)": lambda: Smooth(linear(), 7, 0.5).certify(
            X, 100, 100, 0.001, 100
        ),
        "sigma must be": lambda: Smooth(linear(), 10, 0.0),
        "batch must": lambda: Smooth(linear(), 10, 0.5).predict(X, 100, 0.001, 0),
        "autocast must be": lambda: Smooth(linear(), 10, 0.5, autocast="half"),
    }
)


@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_is_told_from_one_input(count):
    network = nn.Sequential(nn.Conv2d(1, 2, 12), nn.Flatten(), nn.Linear(2, 10))
    smooth = Smooth(network, 10, 0.5)
    batch = torch.zeros(count, 1, 12, 12)
    message = "x must be one input without the batch axis; got a batch of shape"
    with pytest.raises(ValueError, match=message):
        smooth.certify(batch, 10, 100, 0.001, 50)
    with pytest.raises(ValueError, match=message):
        smooth.predict(batch, 100, 0.001, 50)
    # what fails for another reason says its own
    with pytest.raises(ValueError, match="takes 1 channels"):
        smooth.predict(torch.zeros(3, 12, 12), 100, 0.001, 50)
    assert smooth.predict(batch[0], 100, 0.001, 50) in range(-1, 10)


def test_smooth_is_a_module():
    model = linear().train()
    smooth = Smooth(model, 10, 0.1, samples=4)
    assert set(smooth.state_dict()) == {
        "base_classifier.1.weight",
        "base_classifier.1.bias",
    }
    other = Smooth(nn.Identity(), 10, 0.1)
    other.base_classifier = linear()
    other.load_state_dict(smooth.state_dict())
    assert other.predict(X, 10, 0.1, 10) in range(-1, 10)
    other.base_classifier = nn.Sequential(nn.Flatten(), nn.Linear(144, 10).double())
    copied = pickle.loads(pickle.dumps(other))  # after a call, with a sampler in it
    assert copied.predict(X, 10, 0.1, 10) in range(-1, 10)
    seen = []
    other.base_classifier.register_forward_pre_hook(
        lambda _, args: seen.append(args[0].dtype)
    )
    other.predict(X, 10, 0.1, 10)
    assert set(seen) == {
        torch.float64
    }  # the new classifier, not the one that was sampled before
    votes = smooth(torch.rand(3, 1, 12, 12))
    assert votes.sum(1).tolist() == pytest.approx([1.0] * 3)
    votes[:, 0].sum().backward()
    assert model[1].weight.grad.abs().sum() > 0
    smooth.train()
    smooth.certify(X, 10, 100, 0.001, 100)  # not stopped by the training mode
    assert model.training
    assert smooth.training


def test_every_forward_pass_is_in_mixed_precision():
    seen = set()
    net = linear()
    net.register_forward_hook(lambda module, args, scores: seen.add(scores.dtype))
    smooth = Smooth(net, 10, 0.5, autocast="bfloat16")
    x = torch.zeros(2, 144, requires_grad=True)
    votes = smooth(x)
    votes[:, 0].sum().backward()
    assert votes.dtype == x.grad.dtype == torch.float32
    assert (votes.sum(1) - 1).abs().max() < 1e-6  # the mean is of float32's softmax
    smooth.certify(x[0], 10, 10, 0.1, 10)
    assert seen == {torch.bfloat16}
    Smooth(net, 10, 0.5)(x)
    assert seen == {torch.bfloat16, torch.float32}


def test_the_certificate_with_its_evidence():
    result = Smooth(linear(), 10, 0.1).certificate(X, 100, 1000, 0.001, 100)
    radius = Smooth(linear(), 10, 0.1).certify(X, 100, 1000, 0.001, 7)
    assert (result.predict, result.radius) == radius
    assert (result.n, result.sigma, result.scope) == (1000, 0.1, "fixed noise")
    assert result.z_b != -result.z_a  # the runner-up, not the rest
    alone = Smooth(linear(), 10, 0.1, procedure=Procedure(runner_up=False)).certificate(
        X, 100, 1000, 0.001, 100
    )
    assert alone.z_b == -alone.z_a
    assert alone.count == result.count


def test_schemes_and_noise_of_a_shape():
    x, model = torch.linspace(0, 1, 4), nn.Linear(4, 2)
    level = SigmaNetwork(nn.Sequential(nn.Linear(4, 1), Scale(0.01)), 0.25)
    smooth = Smooth(model, 2, level.scheme(4))
    result = smooth.certificate(x, 50, 500, 0.001, 100)
    assert result.scope == "sigma(x) with a proven envelope"
    assert result.sigma == level.scheme(4).sigma(x)
    assert smooth(x[None]).shape == (1, 2)
    noise = FixedNoise(torch.zeros(4), torch.tensor([0.1, 0.2, 0.3, 0.4]))
    of_noise, of_scheme = (
        Smooth(model, 2, given).certificate(x, 50, 500, 0.001, 100)
        for given in (noise, noise.scheme())
    )
    assert of_noise == of_scheme
    assert of_noise.method == "anisotropic"
    with pytest.raises(ValueError, match=r"soft votes.*level"):
        Smooth(model, 2, noise)(x[None])
    loose = schemes.Anisotropic({"inner": 1.0}, level=lambda x: 1.0)
    with pytest.raises(ValueError, match=r"'anisotropic'.*noise"):
        Smooth(model, 2, loose).certify(x, 10, 10, 0.1, 10)


class Lattice(nn.Module):
    """Class 0 where the numbers lie on a coarse lattice: true of 3.0 + noise in float32
    alone.
    """

    def forward(self, batch):
        scaled = 2.0**20 * batch[:, 0].double()
        return torch.stack(
            [(scaled == scaled.round()).double(), torch.full((len(batch),), 0.5)], 1
        )


def test_sound_noise_is_not_fooled_by_the_lattice_of_float32():
    """In real numbers the lattice has probability 0; float32 noise sees nothing else at
    16.
    """
    assert (
        Smooth(Lattice(), 2, 0.5).predict(torch.tensor([16.0, 0.0]), 1000, 0.001, 100)
        == 0
    )
    sound = Smooth(Lattice(), 2, schemes.gaussian(0.5).on_grid())
    with pytest.raises(ValueError, match="grid of 1/255"):
        sound.predict(torch.rand(2) + 1e-4, 1000, 0.001, 100)
    assert sound.predict(torch.tensor([0.2, 1.0]), 1000, 0.001, 100) != 0


@pytest.mark.parametrize("sound", [False, True])
@pytest.mark.parametrize("type_", [torch.bfloat16, torch.float32, torch.float64])
def test_inputs_of_any_type_with_gradients(type_, sound):
    x = torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=type_, requires_grad=True)
    knn = KNNSigma(np.eye(4), 0.25, 0.01, 1, 0.0)
    for plain in (schemes.gaussian(0.25), schemes.semielastic(knn, 4)):
        smooth = Smooth(nn.Linear(4, 2), 2, plain.on_grid() if sound else plain)
        assert smooth.certificate(x, 50, 500, 0.001, 100).n == 500
    sampler = TorchSampler(nn.Linear(4, 2), noise=OnGrid() if sound else None)
    assert np.asarray(sampler(x, 0.25, 500, stream(0, 0, 0))).sum() == 500


def test_the_fields_own_methods():
    """Programs that build on the field's class draw and bound by these two."""
    torch.manual_seed(0)
    net = nn.Linear(3, 4)
    x = torch.tensor([0.5, 0.0, -0.5])
    smooth = Smooth(net, 4, 0.25, procedure=Procedure(seed=3))
    counts = smooth._sample_noise(x, 1000, 100)
    assert counts.shape == (4,)
    assert counts.sum() == 1000
    assert (counts != smooth._sample_noise(x, 1000, 100)).any()  # fresh samples
    again = Smooth(net, 4, 0.25, procedure=Procedure(seed=3))
    assert (again._sample_noise(x, 1000, 7) == counts).all()
    bound = smooth._lower_confidence_bound(990, 1000, 0.001)
    assert bound == confidence.lower_bound(990, 1000, 0.001)
    assert 0.97 < bound < 0.99


@pytest.mark.slow
def test_plain_smoothing_leaves_the_exporter_of_networks_alone():
    """Its 1,200 modules take seconds; a level that is frozen loads them."""
    code = """if True:
        import sys
        import torch
        from rsbounds.torch import SigmaNetwork, Smooth
        exporter = {"torch._dynamo", "torch.export._trace", "sympy"}
        module = torch.nn.Linear(2, 2)
        Smooth(module, 2, 0.5).certify(torch.ones(2), 10, 100, 0.01, 100)
        assert not exporter & sys.modules.keys()
        SigmaNetwork(torch.nn.Linear(2, 1), 0.5).freeze(2)
        assert exporter <= sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", code], check=True)
