"""Certification files as one HTML page that needs nothing else: no network, no server.

Files may come from strangers. Text of theirs reaches the page escaped; and the page's
policy lets a browser run no script but its own, known by their hashes, and load
nothing.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.files import as_path, replace_file, require_writable
from rsbounds._numerics.text import shown
from rsbounds.results._card import QUANTILES, proof, settings_of
from rsbounds.results._card import card as card_of
from rsbounds.results._charts import charts, drawing
from rsbounds.results._compare import from_first
from rsbounds.results._facts import Status
from rsbounds.results._frontier import TITLE, frontier_table
from rsbounds.results._html_differences import (
    difference_chart,
    difference_note,
    difference_table,
)
from rsbounds.results._results import Results
from rsbounds.results._table import as_files, default_radii, heading
from rsbounds.results._terms import comparable, marked, numbered

MARK = b"<p>Written by rsbounds "  # of a page that may be replaced
_PAGE = Path(__file__).parent / "_page"
_COLUMNS = (
    "idx",
    "label",
    "predict",
    "radius",
    "correct",
    "p_a",
    "sigma",
    "count",
    "n",
    "time",
)
_BEST = (
    "Best of several runs: at each radius the highest of their certified accuracies. "
    "Another classifier may be the best at another radius, so that this is no "
    "certificate of any one."
)
_NOTES = (
    "The intervals (Clopper-Pearson, 95 %) are for inputs drawn at random from many: "
    "smaller differences between runs may be chance, unless the runs saw the same "
    "inputs.",
    "ACR grows most with what is easy already and can be raised by giving up the hard "
    "inputs [Sun, Mao, Müller, Vechev, Average certified radius is a poor metric for "
    "randomized smoothing, ICML 2025, arXiv 2410.06895]: compare the curves of p_A "
    "beside it.",
)
_ABOUT_CARDS = (
    "A card whose result file lies beside it is computed again from that file; any "
    "other is its writer's word: rsbounds verify RUN.tsv --card RUN.json checks it.",
    "The best of several cards was chosen after looking: its accuracy is not that of "
    "one run.",
)
Card = Mapping[str, Any]


def html(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Write certification files side by side as one self-contained HTML page.

    A table of the runs; certified accuracy over the radius, exact step curves, with the
    best of runs that can be compared, or of one run the interval of 95 %; p_A; shares
    of each class; a table of both numbers of rows' frontiers; all rows; manifests.
    Columns of tables sort, and a chart says its values where the pointer is.

    Parameters
    ----------
    files : list of Results
    path : path-like
        The page, some 20 KB and 90 bytes for each row.

    Raises
    ------
    ValueError, OSError
        When no file has a row, or for an argument that is no list of Results or no
        path; if the page can't be written.

    Examples
    --------
    >>> html([read("wide.tsv"), read("narrow.tsv")], "report.html")  # doctest: +SKIP
    """
    files, place = as_files(files, rows=True), as_path("path", path)
    require_writable(place, MARK)
    names, footnotes = marked(files)
    reports = [file.report() for file in files]
    classified = [
        (file, name)
        for file, name, report in zip(files, names, reports, strict=True)
        if report is None
    ]
    parts: list[str] = []
    if classified:
        parts, notes = _of_classes(*zip(*classified, strict=True))
        footnotes += notes
    for file, name, report in zip(files, names, reports, strict=True):
        if report is not None:
            title = f"{name}: {len(file.rows)} inputs, {report.title}"
            lines = [list(map(_cell, line)) for line in report.table]
            parts += [f"<h2>{escape(shown(title))}</h2>", _sortable(lines)]
    # as text, of which the script makes a table where it is opened: cells of many rows
    # are most of a page, and a browser lays them out for seconds
    text = "\n".join("\t".join(line) for line in _rows(files, names))
    parts += [
        *_noted(footnotes),
        '<h2>Rows</h2><details id="rows"><summary>all rows</summary>',
        f'<div class="scroll"><pre>{text}</pre></div></details>',
        "<h2>Manifests</h2>",
        *map(_manifest, files, names),
    ]
    _write(place, ", ".join(names), parts, more="report")


