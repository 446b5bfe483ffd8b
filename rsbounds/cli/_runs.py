"""Runs whose counts commands use again: refused where they earn nothing by a new bound."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds import audit, composite
from rsbounds._numerics.text import shown
from rsbounds.certificate import FIXED_NOISE
from rsbounds.certify import further
from rsbounds.loading import file_hash
from rsbounds.results import Manifest, Row, read_rows


class Run(NamedTuple):
    """A result file with its manifest."""

    path: Path
    manifest: Manifest
    rows: list[Row]


def read(path: Path) -> Run:
    """A run of one classifier, of a number of samples that was fixed in advance.

    ValueError for any other, whose counts earn nothing by a bound for so many samples, and for
    rows that contradict their manifest.
    """
    manifest = Manifest.read(path)
    if manifest.method == "composite":
        raise ValueError(
            f"{path} is of a composite: certify the runs of its levels again, with --rule"
        )
    if (answer := manifest.parameters.get("answer")) is not None:
        raise ValueError(f"{path} answers {shown(str(answer))}: run it again with other numbers")
    if manifest.procedure.target_radius is not None:
        raise ValueError(
            f"{path} was sampled until a target radius was decided: a bound for a number "
            "of samples fixed in advance would have no level on its counts"
        )
    rows = read_rows(path)
    for wrong in audit.contradictions(path, manifest, rows):
        raise ValueError(wrong.at(path))
    return Run(path, manifest, rows)


def by_level(paths: Iterable[Path]) -> dict[float, Run]:
    """Runs of fixed noise by their levels, in the order given.

    ValueError for another noise, two files of one level, or runs that differ in more than their
    model and its level.
    """
    runs: dict[float, Run] = {}
    for path in paths:
        run = read(path)
        method, scope = run.manifest.method, run.manifest.scope
        if method != "gaussian":
            raise ValueError(f"{path} is of method {shown(method)}: a rule needs fixed noise")
        if scope != FIXED_NOISE:  # the list's own scope would hide it
            raise ValueError(f"{path} is of scope {scope!r}: a rule needs {FIXED_NOISE!r}")
        level = float(run.manifest.parameters["sigma"])
        if level in runs:
            raise ValueError(f"{path} is the second file of noise level {level}")
        runs[level] = run
        first = next(iter(runs.values()))
        own = {name: getattr(first.manifest, name) for name in ("parameters", "probe", "model")}
        if differences := first.manifest.differences(replace(run.manifest, **own)):
            raise ValueError(
                f"{path} is not of the run of {first.path}: {'; '.join(differences.values())}"
            )
    return runs


def common(runs: Sequence[Run]) -> list[list[Row]]:
    """The rows of each input that all runs have, in the order of the inputs.

    ValueError if an input is another in one of the runs, by its label or its hash, or has none.
    """
    tables = [{row.idx: row for row in run.rows} for run in runs]
    indices = sorted(set.intersection(*map(set, tables)))
    for i in indices:
        for run, table in zip(runs, tables, strict=True):
            for name, field in (("label", "label"), ("hash", "input")):
                a, b = getattr(tables[0][i], field), getattr(table[i], field)
                if a != b or b == "-":
                    raise ValueError(
                        f"{run.path} is of other data than {runs[0].path}: the {name} of input "
                        f"{i} is {b}, and {a} there"
                    )
    return [[table[i] for table in tables] for i in indices]


def source(path: Path) -> dict[str, Any]:
    """The step of a history that says which file was certified again."""
    return {"recertified": str(path), "sha256": file_hash(path)}


def dense(rows: Sequence[Row], width: int = 0) -> NDArray[np.int64]:
    """Counts that choose and that bound, shape (2, levels, classes), zeros filled in."""
    each = [[row.select for row in rows], [row.counts for row in rows]]
    width = max([width, *(len(counts) for level in each for counts in level)])
    return np.array([[[*c, *[0] * (width - len(c))] for c in level] for level in each])


def listed(rule: composite.Rule, rows: Sequence[Row], n: int, alpha: float) -> Row:
    """The row of a decision list from the rows of one input at its levels."""
    select, counts = dense(rows, rule.least_classes)
    certificate = composite.certify_counts(rule, select, counts, n, alpha)
    seconds, extra = sum(row.seconds for row in rows), further(certificate)
    first = rows[0]
    return Row.of(first.idx, first.label, certificate, seconds, input=first.input, extra=extra)
