"""Certification files as one HTML page that needs nothing else: no network, no server.

Files may come from strangers. Text of theirs reaches the page escaped; and the page's
policy lets a browser run no script but its own, known by their hashes, and load
nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rsbounds
from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.extras import need
from rsbounds._numerics.files import as_path, replace_file, require_writable
from rsbounds._numerics.text import shown
from rsbounds.reports._card import QUANTILES, proof, settings_of
from rsbounds.reports._card import card as card_of
from rsbounds.reports._charts import charts
from rsbounds.reports._compare import from_first
from rsbounds.reports._curves import PlottedCurve
from rsbounds.reports._differences import (
    difference_chart,
    difference_note,
    difference_table,
)
from rsbounds.reports._draw import Chart, svg_of
from rsbounds.reports._frontier import frontier_table, frontier_title
from rsbounds.reports._table import as_files, default_radii, heading
from rsbounds.reports._templates import FOLDER, Markup, html_templates, policy, source
from rsbounds.reports._terms import comparable, marked, numbered
from rsbounds.results import Results
from rsbounds.results.internal import Status

MARK = b"<p>Written by rsbounds "  # of a page that may be replaced
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
    "ACR mostly rewards larger radii on easy inputs, and giving up hard ones raises it "
    "[Sun, Mao, Müller, Vechev, Average certified radius is a poor metric for "
    "randomized smoothing, ICML 2025, arXiv 2410.06895]: compare the curves of p_A "
    "beside it.",
)
_ABOUT_CARDS = (
    "A card whose result file lies beside it is computed again from that file; any "
    "other is its writer's word: rsbounds verify RUN.tsv --card RUN.json checks it.",
    "The best of several cards was picked after seeing results: its accuracy is not "
    "that of one run.",
)
Card = Mapping[str, Any]


class Cell(NamedTuple):
    """A text of a table, and a smaller one below it."""

    text: object
    small: object = ""


Lines = list[list[Cell]]


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
        The page, some 50 KB and 80 bytes for each row.

    Raises
    ------
    ValueError, OSError
        When no file has a row, or for an argument that is no list of Results or no
        path; if the page can't be written.

    Examples
    --------
    >>> html([read("wide.tsv"), read("narrow.tsv")], "report.html")  # doctest: +SKIP
    """
    need("matplotlib", "a page")
    files, place = as_files(files, rows=True), as_path("path", path)
    require_writable(place, MARK)
    names, footnotes = marked(files)
    reports = [file.report() for file in files]
    classified = [
        (file, name)
        for file, name, report in zip(files, names, reports, strict=True)
        if report is None
    ]
    parts: dict[str, Any] = {"runs": None, "tables": []}
    if classified:
        parts, notes = _of_classes(*zip(*classified, strict=True))
        footnotes += notes
    for file, name, report in zip(files, names, reports, strict=True):
        if report is not None:
            title = f"{name}: {len(file.rows)} inputs, {report.title}"
            parts["tables"].append((title, _cells(report.table)))
    parts |= {
        "title": ", ".join(names),
        "notes": footnotes,
        "rows": _rows(files, names),
        "manifests": list(zip(names, map(_manifest, files), strict=True)),
    }
    _write(place, "report.html", parts)


