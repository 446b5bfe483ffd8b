"""Who made this file of what: forged identities, and rows that commands compute with
again.
"""

import json
from pathlib import Path

import pytest
from cli_models import says
from result_table import DATA, RULE, manifest, save, state, table

from rsbounds.certificate import THIS_INPUT
from rsbounds.cli import main

RERUN = (*DATA, "--model", "models:linear", "--rerun", "12")


PLACES = {
    "the model's code": ({"model": {"source": "0" * 64}}, "model.source is '000"),
    "its name": (
        {"model": {"spec": "models:wiser"}},
        "model.spec is 'models:wiser' in the",
    ),
    "its parameters": ({"model": {"parameters": "0" * 64}}, "of the model given"),
    "its arguments": (
        {"model": {"args": {"depth": 50}}},
        "model.args is {'depth': 50}",
    ),
    "an argument called max": (
        {"model": {"args": {"max": 50}}},
        "model.args is {'max': 50}",
    ),
    "its weights": ({"model": {"weights": {"a": "0"}}}, "nothing of the model given"),
    "labels": ({"data": {"labels": "0" * 64}}, "data.labels is '000"),
    "contents": ({"data": {"x": "0" * 64}}, "data.x is '000"),
    "the shape of inputs": ({"data": {"shape": [36]}}, "data.shape is [36]"),
    "another data set": ({"data": {"rows": 10_000}}, "data.rows is 10000"),
    "a probe": ({"probe": {"0": "0:50"}}, "select is "),
}


def test_a_forged_scale_is_asked_for_and_found_by_a_rerun(finished, capsys):
    state(data=manifest()["data"] | {"scale": 255})
    asked = says(capsys, ["verify", "out.tsv", *DATA], 2)
    assert "--data needs --scale 255" in asked
    assert "--rerun" in asked
    words = ["verify", "out.tsv", *RERUN, "--scale", "255"]
    assert "drawn again" in says(capsys, words, 1)


@pytest.mark.parametrize("case", PLACES)
def test_a_forged_identity_is_found(finished, capsys, case):
    """Such manifests were once compared with nothing that verify was given."""
    change, said = PLACES[case]
    before = manifest()
    state(**{name: before[name] | own for name, own in change.items()})
    options = RERUN if "model" in change else DATA if "data" in change else ()
    assert said in says(capsys, ["verify", "out.tsv", *options], 1)


def test_files_may_lie_elsewhere(finished):
    """Neither the folder of a model's code nor a version is held against a file."""
    before = manifest()
    assert main(["verify", "out.tsv", *RERUN]) == 0
    Path("code").mkdir()
    Path("code/models.py").write_text(Path("models.py").read_text())
    state(model=before["model"] | {"spec": "/home/else/models.py:linear", "timm": "0"})
    model = ("--model", "code/models.py:linear", "--rerun", "12")
    assert main(["verify", "out.tsv", *DATA, *model]) == 0


AGAIN = {
    "a level": (
        {"sigma": "5.0"},
        "out.tsv:2: input 0: sigma is 5.0, 0.25 in the manifest",
    ),
    "a scope": (
        {"scope": THIS_INPUT},
        "scope is 'fixed noise at this input only', 'fixed noise'",
    ),
    "a norm": ({"norm": "inf"}, "norm is inf, 2.0 by its counts"),
    "more samples": ({"n": "1000000"}, "n is 1000000, 1000 in the manifest"),
    "a class": ({"counts": "0:1000", "count": "1000"}, "count is 1000, 0 by its"),
    "an input": ({"idx": "-1"}, "not one of the inputs"),
    "an input twice": ({"idx": "1"}, "input 1: appears twice"),
    "a selection": ({"select": "1:50"}, "probe"),
}


