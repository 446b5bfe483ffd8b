"""Work dealt out to others: the rows of one process, whoever is slow, late, killed or
wrong.
"""

import json
import os
import signal
import sys
import time
from functools import partial

import cluster_runs as runs
import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds.certify._work import machine
from rsbounds.cluster import Processes, Ray
from rsbounds.cluster._deal import LostWorker
from rsbounds.cluster._processes import _visible
from rsbounds.cluster._ray import Actor, Actors
from rsbounds.sampling import ArraySampler


def build(sigma=0.5):
    weights = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    x = np.random.default_rng(1).standard_normal((9, 20)).astype(np.float32)
    return (
        (lambda batch: batch @ weights),
        (x, (x @ weights).argmax(1)),
        schemes.gaussian(sigma),
    )


@pytest.mark.slow
def test_workers_of_another_scheme_or_data_are_refused():
    _, (x, y), scheme = build()
    for own, data, name in (
        (partial(build, 0.25), (x, y), "method"),
        (build, (x[:5], y[:5]), "data"),
    ):
        said = f"must have the same {name} as the process that writes"
        with Processes(own, 1) as workers, pytest.raises(ValueError, match=said):
            certify_dataset(workers, data, scheme, n=10)


def uniform(x, sigma, n, generator):
    """A sampler of the user's own, of another law than the scheme's."""
    noise = sigma * np.sqrt(3) * generator.uniform(-1, 1, n)
    first = int((x[0] + noise > 0).sum())
    return [first, n - first, 0]


def build_with_sampler():
    _, data, scheme = build()
    return uniform, data, scheme


@pytest.mark.slow
def test_workers_whose_sampler_draws_noise_of_its_own_are_refused():
    """Certificates of the process that writes would not say that it is asserted."""
    _, data, scheme = build_with_sampler()
    said = "must have the same scope as the process that writes"
    with (
        Processes(build_with_sampler, 1) as workers,
        pytest.raises(ValueError, match=said),
    ):
        certify_dataset(workers, data, scheme, n=10)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"count": 0}, "count must be"),
        ({"threads": 0}, "threads must be"),
        ({"count": 10**6}, r"count must be at most \d+ on this machine"),
        ({"threads": 10**6}, r"threads must be at most \d+ on this machine"),
        ({"devices": ["0", ""]}, "devices must be names"),
    ],
)
def test_bad_numbers_of_processes_are_refused(known, said):
    with pytest.raises(ValueError, match=said):
        Processes(build, **known)


def test_devices_are_places_among_those_that_are_visible():
    assert _visible(["0", "3"], None) == ["0", "3"]
    assert _visible(["1", "0"], "4,GPU-a") == ["GPU-a", "4"]
    assert _visible(["GPU-b"], "4,5") == ["GPU-b"]
    with pytest.raises(ValueError, match=r"devices.*GPUs"):
        _visible(["2"], "4,5")


def test_devices_are_dealt_round():
    made = Processes(build, 5, devices=["0", "1"])
    assert [e["CUDA_VISIBLE_DEVICES"] for e in made._environments] == list("01010")


class Torch:
    """What is asked of PyTorch."""

    class cuda:
        is_available = is_initialized = staticmethod(lambda: True)
        get_device_name = staticmethod(lambda: "GPU 9000")

    class version:
        cuda = "13.0"

    class backends:
        class cuda:
            class matmul:
                allow_tf32 = True

        class cudnn:
            benchmark, deterministic, allow_tf32 = False, True, True
            version = staticmethod(lambda: 91000)

    class nn:
        Module = type("Module", (), {})

    get_num_threads = staticmethod(lambda: 3)


def test_a_gpu_and_its_arithmetic_are_recorded_and_rows_depend_on_tf32(
    monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "torch", Torch)
    found = machine()
    assert (found["gpu"], found["threads"], found["cuda"]) == ("GPU 9000", 3, "13.0")
    assert found["cudnn"] == {
        "version": 91000,
        "benchmark": False,
        "deterministic": True,
    }
    model, data, scheme = build()
    certify = partial(certify_dataset, ArraySampler(model), data, scheme, n=100)
    first = certify(out=tmp_path / "a.tsv", max=3)
    assert first.manifest.engine["tf32"] == {"matmul": True, "cudnn": True}
    monkeypatch.setattr(Torch.backends.cuda.matmul, "allow_tf32", False)
    with pytest.raises(ValueError, match=r"engine\.tf32\.matmul"):
        certify(out=tmp_path / "a.tsv")
    monkeypatch.setattr(Torch.cuda, "is_initialized", lambda: False)
    assert "gpu" not in machine()


def test_an_actor_sees_the_gpus_that_ray_gives_it(monkeypatch):
    class Gpus:
        get_gpu_ids = staticmethod(lambda: [2, "GPU-a"])

    monkeypatch.setitem(sys.modules, "ray", Gpus)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    Actor(build)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,GPU-a"


