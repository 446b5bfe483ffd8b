"""What certificates rest on: independent rows, distinct blocks, exact levels, models left alone."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds.certify import certify, stream
from rsbounds.sampling import ArraySampler, Phase, block_seeds, noisy
from rsbounds.schemes import gaussian
from rsbounds.torch import TorchSampler, draw
from rsbounds.torch import sampler as sampler_module

pytestmark = pytest.mark.usefixtures("one_thread")


def linear(size: int = 4) -> nn.Module:
    torch.manual_seed(2)
    return nn.Linear(size, 3)


# rows


class Centred(nn.Module):
    """Scores less their mean over the batch: 107 of 200 certificates were false."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        scores = batch[:, :3]
        return scores - scores.mean(0)


class First(nn.Module):
    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return batch[:, :3] + batch[:1, :3]


class Neighbour(nn.Module):
    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return batch[:, :3] + 0.01 * batch.roll(1, 0)[:, :3]


class Halves(nn.Module):
    """Statistics of groups of 16 rows, as of ghost batches."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return torch.cat([part[:, :3] - part[:, :3].amax(0) for part in batch.split(16)])


class Chance(nn.Module):
    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(batch, 0.5, training=True)


def normed() -> nn.Module:
    return nn.Sequential(linear(64), nn.BatchNorm1d(3, track_running_stats=False))


@pytest.mark.parametrize("model", [Centred, First, Neighbour, Halves, Chance, normed])
def test_rows_that_depend_on_each_other_are_refused(model):
    sampler = TorchSampler(model())
    with pytest.raises(ValueError, match="must score each row for itself"):
        certify(sampler, torch.zeros(64), gaussian(0.5), n=200)
    with pytest.raises(ValueError, match="must score each row for itself"):
        sampler(torch.zeros(64), 0.5, 50, stream(0, 0, 1))  # not forgotten by a second try


class Order(nn.Module):
    """Sums in another order in odd rows, as kernels do at the edge of their blocks."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        scores = batch @ torch.ones(batch.shape[1], 3, dtype=batch.dtype)
        other = batch.flip(1).cumsum(1)[:, -1:].expand_as(scores)
        return torch.where((torch.arange(len(batch)) % 2 == 0)[:, None], scores, other)


@pytest.mark.parametrize("type_", [torch.float32, torch.bfloat16])
def test_another_order_of_summation_is_no_dependence(type_):
    class Typed(Order):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return super().forward(batch.to(type_))

    counts = TorchSampler(Typed())(torch.ones(1000), 0.5, 100, stream(0, 0, 1))
    assert np.asarray(counts).sum() == 100


def test_rows_are_compared_once_and_not_for_one_row():
    calls = []
    model = linear()
    model.register_forward_pre_hook(lambda _, args: calls.append(len(args[0])))
    sampler = TorchSampler(model)
    sampler(torch.zeros(4), 0.5, 1, stream(0, 0, 0))
    assert calls == [1]
    sampler(torch.zeros(4), 0.5, 20, stream(0, 0, 1))
    sampler(torch.zeros(4), 0.5, 20, stream(0, 0, 2))
    assert calls == [1, 20, 20, 20]


def test_nan_and_infinite_scores_are_no_dependence():
    class Odd(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            wrong = torch.tensor([[torch.nan, torch.inf, 1.0]])
            return wrong.expand(len(batch), 3) + 0 * batch[:, :1]

    counts = np.asarray(TorchSampler(Odd())(torch.zeros(4), 0.5, 50, stream(0, 0, 0)))
    assert counts.tolist() == [0, 0, 0]


def test_training_mode_is_refused_at_every_call():
    model = nn.Sequential(linear(), nn.Dropout(), nn.Linear(3, 3))
    sampler = TorchSampler(model)
    sampler(torch.zeros(4), 0.5, 20, stream(0, 0, 0))
    model[1].train()
    with pytest.raises(ValueError, match="its part Dropout is in training mode"):
        sampler(torch.zeros(4), 0.5, 20, stream(0, 0, 1))


# void samples


def scores_with_nan(batch: np.ndarray) -> np.ndarray:
    scores = np.stack([batch[:, 0], -batch[:, 0]], 1)
    scores[batch[:, 1] > 0] = np.nan
    return scores


def test_counts_sum_to_the_samples_that_are_not_void():
    n, x = 3000, np.zeros(4, dtype=np.float32)
    void = []

    class Both(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(scores_with_nan(batch.numpy()))

    for sampler in (ArraySampler(scores_with_nan), TorchSampler(Both())):
        counts = np.asarray(sampler(x, 0.5, n, stream(0, 0, 1)))
        void.append(n - counts.sum())
    assert all(abs(v - n / 2) < 5 * n**0.5 / 2 for v in void)


def test_ambiguous_draws_are_void_too(monkeypatch):
    count = draw.count_below

    def first_ambiguous(u, *tables):
        below, ambiguous = count(u, *tables)
        ambiguous[:8] = True  # of the first two rows of four numbers
        return below, ambiguous

    monkeypatch.setattr(draw, "count_below", first_ambiguous)
    counts = TorchSampler(linear(), sound_noise=True)(torch.zeros(4), 0.5, 100, stream(0, 0, 0))
    assert np.asarray(counts).sum() == 98


# block seeds


def test_block_seeds_of_an_input_are_distinct_in_and_across_phases():
    for seed, index in ((0, 0), (7, 123), (2**40, 3)):
        streams = [stream(seed, index, phase) for phase in Phase]
        seeds = [s for one in streams for k in (1, 5, 4000) for s in block_seeds(one, k)]
        assert len(set(seeds)) == len(seeds) == len(Phase) * 4006
        assert all(0 <= s < 2**32 for s in seeds)
    again = block_seeds(stream(2**40, 3, Phase.SELECT), 3)
    assert again == block_seeds(stream(2**40, 3, Phase.SELECT), 2) + again[2:]
    assert again != block_seeds(stream(2**40, 4, Phase.SELECT), 3)


def test_stream_keeps_the_numbers_of_its_seed():
    plain = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(5, 1)))
    assert (
        stream(3, 5, Phase.ESTIMATE).integers(2**60, size=5).tolist()
        == plain.integers(2**60, size=5).tolist()
    )
    with pytest.raises(ValueError, match=r"phase must be in \[0, 8\)"):
        stream(0, 0, 8)


