"""Another package's scheme, answer and bound: installed, they do what ours do, and
``verify`` refuses their rows.
"""

import argparse
import html
import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

from rsbounds.certificate import ANOTHERS, without_asserted_noise
from rsbounds.cli import _methods
from rsbounds.schemes import Option

ROOT = Path(__file__).parents[2]
PACKAGE = Path(__file__).parent / "example_package"

# by the kind of its list: the options that ask for the entry
ENTRIES = {
    "scheme": ["--method", "cube", "--sigma", "0.5"],
    "answer": ["--answer", "duel", "--second", "2", "--sigma", "0.25"],
    "bound": ["--bound", "hoeffding", "--sigma", "0.25"],
    "all": [
        *("--method", "cube", "--sigma", "0.5"),
        *("--answer", "duel"),
        *("--bound", "hoeffding"),
    ],
}

MODELS = """
import numpy as np

W = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)

def linear():
    return lambda batch: (batch.reshape(len(batch), -1) - 0.5) @ W
"""

# One process for all commands: each step is (exit status, what it printed).
DRIVER = """
import contextlib, io, json, sys
from pathlib import Path
import numpy as np
from rsbounds.cli import main

def run(*words):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = main(list(words))
        except SystemExit as stop:
            status = stop.code
    return status, said.getvalue()

x = np.random.default_rng(1).random((5, 4), dtype=np.float32)
np.savez("data.npz", x=x, y=np.arange(5) % 3)
steps = {}
for entry, words in json.loads(sys.argv[1]).items():
    out, cut, new = (f"{name}-{entry}.tsv" for name in ("out", "cut", "new"))
    certify = ["certify", "--model", "models:linear", "--data", "data.npz"]
    certify += ["--n0", "40", "--n", "500", *words]
    steps[entry] = {
        "certify": run(*certify, "--out", out),
        "begin": run(*certify, "--out", cut, "--max", "3"),
    }
    Path(cut).write_text(Path(cut).read_text()[:-9])
    steps[entry] |= {
        "resume": run(*certify, "--out", cut),
        "shard": run(*certify, "--out", f"half-{entry}.tsv", "--shard", "1/2"),
        "report": run("report", out),
        "card": run("report", out, "--card", f"card-{entry}.json"),
        "page": run("report", out, "--html", f"page-{entry}.html"),
        "recertify": run("recertify", out, "--out", new),
        "verify": run("verify", out),
    }
steps["help"] = {
    "of the scheme": run("certify", "--method", "cube", "--help"),
    "of the answer": run("certify", "--answer", "duel", "--help"),
    "of all": run("certify", "--help"),
}
print(json.dumps(steps))
"""

SUITES = """
import numpy as np
from rsbounds import schemes
from rsbounds.answers import ANSWERS
from rsbounds.confidence import BOUNDS
from rsbounds.schemes import METHODS
from rsbounds.testing import check_answer, check_bound, check_scheme, claims_too_much

cube, gaussian = METHODS["cube"]({"sigma": 0.5}), schemes.gaussian(0.25)

def wrong(answered, label, probabilities):
    certificate = answered.certificate
    two = probabilities[0][:2]
    return claims_too_much(answered, gaussian, certificate.sigma, two)

check_scheme(cube)
check_scheme(METHODS["swap"]({"chance": 0.2}), x=np.array([0, 1, 1, 0]))
check_answer(ANSWERS["duel"](gaussian), options={"first": 0, "second": 1}, wrong=wrong)
check_bound(BOUNDS["hoeffding"])
"""


def installed_by_hand(target):
    """The package and what an installer writes beside it, of its pyproject.toml."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    shutil.copytree(PACKAGE / "rsbounds_example", target / "rsbounds_example")
    name, version = project["name"], project["version"]
    info = target / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata)
    lines = []
    for group, entries in project["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{entry} = {place}" for entry, place in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def python(folder, site, *words):
    """Runs Python, which finds the package here and the one that is installed."""
    path = os.pathsep.join(map(str, (site, folder, ROOT)))
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "100"},
        cwd=folder,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Where the package is installed."""
    target = tmp_path_factory.mktemp("site")
    installed_by_hand(target)
    return target


