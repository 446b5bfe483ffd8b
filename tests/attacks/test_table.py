"""Many edits of entries of the public table, as strangers make who want a place in it.

    PYTHONPATH=tests/helpers python tests/attacks/test_table.py 10000

Whatever still stands says no more than before, or is a word. Prints how many edits were
refused, or stand and say the same, or less, or what their writer says; and what passes.
"""

import importlib
import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from edits import DELETED, another, entry, leaves, other_text, with_another

from rsbounds import certify_dataset, schemes
from rsbounds.results import read

TABLE = Path(__file__).parents[2] / "benchmarks" / "certificates"
NAMES = ("groups", "entries", "texts", "figures", "judge", "curves", "make", "check")
TOY = """
[data.toy]
title = "Toy"
about = "Drawn for an attack"
shape = [3]
inputs = [{{ rows = 12, every = 1, labels = ["{labels}"] }}]
l2 = {{ step = 0.125, radii = [0, 0.25, 0.5, 1] }}

[data.printed]
title = "Printed"
about = "Without counts"
shape = [3]
inputs = [{{ rows = 12, every = 1, labels = ["{labels}"] }}]
l2 = {{ step = 0.125, radii = [0, 0.25, 0.5, 1] }}
"""
#: What a writer says of an entry; it stands in the first cell.
SAID = ("title", "code", "paper", "commit", "file", "chosen")
#: What a stranger would like to say.
BOASTS = (
    "proved",
    "proved by rsbounds verify",
    "<b>proved</b>",
    "\u202edevorp",
    "a\nproved",
    "x" * 300,
    "https://a@b.org/",
    "javascript:alert(1)",
    "../../README.md",
    "docs/index.md",
    "\u3164",
    "0.001",
    "e\u0301\u0301",
    "docs/benchmarks/imagenet/gaussian.tsv",
)
#: The column of alpha: a larger one is weaker.
ALPHA = -3
#: What an audit calls stated, and no longer does where the manifest says nothing of it.

BESIDE = {"run", "versions", "engine", "model", "times"}


