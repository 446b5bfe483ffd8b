"""The scripts and the committed numbers of docs/reproductions, for the tests of them."""

from __future__ import annotations

import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "reproductions"
_RUN = runpy.run_path(str(FOLDER / "run.py"))
SCRIPTS: list[Path] = _RUN["scripts"]()
EXPERIMENTS: list[Path] = _RUN["experiments"]()
OURS = {path.stem for path in FOLDER.iterdir()}  # what the scripts import of each other


def load(script: Path) -> dict[str, Any]:
    """The names of a script, which may import what it shares with others; forgets that again."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        try:
            return runpy.run_path(str(script))
        finally:
            for name in set(sys.modules) - before:
                if name.partition(".")[0] in OURS:
                    del sys.modules[name]


@cache
def computed(script: Path) -> tuple[dict[str, Any], Any]:
    """The names of a script, and its table."""
    names = load(script)
    return names, names["table"]()


def path_of(name: str) -> Path:
    (path,) = (script for script in SCRIPTS + EXPERIMENTS if script.stem == name)
    return path


def committed(name: str) -> dict[str, Any]:
    """A committed table; columns of numbers as floats, lists of radii as rows of an array."""
    header, *rows = (
        line.split("\t") for line in path_of(name).with_suffix(".tsv").read_text().splitlines()
    )
    table: dict[str, Any] = {}
    for key, column in zip(header, zip(*rows, strict=True), strict=True):
        try:
            table[key] = np.array([float(cell) for cell in column])
        except ValueError:
            table[key] = np.array(column)
    if "radii" in table:
        table["radii"] = np.array([cell.split() for cell in table["radii"]], dtype=float)
    return table
