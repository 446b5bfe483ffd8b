"""Sphinx configuration: ``sphinx-build -W docs docs/_build`` from the root of the
repository.
"""

import importlib.metadata
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx import addnodes
from sphinx.ext.autodoc import FunctionDocumenter

import rsbounds

project = "rsbounds"
copyright = "the rsbounds developers"
release = rsbounds.__version__
html_title = f"rsbounds {release}"
html_theme = "furo"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
]
# the button copies what a reader types: no prompts, and no output under them
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
URLS = importlib.metadata.metadata("rsbounds").get_all("Project-URL") or []
for label, _, url in (entry.partition(", ") for entry in URLS):
    if label == "Source":  # once the project says where it is
        html_theme_options = {
            "source_repository": url,
            "source_branch": "main",
            "source_directory": "docs/",
        }
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["certificates.html"]  # which benchmarks/certificates/make.py writes
exclude_patterns = ["_build", "reproductions/**/*.py", "paper", "RELEASING.md"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nitpicky = False
# for the modules of these names
autodoc_mock_imports = ["art", "jax", "sklearn"]
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
ALIASES = ("Array", "ArrayLike", "Floats", "Labels", "Oracle", "Out", "Progress")
autodoc_type_aliases = {name: name for name in ALIASES}
napoleon_google_docstring = False
napoleon_preprocess_types = False
napoleon_use_ivar = True


class CommandHelp(Directive):
    """``command-help:: certify`` shows what ``rsbounds certify --help`` prints."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        words = self.arguments[0].split()
        run = subprocess.run(
            [sys.executable, "-m", "rsbounds", *words, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={"COLUMNS": "90", "NO_COLOR": "1"},
        )
        return [nodes.literal_block(run.stdout, run.stdout, language="text")]


class UfuncDocumenter(FunctionDocumenter):
    """A NumPy ufunc is documented as a function is."""

    objtype = "ufunc"
    directivetype = "function"
    priority = FunctionDocumenter.priority + 1

    @classmethod
    def can_document_member(
        cls, member: Any, membername: str, isattr: bool, parent: Any
    ) -> bool:
        return isinstance(member, np.ufunc)


# what is markup for reST and plain text for us: |x|, (count, *shape), xi_>
PLAIN = re.compile(r"(?<!\\)\||(?<!\*)\*(?=\w)|(?<=\w)_(?=\W|$)")


def as_markup(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Plain-text conventions of the docstrings in reST: |x| is a norm, [C] names a
    paper.
    """
    doctest = False
    for i, line in enumerate(lines):
        doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
        if doctest:
            continue
        line = re.sub(r"^\.\. \[(\w)\] ", r"*  [\1] ", line)
        parts = line.split("``")  # outside of ``literals``
        parts[::2] = [PLAIN.sub(r"\\\g<0>", part) for part in parts[::2]]
        lines[i] = "``".join(parts)


ALIAS = re.compile(r"~?(?:\w+\.)*\w*ForwardRef\('(\w+)'[^)]*\)")


def by_name(
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: Any,
    returned: Any,
) -> tuple[Any, ...]:
    """The aliases of a signature by their names alone."""
    return tuple(text and ALIAS.sub(r"\1", text) for text in (signature, returned))


def fields(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """The fields of a NamedTuple are told in its docstring."""
    return (
        True
        if (getattr(obj, "__doc__", "") or "").startswith("Alias for field")
        else None
    )


def without_last_lines(app: Any, doctree: nodes.document) -> None:
    """Code without the empty line that ends a doctest in front of its fence."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        if len(block.children) == 1 and text != block.astext():
            block.rawsource = text
            block[0] = nodes.Text(text)


def wide_pictures(app: Any, doctree: nodes.document) -> None:
    """A picture more than twice as wide as high is scrolled where the screen is narrow,
    because its letters could not be read.
    """
    for image in doctree.findall(nodes.image):
        file = Path(app.srcdir, image["uri"])
        if file.suffix == ".png" and isinstance(image.parent, nodes.paragraph):
            # the size stands at this place of every PNG
            width, height = struct.unpack(">II", file.read_bytes()[16:24])
            if width > 2 * height:
                image["classes"].append("wide")


NUMBER = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?(?: ?(?:%|[mun]?s|MB))?")


def cells(app: Any, doctree: nodes.document) -> None:
    """A number in a table does not break; a column's name does after a low line, and
    code where it would take much of the table.
    """
    for head in doctree.findall(nodes.thead):
        for text in list(head.findall(nodes.Text)):
            if not isinstance(text.parent, nodes.math):
                text.parent.replace(text, nodes.Text(text.replace("_", "_\u200b")))
    for entry in doctree.findall(nodes.entry):
        if NUMBER.fullmatch(entry.astext()):
            entry["classes"].append("number")
        for literal in entry.findall(nodes.literal):
            if max(map(len, literal.astext().split()), default=0) > 28:
                literal["classes"].append("long")


SECTIONS = [
    "overview",
    "tutorials/index",
    "notebooks/index",
    "howto/index",
    "theory/index",
    "reproductions/index",
    "benchmarks/index",
    "leaderboard",
    "reference/index",
    "architecture",
    "changelog",
]
LISTED = re.compile(r"^(?:- |\| |  )\[.*", re.M)
LINKED = re.compile(r"\]\((?!\.\.)([\w/-]+)\.md\)")


def pages_below(page: str, text: str) -> list[str]:
    """The pages that the navigation shows below a page: those that it lists."""
    if page == "index":
        return SECTIONS
    if page == "reference/index" or not page.endswith("/index") or page.count("/") > 1:
        return []
    links = LINKED.findall("\n".join(LISTED.findall(text)))
    return list(dict.fromkeys(links))


def with_navigation(app: Any, page: str, source: list[str]) -> None:
    """The pages are plain Markdown: what the site alone needs is added here."""
    if page == "changelog":
        source[0] = (Path(app.srcdir).parent / "CHANGELOG.md").read_text("utf-8")
    below = pages_below(page, source[0])
    if below:
        entries = "\n".join(below)
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


NAME = re.compile(r"rsbounds(?:\.\w+)+")


def with_links(app: Any, doctree: nodes.document) -> None:
    """Names of this package in plain code lead to their entry, if they have one."""
    for literal in list(doctree.findall(nodes.literal)):
        inside = isinstance(literal.parent, nodes.reference | addnodes.pending_xref)
        if inside or not NAME.fullmatch(literal.astext()):
            continue
        entry = addnodes.pending_xref(
            "",
            refdomain="py",
            reftype="obj",
            reftarget=literal.astext(),
            refspecific=False,
            refwarn=False,
        )
        literal.replace_self(entry)
        entry += literal


def setup(app: Any) -> None:
    app.connect("source-read", with_navigation)
    app.connect("doctree-read", without_last_lines)
    app.connect("doctree-read", wide_pictures)
    app.connect("doctree-read", cells)
    app.connect("doctree-read", with_links)
    app.connect("autodoc-process-signature", by_name)
    app.add_autodocumenter(UfuncDocumenter)
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-skip-member", fields)
    app.connect("autodoc-process-docstring", as_markup, priority=100)
