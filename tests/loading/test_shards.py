"""Which inputs are this process's own: from --shard, torchrun, SLURM and its job
arrays.
"""

import os
import re

import pytest
from cli_models import arguments, models, one_line

from rsbounds.cli import main
from rsbounds.loading.internal import shard


@pytest.fixture
def environment(monkeypatch):
    for name in list(os.environ):
        if name in ("RANK", "WORLD_SIZE", "LOCAL_RANK") or name.startswith("SLURM_"):
            monkeypatch.delenv(name)

    def put(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, str(value))

    return put


def element(task, count=4, least=0, step=1):
    names = ("ID", "COUNT", "MIN", "STEP")
    values = zip(names, (task, count, least, step), strict=True)
    return {f"SLURM_ARRAY_TASK_{name}": value for name, value in values}


def test_without_any_of_them_everything_is_taken(environment):
    assert shard(None) == (0, 1, "default")


@pytest.mark.parametrize(("least", "step"), [(0, 1), (1, 1), (5, 1), (0, 4), (3, 7)])
def test_elements_of_an_array_partition_the_inputs(environment, least, step):
    taken = []
    for i in range(4):
        environment(**element(least + i * step, 4, least, step))
        rank, size, origin = shard(None)
        assert origin == "SLURM array"
        taken += range(rank, 23, size)
    assert sorted(taken) == list(range(23))


@pytest.mark.parametrize(
    ("rank", "size", "origin"),
    [("SLURM_PROCID", "SLURM_NTASKS", "SLURM"), ("RANK", "WORLD_SIZE", "torchrun")],
)
def test_processes_of_an_element_share_what_is_its_own(environment, rank, size, origin):
    taken = []
    for i in range(3):
        for j in range(2):
            environment(**element(i + 1, 3, 1), **{rank: j, size: 2})
            first, stride, said = shard(None)
            assert said == f"{origin} in SLURM array"
            taken += range(first, 23, stride)
    assert sorted(taken) == list(range(23))


def test_shard_goes_before_the_environment(environment):
    environment(**element("x"), RANK=1, WORLD_SIZE=2)
    assert shard("2/3") == (2, 3, "default")


def test_old_slurm_without_least_and_step_counts_from_zero(environment):
    environment(SLURM_ARRAY_TASK_ID=2, SLURM_ARRAY_TASK_COUNT=4)
    assert shard(None) == (2, 4, "SLURM array")


@pytest.mark.parametrize(
    "bad",
    [
        element(4),  # beyond the last
        element(0, 4, 1),  # before the first
        element(6, 3, 1),  # --array=1,3,6 has no equal steps
        element(2, 4, 1, 3),  # between two
        element("x"),
        element(0, ""),
        element(0, 4, 0, 0),
        element("٣", 20),
    ],
)
def test_an_array_that_says_no_share_is_one_line(environment, capsys, tmp_path, bad):
    environment(**bad)
    with pytest.raises(ValueError, match="SLURM_ARRAY_TASK_ID"):
        shard(None)
    words = [
        "--model",
        "m:m",
        "--data",
        "d.npz",
        "--sigma",
        "1",
        "--out",
        str(tmp_path / "o.tsv"),
    ]
    assert main(["certify", *words]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"rsbounds certify: --shard must be[^\n]*SLURM_ARRAY[^\n]*\n", said
    )
    assert not list(tmp_path.iterdir())


GPUS = """
def load():
    import torch
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 2))
"""


@pytest.mark.parametrize(
    ("local", "count", "device"),
    [
        ({}, 4, "cuda"),  # the only process of its machine
        ({"LOCAL_RANK": 0}, 4, "cuda:0"),
        ({"LOCAL_RANK": 3}, 4, "cuda:3"),
        ({"SLURM_LOCALID": 2}, 4, "cuda:2"),
        ({"LOCAL_RANK": 1, "SLURM_LOCALID": 2}, 4, "cuda:1"),  # torchrun in SLURM
        ({"LOCAL_RANK": 5}, 4, "cuda:1"),  # more processes than GPUs share them
        ({"LOCAL_RANK": 5}, 1, "cuda:0"),
    ],
)
def test_each_process_of_a_machine_has_its_own_gpu(
    work, monkeypatch, environment, local, count, device
):
    torch = pytest.importorskip("torch")
    asked = []

    def sampler(answer, model, **options):
        asked.append(options["device"])
        raise RuntimeError("no such GPU here")

    models(GPUS)
    environment(**local)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr("rsbounds.answers.TopClass.sampler", sampler)
    assert main(arguments(model="models:load", device="cuda")) == 2
    assert asked == [device]


@pytest.mark.parametrize("name", ["LOCAL_RANK", "SLURM_LOCALID"])
@pytest.mark.parametrize("place", ["one", "-1", "1.0", ""])
def test_a_place_on_a_machine_is_a_whole_number(work, capsys, environment, name, place):
    environment(**{name: place})
    one_line(capsys, arguments(device="cuda"), "LOCAL_RANK", repr(place))
    assert not list(work.glob("out*"))