def test_block_seeds_of_other_generators_are_distinct():
    seeds = block_seeds(np.random.default_rng(0), 1000)
    assert len(set(seeds)) == 1000


# levels


@pytest.mark.parametrize("offset", [0.25, 0.5, 0.75])
def test_level_between_two_float32_numbers_is_drawn_as_it_is(offset):
    """Rounded up to float32 it was up to 2^-23 larger, by another amount at the next input."""
    sigma = 0.5 + offset * 2.0**-24
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    plain = draw.gaussian(torch.zeros(1000), 1.0, 50, [1], torch.Generator())[0].double()
    found = draw.gaussian(torch.from_numpy(x), sigma, 50, [1], torch.Generator())[0]
    assert torch.equal(found, (torch.from_numpy(x).double() + sigma * plain).float())
    arrays = noisy(x, sigma, 50, np.random.default_rng(0))
    z = np.random.default_rng(0).standard_normal((50, 1000), dtype=np.float32)
    assert np.array_equal(arrays, (x + sigma * z.astype(np.float64)).astype(np.float32))


def test_levels_of_float32_keep_their_samples():
    x = torch.rand(50)
    noise = draw.gaussian(torch.zeros(50), 1.0, 20, [9], torch.Generator())[0]
    assert torch.equal(draw.gaussian(x, 0.25, 20, [9], torch.Generator())[0], 0.25 * noise + x)


# the caller's model


def test_device_is_the_models_own_and_another_gets_a_copy(monkeypatch):
    assert TorchSampler(linear()).device == torch.device("cpu")
    assert TorchSampler(nn.Identity()).device == torch.device("cpu")
    model = linear()
    monkeypatch.setattr(sampler_module, "home", lambda model: torch.device("cuda:0"))
    sampler = TorchSampler(model, device="cpu")  # as if it came from a GPU
    model.weight.data.fill_(torch.nan)
    assert np.asarray(sampler(torch.zeros(4), 0.5, 100, stream(0, 0, 1))).sum() == 100


def test_models_layout_is_not_changed():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 36, 2))
    before = model[0].weight.stride()
    sampler = TorchSampler(model, channels_last=True)
    assert model[0].weight.stride() == before
    counts = sampler(torch.zeros(3, 8, 8), 0.5, 100, stream(0, 0, 1))
    assert np.asarray(counts).sum() == 100


def test_float16_on_a_cpu_is_warned_about():
    with pytest.warns(RuntimeWarning, match="float16 is slower than float32 on a CPU"):
        TorchSampler(linear(), autocast="float16")


