"""A fact has one status: what is declared, what is compared, and what is stated."""

import csv
import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, models, savez, says
from result_table import DATA, manifest, save, state, table

from rsbounds import certify_dataset, schemes
from rsbounds.answers import DecisionList, Values
from rsbounds.audit import verify
from rsbounds.certificate import ASSERTED_ENVELOPE, FIXED_NOISE, PROVEN_ENVELOPE
from rsbounds.certify import Settings
from rsbounds.cli import main
from rsbounds.composite import Cond, Rule
from rsbounds.procedure import Procedure
from rsbounds.reports import read_card
from rsbounds.results import read
from rsbounds.results._facts import CARD, MANIFEST
from rsbounds.schemes import METHODS, By

pytest.importorskip("flint")
FULL = (*DATA, "--model", "models:linear", "--rerun", "12")
X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
Y = np.array([0, 1, 0])


def changed(section, **entries):
    """The manifest with other entries in a section."""
    state(**{section: manifest()[section] | entries})


def linear(batch):
    return np.stack([batch[:, 0], -batch[:, 0]], axis=1)


# --- what is not declared


@pytest.mark.parametrize(
    ("section", "name"),
    [("", "reviewed"), ("model", "reviewer"), ("engine", "gpu"), ("run", "paper")],
)
def test_an_entry_that_is_not_declared_is_a_finding(finished, capsys, section, name):
    if section:
        changed(section, **{name: "ImageNet"})
    else:
        state(**{name: "ImageNet"})
    said = f"'{section}.{name}'" if section else f"'{name}'"
    text = says(capsys, "verify out.tsv", 1)
    assert f"{said} is no entry of a manifest" in text
    answer = json.loads(says(capsys, "verify out.tsv --json", 1))
    assert [each["kind"] for each in answer["findings"]] == ["undeclared"]


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ({"reviewed": "ImageNet"}, "'probe.reviewed' is no input of the run"),
        ({"99": "0:50"}, "'probe.99' is no input of the run"),
        ({"\u0660": "0:50"}, "is no input of the run"),
        ({"0": "reviewed"}, "probe.0 must be"),
    ],
)
def test_a_probe_is_of_inputs_of_the_run(finished, capsys, probe, said):
    """Any name stood there, and was called compared where rows were drawn again."""
    state(probe=manifest()["probe"] | probe)
    assert said in says(capsys, ["verify", "out.tsv", *FULL], 1)


PARAMETERS = [
    (schemes.gaussian(0.5), "k", 2.0),
    (schemes.laplace(0.5), "norm", "inf"),
    (schemes.flips(0.1, 0.2), "norm", 2.0),
    (schemes.mask(keep_probability=0.25), "norm", 0.0),
]


@pytest.mark.parametrize(("scheme", "name", "value"), PARAMETERS)
def test_a_parameter_that_its_method_has_not(
    tmp_path, monkeypatch, capsys, scheme, name, value
):
    monkeypatch.chdir(tmp_path)
    x = (X > 0).astype(np.int64) if scheme.of_whole_numbers else X
    certify_dataset(linear, (x, Y), scheme, out="out.tsv", n0=20, n=200)
    assert main(["verify", "out.tsv"]) == 0
    changed("parameters", **{name: value})
    text = says(capsys, "verify out.tsv", 1)
    assert f"'{name}' is no parameter of {scheme.name}" in text


@pytest.mark.parametrize("column", ["drawn", "radius_linf", "frontier"])
def test_a_column_that_is_not_declared(finished, capsys, column):
    save([row | {column: "1"} for row in table()])
    text = says(capsys, "verify out.tsv", 1)
    assert f"'{column}' is no column of the answer 'class'" in text


def test_what_a_writer_says_besides_is_theirs(tmp_path, monkeypatch):
    """Entries of one's own are kept where nobody takes them for others."""
    monkeypatch.chdir(tmp_path)
    known = {"describe": {"reviewed": "by us"}, "run": {"paper": "ours"}}
    certify_dataset(
        linear,
        (X, Y),
        schemes.gaussian(0.5),
        out="out.tsv",
        n0=20,
        n=200,
        settings=Settings(**known),
    )
    assert manifest()["model"]["described"] == {"reviewed": "by us"}
    assert manifest()["run"]["described"] == {"paper": "ours"}
    assert verify("out.tsv").findings == ()
    given = {"data": (X, Y), "model": linear, "rerun": 3}
    assert verify("out.tsv", **given, describe=known["describe"]).findings == ()
    other = verify("out.tsv", **given, describe={"reviewed": "by nobody"})
    assert [finding.kind for finding in other.findings] == ["model"]


