"""The public table: it is that of its cards, and forged entries are refused."""

import csv
import dataclasses
import importlib
import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pages import BROWSER, OWNED, Parsed, dom

from rsbounds import certify_dataset, schemes
from rsbounds.audit._published import earned as scores
from rsbounds.results import read

ROOT = Path(__file__).parents[2]
NAMES = (
    "groups", "entries", "texts", "figures", "judge", "curves", "make", "enter",
    "check", "published", "tss",
)  # fmt: skip
#: A group of the tests' own: twelve inputs of three numbers, or eleven of printed rows.
TOY = """
[data.toy]
title = "Toy"
about = "Drawn for tests"
shape = [3]
inputs = [
    {{ rows = 12, every = 1, labels = ["{labels}"] }},
    {{ rows = 11, every = 1 }},
]
l2 = {{ step = 0.125, radii = [0, 0.25, 0.5, 0.75, 1, 1.5, 2] }}
"""


@pytest.fixture(scope="module")
def board(run, tmp_path_factory):
    """board(name) imports a script of the folder; its groups have that of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "certificates")
        groups = importlib.import_module("groups")
        labels = groups.labels_of(read(run).rows)
        text = groups.GROUPS.read_text() + TOY.format(labels=labels)
        patch.setattr(groups, "GROUPS", tmp_path_factory.mktemp("groups") / "g.toml")
        groups.GROUPS.write_text(text)
        yield importlib.import_module
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A result file of twelve inputs, and its manifest."""
    pytest.importorskip("flint")
    path = tmp_path_factory.mktemp("run") / "run.tsv"
    x = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    labels = x[:, 1] > x[:, 0]
    scheme = schemes.gaussian(0.5)
    certify_dataset(
        lambda batch: batch[:, :2], (x, labels.astype(int)), scheme, n=1000, out=path
    )
    return path


def entered(board, run, cards, *more, to="toy/l2"):
    words = [str(run), "--to", to, "--title", "Ours", "--name", "ours"]
    words += ["--code", "https://example.org/ours", "--chosen", "the only run", *more]
    enter = board("enter")
    return enter.enter(enter.options().parse_args(words), cards)


@pytest.fixture
def entry(board, run, tmp_path):
    """The card of a good entry, with its file beside it."""
    return entered(board, run, tmp_path / "cards")


def checked(board, capsys, card, *words):
    """Exit status and lines of the check of a folder of cards."""
    cards = card.parents[2]
    status = board("check").main([*words], cards)
    return status, capsys.readouterr().out.splitlines()


def page_of(board, entry):
    """The page of a folder of cards."""
    return board("make").page(board("judge").judged(entry.parents[2]))


@pytest.mark.slow
def test_the_page_is_that_of_its_cards(board):
    make = board("make")
    assert make.PAGE.read_text(encoding="utf-8") == make.page()


@pytest.mark.slow
def test_verdicts_of_the_page_are_those_of_the_list_and_the_files(board):
    judge, text = board("judge"), board("make").page()
    spans = r'<td class="wrap verdict">.*?<span class="(\w+)">'
    shown = Counter(re.findall(spans, text))
    each = judge.judged()
    assert shown == Counter(one.verdict.kind for one in each)
    # all that is proved has its file here
    proved = {one.name for one in each if one.verdict.kind == "proved"}
    assert not proved & judge.published().keys()
    assert len(proved) == 8
    # five of them hold at a level ten times the one stated
    assert (shown["level"], shown["fails"], shown["word"]) == (5, 1, 0)
    # rotations, scalings and blurs by kernels, of which nothing can be computed again
    printed = [one for one in each if "as_printed" in one.card["about"]]
    assert shown["printed"] == len(printed) > 50
    threats = {one.group.threat.partition("-")[0] for one in printed}
    assert threats == {"blur", "rotation", "scaling"}
    assert shown["consistent"] == len(each) - 14 - len(printed) > 100


