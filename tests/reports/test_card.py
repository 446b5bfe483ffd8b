"""Cards: what they say of a file, what they refuse, and the page of several."""

import hashlib
import json
import math
import sys
from pathlib import Path

import pytest
from cli_models import arguments, one_line
from pages import BROWSER, OWNED, dom, run
from scipy.stats import binomtest

from rsbounds import audit
from rsbounds.cli import main
from rsbounds.reports import card, read_card, write_card
from rsbounds.reports._card import _schema
from rsbounds.reports.internal import board
from rsbounds.results import Results, read
from rsbounds.results._schema import conform

CARD = ["report", "out.tsv", "--card", "card.json"]


@pytest.fixture
def made(finished):
    pytest.importorskip("flint")
    assert main(CARD) == 0
    return json.loads(Path("card.json").read_text())


def test_a_card_says_what_its_file_shows(made):
    file = read("out.tsv")
    assert (
        made["hashes"]["rows"]
        == hashlib.sha256(Path("out.tsv").read_bytes()).hexdigest()
    )
    assert made["procedure"]["n"] == 1000
    assert made["about"]["model"] == "models:linear"
    assert made["verified"] == {
        "rows": 12, "proved": 12, "findings": 0, "first": [],
        "stated": ["counts", "data", "times", "model", "engine", "versions", "run"],
    }  # fmt: skip
    for own in made["accuracy"]:
        share = file.certified_accuracy(own["radius"])
        ends = binomtest(round(12 * share), 12).proportion_ci(0.95)
        assert own["accuracy"] == share
        assert [own["low"], own["high"]] == pytest.approx(list(ends), abs=1e-9)
    assert made["acr"] <= file.average_radius() < made["acr"] + 1e-6
    assert any("How many runs" in text for text in made["unknown"])
    text = Path("card.md").read_text()
    for part in (
        made["hashes"]["rows"],
        "| 0 | 0.583 |",
        "How many runs",
        "12 of 12 rows",
    ):
        assert part in text


def test_a_file_without_manifest_or_audit_is_not_verified(
    finished, capsys, monkeypatch
):
    assert audit  # which keeps flint as it is at its first import
    monkeypatch.setitem(sys.modules, "flint", None)
    assert main(CARD) == 0
    assert "not verified: an audit needs flint" in capsys.readouterr().out
    Path("out.tsv.manifest.json").unlink()
    assert main(CARD) == 0
    assert "not verified: the file has no manifest" in capsys.readouterr().out
    own = read_card("card.json")
    assert own["verified"] is None
    assert own["model"] == {}
    assert "manifest" not in own["hashes"]
    assert "verify: no" in Path("card.md").read_text()


def test_a_commitment_is_on_the_card(work):
    assert main([*arguments(), "--commit"]) == 0
    made = card(read("out.tsv"))
    assert made["hashes"]["commitment"] == read("out.tsv").manifest.run["commitment"]
    assert not any("How many runs" in text for text in made["unknown"])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"card": 2}, "version is 2, this rsbounds reads version 1: make it again"),
        ({"card": None}, "version is None"),
        ({"acr": "abc"}, "acr must be a number"),
        ({"p_a": {"0.5": 2}}, "p_a.0.5 must be in"),
        ({"inputs": "many"}, "inputs must be a JSON integer"),
        ({"inputs": True}, "inputs must be a JSON integer"),
        ({"abstain": 1.5}, "abstain must be in [0, 1]"),
        ({"accuracy": [{"radius": 1}]}, "lacks accuracy, low, high"),
        ({"accuracy": None}, "accuracy must be a JSON array"),
        ({"verified": {}}, "verified lacks rows"),
        ({"about": {"n": 5}}, "about.n must be a JSON string"),
        ({"unknown": [3]}, "unknown[0] must be a JSON string"),
        ({"acr": math.nan}, "NaN is no number of JSON"),
        ({"procedure": {"bound": []}}, "procedure.bound must be a JSON number"),
    ],
)
def test_a_card_that_is_none_is_refused_in_one_line(finished, capsys, change, part):
    write_card(card(read("out.tsv")), "card.json")
    Path("card.json").write_text(
        json.dumps(json.loads(Path("card.json").read_text()) | change)
    )
    one_line(capsys, ["report", "card.json"], "card.json", part)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "[" * 10**5, '{"card": 1}', '{"a": 1, "a": 1}', "\udc80"]
)
def test_a_broken_card_is_refused_in_one_line(work, capsys, text):
    Path("card.json").write_bytes(text.encode(errors="surrogateescape"))
    one_line(capsys, ["report", "card.json"], "card.json")


