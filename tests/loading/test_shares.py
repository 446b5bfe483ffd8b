"""Which inputs are this process's own: from --shard, torchrun, SLURM and its job
arrays.
"""

import os
import re

import pytest

from rsbounds.cli import main
from rsbounds.loading import share


@pytest.fixture
def environment(monkeypatch):
    for name in list(os.environ):
        if name in ("RANK", "WORLD_SIZE") or name.startswith("SLURM_"):
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
    assert share(None) == (0, 1, "default")


@pytest.mark.parametrize(("least", "step"), [(0, 1), (1, 1), (5, 1), (0, 4), (3, 7)])
def test_elements_of_an_array_partition_the_inputs(environment, least, step):
    taken = []
    for i in range(4):
        environment(**element(least + i * step, 4, least, step))
        rank, size, origin = share(None)
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
            first, stride, said = share(None)
            assert said == f"{origin} in SLURM array"
            taken += range(first, 23, stride)
    assert sorted(taken) == list(range(23))


def test_shard_goes_before_the_environment(environment):
    environment(**element("x"), RANK=1, WORLD_SIZE=2)
    assert share("2/3") == (2, 3, "default")


def test_old_slurm_without_least_and_step_counts_from_zero(environment):
    environment(SLURM_ARRAY_TASK_ID=2, SLURM_ARRAY_TASK_COUNT=4)
    assert share(None) == (2, 4, "SLURM array")


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
    with pytest.raises(
        ValueError, match="SLURM_ARRAY_TASK_ID/COUNT/MIN/STEP in the environment"
    ):
        share(None)
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
