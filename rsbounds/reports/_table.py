"""Files side by side: what they rest on, what marks them, and their tables."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import round_radii, short, truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import replace_file
from rsbounds._numerics.json_files import as_json
from rsbounds._numerics.text import quoted, shown
from rsbounds.answers import Summary
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.reports._frontier import frontier_table, frontier_title
from rsbounds.reports._seeds import NOTE, by_seed, spread_cells
from rsbounds.reports._terms import (
    NAMES,
    UNKNOWN,
    footnote,
    marked,
    noted_by_name,
    terms,
    without_marks,
)
from rsbounds.reports._text import literal
from rsbounds.results import Results

STYLES = ("text", "markdown", "csv", "latex")
#: Endings of files of one table, and their styles.
TABLES = {".tex": "latex", ".md": "markdown"}
#: What a table of intervals says below itself.
INTERVAL = "in parentheses: intervals of 95 % for inputs drawn at random from many"
TABLE = b"Tabulated by rsbounds report"  # in a file of a table that may be replaced


def as_files(files: Sequence[Results], *, rows: bool = False) -> list[Results]:
    """``files`` as a list, or ValueError; ``rows``: at least one must have rows."""
    if not isinstance(files, list | tuple) or not all(
        isinstance(file, Results) for file in files
    ):
        raise ValueError(
            f"files must be a list of Results, as read returns; got {quoted(files)}"
        )
    if rows and not any(file.rows for file in files):
        raise ValueError("files must have at least one row to show; got none")
    return list(files)


def with_accuracies(files: Sequence[Results]) -> list[Results]:
    """The files, or ValueError for one whose rows predict no class."""
    for file in files:
        if not file.classifies:
            raise ValueError(
                f"{file.name} answers {file.answer!r}: its rows have no certified "
                "accuracy"
            )
    return list(files)


def default_radii(files: Iterable[Results]) -> list[float]:
    """Up to eight round radii, from 0 to the largest finite radius of the files."""
    counted = [file.counted for file in files]
    largest = max((run.largest for run in counted), default=0.0)
    return round_radii(largest, whole=all(run.whole for run in counted))


def summary(file: Results, radii: Sequence[float] | None = None) -> dict[str, Any]:
    """What a report says of one file, as JSON can hold it.

    Parameters
    ----------
    file, radii
        As for one file of `table`.

    Returns
    -------
    dict
        file, answer, count, missing (indices), rate (rows a second of one worker),
        clean, abstain, acr, certified (radius as text -> accuracy), scopes, norm,
        alpha, n, bound (as text), report (the figures of an answer that has its own),
        notes. Without rows the shares are None, and where rows predict no class; an
        infinite ACR is "inf".

    Raises
    ------
    ValueError
        As `table`.

    Examples
    --------
    >>> from rsbounds.reports import summary
    >>> from rsbounds.results import Results, Row
    >>> run = Results("run", (Row(0, 7, 7, 0.75, True, "fixed noise"),))
    >>> summary(run, [0.5])["certified"]
    {'0.5': 1.0}
    """
    if not isinstance(file, Results):
        raise ValueError(f"file must be Results, as read returns; got {quoted(file)}")
    at, terms_of_file = _radii([file], radii), terms(file)
    report = file.report()
    measures = _measures(file, at)
    if report is not None:
        at, measures = [], np.full(3, np.nan)
    clean, abstain, acr, *shares = as_json(measures.tolist())
    return {
        "file": file.name,
        "answer": file.answer,
        "count": len(file.rows),
        "missing": file.missing(),
        "rate": as_json(file.rate()),
        "clean": clean,
        "abstain": abstain,
        "acr": acr,
        "certified": dict(zip(map(str, at), shares, strict=True)),
        "scopes": file.scopes(),
        **{
            name: None if terms_of_file[name] == UNKNOWN else terms_of_file[name]
            for name in NAMES
        },
        "report": None if report is None else as_json(report.figures),
        "notes": file.notes(),
    }


def table(
    files: Sequence[Results],
    radii: Sequence[float] | None = None,
    *,
    style: str = "text",
    classes: bool = False,
    notes: bool = True,
    interval: bool = False,
    seeds: bool = False,
) -> str:
    """Table of accuracies, abstentions and average certified radii (ACR).

    With certified accuracies; of answers that predict no class their own tables. Rows
    with a frontier of two numbers have a table of both too, but for ``csv``.

    Parameters
    ----------
    files : list of Results
    radii : sequence of float, optional
        Where to show certified accuracy, each >= 0; default `default_radii`.
    style : {"text", "markdown", "csv", "latex"}
        ``csv`` has full precision, and scope, norm, alpha, n and bound as columns;
        ``latex`` is a ``tabular`` of the package booktabs with sigma as a column and
        heads in math mode. All but ``csv`` show accuracies to three decimals, the
        average radius truncated to four, and footnotes: for scopes, and where norm,
        alpha, n or bound are not the same in all files.
    classes : bool
        A row for every class too, the largest minus the smallest value over the classes
        ("class spread"), and their standard deviation ("class std").
    notes : bool
        Footnotes and their marks. Without them ``latex`` keeps the footnotes as
        comments, for a caption to say what it must.
    interval : bool
        Beside each share its interval of 95 % (Clopper and Pearson's), for inputs drawn
        at random from many; not in ``csv``.
    seeds : bool
        One row for the files whose names differ in their seedN alone, such as
        run-seed0.tsv and run-seed1.tsv: mean and standard deviation over the seeds.

    Raises
    ------
    ValueError
        For a radius that is NaN or negative, an unknown style, or files that are no
        Results.

    Examples
    --------
    >>> from rsbounds.reports import table
    >>> from rsbounds.results import Results, Row
    >>> run = Results("run", (Row(0, 7, 7, 0.75, True, "fixed noise"),
    ...                       Row(1, 2, -1, 0.0, False, "fixed noise")))
    >>> print(table([run], [0, 0.5]))
    file  rows of  count  accuracy  abstain  ACR     r=0    r=0.5
    run   all          2     0.500    0.500  0.3750  0.500  0.500
    """
    style = checks.choice("style", style, STYLES)
    classes = checks.flag("classes", classes)
    notes = checks.flag("notes", notes)
    files = as_files(files)
    interval = checks.flag("interval", interval)
    if checks.flag("seeds", seeds):
        return _of_seeds(with_accuracies(files), radii, style)
    if interval and style == "csv":
        raise ArgumentError("interval", "is for the styles text, markdown and latex")
    reports = [(file, report) for file in files if (report := file.report())]
    answered = [file for file, _ in reports]
    accuracies = [file for file in files if file not in answered]
    parts = []
    if accuracies or not reports:
        parts.append(_accuracies(accuracies, radii, style, classes, notes, interval))
        parts += _frontiers(accuracies, radii, style)
    parts += [_reported(file, report, style, notes) for file, report in reports]
    parts += _frontiers(answered, radii, style)
    return "\n\n".join(parts)


def _frontiers(
    files: Sequence[Results], radii: Sequence[float] | None, style: str
) -> list[str]:
    """A table for each file whose rows have a frontier, below a line of what it is.

    None for csv, which is one table of one head.
    """
    if style == "csv":
        return []
    at = None if radii is None else _radii(files, radii)
    parts = []
    for file in files:
        lines = frontier_table(file, at)
        if lines is not None:
            title = below([f"{shown(file.name)}: {frontier_title(file)}"], style)
            parts += [*title, styled(lines, style, texts=1)]
    return parts


def write_table(text: str, path: str | os.PathLike[str]) -> None:
    """Write a table to a file of its own, marked as one that may be replaced."""
    place = Path(path)
    mark = TABLE.decode()
    head = f"% {mark}" if place.suffix == ".tex" else f"<!-- {mark} -->"
    replace_file(place, f"{head}\n\n{text}\n")


def _accuracies(
    files: Sequence[Results],
    radii: Sequence[float] | None,
    style: str,
    classes: bool,
    notes: bool,
    interval: bool,
) -> str:
    """The table of certified accuracies, and its footnotes."""
    at = _radii(files, radii)
    full = style == "csv"
    names, footnotes = ([file.name for file in files], []) if full else marked(files)
    if not (full or notes):
        plain_names = list(map(without_marks, names))
        names, footnotes = plain_names, noted_by_name(names, footnotes, plain_names)
    entries_shown = {"csv": ("scope", *NAMES), "latex": ("sigma",)}.get(style, ())
    # all files of a group of rows, then the next
    body: list[tuple[float, list[str]]] = []
    for file, name in zip(files, names, strict=True):
        entries = {**terms(file), "scope": shown("; ".join(file.scopes()))}
        for place, group, count, values in _groups(file, at, classes):
            numbers = list(map(str, values.tolist())) if full else _as_cells(values)
            if interval and "spread" not in group and "std" not in group:
                numbers = _with_intervals(numbers, values, count)
            cells = (entries[name] for name in entries_shown)
            body.append((place, [name, group, str(count), *cells, *numbers]))
    if interval:
        footnotes = [*footnotes, INTERVAL]
    columns = ("accuracy", "abstain", "ACR", *map(heading, at))
    head = ["file", "rows of", "count", *entries_shown, *columns]
    lines = [head, *(line for _, line in sorted(body, key=lambda placed: placed[0]))]
    text = (
        _for_a_paper(lines, at, classes) if style == "latex" else styled(lines, style)
    )
    return "\n\n".join([text, *below(footnotes, style, notes=notes)])


def _for_a_paper(
    lines: Sequence[Sequence[str]], at: Sequence[float], classes: bool
) -> str:
    """Lines of accuracies as a table of booktabs, heads and levels in math mode."""
    heads = ["Run", "Rows of", "Inputs", r"$\sigma$", "Accuracy", "Abstentions", "ACR"]
    heads += [f"$r = {short(radius)}$" for radius in at]
    table = [heads, *(list(map(_tex, line)) for line in lines[1:])]
    if not classes:  # every line is of all rows
        table = [[line[0], *line[2:]] for line in table]
    return _tabular(table, texts=1 + classes)


def _groups(
    file: Results, at: Sequence[float], classes: bool
) -> list[tuple[float, str, int, Array]]:
    """The lines of a file: place among all lines, name, number of rows, measures."""
    groups = [(-math.inf, "all", len(file.rows), _measures(file, at))]
    parts = file.by_class() if classes else {}
    for label, part in parts.items():
        measures = _measures(part, at)
        groups.append((float(label), f"class {label}", len(part.rows), measures))
    if parts:
        values = [measures for *_, measures in groups[1:]]
        # an infinite average radius has no spread, and one of 1e300 an infinite
        # variance
        with np.errstate(invalid="ignore", over="ignore"):
            spread, deviation = np.ptp(values, axis=0), np.std(values, axis=0)
        groups.append((math.inf, "class spread", len(parts), spread))
        groups.append((math.inf, "class std", len(parts), deviation))
    return groups


def _reported(file: Results, report: Summary, style: str, notes: bool) -> str:
    """The table of an answer that has its own, below a line of what it is."""
    lines = [list(line) for line in report.table]
    if style == "csv":
        return styled(
            [["file", *lines[0]], *([file.name, *li] for li in lines[1:])], style
        )
    title = f"{shown(file.name)}: {len(file.rows)} inputs, {report.title}"
    footnotes = [*filter(None, map(footnote, file.scopes())), *file.notes()]
    [title] = below([title], style)
    texts = below(footnotes, style, notes=notes)
    return "\n\n".join([title, styled(lines, style), *texts])


def below(footnotes: Sequence[str], style: str, *, notes: bool = True) -> list[str]:
    """Lines beside a table as one paragraph, or as none; in LaTeX at least comments."""
    texts = list(footnotes) if notes or style == "latex" else []
    if style == "latex" and not notes:
        texts = [f"% {shown(note)}" for note in texts]
    elif style == "latex":  # each a paragraph of its own
        texts = [f"{_tex(note)}\\par" for note in texts]
    elif style == "markdown":
        texts = [literal(note) for note in texts]
    return ["\n".join(texts)] if texts else []


def styled(lines: list[list[str]], style: str, texts: int = 2) -> str:
    """Lay lines out as text, Markdown, LaTeX or CSV.

    The first ``texts`` columns go to the left.
    """
    if style == "markdown":
        return _markdown([[literal(cell) for cell in line] for line in lines], texts)
    if style == "text":
        return aligned(lines, texts)
    if style == "latex":
        return _tabular([list(map(_tex, line)) for line in lines], texts)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue().rstrip("\n")


def heading(radius: float) -> str:
    """The name of a column of certified accuracies."""
    return f"r={short(radius)}"


def _measures(file: Results, radii: Sequence[float]) -> Array:
    shares = [file.clean_accuracy(), file.abstention(), file.average_radius()]
    return np.concatenate([shares, file.certified_accuracy(radii)])


def _as_cells(values: Array) -> list[str]:
    """Measures as text: shares to three decimals, the average radius cut to four."""
    texts = ["-" if math.isnan(v) else f"{v:.3f}" for v in values]
    texts[2] = truncated(float(values[2]), 4)
    return texts


def _with_intervals(cells: Sequence[str], values: Array, count: int) -> list[str]:
    """Cells with the ends of each share's interval, rounded outward."""
    if not count:
        return list(cells)
    hits = np.rint(np.nan_to_num(values) * count)
    with_ends = []
    for place, (cell, hit) in enumerate(zip(cells, hits, strict=True)):
        if place == 2 or cell == "-":  # the average radius is no share
            with_ends.append(cell)
            continue
        low = math.floor(1000 * float(lower_bound(hit, count, 0.025))) / 1000
        high = math.ceil(1000 * float(upper_bound(hit, count, 0.025))) / 1000
        with_ends.append(f"{cell} ({low:.3f}, {high:.3f})")
    return with_ends


def _of_seeds(
    files: Sequence[Results], radii: Sequence[float] | None, style: str
) -> str:
    """The table of groups of files that differ in the seed of their training."""
    at = _radii(files, radii)
    lines = [["runs", "seeds", "accuracy", "abstain", "ACR", *map(heading, at)]]
    for name, group in by_seed(files).items():
        measures = [_measures(file, at).tolist() for file in group]
        lines.append([Path(name).stem, str(len(group)), *spread_cells(measures)])
    text = styled(lines, style, texts=1)
    if style == "csv":
        return text
    whole = "\n\n".join([text, *below([NOTE], style)])
    return whole.replace("±", r"$\pm$") if style == "latex" else whole


def _radii(files: Sequence[Results], radii: Sequence[float] | None) -> list[float]:
    if radii is None:
        return default_radii(files)
    return list(np.ravel(checks.as_floats("radii", radii, 0.0, nan=False)).tolist())


def aligned(lines: list[list[str]], texts: int = 2) -> str:
    """Lines of cells as text, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust] * texts + [str.rjust] * (len(widths) - texts)
    padded = (
        "  ".join(map(lambda side, c, w: side(c, w), sides, line, widths))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}


def _tex(text: object) -> str:
    """A stranger's text with nothing in it that TeX takes for its own."""
    return "".join(_TEX.get(sign, sign) for sign in shown(text))


def _tabular(lines: Sequence[Sequence[str]], texts: int) -> str:
    """Lines of TeX as a table of booktabs, the first ``texts`` columns to the left."""
    columns = "l" * texts + "r" * (len(lines[0]) - texts)
    head, *body = (" & ".join(line) + r" \\" for line in lines)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _markdown(lines: list[list[str]], texts: int = 2) -> str:
    rule = ["---" if i < texts else "---:" for i in range(len(lines[0]))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
