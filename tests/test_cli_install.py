"""What is to be installed: extras, hints at run time, and the files CONTRIBUTING.md names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from rsbounds._numerics.extras import _EXTRAS

ROOT = Path(__file__).parent.parent
in_a_clone = pytest.mark.skipif(not (ROOT / "rsbounds").is_dir(), reason="needs the sources")


def extras() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["optional-dependencies"]


def test_the_table_of_extras_is_that_of_the_project():
    page = (ROOT / "docs" / "howto" / "five-minutes.md").read_text()
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, re.M))
    assert set(table) == set(extras())
    for extra in set(table) - {"docs", "test"}:
        own = {re.sub(r"rsbounds\[(\w+)\]", r"`\1`", r).split(">=")[0] for r in extras()[extra]}
        assert set(table[extra].split(", ")) == own, extra


def test_tests_bring_every_extra():
    within = {
        name
        for extra in ("test", "imagenet")
        for r in extras()[extra]
        for name in re.findall(r"rsbounds\[(.*)\]", r)
    }
    brought = {name for names in within for name in names.split(",")}
    assert set(extras()) - brought == {"test", "plot", "torch"}  # these two are within demo


@in_a_clone
def test_extras_that_messages_and_help_name_exist():
    named = set(_EXTRAS.values())
    for file in (ROOT / "rsbounds" / "cli").glob("*.py"):
        named |= set(re.findall(r"\(extra: (\w+)\)", file.read_text()))
    assert len(named) >= 8
    assert named <= set(extras())


def test_the_site_needs_no_more_than_its_extra():
    """Its reference imports rsbounds.torch and rsbounds.oracle."""
    docs = {re.match(r"[\w-]+(\[\w+\])?", r)[0] for r in extras()["docs"]}
    assert {"rsbounds[torch]", "mpmath", "sphinx", "furo", "myst-parser"} <= docs


@in_a_clone
def test_paths_in_contributing_exist():
    named = re.findall(
        r"`((?:rsbounds|tests|docs|benchmarks)\w*/[\w./-]*)`",
        (ROOT / "CONTRIBUTING.md").read_text(),
    )
    assert len(named) >= 5
    assert [path for path in named if not (ROOT / path).exists()] == []
