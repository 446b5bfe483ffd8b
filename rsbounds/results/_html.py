"""Certification files as one HTML page that needs nothing else: no network, no server.

Files may come from strangers. Text of theirs reaches the page escaped; and the page's policy lets
a browser run no script but those of the charts, known by their hashes, and load nothing.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.extras import need
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.results._plot import COLOURS, Curve, curves, steps
from rsbounds.results._results import Results
from rsbounds.results._row import Row
from rsbounds.results._table import (
    as_cells,
    as_files,
    comparable,
    default_radii,
    heading,
    marked,
    measures,
    setting,
)
from rsbounds.results._text import as_path, naming, truncated

_PAGE = Path(__file__).parent / "_page"
_TAIL = 0.025  # on either side of an interval
_DIGITS = 6  # of what curves show
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_COLUMNS = ("idx", "label", "predict", "radius", "correct", "p_a", "sigma", "count", "n", "time")
_BEST = (
    "Best of several runs: at each radius the highest of their certified accuracies. Another "
    "classifier may be the best at another radius, so that this is no certificate of any one."
)
_NOTES = (
    "The intervals (Clopper-Pearson, 95 %) are for inputs drawn at random from many: smaller "
    "differences between runs may be chance, unless the runs saw the same inputs.",
    "ACR grows most with what is easy already and can be raised by giving up the hard inputs "
    "[Sun, Mao, Müller, Vechev, Average certified radius is a poor metric for randomized "
    "smoothing, ICML 2025, arXiv 2410.06895]: compare the curves of p_A beside it.",
)


def html(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Write certification files side by side as one self-contained HTML page.

    A table of the runs; certified accuracy over the radius, exact step curves, with the best of
    runs that can be compared; p_A; accuracy and abstention by class; all rows; manifests.

    Parameters
    ----------
    files : list of Results
    path : path-like
        The page, some 5 MB: the plotting library is in it.

    Raises
    ------
    ImportError
        Without plotly.
    ValueError, OSError
        As `plot`.

    Examples
    --------
    >>> html([read("wide.tsv"), read("narrow.tsv")], "report.html")  # doctest: +SKIP
    """
    plotly = need("plotly.io", "an HTML report")
    files, place = as_files(files, rows=True), as_path("path", path)
    names, footnotes = marked(files)
    config = {"displaylogo": False, "showSendToCloud": False}  # nothing goes to its makers
    options = {"config": config, "full_html": False, "validate": False}
    drawn: list[str] = []
    for name, figure in charts(files, names).items():
        own = {"div_id": name, "include_plotlyjs": not drawn, "default_height": "450px"}
        drawn.append(plotly.to_html(figure, **options, **own))
    script = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
    notes = [*footnotes, *([_BEST] if comparable(files) else []), *_NOTES]
    parts = {
        "policy": _policy(*(own for each in drawn for own in script.findall(each))),
        "title": escape(", ".join(names)),
        "style": (_PAGE / "page.css").read_text(encoding="utf-8"),
        "version": escape(rsbounds.__version__),
        "table": _table(files, names),
        "notes": "\n".join(f"<p><small>{escape(note)}</small></p>" for note in notes),
        "charts": "\n".join(drawn),
        "manifests": "\n".join(map(_manifest, files, names)),
    }
    with naming(place):
        place.write_text(_filled("page.html", parts), encoding="utf-8", newline="\n")


def _filled(name: str, parts: Mapping[str, str]) -> str:
    """A template with its parts put in, in one pass."""
    template = (_PAGE / name).read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda match: parts[match[1]], template)


