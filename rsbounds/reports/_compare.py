"""Two runs on the same inputs: which certifies more, and could that be chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.json_files import as_json
from rsbounds._numerics.records import Record
from rsbounds._numerics.text import named_inputs, quoted
from rsbounds.reports._most import most_of
from rsbounds.reports._paired import (
    LEVEL,
    NO_INTERVAL,
    Band,
    PairedInterval,
    band,
    holm,
    interval_of_mean,
    sign_test,
)
from rsbounds.reports._table import default_radii, with_accuracies
from rsbounds.reports._terms import marked
from rsbounds.results import Results, Row

#: Entries of the data in whose units radii are.
_UNITS = ("scale", "preprocessing")
#: Columns that rows of one input share, and what they are called.
_SHARED = {"label": "label", "input": "hash", "norm": "norm"}


class UnpairedError(ValueError):
    """Two files whose rows are of other inputs, or say other things of them."""


class At(NamedTuple):
    """What two runs certify at one radius.

    Attributes
    ----------
    radius : float
    accuracy_a, accuracy_b : float
        Shares of the inputs that each certifies.
    only_a, only_b : int
        Inputs that one of the two certifies.
    p, p_holm : float
        Exact two-sided p of McNemar's test, and adjusted for all radii asked.
    """

    radius: float
    accuracy_a: float
    accuracy_b: float
    only_a: int
    only_b: int
    p: float
    p_holm: float


@dataclass(frozen=True, eq=False)
class Comparison(Record):
    """What :func:`compare` returns.

    Attributes
    ----------
    files, names : (str, str)
        The files, and short names with the marks of their notes.
    inputs : int
        Inputs of both, which are compared.
    at : tuple of At
        One for each radius asked.
    average_a, average_b : float
        Average certified radii over these inputs.
    interval : (float, float)
        95 % interval of the difference of these averages; NaN where there is none.
    most : (float, float)
        The largest radii that each run could certify; NaN where that is not known.
    notes : tuple of str
        In what the files differ, and what was left out.
    """

    files: tuple[str, str]
    names: tuple[str, str]
    inputs: int
    at: tuple[At, ...]
    average_a: float
    average_b: float
    interval: PairedInterval
    most: tuple[float, float]
    notes: tuple[str, ...]
    _radii: tuple[Array, Array] = field(repr=False)

    @property
    def difference(self) -> float:
        """The first average certified radius minus the second.

        NaN if both are infinite.
        """
        return self.average_a - self.average_b

    def band(self) -> Band:
        """The difference of certified accuracies at all radii.

        With a 95 % band for all at once, where ``most`` is known.
        """
        most = max(self.most)
        return band(*self._radii, None if math.isnan(sum(self.most)) else most)

    def summary(self) -> dict[str, Any]:
        """The whole comparison, as JSON can hold it."""
        entries = {
            "files": list(self.files),
            "inputs": self.inputs,
            "radii": [at._asdict() for at in self.at],
            "acr_a": self.average_a,
            "acr_b": self.average_b,
            "difference": self.difference,
            "interval": list(self.interval),
            "level": LEVEL,
            "most": list(self.most),
            "notes": list(self.notes),
        }
        known: dict[str, Any] = as_json(entries)
        return known


def compare(
    a: Results,
    b: Results,
    radii: Sequence[float] | None = None,
    *,
    most: float | None = None,
) -> Comparison:
    """Compare two runs on the same inputs.

    Rows are paired by input. At a radius each run certifies an input (correct, and a
    radius at least so large) or doesn't: McNemar's exact test asks of the inputs that
    one of the two certifies whether so uneven a split is chance, and Holm's method
    allows for the number of radii. The difference of the average certified radii has
    a 95 % interval by bets on the mean of bounded differences, which needs no
    assumption on how they are distributed (docs/theory/confidence.md). All of these
    are for inputs drawn at random from many, of which these are some.

    Parameters
    ----------
    a, b : Results
        As :func:`read` returns them. Their rows predict classes, as many each.
    radii : sequence of float, optional
        Where certified accuracies are compared, each >= 0; by default up to eight
        round radii. Choose them before looking.
    most : float, optional
        The largest radius that the runs could certify, known without their rows. By
        default what all n samples would earn if they agreed, from the manifests: it is
        known for classes under noise that is the same at every input. Where it is not
        known there is no interval, and no band.

    Returns
    -------
    Comparison
        Its ``table()`` is text, ``summary()`` holds the same for JSON, and
        :func:`plot_difference` draws it. Notes say where selections, terms or scopes
        differ.

    Raises
    ------
    ValueError
        Where the files have no input in common, or an input of which the hashes,
        labels or norms differ, or one that stands there twice; other units, or rows
        that predict no class; for an argument out of its domain.

    References
    ----------
    McNemar, Note on the sampling error of the difference between correlated
    proportions or percentages, Psychometrika 12, 1947. Holm, A simple sequentially
    rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.
    Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting,
    JRSS B 86, 2024.

    Examples
    --------
    >>> from rsbounds.reports import compare
    >>> from rsbounds.results import Results, Row
    >>> def run(name, radii):
    ...     return Results(name, tuple(
    ...         Row(i, 3, 3 if r else -1, r, r > 0) for i, r in enumerate(radii)))
    >>> wide = run("wide", [0.9, 0.7, 0.8, 0.6, 0.0, 0.9, 0.7])
    >>> narrow = run("narrow", [0.4, 0.3, 0.2, 0.4, 0.3, 0.4, 0.1])
    >>> [at] = compare(wide, narrow, [0.5]).at
    >>> at.only_a, at.only_b, at.p
    (6, 0, 0.03125)
    """
    for name, file in (("a", a), ("b", b)):
        if not isinstance(file, Results):
            raise ArgumentError(
                name, f"must be Results, as read returns; got {quoted(file)}"
            )
    with_accuracies([a, b])
    asked = default_radii([a, b]) if radii is None else _asked(radii)
    pairs = list(_pairs(a, b))
    radii_a, radii_b = (
        np.array([_radius_of(pair[side]) for pair in pairs]) for side in (0, 1)
    )
    names, footnotes = marked([a, b])
    average_a, average_b = (
        _average(radii_of_run) for radii_of_run in (radii_a, radii_b)
    )
    reach = _most(a, radii_a, most), _most(b, radii_b, most)
    return Comparison(
        files=(a.name, b.name),
        names=(names[0], names[1]),
        inputs=len(pairs),
        at=tuple(_at_radii(asked, radii_a, radii_b)),
        average_a=average_a,
        average_b=average_b,
        interval=_interval(radii_a, radii_b, *reach),
        most=reach,
        notes=(*footnotes, *_notes(a, b)),
        _radii=(radii_a, radii_b),
    )


def from_first(
    files: Sequence[Results], radii: Sequence[float]
) -> tuple[int, dict[int, Comparison]]:
    """Find the first file that others can be paired with.

    Returns its place, and by their places those others compared with it.
    """
    for first, file in enumerate(files):
        made = {}
        for place in range(first + 1, len(files)):
            with suppress(UnpairedError):
                made[place] = compare(files[place], file, radii)
        if made:
            return first, made
    return 0, {}


def _asked(radii: Sequence[float]) -> list[float]:
    values = checks.as_floats("radii", radii, 0.0, nan=False)
    asked: list[float] = np.ravel(values).tolist()
    return asked


def _pairs(a: Results, b: Results) -> Iterator[tuple[Row, Row]]:
    """The rows of each input of both, or UnpairedError."""
    _require_same_units(a, b)
    for file in (a, b):
        _require_each_once(file)
    of_b = {row.idx: row for row in b.rows}
    lengths = [{len(np.ravel(row.predict)) for row in f.rows if row.correct}
               for f in (a, b)]  # fmt: skip
    if all(lengths) and lengths[0] != lengths[1]:
        raise UnpairedError(
            f"rows of {b.name} predict another number of classes than those of {a.name}"
        )
    count = 0
    for row in a.rows:
        if row.idx not in of_b:
            continue
        other = of_b[row.idx]
        for name, word in _SHARED.items():
            has, had = getattr(row, name), getattr(other, name)
            if "-" not in (has, had) and has != had:
                raise UnpairedError(
                    f"{b.name} can't be paired with {a.name}: the {word} of input "
                    f"{row.idx} is {had} there, {has} here"
                )
        count += 1
        yield row, other
    if not count:
        raise UnpairedError(f"{a.name} and {b.name} have no input in common")


def _require_same_units(a: Results, b: Results) -> None:
    """UnpairedError where manifests state other data, or other units of radii."""
    if a.manifest is None or b.manifest is None:
        return
    has, had = a.manifest.data, b.manifest.data
    rows_are_hashed = all(row.input != "-" for row in (*a.rows, *b.rows))
    names = _UNITS if rows_are_hashed else (*_UNITS, "x", "labels")
    for name in names:
        if name in has and name in had and has[name] != had[name]:
            raise UnpairedError(
                f"{b.name} can't be paired with {a.name}: data.{name} is "
                f"{had[name]!r:.40} there, {has[name]!r:.40} here"
            )


def _require_each_once(file: Results) -> None:
    """UnpairedError where an input has two rows: it would count twice."""
    seen = set[int]()
    for row in file.rows:
        if row.idx in seen:
            raise UnpairedError(
                f"{file.name} must have each input once; got two rows of input "
                f"{row.idx}"
            )
        seen.add(row.idx)


def _most(file: Results, radii: Array, asked: float | None) -> float:
    """The largest radius that a run could certify; NaN where that is not known."""
    if asked is None:
        known = most_of(file)
        # rows of another run than the manifest's show that it isn't of these
        return known if radii.max() <= known else math.nan
    value = checks.number("most", asked, 0.0, closed="neither")
    if not radii.max() <= value:
        raise ArgumentError(
            "most",
            f"must be at least every radius; got {value}, and {file.name} has "
            f"{radii.max()}",
        )
    return value


def _interval(a: Array, b: Array, most_a: float, most_b: float) -> PairedInterval:
    if not 0 < most_a + most_b < math.inf:
        return NO_INTERVAL
    return interval_of_mean(np.maximum(a, 0), np.maximum(b, 0), most_a, most_b)


def _radius_of(row: Row) -> float:
    """The radius within which a row is right; -1 where it isn't right at all."""
    return row.radius if row.correct else -1.0


