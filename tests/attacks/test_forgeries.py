"""Result files that were cut or forged: each forgery is found, and by name."""

import json
import math
import re
from pathlib import Path

import pytest
from cli_models import MODELS, arguments, models, one_line, says
from result_table import DATA, RULE, best, manifest, save, state, table

from rsbounds.certificate import FIXED_NOISE, THIS_INPUT
from rsbounds.cli import main

RERUN = (*DATA, "--model", "models:linear", "--rerun", "12")


EVIDENCE = ("predict", "radius", "count", "p_a", "z_a", "z_b", "select", "counts")


def wrong_rows_dropped(rows):
    return [row for row in rows if row["correct"] == "1"]


def labels_set_to_predictions(rows):
    return [
        row | {"label": row["predict"], "correct": "1"}
        for row in rows
        if row["predict"] != "-1"
    ]


def everyone_the_best(rows):
    top = {key: best(rows)[key] for key in EVIDENCE}
    return [
        row | top | {"correct": str(int(row["label"] == top["predict"]))}
        for row in rows
    ]


def renumbered(rows):
    return [
        row | {"idx": other["idx"]} for row, other in zip(rows, rows[::-1], strict=True)
    ][::-1]


def wider(rows):
    return [row | {"radius": repr(float(row["radius"]) * 1.001)} for row in rows]


FORGERIES = {
    "wrong rows dropped": (wrong_rows_dropped, (), "missing"),
    "labels set to predictions": (labels_set_to_predictions, DATA, "in the data"),
    "every row the best row's": (everyone_the_best, RERUN, "drawn again"),
    "renumbered": (renumbered, DATA, "in the data"),
    "radii stretched": (wider, (), "more than the counts prove"),
    "rows appended": (lambda rows: [*rows, rows[0]], (), "appears twice"),
    "abstentions that count": (
        lambda rows: [
            row | {"predict": "-1", "label": "-1", "radius": "0.0", "correct": "1"}
            for row in rows
        ],
        (),
        "correct is 1, but predict -1 and label -1",
    ),
    "abstentions hidden": (
        lambda rows: [row | {"predict": row["label"], "correct": "1"} for row in rows],
        (),
        "predicts",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_found_by_name(finished, capsys, forgery):
    change, options, said = FORGERIES[forgery]
    assert main(["verify", "out.tsv", *options]) == 0
    save(change(table()))
    assert said in says(capsys, ["verify", "out.tsv", *options], 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 7}, "drawn again"),
        ({"n0": 49}, "select sum to 50 of 49 samples"),
        ({"n0": 51}, "void is 0, 1 by its counts"),
        ({"alpha": 0.002}, "too far from what"),
        ({"alpha": 0.0005}, "on the unsafe side of what"),
        ({"bound": "anytime"}, "bound is 'clopper-pearson', 'anytime' by its counts"),
        (
            {"data": {"skip": 1, "max": -1, "inputs": 13}},
            "12 of 13 rows: inputs 12 missing",
        ),
        (
            {"parameters": {"sigma": 0.25, "norm": 1.0}},
            "norm is 2.0, 1.0 by its counts",
        ),
        # any number was once near enough to an infinite one
        (
            {"parameters": {"sigma": 0.25, "norm": math.inf, "dim": 1.0}},
            "norm is 2.0, inf by its",
        ),
    ],
)
def test_a_forged_manifest_is_found_by_name(finished, capsys, changes, said):
    state(**changes)
    assert said in says(capsys, ["verify", "out.tsv", *RERUN], 1)


def test_another_model_is_found_by_drawing_again(finished, capsys):
    models(MODELS.replace("np.stack([W, -W]", "np.stack([-W, W]"))
    assert main(["verify", "out.tsv", *RERUN]) == 1
    out = capsys.readouterr().out
    assert out.count("and drawn again") == 12
    assert "select is" in out


def test_files_without_rows_are_findings(finished, capsys):
    header = Path("out.tsv").read_text().split("\n")[0]
    for text in ("", f"{header}\n"):
        Path("out.tsv").write_text(text)
        assert "has no rows" in says(capsys, "verify out.tsv", 1)
    Path("out.tsv").write_text(header)
    assert "expected a header" in says(capsys, "verify out.tsv", 2)