def _policy(*scripts: str) -> str:
    """What a browser may do with the page: run these scripts, and load nothing."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    own = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    nothing = "default-src 'none'; form-action 'none'; base-uri 'none'"
    return f"{nothing}; style-src 'unsafe-inline'; img-src data: blob:; script-src {own}"


def _table(files: Sequence[Results], names: Sequence[str]) -> str:
    """The runs: certified accuracy, an interval, the means, quantiles of p_A; the best of runs."""
    radii = default_radii(files)
    head = ["run", *map(heading, radii), "95 % interval", "abstain", "ACR", "inputs"]
    body = [[*head, *(f"p_A {q:.0%}" for q in QUANTILES)]]
    for file, name in zip(files, names, strict=True):
        _, abstain, acr, *certified = as_cells(measures(file, radii))
        low, high = interval(sum(row.correct for row in file.rows), len(file.rows))
        p_a = np.quantile(true_class(file) or [np.nan], QUANTILES, method="lower").tolist()
        rests = ", ".join(f"{key} {value}" for key, value in setting([file]).items())
        first = f"{escape(name)}<br><small>{escape(rests)}</small>"
        own = [f"{low:.3f} to {high:.3f}", abstain, acr, str(len(file.rows))]
        body.append([first, *certified, *own, *(truncated(p, 4) for p in p_a)])
    for label, group in comparable(files):
        highest = np.max([measures(file, radii) for file in group], axis=0)
        body.append([escape(label), *as_cells(highest)[3:], *["-"] * (4 + len(QUANTILES))])
    tags = ["th", *["td"] * len(body)]
    rows = (
        f"<{t}>{f'</{t}><{t}>'.join(cells)}</{t}>" for t, cells in zip(tags, body, strict=False)
    )
    return "".join(f"<tr>{row}</tr>\n" for row in rows)


def _manifest(file: Results, name: str) -> str:
    entries = file.manifest.entries() if file.manifest else "none beside the file"
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    return f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"


# --- charts


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Name of a place in the page -> what plotly draws there; names of strangers are escaped."""
    shown = [(name, file) for file, name in zip(files, names, strict=True) if file.rows]
    known = [(name, [p_a]) for name, file in shown if (p_a := true_class(file))]
    shares = "share of inputs whose p_A is at least so large"
    return {
        "curves": _lines(curves(files, names), "certified accuracy over the radius", "radius"),
        "p_a": _lines(steps(known, 1.0), shares, "p_A"),
        "accuracy": _by_class(shown, "accuracy by class", lambda row: row.correct),
        "abstention": _by_class(shown, "abstention by class", lambda row: row.predict == ABSTAIN),
        "rows": _rows(shown),
    }


def true_class(file: Results) -> list[float]:
    """Lower bounds of the true class's probability: p_A where it is certified, else 0."""
    return [row.p_a if row.correct else 0.0 for row in file.rows if row.p_a >= 0]


def interval(count: int, n: int) -> tuple[float, float]:
    """Clopper-Pearson interval of a share: ``count`` of ``n`` inputs drawn from many."""
    if not n:
        return 0.0, 1.0
    return float(lower_bound(count, n, _TAIL)), float(upper_bound(count, n, _TAIL))


def _layout(title: str, x: str, **more: Any) -> dict[str, Any]:
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"rangemode": "tozero"}}
    font = {"family": "system-ui, sans-serif", "size": 13}  # the page's
    own = {"title": {"text": title}, "showlegend": True, "hovermode": "closest", "font": font}
    return own | axes | more


def _lines(drawn: Sequence[Curve], title: str, x: str) -> dict[str, Any]:
    traces = []
    for curve in drawn:
        # between two steps it is as high as at the next: vertical first, then horizontal
        line = {"shape": "vh", "color": curve.colour, "dash": curve.dash, "width": curve.width}
        edges = [float(truncated(float(edge), _DIGITS)) for edge in curve.edges]
        heights = [round(float(share), _DIGITS) for share in curve.heights]
        trace = {"type": "scatter", "mode": "lines", "name": escape(curve.name), "line": line}
        traces.append({**trace, "x": edges, "y": heights})
    return {"data": traces, "layout": _layout(title, x)}


def _by_class(
    shown: Sequence[tuple[str, Results]], title: str, hit: Callable[[Row], bool]
) -> dict[str, Any]:
    """A share of each class for each file, with its interval."""
    traces = []
    for i, (name, file) in enumerate(shown):
        parts = file.by_class()
        counts = [(sum(map(hit, part.rows)), len(part.rows)) for part in parts.values()]
        shares = np.array([hits / size for hits, size in counts])
        lows, highs = np.transpose([interval(*count) for count in counts])
        error = {"type": "data", "symmetric": False, "array": (highs - shares).tolist()}
        error["arrayminus"] = (shares - lows).tolist()
        trace = {"type": "bar", "name": escape(name), "x": list(parts), "y": shares.tolist()}
        texts = {"text": [f"{hits} of {size}" for hits, size in counts], "textposition": "none"}
        marker = {"color": COLOURS[i % len(COLOURS)]}
        traces.append({**trace, **texts, "error_y": error, "marker": marker})
    layout = _layout(title, "class", barmode="group")
    layout["xaxis"]["type"] = "category"
    return {"data": traces, "layout": layout}


def _rows(shown: Sequence[tuple[str, Results]]) -> dict[str, Any]:
    """All rows, column by column; numbers are cut off."""
    rows = [row for _, file in shown for row in file.rows]
    extra = dict.fromkeys(key for row in rows for key in row.extra)
    columns = [[escape(name) for name, file in shown for _ in file.rows]]
    columns += [[_cell(getattr(row, name)) for row in rows] for name in _COLUMNS]
    columns += [[escape(row.extra.get(name, "")) for row in rows] for name in extra]
    head = {"values": ["run", *_COLUMNS, *map(escape, extra)]}
    table = {"type": "table", "header": head, "cells": {"values": columns}}
    return {"data": [table], "layout": _layout("rows", "")}


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return truncated(value, _DIGITS)
    return int(value) if isinstance(value, int) else escape(str(value))
