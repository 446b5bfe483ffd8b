"""The torch sampler and Smooth."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds import schemes
from rsbounds.certify import stream
from rsbounds.semielastic import KNNSigma
from rsbounds.torch import FixedNoise, Scale, SigmaNetwork, Smooth, TorchSampler

SHAPE = (1, 12, 12)


@pytest.fixture(autouse=True)
def two_threads():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


def conv() -> nn.Module:
    """A small untrained network whose classes nearly tie, so that rounding would show."""
    torch.manual_seed(1)
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 36, 10)),
    )


def linear() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Flatten(), nn.Linear(144, 10))


def draw(sampler: TorchSampler, n: int = 5000, index: int = 0) -> list[int]:
    x = torch.linspace(0, 1, 144).reshape(SHAPE)
    return np.asarray(sampler(x, 0.5, n, stream(0, index, 1))).tolist()


def without_check(seen: list[torch.Tensor]) -> list[torch.Tensor]:
    """The batches of noise, without those that hold one row alone to see whether it matters."""
    return [batch for batch in seen if not torch.equal(batch, batch[:1].expand_as(batch))]


@pytest.mark.parametrize("model", [conv, linear])
def test_counts_do_not_depend_on_the_batch(model):
    net = model()
    expected = draw(TorchSampler(net, batch=1000))
    assert sum(expected) == 5000
    assert draw(TorchSampler(net, batch=7)) == expected
    assert draw(TorchSampler(net, batch=5000)) == expected


@pytest.mark.parametrize("model", [conv, linear])
def test_forward_passes_have_one_shape_whatever_the_batch(model):
    # the reason why the batch can't matter, however the network rounds
    shapes = set()
    net = model()
    net.register_forward_pre_hook(lambda _, args: shapes.add(tuple(args[0].shape)))
    for batch in (7, 1000, 4000):
        draw(TorchSampler(net, batch=batch))
    assert len(shapes) == 1


def test_blocks_have_different_noise():
    seen = []
    net = linear()
    net.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    draw(TorchSampler(net), 5000)
    draw(TorchSampler(net), 5000, index=1)
    rows = torch.cat(without_check(seen)).flatten(1)[:, 0]
    assert len(rows) >= 10_000
    # of 10,000 normal floats some hundred agree by chance, blocks that repeat would halve this
    assert len(rows.unique()) > 0.9 * len(rows)


def test_noise_is_gaussian():
    seen = []
    net = linear()
    net.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    x = torch.full(SHAPE, 3.0)
    TorchSampler(net)(x, 0.25, 4000, np.random.default_rng(0))
    noise = (torch.cat(without_check(seen)).double() - 3.0) / 0.25
    # 6e5 numbers: five standard errors
    assert abs(noise.mean()) < 5 / noise.numel() ** 0.5
    assert abs(noise.std() - 1) < 5 / (2 * noise.numel()) ** 0.5
    assert abs((noise**4).mean() - 3) < 5 * (96 / noise.numel()) ** 0.5


def test_nan_scores_count_for_no_class():
    class Half(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            scores = torch.zeros(len(batch), 3)
            scores[:, 1] = torch.where(batch[:, 0, 0, 0] > 0, torch.nan, 1.0)
            return scores

    counts = np.asarray(TorchSampler(Half())(torch.zeros(SHAPE), 1.0, 4000, stream(0, 0, 0)))
    assert counts[[0, 2]].tolist() == [0, 0]
    assert abs(counts[1] - 2000) < 5 * 4000**0.5 / 2


@pytest.mark.parametrize(("threads", "batch"), [(1, 2500), (2, 1667)])
def test_out_of_memory_halves_the_batch_and_goes_on(threads, batch):
    torch.set_num_threads(threads)  # with two, one block is counted while one is drawn
    net = linear()
    expected = draw(TorchSampler(net))

    class Limited(nn.Module):
        """One allocation failure, as a busy device would raise it."""

        failures = 1

        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            if self.failures:
                self.failures -= 1
                raise torch.cuda.OutOfMemoryError("tried to allocate 2 GiB\nmore words")
            return net(batch)

    sampler = TorchSampler(Limited(), batch=10**6)  # all three blocks at once
    with pytest.warns(RuntimeWarning, match=r"out of memory \(tried to allocate 2 GiB\)") as seen:
        assert draw(sampler) == expected
    assert len(seen) == 1
    assert sampler.batch == batch


def test_out_of_memory_splits_the_forward_pass_at_last():
    net = linear()

    class Small(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            if len(batch) > 100:
                raise torch.cuda.OutOfMemoryError("too much")
            return net(batch)

    with pytest.warns(RuntimeWarning, match="running the model on"):
        counts = draw(TorchSampler(Small()))
    # the same samples; only near-ties may round otherwise
    assert np.abs(np.subtract(counts, draw(TorchSampler(net)))).sum() <= 4


@pytest.mark.filterwarnings("ignore:out of memory")
def test_out_of_memory_with_one_sample_is_an_error():
    class Hungry(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            raise torch.cuda.OutOfMemoryError("too much")

    with pytest.raises(MemoryError, match="one sample doesn't fit on cpu: too much"):
        draw(TorchSampler(Hungry()), 50)


@pytest.mark.parametrize(
    "options",
    [{"channels_last": True}, {"autocast": "bfloat16"}],
    ids=lambda o: next(iter(o)),
)
def test_engine_options_change_little(options):
    net = conv()
    expected = np.array(draw(TorchSampler(net)))
    counts = np.array(draw(TorchSampler(net, **options)))
    # the same noise; bfloat16 keeps 8 bits, so a few per cent of near-ties move
    assert np.abs(counts - expected).sum() <= 0.1 * expected.sum()


def test_smooth_runs_every_forward_pass_in_mixed_precision():
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
    with pytest.raises(ValueError, match="autocast must be"):
        Smooth(net, 10, 0.5, autocast="half")


def test_half_precision_model_gets_its_own_type():
    seen = set()
    net = linear().bfloat16()
    net.register_forward_pre_hook(lambda _, args: seen.add(args[0].dtype))
    assert sum(draw(TorchSampler(net), 500)) == 500
    assert seen == {torch.bfloat16}


def test_model_is_put_in_eval_mode_and_keeps_no_gradient():
    net = conv().train()
    before = net[1].running_mean.clone()
    draw(TorchSampler(net), 500)
    assert not net.training
    assert torch.equal(net[1].running_mean, before)


class Wrong(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return torch.zeros(self.shape(len(batch)))


@pytest.mark.parametrize(
    "shape",
    [lambda n: (n,), lambda n: (n, 1), lambda n: (n + 1, 3), lambda n: (n, 2, 2), lambda n: ()],
)
def test_scores_of_the_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match="the model must return scores of shape"):
        draw(TorchSampler(Wrong(shape)), 100)


def test_model_that_returns_no_tensor_is_refused():
    class Pair(nn.Module):
        def forward(self, batch: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return batch, batch

    with pytest.raises(ValueError, match=r"at least two classes.*got tuple"):
        draw(TorchSampler(Pair()), 100)


def test_smooth_certifies_a_linear_classifier_below_its_true_radius():
    model = nn.Linear(30, 2, bias=False)
    w = torch.randn(30, generator=torch.Generator().manual_seed(0))
    w /= w.norm()
    model.weight.data = torch.stack([w, -w])
    smooth = Smooth(model, 2, 0.5)
    margins = np.linspace(0.05, 0.5, 30)
    found = [
        smooth.certify(float(m) * w, n0=100, n=4000, alpha=0.001, batch_size=1000) for m in margins
    ]
    ratios = np.array([radius for _, radius in found]) / margins
    assert {predicted for predicted, _ in found} <= {0, Smooth.ABSTAIN}
    assert np.sum(ratios > 1) <= 1  # expected 0.03
    assert np.median(ratios) > 0.8
    assert smooth.predict(0.3 * w, 1000, 0.001, 100) == 0
    assert smooth.predict(0 * w, 1000, 0.001, 100) == Smooth.ABSTAIN == -1
    assert smooth.certify(0 * w, 100, 1000, 0.001, 100) == (-1, 0.0)


def test_smooth_honours_its_seed():
    def radii(seed: int, batch: int) -> list[tuple[int, float]]:
        smooth = Smooth(linear(), 10, 0.1, seed=seed)
        x = torch.linspace(0, 1, 144).reshape(SHAPE)
        return [smooth.certify(x, 100, 1000, 0.001, batch) for _ in range(3)]

    assert radii(0, 10) == radii(0, 1000)
    assert radii(0, 10) != radii(1, 10)
    assert len(set(radii(0, 10))) > 1  # each call draws its own samples


def test_smooth_checks_the_number_of_classes():
    smooth = Smooth(linear(), 7, 0.5)
    with pytest.raises(ValueError, match=r"scores of shape \(\d+, 7\)"):
        smooth.certify(torch.zeros(SHAPE), 100, 100, 0.001, 100)
    with pytest.raises(ValueError, match="sigma must be"):
        Smooth(linear(), 10, 0.0)
    with pytest.raises(ValueError, match="batch must be >= 1"):
        Smooth(linear(), 10, 0.5).predict(torch.zeros(SHAPE), 100, 0.001, 0)


def test_smooth_is_a_module():
    model = linear().train()
    smooth = Smooth(model, 10, 0.1, samples=4)
    assert set(smooth.state_dict()) == {"base_classifier.1.weight", "base_classifier.1.bias"}
    other = Smooth(conv(), 10, 0.1)
    other.base_classifier = linear()
    other.load_state_dict(smooth.state_dict())
    assert other.predict(torch.rand(SHAPE), 10, 0.1, 10) in range(-1, 10)
    other.base_classifier = nn.Sequential(nn.Flatten(), nn.Linear(144, 10).double())
    copied = pickle.loads(pickle.dumps(other))  # after a call, with a sampler in it
    assert copied.predict(torch.rand(SHAPE), 10, 0.1, 10) in range(-1, 10)
    seen = []
    other.base_classifier.register_forward_pre_hook(lambda _, args: seen.append(args[0].dtype))
    other.predict(torch.rand(SHAPE), 10, 0.1, 10)
    assert set(seen) == {torch.float64}  # the new classifier, not the one that was sampled before
    x = torch.rand(3, *SHAPE)
    votes = smooth(x)
    assert votes.shape == (3, 10)
    assert votes.sum(1).tolist() == pytest.approx([1.0] * 3)
    votes[:, 0].sum().backward()
    assert model[1].weight.grad.abs().sum() > 0
    smooth.train()
    smooth.certify(x[0], 10, 100, 0.001, 100)  # not stopped by the training mode
    assert not model.training


def test_smooth_gives_the_whole_certificate():
    smooth = Smooth(linear(), 10, 0.1)
    x = torch.linspace(0, 1, 144).reshape(SHAPE)
    whole = smooth.certificate(x, 100, 1000, 0.001, 100)
    assert (whole.predict, whole.radius) == Smooth(linear(), 10, 0.1).certify(
        x, 100, 1000, 0.001, 7
    )
    assert (whole.n, whole.sigma, whole.scope) == (1000, 0.1, "fixed noise")
    assert whole.z_b != -whole.z_a  # the runner-up, not the rest
    alone = Smooth(linear(), 10, 0.1, runner_up=False).certificate(x, 100, 1000, 0.001, 100)
    assert alone.z_b == -alone.z_a
    assert alone.count == whole.count


def test_smooth_takes_schemes_and_noise_of_a_shape():
    x = torch.linspace(0, 1, 4)
    level = SigmaNetwork(nn.Sequential(nn.Linear(4, 1), Scale(0.01)), 0.25)
    smooth = Smooth(nn.Linear(4, 2), 2, level.scheme(4))
    found = smooth.certificate(x, 50, 500, 0.001, 100)
    assert found.scope == "sigma(x) with a proven envelope"
    assert found.sigma == level.scheme(4).sigma(x)
    assert smooth(x[None]).shape == (1, 2)
    noise = FixedNoise(torch.zeros(4), torch.tensor([0.1, 0.2, 0.3, 0.4]))
    smooth = Smooth(nn.Linear(4, 2), 2, noise)
    assert smooth.certificate(x, 50, 500, 0.001, 100).method == "anisotropic"
    with pytest.raises(ValueError, match="soft votes need noise of one level"):
        smooth(x[None])
    with pytest.raises(ValueError, match="'anisotropic' needs its own noise"):
        Smooth(nn.Linear(4, 2), 2, noise.scheme())


class Lattice(nn.Module):
    """Class 0 where the numbers lie on a coarse lattice: true of 3.0 + noise in float32 alone."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        scaled = 2.0**20 * batch[:, 0].double()
        return torch.stack([(scaled == scaled.round()).double(), torch.full((len(batch),), 0.5)], 1)


