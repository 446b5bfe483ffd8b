"""Models and samplers in several threads at once, and models that keep something."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds.sampling import ArraySampler
from rsbounds.sampling.internal import stream
from rsbounds.torch import Smooth, TorchSampler
from rsbounds.torch.networks.conditional import NoiseConditional


def conditional():
    torch.manual_seed(0)
    base = nn.Sequential(nn.Linear(6, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU())
    net = NoiseConditional(nn.Sequential(*base, nn.Linear(20, 3)), 0.25, 1.0)
    for name, parameter in net.named_parameters():
        if ".net." in name:
            nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    return net.eval()


def counted(sampler, index):
    x = torch.linspace(0, 1, 6)
    return np.asarray(sampler(x, 0.5, 4000, stream(0, index, 1))).tolist()


def in_threads(call, count):
    barrier = threading.Barrier(2)

    def started(k):
        barrier.wait()
        return call(k)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(started, range(count)))


def test_one_network_at_two_levels_in_two_threads():
    """The level was an attribute that both calls wrote: up to 2,746 of 4,000 votes."""
    net = conditional()
    levels = [net.at(0.25).eval(), net.at(1.0).eval()]

    def call(k):
        return counted(TorchSampler(levels[k % 2], batch=200), k)

    expected = [call(k) for k in range(30)]
    assert expected[0] != expected[1]
    assert in_threads(call, 30) == expected


def test_one_sampler_in_two_threads():
    """Its generator was seeded by one call while another drew from it."""
    sampler = TorchSampler(nn.Linear(6, 3), batch=200)
    expected = [counted(sampler, k) for k in range(30)]
    assert in_threads(lambda k: counted(sampler, k), 30) == expected


class Caching(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 3)
        self.eye = None

    def forward(self, x):
        if self.eye is None:
            self.eye = torch.eye(6) * 2.0
        return self.inner(x @ self.eye)


def test_a_model_that_keeps_a_tensor_can_be_attacked_after_it_was_certified():
    smooth = Smooth(Caching(), 3, 0.5, samples=4)
    smooth.certify(torch.zeros(6), 10, 100, 0.1, 100)
    x = torch.zeros(2, 6, requires_grad=True)
    smooth(x)[:, 0].sum().backward()
    assert x.grad.abs().sum() > 0


class Descending(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 3)

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(self.inner(x).logsumexp(1).sum(), x)
        return self.inner(x - 0.1 * slope)


def test_a_model_that_uses_autograd_inside_can_be_counted():
    assert sum(counted(TorchSampler(Descending()), 0)) == 4000


class Leaking(nn.Module):
    """From some call on each row's scores hold a little of the batch's mean."""

    def __init__(self, leak, start=0):
        super().__init__()
        self.leak, self.start, self.calls = leak, start, 0

    def forward(self, x):
        self.calls += 1
        scores = torch.stack([x[:, 0], -x[:, 0]], 1)
        if self.calls > self.start:
            scores = scores + self.leak * x[:, 1].sign().mean()
        return scores


class Drifting(Leaking):
    def forward(self, x):
        self.calls += 1
        return torch.stack([x[:, 0] + self.leak * (self.calls // 100), -x[:, 0]], 1)


def of_arrays(model):
    return ArraySampler(lambda batch: model(torch.from_numpy(batch)).numpy())


@pytest.mark.parametrize("make", [TorchSampler, of_arrays])
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: Leaking(1e-4), "differ by .* of its copies, at block 0 of input 0"),
        (
            lambda: Leaking(0.1, 10),
            r"differ by .* of its copies, at block \d+ of input \d",
        ),
        (
            lambda: Drifting(1e-3),
            r"one function of its input.* at block \d+ of input \d",
        ),
    ],
    ids=["leak", "later", "drift"],
)
def test_rows_are_looked_at_through_a_run(make, model, message):
    """A leak of 1e-4, or a later one, passed: the look was coarse, and only one."""
    sampler = make(model())

    def run():
        for index in range(4):
            sampler(torch.zeros(4), 0.5, 4096 * 1000, stream(0, index, 1))

    with pytest.raises(ValueError, match=message):
        run()


def test_looks_cost_below_half_a_percent():
    calls = []

    class Linear(nn.Linear):
        def forward(self, x):
            calls.append(len(x))
            return super().forward(x)

    model = Linear(4, 2)
    sampler = TorchSampler(model)
    for index in range(4):
        sampler(torch.zeros(4), 0.5, 4096 * 200, stream(0, index, 1))
    blocks = 800
    assert 3 <= len(calls) - blocks <= 0.005 * blocks
    calls.clear()
    with torch.no_grad():
        of_arrays(model)(torch.zeros(4), 0.5, 4096 * blocks, stream(0, 0, 1))
    assert 3 <= len(calls) - blocks <= 0.005 * blocks


@pytest.mark.parametrize("make", [TorchSampler, of_arrays])
def test_no_samples_is_a_refusal(make):
    with pytest.raises(ValueError, match=r"^n must.*0"):
        make(nn.Linear(3, 2))(torch.zeros(3), 0.5, 0, stream(0, 0, 1))
