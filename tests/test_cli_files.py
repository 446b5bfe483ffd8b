"""``rsbounds merge`` and ``rsbounds verify``, shards, and the result files themselves."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds.certificate import Certificate
from rsbounds.cli import main
from rsbounds.results import COLUMNS, Manifest, Row, read_rows, truncated

ROOT = Path(__file__).parent.parent
MODELS = """
import numpy as np
import pytest

W = np.random.default_rng(0).standard_normal(20).astype(np.float32)

def linear():
    return lambda batch: batch @ np.stack([W, -W], axis=1) / 4

def sigma():
    return lambda batch: 0.2 + 0.05 * np.linalg.norm(batch, axis=1)

def torch_sigma():
    torch = pytest.importorskip("torch")

    class Sigma(torch.nn.Module):
        def forward(self, batch):
            return 0.2 + 0.05 * batch.norm(dim=1, keepdim=True)

    return Sigma()
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "models.py").write_text(MODELS)
    rng = np.random.default_rng(3)
    x = 0.2 * rng.standard_normal((11, 20)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=rng.integers(0, 2, 11))
    np.savez(tmp_path / "anchors.npz", x=rng.standard_normal((30, 20)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "models", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def certify(out: str, *more: str, method: tuple[str, ...] = ("--sigma", "0.25")) -> int:
    words = ["--model", "models:linear", "--data", "data.npz", "--n0", "50", "--n", "1000"]
    return main(["certify", *words, *method, "--out", out, *more])


def without_time(path: str) -> list[list[str]]:
    lines = (line.split("\t") for line in Path(path).read_text().splitlines())
    return [fields[:5] + fields[6:] for fields in lines]


def edit(path: str, row: int, column: str, change: object) -> None:
    lines = [line.split("\t") for line in Path(path).read_text().splitlines()]
    place = lines[0].index(column)
    lines[row + 1][place] = str(change(lines[row + 1][place]))
    Path(path).write_text("".join("\t".join(line) + "\n" for line in lines))


def test_shards_merge_into_the_whole(work, capsys):
    assert certify("whole.tsv", "--skip", "2") == 0
    for i in range(3):
        assert certify(f"{i}.tsv", "--skip", "2", "--shard", f"{i}/3") == 0
    assert [len(read_rows(Path(f"{i}.tsv"))) for i in range(3)] == [2, 2, 2]
    assert main(["merge", "all.tsv", "2.tsv", "0.tsv", "1.tsv", "0.tsv"]) == 0
    assert "all.tsv: 6 rows from 4 files" in capsys.readouterr().out
    assert without_time("all.tsv") == without_time("whole.tsv")
    assert main(["verify", "all.tsv"]) == 0


def test_merged_file_is_completed_like_any_other(work, capsys):
    assert certify("whole.tsv") == 0
    assert certify("1.tsv", "--shard", "1/2") == 0
    assert main(["merge", "all.tsv", "1.tsv"]) == 0
    assert certify("all.tsv") == 0
    assert "all.tsv: 11 rows, 6 of them new" in capsys.readouterr().out
    assert sorted(without_time("all.tsv")) == sorted(without_time("whole.tsv"))


def test_merge_refuses_conflicts_and_strangers(work, capsys):
    assert certify("a.tsv") == 0
    assert certify("b.tsv") == 0
    edit("b.tsv", 4, "count", lambda c: int(c) - 1)
    assert main(["merge", "all.tsv", "a.tsv", "b.tsv"]) == 2
    assert "b.tsv and a.tsv disagree on input 4" in capsys.readouterr().err
    assert certify("c.tsv", "--seed", "1") == 0
    assert main(["merge", "all.tsv", "a.tsv", "c.tsv"]) == 2
    assert "c.tsv is not of the run of a.tsv: seed was 0 and is now 1" in capsys.readouterr().err
    Path("c.tsv.manifest.json").unlink()
    assert main(["merge", "all.tsv", "a.tsv", "c.tsv"]) == 2
    assert "c.tsv has no manifest" in capsys.readouterr().err
    for command in (["merge", "all.tsv"], ["status"], ["verify"], ["recertify", "--out", "d.tsv"]):
        assert main([*command, "none.tsv"]) == 2
        assert capsys.readouterr().err.endswith(": none.tsv: No such file or directory\n")
    entries = json.loads(Path("a.tsv.manifest.json").read_text())
    for wrong in ("x", 2, None):
        Path("c.tsv.manifest.json").write_text(json.dumps(entries | {"alpha": wrong}))
        for command in (["merge", "all.tsv"], ["status"], ["report"]):
            assert main([*command, "c.tsv"]) == 2
            assert "the manifest of c.tsv is damaged: alpha must be" in capsys.readouterr().err
    assert not Path("all.tsv").exists()
    assert main(["merge", "a.tsv", "b.tsv"]) == 2
    assert "a.tsv exists" in capsys.readouterr().err


def test_slurm_and_torchrun_environments_name_the_share(work, monkeypatch, capsys):
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert certify("out.tsv") == 0
    assert "SLURM share 1/4, writing out.1-of-4.tsv" in capsys.readouterr().err
    assert [row.idx for row in read_rows(Path("out.1-of-4.tsv"))] == [1, 5, 9]
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert certify("out.tsv") == 0
    assert len(read_rows(Path("out.tsv"))) == 11


@pytest.mark.parametrize(
    ("rank", "size"),
    [("5", "2"), ("2", "2"), ("-1", "2"), ("x", "2"), ("0", "0"), ("0", ""), ("1_0", "20")],
)
@pytest.mark.parametrize("names", [("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")])
def test_a_share_of_the_environment_is_checked(work, monkeypatch, capsys, names, rank, size):
    monkeypatch.setenv(names[0], rank)
    monkeypatch.setenv(names[1], size)
    assert certify("out.tsv") == 2
    expected = f"{'/'.join(names)} in the environment must be i/N with 0 <= i < N"
    assert capsys.readouterr().err == f"rsbounds certify: {expected}; got '{rank}/{size}'\n"
    assert not list(Path().glob("out*"))


@pytest.mark.slow
def test_torchrun_on_two_processes(work):
    pytest.importorskip("torch")
    assert certify("whole.tsv") == 0
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    # after "--", or Python 3.11's torchrun takes --n for an option of its own
    words = "-m -- rsbounds certify --model models:linear --data data.npz --n0 50 --n 1000"
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [*launch, *words.split(), "--sigma", "0.25", "--out", "out.tsv"],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert main(["merge", "all.tsv", "out.0-of-2.tsv", "out.1-of-2.tsv"]) == 0
    assert without_time("all.tsv") == without_time("whole.tsv")


# three inputs: the oracle takes some tenths of a second for a radius of the latter two
METHODS = {
    "gaussian": ("--sigma", "0.25", "--max", "3"),
    "semi-elastic": (
        *("--method", "semi-elastic", "--sigma", "0.25", "--max", "3"),
        *("--anchors", "anchors.npz", "--rate", "0.05", "--k", "5", "--shift", "4"),
    ),
    "lipschitz": (
        *("--method", "lipschitz", "--sigma-function", "models:sigma"),
        *("--lip", "0.05", "--sigma-min", "0.2", "--max", "3"),
    ),
}


@pytest.mark.parametrize("method", METHODS)
def test_each_method_writes_what_verify_confirms(work, capsys, method):
    assert certify("out.tsv", method=METHODS[method]) == 0
    rows = read_rows(Path("out.tsv"))
    assert {row.method for row in rows} == {method}
    assert len({row.scope for row in rows}) == 1
    assert any(row.radius > 0.05 for row in rows)
    assert (len({row.sigma for row in rows}) > 1) == (method != "gaussian")
    assert main(["verify", "out.tsv"]) == 0
    assert "out.tsv: 3 rows, no findings" in capsys.readouterr().out


@pytest.mark.parametrize("method", METHODS)
def test_verify_finds_a_radius_just_above_the_truth(work, capsys, method):
    assert certify("out.tsv", method=METHODS[method]) == 0
    place = max(read_rows(Path("out.tsv")), key=lambda row: row.radius).idx
    edit("out.tsv", place, "radius", lambda r: float(r) * (1 + 1e-7))
    capsys.readouterr()
    assert main(["verify", "out.tsv"]) == 1
    out = capsys.readouterr().out
    assert f"out.tsv:{place + 2}: input {place}: radius is" in out
    assert "above the truth" in out
    assert "out.tsv: 3 rows, 1 finding\n" in out


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_target_radius_is_confirmed_by_verify(work, capsys, method):
    assert (
        certify("out.tsv", "--target-radius", "0.1", *METHODS[method], "--max", "2", method=()) == 0
    )
    rows = read_rows(Path("out.tsv"))
    assert {row.radius for row in rows} <= {0.0, 0.1}
    assert main(["verify", "out.tsv"]) == 0
    place = next(row for row in rows if row.radius > 0).idx
    edit("out.tsv", place, "z_a", lambda z: float(z) / 4)
    capsys.readouterr()
    assert main(["verify", "out.tsv"]) == 1
    out = capsys.readouterr().out
    assert "radius is 0.1, not proved by" in out
    assert "too far from what" in out


def test_torch_sigma_function_agrees_with_numpy(work):
    assert certify("a.tsv", method=METHODS["lipschitz"]) == 0
    words = (w.replace("models:sigma", "models:torch_sigma") for w in METHODS["lipschitz"])
    assert certify("b.tsv", method=tuple(words)) == 0
    a, b = (np.array([r.sigma for r in read_rows(Path(f"{f}.tsv"))]) for f in "ab")
    np.testing.assert_allclose(a, b, rtol=1e-6)  # float32


EDITS = {
    "p_a": (lambda p: math.nextafter(float(p) * (1 + 1e-9), 2), "p_a is"),
    "count": (lambda c: int(c) - 40, "but the counts have"),
    "n": (lambda n: int(n) + 1, "n is 1001, 1000 in the manifest"),
    "sigma": (lambda s: float(s) / 2, "sigma is 0.125, 0.25 in the manifest"),
    "z_a": (lambda z: float(z) + 1e-9, "on the unsafe side of what"),
    "z_b": (lambda z: float(z) - 1e-9, "z_b is"),
    "bound": (lambda b: "anytime", "bound is 'anytime', 'clopper-pearson' in the manifest"),
    "norm": (lambda n: 1.0, "norm is 1.0, 2.0 in the manifest"),
    "void": (lambda v: int(v) + 1, "void is 1, which the counts"),
    "select": (lambda c: "0:20,1:20", "void is 0, which the counts"),
    "counts": (lambda c: "0:500,1:500", "count is"),
    "scope": (lambda s: "memory-based", "scope is 'memory-based', 'fixed noise' in the manifest"),
    "method": (lambda s: "lipschitz", "method is 'lipschitz', 'gaussian' in the manifest"),
    "correct": (lambda c: 1 - int(c), "correct is"),
    "predict": (lambda p: -1, "abstains with radius"),
    "radius": (lambda r: float(r) * 0.9, "below what the counts show"),
    "idx": (lambda i: int(i) + 1, "appears twice"),
}


@pytest.mark.parametrize("column", EDITS)
def test_verify_finds_what_was_edited(work, capsys, column):
    assert certify("out.tsv") == 0
    place = max(read_rows(Path("out.tsv"))[:-1], key=lambda row: row.radius).idx
    change, said = EDITS[column]
    edit("out.tsv", place, column, change)
    capsys.readouterr()
    assert main(["verify", "out.tsv"]) == 1
    assert said in capsys.readouterr().out


def test_verify_finds_rows_of_another_shard(work, capsys):
    assert certify("out.tsv", "--shard", "1/2") == 0
    manifest = json.loads(Path("out.tsv.manifest.json").read_text())
    Path("out.tsv.manifest.json").write_text(json.dumps(manifest | {"shard": "0/2"}))
    assert main(["verify", "out.tsv"]) == 1
    assert "is not one of the inputs the manifest names" in capsys.readouterr().out


DAMAGE = [
    ({"shard": 5}, "shard must be i/N"),
    ({"shard": "0/0"}, "shard must be i/N"),
    ({"shard": None}, "shard must be i/N"),
    ({"data": {"skip": 0}}, "data.skip must be >= 1; got 0"),
    ({"data": {"max": "all"}}, "data.max must be whole numbers; got str 'all'"),
    ({"data": []}, "data must be an object; got []"),
    ({"parameters": {}}, "parameters.sigma must be real numbers; got NoneType None"),
    ({"parameters": []}, "parameters must be an object; got []"),
    ({"parameters": {"sigma": [0.25, 0.25]}}, "parameters.sigma must be one number"),
    ({"parameters": {"sigma": math.nan}}, "parameters.sigma must be in (0, inf); got nan"),
    ({"alpha": None}, "alpha must be real numbers; got NoneType None"),
    ({"alpha": 0}, "alpha must be in (0, 1)"),
    ({"n": 10**400}, "n must be whole numbers"),
    ({"target_radius": "far"}, "target_radius must be real numbers"),
    ({"method": "lipschitz"}, "parameters.lip must be real numbers; got NoneType None"),
    ({"method": ["guess"]}, "method must be one of 'gaussian', 'semi-elastic'"),
    ({"scope": None}, "scope must be text; got None"),
]


@pytest.mark.parametrize(("change", "said"), DAMAGE)
def test_verify_refuses_a_damaged_manifest(work, capsys, change, said):
    """Exit status 1 is for findings."""
    assert certify("out.tsv", "--max", "1") == 0
    place = Path("out.tsv.manifest.json")
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    capsys.readouterr()
    assert main(["verify", "out.tsv"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("rsbounds verify: the manifest of out.tsv is damaged: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("column", ["radius", "sigma"])
def test_verify_says_what_is_beyond_the_oracle(work, capsys, method, column):
    """Some such rows it refutes, which ones hangs on the arithmetic mpmath has to work with."""
    assert certify("out.tsv", "--max", "1", method=METHODS[method]) == 0
    edit("out.tsv", 0, column, lambda _: "1e300")
    capsys.readouterr()
    status = main(["verify", "out.tsv"])
    assert status in (1, 2)
    captured = capsys.readouterr()
    assert bool(captured.out) == (status == 1)
    assert ("rsbounds verify: out.tsv:2: the oracle can't tell: " in captured.err) == (status == 2)
    assert captured.err.count("\n") == (status == 2)


def test_verify_finds_rows_of_another_method(work, capsys):
    assert certify("out.tsv", method=METHODS["lipschitz"]) == 0
    edit("out.tsv", 0, "method", lambda _: "gaussian")
    assert main(["verify", "out.tsv"]) == 1
    assert "method is 'gaussian', 'lipschitz' in the manifest" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("radius", "1_0.5"),
        ("radius", "1e400"),
        ("sigma", "nan"),
        ("n", "1_000"),
        ("idx", "9" * 5000),
    ],
)
def test_numbers_that_only_python_reads_are_refused(work, capsys, column, value):
    assert certify("out.tsv", "--max", "1") == 0
    edit("out.tsv", 0, column, lambda _: value)
    capsys.readouterr()
    assert main(["verify", "out.tsv"]) == 2
    message = capsys.readouterr().err
    assert f"in column {column}" in message
    assert len(message) < 300
    content = Path("out.tsv").read_bytes()
    assert certify("out.tsv", "--max", "1") == 2
    assert Path("out.tsv").read_bytes() == content


def test_verify_refuses_what_it_cannot_read(work, capsys):
    assert main(["verify", "none.tsv"]) == 2
    assert certify("out.tsv") == 0
    Path("out.tsv").write_text(Path("out.tsv").read_text() + "1\t2\n")
    assert main(["verify", "out.tsv"]) == 2
    assert (
        f"out.tsv:13: expected {len(COLUMNS)} fields separated by tabs" in capsys.readouterr().err
    )


@given(st.floats(0, 1e6) | st.floats(0, 1) | st.floats(1e-300, 1e-290))
def test_written_numbers_are_never_above_and_read_back_exactly(value):
    text = truncated(value)
    assert Decimal(text) <= Decimal(value)
    assert float(text) == value


@given(st.floats(0, 10), st.integers(0, 1000), st.floats(0, 1e5))
def test_rows_survive_writing(radius, count, seconds):
    found = Certificate(1, radius, 0.5, 0.7, count, 1000, 0.25, "gaussian", "fixed noise")
    row = Row.of(5, 1, found, seconds)
    assert Row.parse(row.text(COLUMNS), COLUMNS) == row
    assert Row.parse(row.text(COLUMNS), COLUMNS).text(COLUMNS) == row.text(COLUMNS)
    assert row.time.rpartition(":")[2].partition(".")[2].isdecimal()


def test_differences_name_each_key():
    old = Manifest(method="a", parameters={"c": [1, 2], "d": None}, run={"batch": 1})
    new = Manifest(method="a", parameters={"c": [1, 3]}, extra={"e": "x"}, run={"batch": 2})
    assert old.differences(Manifest.of({**old.entries(), "run": {}, "history": [1]})) == []
    assert old.differences(new) == [
        'e was null and is now "x"',
        "parameters.c was [1, 2] and is now [1, 3]",
    ]
