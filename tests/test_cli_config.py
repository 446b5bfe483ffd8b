"""``--config``: flags from a file; and several noise levels in one command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from result_table import manifest

from rsbounds.cli import main, parser
from rsbounds.results import read

ALL = {"model": "models:linear", "data": "data.npz", "sigma": 0.25, "n0": 50, "n": 1000}


def written(entries: dict[str, object], name: str = "run.yaml") -> str:
    text = json.dumps(entries)  # JSON is YAML
    if name.endswith(".toml"):
        text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in entries.items())
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize("name", ["run.yaml", "run.toml"])
def test_a_file_stands_for_the_command_line(work, name):
    assert main(["certify", "--config", written({**ALL, "out": "a.tsv"}, name)]) == 0
    words = [word for key, value in ALL.items() for word in (f"--{key}", str(value))]
    assert main(["certify", *words, "--out", "b.tsv"]) == 0
    assert [r.counts for r in read("a.tsv").rows] == [r.counts for r in read("b.tsv").rows]
    a, b = manifest("a.tsv"), manifest("b.tsv")
    assert {**a, "run": 0} == {**b, "run": 0}


@pytest.mark.parametrize("before", [True, False])
def test_the_command_line_goes_before_the_file(work, before):
    config = [f"--config={written({**ALL, 'out': 'a.tsv', 'max': 2})}"]
    own = ["--max", "3", "--n", "100000"]  # a default, said all the same
    assert main(["certify", *(own + config if before else config + own)]) == 0
    assert len(read("a.tsv").rows) == 3
    assert manifest("a.tsv")["n"] == 100_000


def test_every_flag_can_stand_in_a_file(work):
    """Each flag, with a value of its kind, arrives as on the command line."""
    flags = parser()._subparsers._group_actions[0].choices["certify"]._actions
    entries, words = {}, []
    for action in flags:
        name = action.option_strings[-1].removeprefix("--")
        if name in ("help", "config"):
            continue
        if action.nargs == 0:
            entries[name] = True
            words += [f"--{name}"]
            continue
        value = action.choices[-1] if isinstance(action.choices, tuple) else "2"
        value = "range" if name == "method" else value
        entries[name.replace("-", "_")] = [value, value] if action.nargs == "+" else value
        words += [f"--{name}", value] + ([value] if action.nargs == "+" else [])
    assert len(entries) > 40
    by_file = vars(parser().parse_args(["certify", "--config", written(entries)]))
    by_word = vars(parser().parse_args(["certify", *words]))
    del by_file["config"], by_word["config"]
    assert by_file == by_word


def test_lists_mappings_and_switches(work):
    entries = {**ALL, "sigma": [0.25, 0.5], "out": "a.tsv", "model_args": {"a": 1, "b": "x"}}
    entries |= {
        "compile": False,
        "ray": True,
        "runner-up": False,
        "shard": None,
        "model_for": ["a"],
    }
    found = parser().parse_args(["certify", "--config", written(entries)])
    assert found.sigma == (0.25, 0.5)
    assert found.model_args == "a=1,b=x"
    assert (found.compile, found.ray, found.runner_up) == (False, "", "off")
    assert (found.shard, found.model_for) == (None, ["a"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sgima: 1", "'sgima' is no flag of rsbounds certify; did you mean sigma?"),
        ("config: a.yaml", "'config' is no flag"),
        ("- 1", "must be a mapping of flags to values"),
        ("", "must be a mapping of flags to values"),
        ("a: [", "can't be read"),
        ("\x00", "can't be read"),
        ("!!python/object/apply:os.getcwd []", "can't be read"),
        ("compile: 3", "compile must be true or false; got 3"),
        ("n: {a: 1}", "n must be text, a number or a list of these"),
        ("n: x", "argument --n: "),
        ("1: 2", "1 is no flag"),
    ],
)
def test_a_bad_file_is_one_line(work, capsys, content, said):
    Path("run.yaml").write_text(content)
    try:
        status = main(["certify", "--config", "run.yaml", "--out", "out.tsv"])
    except SystemExit as error:  # as argparse leaves
        status = error.code
    shown = capsys.readouterr().err
    assert status == 2
    assert said in shown
    assert shown.count("\n") == 1
    assert not list(work.glob("out*"))


def test_a_file_that_is_not_there_is_one_line(work, capsys):
    assert main(["certify", "--config", "none.yaml"]) == 2
    assert "none.yaml: No such file" in capsys.readouterr().err


def test_without_pyyaml_toml_is_named(work, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert main(["certify", "--config", written(ALL)]) == 2
    assert "PyYAML isn't installed" in capsys.readouterr().err


# --- several noise levels


def certify(*more: str) -> int:
    words = [word for key, value in ALL.items() for word in (f"--{key}", str(value))]
    return main(["certify", *words, *more])


def test_several_levels_give_a_file_each(work, capsys):
    assert certify("--sigma", "0.25,0.5", "--out", "run.tsv") == 0
    shown = capsys.readouterr().out
    assert shown.index("run-sigma0.25.tsv: 12 rows") < shown.index("run-sigma0.5.tsv: 12 rows")
    assert not Path("run.tsv").exists()
    for level in (0.25, 0.5):
        assert certify("--sigma", str(level), "--out", "one.tsv") == 0
        a, b = read(f"run-sigma{level:g}.tsv"), read("one.tsv")
        assert [(r.sigma, r.counts) for r in a.rows] == [(r.sigma, r.counts) for r in b.rows]
        for file in work.glob("one*"):
            file.unlink()


@pytest.mark.parametrize(
    ("sigma", "said"),
    [
        ("0.25,0.25", "expected each noise level once"),
        ("0.25,", "--sigma: invalid"),
        ("0.25,x", "--sigma: invalid"),
        ("0.25,0", "--sigma must be"),
        ("nan,0.25", "--sigma must be"),
    ],
)
def test_bad_levels_are_one_line_before_anything_runs(work, capsys, sigma, said):
    try:
        status = certify("--sigma", sigma, "--out", "run.tsv")
    except SystemExit as error:
        status = error.code
    assert status == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert not list(work.glob("run*"))


def test_levels_close_to_each_other_have_names_of_their_own(work, capsys):
    assert certify("--sigma", "1,1.00000000001", "--out", "run.tsv") == 0
    assert {p.name for p in work.glob("*.tsv")} == {"run-sigma1.tsv", "run-sigma1.00000000001.tsv"}