# --- what is stated, by name


def test_a_version_is_no_name_of_a_model(finished, capsys):
    """It stood on the card as the model, and nothing compared it."""
    known = manifest()["model"]
    del known["spec"]
    state(model={"timm": "ResNet-50 (ImageNet)", **known})
    assert "model.timm must be of the form" in says(capsys, "verify out.tsv", 2)
    state(model={"timm": "1.0.15", **known})
    said = says(capsys, ["verify", "out.tsv", *FULL])
    assert "model.timm" in said.split("Not checked, taken from the file:")[1]
    assert main(["report", "out.tsv", "--card", "card.json"]) == 0
    assert "model" not in read_card("card.json")["about"]
    for entries in ({"torchvision": "ImageNet"}, {"pillow": "ImageNet"}):
        changed("data", **entries)
        capsys.readouterr()
        assert main(["verify", "out.tsv", *FULL]) in (1, 2)


@pytest.mark.parametrize("change", [{"device": "ImageNet, reviewed"}, {"compile": 1}])
def test_engine_entries_have_their_domain(finished, capsys, change):
    changed("engine", **change)
    assert f"engine.{next(iter(change))} must be" in says(capsys, "verify out.tsv", 2)


def test_facts_name_every_entry_with_its_status(finished, capsys):
    facts = json.loads(says(capsys, "verify out.tsv --json"))["facts"]
    assert facts["n"] == facts["alpha"] == facts["parameters.sigma"] == "proved"
    assert facts["scope"] == "compared"
    assert facts["model.spec"] == facts["data.x"] == facts["seed"] == "stated"
    given = json.loads(says(capsys, ["verify", "out.tsv", *FULL, "--json"]))["facts"]
    assert given["model.spec"] == given["data.x"] == given["seed"] == "compared"
    assert given["run.data"] == given["engine.device"] == "stated"


# --- sound noise and margins


def test_noise_on_a_grid_needs_inputs_on_it(finished, capsys):
    changed("engine", sound_noise=True)
    state(margin=0.0)
    file = read("out.tsv")
    assert "noise drawn exactly on its grid (stated)" in file.program()
    text = says(capsys, ["verify", "out.tsv", *DATA], 1)
    assert "can't have had exact noise: x must lie on the grid" in text


def test_a_measured_margin_is_stated_as_measured(finished, capsys):
    record = {
        "basis": "measured",
        "largest": 1e-14,
        "multiple": 16,
        "settings": ["whatever"],
        "inputs": [0],
        "samples": 100,
    }
    changed("engine", margin=record)
    state(margin=float(np.nextafter(16e-14, 1)))
    assert "stated, as measured: 16 times" in read("out.tsv").program()
    changed("engine", margin=record | {"settings": "peer review", "samples": "many"})
    assert "engine.margin" in says(capsys, "verify out.tsv", 2)


def test_a_margin_below_what_a_rerun_measures_is_refuted(work, capsys):
    models(
        MODELS.replace(
            "batch.reshape(len(batch), -1) @ np.stack([W, -W]",
            "batch.reshape(len(batch), -1) / 3 @ np.stack([W, -W]",
        )
    )
    assert main(arguments(margin="auto", n=200, max=2)) == 0
    full = ["verify", "out.tsv", *DATA, "--model", "models:linear", "--rerun", "2"]
    assert main([*full, "--margin"]) == 0
    measured = manifest()["engine"]["margin"]
    if not measured["largest"]:
        pytest.skip("scores of all settings are the same here")
    tiny = measured | {"largest": 1e-14}
    changed("engine", margin=tiny)
    state(margin=float(np.nextafter(16e-14, 1)))
    text = says(capsys, [*full, "--margin"], 1)
    assert "under other settings, more than the margin 1.6e-13 allows" in text


# --- choices after looking


RULE = Rule([1.0, 0.5], [[Cond("margin", 0, 0.0)], [Cond("margin", 1, 0.0)]])


def test_how_a_rule_was_chosen_is_stated_and_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    answer = DecisionList(RULE, fitted=[f"{'0' * 16}:{'1' * 16}"])
    certify_dataset(linear, (X, Y), answer, out="out.tsv", n0=20, n=200)
    assert "answer.fitted" in verify("out.tsv").stated
    stated = manifest()["answer"]
    del stated["fitted"]
    state(answer=stated)
    assert "answer.fitted" in verify("out.tsv").stated
    said = "how the rule was chosen is not recorded"
    assert said in says(capsys, "verify out.tsv")
    assert main(["report", "out.tsv", "--card", "card.json"]) == 0
    assert said in Path("card.md").read_text()


