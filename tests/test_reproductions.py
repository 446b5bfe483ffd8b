"""The reproductions: committed numbers are those of the scripts, and hold what the pages say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reproduced import EXPERIMENTS, FOLDER, SCRIPTS, committed, computed

from rsbounds import gaussian, lipschitz

DOCS = Path(__file__).parent.parent / "docs"


def test_one_folder_a_paper_holds_all_there_is():
    """Every script has its numbers beside it, every number and figure its script and its page."""
    assert len(SCRIPTS) == 12
    assert len(EXPERIMENTS) == 7
    for folder in (path for path in FOLDER.iterdir() if path.is_dir() and path.name[0] not in "._"):
        page = (folder / "index.md").read_text()
        stems = {p.stem for p in SCRIPTS + EXPERIMENTS if p.parent == folder}
        assert stems == {p.stem for p in folder.glob("*.tsv")}, folder.name
        assert stems >= {p.stem for p in folder.glob("*.png")}, folder.name
        shown = page + (DOCS / "howto" / "which-radius.md").read_text()
        assert not [stem for stem in stems if f"{stem}.tsv" not in shown], folder.name


def test_run_takes_names_and_refuses_others():
    words = [sys.executable, str(FOLDER / "run.py"), "s_table", "b_ratio"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("unknown: s_table; expected some of ")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_committed_numbers_are_those_of_the_script(script):
    _, table = computed(script)
    found = committed(script.stem)
    assert list(found) == list(table)
    for key, values in found.items():
        if values.dtype.kind == "f":
            # committed to ten digits; scores near 0 (mean of abstentions) to 1e-12 absolute
            np.testing.assert_allclose(table[key], values, rtol=1e-9, atol=1e-12, err_msg=key)
        else:
            assert list(map(str, table[key])) == list(values), key


@pytest.mark.slow
def test_figures_can_be_drawn():
    pytest.importorskip("matplotlib")
    figures = 0
    for script in SCRIPTS:
        names, table = computed(script)
        if "figure" in names:
            figures += 1
            assert names["figure"](table).axes
            assert script.with_suffix(".png").is_file(), script.stem
    assert figures == 7


def test_s_table_1():
    """Eleven printed thresholds are right to three decimals, the twelfth is an erratum."""
    table = committed("s_table1")
    reference = [
        *(0.9463046149472564, 0.9243627692573749, 0.907648898234354, 0.8916440648771359),
        *(0.9727483524704271, 0.9615351584796972, 0.9529611563358572, 0.944723234791083),
        *(0.996579739460003, 0.9951641677222182, 0.9940784176373375, 0.993032431401937),
    ]
    np.testing.assert_allclose(table["theorem_4"], reference, rtol=1e-10)
    exact = [0.9678011129644028, 0.9418172702020886, 0.9229751419090014, 0.9053886677354021]
    np.testing.assert_allclose(table["exact"][:4], exact, rtol=1e-10)
    assert np.all(table["corollary_5"] < table["theorem_4"])
    assert np.all(table["theorem_4"] < table["exact"])
    erratum = (table["data"] == "CIFAR10") & (table["p_a"] == 0.99)
    assert f"{table['theorem_4'][erratum][0]:.4f}" == "0.9615"
    assert f"{table['exact'][erratum][0]:.4f}" == "0.9705"


def test_s_figure_3():
    """The thresholds approach 1 like 1/sqrt(N); the exact ones are nearer to it throughout."""
    table = committed("s_figure3")
    theory, exact = abs(1 - table["theorem_4"]), abs(1 - table["exact"])
    assert np.all(exact < theory)
    easy = table["p_a"] == 0.9
    assert np.all(exact[easy] < 2 / 3 * theory[easy])
    for p_a in (0.9, 0.99, 0.999):
        for side in ("below", "above"):
            chosen = (table["p_a"] == p_a) & (table["side"] == side) & (table["dim"] >= 1000)
            scaled = exact[chosen] * np.sqrt(table["dim"][chosen])
            assert np.ptp(scaled) < 0.1 * scaled.mean()


def test_s_figure_11():
    """Both radii end; the Rényi radius first, and it is the smaller one throughout."""
    table = committed("s_figure11")
    ends = {}
    for sigma0 in (1.0, 0.8):
        chosen = table["sigma0"] == sigma0
        renyi, exact = table["renyi"][chosen], table["exact"][chosen]
        assert np.all(renyi <= exact)
        assert np.all(renyi[exact > 0] < exact[exact > 0])
        assert np.all(np.diff(renyi) <= 0)
        ends[sigma0] = tuple(int(table["dim"][chosen][np.argmin(r > 0)]) for r in (renyi, exact))
    assert ends == {1.0: (48, 64), 0.8: (29, 48)}
    first = table["dim"] == 1
    share = table["renyi"][first] / table["exact"][first]
    np.testing.assert_allclose(1 - share, [0.107, 0.241], atol=6e-4)


def test_s_figure_12():
    """xi grows with the distance, with p_B and with N, and it knows the settings ruled out."""
    table = committed("s_figure12")

    def curve(varied: str, value: float) -> np.ndarray:
        return table["xi"][(table["varied"] == varied) & (table["value"] == value)]

    for varied in ("dim", "sigma1", "p_b"):
        chosen = table["varied"] == varied
        for value in np.unique(table["value"][chosen]):
            assert np.all(np.diff(curve(varied, value)) >= 0)
    for smaller, larger in ((10, 100), (100, 784), (784, 3072)):
        assert np.all(curve("dim", smaller) <= curve("dim", larger))
    assert np.all(curve("p_b", 0.001) <= curve("p_b", 0.01))
    assert curve("sigma1", 1.0)[0] == pytest.approx(0.01, rel=1e-9)
    assert curve("dim", 784)[0] == pytest.approx(0.37, abs=5e-3)
    assert curve("dim", 3072)[0] > 0.5


def test_s_figure_13():
    """At rate 0 the radius is the distance; what a rate costs grows with sigma and rate."""
    table = committed("s_figure13")
    share = table["radius"] / table["distance"]
    np.testing.assert_allclose(share[table["rate"] == 0], 1.0, rtol=1e-9)
    assert np.all(share <= 1.0)
    far = np.isclose(table["distance"], 4 * table["sigma0"])
    for sigma, rate, expected in ((0.12, 0.02, 0.983), (0.5, 0.02, 0.784)):
        chosen = far & (table["sigma0"] == sigma) & (table["rate"] == rate)
        assert share[chosen][0] == pytest.approx(expected, abs=5e-4)


def test_s_a2():
    """The largest radius of 1e5 samples, and what is lost on the way to it."""
    table = committed("s_a2")
    chosen = table["n"] == 100_000
    np.testing.assert_allclose(table["largest"][chosen], 3.81145656338995189, rtol=1e-9)
    assert f"{gaussian.max_radius(100_000, 0.001, 0.12):.4f}" == "0.4574"
    assert np.all(table["mean"] <= np.minimum(table["true"], table["largest"]))
    for true, expected in ((2.0, 1.973), (4.0, 3.655)):
        row = chosen & np.isclose(table["true"], true)
        assert table["mean"][row][0] == pytest.approx(expected, abs=5e-4)


def test_b_ratio():
    """R_d decreases in p at every dimension, and has the values of the theory page."""
    table = committed("b_ratio")
    assert np.all(table["slope"] > 0)
    for dim in np.unique(table["dim"]):
        assert np.all(np.diff(table["ratio"][table["dim"] == dim]) > 0)
    page = (DOCS / "theory" / "lipschitz.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    assert [int(row[0]) for row in rows] == [1, 10, 784, 3072, 150528]
    for dim, *values in rows:
        found = lipschitz.ratio([1e-7, 0.5, 0.999], int(dim))
        np.testing.assert_allclose(found, np.array(values, float), rtol=1e-12, atol=6e-13)


def test_b_mnist():
    table = committed("b_mnist")
    value = dict(zip(table["quantity"], table["value"], strict=True))
    assert value["L"] == pytest.approx(34.7099589323358, rel=1e-9)
    assert value["largest_radius_10_classes"] == pytest.approx(0.143676488238246653, rel=1e-9)
    assert value["largest_radius_any_score"] < 0.15
    assert value["cohen_same_scores_sigma_1"] == pytest.approx(4.987, abs=5e-4)
    expected = {"integrated_sigma_1": 0.2262, "exact_sigma_1": 0.2564}
    expected |= {"integrated_sigma_0.65": 0.1560, "exact_sigma_0.65": 0.1741}
    for key, number in expected.items():
        assert value[key] == pytest.approx(number, abs=5e-5)


def test_l_radius():
    table = committed("l_radius")
    above = table["norm"] >= 2
    np.testing.assert_allclose(table["radius"][above], table["printed_formula"][above], rtol=1e-9)
    assert np.all(table["radius"][~above] < table["printed_formula"][~above])


def test_h_tables():
    ellipsoid, laplace = committed("h_ellipsoid"), committed("h_laplace")
    assert np.ptp(ellipsoid["log_volume"]) < 1e-6
    for norm in ("l1", "l2", "linf"):
        assert np.all(np.diff(ellipsoid[norm]) < 0)
    assert np.all(laplace["paper"] <= laplace["tight"])
    assert 1 - np.min(laplace["paper"] / laplace["tight"]) == pytest.approx(0.0822, abs=5e-5)
    assert laplace["tight"][0] == pytest.approx(1.060132, abs=5e-7)
    assert laplace["paper"][0] == pytest.approx(0.972955, abs=5e-7)


def test_four_certificates():
    """Their order, and the rule of thumb of the page within the 1.4 % that it says."""
    table = committed("four_certificates")
    for smaller, larger in (("paper", "integrated"), ("integrated", "exact"), ("exact", "cohen")):
        assert np.all(table[smaller] <= table[larger])
    rule = table["cohen"] / np.sqrt(1 + 2 * table["dim"] * table["lip"] ** 2)
    assert np.max(abs(table["exact"] / rule - 1)) < 0.014
