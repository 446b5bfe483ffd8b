"""The page of public reports: its table is the one that it names, and holds today."""

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest

from rsbounds import special

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
TABLE = FOLDER / "public-reports.csv"


def test_the_page_names_the_table_that_lies_beside_it():
    digest = hashlib.sha256(TABLE.read_bytes()).hexdigest()
    assert f"`{digest}`" in (FOLDER / "public-reports.md").read_text(encoding="utf-8")


def test_values_are_the_truth_that_the_table_states():
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    for row in rows:
        args = [float(text) for text in row["arguments"].split(", ")]
        value = getattr(special, row["function"])(*args)
        assert value == pytest.approx(float(row["truth"]), rel=1e-15, abs=0)
        assert np.isfinite(value)
