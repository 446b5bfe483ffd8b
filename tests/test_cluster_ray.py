"""Ray: a real cluster of this machine, its workers and its writer killed."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import subprocess
import sys
import time

import anothers_method
import cluster_runs as runs
import pytest

from rsbounds.cluster import _ray

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
    """A cluster of this machine alone will never have more."""
    for more in ((), ("--workers", "2")):
        words = ("--ray", "--gpus-per-worker", "64", "--device", "cuda", *more)
        done = runs.run(*words, folder=work)
        assert done.returncode == 2
        assert "has no room for a worker of 1 CPUs and 64 GPUs" in done.stderr
        assert done.stderr.count("\n") == 1


def test_waiting_for_room_is_said(monkeypatch):
    """On a cluster that others may join, a number of workers waits."""

    class Cluster:
        def cluster_resources(self):
            return {"CPU": 4.0}

        def shutdown(self):
            pass

    monkeypatch.setattr(_ray, "_connected", lambda address, cpus: Cluster())
    monkeypatch.setattr(_ray, "Actors", lambda ray, count, options, member: count)
    with pytest.warns(UserWarning, match=r"1 CPUs and 1 GPUs; got 4 and 0: the run waits"):
        assert _ray.Ray(print, "head:6379", count=3, gpus=1)._begun(()) == 3
    with pytest.raises(ValueError, match="--workers N waits until there is"):
        _ray.Ray(print, "head:6379", gpus=1)._begun(())
    assert _ray.Ray(print, "head:6379")._begun(()) == 4


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


def wait_for(address):
    host, _, port = address.partition(":")
    for _ in range(600):
        with contextlib.suppress(OSError):
            return socket.create_connection((host, int(port))).close()
        time.sleep(0.1)
    raise AssertionError("no head in a minute")


def test_a_cluster_with_a_token(work):
    """It serves those who have the token, and refuses others in the end with one line."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef0123456789abcdef"}
    env = {**runs.environment(), **token}
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    words += ["--port", address.partition(":")[2], "--num-cpus", "2", "--include-dashboard=false"]
    with subprocess.Popen(words, env=env, stdout=-3, stderr=-3) as head:
        try:
            wait_for(address)
            for given, status in ((token, 0), ({**token, "RAY_AUTH_TOKEN": "f" * 32}, 2)):
                done = subprocess.run(
                    runs.words("--ray", address, "--workers", "1", out=f"{status}.tsv"),
                    cwd=work,
                    env={**runs.environment(), **given},
                    capture_output=True,
                    text=True,
                    timeout=180,
                )
                assert done.returncode == status, done.stderr
        finally:
            head.terminate()  # which ends its own processes
            head.wait(timeout=60)
    assert runs.without_time(work / "0.tsv") == runs.without_time(work / "whole.tsv")
    assert "Traceback" not in done.stderr
    assert "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" in done.stderr.splitlines()[-1]
    assert not list(work.glob("2.tsv*"))
