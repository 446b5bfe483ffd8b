"""The documentation: its code runs, its links lead somewhere, the reference leaves
nothing out.
"""

import ast
import doctest
import importlib
import importlib.util
import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from public_calls import callables, public_modules

import rsbounds
from rsbounds import gaussian
from rsbounds.answers import ANSWERS
from rsbounds.cli import _COMMANDS
from rsbounds.schemes import METHODS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONF = (DOCS / "conf.py").read_text()
PAGES = sorted(p for p in DOCS.rglob("*.md") if not {"_build", "paper"} & set(p.parts))
TEXTS = {page: page.read_text() for page in [*PAGES, *ROOT.glob("*.md")]}
# a fenced block: its opening line's info, its options, its body
BLOCK = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.M | re.S)
# the line in front of the block of a file
FILE = re.compile(r"^\*\*(\S+\.\w+)\*\*\n\n\Z", re.M)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def name(path):
    return str(path.relative_to(DOCS))


def blocks(page):
    """(kind, name of the file, body) of every block with code: python, bash, file."""
    found = []
    for block in BLOCK.finditer(TEXTS[page]):
        info, body = block.groups()
        named = FILE.search(TEXTS[page], 0, block.start())
        if named:
            found.append(("file", named.group(1), body))
        elif info in ("python", "bash"):
            found.append((info, "", body))
    return found


def run_bash(body):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    words = ["bash", "-euo", "pipefail", "-c", body]
    env = {**os.environ, "PATH": path}
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def run_python(page, body, names):
    assert ">>>" in body, (
        f"{name(page)}: a python block is a session, or a file with its name in front"
    )
    test = doctest.DocTestParser().get_doctest(body, names, name(page), str(page), 0)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(verbose=False, optionflags=options)
    report = []
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)
    names.update(test.globs)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """In their order, in one directory and one Python session for each page."""
    for modules in re.findall(r"^<!-- requires: (.*) -->$", TEXTS[page], re.M):
        for module in modules.split():
            if importlib.util.find_spec(module) is None:
                pytest.skip(f"needs {module}")
    for files in re.findall(r"^<!-- files: (.*) -->$", TEXTS[page], re.M):
        for file in files.split():
            if not Path(file).exists():
                pytest.skip(f"needs {file}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    names = {}
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
    """A block with a language that is not known here would not be run."""
    kinds = {"python", "bash", "sh", "text", "yaml", "toml", "cython"}
    kinds |= {"c", "cpp"}
    for page, text in TEXTS.items():
        assert text.count("```") % 2 == 0, page
        infos = {info for info, _ in BLOCK.findall(text)}
        if page.parent.name == "reference":
            infos = {info for info in infos if not info.startswith("{")}
        assert infos <= kinds, f"{page}: {infos - kinds}"


def test_table_of_largest_radii():
    page = TEXTS[DOCS / "howto" / "choose-n-and-alpha.md"]
    rows = re.findall(r"^\| ([\d,]+) \|" + r" ([\d.]+) \|" * 4 + "$", page, re.M)
    assert len(rows) == 5
    for n, *values in rows:
        found = gaussian.max_radius(
            int(n.replace(",", "")), [0.05, 0.01, 0.001, 0.0001], 1.0
        )
        np.testing.assert_allclose(found, np.array(values, float), atol=5.001e-4)


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", t.lower()).strip().replace(" ", "-") for t in titles}


def test_links_lead_somewhere():
    for page, text in TEXTS.items():
        for link in LINK.findall(text):
            if re.match(r"\w+:", link):
                continue
            target, _, anchor = link.partition("#")
            file = (page.parent / target).resolve() if target else page
            assert file.exists(), f"{page} links to {link}"
            assert not anchor or anchor in anchors(file), f"{page} links to {link}"
        for file in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text):
            assert (page.parent / file).is_file(), f"{page} shows {file}"


def tokens(text):
    """Of a page as GitHub reads it: CommonMark with tables."""
    markdown_it = pytest.importorskip("markdown_it")
    reader = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for token in reader.parse(text):
        yield token
        yield from token.children or ()


def directives(text):
    """What the site's own Markdown has and GitHub would show as it is written."""
    found = re.findall(r"\A---\n|^:{3,}.*|^\(.+\)=$", text, re.M)
    before = ""
    for token in tokens(text):
        if token.type == "fence" and token.info.startswith("{"):
            found.append(token.info)
        if token.type == "code_inline" and re.search(r"\{[\w:]+\}$", before):
            found.append(before + token.content)
        before = token.content if token.type == "text" else ""
    return found


PLAIN = [page for page in TEXTS if page.parent.name != "reference"]


def test_pages_are_plain_markdown():
    """All but the reference are what GitHub shows: no directive, no role."""
    assert {
        page: directives(TEXTS[page]) for page in PLAIN if directives(TEXTS[page])
    } == {}


def test_code_is_fenced():
    """An indent of four turns a sentence into code, as behind a list's fence."""
    for page in PAGES:
        found = [token for token in tokens(TEXTS[page]) if token.type == "code_block"]
        assert not found, (name(page), found[0].content)


