"""How many names the package shows: the first page of the reference, and all others."""

import importlib
import re
from pathlib import Path

import pytest
from scripts import module_at

import rsbounds

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    return module_at(ROOT / "benchmarks" / "pages" / "public_names.py")


def test_the_first_page_has_at_most_sixty_names_all_of_them_public(pages):
    names = pages.first_met()
    assert 50 <= len(names) <= 60
    assert len({*names}) == len(names)
    for dotted in names:
        module, _, name = dotted.rpartition(".")
        if module != "rsbounds.torch":  # which needs a package of an extra
            assert name in importlib.import_module(module).__all__, dotted


def test_the_first_page_has_what_the_package_itself_shows(pages):
    names = {*pages.first_met()}
    for name in rsbounds._CALLED:
        home = rsbounds._CALLED[name]
        assert f"rsbounds.{home}.{name}" in names


def test_the_public_names_get_no_more(pages):
    assert 150 < sum(map(len, pages.public_names().values())) <= 200


def test_every_scheme_can_be_made_by_a_name_of_the_first_page(pages):
    rooms = importlib.import_module("rsbounds.schemes")
    makers = {name for name in rooms.__all__ if name.islower()}
    assert {f"rsbounds.schemes.{name}" for name in makers} <= {*pages.first_met()}


def test_another_packages_entries_need_public_names_alone():
    example = ROOT / "tests" / "lists" / "example_package" / "rsbounds_example"
    for path in example.glob("*.py"):
        modules = re.findall(r"from (rsbounds\S*) import", path.read_text())
        assert not any("internal" in name or "._" in name for name in modules), path