def test_json_has_every_finding(finished, capsys):
    save(wider(table()))
    capsys.readouterr()
    assert main(["verify", "out.tsv", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == 12
    positive = sum(float(row["radius"]) > 0 for row in table())
    assert [entry["kind"] for entry in answer["findings"]] == ["radius"] * positive
    assert {entry["line"] - 2 == entry["input"] for entry in answer["findings"]} == {
        True
    }


def test_wrong_rows_cannot_be_passed_off_as_corrupt(finished, capsys):
    rows = table()
    wrong = [{"input": int(row["idx"])} for row in rows if row["correct"] == "0"]
    save([row for row in rows if row["correct"] == "1"])
    state(history=[{"corrupt": wrong}])
    assert f"{len(wrong)} inputs are said to be corrupt: --data checks" in says(
        capsys, "verify out.tsv"
    )
    assert says(capsys, ["verify", "out.tsv", *DATA], 1).count(
        "is left out as corrupt, but can be decoded"
    ) == len(wrong)


def test_no_row_certifies_without_a_sample(finished, capsys):
    Path("out.tsv").unlink()
    assert main(arguments(target_radius=0.1, max=2)) == 0
    assert main(["verify", "out.tsv"]) == 0
    none = {
        "radius": "0.1",
        "count": "0",
        "n": "0",
        "p_a": "1",
        "z_a": "9",
        "z_b": "-9",
    }
    rows = table()
    for row in rows:
        row |= none | {
            "counts": "-",
            "void": "0",
            "predict": max(row["select"].split(","), key=_of),
        }
        row["predict"] = row["predict"].split(":")[0]
        row["correct"] = str(int(row["predict"] == row["label"]))
    save(rows)
    assert says(capsys, "verify out.tsv", 1).count("from no samples") == 2


def _of(part):
    return int(part.split(":")[1])


def test_the_norm_of_a_method_that_has_one(finished, capsys):
    Path("rule.json").write_text(json.dumps(RULE))
    Path("out.tsv").unlink()
    assert main(arguments(sigma=None, rule="rule.json")) == 0
    said = manifest()
    state(parameters=said["parameters"] | {"norm": math.inf})
    save([row | {"norm": "inf"} for row in table()])
    assert (
        says(capsys, "verify out.tsv", 1).count("norm is inf, 2.0 by its counts") == 12
    )


@pytest.mark.parametrize(
    "scope",
    [
        "sigma(x) with a proven envelope",
        "composite of fixed noises; holds for the rule stated",
    ],
)
def test_scopes_of_other_methods(finished, capsys, scope):
    state(scope=scope)
    save([row | {"scope": scope} for row in table()])
    assert "which no scheme of method gaussian has" in says(capsys, "verify out.tsv", 1)


def test_a_rule_does_not_widen_the_scope_of_its_runs(finished, capsys):
    Path("rule.json").write_text(json.dumps(RULE))
    for level in (0.5, 0.25):
        assert main(arguments(sigma=level, out=f"{level}.tsv")) == 0
        for place in (Path(f"{level}.tsv"), Path(f"{level}.tsv.manifest.json")):
            place.write_text(place.read_text().replace(FIXED_NOISE, THIS_INPUT))
    again = [
        "recertify",
        "0.5.tsv",
        "0.25.tsv",
        "--rule",
        "rule.json",
        "--out",
        "list.tsv",
    ]
    one_line(capsys, again, f"is of scope '{THIS_INPUT}': a rule needs 'fixed noise'")
    assert not Path("list.tsv").exists()


def test_rows_cut_off_together_with_their_number(finished, capsys):
    save(table()[:7])
    said = manifest()
    state(data=said["data"] | {"inputs": 7})
    assert "input 7: is left out: the manifest names 7 inputs, 12 are" in says(
        capsys, ["verify", "out.tsv", *DATA], 1
    )
    state(data=said["data"] | {"inputs": 7, "max": 7})
    text = says(capsys, ["verify", "out.tsv", *DATA], 1)
    assert "'probe.8' is no input of the run" in text
    # with the probe too this is what the file says itself
    state(
        probe={
            index: counts for index, counts in said["probe"].items() if int(index) < 7
        }
    )
    assert main(["verify", "out.tsv", *DATA]) == 0


def test_forged_rows_are_drawn_whatever_the_forger_knows(finished, capsys, monkeypatch):
    """Rows were once chosen by the manifest's own seed: whoever forged the others
    passed.
    """
    chosen = set()
    for _ in range(4):
        capsys.readouterr()
        assert main(["verify", "out.tsv", *RERUN[:-1], "2"]) == 0
        out = capsys.readouterr().out
        chosen.add(re.search(r"2 of 12 rows drawn again \(--draw-seed (\d+)\)", out)[1])
    assert len(chosen) == 4
    assert (
        "a file with 1 % forged rows passes with probability 0.83, with 10 % 0.68"
        in out
    )
    rows = table()  # of the third nothing is in the probe
    save([*rows[:2], everyone_the_best(rows)[2], *rows[3:]])
    found = {
        s: main(["verify", "out.tsv", *RERUN[:-1], "6", "--draw-seed", s])
        for s in "12345678"
    }
    assert set(found.values()) == {0, 1}
    for seed, status in found.items():  # and can be chosen again
        assert (
            main(["verify", "out.tsv", *RERUN[:-1], "6", "--draw-seed", seed]) == status
        )


NUMBERS = {
    "no probability": ({"p_a": "-"}, "p_a is nan"),
    "no level": ({"sigma": "-"}, "sigma is nan"),
    "a score beyond all": ({"z_a": "100000.0", "z_b": "-100000.0"}, "z_a is 100000.0"),
    "an infinite radius": ({"radius": "inf"}, "radius is inf, more than"),
    "counts that wrap": (
        {"counts": ",".join(f"{k}:{9 * 10**17}" for k in range(21))},
        "counts sum",
    ),
    "a terminal's codes": ({"scope": "\x1b[2Jfixed"}, "\\x1b[2Jfixed"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_row_that_no_run_writes_is_a_finding(finished, capsys, case):
    change, said = NUMBERS[case]
    save([table()[0] | change, *table()[1:]])
    assert said in says(capsys, ["verify", "out.tsv", *DATA], 1)
