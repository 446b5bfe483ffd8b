"""Ray: a real cluster of this machine, its workers and its writer killed."""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import cluster_runs as runs
import pytest

from rsbounds.cluster import _ray

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray"),
]
RAY = ("--ray", "--processes", "2")


@pytest.fixture
def work(tmp_path, whole):
    runs.prepare(tmp_path)
    shutil.copy(whole, tmp_path / "whole.tsv")
    return tmp_path


def free_address():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{unused.getsockname()[1]}"


def wait_for(address):
    host, _, port = address.partition(":")
    begun = time.monotonic()
    while time.monotonic() - begun < runs.WAIT:
        with contextlib.suppress(OSError):
            return socket.create_connection((host, int(port))).close()
        time.sleep(0.1)
    raise AssertionError("no head")


TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef0123456789abcdef"}


@pytest.fixture(scope="module")
def address():
    """Of a cluster of two CPUs for those who have the token."""
    free = free_address()
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    words += [
        "--port",
        free.partition(":")[2],
        "--num-cpus",
        "2",
        "--include-dashboard=false",
    ]
    env = runs.environment() | TOKEN
    with subprocess.Popen(words, env=env, stdout=-3, stderr=-3) as head:
        try:
            wait_for(free)
            yield free
        finally:
            head.terminate()  # which ends its own processes
            head.wait(timeout=runs.WAIT)


def test_ended_workers_then_a_killed_writer_lose_nothing(work):
    """SIGTERM of a worker was an error of the model, which ended the run."""
    whole = runs.without_time(work / "whole.tsv")
    with runs.held(*RAY, folder=work, out="a.tsv") as process:
        for sign, made in ((signal.SIGTERM, 3), (signal.SIGKILL, 4)):
            os.kill(
                next(p for p in runs.workers(process, work) if not runs.ended(p)), sign
            )
            runs.wait_for(
                process, lambda made=made: len(runs.workers(process, work)) == made
            )
        runs.go_on(work)
        assert process.wait(timeout=runs.WAIT) == 0
        assert all(runs.gone(pid) for pid in runs.workers(process, work))
    assert runs.without_time(work / "a.tsv") == whole
    for sign, status in ((signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        with runs.held(*RAY, folder=work, out=f"{sign.name}.tsv") as process:
            process.send_signal(sign)
            assert process.wait(timeout=runs.WAIT) == status
            assert all(runs.gone(pid) for pid in runs.workers(process, work))
        assert 3 <= len(runs.without_time(work / f"{sign.name}.tsv")) - 1 < runs.COUNT
    assert runs.done(folder=work, model="held", out="SIGKILL.tsv") == whole


def test_what_goes_wrong_in_an_actor_is_one_line(work, address):
    known = {"folder": work, "env": TOKEN, "model": "failing"}
    done = runs.run("--ray", address, *RAY[1:], **known)
    assert done.returncode == 2
    assert "input 13 failed: RuntimeError: no such layer" in runs.complaint(done.stderr)


def test_waiting_for_room_is_said(monkeypatch):
    """On a cluster that others may join, a number of workers waits."""

    class Cluster:
        def cluster_resources(self):
            return {"CPU": 4.0}

        def shutdown(self):
            pass

    monkeypatch.setattr(_ray, "_connected", lambda address, cpus: Cluster())
    monkeypatch.setattr(_ray, "Actors", lambda ray, count, options, member: count)
    with pytest.warns(UserWarning, match=r"1 GPUs.*waits"):
        assert _ray.Ray(print, "head:6379", count=3, gpus=1)._begun(None) == 3
    with pytest.raises(ValueError, match="wait until"):
        _ray.Ray(print, "head:6379", gpus=1)._begun(None)
    with pytest.raises(ValueError, match=r"room.*64 GPUs"):
        _ray.Ray(print, "local", count=2, gpus=64)._begun(
            None
        )  # this machine has all it will have
    assert _ray.Ray(print, "head:6379")._begun(None) == 4


def test_an_address_that_does_not_answer_is_one_line(work):
    address = free_address()
    done = runs.run("--ray", address, folder=work, out="whole.tsv")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"the Ray cluster at {address} doesn't answer" in done.stderr
    assert len(runs.without_time(work / "whole.tsv")) == runs.COUNT + 1
    for other in (address, f"ray://{address}", "nowhere", "h:x", "h:0"):
        with pytest.raises(ValueError, match="Ray cluster"):
            _ray._answers(other)


@pytest.mark.parametrize(("model", "method"), runs.OTHERS[:1])
def test_methods_of_others_reach_the_actors(work, address, model, method):
    known = {"folder": work, "model": model, "method": method, "env": TOKEN}
    alone = runs.done("--threads", "1", out="a.tsv", **known)
    assert runs.done("--ray", address, *RAY[1:], out="b.tsv", **known) == alone


def test_a_cluster_with_a_token(work, address):
    """It serves those who have the token, and refuses others in one line."""
    for out, token, status in (
        ("a.tsv", TOKEN, 0),
        ("b.tsv", TOKEN | {"RAY_AUTH_TOKEN": "f" * 32}, 2),
    ):
        done = runs.run(
            "--ray", address, "--processes", "1", folder=work, env=token, out=out
        )
        assert done.returncode == status, done.stderr
    assert runs.without_time(work / "a.tsv") == runs.without_time(work / "whole.tsv")
    assert "Traceback" not in done.stderr
    assert "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" in done.stderr.splitlines()[-1]
    assert not list(work.glob("b.tsv*"))
