"""Certification files as one HTML page that needs nothing else: no network, no server.

Files may come from strangers. Text of theirs reaches the page escaped; and the page's policy lets
a browser run no script but its own, known by their hashes, and load nothing.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.extras import need
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.results._plot import Curve, curves, steps
from rsbounds.results._results import Results
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
    runs that can be compared; p_A; all rows; manifests. Columns of tables sort.

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
    parts = [
        sortable(_runs(files, names)),
        *noted([*footnotes, *([_BEST] if comparable(files) else []), *_NOTES]),
        *drawn,
        f"<h2>Rows</h2>{sortable(_rows(files, names))}<h2>Manifests</h2>",
        *map(_manifest, files, names),
    ]
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", "".join(drawn), re.DOTALL)
    write_page(place, ", ".join(names), parts, scripts)


def write_page(place: Path, title: str, body: Iterable[str], scripts: Sequence[str] = ()) -> None:
    """Fill in the page; ``scripts`` are those that stand in its body."""
    template, style, script = (
        (_PAGE / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    digests = (hashlib.sha256(own.encode()).digest() for own in (*scripts, script))
    own = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    nothing = "default-src 'none'; form-action 'none'; base-uri 'none'"
    parts = {
        "policy": f"{nothing}; style-src 'unsafe-inline'; img-src data: blob:; script-src {own}",
        "title": escape(title),
        "style": style,
        "version": escape(rsbounds.__version__),
        "body": "\n".join(body),
        "script": script,
    }
    text = re.sub(r"@(\w+)@", lambda match: parts[match[1]], template)  # in one pass
    with naming(place):
        place.write_text(text, encoding="utf-8", newline="\n")


def sortable(lines: Sequence[Sequence[str]]) -> str:
    """A table of cells that :func:`cell` made, the first line its head."""
    head = "".join(f"<th tabindex=0>{own}</th>" for own in lines[0])
    body = "\n".join(f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in lines[1:])
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def cell(text: object, small: object = "") -> str:
    """The HTML of a text, with a smaller one below."""
    below = f"<br><small>{escape(str(small))}</small>" if small else ""
    return escape(str(text)) + below


def noted(notes: Iterable[str]) -> list[str]:
    """Paragraphs below a table."""
    return [f"<p><small>{escape(note)}</small></p>" for note in notes]


def _runs(files: Sequence[Results], names: Sequence[str]) -> list[list[str]]:
    """The runs: certified accuracy, an interval, the means, quantiles of p_A; the best of runs."""
    radii = default_radii(files)
    head = ["run", *map(heading, radii), "95 % interval", "abstain", "ACR", "inputs"]
    lines = [[*head, *(f"p_A {q:.0%}" for q in QUANTILES)]]
    for file, name in zip(files, names, strict=True):
        _, abstain, acr, *certified = as_cells(measures(file, radii))
        low, high = interval(sum(row.correct for row in file.rows), len(file.rows))
        rests = ", ".join(f"{key} {value}" for key, value in setting([file]).items())
        own = [f"{low:.3f} to {high:.3f}", abstain, acr, str(len(file.rows))]
        p_a = (truncated(p, 4) for p in quantiles(file))
        lines.append([cell(name, rests), *certified, *own, *p_a])
    for label, group in comparable(files):
        highest = np.max([measures(file, radii) for file in group], axis=0)
        lines.append([cell(label), *as_cells(highest)[3:], *["-"] * (4 + len(QUANTILES))])
    return lines


def _rows(files: Sequence[Results], names: Sequence[str]) -> list[list[str]]:
    """All rows, as a file has them."""
    extra = dict.fromkeys(key for file in files for row in file.rows for key in row.extra)
    columns = (*_COLUMNS, *extra)
    lines = [["run", *columns]]
    for file, name in zip(files, names, strict=True):
        lines += [[name, *row.text(columns).split("\t")] for row in file.rows]
    return [list(map(cell, line)) for line in lines]


def _manifest(file: Results, name: str) -> str:
    entries = file.manifest.entries() if file.manifest else "none beside the file"
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    return f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Name of a place in the page -> what plotly draws there; names of strangers are escaped."""
    bounds = [(name, [p_a]) for name, own in zip(names, files, strict=True) if (p_a := _p_a(own))]
    shares = "share of inputs whose p_A is at least so large"
    return {
        "curves": _lines(curves(files, names), "certified accuracy over the radius", "radius"),
        "p_a": _lines(steps(bounds, 1.0), shares, "p_A"),
    }


def _p_a(file: Results) -> list[float]:
    """Lower bounds of the true class's probability: p_A where it is certified, else 0."""
    return [row.p_a if row.correct else 0.0 for row in file.rows if row.p_a >= 0]


def quantiles(file: Results) -> list[float]:
    """``QUANTILES`` of these bounds over the inputs; NaN where the file has none."""
    values: list[float] = np.quantile(_p_a(file) or [np.nan], QUANTILES, method="lower").tolist()
    return values


def interval(count: int, n: int) -> tuple[float, float]:
    """Clopper-Pearson interval of a share: ``count`` of ``n`` inputs drawn from many."""
    if not n:
        return 0.0, 1.0
    return float(lower_bound(count, n, _TAIL)), float(upper_bound(count, n, _TAIL))


def _lines(drawn: Sequence[Curve], title: str, x: str) -> dict[str, Any]:
    traces = []
    for curve in drawn:
        # between two steps it is as high as at the next: vertical first, then horizontal
        line = {"shape": "vh", "color": curve.colour, "dash": curve.dash, "width": curve.width}
        edges = [float(truncated(float(edge), _DIGITS)) for edge in curve.edges]
        heights = [round(float(share), _DIGITS) for share in curve.heights]
        trace = {"type": "scatter", "mode": "lines", "name": escape(curve.name), "line": line}
        traces.append({**trace, "x": edges, "y": heights})
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"rangemode": "tozero"}}
    font = {"family": "system-ui, sans-serif", "size": 13}  # the page's
    own = {"title": {"text": title}, "showlegend": True, "hovermode": "closest", "font": font}
    return {"data": traces, "layout": own | axes}
