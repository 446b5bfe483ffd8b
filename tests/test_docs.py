"""The documentation: its code runs, its numbers are those of the code, its links lead somewhere."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rsbounds import gaussian, lipschitz

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REPRODUCTIONS = DOCS / "reproductions"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)
# a fenced block: its opening line's info, its options, its body
BLOCK = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.M | re.S)


def name(path: Path) -> str:
    return str(path.relative_to(DOCS))


# --- code blocks


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """(kind, caption, body) of every block with code: python, bash, file."""
    found = []
    for info, body in BLOCK.findall(page.read_text()):
        caption = re.match(r":caption: (\S+)\n\n", body)
        if caption:
            found.append(("file", caption.group(1), body[caption.end() :]))
        elif info in ("python", "bash"):
            found.append((info, "", body))
    return found


def run_bash(body: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    words = ["bash", "-euo", "pipefail", "-c", body]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def run_python(page: Path, body: str, names: dict[str, Any]) -> None:
    assert ">>>" in body, f"{name(page)}: a python block is a session, or a file with a caption"
    test = doctest.DocTestParser().get_doctest(body, names, name(page), str(page), 0)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    names.update(test.globs)


def with_code() -> list[Any]:
    slow = pytest.mark.slow
    return [
        pytest.param(page, id=name(page), marks=[slow] if "requires: torch" in text else [])
        for page in PAGES
        if blocks(page) and (text := page.read_text())
    ]


@pytest.mark.parametrize("page", with_code())
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """In their order, in one directory and one Python session for each page."""
    for module in re.findall(r"^requires: (.*)$", page.read_text(), re.M):
        for part in module.split():
            if importlib.util.find_spec(part) is None:
                pytest.skip(f"needs {part}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    names: dict[str, Any] = {}
    try:
        for kind, caption, body in blocks(page):
            if kind == "file":
                (tmp_path / caption).write_text(body)
            elif kind == "bash":
                run_bash(body)
            else:
                run_python(page, body, names)
    finally:  # the page's own modules
        for file in tmp_path.glob("*.py"):
            if file.stem not in before:
                sys.modules.pop(file.stem, None)


def test_every_fence_is_closed_and_known():
    kinds = {"python", "bash", "sh", "{toctree}", "{csv-table}", "{include}"}
    kinds |= {f"{{code-block}} {language}" for language in ("python", "cython", "cpp")}
    for page in PAGES:
        text = page.read_text()
        assert text.count("```") % 2 == 0, name(page)
        infos = {info for info, _ in BLOCK.findall(text)}
        infos = {i for i in infos if not re.match(r"\{(figure|include|command-help|eval-rst)\}", i)}
        assert infos <= kinds, f"{name(page)}: {infos - kinds}"


# --- links


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", t.lower()).strip().replace(" ", "-") for t in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_internal_links(page):
    for link in LINK.findall(page.read_text()):
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.is_file(), f"{name(page)} links to {link}"
        assert not anchor or anchor in anchors(file), f"{name(page)} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_shown_exist(page):
    text = page.read_text()
    shown = re.findall(r"\{(?:figure|include)\} (\S+)|^:file: (\S+)", text, re.M)
    for file in ("".join(pair) for pair in shown):
        assert (page.parent / file).is_file(), f"{name(page)} shows {file}"


def test_every_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for options in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.S):
            entries = [line for line in options.split() if not line.startswith(":")]
            for entry in entries:
                listed |= set(page.parent.glob(f"{entry}.md"))
    assert set(PAGES) <= listed


def test_every_test_named_exists():
    text = "\n".join(page.read_text() for page in PAGES)
    named = set(re.findall(r"`(tests/\w+\.py)(?:::(\w+))?`", text))
    assert len(named) > 15
    for file, test in named:
        source = (ROOT / file).read_text()
        assert not test or re.search(rf"^\s*def {test}\(", source, re.M), f"{file}::{test}"


def test_every_public_module_has_a_reference():
    import rsbounds

    reference = "\n".join(p.read_text() for p in (DOCS / "reference").glob("*.md"))
    documented = set(re.findall(r"automodule:: rsbounds\.(\w+)$", reference, re.M))
    modules = {m for m in rsbounds.__all__ if not m.startswith("_")}
    assert modules <= documented


def test_every_command_has_a_reference():
    from rsbounds.cli import _COMMANDS

    page = (DOCS / "reference" / "command-line.md").read_text()
    documented = set(re.findall(r"```\{command-help\} (\w+)", page))
    assert documented == {command.__name__.rpartition(".")[2] for command in _COMMANDS}


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path):
    for module in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(module)
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html"]
    doctrees = ["-d", str(tmp_path / "doctrees")]
    done = subprocess.run(
        [*words, *doctrees, str(DOCS), str(tmp_path / "html")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "reference" / "special.html").is_file()


# --- reproductions


def scripts() -> list[Path]:
    """Those of seconds: tests/test_experiments.py looks after the others."""
    found: list[Path] = runpy.run_path(str(REPRODUCTIONS / "run.py"))["scripts"]()
    return found


@pytest.fixture
def beside(monkeypatch):
    """Lets the scripts import what they share, and forgets it again."""
    monkeypatch.syspath_prepend(str(REPRODUCTIONS))
    yield
    sys.modules.pop("shared", None)


def committed(script: str) -> dict[str, np.ndarray]:
    """A committed table; columns of numbers as floats."""
    lines = (REPRODUCTIONS / f"{script}.tsv").read_text().splitlines()
    header, *rows = (line.split("\t") for line in lines)
    table = {}
    for key, column in zip(header, zip(*rows, strict=True), strict=True):
        try:
            table[key] = np.array([float(cell) for cell in column])
        except ValueError:
            table[key] = np.array(column)
    return table


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.stem)
def test_committed_numbers_are_those_of_the_script(script, beside):
    table = runpy.run_path(str(script))["table"]()
    found = committed(script.stem)
    assert list(found) == list(table)
    for key, values in found.items():
        if values.dtype.kind == "f":
            # committed to ten digits; scores near 0 (mean of abstentions) to 1e-12 absolute
            np.testing.assert_allclose(table[key], values, rtol=1e-9, atol=1e-12, err_msg=key)
        else:
            assert list(map(str, table[key])) == list(values), key


@pytest.mark.slow
def test_figures_can_be_drawn(beside):
    pytest.importorskip("matplotlib")
    figures = 0
    for script in scripts():
        module = runpy.run_path(str(script))
        if "figure" in module:
            figures += 1
            assert module["figure"](module["table"]()).axes
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
    """Both radii end; the Renyi radius first, and it is the smaller one throughout."""
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


def test_table_of_largest_radii():
    page = (DOCS / "howto" / "choose-n-and-alpha.md").read_text()
    rows = re.findall(r"^\| ([\d,]+) \|" + r" ([\d.]+) \|" * 4 + "$", page, re.M)
    assert len(rows) == 5
    for n, *values in rows:
        found = gaussian.max_radius(int(n.replace(",", "")), [0.05, 0.01, 0.001, 0.0001], 1.0)
        np.testing.assert_allclose(found, np.array(values, float), atol=5.001e-4)