def test_a_rule_that_was_fixed_before_the_run_is_recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for fitted, notes in ((None, 1), ((), 0)):
        out = f"{notes}.tsv"
        answer = DecisionList(RULE, fitted=fitted)
        made = certify_dataset(linear, (X, Y), answer, out=out, n0=20, n=200)
        assert len(list(made.manifest.after_looking())) == notes
        assert "answer.fitted" in verify(out).stated


def test_the_demo_s_list_says_how_it_was_chosen():
    pytest.importorskip("torch")
    demo = importlib.import_module("rsbounds.demo")
    anchors = np.random.default_rng(0).random((30, 2, 2)).astype(np.float32)
    assert demo.schemes_of(anchors)["list"].parameters() == {"fitted": []}


def test_terms_that_were_chosen_after_looking_are_said(finished, capsys):
    again = ["recertify", "out.tsv", "--alpha", "0.05", "--out", "b.tsv"]
    assert main(again) == 0
    said = "made with alpha 0.001, bound clopper-pearson: its terms may have been"
    assert said in says(capsys, "verify b.tsv")
    assert main(["report", "b.tsv", "--card", "b.json"]) == 0
    assert said.replace("-", "-") in Path("b.md").read_text()
    answer = json.loads(says(capsys, "verify b.tsv --json"))
    assert said in answer["after_looking"][0]


