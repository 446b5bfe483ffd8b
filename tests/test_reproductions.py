"""The reproductions: committed numbers are those of the scripts, and hold what the
pages say.
"""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reproductions"
_RUN = runpy.run_path(str(FOLDER / "run.py"))
SCRIPTS = _RUN["scripts"]()


def load(path):
    """The names of a script, which may import what it shares with others; forgets that
    again.
    """
    before, ours = set(sys.modules), {path.stem for path in FOLDER.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        try:
            return runpy.run_path(str(path))
        finally:
            for name in set(sys.modules) - before:
                if name.partition(".")[0] in ours:
                    del sys.modules[name]


def path_of(name):
    (path,) = (script for script in SCRIPTS if script.stem == name)
    return path


def committed(name):
    """A committed table; columns of numbers as floats, lists of radii as rows of an
    array.
    """
    lines = path_of(name).with_suffix(".tsv").read_text().splitlines()
    header, *rows = (line.split("\t") for line in lines)
    table = {}
    for key, column in zip(header, zip(*rows, strict=True), strict=True):
        try:
            table[key] = np.array([float(cell) for cell in column])
        except ValueError:
            table[key] = np.array(column)
    if "radii" in table:
        table["radii"] = np.array(
            [cell.split() for cell in table["radii"]], dtype=float
        )
    return table


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_committed_numbers_are_those_of_the_script(script):
    names = load(script)
    table, found = names["table"](), committed(script.stem)
    assert list(found) == list(table)
    for key, values in found.items():
        if values.dtype.kind == "f":
            # committed to ten digits; scores near 0 (mean of abstentions) to 1e-12
            # absolute
            np.testing.assert_allclose(
                table[key], values, rtol=1e-9, atol=1e-12, err_msg=key
            )
        else:
            assert list(map(str, table[key])) == list(values), key
    if "figure" in names:
        pytest.importorskip("matplotlib")
        assert names["figure"](table).axes
        assert script.with_suffix(".png").is_file()


def test_s_table_1():
    table = committed("s_table1")
    exact = [
        0.9678011129644028,
        0.9418172702020886,
        0.9229751419090014,
        0.9053886677354021,
    ]
    np.testing.assert_allclose(table["exact"][:4], exact, rtol=1e-10)
    assert np.all(table["corollary_5"] < table["theorem_4"])
    assert np.all(table["theorem_4"] < table["exact"])
    erratum = (table["data"] == "CIFAR10") & (table["p_a"] == 0.99)
    assert f"{table['theorem_4'][erratum][0]:.4f}" == "0.9615"
