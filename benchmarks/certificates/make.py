"""docs/certificates.html: the public table, from its cards and their verdicts.

    python benchmarks/certificates/make.py

A table for each data set and threat, whose columns sort, with the curves above it; the
page needs nothing else and is whole without its scripts. Verdicts are computed here and
are not taken from the cards. Cards come from many hands: their text is escaped, and the
page's policy runs no script but its own. Cards that can't stand are left out.
"""

import sys
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from curves import Entry, entries_of, figure, key
from entries import HERE, ROOT
from groups import Group, groups
from judge import Judged, Verdict, judged
from texts import is_link

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.text import shown
from rsbounds.results import _html
from rsbounds.results._table import heading

PAGE = ROOT / "docs" / "certificates.html"
#: What the words of verdicts are called on the page, where that is another word.
WORDS = {"level": "at another alpha", "printed": "as printed"}


def page(each: Sequence[Judged] | None = None) -> str:
    """The page of all cards that can stand."""
    every = judged() if each is None else each
    standing = [one for one in every if not one.problems]
    sections = []
    known: dict[str, dict[str, str]] = {"data": {}, "norm": {}}
    for group in groups().values():
        own = [one for one in standing if one.group == group]
        if not own:
            continue
        known["data"][group.data] = group.data_title
        norm = group.norm
        known["norm"][norm] = f"l{norm}" if norm[0].isdecimal() else norm
        sections.append(section(group, entries_of(group, own)))
    style = (_html._PAGE / "page.css").read_text(encoding="utf-8")
    sorting = (_html._PAGE / "page.js").read_text(encoding="utf-8")
    filtering = (HERE / "page.js").read_text(encoding="utf-8")
    parts = {
        "policy": _html.policy([sorting, filtering]),
        "style": style + (HERE / "page.css").read_text(encoding="utf-8"),
        "data": _options(known["data"]),
        "norm": _options(known["norm"]),
        "body": "\n".join(sections),
        "sorting": sorting,
        "filtering": filtering,
    }
    template = (HERE / "page.html").read_text(encoding="utf-8")
    return _html.filled(template, parts)


def _options(names: Mapping[str, str]) -> str:
    return "".join(
        f'<option value="{escape(value)}">{escape(text)}</option>'
        for value, text in names.items()
    )


def section(group: Group, entries: Sequence[Entry]) -> str:
    """The table of a group, below its curves."""
    checked, words = (
        "\n".join(_row(group, entry) for entry in entries if entry.is_word is is_word)
        for is_word in (False, True)
    )
    radii = "".join(_head(heading(radius)) for radius in group.radii)
    names = ("ACR", "inputs", "n", "alpha")
    rest = "".join(map(_head, names))
    first = _head("entry, as its writer calls it") + _head("what was computed", "wrap")
    last = _head("bound", "wrap") + _head("taken as stated", "wrap")
    head = f"<tr>{first}{_head('sigma')}{radii}{rest}{last}</tr>"
    data, norm = escape(group.data), escape(group.norm)
    return (
        f'<section data-data="{data}" data-norm="{norm}">\n'
        f"<h2>{escape(group.title)}</h2>\n<p>{escape(group.about)}</p>\n"
        f"{figure(group, entries)}\n"
        f'<div class="scroll"><table><thead>{head}</thead>\n<tbody>{checked}</tbody>'
        # a column sorts the first body: words stay below
        f"<tbody>{words}</tbody></table></div>\n</section>"
    )