def test_an_envelope_that_is_called_proven_is_stated(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scheme = schemes.lipschitz(lambda x: 0.5, 0.01, 0.4, 8)
    certify_dataset(linear, (X, Y), scheme, out="out.tsv", n0=20, n=200)
    assert manifest()["scope"] == ASSERTED_ENVELOPE
    state(scope=PROVEN_ENVELOPE)
    save([row | {"scope": PROVEN_ENVELOPE} for row in table()])
    text = says(capsys, "verify out.tsv")
    assert "taken as stated, not verified: lip, sigma_min, dim, scope" in text
    assert main(["report", "out.tsv", "--card", "card.json"]) == 0
    assert "- scope (stated): " in Path("card.md").read_text()


def test_asserted_bounds_that_are_called_another_scope_are_found(
    tmp_path, monkeypatch, capsys
):
    """ "fixed noise" holds as it stands: it hid that bounds were asserted."""
    monkeypatch.chdir(tmp_path)
    scheme = schemes.lipschitz(lambda x: 0.5, 0.01, 0.4, 8)
    certify_dataset(linear, (X, Y), scheme, out="out.tsv", n0=20, n=200)
    state(scope=FIXED_NOISE)
    save([row | {"scope": FIXED_NOISE} for row in table()])
    assert "scope is 'fixed noise'" in says(capsys, "verify out.tsv", 1)


# --- bounds to the side


def test_an_infinite_probability_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.zeros((1, 3), np.float32)
    scheme = schemes.splitting(0.5, 4)
    procedure = {"n": 4, "n0": 4, "bound": "exact"}
    certify_dataset(linear, (x, np.array([0])), scheme, out="out.tsv", **procedure)
    rows = table()
    assert verify("out.tsv").findings == ()
    assert rows[0]["count"] == rows[0]["n"]
    save([rows[0] | {"p_a": "inf"}])
    kinds = {finding.kind for finding in verify("out.tsv").findings}
    assert kinds == {"bound"}


def test_a_norm_is_what_it_is(finished, capsys):
    save([row | {"norm": "2.0000000029"} for row in table()])
    assert "norm is 2.0000000029, 2.0 by" in says(capsys, "verify out.tsv", 1)


def test_rows_without_samples_have_no_scores(work, capsys):
    models(MODELS)
    assert main([*arguments(), "--only-correct"]) == 0
    rows = table()
    left = next(row for row in rows if row["n"] == "0")
    for change in ({"z_a": "9.0", "z_b": "-9.0"}, {"z_b": "-inf"}):
        save([row | change if row is left else row for row in rows])
        text = says(capsys, "verify out.tsv", 1)
        assert "p_a, z_a and z_b are" in text


@pytest.mark.parametrize(
    ("column", "text"),
    [("quantile", "nan,nan"), ("ranks", "\u0661,\u0662;\u0661,\u0662")],
)
def test_columns_of_values_are_read_strictly(tmp_path, monkeypatch, column, text):
    monkeypatch.chdir(tmp_path)
    answer = Values(schemes.gaussian(0.5), [0.1, 0.2])
    outputs = lambda batch: batch[:, :2].astype(float)  # noqa: E731
    certify_dataset(outputs, X, answer, out="out.tsv", n0=20, n=1000)
    assert verify("out.tsv").findings == ()
    save([row | {column: text} for row in table()])
    assert {finding.kind for finding in verify("out.tsv").findings} == {"contradiction"}


def test_a_card_prints_no_radius_upwards(finished):
    radius = 0.1234567891234567
    words = ["--radii", repr(radius), "--card", "card.json"]
    assert main(["report", "out.tsv", *words]) == 0
    line = Path("card.md").read_text().splitlines()[4]
    assert 0 < radius - float(line.split("|")[1]) < 1e-11


def test_a_card_of_another_name_or_text(finished, capsys):
    assert main(["report", "out.tsv", "--card", "card.json"]) == 0
    check = "verify out.tsv --card card.json"
    assert main(check.split()) == 0
    place = Path("card.md")
    honest = place.read_text()
    place.write_text(honest.replace("12 of 12 rows", "99 of 99 rows"))
    assert "card.md:" in says(capsys, check, 1)
    place.write_text(honest)
    made = json.loads(Path("card.json").read_text())
    Path("card.json").write_text(json.dumps(made | {"name": "another.tsv"}))
    assert "the card's name is 'another.tsv', 'out.tsv' by" in says(capsys, check, 1)


# --- JSON says what text says


# --- the table itself


def test_the_table_declares_each_entry_once():
    for facts in (MANIFEST, CARD):
        names = [fact.name for fact in facts]
        assert len({*names}) == len(names)
        assert all(fact.about for fact in facts)
    # the noise answers for parameters, of which each method says who does
    assert {fact.by for fact in MANIFEST} == {*By} - {By.NOISE}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_who_answers_for_each_parameter_of_its_radii(name):
    method = METHODS[name]
    parameters = {"law": {"method": "gaussian", "sigma": 0.5}, "blocks": []}
    answers = method.who_answers(parameters)
    assert method.domains.keys() <= answers.keys()
    assert {*answers.values()} <= {*By} - {By.METHOD}


@pytest.mark.parametrize("name", ["manifest-entries.csv", "card-entries.csv"])
def test_the_documentation_has_the_table(monkeypatch, name):
    root = Path(__file__).parents[2]
    monkeypatch.syspath_prepend(root / "docs")
    entries = importlib.import_module("file_entries")
    with (root / "docs/reference" / name).open(newline="", encoding="utf-8") as file:
        shown = [*csv.reader(file)]
    again = entries.rows(entries.TABLES[name])
    assert shown == again, "run python docs/file_entries.py"


def test_procedures_are_in_the_table():
    declared = {fact.name for fact in MANIFEST}
    assert {*Procedure.__slots__} <= declared


def test_a_file_that_says_less_is_not_accused(work, capsys):
    savez(x=np.zeros((2, 1, 6, 6), np.float32), y=np.array([0, 1]))
    assert main(arguments(max=2)) == 0
    known = manifest()["model"]
    state(model={})
    assert main(["verify", "out.tsv"]) == 0
    assert known


def test_commands_say_as_json_what_they_print(work, capsys):
    answer = json.loads(says_out(capsys, [*arguments(), "--json"]))
    assert (answer["out"], answer["rows"], answer["new"]) == ("out.tsv", 12, 12)
    assert {"clean", "abstain", "acr", "void"} <= answer.keys()
    answer = json.loads(says_out(capsys, ["merge", "all.tsv", "out.tsv", "--json"]))
    whole = {"out": "all.tsv", "rows": 12, "files": 1, "missing": []}
    assert answer == {**whole, "compared": True}
    again = ["recertify", "out.tsv", "--alpha", "0.01", "--out", "b.tsv", "--json"]
    answer = json.loads(says_out(capsys, again))
    assert answer["rows"] == 12
    assert "after looking" in answer["after_looking"][0]
    answer = json.loads(says_out(capsys, ["plan", "out.tsv", "--json"]))
    (pilot,) = answer["pilots"]
    assert pilot["recommended"].keys() >= {"n", "bound", "keeps"}
    assert len(pilot["forecasts"]) >= 7
    assert main(arguments(sigma=0.5, out="wide.tsv")) == 0
    rule = ["fit-rule", "out.tsv", "wide.tsv", "--out", "rule.json", "--json"]
    answer = json.loads(says_out(capsys, rule))
    assert answer["inputs"] == 12
    assert answer["rule"]["sigmas"] == [0.25, 0.5]


def says_out(capsys, words):
    """What a command prints to standard output."""
    capsys.readouterr()
    assert main(words) == 0
    return capsys.readouterr().out
