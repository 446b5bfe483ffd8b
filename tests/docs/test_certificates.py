"""The public table: it is that of its cards, and forged entries are refused."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from pages import BROWSER, OWNED, Parsed, dom

from rsbounds import certify_dataset, schemes
from rsbounds.audit._published import earned as scores

ROOT = Path(__file__).parents[2]
NAMES = ("entries", "make", "enter", "check", "published")


@pytest.fixture(scope="module")
def board():
    """board(name) imports a script of the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "certificates")
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


def entered(board, run, cards, *more):
    words = [str(run), "--to", "cifar-10/l2", "--title", "Ours", "--name", "ours"]
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


def test_the_page_is_that_of_its_cards(board):
    make = board("make")
    assert make.PAGE.read_text(encoding="utf-8") == make.page()


def test_every_published_row_that_fails_is_shown_as_such(board):
    entries, text = board("entries"), board("make").page()
    kinds = re.findall(
        r'</summary>|<span class="(proved|rounded|level|fails|word)">', text
    )
    shown = [kind for kind in kinds if kind]
    cards = [json.loads(path.read_text()) for path in entries.card_paths()]
    assert len(shown) == len(cards) > 60
    beyond = [
        card["verified"]["findings"] > card["verified"].get("rounded", 0)
        for card in cards
    ]
    # six of them hold at a level ten times the one stated
    assert shown.count("fails") + shown.count("level") == sum(beyond) >= 7
    assert shown.count("level") == 6
    without = [card["verified"]["findings"] == 0 for card in cards]
    assert shown.count("proved") == sum(without) >= 8


def test_a_good_entry_stands(board, entry, capsys):
    assert sorted(path.name for path in entry.parent.iterdir()) == [
        "ours.json", "ours.tsv", "ours.tsv.manifest.json"
    ]  # fmt: skip
    status, lines = checked(board, capsys, entry)
    assert status == 0
    assert lines == [
        "ok cifar-10/l2/ours.json: 12 rows proved, and the card is that of its file"
    ]
    (text,) = (row for row in board("make").page(entry.parents[2]).split("<tr ")[1:])
    assert "0 findings in 12 rows" in text
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


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda card: card["accuracy"][2].update(accuracy=1.0), "the card's accuracy"),
        (lambda card: card["verified"].update(rows=13), "the card's verified"),
        (lambda card: card.update(inputs=10000), "the card's inputs"),
        (lambda card: card["procedure"].update(alpha=1e-6), "the card's procedure"),
        (lambda card: card["about"].update(n="100000"), "the card's about"),
        (lambda card: card["about"].update(norm="1"), "the card's norm is '1'"),
        (lambda card: card["about"].update(code="javascript:0"), "must be a link"),
        (lambda card: card["about"].update(title="x" * 201), "longer than 200"),
        (lambda card: card["about"].pop("chosen"), "about.chosen is missing"),
        (lambda card: card["accuracy"].pop(0), "lacks the radii [0.0]"),
        (lambda card: card["accuracy"].reverse(), "rises with the radius"),
        (lambda card: card.pop("verified"), "lacks verified"),
    ],
)
def test_a_forged_card_is_refused(board, entry, capsys, change, part):
    card = json.loads(entry.read_text())
    change(card)
    entry.write_text(json.dumps(card))
    status, lines = checked(board, capsys, entry)
    assert status == 1
    assert any(part in line for line in lines), lines


def test_what_is_no_entry_is_refused(board, entry, capsys):
    (entry.parent / "run.py").write_text("print()")
    elsewhere = entry.parents[1] / "l7" / "ours.json"
    elsewhere.parent.mkdir()
    elsewhere.write_text(entry.read_text())
    status, lines = checked(board, capsys, entry)
    assert status == 1
    assert "FAILS cifar-10/l2/run.py: is no card and no result file" in lines
    assert any("l7 must be one of cifar-10/l1, cifar-10/l2" in line for line in lines)


