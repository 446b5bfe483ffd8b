"""The tables in xsref's form: each row beside the library and beside the oracle."""

import csv
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

from rsbounds import oracle, special

TABLES = Path(__file__).parents[1] / "data" / "xsref"
NAMES = ("ncx2_cdf", "ncx2_sf", "marcum_q")


def columns(name):
    with (TABLES / f"{name}.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head[3:] == ["value", "error"]
    return np.array(rows, dtype=float).T


@pytest.mark.parametrize("name", NAMES)
def test_the_library_is_within_its_error_of_the_table(name):
    *arguments, value, error = columns(name)
    assert value.size >= 100
    assert np.all((value >= 1e-300) & (value <= 1))
    # the table's doubles are rounded to nearest, from enclosures much narrower
    assert np.all((error >= 0) & (error <= 2.0**-53 * (1 + 1e-6)))
    computed = getattr(special, name)(*arguments)
    # 8e-14 is what the library proves of every tail, at any degrees of freedom
    assert np.all(np.abs(computed - value) <= (8e-14 + error) * value)


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_agrees_to_the_error_of_the_row(name):
    rows = columns(name).T[::40]
    for *arguments, value, error in rows:
        if name == "marcum_q":
            m, a, b = arguments
            # the oracle takes doubles: the squares of these arguments are exact
            arguments = [b * b, 2 * m, a * a]
        log_lower, log_upper, _ = oracle.ncx2_tails(*arguments, dps=40)
        with mp.workdps(40):
            truth = mp.exp(log_lower if name == "ncx2_cdf" else log_upper)
            assert abs(mp.mpf(value) / truth - 1) <= error
