"""Runs whose counts commands use again: refused where they earn nothing by a new bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rsbounds import composite
from rsbounds.certificate import FIXED_NOISE
from rsbounds.certify import further
from rsbounds.loading.callables import shown
from rsbounds.results import Manifest, Row, read_rows
from rsbounds.schemes import Gaussian


class Run(NamedTuple):
    """A result file with its manifest."""

    path: Path
    manifest: Manifest
    rows: list[Row]


def read(path: Path) -> Run:
    """A run of one classifier, of a number of samples that was fixed in advance.

    Raises
    ------
    ValueError
        For a file of any other, whose counts earn nothing by a bound for so many samples.
    """
    manifest = Manifest.read(path)
    if manifest.method == "composite":
        raise ValueError(
            f"{path} is of a composite: certify the runs of its levels again, with --rule"
        )
    if manifest.procedure.target_radius is not None:
        raise ValueError(
            f"{path} was sampled until a target radius was decided: a bound for a number "
            "of samples fixed in advance would have no level on its counts"
        )
    return Run(path, manifest, read_rows(path))


def by_level(paths: Iterable[Path]) -> dict[float, Run]:
    """Runs of fixed noise by their levels, in the order given.

    Raises
    ------
    ValueError
        As :func:`read`; for another noise, or two files of one level.
    """
    runs: dict[float, Run] = {}
    for path in paths:
        run = read(path)
        method, scope = run.manifest.method, run.manifest.scope
        if method != "gaussian":
            raise ValueError(f"{path} is of method {shown(method)}: a rule needs fixed noise")
        if scope != FIXED_NOISE:  # the list's own scope would hide it
            raise ValueError(f"{path} is of scope {scope!r}: a rule needs {FIXED_NOISE!r}")
        Gaussian.check(run.manifest.parameters)
        level = float(run.manifest.parameters["sigma"])
        if level in runs:
            raise ValueError(f"{path} is the second file of noise level {level}")
        runs[level] = run
    return runs


def common(runs: Iterable[Run]) -> list[list[Row]]:
    """The rows of each input that all runs have, in the order of the inputs."""
    tables = [{row.idx: row for row in run.rows} for run in runs]
    return [[table[i] for table in tables] for i in sorted(set.intersection(*map(set, tables)))]


def listed(rule: composite.Rule, rows: Sequence[Row], n: int, alpha: float) -> Row:
    """The row of a decision list from the rows of one input at its levels."""
    width = max([rule.least_classes, *(len(c) for row in rows for c in (row.select, row.counts))])

    def dense(counts: Sequence[int]) -> list[int]:
        return [*counts, *[0] * (width - len(counts))]

    select, counts = [dense(row.select) for row in rows], [dense(row.counts) for row in rows]
    certificate = composite.certify_counts(rule, select, counts, n, alpha)
    seconds, extra = sum(row.seconds for row in rows), further(certificate)
    first = rows[0]
    return Row.of(first.idx, first.label, certificate, seconds, input=first.input, extra=extra)
