"""What a second device would do: nothing is read from it, nothing strays to another.

``meta`` holds no numbers, so that an operation between it and the CPU fails, and so
does every attempt to read one.
"""

import contextlib
from types import SimpleNamespace as Of

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import torch_noise
from rsbounds.sampling.internal import stream
from rsbounds.sampling.streams import Block
from rsbounds.torch import (
    LogVotes,
    SigmaNetwork,
    Smooth,
    TorchSampler,
    augment,
    fit,
    pgd,
    radius,
    soft_vote,
    training,
)
from rsbounds.torch.training import fitting, perturbed, seeds
from rsbounds.torch.training.cascades import aside_loss

META = torch.device("meta")
STAGE = training.Stage(1.0, 0.3, 0.3)


def batch(device):
    x = torch.zeros(6, 4, device=device)
    return x, torch.zeros(6, dtype=torch.long, device=device)


def own(x):
    return torch.ones(len(x), dtype=torch.bool, device=x.device)


def by_aside(model, x, y, sigma):
    return aside_loss(model, x, y, own(x), STAGE, classes=2)


def by_smooth_adversarial(model, x, y, sigma):
    return training.smooth_adversarial_loss(
        model, x, y, sigma, 0.3, steps=2, box=(0.0, 1.0)
    )


LOSSES = [
    training.macer_loss,
    training.consistency_loss,
    by_smooth_adversarial,
    by_aside,
]


