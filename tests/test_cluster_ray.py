"""Ray: a real cluster of this machine, its workers and its writer killed."""

from __future__ import annotations

import importlib.util
import socket

import anothers_method
import cluster_runs as runs
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray"),
]
RAY = ("--ray", "--workers", "2")


@pytest.fixture
def work(tmp_path):
    runs.prepare(tmp_path)
    done = runs.run(folder=tmp_path, out="whole.tsv")
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_a_killed_worker_then_a_killed_writer_lose_nothing(work):
    whole = runs.without_time(work / "whole.tsv")
    with runs.start(*RAY, folder=work, out="a.tsv") as process:
        runs.wait_for_rows(process, work / "a.tsv", 3)
        runs.kill(runs.workers(process, work)[0])
        assert process.wait(timeout=180) == 0
        assert all(runs.gone(pid) for pid in runs.workers(process, work))
    assert runs.without_time(work / "a.tsv") == whole
    with runs.start(*RAY, folder=work, out="b.tsv") as process:
        runs.wait_for_rows(process, work / "b.tsv", 3)
        runs.kill(process.pid)
        process.wait(timeout=60)
        assert all(runs.gone(pid) for pid in runs.workers(process, work))
    assert 3 <= len(runs.without_time(work / "b.tsv")) - 1 < runs.COUNT
    done = runs.run(*RAY, folder=work, out="b.tsv")
    assert done.returncode == 0, done.stderr
    assert runs.without_time(work / "b.tsv") == whole


def test_what_goes_wrong_in_an_actor_is_one_line(work):
    done = runs.run(*RAY, folder=work, model="failing")
    assert done.returncode == 2
    (line,) = [one for one in done.stderr.splitlines() if "first 10 inputs" not in one]
    assert "input 13 failed: RuntimeError: no such layer" in line


def test_no_room_is_one_line(work):
    done = runs.run("--ray", "--gpus-per-worker", "64", "--device", "cuda", folder=work)
    assert done.returncode == 2
    assert "has no room for a worker of 1 CPUs and 64 GPUs" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_address_that_does_not_answer_is_one_line(work):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "nowhere", "h:x", "h:0"):
            done = runs.run("--ray", address, folder=work, out="whole.tsv")
            assert done.returncode == 2, address
            assert done.stderr.count("\n") == 1
            assert "Ray cluster" in done.stderr
    assert len(runs.without_time(work / "whole.tsv")) == runs.COUNT + 1


@pytest.mark.parametrize(
    ("model", "method"),
    [
        ("linear", "--method careful --sigma 0.5 --share 0.25"),
        ("seeded", "--method model:noise"),
        ("seeded", "--method model:levels"),
    ],
)
def test_methods_of_others_reach_the_actors(tmp_path, model, method):
    if model == "seeded":
        pytest.importorskip("torch")
    runs.prepare(tmp_path)
    anothers_method.install(tmp_path)
    for more, out in (((), "whole.tsv"), (RAY, "ray.tsv")):
        done = runs.run(*more, folder=tmp_path, out=out, model=model, method=method)
        assert done.returncode == 0, done.stderr
    assert runs.without_time(tmp_path / "ray.tsv") == runs.without_time(tmp_path / "whole.tsv")
