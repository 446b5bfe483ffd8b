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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.extras import need
from rsbounds._numerics.files import require_writable
from rsbounds._numerics.text import shown
from rsbounds.certificate import ABSTAIN
from rsbounds.results._card import QUANTILES, proof, settings_of, share_of
from rsbounds.results._card import card as card_of
from rsbounds.results._compare import from_first
from rsbounds.results._facts import Status
from rsbounds.results._file import _replace
from rsbounds.results._html_differences import difference_chart, difference_table
from rsbounds.results._html_parts import cell, chart_of, division, noted, sortable
from rsbounds.results._plot import COLOURS, curves, steps
from rsbounds.results._results import Results
from rsbounds.results._row import Row
from rsbounds.results._table import as_files, default_radii, heading
from rsbounds.results._terms import comparable, marked, numbered
from rsbounds.results._text import as_path

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
    "Another "
    "classifier may be the best at another radius, so that this is no certificate of "
    "any one."
)
_NOTES = (
    "The intervals (Clopper-Pearson, 95 %) are for inputs drawn at random from many: "
    "smaller "
    "differences between runs may be chance, unless the runs saw the same inputs.",
    "ACR grows most with what is easy already and can be raised by giving up the hard "
    "inputs "
    "[Sun, Mao, Müller, Vechev, Average certified radius is a poor metric for "
    "randomized "
    "smoothing, ICML 2025, arXiv 2410.06895]: compare the curves of p_A beside it.",
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
    best of runs that can be compared; p_A; all rows; manifests. Columns of tables sort.

    Parameters
    ----------
    files : list of Results
    path : path-like
        The page, some 5 MB: the plotting library is in it.

    Raises
    ------
    ImportError, ValueError, OSError
        Without plotly; as `plot`.

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
    scripts: list[str] = []
    if classified:
        parts, scripts = _of_classes(*zip(*classified, strict=True))
    for file, name, report in zip(files, names, reports, strict=True):
        if report is not None:
            title = f"{name}: {len(file.rows)} inputs, {report.title}"
            lines = [list(map(cell, line)) for line in report.table]
            parts += [f"<h2>{escape(shown(title))}</h2>", sortable(lines)]
    # behind the table of classes
    behind = next((i + 1 for i, part in enumerate(parts) if "<table" in part), 1)
    parts[behind:behind] = noted(footnotes)
    # shut, because a browser lays out the cells of an open table of many rows for
    # minutes
    table = sortable(_rows(files, names))
    parts += [
        f"<h2>Rows</h2><details><summary>all rows</summary>{table}",
        "</details><h2>Manifests</h2>",
        *map(_manifest, files, names),
    ]
    _write(place, ", ".join(names), parts, scripts)


def _of_classes(
    files: Sequence[Results], names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The table and the charts of certified accuracies, and the scripts in them."""
    plotly = need("plotly.io", "an HTML report")
    drawn: list[str] = []
    for place, figure in charts(files, names).items():
        drawn.append(division(plotly, place, figure, script=not drawn))
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
    notes = [*([_BEST] if best else []), *_NOTES]
    first, differences = from_first(files, radii)
    if differences:
        figure = difference_chart(names, first, differences)
        drawn.append(division(plotly, "difference", figure, script=False))
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", "".join(drawn), re.DOTALL)
    above = noted([f"All runs: {shared}"] if shared else [])
    beside = difference_table(names, first, differences)
    return [*above, sortable(runs), *noted(notes), *beside, *drawn], scripts


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
    below = noted([*footnotes, *_ABOUT_CARDS, *_NOTES[:1]])
    # cards are of many hands: each says all of its settings
    settings = [_listed(settings_of(card)) for card in cards]
    lines = _side_by_side(cards, names, settings)
    lines[0].append("checked")
    given = [False] * len(cards) if checked is None else checked
    for line, is_checked in zip(lines[1:], given, strict=True):
        line.append("against its file" if is_checked else "its writer's word")
    _write(place, "cards", [sortable(lines), *below])


def _write(
    place: Path, title: str, body: Iterable[str], scripts: Sequence[str] = ()
) -> None:
    """Fill in the page; ``scripts`` are those that stand in its body."""
    template, style, script = (
        (_PAGE / f"page.{kind}").read_text(encoding="utf-8")
        for kind in ("html", "css", "js")
    )
    parts = {
        "policy": policy([*scripts, script]),
        "title": escape(shown(title)),
        "style": style,
        "version": escape(rsbounds.__version__),
        "body": "\n".join(body),
        "script": script,
    }
    _replace(place, filled(template, parts))


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
        certified = (cell(*at.get(radius, "-")) for radius in radii)
        if card["report"] is not None:
            title = shown(card["report"]["title"])
            about = f"{title}, {about}" if about else title
        lines.append([cell(name, about), *certified, *map(cell, rest)])
    return lines


def share_and_interval(point: Mapping[str, float]) -> tuple[str, str]:
    """A certified accuracy, and its interval in few characters: columns are many."""
    ends = (f"{point[end]:.3f}".removeprefix("0") for end in ("low", "high"))
    return f"{point['accuracy']:.3f}", "\N{EN DASH}".join(ends)


def _number(value: float | str | None) -> str:
    """A number of a card, cut off."""
    return "-" if value is None else truncated(float(value), 4)


def _rows(files: Sequence[Results], names: Sequence[str]) -> list[list[str]]:
    """All rows, as a file has them."""
    extra = dict.fromkeys(
        key for file in files for row in file.rows for key in row.extra
    )
    columns = (*_COLUMNS, *extra)
    lines = [["run", *columns]]
    for file, name in zip(files, names, strict=True):
        lines += [[name, *row.text(columns).split("\t")] for row in file.rows]
    return [list(map(cell, line)) for line in lines]


def _manifest(file: Results, name: str) -> str:
    entries = file.manifest.entries() if file.manifest else "none beside the file"
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    summary = f"<summary>{escape(shown(name))}</summary>"
    return f"<details>{summary}<pre>{escape(_lines_of(text))}</pre></details>"


def _lines_of(text: str) -> str:
    """A text of several lines with its other control characters escaped."""
    return "\n".join(map(shown, text.split("\n")))


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Name of a place in the page -> what plotly draws there; names of strangers are
    escaped.
    """
    each = zip(names, files, strict=True)
    bounds = [(name, [p_a]) for name, own in each if (p_a := own.p_a())]
    shares = "share of inputs whose p_A is at least so large"
    return {
        "curves": chart_of(
            curves(files, names), "certified accuracy over the radius", "radius"
        ),
        "p_a": chart_of(steps(bounds, 1.0), shares, "p_A"),
        "accuracy": _by_class(files, names, "accuracy", lambda row: row.correct),
        "abstention": _by_class(
            [_sampled(file) for file in files],
            names,
            "abstention",
            lambda row: row.predict == ABSTAIN,
        ),
    }


def _sampled(file: Results) -> Results:
    """The rows whose inputs were sampled, whatever class was selected."""
    rows = tuple(row for row in file.rows if not row.is_left_out)
    return replace(file, rows=rows)


def _by_class(
    files: Sequence[Results],
    names: Sequence[str],
    what: str,
    hit: Callable[[Row], bool],
) -> dict[str, Any]:
    """A share of each class for each file, with its interval."""
    traces = []
    for i, (name, file) in enumerate(zip(names, files, strict=True)):
        parts = file.by_class()
        each = [
            share_of(sum(map(hit, part.rows)), len(part.rows))
            for part in parts.values()
        ]
        shares, lows, highs = np.reshape(each, (-1, 3)).T
        error = {"type": "data", "symmetric": False, "array": (highs - shares).tolist()}
        error["arrayminus"] = (shares - lows).tolist()
        trace = {
            "type": "bar",
            "name": escape(shown(name)),
            "x": list(parts),
            "y": shares.tolist(),
        }
        marker = {"color": COLOURS[i % len(COLOURS)]}
        traces.append({**trace, "error_y": error, "marker": marker})
    figure = chart_of([], f"{what} by class", "class")
    figure["layout"]["xaxis"]["type"] = "category"
    return {"data": traces, "layout": {**figure["layout"], "barmode": "group"}}
