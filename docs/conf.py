"""Sphinx configuration: ``sphinx-build -W docs docs/_build`` from the root of the
repository.
"""

import re
import subprocess
import sys
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

import rsbounds

project = "rsbounds"
copyright = "the rsbounds developers"
release = rsbounds.__version__
html_title = f"rsbounds {release}"
html_theme = "furo"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["certificates.html"]  # which benchmarks/certificates/make.py writes
exclude_patterns = ["_build", "reproductions/**/*.py", "paper", "RELEASING.md"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nitpicky = False
# for the modules of these names, and verona
autodoc_mock_imports = ["ada_verona", "art", "sklearn"]
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {
    name: name for name in ("Array", "ArrayLike", "Floats", "Labels", "Out", "Progress")
}
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


def setup(app: Any) -> None:
    app.connect("doctree-read", without_last_lines)
    app.connect("autodoc-process-signature", by_name)
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-skip-member", fields)
    app.connect("autodoc-process-docstring", as_markup, priority=100)
