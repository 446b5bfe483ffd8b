"""docs/certificates.html: the public table, from its cards and their verdicts.

    python benchmarks/certificates/make.py

A table for each data set and threat, whose columns sort, with the curves above it; the
page needs nothing else and is whole without its scripts. Verdicts are computed here and
are not taken from the cards. Cards come from many hands: their text is escaped, and the
page's policy runs no script but its own. Cards that can't stand are left out.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from curves import Entry, entries_of, figure, key
from entries import HERE, ROOT
from groups import Group, groups
from judge import Judged, judged
from texts import is_link

from rsbounds._numerics.decimals import truncated
from rsbounds.reports._page import share_and_interval
from rsbounds.reports._table import heading
from rsbounds.reports._templates import FOLDER, Markup, html_templates, policy, source

PAGE = ROOT / "docs" / "certificates.html"
#: What the words of verdicts are called on the page, where that is another word.
WORDS = {"level": "at another alpha", "printed": "as printed"}


def page(cards: Sequence[Judged] | None = None) -> str:
    """The page of all cards that can stand."""
    every = judged() if cards is None else cards
    standing = [card for card in every if not card.problems]
    sections = []
    data: dict[str, str] = {}
    norms: dict[str, str] = {}
    for group in groups().values():
        members = [card for card in standing if card.group == group]
        if not members:
            continue
        data[group.data] = group.data_title
        norm = group.norm
        norms[norm] = f"l{norm}" if norm[0].isdecimal() else norm
        sections.append(section(group, entries_of(group, members)))
    sorting = source(FOLDER / "page.js")
    filtering = source(HERE / "page.js")
    text: str = (
        html_templates(HERE)
        .get_template("page.html")
        .render(
            policy=Markup(policy([sorting, filtering])),
            style=source(FOLDER / "page.css", HERE / "page.css"),
            data=data,
            norm=norms,
            sections=sections,
            sorting=sorting,
            filtering=filtering,
        )
    )
    return text


def section(group: Group, entries: Sequence[Entry]) -> dict[str, Any]:
    """What the template takes of a group: curves, and columns and rows of a table."""
    return {
        "group": group,
        "figure": Markup(figure(group, entries)),
        "columns": [*map(heading, group.radii), "ACR", "inputs", "n", "alpha"],
        "rows": [_row(group, entry) for entry in entries],
    }


def _row(group: Group, entry: Entry) -> dict[str, Any]:
    """What the template takes of an entry."""
    card, verdict = entry.card, entry.judged.verdict
    about, procedure = card["about"], card["procedure"]
    code = about.get("code", "")
    acr = "-" if card["acr"] is None else truncated(float(card["acr"]), 3)
    terms = (procedure.get(name, "-") for name in ("n", "alpha"))
    words = [about.get("paper", ""), card["noise"]["method"]]
    return {
        "entry": entry,
        "key": Markup(key(entry)),
        "code": code,
        "host": _host(code) if is_link(code) else "",
        "words": [word for word in words if word],
        "chosen": about.get("chosen", ""),
        "said": _said(entry),
        "word": WORDS.get(verdict.kind, verdict.kind) if verdict else "",
        "sigma": about.get("sigma", "-"),
        "shares": [_share(card, radius) for radius in group.radii],
        "numbers": [acr, card["inputs"], *terms],
        "bound": procedure.get("bound", "-"),
        "stated": _stated(entry),
    }


def _host(code: str) -> str:
    """Where a link leads."""
    return code.removeprefix("https://").partition("/")[0]


def _stated(entry: Entry) -> str:
    """What was taken as stated, in words."""
    proof = entry.card["verified"]
    if entry.is_word or proof is None:
        return "all of it"
    return ", ".join(proof["stated"]) or "nothing"


def _said(entry: Entry) -> list[str]:
    """What a writer notes besides, for a place away from the verdict."""
    texts = [*entry.judged.said]
    if entry.is_word:
        about = entry.card["about"]
        texts += [about[name] for name in ("file", "commit") if about.get(name)]
    return texts


def _share(card: Mapping[str, Any], radius: float) -> tuple[str, str]:
    """A certified accuracy, and its interval."""
    point = next((at for at in card["accuracy"] if at["radius"] == radius), None)
    return ("-", "") if point is None else share_and_interval(point)


def main() -> int:
    cards = judged()
    for card in cards:
        for text in card.problems:
            print(f"left out, {card.name}: {text}", file=sys.stderr)
    PAGE.write_text(page(cards), encoding="utf-8")
    standing = sum(not card.problems for card in cards)
    print(f"{PAGE.relative_to(ROOT)}: {standing} cards")
    return int(standing < len(cards))


if __name__ == "__main__":
    sys.exit(main())
