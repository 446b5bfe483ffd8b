"""Inputs that share a forward pass have the rows that each has by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds import certify_dataset
from rsbounds.certify import Here, stream
from rsbounds.certify._tasks import task
from rsbounds.loading import as_data
from rsbounds.results import COLUMNS
from rsbounds.sampling import ArraySampler, Draw, Phase, Sharing
from rsbounds.schemes import gaussian, sigma_range
from rsbounds.torch import FixedNoise, TorchSampler

OFF = {"runner_up": False, "target_radius": None}
SHAPE = (1, 28, 28)  # 17 inputs of 7 + 12 samples share a block


def mlp() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 50), nn.ReLU(), nn.Linear(50, 7))


def deep() -> nn.Module:
    torch.manual_seed(2)
    layers = [nn.Sequential(nn.Linear(99, 99), nn.GELU(), nn.LayerNorm(99)) for _ in range(6)]
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 99), *layers, nn.Linear(99, 5))


def conv() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 24, 3, stride=2, groups=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(24, 16, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )


def doubles() -> nn.Module:
    return mlp().double()


class Edge(nn.Module):
    """Near-ties, few or many, which fall otherwise in a batch of more than 20 rows."""

    def __init__(self, apart: float = 1e-6, often: bool = False) -> None:
        super().__init__()
        self.apart, self.steps = apart, 1 if often else 40
        self.seen: list[int] = []

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        self.seen.append(len(batch))
        s = (self.steps * batch.flatten(1)[:, 0]).round() / self.steps
        moved = s - self.apart if len(batch) > 20 else s
        return torch.stack([1 + moved, 1 - s, 0 * s], dim=1)


class Alone(TorchSampler):
    """Shares nothing."""

    def room(self, x, samples):
        return 1


def inputs(count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((count, *SHAPE), dtype=np.float32), rng.integers(0, 3, count)


def rows(sampler, data=None, scheme=None, **known):
    """The rows as text, without their times."""
    known = {"n0": 7, "n": 12, "alpha": 0.05} | known
    found = certify_dataset(sampler, data or inputs(), scheme or gaussian(0.25), **known)
    return [replace(row, time="").text(COLUMNS) for row in found.rows]


@pytest.mark.parametrize(
    ("model", "threads", "options"),
    [
        *((model, threads, {}) for model in (mlp, deep, conv, doubles) for threads in (1, 2)),
        (conv, 3, {}),
        (mlp, 1, {"sound_noise": True}),
        (conv, 2, {"sound_noise": True, "channels_last": True}),
    ],
)
def test_rows_are_byte_equal_but_for_time(model, threads, options):
    data = np.rint(255 * inputs()[0]).astype(np.float32) / 255, inputs()[1]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        shared, alone = TorchSampler(model(), **options), Alone(model(), **options)
        assert rows(shared, data) == rows(alone, data)
    finally:
        torch.set_num_threads(before)
    assert shared._compared
    assert shared._shares
    assert not alone._compared


@pytest.mark.usefixtures("one_thread")
def test_files_are_those_of_one_by_one_and_resume(tmp_path):
    def file(name, make, most):
        known = {"out": tmp_path / name, "max": most}
        kept = rows(make(conv()), **known)
        text = [line.split("\t") for line in (tmp_path / name).read_text().splitlines()]
        time = text[0].index("time")
        return kept, [line[:time] + line[time + 1 :] for line in text]

    alone = file("alone.tsv", Alone, -1)
    assert file("shared.tsv", TorchSampler, -1) == alone
    file("resumed.tsv", TorchSampler, 9)
    assert file("resumed.tsv", TorchSampler, -1) == alone


@pytest.mark.usefixtures("one_thread")
def test_near_ties_fall_as_they_do_alone():
    shared, alone = Edge(), Edge()
    found = rows(TorchSampler(shared))
    assert found == rows(Alone(alone))
    assert shared.seen.count(13 * 19) == 3
    assert max(alone.seen) == 12


@pytest.mark.usefixtures("one_thread")
def test_where_most_draws_are_near_ties_nothing_is_shared():
    model, data = Edge(often=True), inputs(60)
    sampler = TorchSampler(model)
    assert rows(sampler, data) == rows(Alone(Edge(often=True)), data)
    assert model.seen.count(13 * 19) == 2  # of four: the second was the last
    assert sampler.room(torch.zeros(SHAPE), 19) == 1


@pytest.mark.usefixtures("one_thread")
def test_a_near_tie_left_as_it_fell_would_be_seen(monkeypatch):
    monkeypatch.setattr("rsbounds.torch._rows.doubtful", lambda s: torch.zeros(len(s), dtype=bool))
    found = rows(TorchSampler(Edge()))
    assert found != rows(Alone(Edge()))


@pytest.mark.usefixtures("one_thread")
def test_levels_and_shapes_of_noise_are_each_inputs_own():
    scheme = sigma_range(lambda x: 0.1 + 0.2 * float(np.asarray(x).mean()), 0.1, 0.3, 784)
    known = [rows(make(mlp()), scheme=scheme) for make in SAMPLERS]
    assert known[0] == known[1]
    sigma = 0.1 + 0.2 * torch.rand(SHAPE, generator=torch.Generator().manual_seed(0))
    noise = FixedNoise(torch.full(SHAPE, 0.01), sigma)
    shaped, apart = noise.sampler(mlp()), noise.sampler(mlp())
    apart.room = lambda x, samples: 1
    scheme = noise.scheme()
    assert rows(shaped, scheme=scheme) == rows(apart, scheme=scheme)
    assert shaped._compared


SAMPLERS = (TorchSampler, Alone)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("apart", [1e-3, 1e-4, float("nan")])
def test_scores_that_move_by_more_end_the_sharing(apart):
    model = Edge(apart)
    sampler = TorchSampler(model)
    assert rows(sampler) == rows(Alone(Edge(apart)))
    assert model.seen.count(13 * 19) == 1
    assert sampler.room(torch.zeros(SHAPE), 19) == 1


def test_what_bounds_the_forward_pass_is_not_shared(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda model, dynamic: lambda batch: model(batch))
    x = torch.zeros(SHAPE)
    assert TorchSampler(mlp()).room(x, 19) == 13
    assert TorchSampler(mlp()).room(torch.zeros(2), 19) == 13
    assert TorchSampler(mlp()).room(x, 168) == 1
    assert TorchSampler(mlp(), batch=80).room(x, 19) == 4
    assert TorchSampler(mlp(), batch=75).room(x, 19) == 1
    assert TorchSampler(mlp(), forward_batch=1000).room(x, 19) == 1
    assert TorchSampler(mlp(), autocast="bfloat16").room(x, 19) == 1
    assert TorchSampler(mlp().bfloat16()).room(x, 19) == 1
    assert TorchSampler(mlp(), compile=True).room(x, 19) == 1
    assert not isinstance(ArraySampler(lambda batch: batch), Sharing)


@pytest.mark.usefixtures("one_thread")
def test_out_of_memory_goes_on_one_by_one():
    class Tight(Edge):
        def forward(self, batch):
            if len(batch) > 100:
                raise torch.OutOfMemoryError("out of memory")
            return super().forward(batch)

    sampler = TorchSampler(Tight())
    with pytest.warns(RuntimeWarning, match="no forward pass is shared"):
        found = rows(sampler)
    assert found == rows(Alone(Edge()))


@pytest.mark.usefixtures("one_thread")
def test_training_mode_and_a_bad_input_are_named(tmp_path):
    sampler = TorchSampler(mlp(), sound_noise=True)
    x = np.rint(255 * inputs()[0]) / 255
    x[12] += 0.3 / 255
    with pytest.raises(ValueError, match=r"input 12 failed: .*grid of 1/255"):
        rows(sampler, (x.astype(np.float32), inputs()[1]), out=tmp_path / "a.tsv")
    assert len((tmp_path / "a.tsv").read_text().splitlines()) == 13  # those before it are kept
    draws = [Draw(x[i], 0.25, 4, stream(0, i, Phase.SELECT)) for i in range(2)]
    sampler._plain.train()
    with pytest.raises(ValueError, match="eval mode"):
        sampler.together(draws)


@pytest.mark.usefixtures("one_thread")
def test_inputs_of_several_shapes_share_with_their_own():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    sides = [28] * 20 + [20, 28] * 5 + [28] * 17
    rng = np.random.default_rng(1)
    data = [(rng.random((1, s, s), dtype=np.float32), 0) for s in sides]
    shared, alone = TorchSampler(model), Alone(model)
    assert rows(shared, data) == rows(alone, data)
    assert shared._compared


def test_workers_share_among_the_inputs_they_are_handed():
    x = np.random.default_rng(5).random((40, *SHAPE), dtype=np.float32)
    data = as_data((x, [0] * len(x)))
    known = {"n0": 7, "n": 12, "alpha": 0.001, "seed": 0, "bound": "clopper-pearson"}
    job = task(sampler := TorchSampler(mlp()), gaussian(0.25), **known, **OFF)
    assert sampler.room(x[0], 19) > 1
    here = Here(job, data, skip_corrupt=False)
    several = here.several(range(40), False)
    one_by_one = [here.several([i], False)[0] for i in range(40)]
    columns = [name for name in COLUMNS if name != "time"]
    assert [o.row.text(columns) for o in several] == [o.row.text(columns) for o in one_by_one]


def test_a_worker_answers_with_the_inputs_before_one_that_fails():
    x = np.random.default_rng(5).random((40, *SHAPE), dtype=np.float32)
    x[23] = np.nan
    known = {"n0": 7, "n": 12, "alpha": 0.001, "seed": 0, "bound": "clopper-pearson"}
    job = task(TorchSampler(mlp()), gaussian(0.25), **known, **OFF)
    here = Here(job, as_data((x, [0] * len(x))), skip_corrupt=False)
    found = [o.index for o in here.several(range(40), False)]
    assert found == list(range(len(found)))
    assert 0 < len(found) <= 23
    with pytest.raises(ValueError, match="input 23 must be finite"):
        here.several([23, 24], False)
