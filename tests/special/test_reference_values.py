"""The table of reference values that other libraries' tests may take."""

import csv
import hashlib
import runpy
from pathlib import Path

import pytest
from mpmath import mp

from rsbounds import oracle
from rsbounds.stats import ncx2

FOLDER = Path(__file__).parents[2] / "benchmarks" / "ncx2-values"


def test_the_table_is_the_one_of_its_checksum():
    digest, name = (FOLDER / "SHA256SUMS").read_text().split()
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest


def test_the_distribution_is_that_of_the_table():
    found = runpy.run_path(str(FOLDER / "compare.py"))["compare"](ncx2)
    assert {name: len(own) for name, own in found.items()}["logsf"] == 405
    # a density's proved bound at df < 4 is 8e-14; what is measured is 5e-16
    assert max(own[0] for each in found.values() for own in each) < 1e-14


@pytest.mark.parametrize("line", [0, 17, 200, 404])
def test_its_values_are_the_oracle_s(line):
    with (FOLDER / "ncx2.csv").open(newline="") as file:
        row = list(csv.DictReader(file))[line]
    point = [float(row[name]) for name in ("x", "df", "nc")]
    for name in ("logcdf", "logsf", "logpdf"):
        truth = getattr(oracle, f"ncx2_{name}")(*point, dps=55)
        with mp.workdps(60):
            assert abs(truth / mp.mpf(row[name]) - 1) < 1e-49, name