def _of_classes(
    files: Sequence[Results], names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The table and the charts of certified accuracies, and the notes on them."""
    radii, best = default_radii(files), comparable(files)
    cards = [card_of(file, radii) for file in files]
    shared, distinct = _settings(cards)
    lines = _side_by_side(cards, names, distinct)
    runs = [line[:-1] for line in lines]  # but for "verified"
    for label, group in best:
        shares = np.max([file.certified_accuracy(radii) for file in group], axis=0)
        rest = ["-"] * (len(runs[0]) - 1 - len(shares))
        runs.append(
            [escape(shown(label)), *(f"{share:.3f}" for share in shares), *rest]
        )
    above = _noted([f"All runs: {shared}"] if shared else [])
    drawn = [drawing(*placed) for placed in charts(files, names).items()]
    notes = [*([_BEST] if best else []), *_NOTES]
    beside: list[str] = []
    first, differences = from_first(files, radii)
    if differences:
        chart = difference_chart(names, first, differences)
        drawn.append(drawing("difference", chart))
        notes.append(difference_note(differences))
        title = f"Differences from {names[first]}, on the inputs of both"
        table = difference_table(names, differences)
        cells = [[_cell(*each) for each in line] for line in table]
        beside = [f"<h2>{escape(shown(title))}</h2>", _sortable(cells)]
    for file, name in zip(files, names, strict=True):
        frontier = frontier_table(file)
        if frontier is not None:
            title = f"{name}: {TITLE}"
            cells = [list(map(_cell, line)) for line in frontier]
            beside += [f"<h2>{escape(shown(title))}</h2>", _sortable(cells)]
    figures = ['<div class="charts">', *drawn, "</div>"]
    return [*above, _sortable(runs), *figures, *beside], notes


def _settings(cards: Sequence[Card]) -> tuple[str, list[str]]:
    """What all runs share, in words, and for each what it does not share."""
    settings = [settings_of(card) for card in cards]
    first = settings[0]
    shared = {
        name: value
        for name, value in first.items()
        if all(setting.get(name) == value for setting in settings)
    }
    distinct = []
    for setting in settings:
        rest = {name: value for name, value in setting.items() if name not in shared}
        distinct.append(_listed(rest))
    return _listed(shared), distinct


def _listed(settings: Mapping[str, tuple[str, Status]]) -> str:
    """Settings in words, those of one status together."""
    by_status: dict[Status, list[str]] = {}
    for name, (text, status) in settings.items():
        by_status.setdefault(status, []).append(f"{name} {text}")
    each = (f"{', '.join(own)} ({status})" for status, own in by_status.items())
    return shown("; ".join(each))


def board(
    cards: Sequence[Card],
    path: str | os.PathLike[str],
    *,
    checked: Sequence[bool] | None = None,
) -> None:
    """Write cards side by side as one self-contained HTML page, whose columns sort.

    Parameters
    ----------
    cards : sequence of mapping
        As :func:`card` and :func:`read_card` return them.
    path : path-like
        The page.
    checked : sequence of bool, optional
        Whether each card was computed again from its result file; by default none was.

    Raises
    ------
    ValueError, OSError
        For a path that is none; if the page can't be written.

    Examples
    --------
    >>> cards = [read_card("a.json"), read_card("b.json")]  # doctest: +SKIP
    >>> board(cards, "cards.html")  # doctest: +SKIP
    """
    place, notes = as_path("path", path), list[list[str]]()
    require_writable(place, MARK)
    for card in cards:
        notes.append(
            [shown(note) for note in (card["scope"]["footnote"], *card["notes"])]
        )
        if card["hashes"].get("commitment"):
            text = "states a commitment: when that was published shows when it was made"
            notes[-1].append(text)
    names, footnotes = numbered([card["name"] for card in cards], notes)
    each = [
        {"bound": card["procedure"].get("bound"), **card["about"]} for card in cards
    ]
    terms = ("norm", "alpha", "n", "bound", "data")
    if apart := [name for name in terms if len({own.get(name) for own in each}) > 1]:
        text = (
            f"The cards differ in {', '.join(apart)}: their numbers are not of one "
            "kind."
        )
        footnotes.append(text)
    below = _noted([*footnotes, *_ABOUT_CARDS, *_NOTES[:1]])
    # cards are of many hands: each says all of its settings
    settings = [_listed(settings_of(card)) for card in cards]
    lines = _side_by_side(cards, names, settings)
    lines[0].append("checked")
    given = [False] * len(cards) if checked is None else checked
    for line, is_checked in zip(lines[1:], given, strict=True):
        line.append("against its file" if is_checked else "its writer's word")
    _write(place, "cards", [_sortable(lines), *below])


def _write(place: Path, title: str, body: Iterable[str], more: str = "") -> None:
    """Fill in the page; ``more`` names a style and a script of its own."""
    template = _part("page.html")
    names = ["page", *([more] if more else [])]
    style, script = (
        "".join(_part(f"{name}.{kind}") for name in names) for kind in ("css", "js")
    )
    parts = {
        "policy": policy([script]),
        "title": escape(shown(title)),
        "style": style,
        "version": escape(rsbounds.__version__),
        "body": "\n".join(body),
        "script": script,
    }
    replace_file(place, filled(template, parts))


def _part(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def policy(scripts: Iterable[str]) -> str:
    """What lets a browser run these scripts, and no other, and load nothing."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(
        f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests
    )
    nothing = "default-src 'none'; form-action 'none'; base-uri 'none'"
    return (
        f"{nothing}; style-src 'unsafe-inline'; img-src data: blob:; script-src "
        f"{allowed}"
    )


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template with its parts, in one pass: what is filled in is no template."""
    return re.sub(r"@(\w+)@", lambda match: parts[match[1]], template)


def _sortable(lines: Sequence[Sequence[str]]) -> str:
    """A table of cells that `_cell` made, the first line its head."""
    head = "".join(f"<th tabindex=0>{own}</th>" for own in lines[0])
    body = "\n".join(
        f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in lines[1:]
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _cell(text: object, small: object = "") -> str:
    """The HTML of a text, with a smaller one below."""
    below = f"<br><small>{escape(shown(small))}</small>" if small else ""
    return escape(shown(text)) + below


def _noted(notes: Iterable[str]) -> list[str]:
    """Paragraphs below a table."""
    return [f"<p><small>{escape(shown(note))}</small></p>" for note in notes]


def _side_by_side(
    cards: Sequence[Card], names: Sequence[str], settings: Sequence[str]
) -> list[list[str]]:
    """A head, and below it a line for each card with the settings of its own."""
    radii = sorted({own["radius"] for card in cards for own in card["accuracy"]})
    head = ["run", *map(heading, radii), "abstain", "ACR", "inputs"]
    lines = [[*head, *(f"p_A {q:.0%}" for q in QUANTILES), "verified"]]
    for card, name, about in zip(cards, names, settings, strict=True):
        at = {own["radius"]: share_and_interval(own) for own in card["accuracy"]}
        # an abstention rate cut off would be too small: it is rounded
        abstain = "-" if card["abstain"] is None else f"{card['abstain']:.4f}"
        means = (abstain, _number(card["acr"]))
        p_a = (_number(card["p_a"].get(str(q))) for q in QUANTILES)
        rest = *means, card["inputs"], *p_a, proof(card["verified"]).partition(";")[0]
        certified = (_cell(*at.get(radius, "-")) for radius in radii)
        if card["report"] is not None:
            title = shown(card["report"]["title"])
            about = f"{title}, {about}" if about else title
        lines.append([_cell(name, about), *certified, *map(_cell, rest)])
    return lines


def share_and_interval(point: Mapping[str, float]) -> tuple[str, str]:
    """A certified accuracy, and its interval in few characters: columns are many."""
    ends = (f"{point[end]:.3f}".removeprefix("0") for end in ("low", "high"))
    return f"{point['accuracy']:.3f}", "\N{EN DASH}".join(ends)


def _number(value: float | str | None) -> str:
    """A number of a card, cut off."""
    return "-" if value is None else truncated(float(value), 4)


def _rows(files: Sequence[Results], names: Sequence[str]) -> list[list[str]]:
    """All rows, as a file has them; no cell has a tab or a line break."""
    extra = dict.fromkeys(
        key for file in files for row in file.rows for key in row.extra
    )
    columns = (*_COLUMNS, *extra)
    lines = [["run", *columns]]
    for file, name in zip(files, names, strict=True):
        lines += [[name, *row.text(columns).split("\t")] for row in file.rows]
    return [list(map(_cell, line)) for line in lines]


def _manifest(file: Results, name: str) -> str:
    entries = file.manifest.entries() if file.manifest else "none beside the file"
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    summary = f"<summary>{escape(shown(name))}</summary>"
    return f"<details>{summary}<pre>{escape(_lines_of(text))}</pre></details>"


def _lines_of(text: str) -> str:
    """A text of several lines with its other control characters escaped."""
    return "\n".join(map(shown, text.split("\n")))