def _average(radii: Array) -> float:
    # divided first: sums of huge radii overflow
    return math.fsum(np.maximum(radii, 0) / radii.size)


def _at_radii(asked: Sequence[float], a: Array, b: Array) -> Iterator[At]:
    splits = []
    for radius in asked:
        in_a, in_b = a >= radius, b >= radius
        splits.append((int(np.sum(in_a & ~in_b)), int(np.sum(in_b & ~in_a))))
    p_values = [sign_test(*split) for split in splits]
    for radius, split, p, adjusted in zip(
        asked, splits, p_values, holm(p_values), strict=True
    ):
        yield At(
            radius=radius,
            accuracy_a=float(np.mean(a >= radius)),
            accuracy_b=float(np.mean(b >= radius)),
            only_a=split[0],
            only_b=split[1],
            p=p,
            p_holm=adjusted,
        )


def _notes(a: Results, b: Results) -> Iterator[str]:
    """What was left out, and on what the pairs rest."""
    of_a, of_b = {row.idx for row in a.rows}, {row.idx for row in b.rows}
    for name, rest in ((a.name, of_a - of_b), (b.name, of_b - of_a)):
        if rest:
            inputs = named_inputs(sorted(rest))
            yield f"selections differ: {inputs} of {name} alone, left out"
    if any(row.input == "-" for row in (*a.rows, *b.rows)):
        yield "rows without hashes of their inputs are paired by index and label alone"
    hashes = {row.idx: row.input for row in a.rows if row.input != "-"}
    hashes = {idx: text for idx, text in hashes.items() if idx in of_b}
    if repeats := len(hashes) - len(set(hashes.values())):
        yield (
            f"{repeats} of the inputs repeat the content of another: p and intervals "
            "count each as an input of its own"
        )