# memory


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 2 GiB",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "[enforce fail at alloc_cpu.cpp:114] . DefaultCPUAllocator: can't allocate memory",
    ],
)
@pytest.mark.filterwarnings("ignore:out of memory")
def test_memory_failures_of_any_kind_lower_the_batch(message):
    class Small(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            if len(batch) > 30:
                raise RuntimeError(message)
            return batch[:, :3]

    counts = TorchSampler(Small())(torch.zeros(4), 0.5, 100, stream(0, 0, 1))
    assert np.asarray(counts).sum() == 100


def test_forward_batch_bounds_the_rows_of_a_forward_pass():
    rows = []
    model = linear()
    model.register_forward_pre_hook(lambda _, args: rows.append(len(args[0])))
    x = torch.zeros(4)
    found = TorchSampler(model, forward_batch=30)(x, 0.5, 500, stream(0, 0, 1))
    assert max(rows) <= 30
    whole = TorchSampler(linear())(x, 0.5, 500, stream(0, 0, 1))
    assert np.abs(np.asarray(found) - np.asarray(whole)).sum() <= 4  # near-ties alone
    with pytest.raises(ValueError, match="forward_batch must be >= 1"):
        TorchSampler(model, forward_batch=0)


def test_compiled_model_sees_few_shapes(monkeypatch):
    """Nine shapes were one more than torch compiles before it falls back to eager mode."""
    shapes = set()

    def compiled(model, dynamic):
        assert dynamic is False

        def call(batch):
            shapes.add(tuple(batch.shape))
            return model(batch)

        return call

    monkeypatch.setattr(torch, "compile", compiled)
    for size in (4, 784):
        shapes.clear()
        sampler = TorchSampler(linear(size), compile=True)
        drawn = 0
        for n in (100, *(max(64, 1 << (k // 4)) for k in range(24, 68)), 12_345):
            drawn += np.asarray(sampler(torch.zeros(size), 0.5, n, stream(0, 0, 1))).sum() == n
        assert drawn == 46
        assert len(shapes) <= 8


def test_other_errors_are_not_taken_for_memory_failures():
    class Broken(nn.Module):
        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        TorchSampler(Broken())(torch.zeros(4), 0.5, 100, stream(0, 0, 1))


def test_memory_failure_while_noise_is_drawn(monkeypatch):
    gaussian_ = draw.gaussian
    sizes = []

    def tight(x, sigma, size, seeds, generator):
        sizes.append(len(seeds))
        if len(seeds) > limit:
            raise torch.OutOfMemoryError("too much")
        return gaussian_(x, sigma, size, seeds, generator)

    x = torch.zeros(4)
    expected = np.asarray(TorchSampler(linear())(x, 0.5, 20_000, stream(0, 0, 1)))
    monkeypatch.setattr(draw, "gaussian", tight)
    limit = 1
    with pytest.warns(RuntimeWarning, match=r"holding \d+ samples at once"):
        found = TorchSampler(linear(), batch=10**6)(x, 0.5, 20_000, stream(0, 0, 1))
    assert np.asarray(found).tolist() == expected.tolist()
    assert sizes[0] == 5
    limit = 0
    with pytest.raises(MemoryError, match="the noise of 100 samples doesn't fit on cpu: too much"):
        TorchSampler(linear())(x, 0.5, 100, stream(0, 0, 1))


# noise ahead of the model


class Few(nn.Module):
    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return batch[:, :4]


@pytest.mark.parametrize("law", ["gaussian", "on_grid"])
def test_noise_drawn_ahead_is_the_same(monkeypatch, law):
    drawers, whole = [], getattr(draw, law)

    def watched(*args):
        drawers.append((threading.current_thread().name, len(args[3])))
        return whole(*args)

    monkeypatch.setattr(draw, law, watched)
    x = torch.linspace(0, 1, 784).mul(255).round().div(255)
    counts = []
    for threads, batch in ((1, 1000), (2, 1000), (2, 300)):
        torch.set_num_threads(threads)  # the model itself is one of a thread or two alike
        sampler = TorchSampler(Few(), batch=batch, sound_noise=law == "on_grid")
        found = [np.asarray(sampler(x, 0.5, n, stream(0, 0, 1))) for n in (100, 3000)]
        counts.append([f.tolist() for f in found])
    assert counts[0] == counts[1] == counts[2]
    main, other = threading.main_thread().name, "rsbounds-noise_0"
    assert drawers[:6] == [(main, blocks) for blocks in (1, 2, 2, 2, 2, 1)]
    assert drawers[6:16] == [(main, 1)] + [(other, 1)] * 9  # of a single block none is ahead
    assert drawers[16:] == [(main, 1)] * 10  # no room for a second block
    assert other not in {thread.name for thread in threading.enumerate()}


def test_failures_ahead_of_the_model_are_told(monkeypatch):
    torch.set_num_threads(2)
    expected = np.asarray(TorchSampler(linear(784))(torch.zeros(784), 0.5, 3000, stream(0, 0, 1)))
    whole, calls = draw.gaussian, []

    def failing(*args):
        calls.append(threading.current_thread().name)
        if len(calls) == 3:
            raise error
        return whole(*args)

    monkeypatch.setattr(draw, "gaussian", failing)
    error = RuntimeError("broken")
    with pytest.raises(RuntimeError, match="broken"):
        TorchSampler(linear(784))(torch.zeros(784), 0.5, 3000, stream(0, 0, 1))
    calls.clear()
    error = torch.OutOfMemoryError("too much")
    sampler = TorchSampler(linear(784))
    with pytest.warns(RuntimeWarning, match="holding 334 samples at once"):
        found = np.asarray(sampler(torch.zeros(784), 0.5, 3000, stream(0, 0, 1)))
    assert found.tolist() == expected.tolist()
    assert sampler.batch == 334
    assert calls[-1] == threading.main_thread().name  # one block at a time from then on
