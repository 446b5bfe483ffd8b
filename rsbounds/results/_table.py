"""Tables of certification files: aligned text, Markdown, CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.text import shown
from rsbounds.results._compare import NAMES, UNKNOWN, as_files, marked, terms
from rsbounds.results._results import Results
from rsbounds.results._text import plain, quoted, truncated

STYLES = ("text", "markdown", "csv")


def default_radii(files: Iterable[Results]) -> list[float]:
    """Up to eight round radii, from 0 to the largest finite radius of the files."""
    largest = max((r.radius for f in files for r in f.rows if math.isfinite(r.radius)), default=0.0)
    if largest == 0:
        return [0.0]
    power = Decimal(10) ** (Decimal(largest).adjusted() - 1)
    steps = (power * Decimal(k) for k in ("2.5", "5", "10", "25"))
    step = next(s for s in steps if largest < 8 * s)
    radii = [float(k * step) for k in range(int(Decimal(largest) / step) + 1)]
    return list(dict.fromkeys(radii))  # the smallest of all are no multiples


def measures(file: Results, radii: Sequence[float]) -> Array:
    """Accuracy, share of abstentions, average certified radius, certified accuracies."""
    shares = [file.clean_accuracy(), file.abstention(), file.average_radius()]
    return np.concatenate([shares, file.certified_accuracy(radii)])


def cells(values: Array) -> list[str]:
    """Measures as text: shares to three decimals, the average radius cut off to four."""
    texts = ["-" if math.isnan(v) else f"{v:.3f}" for v in values]
    texts[2] = truncated(float(values[2]), 4)
    return texts


def summary(file: Results, radii: Sequence[float] | None = None) -> dict[str, Any]:
    """What a report says of one file, as JSON can hold it.

    Parameters
    ----------
    file, radii
        As for one file of `table`.

    Returns
    -------
    dict
        file, count, missing (indices), rate (rows a second of one worker), clean, abstain, acr,
        certified (radius as text -> accuracy), scopes, norm, alpha, n, bound (as text), notes.
        Without rows the shares are None; an infinite ACR is "inf".

    Raises
    ------
    ValueError
        For a radius that is NaN or negative; if ``file`` is no Results.

    Examples
    --------
    >>> from rsbounds.results import Results, Row, summary
    >>> summary(Results("run", (Row(0, 7, 7, 0.75, True, "fixed noise"),)), [0.5])["certified"]
    {'0.5': 1.0}
    """
    if not isinstance(file, Results):
        raise ValueError(f"file must be Results, as read returns; got {quoted(file)}")
    at = _radii([file], radii)
    clean, abstain, acr, *held = plain(measures(file, at).tolist())
    return {
        "file": file.name,
        "count": len(file.rows),
        "missing": file.missing(),
        "rate": plain(file.rate()),
        "clean": clean,
        "abstain": abstain,
        "acr": acr,
        "certified": dict(zip(map(str, at), held, strict=True)),
        "scopes": file.scopes(),
        **{name: None if text == UNKNOWN else text for name, text in terms(file).items()},
        "notes": file.notes(),
    }


def table(
    files: Sequence[Results],
    radii: Sequence[float] | None = None,
    *,
    style: str = "text",
    classes: bool = False,
) -> str:
    """Accuracy, abstentions, average certified radius (ACR), certified accuracies of some files.

    Parameters
    ----------
    files : list of Results
    radii : sequence of float, optional
        Where to show certified accuracy, each >= 0; default `default_radii`.
    style : {"text", "markdown", "csv"}
        ``csv`` has full precision, and scope, norm, alpha, n and bound as columns. The others
        show accuracies to three decimals, the average radius truncated to four, and footnotes:
        for scopes, and where norm, alpha, n or bound are not the same in all files.
    classes : bool
        A row for every class too, the largest minus the smallest value over the classes ("class
        spread"), and their standard deviation ("class std").

    Raises
    ------
    ValueError
        For a radius that is NaN or negative, an unknown style, or files that are no Results.

    Examples
    --------
    >>> from rsbounds.results import Results, Row, table
    >>> run = Results("run", (Row(0, 7, 7, 0.75, True, "fixed noise"),
    ...                       Row(1, 2, -1, 0.0, False, "fixed noise")))
    >>> print(table([run], [0, 0.5]))
    file  rows of  count  accuracy  abstain  ACR     r=0    r=0.5
    run   all          2     0.500    0.500  0.3750  0.500  0.500
    """
    style, files = checks.choice("style", style, STYLES), as_files(files)
    at = _radii(files, radii)
    header = ["file", "rows of", "count", "accuracy", "abstain", "ACR", *map(heading, at)]
    lines = [  # all files of a group of rows, then those of the next
        (place, i, group, str(count), values)
        for i, file in enumerate(files)
        for place, group, count, values in _groups(file, at, classes)
    ]
    lines.sort(key=lambda line: line[:2])
    if style == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*header[:3], "scope", *NAMES, *header[3:]])
        for _, i, group, count, values in lines:
            stated = shown("; ".join(files[i].scopes())), *terms(files[i]).values()
            writer.writerow([files[i].name, group, count, *stated, *values.tolist()])
        return out.getvalue().rstrip("\n")
    names, footnotes = marked(files)
    body = [[names[i], group, count, *cells(values)] for _, i, group, count, values in lines]
    text = _markdown([header, *body]) if style == "markdown" else _aligned([header, *body])
    return "\n\n".join([text, *(["\n".join(footnotes)] if footnotes else [])])


def _radii(files: Sequence[Results], radii: Sequence[float] | None) -> list[float]:
    if radii is None:
        return default_radii(files)
    return list(np.ravel(checks.as_floats("radii", radii, 0.0, nan=False)).tolist())


def heading(radius: float) -> str:
    """The name of a column of certified accuracies."""
    if radius == 0 or 1e-4 <= radius < 1e6:
        return f"r={np.format_float_positional(radius, trim='-')}"
    if not math.isfinite(radius):
        return "r=inf"
    return f"r={Decimal(repr(float(radius))):e}".replace(".0e", "e")


def _groups(
    file: Results, radii: Sequence[float], classes: bool
) -> Iterator[tuple[tuple[int, int], str, int, Array]]:
    """Place in the table, name, row count and measures of rows."""
    yield (0, 0), "all", len(file.rows), measures(file, radii)
    parts = file.by_class() if classes else {}
    each = [measures(part, radii) for part in parts.values()]
    for (label, part), own in zip(parts.items(), each, strict=True):
        yield (1, label), f"class {label}", len(part.rows), own
    if parts:
        # an infinite average radius has no spread, and one of 1e300 an infinite variance
        with np.errstate(invalid="ignore", over="ignore"):
            yield (2, 0), "class spread", len(parts), np.ptp(each, axis=0)
            yield (3, 0), "class std", len(parts), np.std(each, axis=0)


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust, str.ljust, *[str.rjust] * (len(widths) - 2)]
    padded = ("  ".join(map(lambda side, c, w: side(c, w), sides, line, widths)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


def _markdown(lines: list[list[str]]) -> str:
    rule = ["---" if i < 2 else "---:" for i in range(len(lines[0]))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