def test_a_card_alone_is_its_writer_s_word(board, run, tmp_path, capsys):
    card = entered(board, run, tmp_path / "cards", "--card-only")
    assert [path.name for path in card.parent.iterdir()] == ["ours.json"]
    status, (line,) = checked(board, capsys, card)
    assert (status, line.partition(": ")[2]) == (0, "without a file, its writer's word")
    page = board("make").page(card.parents[2])
    assert '<span class="word">' in page
    assert '<span class="proved">' not in page
    # the file settles it
    words = [str(card), "--file", str(run)]
    status, (line,) = checked(board, capsys, card, *words)
    assert status == 0
    assert "12 rows proved" in line


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
    assert re.search(r": \d of 11 radii are rounded up", line)
    assert '<span class="rounded">' in board("make").page(card.parents[2])
    # at more samples or another level they are no count's
    made = json.loads(card.read_text())
    made["procedure"]["alpha"] = 0.0001
    card.write_text(json.dumps(made))
    status, lines = checked(board, capsys, card)
    assert status == 1
    assert any("no count of 1000 samples" in line for line in lines)


def test_strangers_text_is_never_markup_of_the_table(board, entry):
    card = json.loads(entry.read_text())
    for name in ("title", "paper", "chosen", "sigma", "file", "commit", "holds_at"):
        card["about"][name] = OWNED
    card["verified"]["findings"] = 3
    card["about"]["code"] = 'https://x" onclick="alert(1)'
    card["noise"]["method"] = card["procedure"]["bound"] = OWNED
    card["verified"]["first"] = card["verified"]["stated"] = card["notes"] = [OWNED]
    entry.write_text(json.dumps(card))
    parsed = Parsed(board("make").page(entry.parents[2]))
    assert len(parsed.scripts) == 2
    for tag, attributes in parsed.tags:
        assert tag not in ("img", "iframe", "b"), tag
        assert not [name for name in attributes if name.startswith("on")], tag
    assert OWNED in parsed.text


def cards_of(board, folder, name):
    entries = board("entries")
    paths = sorted((entries.CARDS / folder).glob(name))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def test_cards_have_the_figures_of_the_page_of_published_certificates(board):
    page = (ROOT / "docs" / "benchmarks" / "published.md").read_text(encoding="utf-8")
    # at this level the repository has one file, so that the page's line is the card's
    line = next(row for row in page.splitlines() if "| Cohen et al. 2019 | 0.12" in row)
    rows, _, rounded = [int(cell) for cell in line.split(" | ")[3:6]]
    (card,) = cards_of(board, "cifar-10/l2", "cohen-0.12.json")
    assert (card["inputs"], card["verified"]["rounded"]) == (rows, rounded)
    assert card["acr"] == pytest.approx(float(line.split(" | ")[9]), abs=5.1e-5)
    assert card["verified"]["findings"] == rounded
    (card,) = cards_of(board, "imagenet/l2", "dsrs-0.5.json")
    assert f"**{card['verified']['findings']} above the exact radius**" in page
    answers = (ROOT / "docs" / "benchmarks" / "answers.md").read_text(encoding="utf-8")
    (card,) = cards_of(board, "cifar-10/l2-top-3", "topk-0.25.json")
    assert f"**{card['verified']['findings']} of the 471**" in answers
    split = cards_of(board, "cifar-10/l1", "splitting-*.json")
    assert len(split) == page.count("| cifar_split_") == 15
    for card in split:
        name = card["about"]["file"].split("/")[1]
        line = next(row for row in page.splitlines() if f"| {name} |" in row)
        above, excess = line.split(" | ")[3:5]
        assert (
            f"{above} are above the exact radius at alpha/2, by up to {excess},"
            in (card["notes"][0])
        )
    for card in [*split, *cards_of(board, "mnist/l2", "*.json")]:
        repository = card["about"]["code"].removeprefix("https://github.com/")
        assert f"- {repository} `{card['about']['commit']}`" in page


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
    assert about["commit"] == "0123456789ab"
    assert card["verified"]["findings"] == 0


@pytest.mark.slow
def test_all_entries_stand(board, capsys):
    pytest.importorskip("flint")
    assert board("check").main([]) == 0, capsys.readouterr().out
    lines = capsys.readouterr().out.splitlines()
    assert sum("rows proved" in line for line in lines) >= 8


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
