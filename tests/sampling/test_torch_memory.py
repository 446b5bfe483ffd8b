"""The torch sampler where memory runs out; noise drawn ahead of the model."""

import threading

import numpy as np
import pytest
import torch
from torch import nn
from torch_digits import at_zero

from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import torch_noise
from rsbounds.sampling.internal import stream
from rsbounds.torch import TorchSampler


def linear(size=4):
    torch.manual_seed(2)
    return nn.Linear(size, 3)


class Limited(nn.Module):
    """Fails like a device without memory: ``times`` times, or whenever a batch is too
    large.
    """

    def __init__(self, net, message="too much", *, rows=10**9, times=0):
        super().__init__()
        self.net, self.message, self.rows, self.times = net, message, rows, times

    def forward(self, batch):
        if self.times or len(batch) > self.rows:
            self.times = max(self.times - 1, 0)
            raise RuntimeError(self.message)
        return self.net(batch)


@pytest.mark.parametrize(("threads", "batch"), [(1, 2500), (2, 1667)])
def test_out_of_memory_halves_the_batch_and_goes_on(threads, batch):
    torch.set_num_threads(threads)  # with two, one block is counted while one is drawn
    net = linear(144)
    expected = at_zero(TorchSampler(net), 5000, 144)
    model = Limited(
        net, "CUDA out of memory. Tried to allocate 2 GiB\nmore words", times=1
    )
    sampler = TorchSampler(model, batch=10**6)  # all three blocks at once
    with pytest.warns(RuntimeWarning, match=r"memory.*2 GiB") as seen:
        assert at_zero(sampler, 5000, 144).tolist() == expected.tolist()
    assert len(seen) == 1
    assert sampler.batch == batch


@pytest.mark.parametrize(
    "message", ["CUDNN_STATUS_ALLOC_FAILED", "CPU: can't allocate memory"]
)
def test_out_of_memory_splits_the_forward_pass_at_last(message):
    net = linear(144)
    with pytest.warns(RuntimeWarning, match="running the model on"):
        counts = at_zero(TorchSampler(Limited(net, message, rows=100)), 5000, 144)
    # the same samples; only near-ties may round otherwise
    assert np.abs(np.subtract(counts, at_zero(TorchSampler(net), 5000, 144))).sum() <= 4


@pytest.mark.filterwarnings("ignore:out of memory")
def test_failures_of_one_sample_and_other_failures_are_errors():
    with pytest.raises(MemoryError, match=r"one sample.*memory"):
        at_zero(TorchSampler(Limited(linear(), "not enough memory", rows=0)), 50)
    with pytest.raises(RuntimeError, match="device-side assert"):
        at_zero(TorchSampler(Limited(linear(), "device-side assert", rows=0)), 50)


def test_memory_failure_while_noise_is_drawn(monkeypatch):
    gaussian_, sizes = torch_noise.gaussian, []

    def tight(x, sigma, size, names, generator):
        sizes.append(len(names))
        if len(names) > limit:
            raise torch.OutOfMemoryError("too much")
        return gaussian_(x, sigma, size, names, generator)

    expected = at_zero(TorchSampler(linear()), 20_000)
    monkeypatch.setattr(torch_noise, "gaussian", tight)
    limit = 1
    with pytest.warns(RuntimeWarning, match=r"\d+ samples"):
        counts = at_zero(TorchSampler(linear(), batch=10**6), 20_000)
    assert counts.tolist() == expected.tolist()
    assert sizes[0] == 5
    limit = 0
    with pytest.raises(MemoryError, match=r"100 samples.*too much"):
        at_zero(TorchSampler(linear()), 100)


class First(nn.Module):
    def forward(self, batch):
        return batch[:, :3]


@pytest.mark.parametrize("law", ["gaussian", "on_grid"])
def test_noise_drawn_ahead_is_the_same(monkeypatch, law):
    drawers, law_ = [], getattr(torch_noise, law)

    def watched(*args):
        drawers.append((threading.current_thread().name, len(args[3])))
        return law_(*args)

    monkeypatch.setattr(torch_noise, law, watched)
    x = torch.linspace(0, 1, 784).mul(255).round().div(255)
    counts = []
    for threads, batch in ((1, 1000), (2, 1000), (2, 300)):
        torch.set_num_threads(threads)
        noise = OnGrid() if law == "on_grid" else None
        sampler = TorchSampler(First(), batch=batch, noise=noise)
        results = [
            np.asarray(sampler(x, 0.05, n, stream(0, 0, 1))) for n in (100, 3000)
        ]
        counts.append([each.tolist() for each in results])
    assert counts[0] == counts[1] == counts[2]
    main, other = threading.main_thread().name, "rsbounds-ahead_0"
    assert drawers[:6] == [(main, blocks) for blocks in (1, 2, 2, 2, 2, 1)]
    assert (
        drawers[6:16] == [(main, 1)] + [(other, 1)] * 9
    )  # of a single block none is ahead
    assert drawers[16:] == [(main, 1)] * 10  # no room for a second block
    assert other not in {thread.name for thread in threading.enumerate()}


def test_failures_ahead_of_the_model_are_told(monkeypatch):
    torch.set_num_threads(2)
    expected = at_zero(TorchSampler(linear(784)), 3000, 784)
    law, calls = torch_noise.gaussian, []

    def failing(*args):
        calls.append(threading.current_thread().name)
        if len(calls) == 3:
            raise error
        return law(*args)

    monkeypatch.setattr(torch_noise, "gaussian", failing)
    error = RuntimeError("broken")
    with pytest.raises(RuntimeError, match="broken"):
        at_zero(TorchSampler(linear(784)), 3000, 784)
    calls.clear()
    error = torch.OutOfMemoryError("too much")
    sampler = TorchSampler(linear(784))
    with pytest.warns(RuntimeWarning, match="334 samples"):
        assert at_zero(sampler, 3000, 784).tolist() == expected.tolist()
    assert sampler.batch == 334
    assert calls[-1] == threading.main_thread().name  # one block at a time from then on