class Cells(HTMLParser):
    """The cells of a table's rows but for the first, and all that is named in tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: Counter[str] = Counter()
        self.is_in_a_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] += 1
        if tag == "td":
            self.cells.append("")
            self.is_in_a_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.is_in_a_cell &= tag != "td"

    def handle_data(self, data: str) -> None:
        if self.is_in_a_cell:
            self.cells[-1] += data


@dataclass
class Table:
    """A folder of cards, and the scripts that judge it."""

    cards: Path
    scripts: Mapping[str, ModuleType]
    honest: Mapping[str, bytes]
    shown: Mapping[str, list[str]]

    def restore(self) -> None:
        shutil.rmtree(self.cards)
        for name, content in self.honest.items():
            (self.cards / name).parent.mkdir(parents=True, exist_ok=True)
            (self.cards / name).write_bytes(content)

    def state(self) -> tuple[dict[str, list[str]], bool]:
        """What the page shows of each card that stands, behind its first cell, and
        whether anything that lies there is refused.
        """
        make, curves = self.scripts["make"], self.scripts["curves"]
        shown = {}
        each = self.scripts["judge"].judged(self.cards)
        page = make.page(each)
        assert "<b>proved" not in page
        assert not {"\u202e", "\u3164", "\u0301"} & {*page}
        for one in each:
            if one.problems:
                continue
            (drawn,) = curves.entries_of(one.group, [one])
            cells = Cells(make.page([one])).cells
            shown[one.name] = ["word"] * drawn.is_word + cells[1:]
        strangers = [*self.scripts["judge"].strangers(self.cards, False)]
        return shown, bool(strangers) or len(shown) < len(each)


def scripts() -> dict[str, ModuleType]:
    sys.path.insert(0, str(TABLE))
    return {name: importlib.import_module(name) for name in NAMES}


def table_of(folder: Path) -> Table:
    """Four honest entries: proved, consistent, published, a word."""
    own = scripts()
    run = folder / "run.tsv"
    x = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    y = (x[:, 1] > x[:, 0]).astype(int)
    certify_dataset(lambda b: b[:, :2], (x, y), schemes.gaussian(0.5), n=1000, out=run)
    groups, entries = own["groups"], own["entries"]
    labels = groups.labels_of(read(run).rows)
    text = (TABLE / "groups.toml").read_text() + TOY.format(labels=labels)
    groups.GROUPS = folder / "groups.toml"
    groups.GROUPS.write_text(text)
    cards = folder / "cards"
    for place in ("toy/l2", "printed/l2", "cifar-10/l2"):
        (cards / place).mkdir(parents=True)
    for end in (".tsv", ".tsv.manifest.json"):
        shutil.copy(run.with_suffix(end), cards / f"toy/l2/ours{end}")
    made = entries.make_card(cards / "toy/l2/ours.tsv", groups.group_of("toy/l2"))
    save(entries, cards / "toy/l2/ours.json", made, "Ours")
    word = made | {"hashes": {"rows": "0" * 64}}
    save(entries, cards / "toy/l2/word.json", word, "A word")
    lines = ["idx\tlabel\tpredict\tradius\tcorrect\ttime"]
    for row in read(run).rows:
        cells = (row.idx, row.label, row.predict, f"{row.radius:.3}", int(row.correct))
        lines.append("\t".join(map(str, (*cells, "0:00:01"))))
    printed = cards / "printed/l2/theirs.tsv"
    printed.write_text("\n".join(lines) + "\n")
    group, stated = groups.group_of("printed/l2"), entries.Stated(0.5, 1000, 0.001)
    made = entries.make_card(printed, group, stated=stated)
    save(entries, printed.with_suffix(".json"), made, "Theirs")
    name = "cifar-10/l2/cohen-0.12.json"
    shutil.copy(TABLE / "cards" / name, cards / name)
    honest = {
        path.relative_to(cards).as_posix(): path.read_bytes()
        for path in cards.rglob("*")
        if path.is_file()
    }
    table = Table(cards, own, honest, {})
    table.shown, refused = table.state()
    assert not refused
    assert len(table.shown) == 4
    return table


def save(entries: ModuleType, place: Path, made: dict[str, Any], title: str) -> None:
    about = {"title": title, "code": "https://example.org/x", "chosen": "the only run"}
    place.write_text(entries.as_text(made | {"about": made["about"] | about}))


# --- what a stranger does ---


def edit_a_card(table: Table, rng: np.random.Generator) -> str:
    """Edit, delete or add an entry of a card."""
    cards = [name for name in table.honest if name.endswith(".json")]
    name = str(rng.choice([name for name in cards if "manifest" not in name]))
    card = json.loads(table.honest[name])
    for _ in range(int(rng.integers(1, 4))):
        places = [*leaves(card)]
        place = places[int(rng.integers(len(places)))]
        before = entry(card, place)
        value = DELETED if rng.random() < 0.1 else another(rng, before)
        if isinstance(before, str) and rng.random() < 0.4:
            value = str(rng.choice(BOASTS))
        if rng.random() < 0.1 and isinstance(before, dict):
            place, value = (*place, str(rng.choice(SAID))), str(rng.choice(BOASTS))
        card = with_another(card, place, value)
    (table.cards / name).write_text(json.dumps(card))
    return name


def edit_a_file(table: Table, rng: np.random.Generator) -> str:
    """Edit cells of a result file, or its manifest, and make its card again."""
    name, folder = [("ours", "toy/l2"), ("theirs", "printed/l2")][rng.integers(2)]
    path = table.cards / folder / f"{name}.tsv"
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    manifest = path.with_name(f"{path.name}.manifest.json")
    if manifest.exists() and rng.random() < 0.4:
        tree = json.loads(manifest.read_text())
        places = [*leaves(tree)]
        place = places[int(rng.integers(len(places)))]
        changed = with_another(tree, place, another(rng, entry(tree, place)))
        manifest.write_text(json.dumps(changed))
    else:
        for _ in range(int(rng.integers(1, 4))):
            row = int(rng.integers(1, len(lines)))
            column = int(rng.integers(len(lines[0])))
            if rng.random() < 0.3:
                lines[row][column] = lines[int(rng.integers(1, len(lines)))][column]
            else:
                lines[row][column] = other_text(rng, lines[row][column])
        if rng.random() < 0.1:
            del lines[int(rng.integers(1, len(lines)))]
        path.write_text("".join("\t".join(line) + "\n" for line in lines))
    remake(table, path, rng)
    return f"{folder}/{name}.json"


def remake(table: Table, path: Path, rng: np.random.Generator) -> None:
    """The card of an edited file, as ``enter.py`` makes it."""
    entries, groups = table.scripts["entries"], table.scripts["groups"]
    place = path.with_suffix(".json")
    group = groups.group_of(place.parent.relative_to(table.cards))
    stated = None
    if group.data == "printed":
        levels = (0.5, 1000, 0.001) if rng.random() < 0.7 else (1.0, 10**5, 0.05)
        stated = entries.Stated(*levels)
    try:
        made = entries.make_card(path, group, stated=stated)
    except (ValueError, OSError):
        return  # the old card stays
    save(entries, place, made, "Ours" if stated is None else "Theirs")


def edit_the_folder(table: Table, rng: np.random.Generator) -> str:
    """Copy, rename, delete, cut or link a file among the cards."""
    name = str(rng.choice([*table.honest]))
    path = table.cards / name
    other = table.cards / str(rng.choice([*table.honest]))
    kind = int(rng.integers(6))
    if kind == 0:
        path.unlink()
    elif kind == 1:
        target = path.with_name(f"copy{path.name[path.name.index('.') :]}")
        shutil.copy(path, target)
    elif kind == 2 and other != path:
        shutil.copy(path, other)
    elif kind == 3:
        content = path.read_bytes()
        path.write_bytes(content[: int(rng.integers(len(content)))])
    elif kind == 4:
        path.rename(path.with_name(str(rng.choice(["Ours.json", "x.py", "y.json"]))))
    else:
        path.unlink()
        path.symlink_to(other)
    return name


EDITS: tuple[Callable[[Table, np.random.Generator], str], ...] = (
    edit_a_card, edit_a_card, edit_a_file, edit_a_file, edit_the_folder
)  # fmt: skip


# --- what came of it ---


def says_more(table: Table, name: str, cells: list[str]) -> str:
    """What an entry shows that the honest one does not; "" for nothing more."""
    if cells[0] == "word":
        return ""
    before = table.shown.get(name)
    if before is None:
        return f"a new entry that is no word: {cells}"
    if before[0] == "word":
        return f"no word any more: {cells}"
    verdict, own = (first.split()[0] for first in (cells[0], before[0]))
    if verdict != own and verdict in ("proved", "consistent"):
        return f"{verdict} instead of {own}"
    if own == "consistent":
        return ""  # without counts, what rows say is stated but for the largest radius
    gone = {*before[-1].split(", ")} - {*cells[-1].split(", ")}
    if gone - BESIDE:
        return f"{gone} is not said to be stated"
    if float(cells[ALPHA]) < float(before[ALPHA]):
        return f"alpha is {cells[ALPHA]} instead of {before[ALPHA]}"
    for after, honest in zip(cells[2:ALPHA], before[2:ALPHA], strict=True):
        if after != honest and not is_less(after, honest):
            return f"{after!r} instead of {honest!r}"
    return ""


def is_less(after: str, honest: str) -> bool:
    """Whether a figure, with its interval or without, is below the honest one."""
    try:
        return float(after[:5]) < float(honest[:5])
    except ValueError:
        return False


def attacked(table: Table, many: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How many edits ended how, and what passes."""
    rng = np.random.default_rng(seed)
    ends: Counter[str] = Counter()
    passed: list[str] = []
    for _ in range(many):
        kind = EDITS[int(rng.integers(len(EDITS)))]
        kind(table, rng)
        more = []
        shown, refused = table.state()
        for name, cells in shown.items():
            if text := says_more(table, name, cells):
                more.append(f"{kind.__name__}: {name}: {text}")
        if refused:
            end = "refused"
        elif more:
            end = "passed"
        elif shown == table.shown:
            end = "stands, says the same"
        else:
            end = "stands, says less or is a word"
        # the page alone must not say more either, whether the check refuses or not
        passed += more
        ends[f"{kind.__name__}: {end}"] += 1
        table.restore()
    return ends, passed


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("flint")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TABLE)
        yield table_of(tmp_path_factory.mktemp("table"))
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_a_few_edits_of_the_table_say_no_more(table: Table) -> None:
    _, passed = attacked(table, 15, seed=1)
    assert passed == []


@pytest.mark.slow
def test_edits_of_the_table_say_no_more(table: Table) -> None:
    _, passed = attacked(table, 500, seed=2)
    assert passed == []


def main(many: int) -> None:
    with TemporaryDirectory() as folder:
        ends, passed = attacked(table_of(Path(folder)), many, seed=3)
    for text, count in Counter(passed).most_common(40):
        print(count, text)
    print(sum(ends.values()), "edits:", dict(sorted(ends.items())))


if __name__ == "__main__":
    main(int(sys.argv[1]))