def test_a_good_entry_stands(board, entry, capsys):
    assert sorted(path.name for path in entry.parent.iterdir()) == [
        "ours.json", "ours.tsv", "ours.tsv.manifest.json"
    ]  # fmt: skip
    status, lines = checked(board, capsys, entry)
    assert status == 0
    assert lines == ["ok toy/l2/ours.json: proved, 12 rows from their counts"]
    (text,) = (row for row in page_of(board, entry).split("<tr ")[1:])
    assert '<span class="proved">' in text


def test_a_forged_radius_is_refused(board, entry, capsys):
    file = entry.with_suffix(".tsv")
    head, *rows = [line.split("\t") for line in file.read_text().splitlines()]
    place = head.index("radius")
    held = next(row for row in rows if float(row[place]) > 0)
    held[place] = "0.9"
    file.write_text("\n".join("\t".join(row) for row in [head, *rows]) + "\n")
    status, lines = checked(board, capsys, entry)
    assert status == 1
    assert any("verify: " in line and "radius is 0.9" in line for line in lines)
    # a card that admits it, made from the forged file, doesn't help
    entry.unlink()
    renamed = file.rename(file.with_name("forged.tsv"))
    manifest = file.with_name("ours.tsv.manifest.json")
    manifest.rename(file.with_name("forged.tsv.manifest.json"))
    card = entered(board, renamed, entry.parents[2])
    status, lines = checked(board, capsys, card, str(card))
    assert status == 1
    assert any("radius is 0.9" in line for line in lines)
    assert "<tr data-curve" not in page_of(board, card)


#: What a forger writes in an entry of a card, or of its ``about`` or ``procedure``;
#: a function edits the entry, and None deletes it.
FORGED = [
    ("accuracy", lambda rows: rows[2].update(accuracy=1.0), "the card's accuracy"),
    ("accuracy", lambda rows: rows.pop(0), "lacks the radii [0.0]"),
    ("accuracy", lambda rows: rows.reverse(), "radii must rise"),
    ("accuracy", lambda rows: rows[0].update(low=0.9), "interval at radius 0"),
    ("notes", lambda notes: notes.extend("abcd"), "4 notes of its writer's"),
    ("verified", lambda entries: entries.update(rows=13), "the card's verified"),
    ("verified", None, "lacks verified"),
    ("inputs", 10000, "the card's inputs"),
    ("acr", 99.0, "average radius is 99"),
    ("procedure.alpha", 1e-6, "the card's procedure"),
    ("procedure.bound", "proved", "bound is none of"),
    ("about.n", "100000", "the card's about"),
    ("about.norm", "1", "the card's about is {'norm': '1'"),
    ("about.holds_at", "0.01", "the card's about"),
    ("about.title", "x" * 201, "longer than 200"),
    ("about.chosen", None, "about.chosen is missing"),
    ("about.sigma", "0.5, proved", "no noise level"),
]
FORGED += [
    ("about.code", link, "plain link")
    for link in (
        "javascript:0",
        "https://a:b@c.org/",
        "https://a@c.org/",
        "https://c.org:8/",
        "https://10.0.0.1/",
        "http://c.org/",
        "../../etc/passwd",
    )
]
FORGED += [
    ("about.title", title, "one line")
    for title in ("two\nlines", "\u202edevorp", "\u3164", "O\u0336urs")
]


@pytest.mark.parametrize(("place", "value", "part"), FORGED)
def test_a_forged_card_is_refused(board, entry, capsys, place, value, part):
    card = json.loads(entry.read_text())
    above, _, name = place.rpartition(".")
    entries = card[above] if above else card
    if callable(value):
        value(entries[name])
    elif value is None:
        del entries[name]
    else:
        entries[name] = value
    entry.write_text(json.dumps(card))
    status, lines = checked(board, capsys, entry)
    assert status == 1
    assert any(part in line for line in lines), lines
    assert "<tr data-curve" not in page_of(board, entry)


