"""What is to be installed: extras, hints at run time, and the files CONTRIBUTING.md names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
in_a_clone = pytest.mark.skipif(not (ROOT / "rsbounds").is_dir(), reason="needs the sources")


@in_a_clone
def test_hints_install_packages_that_an_index_has():
    hints = [
        hint
        for file in (ROOT / "rsbounds").rglob("*.py")
        for hint in re.findall(r"pip install ([^`\n]*)", file.read_text())
    ]
    assert len(hints) >= 5
    assert not [hint for hint in hints if re.match(r"[\"']?rsbounds", hint)]


def test_the_site_needs_no_more_than_its_extra():
    """Its reference imports rsbounds.torch and rsbounds.oracle."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    docs = {re.match(r"[\w-]+(\[\w+\])?", r)[0] for r in project["optional-dependencies"]["docs"]}
    assert {"rsbounds[torch]", "mpmath", "sphinx", "furo", "myst-parser"} <= docs


@in_a_clone
def test_paths_in_contributing_exist():
    named = re.findall(
        r"`((?:rsbounds|tests|docs|benchmarks)\w*/[\w./-]*)`",
        (ROOT / "CONTRIBUTING.md").read_text(),
    )
    assert len(named) >= 5
    assert [path for path in named if not (ROOT / path).exists()] == []