@pytest.mark.parametrize("level", ["number", "host", "device"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_reads_nothing_from_the_device(loss, level):
    """MACER read 4 numbers and 2 arrays a step, the attack and the noise one each."""
    x, y = batch(META)
    sigma = {
        "number": 0.5,
        "host": torch.full((6,), 0.5),
        "device": torch.full((6,), 0.5, device=META),
    }[level]
    model = nn.Linear(4, 3, device=META)
    loss(model, x, y, sigma).backward()
    assert model.weight.grad.device == META
    assert soft_vote(model, x, sigma, 3).shape == (6, 3)
    assert pgd(lambda p: p.sum(1), x, sigma, steps=2, box=(0.0, 1.0)).device == META


def test_a_wrong_level_on_a_device_becomes_nan_and_elsewhere_an_error(monkeypatch):
    class Elsewhere(torch.Tensor):
        """A tensor on the CPU that says that it lies elsewhere."""

        device = torch.device("cuda:0")

    level = torch.tensor([0.5, -1.0])
    for wrong in (level, -0.5):
        with pytest.raises(ValueError, match=r"sigma must.*-"):
            augment(torch.zeros(2, 3), wrong)
    moved = augment(torch.zeros(2, 3), level.as_subclass(Elsewhere))
    assert moved.isnan().tolist() == [[False] * 3, [True] * 3]


@pytest.fixture
def unread(monkeypatch):
    """Epochs end without a look at their mean loss."""
    monkeypatch.setattr(fitting, "float", lambda total: 0.0, raising=False)


def test_a_training_reads_nothing_between_epochs(unread):
    """It waited for the loss of every batch."""
    x, y = batch(META)
    model = nn.Linear(4, 3, device=META)
    history = fit(model, lambda *b: training.macer_loss(model, *b, 0.5), (x, y))
    assert len(history) == 10


def test_a_cascade_is_trained_where_the_inputs_are(unread):
    """Which inputs are a stage's own stayed on the CPU."""
    [model] = training.cascade(
        lambda: nn.Linear(4, 3, device=META), [STAGE], batch(META), classes=2, epochs=1
    )
    assert model.weight.device == META


class Types(TorchDispatchMode):
    """The types of what is computed on ``meta``."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        results = result if isinstance(result, tuple | list) else [result]
        for tensor in results:
            if isinstance(tensor, torch.Tensor) and tensor.device == META:
                self.seen.add(tensor.dtype)
        return result


def test_no_float64_where_a_device_has_none(monkeypatch, unread):
    monkeypatch.setattr(torch_noise, "NO_FLOAT64", {"meta"})
    monkeypatch.setattr(perturbed, "NO_FLOAT64", {"meta"})
    x, y = batch(META)
    model = nn.Linear(4, 3, device=META)
    with Types() as types:
        for loss in LOSSES:
            fit(model, lambda *b, loss=loss: loss(model, *b, 0.5), (x, y), epochs=1)
    assert torch.float32 in types.seen
    assert torch.float64 not in types.seen
    assert torch_noise.wide_device(META) == torch.device("cpu")
    assert torch_noise.wide_device(torch.device("cuda:1")) == torch.device("cuda:1")


def recorder(calls):
    def get(device):
        @contextlib.contextmanager
        def place(device):
            calls.append(("device", str(device)))
            yield

        def note(name):
            return lambda *args: calls.append((name, *map(str, args)))

        return Of(
            get_rng_state=lambda *args: calls.append(("get", *map(str, args))) or 7,
            set_rng_state=note("set"),
            manual_seed=note("seed"),
            device=place,
        )

    return get


def test_only_generators_of_devices_in_use_are_touched(monkeypatch):
    calls = []
    monkeypatch.setattr(torch, "get_device_module", recorder(calls))
    before = torch.get_rng_state()
    cuda = torch.device("cuda:1")
    with seeds.seeded(5, [cuda, torch.device("cpu"), META, cuda]):
        assert torch.equal(torch.rand(3), torch.rand(3, generator=generator(5)))
        inside = list(calls)
    assert inside == [("get", "cuda:1"), ("device", "cuda:1"), ("seed", "5")]
    assert calls[3:] == [("set", "7", "cuda:1")]
    assert torch.equal(torch.get_rng_state(), before)
    calls.clear()
    with seeds.seeded(5, [torch.device("mps:0")]):  # one device, whose calls name none
        pass
    assert calls == [("get",), ("seed", "5"), ("set", "7")]


def generator(seed):
    return torch.Generator().manual_seed(seed)


def test_the_global_generator_of_another_device_is_left(monkeypatch):
    """``fork_rng()`` and ``manual_seed`` touched those of all GPUs."""
    touched = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", touched.append)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: touched.append(0) or 0)
    x, y = torch.randn(8, 3), torch.zeros(8, dtype=torch.long)
    model = nn.Linear(3, 2)
    loss = nn.functional.cross_entropy
    fit(model, lambda x, y: loss(model(x), y), (x, y), epochs=1)
    LogVotes(Smooth(model, 2, 0.5, samples=2), seed=1)(x)
    assert touched == []


def everything():
    """Counts, levels, radii and weights, from tensors on the CPU and plain arrays."""
    cpu = torch.device("cpu")
    net = nn.Linear(3, 2, device=cpu)
    level = nn.Linear(3, 1, device=cpu)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[1.0, 2.0, 0.0], [0.5, 0.0, 1.0]], device=cpu))
        net.bias.zero_()
        level.weight.fill_(0.01)
        level.bias.fill_(0.1)
    sampler = TorchSampler(net)
    sound = TorchSampler(net, noise=OnGrid())
    scheme = SigmaNetwork(level, 0.25).scheme(3)
    point = np.array([0.2, 0.4, 0.6], np.float32)
    x = torch.tensor(point, device=cpu)
    rows = torch.stack([x, 2 * x, -x])
    y = torch.tensor([0, 1, 0], device=cpu)
    results = []
    for given in (point, x):
        results += np.asarray(sampler(given, 0.3, 500, stream(0, 0, 1))).tolist()
        results += np.asarray(sound(given, 0.3, 500, stream(0, 0, 1))).tolist()
        results.append(scheme.sigma(given))
    results += Smooth(net, 2, 0.3).certify(x, 50, 100, 0.1, 100)
    results.append(radius.semielastic(0.9, 0.5, 0.01, 3).item())
    results += radius.gaussian(rows[0], 0.5).tolist()
    fit(net, lambda *b: training.macer_loss(net, *b, 0.5), (rows, y), epochs=2)
    results += net.weight.flatten().tolist()
    results += LogVotes(Smooth(net, 2, 0.3), seed=0)(rows).flatten().tolist()
    return results


def test_the_default_device_changes_nothing():
    expected = everything()
    torch_noise._tables.cache_clear()
    grid_noise.tables.cache_clear()
    torch.set_default_device("meta")
    try:
        assert everything() == expected
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_nan_goes_through_without_a_warning(kind):
    p = torch.tensor([float("nan"), 0.9], dtype=kind, requires_grad=True)
    sigma = torch.tensor([0.5, 0.5], dtype=kind, requires_grad=True)
    for result in (
        radius.semielastic(p, sigma, 0.01, 784, p_b=0.1 * p),
        radius.lipschitz(p, sigma, lip=0.01, sigma_min=0.1, dim=784),
        radius.semielastic(torch.full_like(p, 0.9), p * sigma, 0.01, 784),
    ):
        assert result.isnan().tolist() == [True, False]
        result[1].backward()
    with pytest.raises(ValueError, match=r"below 2\^30"):
        TorchSampler(nn.Linear(3, 2), noise=OnGrid())(
            torch.full((3,), 1e30), 0.5, 10, stream(0, 0, 1)
        )


class Operations(TorchDispatchMode):
    """The names of all operations, in order."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.fixture
def one_thread():
    """Where torch has several, noise is drawn in one that no mode sees."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def operations(sampler, sigma, n):
    with Operations() as seen:
        sampler(np.zeros((1, 28, 28), np.float32), sigma, n, stream(0, 0, 1))
    return seen.names


@pytest.mark.parametrize(
    ("sigma", "batch", "most"),
    [(0.125, 1, 26), (0.12, 1, 28), (0.125, 10_000, 7), (0.12, 10_000, 11)],
)
def test_a_block_takes_few_operations_and_reads_no_number(
    sigma, batch, most, one_thread
):
    """Those of a model with three operations included; blocks are held one at a time,
    or all together.
    """
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    sampler = TorchSampler(model, batch=batch)
    operations(sampler, sigma, 1000)  # rows are looked at
    few, many = (operations(sampler, sigma, 334 * blocks) for blocks in (4, 12))
    assert "normal_" in few
    assert "addmm" in few
    assert (len(many) - len(few)) / 8 <= most
    reads = {"_local_scalar_dense", "item", "equal", "nonzero", "is_nonzero"}
    assert not reads & {*few, *many}


def test_a_model_that_reads_a_number_is_seen(one_thread):
    class Reads(nn.Flatten):
        def forward(self, x):
            flat = super().forward(x)
            return flat[:, :2] if float(flat.sum()) < np.inf else flat

    assert "_local_scalar_dense" in operations(TorchSampler(Reads()), 0.125, 100)


@pytest.mark.parametrize("level", [0.125, 0.12])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("given", [torch.float16, torch.float32, torch.float64])
def test_copies_of_any_type_hold_the_noise(given, dtype, level):
    """Copies of a type that neither the input nor the noise has were left unfilled."""
    names = [Block(5, 0), Block(5, 1)]
    x = torch.linspace(-1, 1, 6).to(given)

    def drawn(x, level, dtype):
        bits = torch.Generator()
        return torch_noise.gaussian(x, level, 9, names, bits, dtype)[0]

    z = drawn(torch.zeros(6), 1.0, torch.float32)
    exact = (z.double() * level + x.double()).to(dtype)
    if given == dtype == torch.float32 and level == 0.125:
        exact = z * level + x
    assert torch.equal(drawn(x, level, dtype), exact)
