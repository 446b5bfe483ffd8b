"""Modules that are compiled: the settings of a device, and equal votes.

The compiler is a stand-in but for one test: a real one takes seconds.
"""

import threading

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from rsbounds.sampling.internal import stream
from rsbounds.sampling.torch_compiled import CompiledModule, quickest_kernels
from rsbounds.torch import TorchSampler

PICTURE = torch.linspace(0, 1, 144).reshape(1, 12, 12)


def network(*end):
    torch.manual_seed(1)
    end = end or (nn.Flatten(), nn.Linear(8 * 36, 5))
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.MaxPool2d(2), *end)


class Rows(nn.Module):
    """Reads a tensor as rows, which one with channels last has not."""

    def forward(self, batch):
        return batch.view(len(batch), -1)[:, :5]


def drawn(sampler, n=600, x=PICTURE):
    return np.asarray(sampler(x, 0.5, n, stream(0, 0, 1))).tolist()


@pytest.fixture
def stand_in(monkeypatch):
    """What is asked of the compiler, which returns the module itself."""
    asked = []

    def compiled(model, **options):
        asked.append(options)
        return model

    monkeypatch.setattr(torch, "compile", compiled)
    return asked


def layouts_of(model):
    seen = []
    last = torch.channels_last
    model.register_forward_pre_hook(
        lambda _, given: seen.append(given[0].is_contiguous(memory_format=last))
    )
    return seen


def test_pictures_are_given_channels_last(stand_in):
    # three channels: of one channel both layouts are the same
    colour = PICTURE.expand(3, 12, 12)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(3, 5, 12), nn.Flatten())
    plain = drawn(TorchSampler(model, batch=10_000), 512, colour)
    seen = layouts_of(model)
    sampler = TorchSampler(model, batch=10_000, compile=True)
    assert drawn(sampler, 512, colour) == plain
    assert set(seen) == {True, False}  # compared with the model as it was given
    seen.clear()
    assert drawn(sampler, 512, colour) == plain
    assert set(seen) == {True}
    assert stand_in == [{"dynamic": False, "mode": None}]


def test_a_model_that_reads_rows_gets_rows(stand_in):
    model = network(Rows())
    plain = drawn(TorchSampler(model))
    assert drawn(TorchSampler(model, compile=True)) == plain


def test_other_errors_of_a_model_are_its_own(stand_in):
    with pytest.raises(ValueError, match=r"layer 2 .Linear. takes 5 numbers"):
        drawn(TorchSampler(network(nn.Linear(5, 2)), compile=True))


@pytest.mark.parametrize(("error", "same"), [(1e-3, False), (1e-6, True)])
def test_scores_that_compiling_changes_are_refused(monkeypatch, error, same):
    def compiled(model, **_):
        return lambda batch: (
            model(batch) * (1 + error * (batch.sum((1, 2, 3)) > 75))[:, None]
        )

    monkeypatch.setattr(torch, "compile", compiled)
    sampler = TorchSampler(network(), compile=True)
    if same:
        assert sum(drawn(sampler)) == 600
        return
    with pytest.raises(
        ValueError, match=r"rows of \d+ differ by up to .*block 0 of input 0.*compile"
    ):
        drawn(sampler)


@pytest.mark.parametrize("kind", ["autocast", "own"])
def test_the_precision_of_a_model_is_allowed_for(monkeypatch, kind):
    """Its scores may be float32 though its sums are bfloat16's."""

    class Wide(nn.Module):
        def forward(self, batch):
            return batch.float()

    monkeypatch.setattr(
        torch, "compile", lambda model, **_: lambda batch: model(batch) * (1 + 2**-8)
    )
    model = network(nn.Flatten(), nn.Linear(8 * 36, 5), Wide())
    with pytest.raises(ValueError, match="compile"):
        drawn(TorchSampler(model, compile=True))
    options = {"autocast": "bfloat16"} if kind == "autocast" else {}
    if kind == "own":
        model = model.bfloat16()
    assert sum(drawn(TorchSampler(model, compile=True, **options))) == 600


def test_graphs_are_of_one_thread_and_keep_their_memory(monkeypatch):
    """A CUDA graph writes each output where it wrote the one before."""
    memory = torch.zeros(2, 3)

    def compiled(model, **options):
        assert options == {"dynamic": False, "mode": "reduce-overhead"}
        return lambda batch: memory.copy_(batch)

    monkeypatch.setattr(torch, "compile", compiled)
    model = CompiledModule(nn.Identity(), torch.device("cuda"))
    first = model(torch.ones(2, 3))
    model(torch.zeros(2, 3))
    assert first.tolist() == [[1.0] * 3] * 2
    errors = []

    def elsewhere():
        try:
            model(torch.ones(2, 3))
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert "one thread" in errors[0]


def test_kernels_are_chosen_by_time_while_a_call_runs(stand_in, monkeypatch):
    seen = []
    model = network()
    model.register_forward_hook(lambda *_: seen.append(torch.backends.cudnn.benchmark))
    assert not torch.backends.cudnn.benchmark
    drawn(TorchSampler(model))
    assert set(seen) == {False}
    seen.clear()
    drawn(TorchSampler(model, compile=True))
    assert set(seen) == {True}
    assert not torch.backends.cudnn.benchmark
    with pytest.raises(KeyError), quickest_kernels():
        raise KeyError
    assert not torch.backends.cudnn.benchmark


def test_the_setting_of_kernels_outlives_no_thread():
    """Of two that overlapped the second put back what the first had set."""
    first, second = quickest_kernels(), quickest_kernels()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch.backends.cudnn.benchmark
    second.__exit__(None, None, None)
    assert not torch.backends.cudnn.benchmark


class Casts(TorchDispatchMode):
    """How many tensors of some shape were cast."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        self.count += name == "_to_copy" and tuple(args[0].shape) == self.shape
        return func(*args, **(kwargs or {}))


def test_mixed_precision_casts_weights_once_a_call():
    """They were cast again for each block."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(144, 7))
    sampler = TorchSampler(model, autocast="bfloat16", batch=1)
    assert sampler.backend.block_size(20_000, 144) < 2000
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with Casts((7, 144)) as casts:
            drawn(sampler, 20_000)
    finally:
        torch.set_num_threads(before)
    assert casts.count == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_really_compiled_model_votes_as_it_was_given():
    model = network()
    assert drawn(TorchSampler(model, compile=True), 512) == drawn(
        TorchSampler(model), 512
    )
