"""The options of ``rsbounds certify``: its help, ``--config``, and several noise
levels.
"""

import json
import re
import sys
from pathlib import Path

import pytest
from cli_models import arguments, one_line, refused
from result_table import manifest, outcomes

from rsbounds.cli import main, parser
from rsbounds.results import read

ALL = {"model": "models:linear", "data": "data.npz", "sigma": 0.25, "n0": 50, "n": 1000}


def listed(capsys, *words):
    with pytest.raises(SystemExit):
        main(["certify", *words, "--help"])
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 84
    return set(re.findall(r"^  (--[\w-]+)", text, re.M))


def test_help_shows_the_options_of_one_method(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    plain = listed(capsys)
    assert len(plain) <= 49
    assert {"--model", "--data", "--sigma", "--out", "--device", "--config"} <= plain
    assert not {"--lip", "--rule", "--norm"} & plain
    other = plain - {"--sigma"}
    assert listed(capsys, "--method", "gaussian") == plain | {
        "--norm",
        "--transform",
    }
    assert listed(capsys, "--method", "lipschitz") == {
        *other, "--sigma-function", "--lip", "--sigma-min"
    }  # fmt: skip
    assert listed(capsys, "--answer=list") == other | {"--rule"}
    assert listed(capsys, "--method", "a:b") == other | {"--method-args"}


def written(entries, name="run.yaml"):
    text = json.dumps(entries)  # JSON is YAML
    if name.endswith(".toml"):
        text = "\n".join(
            f"{key} = {json.dumps(value)}" for key, value in entries.items()
        )
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize("name", ["run.yaml", "run.toml"])
def test_a_file_stands_for_the_command_line(work, name):
    assert main(["certify", "--config", written({**ALL, "out": "a.tsv"}, name)]) == 0
    assert main(arguments(out="b.tsv")) == 0
    assert outcomes("a.tsv") == outcomes("b.tsv")
    assert {**manifest("a.tsv"), "run": 0} == {**manifest("b.tsv"), "run": 0}


@pytest.mark.parametrize("before", [True, False])
def test_the_command_line_takes_precedence(work, before):
    config = [f"--config={written({**ALL, 'out': 'a.tsv', 'max': 2})}"]
    own = ["--max", "3", "--n", "100000"]  # a default, said all the same
    assert main(["certify", *(own + config if before else config + own)]) == 0
    assert len(read("a.tsv").rows) == 3
    assert manifest("a.tsv")["n"] == 100_000


def test_every_option_can_stand_in_a_file(work):
    """Each option, with a value of its kind, arrives as on the command line."""
    certify = parser().commands["certify"]
    certify.prepare(["--method", "range"])
    entries, words = {}, []
    for option, known in certify.flags.items():
        name, action = option.removeprefix("--"), known.action
        if name in ("-h", "help", "config"):
            continue
        if action.nargs == 0:
            entries[name] = True
            words += [f"--{name}"]
            continue
        value = str(action.choices[-1]) if isinstance(action.choices, tuple) else "2"
        value = {"method": "range", "runner-up": "off"}.get(name, value)
        entries[name.replace("-", "_")] = value
        words += [f"--{name}", value]
    assert len(entries) > 35
    by_file = vars(parser().parse_args(["certify", "--config", written(entries)]))
    by_word = vars(parser().parse_args(["certify", *words]))
    del by_file["config"], by_word["config"]
    assert by_file == by_word


def test_lists_mappings_and_switches(work):
    entries = {
        **ALL,
        "sigma": [0.25, 0.5],
        "out": "a.tsv",
        "model_args": {"a": 1, "b": "x"},
    }
    entries |= {"compile": False, "ray": True, "runner-up": "off", "shard": None}
    result = parser().parse_args(["certify", "--config", written(entries)])
    assert result.sigma == (0.25, 0.5)
    assert result.model_args == "a=1,b=x"
    assert (result.compile, result.ray, result.runner_up) == (False, True, False)
    assert result.shard is None
    entries = {**ALL, "sigma": None, "method": "a:b", "out": "a.tsv"}
    result = parser().parse_args(["certify", "--config", written(entries)])
    assert (result.method, result.sigma) == ("a:b", None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sgima: 1", "'sgima' is not an option of certify; did you mean sigma?"),
        ("config: a.yaml", "'config' is not an option"),
        ("", "must be a mapping"),
        ("a: [", "can't be read"),
        ("!!python/object/apply:os.getcwd []", "must be a mapping"),
        ("compile: 3", "compile must be true"),
        ("n: {a: 1}", "n must be text"),
        ("answer: {name: class}", "answer must be text"),
        ("method: [gaussian]", "method must be text"),
    ],
)
def test_a_bad_file_is_one_line(work, capsys, content, said):
    Path("run.yaml").write_text(content)
    refused(capsys, ["certify", "--config", "run.yaml", "--out", "out.tsv"], said)


