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
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import rsbounds
from rsbounds._numerics.extras import need
from rsbounds.results._charts import LEVEL, charts, cut, interval, true_class
from rsbounds.results._compare import marked
from rsbounds.results._results import Results
from rsbounds.results._row import Row
from rsbounds.results._table import default_radii
from rsbounds.results._text import naming, truncated

_PAGE = Path(__file__).parent / "_page"
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_COLUMNS = ("idx", "label", "predict", "radius", "correct", "p_a", "sigma", "count", "n", "time")
_NOTES = (
    "The intervals are for inputs drawn at random from many: smaller differences between runs may "
    "be chance, unless the runs saw the same inputs.",
    "ACR grows most with what is easy already and can be raised by giving up the hard inputs "
    "[Sun, Mao, Müller, Vechev, Average certified radius is a poor metric for randomized "
    "smoothing, ICML 2025, arXiv 2410.06895]: compare the quantiles of p_A beside it.",
)


def html(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Write certification files side by side as one self-contained HTML page.

    Certified accuracy over the radius, exact step curves, with the best of runs that can be
    compared; what becomes of the inputs; the distributions of radius and p_A; accuracy and
    abstention by class; all rows in a table that sorts; the manifests.

    Parameters
    ----------
    files : sequence of Results
    path : path-like
        The page, some 5 MB: the plotting library is in it.

    Raises
    ------
    ImportError
        Without plotly.
    ValueError
        When no file has a row.
    OSError
        When the page can't be written.

    Notes
    -----
    Accuracies come with Clopper-Pearson intervals of 95 %, for inputs drawn from many; p_A's
    quantiles are those of lower bounds of the true class's probability, 0 where the class is
    wrong or the classifier abstains.

    Examples
    --------
    >>> from rsbounds.results import html, read
    >>> html([read("wide.tsv"), read("narrow.tsv")], "report.html")  # doctest: +SKIP
    """
    get_plotlyjs = need("plotly.offline", "an HTML report").get_plotlyjs
    if not any(file.rows for file in files):
        raise ValueError("files must have at least one row to show; got none")
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
    template = (_PAGE / "page.html").read_text(encoding="utf-8")
    page = re.sub(r"@(\w+)@", lambda found: parts[found[1]], template)  # in one pass
    with naming(path):
        Path(path).write_text(page, encoding="utf-8", newline="\n")


def _policy(*scripts: str) -> str:
    """What a browser may do with the page: run these scripts, and load nothing."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    own = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    nothing = "default-src 'none'; form-action 'none'; base-uri 'none'"
    return f"{nothing}; style-src 'unsafe-inline'; img-src data: blob:; script-src {own}"


def _summary(files: Sequence[Results], names: Sequence[str], footnotes: Sequence[str]) -> str:
    """The table of the runs, and what must be said of them."""
    radii = default_radii(files)
    head = ["run", "inputs", "accuracy", f"{LEVEL:.0%} interval", "abstain", "ACR"]
    head += [f"r={np.format_float_positional(r, trim='-')}" for r in radii]
    head += [f"p_A {q:.0%}" for q in _QUANTILES]
    lines = [_line(file, name, radii) for file, name in zip(files, names, strict=True)]
    notes = [f"<p class='note'>{escape(note)}</p>" for note in (*footnotes, *_NOTES)]
    return "\n".join(["<div class='scroll'>", _table(head, lines), "</div>", *notes])


def _line(file: Results, name: str, radii: Sequence[float]) -> list[str]:
    if not file.rows:
        return [name, "0", *["-"] * (4 + len(radii) + len(_QUANTILES))]
    low, high = interval(sum(row.correct for row in file.rows), len(file.rows))
    p_a = true_class(file) or [math.nan]
    return [
        *(name, str(len(file.rows)), f"{file.clean_accuracy():.3f}", f"{low:.3f} to {high:.3f}"),
        *(f"{file.abstention():.3f}", truncated(file.average_radius(), 4)),
        *(f"{share:.3f}" for share in file.certified_accuracy(radii)),
        *(truncated(float(p), 4) for p in np.quantile(p_a, _QUANTILES, method="lower")),
    ]


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(row(line, "td") for line in lines)
    return f"<table><thead>{row(head, 'th')}</thead>\n<tbody>{body}</tbody></table>"


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
    known = [row.idx, row.label, row.predict, radius, int(row.correct), p_a, sigma]
    known += [row.count, row.n, round(row.seconds, 3)] if row.n else ["-", "-", row.time or "-"]
    return known + [row.extra.get(key, "") for key in extra]
