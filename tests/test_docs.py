"""The documentation: its code runs, its numbers are those of the code, its links lead somewhere."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rsbounds import gaussian

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)
SLOW = re.compile(r"^requires: (torch|ray)", re.M)
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
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=600)
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
        pytest.param(page, id=name(page), marks=[slow] if SLOW.search(text) else [])
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
    kinds |= {
        f"{{code-block}} {language}" for language in ("python", "yaml", "toml", "cython", "cpp")
    }
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
    names = {name for name in rsbounds.__all__ if not name.startswith("_")}
    assert {name for name in names if importlib.util.find_spec(f"rsbounds.{name}")} <= documented


MATHEMATICS = ("special", "gaussian", "envelope", "semielastic", "lipschitz", "anisotropic")


@pytest.mark.parametrize("module", [*MATHEMATICS, "lbrs", "renyi", "confidence"])
def test_mathematics_is_documented_in_full(module):
    room = importlib.import_module(f"rsbounds.{module}")
    functions = {n: f for n in room.__all__ if inspect.isroutine(f := getattr(room, n))}
    assert functions
    for function, f in functions.items():
        text = inspect.getdoc(f) or ""
        assert re.search(r"^Parameters$|`\w*lower_bound`", text, re.M), function
        assert ">>>" in text, function


def test_every_command_has_a_reference():
    from rsbounds.cli import _COMMANDS

    page = (DOCS / "reference" / "command-line.md").read_text()
    documented = set(re.findall(r"```\{command-help\} ([\w-]+)", page))
    assert documented == set(_COMMANDS)


@pytest.fixture(scope="module", autouse=True)
def site(request, tmp_path_factory):
    """The site being built, while the tests before the one that looks at it go on."""
    chosen = {item.name for item in request.session.items}
    needed = all(importlib.util.find_spec(m) for m in ("sphinx", "furo", "myst_parser"))
    if "test_site_builds_without_warnings" not in chosen or not needed:
        yield None
        return
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html"]
    words += ["-d", str(folder / "doctrees"), str(DOCS), str(folder / "html")]
    log = folder / "log"
    with log.open("w") as file, subprocess.Popen(words, stdout=file, stderr=file) as building:
        try:
            yield building, folder / "html", log
        finally:
            building.kill()


@pytest.mark.slow
def test_site_builds_without_warnings(site):
    if site is None:
        pytest.skip("needs sphinx, furo and myst_parser")
    building, html, log = site
    assert building.wait(timeout=600) == 0, log.read_text()
    assert (html / "reference" / "special.html").is_file()


def test_table_of_largest_radii():
    page = (DOCS / "howto" / "choose-n-and-alpha.md").read_text()
    rows = re.findall(r"^\| ([\d,]+) \|" + r" ([\d.]+) \|" * 4 + "$", page, re.M)
    assert len(rows) == 5
    for n, *values in rows:
        found = gaussian.max_radius(int(n.replace(",", "")), [0.05, 0.01, 0.001, 0.0001], 1.0)
        np.testing.assert_allclose(found, np.array(values, float), atol=5.001e-4)
