"""What went wrong once on the command line: one line that says what it was, and nothing lost."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, prepare
from optional_packages import package

from rsbounds import cli
from rsbounds.cli import main
from rsbounds.results import Manifest, Row, _file, read_rows, write

ROOT = Path(__file__).parent.parent


@pytest.fixture
def work(tmp_path, monkeypatch):
    return prepare(tmp_path, monkeypatch)


def models(text: str) -> None:
    """Other models, not yet imported."""
    Path("models.py").write_text(text)
    sys.modules.pop("models", None)


def changed(**entries: object) -> None:
    place = Path("out.tsv.manifest.json")
    place.write_text(json.dumps(json.loads(place.read_text()) | entries))


def one_line(capsys, argv: list[str], *said: str) -> None:
    capsys.readouterr()
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    for part in said:
        assert part in err


def shell(line: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = line.replace("rsbounds ", f"{sys.executable} -m rsbounds ", 1)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env)


# --- which model was it?

LOADS = """
import numpy as np
def linear():
    w = np.load("w.npy")
    return lambda batch: batch.reshape(len(batch), -1) @ np.stack([w, -w], axis=1)
"""
HELPED = """
import numpy as np
from helper import matrix
def linear():
    return lambda batch: batch.reshape(len(batch), -1) @ matrix()
"""
HELPER = """
import numpy as np
def matrix(seed=0):
    w = np.random.default_rng(seed).standard_normal(36)
    return np.stack([w, -w], axis=1)