MALFORMED = {
    "no JSON": "{",
    "a list": "[1]",
    "nested": "[" * 10**5,
    "an entry twice": '{"card": 1, "card": 1}',
    "nothing": "",
    "another version": '{"card": 2}',
    "no text": "\udcff",
    "large": '{"card": 1' + " " * 10**5 + "}",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_card_is_a_line_that_fails(board, entry, capsys, case):
    entry.write_text(MALFORMED[case], encoding="utf-8", errors="surrogateescape")
    status, (line,) = checked(board, capsys, entry)
    assert status == 1
    assert line.startswith("FAILS toy/l2/ours.json: ")
    assert "<tr data-curve" not in page_of(board, entry)


def test_what_is_no_entry_is_refused(board, entry, capsys):
    for name in ("run.py", "orphan.tsv", "gone.tsv.manifest.json", "x.manifest.json"):
        (entry.parent / name).write_text("print()")
    (entry.parent / "link.json").symlink_to(entry)
    elsewhere = entry.parents[1] / "l7" / "ours.json"
    elsewhere.parent.mkdir()
    elsewhere.write_text(entry.read_text())
    status, lines = checked(board, capsys, entry)
    assert status == 1
    assert "FAILS toy/l2/run.py: is no card and no result file" in lines
    assert "FAILS toy/l2/orphan.tsv: is a result file without a card" in lines
    assert "FAILS toy/l2/gone.tsv.manifest.json: is of no result file" in lines
    assert "FAILS toy/l2/x.manifest.json: is no card and no result file" in lines
    assert "FAILS toy/l2/link.json: is a link" in lines
    assert any("l7' must be one of cifar-10/blur-deviation, " in line for line in lines)


def test_two_cards_do_not_share_a_file(board, entry, capsys):
    for suffix in (".json", ".tsv", ".tsv.manifest.json"):
        copy = entry.with_name(f"copied{suffix}")
        text = entry.with_suffix(suffix).read_text()
        copy.write_text(text.replace('"title": "Ours"', '"title": "Theirs"'))
    status, lines = checked(board, capsys, entry)
    assert status == 1
    for name, other in (("ours", "copied"), ("copied", "ours")):
        shared = (
            rf"FAILS toy/l2/{name}.json: has the (rows|bytes) of toy/l2/{other}.json"
        )
        assert any(re.match(shared, line) for line in lines)
    # other times are no other file
    file = entry.with_name("copied.tsv")
    file.write_text(re.sub(r"\d:\d\d:\d\d\.\d+", "9:00:00.1", file.read_text()))
    _, lines = checked(board, capsys, entry)
    assert any("has the rows of toy/l2/ours.json" in line for line in lines)


def test_a_card_alone_is_its_writer_s_word(board, run, tmp_path, capsys):
    card = entered(board, run, tmp_path / "cards", "--card-only")
    assert [path.name for path in card.parent.iterdir()] == ["ours.json"]
    status, (line,) = checked(board, capsys, card)
    assert (status, line.partition(": ")[2]) == (
        0,
        "word, nothing of it was checked here",
    )
    page = page_of(board, card)
    assert '<tr class="by-word"' in page
    assert not re.search(r'<td class="wrap verdict">.*?<span class="proved">', page)
    # the file settles it
    words = [str(card), "--file", str(run)]
    status, (line,) = checked(board, capsys, card, *words)
    assert status == 0
    assert "proved, 12 rows" in line


def claimed(card):
    """The best card that there is: all right, at any radius, proved, and published."""
    made = json.loads(card.read_text())
    made["about"] |= {"commit": "0123456789ab", "file": "results/best.tsv"}
    made["verified"] |= {"rows": 10_000, "proved": 10_000, "findings": 0, "stated": []}
    made["notes"] = ["proved by rsbounds verify"]
    made["acr"] = 99.0
    for at in made["accuracy"]:
        at |= {"accuracy": 1.0, "low": 0.735, "high": 1.0}
    return made


def test_no_card_is_proved_by_what_it_says(board, run, tmp_path, capsys):
    card = entered(board, run, tmp_path / "cards", "--card-only")
    made = claimed(card)
    card.write_text(json.dumps(made))
    status, lines = checked(board, capsys, card)
    assert status == 1
    assert any("interval at radius 0" in line for line in lines)
    # one whose figures fit together stands as a word, below all others
    _, low, high = board("figures").share_of(12, 12)
    for at in made["accuracy"]:
        at |= {"low": low, "high": high}
    made["accuracy"].append(
        {"radius": 99.0, "accuracy": 0.0, "low": 0.0, "high": 1 - low}
    )
    made["abstain"] = 0.0
    card.write_text(json.dumps(made))
    status, lines = checked(board, capsys, card)
    assert lines == ["ok toy/l2/ours.json: word, nothing of it was checked here"], lines
    page = page_of(board, card)
    assert "<tr" not in page.split("<tbody>")[1]  # of what was computed
    (row,) = page.split("<tr ")[1:]
    verdict = row.split('<td class="wrap verdict">')[1].split("</td>")[0]
    assert verdict == '<span class="word">word</span> nothing of it was checked here'
    assert "<q>proved by rsbounds verify</q>" in row.split("</td>")[0]
    assert 'class="curve more by-word"' in page


GROUPS = {
    "another data set's labels": ("cifar-10/l2", "inputs, 0 to 11: cifar-10/l2 takes"),
    "another norm": ("cifar-10/l1", "the card's norm is '2', that of cifar-10/l1"),
    "another answer": ("cifar-10/l2-top-3", "the answer is 'class', that of"),
}


@pytest.mark.parametrize("case", GROUPS)
def test_a_group_takes_its_own_alone(board, run, tmp_path, capsys, case):
    to, part = GROUPS[case]
    card = entered(board, run, tmp_path / "cards", to=to)
    status, lines = checked(board, capsys, card)
    assert status == 1
    assert any(part in line for line in lines), lines


def test_a_group_fixes_labels_shape_and_transformation(board, entry, run):
    groups = board("groups")
    group, file = groups.group_of("toy/l2"), read(run)
    assert [*groups.file_misfits(group, file)] == []
    labels = [dataclasses.replace(row, label=1 - row.label) for row in file.rows]
    swapped = dataclasses.replace(file, rows=tuple(labels))
    (text,) = groups.file_misfits(group, swapped)
    assert "labels are not those" in text
    stated = {k: v for k, v in file.manifest.data.items() if k != "shape"}
    manifest = dataclasses.replace(file.manifest, data=stated)
    (text,) = groups.file_misfits(group, dataclasses.replace(file, manifest=manifest))
    assert "shape of inputs is not stated" in text
    fewer = dataclasses.replace(file, rows=file.rows[:5])
    assert "the file has 5 inputs, 0 to 4" in "".join(groups.file_misfits(group, fewer))
    (inputs, *rest) = group.inputs
    pinned = inputs._replace(contents=(groups.contents_of(file.rows),))
    for contents, many in ((pinned.contents, 0), (("0" * 64,), 1)):
        own = group._replace(inputs=(pinned._replace(contents=contents), *rest))
        assert len([*groups.file_misfits(own, file)]) == many
    card = json.loads(entry.read_text())
    for change, part in (
        ({"data": card["data"] | {"shape": [4, 5]}}, "shape of inputs is [4, 5]"),
        ({"answer": {"name": "top-k", "k": 2}}, "'top-k' of k = 2"),
        ({"noise": {"parameters": {"dim": 20.0}}}, "dim is 20.0"),
        ({"noise": {"parameters": {"transform": "blur"}}}, "'blur', that of the"),
        ({"noise": {"parameters": {"transform": {"f": "0"}}}}, "transformation is {"),
        (
            {"noise": {"parameters": {"blocks": [{"transform": "gain"}]}}},
            "transformation is 'gain'",
        ),
        ({"missing": 3}, "3 inputs of its run have no row"),
    ):
        (text,) = groups.card_misfits(group, card | change)
        assert part in text


def test_a_file_without_a_manifest_enters_no_other_question(board, tmp_path):
    file = tmp_path / "printed"
    file.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.5\t1\t1\n")
    stated = ("--sigma", "0.5", "--n", "1000", "--alpha", "0.001")
    for to in ("cifar-10/l1", "cifar-10/l2-top-3"):
        with pytest.raises(ValueError, match="is another question"):
            entered(board, file, tmp_path / "cards", *stated, to=to)


def test_radii_that_printing_rounded_up_stand_and_are_shown_so(board, tmp_path, capsys):
    pytest.importorskip("flint")
    earned = 0.5 * scores(1000, 0.001)
    # each count from 990 on, of which some round up to three digits
    lines = [f"{i}\t3\t3\t{r:.3}\t1\t0:00:01" for i, r in enumerate(earned[990:])]
    head = "idx\tlabel\tpredict\tradius\tcorrect\ttime"
    file = tmp_path / "sigma_0.50"
    file.write_text("\n".join([head, *lines]) + "\n")
    stated = ("--sigma", "0.5", "--n", "1000", "--alpha", "0.001")
    card = entered(board, file, tmp_path / "cards", *stated)
    status, (line,) = checked(board, capsys, card)
    assert status == 0
    assert re.search(
        r"consistent, with 1000 samples, 11 rows; \d of 11 radii rounded up", line
    )
    page = page_of(board, card)
    assert '<span class="consistent">' in page
    assert re.search(r'<small class="print">\d of 11 radii rounded up in print', page)
    assert not re.search(r'verdict">.*?<span class="proved">', page)
    made = json.loads(card.read_text())
    made["procedure"]["n"] = 10**12  # of which no machine has all radii
    card.write_text(json.dumps(made))
    status, (line,) = checked(board, capsys, card)
    assert (status, "n must be at most 10000000" in line) == (1, True)
    # at another level they are above every count's
    made = json.loads(card.read_text())
    made["procedure"]["alpha"] = 0.0001
    card.write_text(json.dumps(made))
    status, lines = checked(board, capsys, card)
    assert status == 1


def test_a_card_of_the_list_is_that_of_the_script(board, tmp_path, capsys):
    judge, name = board("judge"), "cifar-10/l2/cohen-0.12.json"
    place = tmp_path / "cards" / name
    place.parent.mkdir(parents=True)
    text = (judge.CARDS / name).read_text(encoding="utf-8")
    place.write_text(text, encoding="utf-8")
    status, (line,) = checked(board, capsys, place)
    assert (status, line.split(", ")[0]) == (0, f"ok {name}: consistent")
    for before, after in (
        ('"accuracy": 0.8', '"accuracy": 0.9'),
        ('"commit": "7', '"commit": "8'),
        ('"findings": 31', '"findings": 0'),
        ('"notes": [', '"notes": [ "",'),
    ):
        assert before in text
        place.write_text(text.replace(before, after, 1), encoding="utf-8")
        status, lines = checked(board, capsys, place)
        assert status == 1
        assert any("is not the card that published.py made" in line for line in lines)
    # under another name it is a word, and has a file of another card's
    copy = place.with_name("ours.json")
    place.write_text(text, encoding="utf-8")
    copy.write_text(text, encoding="utf-8")
    status, lines = checked(board, capsys, place)
    assert status == 1
    assert any(f"ours.json: has the bytes of {name}" in line for line in lines)
    assert any(line.startswith(f"ok {name}: consistent") for line in lines)


def test_strangers_text_is_never_markup_of_the_table(board, entry):
    card = json.loads(entry.read_text())
    turned = f"\u202e{OWNED}"
    for name in ("title", "paper", "chosen", "sigma", "file", "commit", "holds_at"):
        card["about"][name] = turned
    card["about"]["code"] = 'https://x" onclick="alert(1)'
    card["noise"]["method"] = card["procedure"]["bound"] = OWNED
    card["verified"]["first"] = card["verified"]["stated"] = card["notes"] = [OWNED]
    judge, make = board("judge"), board("make")
    (one,) = judge.judged(entry.parents[2])
    for kind in ("proved", "consistent", "fails", "word"):
        verdict = judge.Verdict(kind, turned, turned, (turned,))
        evil = one._replace(card=card, verdict=verdict, said=(turned,), problems=())
        text = make.page([evil])
        parsed = Parsed(text)
        assert len(parsed.scripts) == 2
        for tag, attributes in parsed.tags:
            assert tag not in ("img", "iframe"), tag
            assert not [name for name in attributes if name.startswith("on")], tag
        assert OWNED in parsed.text
        assert "\u202e" not in text
    # and no such card is on the page of its folder
    entry.write_text(json.dumps(card))
    assert OWNED not in Parsed(page_of(board, entry)).text


@pytest.mark.slow
def test_a_plot_has_eight_labelled_curves_at_most(board):
    make, curves = board("make"), board("curves")
    text = make.page()
    sections = text.split("<section ")[1:]
    assert len(sections) == len(board("groups").groups()) - 1  # but for the tests' own
    for section in sections:
        labels = re.findall(r'<g class="number">.*?<text [^>]*>(\d)</text>', section)
        listed = section.split('<ol class="legend">')[1].split("</ol>")[0]
        assert len(labels) == listed.count("<li>") <= curves.LABELLED
        many = section.count('<path class="curve')
        assert section.count('class="curve more') == many - len(labels)
        if many > len(labels):
            assert f"draw the other {many - len(labels)} too" in section
        # a noise level has one colour
        colours = {}
        for row in section.split("<tbody>")[1].split("</tr>")[:-1]:
            level = re.findall(r"</td><td>([^<]*)</td>", row)[0]
            colours.setdefault(level, set()).update(re.findall(r'stroke="(#\w+)"', row))
        assert all(len(own) == 1 for own in colours.values()), colours


def cards_of(board, folder, name):
    entries = board("entries")
    paths = sorted((entries.CARDS / folder).glob(name))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def test_cards_have_the_figures_of_the_page_of_published_certificates(board):
    page = (ROOT / "docs" / "benchmarks" / "published.md").read_text(encoding="utf-8")
    # at this level the repository has one file, so that the table's line is the card's
    field = ROOT / "docs" / "benchmarks" / "published-field.csv"
    with field.open(encoding="utf-8", newline="") as file:
        line = next(row for row in csv.DictReader(file) if row["sigma"] == "0.12")
    assert line["repository"] == "Cohen et al. 2019"
    rounded = int(line["rounded up"])
    (card,) = cards_of(board, "cifar-10/l2", "cohen-0.12.json")
    assert (card["inputs"], card["verified"]["rounded"]) == (int(line["rows"]), rounded)
    assert card["acr"] == pytest.approx(float(line["ACR printed"]), abs=5.1e-5)
    assert card["verified"]["findings"] == rounded
    (card,) = cards_of(board, "imagenet/l2", "dsrs-0.5.json")
    assert f"**{card['verified']['findings']} above the exact radius**" in page
    answers = (ROOT / "docs" / "benchmarks" / "answers.md").read_text(encoding="utf-8")
    (card,) = cards_of(board, "cifar-10/l2-top-3", "topk-0.25.json")
    assert f"**{card['verified']['findings']} of the 471**" in answers
    split = cards_of(board, "cifar-10/l1", "splitting-*.json")
    published = ROOT / "docs" / "benchmarks" / "published-splitting.csv"
    with published.open(encoding="utf-8", newline="") as file:
        lines = {line["file"]: line for line in csv.DictReader(file)}
    assert len(split) == len(lines) == 15
    for card in split:
        name = card["about"]["file"].split("/")[1]
        above, excess = lines[name]["above"], lines[name]["by up to"]
        assert (
            f"{above} are above the exact radius at alpha/2, by up to {excess},"
            in (card["notes"][0])
        )
    for card in [*split, *cards_of(board, "mnist/l2", "*.json")]:
        repository = card["about"]["code"].removeprefix("https://github.com/")
        assert f"- {repository} `{card['about']['commit'][:12]}`" in page


def test_formulas_of_transformations_give_the_largest_radii_of_tss(board):
    """As their files print them, n being what these are consistent with."""
    tss = board("tss")

    def largest(law, n, **given):
        return float(law(np.array([tss.lower_bound(n, n, tss.ALPHA)]), given)[0])

    assert largest(tss.chain, 100_000, sigma=0.4, contrast=0.4) == pytest.approx(
        0.677440, abs=1e-6
    )
    for law, n, given, printed in (
        (tss.second_chain, 100_000, {"sigma": 0.4, "contrast": 0.4}, "1.04"),
        (tss.second_chain, 100_000, {"sigma": 0.3, "contrast": 0.4}, "0.632"),
        (tss.first_chain, 10_000, {"sigma": 0.2, "contrast": 0.2}, "0.518"),
        (tss.contrasts, 100_000, {"sigma": 0.3}, "0.441"),
        (tss.exponential, 100_000, {"sigma": 10.0}, "88.9"),
        (tss.uniform, 10_000, {"sigma": 10.0}, "17.3"),
        (tss.folded, 100_000, {"sigma": 5.0}, "27.4"),
        (tss.gaussian, 50_000, {"sigma": 30.0}, "109"),
    ):
        assert f"{largest(law, n, **given):.3g}" == printed


def test_two_bounds_are_at_most_the_exact_one_of_their_laws(board):
    """The quadrature: that of one Gaussian at no contrast, and above every chain."""
    tss = board("tss")
    p = np.array([0.6, 0.9, 0.999, 0.99993])
    at_none = tss.kept(p, 0.4, 0.0, np.array([0.1, 0.3, 0.5, 0.7]))
    near = tss.kept(p, 0.4, 0.01, np.array([0.1, 0.3, 0.5, 0.7]))
    np.testing.assert_allclose(near, at_none, atol=0.01)  # it falls with kappa
    for contrast in (0.2, 0.4):
        for law in (tss.chain, tss.second_chain):
            radii = law(p, {"sigma": 0.4, "contrast": contrast})
            for end in np.linspace(np.log(1 - contrast), np.log(1 + contrast), 5):
                reach = tss._reached(radii, float(end), law)
                assert (tss.kept(p, 0.4, float(end), reach) >= 0.5)[radii > 0].all()


def test_the_exact_one_of_both_is_what_samples_show(board):
    """An event of the two laws' likelihood ratio keeps what the quadrature says."""
    tss = board("tss")
    rng = np.random.default_rng(5)
    k, b = rng.standard_normal((2, 400_000))
    kappa, reach, level = 0.3, 1.2, 0.4
    shift, scale = kappa / level, np.exp(kappa)

    def ratio(k, b):
        return k * shift + b**2 / 2 - ((b - reach) * scale) ** 2 / 2

    threshold = np.quantile(ratio(k, b), 0.97)
    moved = (ratio(k + shift, reach + b / scale) <= threshold).mean()
    (kept,) = tss.kept([0.97], level, kappa, reach * level)
    assert moved == pytest.approx(kept, abs=0.004)


def test_what_printing_lifted_in_a_file_of_a_transformation(board, tmp_path):
    tss = board("tss")
    path = "new_data/cifar10/resnet110/gaussian_blur/lamb10/consistency.txt"
    file = tss.file_of(path)
    assert (file.data, file.kind.threat, file.training, file.given) == (
        "cifar-10", "blur-variance", "consistency", {"sigma": 10.0},
    )  # fmt: skip
    assert tss.file_of("data/rotation_sampling_number_study/x") is None
    p = tss.lower_bound(np.array([99_990, 100_000]), 100_000, tss.ALPHA)
    first, top = tss.exponential(p, file.given)
    rows = [f"{i}\t3\t3\t{text}\t1\t0:00:01" for i, text in enumerate(
        [f"{top:.3}", f"{top:.3}", f"{first:.3}", "0.0001", "89.4"])]  # fmt: skip
    place = tmp_path / "consistency.txt"
    place.write_text("\n".join([tss.HEADER, *rows]) + "\n")
    held = read(place)
    found = tss.Earned(
        100_000,
        tss.exponential(
            tss.lower_bound(np.arange(50_000, 100_001), 100_000, tss.ALPHA), file.given
        ),
        tss.exponential,
        tss.Printing.of(held.printed["radius"][:3]),
        0,
    )
    told = tss.findings(held, found)
    # three are rounded up; what no count prints as is told, what is above all fails
    assert (told["rounded"], told["findings"]) == (3, 5)
    entries = board("entries")
    assert entries.failing(told) == 1


def test_displacements_have_lengths_of_whole_steps(board, tmp_path):
    tss = board("tss")
    rows = [f"{i}\t3\t3\t{text}\t1\t0:00:01" for i, text in enumerate(
        ["2.24", "5.0", "1.41", "1.5", "0.0"])]  # fmt: skip
    place = tmp_path / "noise_3.0"
    place.write_text("\n".join([tss.HEADER, *rows]) + "\n")
    told = tss.enumerated(read(place))
    assert (told["rounded"], told["unearned"]) == (1, 1)


@pytest.mark.slow
def test_the_best_of_several_runs_says_of_how_many(board, tmp_path):
    pytest.importorskip("flint")
    published = board("published")
    head = "idx\tlabel\tpredict\tradius\tcorrect\ttime"
    largest = 0.5 * scores(published.N, published.ALPHA)
    base = tmp_path / published.COHEN / "data" / "certify" / "cifar10" / "resnet110"
    for train, radius in (("0.25", largest[90_000]), ("0.50", largest[95_000])):
        for name in ("test", "again"):  # of the same content, or not of the test set
            file = base / f"noise_{train}" / name / "sigma_0.50"
            file.parent.mkdir(parents=True)
            file.write_text(f"{head}\n0\t3\t3\t{float(radius)!r}\t1\t0:00:01\n")
    (base / "noise_1.00" / "test").mkdir(parents=True)
    (base / "noise_1.00" / "test" / "sigma_0.50").write_text("no result\n")
    (tmp_path / published.COHEN / ".commit").write_text("0123456789abcdef\n")
    [(place, card)] = published.of_field(tmp_path, published.FAMILIES[0])
    assert place.as_posix() == "cifar-10/l2/cohen-0.5.json"
    about = card["about"]
    assert about["chosen"] == "largest average radius of 2 runs"
    assert about["file"].endswith("noise_0.50/test/sigma_0.50")
    assert about["commit"] == "0123456789abcdef"
    assert card["verified"]["findings"] == 0


@pytest.mark.slow
def test_all_entries_stand(board, capsys):
    pytest.importorskip("flint")
    assert board("check").main([]) == 0, capsys.readouterr().out
    lines = capsys.readouterr().out.splitlines()
    assert sum(": proved, " in line for line in lines) == 8


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs a browser")
def test_the_table_filters_and_sorts_by_keyboard(board, tmp_path):
    text = board("make").page()
    script = """<script>{
const form = document.querySelector("form");
form.data.value = "mnist-demo";
form.data.dispatchEvent(new Event("change", {bubbles: true}));
const head = document.querySelector("section:not([hidden]) th:nth-child(4)");
head.focus();
head.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
document.querySelector("section:not([hidden]) tbody tr summary").focus();
}</script></body>"""
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    # its policy runs no other script
    open_ = text[:start] + text[text.index(">", start) + 1 :]
    (tmp_path / "page.html").write_text(open_.replace("</body>", script))
    shown = dom(tmp_path / "page.html", tmp_path / "profile")
    sections = re.findall(r"<section [^>]*>", shown)
    visible = [tag for tag in sections if "hidden" not in tag]
    assert len(visible) == 1 < len(sections)
    assert f"1 of {len(sections)} tables" in shown
    section = shown.split(visible[0])[1].split("</section>")[0]
    rows = section.split("<tbody>")[1].split("</tr>")[:-1]
    values = [float(re.findall(r"<td[^>]*>([^<]*)", row)[3]) for row in rows]
    assert len(values) == 5
    assert values == sorted(values, reverse=True)
    assert 'class="curve on"' in section