def test_sound_noise_of_smooth_is_not_fooled_by_the_lattice_of_float32():
    """In real numbers the lattice has probability 0; float32 noise sees nothing else at 16."""
    x = torch.tensor([16.0, 0.0])
    assert Smooth(Lattice(), 2, 0.5).predict(x, 1000, 0.001, 100) == 0
    with pytest.raises(ValueError, match="grid of 1/255"):
        Smooth(Lattice(), 2, 0.5, sound_noise=True).predict(torch.rand(2) + 1e-4, 1000, 0.001, 100)
    seen = []
    model = nn.Linear(2, 2)
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
    Smooth(model, 2, 0.5, sound_noise=True).predict(torch.tensor([0.2, 1.0]), 1000, 0.001, 100)
    grid = 255 * torch.cat(seen)
    assert (grid - grid.round()).abs().max() < 1e-3


@pytest.mark.parametrize("sound", [False, True])
@pytest.mark.parametrize("type_", [torch.bfloat16, torch.float32, torch.float64])
def test_inputs_of_any_type_with_gradients(type_, sound):
    x = torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=type_, requires_grad=True)
    knn = KNNSigma(np.eye(4), 0.25, 0.01, 1, 0.0)
    for sigma in (0.25, schemes.semielastic(knn, 4, sound=sound)):
        smooth = Smooth(nn.Linear(4, 2), 2, sigma, sound_noise=sound)
        assert smooth.certificate(x, 50, 500, 0.001, 100).n == 500
    sampler = TorchSampler(nn.Linear(4, 2), sound_noise=sound)
    assert np.asarray(sampler(x, 0.25, 500, stream(0, 0, 0))).sum() == 500