@pytest.fixture(scope="module")
def ran(site, tmp_path_factory):
    """The folder of the runs, and what each command said."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "models.py").write_text(MODELS)
    said = python(folder, site, "-c", DRIVER, json.dumps(ENTRIES))
    return folder, json.loads(said.splitlines()[-1])


def table(path):
    head, *lines = path.read_text().splitlines()
    names = head.split("\t")
    rows = [dict(zip(names, line.split("\t"), strict=True)) for line in lines]
    rows.sort(key=lambda row: int(row["idx"]))
    for row in rows:
        del row["time"]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_of_another_package_does_what_ours_do(ran, entry):
    folder, steps = ran
    for step, (status, said) in steps[entry].items():
        assert status == (2 if step == "verify" else 0), (step, said)
    rows = table(folder / f"out-{entry}.tsv")
    assert len(rows) == 5
    assert {without_asserted_noise(row["scope"]) for row in rows} == {ANOTHERS}
    assert any(float(row["radius"]) > 0 for row in rows)
    assert table(folder / f"cut-{entry}.tsv") == rows
    assert table(folder / f"new-{entry}.tsv") == rows
    assert table(folder / f"half-{entry}.tsv") == rows[1::2]


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
def test_its_reports_say_whose_it_is(ran, entry):
    folder, steps = ran
    assert ANOTHERS in steps[entry]["report"][1]
    assert ANOTHERS in (folder / f"card-{entry}.md").read_text()
    assert ANOTHERS in html.unescape((folder / f"page-{entry}.html").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
def test_verify_refuses_it_in_one_line(ran, entry):
    _, steps = ran
    _, said = steps[entry]["verify"]
    assert said.count("\n") == 1
    assert "which nothing here can prove: it can't be verified" in said


@pytest.mark.slow
def test_help_knows_it(ran):
    _, steps = ran
    help_of = {step: said for step, (_, said) in steps["help"].items()}
    assert "half of the cube's side" in help_of["of the scheme"]
    assert "--second" in help_of["of the answer"]
    for name in ("cube", "swap", "duel", "hoeffding"):
        assert name in help_of["of all"]


@pytest.mark.slow
def test_it_holds_what_every_entry_promises(site, tmp_path):
    python(tmp_path, site, "-c", SUITES)


BROKEN = {
    "no such module": "no_such_module:Scheme",
    "not of its kind": "json:dumps",
    "of another name": "rsbounds_example.cube:Cube",
}


@pytest.mark.slow
@pytest.mark.parametrize("place", BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_is_said_when_it_is_named(site, tmp_path, place):
    """And nothing else stops working."""
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    groups = ("schemes", "answers", "bounds")
    points = "".join(f"[rsbounds.{group}]\nbroken = {place}\n" for group in groups)
    (info / "entry_points.txt").write_text(points)
    shutil.copytree(site / "rsbounds_example", tmp_path / "site" / "rsbounds_example")
    (tmp_path / "models.py").write_text(MODELS)
    entries = {
        "plain": ["--sigma", "0.5"],
        "scheme": ["--method", "broken"],
        "answer": ["--answer", "broken", "--sigma", "0.5"],
        "bound": ["--bound", "broken", "--sigma", "0.5"],
    }
    code = DRIVER.partition("steps = {}")[0]
    code += """
certify = ["certify", "--model", "models:linear", "--data", "data.npz", "--n", "100"]
entries = json.loads(sys.argv[1]).items()
steps = {e: run(*certify, "--out", f"{e}.tsv", *words) for e, words in entries}
steps["radius"] = run("radius", "gaussian", "--score", "2", "--sigma", "0.5")
steps["report"] = run("report", "plain.tsv")
steps["help"] = run("certify", "--help")
print(json.dumps(steps))
"""
    said = python(tmp_path, tmp_path / "site", "-c", code, json.dumps(entries))
    steps = json.loads(said.splitlines()[-1])
    for step, (status, said) in steps.items():
        named = step in ("scheme", "answer", "bound")
        assert status == (2 if named else 0), (step, said)
        if named:
            assert said.count("\n") == 1, said
            assert f"the entry point 'broken' of rsbounds.{step}s" in said


def test_an_option_that_is_taken_is_said_in_one_line():
    """It was a traceback of the parser."""
    parser = argparse.ArgumentParser()
    _methods.add(parser, Option("n", "samples"))
    with pytest.raises(ValueError, match=r"--n.*there"):
        _methods.add(parser, Option("n", "another number"))


@pytest.mark.slow
def test_an_installer_installs_it(tmp_path):
    """As by ``pip install``, without the network."""
    # not by looking for modules: setuptools puts its distutils in the place of another
    if not {"pip", "setuptools"} <= {found.name for found in distributions()}:
        pytest.skip("needs pip and setuptools")
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source)
    words = ["install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
    words += ["--target", str(tmp_path / "site"), str(source)]
    python(tmp_path, tmp_path / "site", "-m", "pip", *words)
    python(tmp_path, tmp_path / "site", "-c", "import rsbounds_example.duel")
    python(tmp_path, tmp_path / "site", "-c", SUITES)
