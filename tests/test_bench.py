"""The short benchmark: all of its grid, and a command that prints it."""

from importlib.metadata import version

import numpy as np
import pytest

from rsbounds import bench
from rsbounds._numerics.threads import cores
from rsbounds.cli import main


def test_command_prints_the_grid(capsys):
    assert main(["bench", "--scipy-limit", "1e3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == bench.machine()
    rows = [line.split() for line in lines if line.split()[0].isdigit()]
    assert [(int(r[0]), float(r[1])) for r in rows] == [
        (d, nc) for d in bench.DIMENSIONS for nc in bench.NONCENTRALITIES
    ]
    assert sum(len(r) == 6 for r in rows) == 6  # SciPy up to its limit, on three dimensions
    for row in rows:
        if len(row) == 6:
            ratio = float(row[4]) / float(row[2])
            assert float(row[5]) == pytest.approx(ratio, rel=0.03)  # below 1 where SciPy is quicker


def test_times_are_positive_and_scipy_keeps_its_limit():
    rows = bench.table(scipy_limit=-1.0)
    assert all(0 < row.log_tail < np.inf and 0 < row.offset < np.inf for row in rows)
    assert all(np.isnan(row.scipy) for row in rows)


def test_scipy_is_given_as_many_values_where_it_is_cheap(monkeypatch):
    sizes = []

    def size(function, x, *args):
        sizes.append(x.size)
        return 1.0

    monkeypatch.setattr(bench, "_time", size)
    bench.table(scipy_limit=1e6)
    assert len(sizes) == 2 * 18 + 3 * 3
    assert set(sizes) == {2000}


def test_machine_names_the_packages_that_are_installed():
    line = bench.machine("numba", "no-such-package")
    assert f"{cores()} cores" in line
    assert line.startswith(bench.machine())
    assert f"numba {version('numba')}" in line
    assert "no-such-package" not in line