@pytest.mark.parametrize("case", AGAIN)
@pytest.mark.parametrize("command", ["recertify", "fit-rule", "recertify --rule"])
def test_rows_that_contradict_their_manifest_are_not_used_again(
    finished, capsys, case, command
):
    """A level of 5.0 gave radii twenty times as large, and 'this input only' was
    forgotten.
    """
    change, said = AGAIN[case]
    rows = table()
    save([rows[0] | change, *rows[1:]])
    argv = [command.split()[0], "out.tsv", "--out", "new"]
    if "--rule" in command:
        rule = RULE | {"sigmas": [0.25], "items": RULE["items"][:1]}
        Path("rule.json").write_text(json.dumps(rule))
        argv += ["--rule", "rule.json"]
    err = says(capsys, argv, 2)
    assert err.count("\n") == 1
    assert said in err or "expected " in err
    assert not Path("new").exists()


# --- a second reading: what else a cheat may edit

EDITED = {
    "a method in other letters": ({"method": "gau\u0455\u0455ian"}, "method is 'gau"),
    "a scope with a space": ({"scope": "fixed noise "}, "scope is 'fixed noise '"),
    "a method with a NUL": ({"method": "gaussian\0"}, "method is 'gaussian\\x00'"),
    "a radius with a space": ({"radius": " 5"}, "radius is 5.0, more than"),
    "a radius in capitals": ({"radius": "INF"}, "radius is inf, more than"),
    "a radius below zero": ({"radius": "-0.0"}, "radius is -0.0, below"),
    "fewer samples": ({"n": "-5"}, "n is -5, 1000 in the manifest"),
}
UNREAD = {
    "beyond float64": ({"z_a": "1e400"}, "a number, or inf"),
    "hexadecimal": ({"p_a": "0x1p-1"}, "in column p_a"),
    "an exponent": ({"n": "1e3"}, "a whole number"),
    "a sign": ({"idx": "+1"}, "a whole number"),
    "classes out of order": ({"counts": "1:500,0:500"}, "in the order of the classes"),
    "a class twice": ({"counts": "0:500,0:500"}, "in the order of the classes"),
}


@pytest.mark.parametrize("case", [*EDITED, *UNREAD])
def test_other_ways_to_write_a_row(finished, capsys, case):
    change, said = (EDITED | UNREAD)[case]
    rows = table()
    save([rows[0], rows[1] | change, *rows[2:]])
    answer = says(capsys, "verify out.tsv", 2 if case in UNREAD else 1)
    assert "out.tsv:3:" in answer
    assert said in answer


@pytest.mark.parametrize("change", ["\r\n", "\ufeff", "\0", "\n\n", "0\t1"])
def test_other_ways_to_write_a_file(finished, capsys, change):
    """Line ends, a byte order mark, something behind the end, blank lines: the same
    rows.
    """
    text = Path("out.tsv").read_text()
    if change in ("\r\n", "\n\n"):
        text = text.replace("\n", change)
    else:
        text = change + text if change == "\ufeff" else text + change
    Path("out.tsv").write_bytes(text.encode())
    assert "12 rows, no findings" in says(capsys, "verify out.tsv")


def test_text_of_strangers_is_escaped_in_every_answer(finished, capsys):
    """One place prints errors, and answers are escaped: a file cannot write to a
    terminal.
    """
    codes = "\x1b[2J\x07\u202e"
    again = (
        ("recertify", "out.tsv", "--out", "new"),
        ("fit-rule", "out.tsv", "--out", "new"),
    )
    certify = (
        "certify",
        "--model",
        "models:linear",
        "--sigma",
        "1",
        "--out",
        "out.tsv",
        *DATA,
    )
    rows = table()
    for column in ("scope", "bound", "method", "input", "time"):
        save([row | {column: row[column] + codes} for row in rows])
        for argv in (
            ("verify", "out.tsv"),
            ("verify", "out.tsv", *DATA),
            *again,
            certify,
        ):
            main([*argv])
        main(["report", "out.tsv"])
        Path("new").unlink(missing_ok=True)
    save(rows)
    state(
        **{key: manifest()[key] | {codes: codes} for key in ("model", "data", "engine")}
    )
    for argv in (certify, ("verify", "out.tsv", *RERUN), ("verify", codes)):
        main([*argv])
    printed = "".join(capsys.readouterr())
    assert "\\x1b[2J" in printed
    assert not [c for c in printed if c != "\n" and not c.isprintable()]