def _head(text: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f"<th tabindex=0{of_kind}>{escape(text)}</th>"


def _row(group: Group, entry: Entry) -> str:
    card = entry.card
    procedure = card["procedure"]
    cells = [_named(entry), _verdict(entry.judged.verdict)]
    cells.append(f"<td>{_text(card['about'].get('sigma', '-'))}</td>")
    cells += [_share(card, radius) for radius in group.radii]
    acr = "-" if card["acr"] is None else truncated(float(card["acr"]), 3)
    numbers = (
        acr,
        card["inputs"],
        procedure.get("n", "-"),
        procedure.get("alpha", "-"),
    )
    cells += [f"<td>{_text(number)}</td>" for number in numbers]
    cells.append(f'<td class="wrap bound">{_text(procedure.get("bound", "-"))}</td>')
    cells.append(f'<td class="wrap stated">{_text(_stated(entry))}</td>')
    kind = ' class="by-word"' if entry.is_word else ""
    return f'<tr{kind} data-curve="{escape(entry.curve)}">{"".join(cells)}</tr>'


def _text(value: object) -> str:
    return escape(shown(value))


def _stated(entry: Entry) -> str:
    proof = entry.card["verified"]
    if entry.is_word or proof is None:
        return "all of it"
    return ", ".join(proof["stated"]) or "nothing"


def _named(entry: Entry) -> str:
    """What its writer says of an entry, and the line of its curve."""
    about = entry.card["about"]
    code = about.get("code", "")
    words = [about.get("paper", ""), entry.card["noise"]["method"]]
    parts = [_text(word) for word in words if word]
    if chosen := about.get("chosen"):
        parts.append(_quoted(chosen))
    if is_link(code):
        link = f'<a href="{escape(code)}" rel="nofollow noopener">{_host(code)}</a>'
        parts.insert(0, link)
    elif code:
        parts.insert(0, f"<code>{_text(code)}</code>")
    number = f"<b>{entry.number}</b> " if entry.number else ""
    return (
        f"<td>{_text(entry.title)}<br><small>{number}{key(entry)} "
        f"{', '.join(parts)}</small>{_said(entry)}</td>"
    )


def _host(code: str) -> str:
    """Where a link leads."""
    return _text(code.removeprefix("https://").partition("/")[0])


def _quoted(text: object) -> str:
    return f"<q>{_text(text)}</q>"


def _said(entry: Entry) -> str:
    """What a writer notes besides, in quotation marks and away from the verdict."""
    said = [*entry.judged.said]
    if entry.is_word:
        about = entry.card["about"]
        said += [about[name] for name in ("file", "commit") if about.get(name)]
    if not said:
        return ""
    quotes = "".join(f"<small>{_quoted(text)}</small>" for text in said)
    return (
        f"<details><summary><small>its writer says</small></summary>{quotes}</details>"
    )


def _share(card: Mapping[str, Any], radius: float) -> str:
    """A certified accuracy and its interval below."""
    point = next((at for at in card["accuracy"] if at["radius"] == radius), None)
    if point is None:
        return "<td>-</td>"
    share, interval = _html.share_and_interval(point)
    return f"<td>{share}<br><small>{interval}</small></td>"


def _verdict(verdict: Verdict | None) -> str:
    """What was computed, in a word, with where it comes from behind it."""
    if verdict is None:
        return '<td class="wrap verdict">-</td>'
    word = WORDS.get(verdict.kind, verdict.kind)
    summary = f'<span class="{verdict.kind}">{word}</span> {_text(verdict.text)}'
    if verdict.printed:
        summary += f'<small class="print">{_text(verdict.printed)}</small>'
    if not verdict.notes:
        return f'<td class="wrap verdict">{summary}</td>'
    listed = "".join(f"<small>{_text(note)}</small>" for note in verdict.notes)
    details = f"<details><summary>{summary}</summary>{listed}</details>"
    return f'<td class="wrap verdict">{details}</td>'


def main() -> int:
    each = judged()
    for one in each:
        for text in one.problems:
            print(f"left out, {one.name}: {text}", file=sys.stderr)
    PAGE.write_text(page(each), encoding="utf-8")
    standing = sum(not one.problems for one in each)
    print(f"{PAGE.relative_to(ROOT)}: {standing} cards")
    return int(standing < len(each))


if __name__ == "__main__":
    sys.exit(main())
