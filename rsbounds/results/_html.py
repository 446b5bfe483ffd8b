"""Certification files as one HTML page that needs nothing else: no network, no server.

Files may come from strangers. Text of theirs reaches the page escaped, or as JSON that a script
sets as text; and the page's policy lets a browser run no script but the page's own two, known by
their hashes, and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.extras import need
from rsbounds.results._charts import LEVEL, charts, cut, interval, true_class
from rsbounds.results._compare import as_files, comparable, marked, setting
from rsbounds.results._results import Results
from rsbounds.results._row import Row
from rsbounds.results._table import cells, default_radii, heading, measures
from rsbounds.results._text import as_path, naming, truncated

_PAGE = Path(__file__).parent / "_page"
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_COLUMNS = ("idx", "label", "predict", "radius", "correct", "p_a", "sigma", "count", "n", "time")
_BEST = (
    "Best of several runs: at each radius the highest of their certified accuracies. Another "
    "classifier may be the best at another radius, so that this is no certificate of any one."
)
_NOTES = (
    "The intervals (Clopper-Pearson) are for inputs drawn at random from many: smaller differences "
    "between runs may be chance, unless the runs saw the same inputs.",
    "ACR grows most with what is easy already and can be raised by giving up the hard inputs "
    "[Sun, Mao, Müller, Vechev, Average certified radius is a poor metric for randomized "
    "smoothing, ICML 2025, arXiv 2410.06895]: compare the quantiles of p_A beside it.",
)


def html(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Write certification files side by side as one self-contained HTML page.

    A table of the runs; certified accuracy over the radius, exact step curves, with the best of
    runs that can be compared; p_A; accuracy and abstention by class; rows that sort; manifests.

    Parameters
    ----------
    files : list of Results
    path : path-like
        The page, some 5 MB: the plotting library is in it.

    Raises
    ------
    ImportError
        Without plotly.
    ValueError
        When no file has a row, or for an argument that is no list of Results or no path.
    OSError
        When the page can't be written.

    Examples
    --------
    >>> html([read("wide.tsv"), read("narrow.tsv")], "report.html")  # doctest: +SKIP
    """
    get_plotlyjs = need("plotly.offline", "an HTML report").get_plotlyjs
    files, place = as_files(files, rows=True), as_path("path", path)
    names, footnotes = marked(files)
    plotly, script = get_plotlyjs(), (_PAGE / "page.js").read_text(encoding="utf-8")
    parts = {
        "policy": _policy(plotly, script),
        "title": escape(", ".join(names)),
        "style": (_PAGE / "page.css").read_text(encoding="utf-8"),
        "version": escape(rsbounds.__version__),
        "summary": _summary(files, names, footnotes),
        "manifests": "\n".join(map(_manifest, files, names)),
        "data": _data(files, names),
        "plotly": plotly,
        "script": script,
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


def _summary(files: Sequence[Results], names: Sequence[str], footnotes: Sequence[str]) -> str:
    """The table of the runs, and what must be said of them."""
    radii, best = default_radii(files), comparable(files)
    head = ["run", *map(heading, radii), f"{LEVEL:.0%} interval", "abstain", "ACR", "inputs"]
    head += [f"p_A {q:.0%}" for q in _QUANTILES]
    lines = [_run(file, name, radii) for file, name in zip(files, names, strict=True)]
    for label, group in best:
        highest = np.max([measures(file, radii) for file in group], axis=0)
        lines.append([escape(label), *cells(highest)[3:], *["-"] * (4 + len(_QUANTILES))])
    body = "\n".join(_tags(line, "td") for line in lines)
    table = f"<thead>{_tags(map(escape, head), 'th')}</thead>\n<tbody>{body}</tbody>"
    notes = [*footnotes, *([_BEST] if best else []), *_NOTES]
    texts = (f"<p class='note'>{escape(note)}</p>" for note in notes)
    return "\n".join([f"<div class='scroll'><table id='runs'>{table}</table></div>", *texts])


def _run(file: Results, name: str, radii: Sequence[float]) -> list[str]:
    """The line of a run, with what it rests on below its name."""
    rests = ", ".join(f"{key} {value}" for key, value in setting([file]).items())
    first = f"{escape(name)}<br><small>{escape(rests)}</small>"
    _, abstain, acr, *certified = cells(measures(file, radii))
    count, p_a = len(file.rows), true_class(file) or [math.nan]
    low, high = interval(sum(row.correct for row in file.rows), count) if count else (0.0, 1.0)
    quantiles = (truncated(float(p), 4) for p in np.quantile(p_a, _QUANTILES, method="lower"))
    ends = f"{low:.3f} to {high:.3f}"
    return [first, *certified, ends, abstain, acr, str(count), *quantiles]


def _tags(cells: Any, tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"


def _manifest(file: Results, name: str) -> str:
    if file.manifest is None:
        return f"<p>{escape(name)}: no manifest beside the file.</p>"
    text = json.dumps(file.manifest.entries(), indent=2, ensure_ascii=False)
    return f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"


def _data(files: Sequence[Results], names: Sequence[str]) -> str:
    """Charts and rows as JSON that no HTML parser takes for markup."""
    extra = list(dict.fromkeys(key for file in files for row in file.rows for key in row.extra))
    data = {
        "charts": charts(files, names),
        "columns": ["run", *_COLUMNS, *extra],
        "runs": list(names),
        "rows": [[i, *_cells(row, extra)] for i, file in enumerate(files) for row in file.rows],
    }
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _cells(row: Row, extra: Sequence[str]) -> list[Any]:
    radius, p_a = (cut(x) if math.isfinite(x) else truncated(x) for x in (row.radius, row.p_a))
    sigma = float(f"{row.sigma:.6g}") if math.isfinite(row.sigma) else "-"
    own = [row.idx, row.label, row.predict, radius, int(row.correct), p_a, sigma]
    own += [row.count, row.n, round(row.seconds, 3)] if row.n else ["-", "-", row.time or "-"]
    return own + [row.extra.get(key, "") for key in extra]
