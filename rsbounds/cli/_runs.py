"""Runs that commands read: refused where their counts earn nothing, and their inputs named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rsbounds.certificate import FIXED_NOISE
from rsbounds.loading.callables import shown
from rsbounds.results import Manifest, Row, read_rows


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
    rows = read_rows(path)
    if manifest.method == "composite":
        raise ValueError(
            f"{path} is of a composite: certify the runs of its levels again, with --rule"
        )
    if manifest.procedure.target_radius is not None:
        raise ValueError(
            f"{path} was sampled until a target radius was decided: a bound for a number "
            "of samples fixed in advance would have no level on its counts"
        )
    return Run(path, manifest, rows)


def some(indices: Sequence[int]) -> str:
    """The first of many inputs, in words."""
    first = ", ".join(map(str, indices[:5]))
    return f"inputs {first}" + (f" and {len(indices) - 5} more" if len(indices) > 5 else "")


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
        manifest = run.manifest
        if manifest.method != "gaussian":
            raise ValueError(
                f"{path} is of method {shown(manifest.method)}: a rule needs fixed noise"
            )
        if manifest.scope != FIXED_NOISE:  # a list's scope would say nothing of it
            raise ValueError(f"{path} is of scope {manifest.scope!r}: a rule needs {FIXED_NOISE!r}")
        if manifest.level() in runs:
            raise ValueError(f"{path} is the second file of noise level {manifest.level()}")
        runs[manifest.level()] = run
    return runs
