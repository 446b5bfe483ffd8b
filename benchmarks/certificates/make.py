"""docs/certificates.html: the public table, from its cards alone.

    python benchmarks/certificates/make.py

A table for each data set and threat, whose columns sort, with the curves above it; the
page needs nothing else and is whole without its scripts. Cards come from many hands:
their text is escaped, and the page's policy runs no script but its own.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from entries import CARDS, HERE, ROOT, Group, card_paths, file_of, groups

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.text import shown
from rsbounds.results import _html, read_card
from rsbounds.results._plot import COLOURS
from rsbounds.results._table import heading

PAGE = ROOT / "docs" / "certificates.html"
#: Dashes of curves, for one noise level after the other.
DASHES = ("", "7 3", "2 3", "9 3 2 3")
WIDTH, HEIGHT = 900, 300
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 10, 34


class Entry(NamedTuple):
    """A card, and how its curve is drawn."""

    card: Mapping[str, Any]
    path: Path
    curve: str  # the name of its path in the picture
    colour: str
    dash: str

    @property
    def title(self) -> str:
        return str(self.card["about"].get("title", self.card["name"]))


def page(cards: Path = CARDS) -> str:
    """The page of all cards in a folder."""
    sections = []
    known: dict[str, dict[str, str]] = {"data": {}, "norm": {}}
    for folder, group in groups().items():
        paths = card_paths(cards / folder)
        if not paths:
            continue
        known["data"][group.data] = group.data_title
        known["norm"][group.norm] = f"l{group.norm}"
        sections.append(_section(group, _entries(group, paths)))
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


def _entries(group: Group, paths: Sequence[Path]) -> list[Entry]:
    """The cards of a group, the best at its second radius first."""
    cards = [(read_card(path), path) for path in paths]
    second = group.radii[1]
    cards.sort(key=lambda pair: -(_at(pair[0], second) or {"accuracy": 0})["accuracy"])
    titles = list(dict.fromkeys(card["about"].get("title") for card, _ in cards))
    levels = sorted({_level(card) for card, _ in cards})
    entries = []
    for card, path in cards:
        dash = levels.index(_level(card)) % len(DASHES)
        colour = titles.index(card["about"].get("title")) % len(COLOURS)
        if len(titles) == 1:  # noise levels are all that tells the curves apart
            colour = levels.index(_level(card)) % len(COLOURS)
        entries.append(
            Entry(
                card=card,
                path=path,
                curve=f"{group.data}-{group.threat}-{path.stem}",
                colour=COLOURS[colour],
                dash=DASHES[dash],
            )
        )
    return entries


def _level(card: Mapping[str, Any]) -> float:
    """A number for the order of noise levels."""
    levels = card["noise"]["sigma"]
    return float(levels[-1]) if levels else 0.0


def _at(card: Mapping[str, Any], radius: float) -> Mapping[str, float] | None:
    """What a card says of a radius."""
    points: Sequence[Mapping[str, float]] = card["accuracy"]
    return next((point for point in points if point["radius"] == radius), None)


def _section(group: Group, entries: Sequence[Entry]) -> str:
    lines = "\n".join(_row(group, entry) for entry in entries)
    radii = "".join(_head(heading(radius)) for radius in group.radii)
    names = ("ACR", "inputs", "n", "alpha")
    rest = "".join(map(_head, names))
    first = _head("entry") + _head("what verify says", "wrap") + _head("sigma")
    last = _head("bound", "wrap") + _head("taken as stated", "wrap")
    head = f"<tr>{first}{radii}{rest}{last}</tr>"
    data, norm = escape(group.data), escape(group.norm)
    return (
        f'<section data-data="{data}" data-norm="{norm}">\n'
        f"<h2>{escape(group.title)}</h2>\n<p>{escape(group.about)}</p>\n"
        f"{picture(group, entries)}\n"
        f'<div class="scroll"><table><thead>{head}</thead>\n<tbody>{lines}</tbody>'
        "</table></div>\n</section>"
    )


def _head(text: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f"<th tabindex=0{of_kind}>{escape(text)}</th>"


def _row(group: Group, entry: Entry) -> str:
    card = entry.card
    procedure = card["procedure"]
    cells = [_named(entry), _verdict(entry)]
    cells.append(f"<td>{escape(card['about'].get('sigma', '-'))}</td>")
    cells += [_share(card, radius) for radius in group.radii]
    acr = "-" if card["acr"] is None else truncated(float(card["acr"]), 3)
    numbers = (
        acr,
        card["inputs"],
        procedure.get("n", "-"),
        procedure.get("alpha", "-"),
    )
    cells += [f"<td>{escape(str(number))}</td>" for number in numbers]
    bound = escape(str(procedure.get("bound", "-")))
    stated = ", ".join((card["verified"] or {"stated": ["all"]})["stated"])
    cells.append(f'<td class="wrap bound">{bound}</td>')
    cells.append(f'<td class="wrap stated">{escape(shown(stated)) or "nothing"}</td>')
    return f'<tr data-curve="{escape(entry.curve)}">{"".join(cells)}</tr>'


def _named(entry: Entry) -> str:
    """The title, the line of its curve, and where the certificate comes from."""
    about = entry.card["about"]
    dash = f' stroke-dasharray="{entry.dash}"' if entry.dash else ""
    key = (
        '<svg class="key" width="26" height="6" aria-hidden="true"><path d="M0 3H26" '
        f'stroke="{entry.colour}" stroke-width="2.5"{dash}/></svg>'
    )
    code = about.get("code", "")
    title = escape(shown(entry.title))
    parts = [about.get("paper", ""), entry.card["noise"]["method"]]
    parts.append(about.get("chosen", ""))
    words = [escape(shown(part)) for part in parts if part]
    if code.startswith("https://"):
        words.insert(0, f'<a href="{escape(code)}" rel="nofollow noopener">code</a>')
    elif code:
        words.insert(0, f"<code>{escape(shown(code))}</code>")
    return f"<td>{title}<br><small>{key} {', '.join(words)}</small></td>"


def _share(card: Mapping[str, Any], radius: float) -> str:
    """A certified accuracy and its interval below."""
    point = _at(card, radius)
    if point is None:
        return "<td>-</td>"
    share, interval = _html.share_and_interval(point)
    return f"<td>{share}<br><small>{interval}</small></td>"


def _verdict(entry: Entry) -> str:
    """What verify says, in a word, with its first findings behind it."""
    verified = entry.card["verified"]
    if verified is None:
        return '<td class="wrap">-<br><span class="word">word</span></td>'
    findings, rows = verified["findings"], verified["rows"]
    elsewhere = "commit" in entry.card["about"]
    if not elsewhere and file_of(entry.path, entry.card) is None:
        kind = "word"  # nobody can make such a card again
    elif _is_no_certificate(entry.card):
        kind = "fails"
    elif not findings:
        kind = "proved"
    elif findings == verified.get("rounded"):
        kind = "rounded"
    elif "holds_at" in entry.card["about"]:
        kind = "level"
    else:
        kind = "fails"
    words = {
        "rounded": "rounded up",
        "level": "at alpha " + escape(entry.card["about"].get("holds_at", "")),
    }.get(kind, kind)
    counted = f"{findings} findings in {rows} rows"
    notes = [entry.card["scope"]["footnote"], *verified["first"]]
    notes += [*_about_file(entry), *entry.card["notes"]]
    listed = "".join(f"<small>{escape(shown(note))}</small>" for note in notes if note)
    summary = f'{counted}: <span class="{kind}">{words}</span>'
    details = f"<details><summary>{summary}</summary>{listed}</details>"
    return f'<td class="wrap verdict">{details}</td>'


def _is_no_certificate(card: Mapping[str, Any]) -> bool:
    """Whether its scope says that it is none of the classifier that is run."""
    return bool(card["scope"]["text"]) and not card["scope"]["valid"]


def _about_file(entry: Entry) -> list[str]:
    """Where the result file is, and its hash."""
    file = file_of(entry.path, entry.card)
    about, digest = entry.card["about"], entry.card["hashes"].get("rows", "")
    if file is not None:
        beside = file.parent == entry.path.parent
        where = file.name if beside else file.relative_to(ROOT).as_posix()
        return [f"Its file is {where}, SHA-256 {digest[:16]}..."]
    if not about.get("file"):
        return ["Its file is not to be had: the card is its writer's word."]
    where = f"Its file is {about['file']}, commit {about.get('commit', 'unknown')}"
    return [f"{where}, SHA-256 {digest[:16]}..."]


def picture(group: Group, entries: Sequence[Entry]) -> str:
    """The curves of a group: between two radii of a card at its lower accuracy."""
    ends = [
        max(
            (at["radius"] for at in entry.card["accuracy"] if at["accuracy"]), default=0
        )
        for entry in entries
    ]
    end = max(*ends, group.radii[-1])
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(radius: float) -> str:
        return f"{LEFT + wide * min(radius, end) / end:.1f}"

    def y(share: float) -> str:
        return f"{TOP + high * (1 - share):.1f}"

    parts = []
    for tenth in range(0, 11, 2):
        share = tenth / 10
        parts.append(f'<path class="grid" d="M{LEFT} {y(share)}H{WIDTH - RIGHT}"/>')
        at = f'x="{LEFT - 6}" y="{y(share)}" dy="4" text-anchor="end"'
        parts.append(f"<text {at}>{share:g}</text>")
    for radius in _ticks(end):
        at = f'x="{x(radius)}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle"'
        parts.append(f"<text {at}>{radius:g}</text>")
    corner = f"M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"
    parts.append(f'<path class="axis" fill="none" d="{corner}"/>')
    middle = LEFT + wide / 2
    label = f"radius ({escape(group.threat_title)})"
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{label}</text>'
    )
    for entry in entries:
        points = sorted(entry.card["accuracy"], key=lambda at: at["radius"])
        if not points:
            continue
        drawn = [f"M{x(points[0]['radius'])} {y(points[0]['accuracy'])}"]
        for point in points[1:]:
            drawn.append(f"V{y(point['accuracy'])}H{x(point['radius'])}")
        name = escape(f"{shown(entry.title)}, sigma {entry.card['about'].get('sigma')}")
        dash = f' stroke-dasharray="{entry.dash}"' if entry.dash else ""
        parts.append(
            f'<path class="curve" id="{escape(entry.curve)}" stroke="{entry.colour}"'
            f'{dash} d="{"".join(drawn)}"><title>{name}</title></path>'
        )
    label = escape(f"Certified accuracy over the radius, {group.title}")
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    body = "\n".join(parts)
    return (
        f'<figure><svg {box} role="img" aria-label="{label}">\n{body}\n</svg></figure>'
    )


def _ticks(end: float) -> list[float]:
    """Some six round radii."""
    step = next(s for s in (0.05, 0.1, 0.25, 0.5, 1, 2, 5) if end / s <= 9)
    return [step * i for i in range(int(end / step) + 1)]


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(card_paths())} cards")


if __name__ == "__main__":
    main()