def test_files_that_are_not_there_and_packages_that_are_missing(
    work, capsys, monkeypatch
):
    refused(capsys, ["certify", "--config", "none.yaml"], "none.yaml: No such file")
    monkeypatch.setitem(sys.modules, "yaml", None)
    one_line(
        capsys,
        ["certify", "--config", written(ALL)],
        'pip install "rsbounds[config]"',
        "TOML",
    )


def test_several_levels_give_a_file_each(work, capsys):
    assert main(arguments(sigma="0.25,0.5", out="run.tsv")) == 0
    shown = capsys.readouterr().out
    assert shown.index("run-sigma0.25.tsv: 12 rows") < shown.index(
        "run-sigma0.5.tsv: 12 rows"
    )
    assert not Path("run.tsv").exists()
    for level in ("0.25", "0.5"):
        assert main(arguments(sigma=level, out=f"{level}.tsv")) == 0
        assert outcomes(f"run-sigma{level}.tsv") == outcomes(f"{level}.tsv")
    assert main(arguments(sigma="1,1.00000000001", max=1, out="near.tsv")) == 0
    names = {"near-sigma1.tsv", "near-sigma1.00000000001.tsv"}
    assert {path.name for path in work.glob("near*.tsv")} == names


@pytest.mark.parametrize(
    ("sigma", "said"),
    [
        ("0.25,0.25", "expected each noise level once"),
        ("0.25,", "argument --sigma: could not convert"),
        ("0.25,0", "argument --sigma: must be"),
        ("nan,0.25", "argument --sigma: must be"),
    ],
)
def test_bad_levels_are_one_line_before_anything_runs(work, capsys, sigma, said):
    refused(capsys, arguments(sigma=sigma), said)


def test_aliases_of_yaml_are_refused_before_they_fill_the_memory(work, capsys):
    bomb = "n: [&a0 [x, x]"
    bomb += "".join(f", &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40))
    Path("run.yaml").write_text(f"{bomb}]\n")
    refused(capsys, ["certify", "--config", "run.yaml"], "must be text")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.yaml", "alpha: 0.2\nalpha: 0.1\n"),
        ("run.yaml", "model_args: {a: 1, a: 2}\n"),
        ("run.yaml", "target-radius: 1\ntarget_radius: 2\n"),
        ("run.toml", "alpha = 0.2\nalpha = 0.1\n"),
    ],
)
def test_an_option_that_a_file_gives_twice_is_an_error(work, capsys, name, content):
    Path(name).write_text(content)
    words = "Cannot overwrite" if name.endswith("toml") else "is given twice"
    refused(capsys, ["certify", "--config", name], name, words)


def test_an_abbreviated_option_is_an_error(work, capsys):
    """--conf was accepted, and its file was not read."""
    Path("run.yaml").write_text("alpha: 0.2")
    refused(capsys, [*arguments(), "--conf", "run.yaml"], "did you mean --config?")
