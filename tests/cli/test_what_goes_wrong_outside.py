"""What went wrong once outside the library: disks, streams, signals, data, models."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli_models import ENVIRONMENT, arguments, inputs, models, one_line, package, python

from rsbounds import cli, loading
from rsbounds.cli import _engine, main
from rsbounds.loading import CorruptInput, as_data
from rsbounds.results import Manifest, read_rows


def shell(line):
    line = line.replace("rsbounds ", f"{sys.executable} -m rsbounds ", 1)
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env=ENVIRONMENT
    )


def failing(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named_with_its_file(work, capsys, monkeypatch):
    full = "No space left on device"
    assert main(arguments()) == 0
    Path("out.tsv").write_text(
        "".join(Path("out.tsv").read_text().splitlines(True)[:7])
    )
    before = Path("out.tsv").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        one_line(
            capsys,
            arguments(),
            f"can't write out.tsv: {full}",
            "the rows in it are kept",
        )
        one_line(
            capsys,
            arguments(out="new.tsv"),
            f"can't write new.tsv.manifest.json: {full}",
        )
        one_line(
            capsys, ["merge", "all.tsv", "out.tsv"], f"all.tsv.manifest.json: {full}"
        )
    assert Path("out.tsv").read_bytes() == before
    assert main(arguments()) == 0
    assert main(["merge", "all.tsv", "out.tsv"]) == 0


@pytest.mark.parametrize("option", ["--html", "--plot"])
def test_a_full_disk_is_named_by_what_writes_pages_too(
    work, capsys, option, monkeypatch
):
    """A page that was there is kept whole."""
    for module in ("plotly", "matplotlib"):
        package(module)
    assert main(arguments()) == 0
    report = ["report", "out.tsv", option, "page.png"]
    assert main(report) == 0
    before = Path("page.png").read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    one_line(capsys, report, "page.png: No space left on device")
    assert Path("page.png").read_bytes() == before
    assert not list(Path().glob("*.new"))


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-"])
def test_closed_streams_lose_nothing(work, closed):
    command = " ".join(["rsbounds", *arguments(n=100)])
    assert shell(f"{command} {closed}").returncode == 0
    assert len(read_rows(Path("out.tsv"))) == 12
    assert Manifest.read(Path("out.tsv")).procedure.n == 100


def test_a_full_standard_output_is_named(work):
    done = shell("rsbounds radius gaussian --score 1 --sigma 1 > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "rsbounds radius: standard output: No space left on device\n"


def test_ctrl_c_while_the_commands_are_loaded(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", interrupted)
    assert main(["report", "x"]) == 130
    assert capsys.readouterr().err == (
        "rsbounds: interrupted; what is written is kept, run it again to go on\n"
    )


@pytest.mark.parametrize("module", ["argparse", "rsbounds.cli.certify"])
def test_ctrl_c_while_python_imports(module):
    """At any import of ours: by the module and by the installed script."""
    code = f"""
import importlib.metadata, runpy, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
for name in list(sys.modules):
    if name.split(".")[0] in ("argparse", "rsbounds", "numpy"):
        del sys.modules[name]
sys.meta_path.insert(0, Interrupts())
sys.argv = ["rsbounds", "report", "x"]
if {{way}} == 0:
    runpy.run_module("rsbounds", run_name="__main__")
(script,) = importlib.metadata.entry_points(group="console_scripts", name="rsbounds")
sys.exit(script.load()())
"""
    for way in (0, 1):
        done = python("-c", code.replace("{way}", str(way)))
        assert done.returncode == 130
        assert done.stderr.startswith("rsbounds: interrupted")
        assert done.stderr.count("\n") == 1


def test_ctrl_c_at_any_moment_is_one_line_and_no_traceback(work):
    Path("hold").touch()  # so that no run ends before it is interrupted
    # it tells when the command line begins to load; before that it is the interpreter's
    # start
    code = "import sys, rsbounds.cli as c; whole = c.parser\n"
    code += "c.parser = lambda: print('.', flush=True) or whole()\n"
    code += "sys.exit(c.main(sys.argv[1:]))"
    for pause in (0, 0.1, 0.4):
        words = [sys.executable, "-c", code, *arguments(model="models:slow")]
        run = subprocess.Popen(words, stdout=-1, stderr=-1, text=True, env=ENVIRONMENT)
        run.stdout.read(1)
        time.sleep(pause)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=600)
        assert "Traceback" not in err
        assert run.returncode == 130, err
        assert "run it again to go on" in err.splitlines()[-1]
    assert main(arguments(model="models:linear", out="x.tsv")) == 0


def test_anchors_that_are_damaged_are_one_line(tmp_path):
    path, rng, messages = tmp_path / "anchors.npz", np.random.default_rng(1), []
    np.savez_compressed(path, x=rng.standard_normal((300, 36)))
    raw = path.read_bytes()
    for _ in range(40):
        bad = bytearray(raw)
        bad[rng.integers(len(bad))] ^= int(rng.integers(1, 256))
        path.write_bytes(bad)
        try:
            loading.inputs(path)
        except (ValueError, OSError) as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all("anchors.npz" in text and "\n" not in text for text in messages)


def test_the_model_is_tried_on_the_first_input_that_can_be_decoded(work):
    x, _ = inputs()
    x[:2] = np.nan
    for bad, found in ((x, 2), (np.full_like(x, np.nan), None)):
        with as_data((bad, np.zeros(len(x), int))) as data:
            if found is None:
                with pytest.raises(CorruptInput, match="input 0"):
                    _engine.first(data)
            else:
                np.testing.assert_array_equal(_engine.first(data), x[found])


STRANGE = """
import numpy as np

class Tensor:
    "What a CUDA tensor is to NumPy."
    def __init__(self, array):
        self.array = array
    def __array__(self, *args, **options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")
    def __len__(self):
        return len(self.array)

def cuda():
    return lambda batch: Tensor(batch)

def complex():
    return lambda batch: batch.reshape(len(batch), -1)[:, :2] * 1j

def leaves():
    def call(batch):
        raise SystemExit(0)
    return call

def deep():
    def call(batch):
        return call(batch)
    return call

def grad():
    import torch
    layer = torch.nn.Linear(36, 2)
    return lambda batch: layer(torch.from_numpy(batch.reshape(len(batch), -1)))
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cuda", "can't convert cuda:0"),
        ("complex", "must return scores of shape"),
        ("leaves", "SystemExit: 0"),
        ("deep", "RecursionError"),
    ],
)
def test_scores_that_are_none_are_one_line(work, capsys, name, said):
    models(STRANGE)
    one_line(capsys, arguments(model=f"models:{name}"), "input 0 failed: ", said)
    assert not Path("out.tsv").exists()


def test_a_callable_with_gradients_is_certified(work):
    package("torch")
    models(STRANGE)
    assert main(arguments(model="models:grad", max=2, n=100)) == 0


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_a_device_for_a_numpy_model_is_refused(work, capsys, device):
    one_line(capsys, arguments(device=device), "--device needs a torch module")
    assert not Path("out.tsv").exists()


def test_a_model_that_fails_while_it_is_drawn_again_is_one_line(work, capsys):
    assert main(arguments()) == 0
    again = ["--data", "data.npz", "--rerun", "12", "--model"]
    argv = ["verify", "out.tsv", *again, "models:late"]
    one_line(capsys, argv, "failed: RuntimeError: device lost")


def test_traceback_on_demand(work, capsys, monkeypatch):
    monkeypatch.setenv("RSBOUNDS_TRACEBACK", "1")
    assert main(arguments(model="models:late")) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert 'raise RuntimeError("device lost")' in err