"""


def weights_file_replaced() -> None:
    np.save("w.npy", np.random.default_rng(1).standard_normal(36))


def helper_edited() -> None:
    Path("helper.py").write_text(HELPER.replace("[w, -w]", "[-w, w]"))


def default_changed() -> None:
    Path("helper.py").write_text(HELPER.replace("seed=0", "seed=1"))


@pytest.mark.parametrize("change", [weights_file_replaced, helper_edited, default_changed])
@pytest.mark.parametrize("count", [3, 12])
def test_a_model_that_changed_behind_its_source_is_refused(work, capsys, change, count):
    np.save("w.npy", np.random.default_rng(0).standard_normal(36))
    Path("helper.py").write_text(HELPER)
    models(LOADS if change is weights_file_replaced else HELPED)
    sys.modules.pop("helper", None)
    assert main(arguments()) == 0
    lines = Path("out.tsv").read_text().splitlines(True)
    Path("out.tsv").write_text("".join(lines[: 1 + count]))
    change()
    for module in ("models", "helper"):
        sys.modules.pop(module, None)
    one_line(capsys, arguments(), "probe.0 was", "--accept-change")
    assert Path("out.tsv").read_text() == "".join(lines[: 1 + count])
    assert main(arguments(accept_change="")) == 0
    history = Manifest.read(Path("out.tsv")).history
    assert history[0]["rows"] == count
    assert any(text.startswith("probe.0 was") for text in history[0]["changes"])
    sys.modules.pop("helper", None)


def test_a_comment_in_the_source_is_no_other_model(work):
    assert main(arguments(max=6)) == 0
    models(MODELS + "\n# a comment\n")
    assert main(arguments()) == 0
    assert len(read_rows(Path("out.tsv"))) == 12


def test_what_was_accepted_in_a_shard_is_kept_by_merge(work):
    for i in range(2):
        assert main(arguments(shard=f"{i}/2", out=f"{i}.tsv")) == 0
    place = Path("1.tsv.manifest.json")
    entry = {"changes": ["versions.numpy was 1 and is now 2"], "rows": 3, "run": {}}
    place.write_text(json.dumps(json.loads(place.read_text()) | {"history": [entry]}))
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert Manifest.read(Path("all.tsv")).history == [entry]


# --- is it all there?


def test_status_counts_each_input_of_the_run_once(work, capsys):
    assert main(arguments()) == 0
    lines = Path("out.tsv").read_text().splitlines(True)
    Path("out.tsv").write_text("".join([*lines[:-1], lines[1]]))  # twice the first, not the last
    capsys.readouterr()
    assert main(["status", "out.tsv"]) == 1
    assert "11 of 12 rows" in capsys.readouterr().out
    Path("out.tsv").write_text("".join(lines))
    changed(data={"skip": 2, "max": -1, "inputs": 6})
    assert main(["status", "out.tsv", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["of"]) == (6, 6)
    assert found["files"][0]["foreign"] == [1, 3, 5, 7, 9, 11]


def test_inputs_that_cannot_be_decoded_are_told_everywhere(work, capsys):
    with np.load("data.npz") as data:
        x = data["x"]
        x[[2, 5]] = np.nan  # neither the first nor one of the probes, 0, 3, 6 and 9
        np.savez("data.npz", x=x, y=data["y"])
    one_line(capsys, arguments(), "input 2 must be finite")
    for i in range(2):
        assert main([*arguments(shard=f"{i}/2", out=f"{i}.tsv"), "--skip-corrupt"]) == 0
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert Manifest.read(Path("all.tsv")).corrupt() == {2, 5}
    capsys.readouterr()
    for command in ("status", "report"):
        assert main([command, "all.tsv"]) == 0
        assert "2 inputs left out: they can't be decoded" in capsys.readouterr().out
    assert main(["verify", "all.tsv", "--data", "data.npz"]) == 0


DAMAGED = {
    "data a number": ({"data": 5}, "data must be an object; got 5"),
    "inputs infinite": ({"data": {"inputs": float("inf")}}, "data.inputs must be"),
    "inputs beyond all": ({"data": {"inputs": 10**15}}, "data.inputs must be"),
    "skip a word": ({"data": {"skip": "x", "inputs": 12}}, "data.skip must be"),
    "skip 0": ({"data": {"skip": 0, "inputs": 12}}, "data.skip must be"),
    "shard": ({"shard": "3/2"}, "shard must be i/N"),
    "history": ({"history": 5}, "history must be a list of objects; got 5"),
    "history of words": ({"history": ["x"]}, "history must be a list of objects"),
    "probe": ({"probe": []}, "probe must be an object; got []"),
    "versions": ({"versions": "1"}, "versions must be an object; got '1'"),
    "engine": ({"engine": None}, "engine must be an object; got None"),
}


@pytest.mark.parametrize("command", ["status", "report", "verify", "recertify", "merge", "certify"])
@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_manifest_is_one_line_in_every_command(work, capsys, command, case):
    entries, said = DAMAGED[case]
    assert main(arguments(n=50, n0=10)) == 0
    changed(**entries)
    argv = {
        "merge": ["merge", "all.tsv", "out.tsv"],
        "recertify": ["recertify", "out.tsv", "--out", "new.tsv"],
        "certify": arguments(n=50, n0=10),
    }.get(command, [command, "out.tsv"])
    one_line(capsys, argv, "out.tsv", said)


@pytest.mark.parametrize("depth", [100, 300, 900, 10**5])
def test_a_deeply_nested_manifest_is_no_traceback(work, capsys, depth):
    assert main(arguments(max=1)) == 0
    place = Path("out.tsv.manifest.json")
    nested = '{"a": ' * depth + "1" + "}" * depth
    place.write_text(place.read_text().replace('"model": {', f'"model": {{"deep": {nested}, ', 1))
    for argv in (["status", "out.tsv"], ["report", "out.tsv"], ["merge", "all.tsv", "out.tsv"]):
        Path("all.tsv").unlink(missing_ok=True)
        assert main(argv) in (0, 2)
    one_line(capsys, arguments(max=1), "out.tsv")


# --- file systems that can't, and disks that are full


def failing(number: int, *, only_folders: bool = False):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    def fsync(descriptor, whole=os.fsync):
        return fail() if os.path.isdir(f"/proc/self/fd/{descriptor}") else whole(descriptor)

    return fsync if only_folders else fail


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks(work, capsys, monkeypatch, number):
    monkeypatch.setattr(_file.fcntl, "flock", failing(number))
    one_line(capsys, arguments(), "can't lock out.tsv", os.strerror(number), "--lock none")
    assert main(arguments(lock="none")) == 0
    assert len(read_rows(Path("out.tsv"))) == 12


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF])
def test_a_file_system_that_flushes_no_folders(work, capsys, monkeypatch, number):
    assert main(arguments(out="before.tsv")) == 0
    monkeypatch.setattr(os, "fsync", failing(number, only_folders=True))
    said = ("can't flush the folder .", os.strerror(number), "--lock none")
    commands = [
        arguments(),
        ["merge", "all.tsv", "before.tsv"],
        ["recertify", "before.tsv", "--out", "again.tsv"],
    ]
    for argv in commands:
        one_line(capsys, argv, *said)
        for left in ("all.tsv", "again.tsv"):
            Path(left).unlink(missing_ok=True)
        assert main([*argv, "--lock", "none"]) == 0


def test_a_full_disk_is_named_with_its_file(work, capsys, monkeypatch):
    full = "No space left on device"
    assert main(arguments()) == 0
    Path("out.tsv").write_text("".join(Path("out.tsv").read_text().splitlines(True)[:7]))
    before = Path("out.tsv").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing(errno.ENOSPC))
        one_line(capsys, arguments(), f"can't write out.tsv: {full}", "all rows before this one")
        one_line(capsys, arguments(out="new.tsv"), f"can't write new.tsv.manifest.json: {full}")
        one_line(capsys, ["merge", "all.tsv", "out.tsv"], f"all.tsv.manifest.json: {full}")
    assert Path("out.tsv").read_bytes() == before
    assert main(arguments()) == 0
    assert main(["merge", "all.tsv", "out.tsv"]) == 0


@pytest.mark.parametrize("options", [["report", "--html"], ["report", "--plot"], ["fit-rule"]])
def test_a_full_disk_is_named_by_what_writes_pages_too(work, capsys, monkeypatch, options):
    for module in ("plotly", "matplotlib"):
        package(module)
    assert main(arguments()) == 0
    Path("page.png").symlink_to("/dev/full")
    if options == ["fit-rule"]:  # it writes no file that is there
        monkeypatch.setattr(Path, "exists", lambda _: False)
        options = ["fit-rule", "--out"]
    command, option = options
    one_line(capsys, [command, "out.tsv", option, "page.png"], "page.png: No space left on device")


def test_rows_without_a_newline_at_the_end_lose_the_last_alone(work):
    assert main(arguments(out="whole.tsv")) == 0
    assert main(arguments(max=6)) == 0
    content = Path("out.tsv").read_bytes()
    Path("out.tsv").write_bytes(content[:-1])
    assert main(arguments()) == 0
    a, b = (read_rows(Path(name)) for name in ("out.tsv", "whole.tsv"))
    assert [row.counts for row in a] == [row.counts for row in b]


# --- streams and signals


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lose_nothing(work, closed):
    command = " ".join(["rsbounds", *arguments(n=100)])
    assert shell(f"{command} {closed}").returncode == 0
    assert len(read_rows(Path("out.tsv"))) == 12
    assert Manifest.read(Path("out.tsv")).n == 100


def test_a_full_standard_output_is_named(work):
    done = shell("rsbounds radius gaussian --score 1 --sigma 1 > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "rsbounds radius: standard output: No space left on device\n"


def test_ctrl_c_while_the_commands_are_loaded(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", interrupted)
    assert main(["status", "x"]) == 130
    assert capsys.readouterr().err == (
        "rsbounds: interrupted; what is written is kept, run it again to go on\n"
    )


def test_ctrl_c_at_any_moment_is_one_line_and_no_traceback(work):
    models(MODELS.replace("sleep(0.01)", "sleep(0.2)"))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    # it tells when the command line begins to load; before that it is the interpreter's start
    code = "import sys, rsbounds.cli as c; whole = c.parser\n"
    code += "c.parser = lambda: print('.', flush=True) or whole()\n"
    code += "sys.exit(c.main(sys.argv[1:]))"
    for pause in (0, 0.1, 0.4):
        words = [sys.executable, "-c", code, *arguments(model="models:slow")]
        run = subprocess.Popen(words, stdout=-1, stderr=-1, text=True, env=env)
        run.stdout.read(1)
        time.sleep(pause)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
        assert "Traceback" not in err
        assert run.returncode == 130, err
        assert "run it again to go on" in err.splitlines()[-1]
    assert main(arguments(model="models:linear", out="x.tsv")) == 0


# --- what data do


def test_anchors_that_are_damaged_are_one_line(work, capsys):
    options = {"method": "semi-elastic", "anchors": "anchors.npz", "rate": 0.1, "k": 3}
    x = np.random.default_rng(0).standard_normal((300, 36))
    np.savez_compressed("anchors.npz", x=x)
    raw = Path("anchors.npz").read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(40):
        bad = bytearray(raw)
        bad[rng.integers(len(bad))] ^= int(rng.integers(1, 256))
        Path("anchors.npz").write_bytes(bad)
        capsys.readouterr()
        if main(arguments(**options, sigma=0.25, max=1, n=50, n0=10)) == 2:
            err = capsys.readouterr().err
            assert err.count("\n") == 1
            assert "anchors.npz" in err
            refused += 1
        for left in Path().glob("out.tsv*"):
            left.unlink()
    assert refused > 20


# --- what models do

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

def strings():
    return lambda batch: np.full((len(batch), 2), "cat")

def objects():
    return lambda batch: [[None, object()]] * len(batch)

def complex():
    return lambda batch: batch.reshape(len(batch), -1)[:, :2] * 1j

def ragged():
    return lambda batch: [[1.0]] + [[1.0, 2.0]] * (len(batch) - 1)

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
        ("strings", "must return real numbers; got ndarray of <U3"),
        ("objects", "must return real numbers"),
        ("complex", "must return real numbers"),
        ("ragged", "models:ragged"),
        ("leaves", "SystemExit: 0"),
        ("deep", "RecursionError"),
    ],
)
def test_scores_that_are_none_are_one_line(work, capsys, name, said):
    models(STRANGE)
    one_line(capsys, arguments(model=f"models:{name}"), f"--model models:{name}", said)
    assert not Path("out.tsv").exists()


def test_a_callable_with_gradients_is_certified(work):
    package("torch")
    models(STRANGE)
    assert main(arguments(model="models:grad", max=2, n=100)) == 0


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_a_device_for_a_numpy_model_is_refused(work, capsys, device):
    one_line(capsys, arguments(device=device), "--device needs a torch module")
    assert not Path("out.tsv").exists()


def test_traceback_on_demand(work, capsys):
    assert main([*arguments(model="models:late"), "--traceback"]) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert 'raise RuntimeError("device lost")' in err


# --- numbers and words


@pytest.mark.parametrize(
    ("given", "meant"), [("--sgima", "--sigma"), ("--run-up", "--runner-up"), ("--jsn", "--json")]
)
def test_unknown_flags_are_answered_with_near_ones(capsys, given, meant):
    with pytest.raises(SystemExit) as stop:
        main([*arguments(), given, "1"])
    assert stop.value.code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_numbers_of_samples_as_people_write_them(work, capsys):
    assert main(arguments(n="1e3", n0="5e1", max=1)) == 0
    assert Manifest.read(Path("out.tsv")).n == 1000
    for bad in ("1.5", "1e3.5", "nan", "ten"):
        with pytest.raises(SystemExit) as stop:
            main(arguments(n=bad))
        assert stop.value.code == 2


def made(radii: list[float], classes: int = 2) -> None:
    rows = [Row(i, i % classes, i % classes, r, True, "fixed noise") for i, r in enumerate(radii)]
    write(Path("made.tsv"), Manifest(data={"inputs": len(rows)}), rows)


@pytest.mark.parametrize("radius", [1e300, 1.7e308, 5e-324, 1e-300, float("inf")])
def test_radii_of_any_size_are_shown_in_few_characters(work, capsys, radius):
    made([radius, radius / 3, 0.0])
    for style in ("text", "markdown"):
        assert main(["report", "made.tsv", "--style", style]) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) < 200
    assert main(["report", "made.tsv", "--json"]) == 0


@pytest.mark.parametrize("radius", [1.7e308, 5e-324])
def test_radii_of_any_size_are_drawn(work, radius):
    for module in ("plotly", "matplotlib"):
        package(module)
    made([radius, radius / 3, 0.0])
    assert main(["report", "made.tsv", "--html", "page.html", "--plot", "plot.png"]) == 0


def test_a_thousand_classes_take_linear_time(work, capsys):
    """Ten times the classes and rows: ten times the time, where quadratic would be a hundred."""
    spent = []
    for classes in (200, 2000):
        made(list(np.linspace(0, 1, 5 * classes)), classes)
        start = time.process_time()
        assert main(["report", "made.tsv", "--classes"]) == 0
        spent.append(time.process_time() - start)
        assert capsys.readouterr().out.count("class ") == classes + 2
    assert spent[1] < 30 * spent[0]