def test_actors_that_ray_has_given_up_end_the_run_with_the_reason():
    """An agent that died read as 5 workers that were out of memory."""

    class Errors:
        RayError = type("RayError", (Exception,), {})
        RayTaskError = type("RayTaskError", (RayError,), {})
        ActorDiedError = type("ActorDiedError", (RayError,), {})

    class Fake:
        exceptions = Errors

        def remote(self, kind):
            return self

        options = lambda self, **_: self  # noqa: E731

        def get(self, error):
            raise error

    actors = Actors(Fake(), 0, {}, None)
    lines = "The actor died.\n\tpid: 7\nIts owner has died. Worker exit detail: {}"
    said = "workers for good: Owner's node has crashed; .* the same command goes on$"
    with pytest.raises(ValueError, match=said):
        actors.result(Errors.ActorDiedError(lines.format("Owner's node has crashed.")))
    with pytest.raises(LostWorker, match=r"^RayError$"):
        actors.result(Errors.RayError("is unavailable"))


@pytest.fixture
def work(tmp_path):
    runs.prepare(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_killed_process_loses_nothing(work, whole):
    out = work / "out.tsv"
    with runs.held("--processes", "2", folder=work) as process:
        for sign, made in ((signal.SIGTERM, 3), (signal.SIGKILL, 4)):
            os.kill(
                next(p for p in runs.workers(process, work) if not runs.ended(p)), sign
            )
            # another takes its place
            runs.wait_for(
                process, lambda made=made: len(runs.workers(process, work)) == made
            )
        runs.go_on(work)
        assert process.wait(timeout=runs.WAIT) == 0
    assert runs.without_time(out) == runs.without_time(whole)
    machines = json.loads((work / "out.tsv.manifest.json").read_text())["run"][
        "machines"
    ]
    assert machines[0]["host"]
    assert machines[0]["cores"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signs", "status"),
    [
        ([signal.SIGKILL], -9),
        ([signal.SIGTERM], 143),
        ([signal.SIGINT], 130),
        ([signal.SIGINT] * 5, 130),  # several in a row showed the end of a thread
    ],
)
def test_an_ended_writer_takes_its_workers_along_and_is_resumed(
    work, whole, signs, status
):
    out = work / "out.tsv"
    with runs.held("--processes", "2", folder=work) as process:
        for sign in signs:
            process.send_signal(sign)
            time.sleep(0.01)
        assert process.wait(timeout=runs.WAIT) == status
        assert all(runs.gone(pid) for pid in runs.workers(process, work))
    if status > 0:
        line = "rsbounds certify: interrupted; what is written is kept, run it again "
        line += "to go on\n"
        assert (work / "err").read_text() == line
    assert 3 <= len(runs.without_time(out)) - 1 < runs.COUNT
    runs.done("--processes", "2", folder=work, model="held")
    assert runs.without_time(out) == runs.without_time(whole)


@pytest.mark.slow
def test_ctrl_c_while_workers_import_is_one_line(work):
    """A terminal sends it to all processes of the group."""
    with runs.begun("--processes", "2", folder=work) as process:
        runs.wait_for(
            process, lambda: any(map(runs.importing, runs.children(process.pid)))
        )
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=runs.WAIT) == 130
    assert (work / "err").read_text().count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nothing", "--model model:nothing: model has no 'nothing'"),
        ("failing", "input 13 failed: RuntimeError: no such layer"),
        ("murderous", "input 13 ended its worker 5 times"),
        ("unseeded", "must be the same"),
    ],
)
def test_what_goes_wrong_in_a_worker_is_one_line(work, model, said):
    if model == "unseeded":
        pytest.importorskip("torch")
    done = runs.run("--processes", "2", folder=work, model=model)
    assert done.returncode == 2
    assert said in runs.complaint(done.stderr)


@pytest.mark.slow
def test_corrupt_inputs_are_left_out_and_recorded(work):
    with np.load(work / "data.npz") as data:
        x, y = data["x"], data["y"]
    x[[17, 4]] = np.nan
    np.savez(work / "data.npz", x=x, y=y)
    failed = runs.run("--processes", "2", folder=work)
    assert failed.returncode == 2
    assert "input 4 must be finite" in failed.stderr
    a = runs.done("--skip-corrupt", folder=work, out="a.tsv")
    b = runs.done("--skip-corrupt", "--processes", "2", folder=work, out="b.tsv")
    assert a == b
    a, b = (json.loads((work / f"{n}.tsv.manifest.json").read_text()) for n in "ab")
    assert a["history"] == b["history"]
    assert [entry["input"] for entry in b["history"][0]["corrupt"]] == [4, 17]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "method"), [("seeded", "--sigma 0.5"), *runs.OTHERS])
def test_networks_and_methods_of_others_reach_the_workers(work, model, method):
    if model == "seeded":
        pytest.importorskip("torch")
    known = {"folder": work, "model": model, "method": method}
    alone = runs.done("--threads", "1", out="a.tsv", **known)
    assert (
        runs.done("--threads", "1", "--processes", "2", out="b.tsv", **known) == alone
    )
    machines = json.loads((work / "b.tsv.manifest.json").read_text())["run"]["machines"]
    assert {machine.get("threads", 1) for machine in machines} == {1}


def test_ray_is_not_started_before_it_is_needed():
    with Ray(build, "nobody:1") as workers:
        assert workers._executor is None
    with pytest.raises(ValueError, match="gpus must be"):
        Ray(build, gpus=-1)