def _of_classes(
    files: Sequence[Results], names: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """The tables and the charts of certified accuracies, and the notes on them."""
    radii, best = default_radii(files), comparable(files)
    cards = [card_of(file, radii) for file in files]
    shared, distinct = _settings(cards)
    lines = _side_by_side(cards, names, distinct)
    runs = [line[:-1] for line in lines]  # but for "verified"
    for label, group in best:
        shares = np.max([file.certified_accuracy(radii) for file in group], axis=0)
        rest = ["-"] * (len(runs[0]) - 1 - len(shares))
        texts = [label, *(f"{share:.3f}" for share in shares), *rest]
        runs.append(list(map(Cell, texts)))
    drawn = charts(files, names)
    notes = [*([_BEST] if best else []), *_NOTES]
    tables: list[tuple[str, Lines]] = []
    first, differences = from_first(files, radii)
    if differences:
        drawn["difference"] = difference_chart(names, first, differences)
        notes.append(difference_note())
        title = f"Differences from {names[first]}, on the inputs of both"
        table = difference_table(names, differences)
        tables.append((title, [[Cell(*texts) for texts in line] for line in table]))
    for file, name in zip(files, names, strict=True):
        frontier = frontier_table(file)
        if frontier is not None:
            tables.append((f"{name}: {frontier_title(file)}", _cells(frontier)))
    parts = {
        "shared": [f"All runs: {shared}"] if shared else [],
        "runs": runs,
        "charts": {place: _drawn(place, chart) for place, chart in drawn.items()},
        "tables": tables,
    }
    return parts, notes


def _drawn(place: str, chart: Chart) -> dict[str, Any]:
    """A chart as the template takes it: its picture, and its legend's lines."""
    line = {"dash": "solid", "is_best": False, "width": 6}
    legend = [line | curve._asdict() for curve in map(_wide_if_best, chart.curves)]
    legend += [line | bars._asdict() for bars in chart.bars]
    svg = Markup(svg_of(chart, place))
    return {"title": chart.title, "svg": svg, "series": legend}


def _wide_if_best(curve: PlottedCurve) -> PlottedCurve:
    """A curve whose line in a legend is as wide as that of the chart."""
    return curve._replace(width=5.0) if curve.is_best else curve


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
    parts = (f"{', '.join(texts)} ({status})" for status, texts in by_status.items())
    return "; ".join(parts)


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
    need("jinja2", "a page")
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
    terms = [
        {"bound": card["procedure"].get("bound"), **card["about"]} for card in cards
    ]
    compared = ("norm", "alpha", "n", "bound", "data")
    if apart := [name for name in compared if len({t.get(name) for t in terms}) > 1]:
        text = (
            f"The cards differ in {', '.join(apart)}: their numbers are not of one "
            "kind."
        )
        footnotes.append(text)
    # cards are of many hands: each says all of its settings
    settings = [_listed(settings_of(card)) for card in cards]
    lines = _side_by_side(cards, names, settings)
    lines[0].append(Cell("checked"))
    verdicts = [False] * len(cards) if checked is None else checked
    for line, is_checked in zip(lines[1:], verdicts, strict=True):
        text = "against its file" if is_checked else "its writer's word"
        line.append(Cell(text))
    notes_below = [*footnotes, *_ABOUT_CARDS, *_NOTES[:1]]
    parts = {"title": "cards", "runs": lines, "notes": notes_below}
    _write(place, "cards.html", parts)


def _write(place: Path, template: str, parts: Mapping[str, Any]) -> None:
    """Fill in a page with its styles and its script."""
    names = ["page"] + ["report"] * (template == "report.html")
    style, script = (
        source(*(FOLDER / f"{name}.{kind}" for name in names)) for kind in ("css", "js")
    )
    page = html_templates().get_template(template)
    text = page.render(
        parts,
        policy=Markup(policy([script])),
        style=style,
        script=script,
        version=rsbounds.__version__,
    )
    replace_file(place, text)


def _cells(lines: Sequence[Sequence[object]]) -> Lines:
    """Lines of a table whose cells have no smaller text."""
    return [list(map(Cell, line)) for line in lines]


def _side_by_side(
    cards: Sequence[Card], names: Sequence[str], settings: Sequence[str]
) -> Lines:
    """A head, and below it a line for each card with the settings of its own."""
    radii = sorted({at["radius"] for card in cards for at in card["accuracy"]})
    head = ["run", *map(heading, radii), "abstain", "ACR", "inputs"]
    names_of_quantiles = (f"p_A {q:.0%}" for q in QUANTILES)
    lines = _cells([[*head, *names_of_quantiles, "verified"]])
    for card, name, about in zip(cards, names, settings, strict=True):
        at = {
            point["radius"]: Cell(*share_and_interval(point))
            for point in card["accuracy"]
        }
        # an abstention rate cut off would be too small: it is rounded
        abstain = "-" if card["abstain"] is None else f"{card['abstain']:.4f}"
        means = (abstain, _number(card["acr"]))
        p_a = (_number(card["p_a"].get(str(q))) for q in QUANTILES)
        rest = *means, card["inputs"], *p_a, proof(card["verified"]).partition(";")[0]
        certified = (at.get(radius, Cell("-")) for radius in radii)
        if card["report"] is not None:
            title = shown(card["report"]["title"])
            about = f"{title}, {about}" if about else title
        lines.append([Cell(name, about), *certified, *map(Cell, rest)])
    return lines


def share_and_interval(point: Mapping[str, float]) -> tuple[str, str]:
    """A certified accuracy, and its interval in few characters: columns are many."""
    ends = (f"{point[end]:.3f}".removeprefix("0") for end in ("low", "high"))
    return f"{point['accuracy']:.3f}", "\N{EN DASH}".join(ends)


def _number(value: float | str | None) -> str:
    """A number of a card, cut off."""
    return "-" if value is None else truncated(float(value), 4)


def _rows(files: Sequence[Results], names: Sequence[str]) -> str:
    """All rows as text, below a head: a line each, its cells separated by tabs."""
    extra = dict.fromkeys(
        key for file in files for row in file.rows for key in row.extra
    )
    columns = (*_COLUMNS, *extra)
    lines = [["run", *columns]]
    for file, name in zip(files, names, strict=True):
        lines += [[name, *row.text(columns).split("\t")] for row in file.rows]
    return "\n".join("\t".join(map(shown, line)) for line in lines)


def _manifest(file: Results) -> str:
    """The manifest's entries as text of several lines."""
    entries = file.manifest.entries() if file.manifest else "none beside the file"
    return json.dumps(entries, indent=2, ensure_ascii=False)