def test_refusals_of_the_command(finished, capsys):
    one_line(
        capsys, ["report", "out.tsv", "out.tsv", "--card", "c.json"], "one result file"
    )
    one_line(capsys, ["report", "out.tsv", "--card", "card.md"], "must end in .json")
    write_card(card(read("out.tsv")), "card.json")
    one_line(
        capsys,
        ["report", "card.json", "out.tsv"],
        "out.tsv is a result file and card.json a card",
    )
    one_line(
        capsys, ["report", "card.json", "--radii", "1"], "--radii takes result files"
    )
    one_line(capsys, ["report", "card.json"], "give --html FILE.html")
    with pytest.raises(ValueError, match="inputs must"):
        write_card(card(Results("out.tsv", ())), "card.json")


def test_the_schema_is_one_and_the_own_check_follows_it(made):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(_schema())
    for name in made:
        for wrong in (None, 1.5, "text", [], {}, True, -1):
            broken = made | {name: wrong}
            valid = jsonschema.Draft202012Validator(_schema()).is_valid(broken)
            try:
                conform("", broken, _schema())
            except ValueError:
                assert not valid, (name, wrong)
            else:
                assert valid or name == "card", (
                    name,
                    wrong,
                )  # its version is compared elsewhere


@pytest.fixture
def several(tmp_path):
    cards = []
    for i, count in enumerate((30, 40, 50)):
        (tmp_path / f"{i}.tsv").write_text("")  # hashed alone
        name = str(tmp_path / f"{i}.tsv")
        cards.append(card(run(name, count, 0.5, seed=i), [0, 0.25]))
    return cards


def test_cards_side_by_side(several, tmp_path):
    several[1]["about"]["n"] = "5"
    several[2]["scope"]["footnote"] = "an asserted envelope"
    board(several, tmp_path / "board.html")
    text = (tmp_path / "board.html").read_text()
    names = [line.split("<br>")[0] for line in text.split("<tr><td>")[1:]]
    assert names == ["0.tsv", "1.tsv", "2.tsv [1]"]
    assert "[1] an asserted envelope" in text
    assert "The cards differ in n" in text


def test_text_of_strangers_stays_text(several, tmp_path):
    several[0]["name"] = several[0]["about"]["model"] = several[0]["notes"] = OWNED
    several[0]["notes"] = [OWNED]
    write_card(several[0], tmp_path / "card.json")
    board(several, tmp_path / "board.html")
    for name in ("card.md", "board.html"):
        text = (tmp_path / name).read_text()
        assert "<img" not in text
        assert "owned" in text


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs a browser")
@pytest.mark.parametrize("width", [800, 1400])
def test_a_column_sorts_in_a_browser(several, tmp_path, width):
    several[0]["name"] = OWNED
    board(several, tmp_path / "board.html")
    text = (tmp_path / "board.html").read_text()
    click = "<script>document.querySelectorAll('th')[1].click()</script></body>"
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    open_ = (
        text[:start] + text[text.index(">", start) + 1 :]
    )  # as its policy runs no other script
    (tmp_path / "clicked.html").write_text(open_.replace("</body>", click))
    shown = dom(tmp_path / "clicked.html", tmp_path, f"--window-size={width},700")
    rows = shown.split("<tbody>")[1].split("</tr>")[:3]
    values = [row.split("<td>")[2].split("<")[0] for row in rows]
    expected = [f"{own['accuracy'][0]['accuracy']:.3f}" for own in several]
    assert values == sorted(expected, reverse=True)
    assert "descending" in shown
    assert "<title>owned" not in shown