@pytest.mark.parametrize(
    "text",
    [
        "```{toctree}\na\n```",
        "1. list\n\n   ```{figure} a.png\n   ```",
        "see {py:func}`rsbounds.gaussian.radius` for it",
        "| a |\n| --- |\n| {doc}`b` |",
        "---\nrequires: torch\n---\n",
        ":::{note}\nx\n:::",
        "(label)=\n# Title",
    ],
)
def test_a_directive_is_seen(text):
    assert directives(text)


def test_tables_of_reproductions_are_those_of_their_files():
    written = runpy.run_path(str(DOCS / "reproductions" / "tables.py"))["page"]
    for path in DOCS.glob("reproductions/*/index.md"):
        assert written(path) == path.read_text()


def test_no_line_of_a_formula_begins_a_list():
    """Inside $...$ a line that starts with a minus would end the formula."""
    for page in PAGES:
        text = re.sub(
            r"^```.*?^```$|\$\$.*?\$\$|`[^`]*`", "", TEXTS[page], flags=re.M | re.S
        )
        for paragraph in re.split(r"\n\s*\n", text):
            inside = False
            for line in paragraph.splitlines():
                assert not (inside and re.match(r"\s*[-+*] ", line)), (
                    f"{name(page)}: {line}"
                )
                inside ^= line.replace(r"\$", "").count("$") % 2 == 1


def test_no_line_is_left_out_by_the_site():
    """Its Markdown takes a line that begins with a percent sign for a comment, and one
    of three plus signs for a break.
    """
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", TEXTS[page], flags=re.M | re.S)
        assert not re.findall(r"^\s*(?:%|\+\+\+).*$", text, re.M), name(page)


def test_rows_of_tables_have_as_many_cells_as_their_heads():
    """A bar in a formula, too, ends a cell: what follows was not shown."""
    wrong = []
    for page, text in TEXTS.items():
        cells = None
        for number, line in enumerate(text.split("\n"), 1):
            bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
            if bars is None:
                cells = None
            elif re.fullmatch(r"\|[-:| ]+\|", line):
                cells = bars
            elif cells is not None and bars != cells:
                wrong.append(f"{page.name}:{number}")
    assert wrong == []


def test_every_file_and_test_named_exists():
    text = "\n".join(TEXTS.values())
    for script in re.findall(r"python ((?:bench|docs)\S+\.py)", text):
        assert (ROOT / script).is_file(), script
    for file, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text):
        source = (ROOT / file).read_text()
        assert not test or re.search(rf"^\s*def {test}\(", source, re.M), (
            f"{file}::{test}"
        )


def test_every_public_module_and_command_has_a_reference():
    reference = "\n".join(p.read_text() for p in (DOCS / "reference").glob("*.md"))
    documented = set(re.findall(r"automodule:: rsbounds\.(\w+)$", reference, re.M))
    names = {name for name in dir(rsbounds) if not name.startswith("_")}
    assert {
        name for name in names if importlib.util.find_spec(f"rsbounds.{name}")
    } <= documented
    assert set(re.findall(r"```\{command-help\} ([\w-]+)", reference)) == set(_COMMANDS)


@pytest.mark.slow
def test_site_builds_without_warnings(tmp_path):
    for module in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(module)
    words = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-E",
        "-q",
        "-b",
        "html",
    ]
    words += ["-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    pages = sorted((tmp_path / "html" / "reference").glob("*.html"))
    assert "special.html" in {page.name for page in pages}
    for page in pages:  # a signature says ArrayLike, not what NumPy makes of it
        text = page.read_text(encoding="utf-8")
        for name in ("_NestedSequence", "_SupportsArray", "ForwardRef"):
            assert name not in text, (page.name, name)


def test_the_picture_that_chooses_is_the_script_s_and_names_what_exists():
    script = runpy.run_path(str(DOCS / "decide.py"))
    assert script["PICTURE"].read_text() == script["drawing"]()
    for choices, known in (("THREATS", METHODS), ("ANSWERS", ANSWERS)):
        words = " ".join(" ".join(choice.method) for choice in script[choices])
        named = set(re.findall(r"(?<!-)\b[a-z][a-z-]+", words.split("votes")[0]))
        assert named - {"transform"} <= set(known), choices


def test_an_alias_of_a_signature_that_holds_an_array_is_shown_by_its_name():
    pytest.importorskip("torch")
    shown = set(ast.literal_eval(re.search(r"^ALIASES = (.*)$", CONF, re.M).group(1)))
    aliases = set()
    for room in public_modules():
        if room in ("rsbounds.art", "rsbounds.jax", "rsbounds.sklearn"):
            continue  # of extras, which the site does not import either
        for _, function in callables(importlib.import_module(room)):
            typed = getattr(function, "__annotations__", {}).values()
            words = set(re.findall(r"\w+", " ".join(map(str, typed))))
            names = getattr(inspect.unwrap(function), "__globals__", {})
            aliases |= {x for x in words if "_NestedSequence" in repr(names.get(x))}
    assert "ArrayLike" in aliases
    assert aliases <= shown
