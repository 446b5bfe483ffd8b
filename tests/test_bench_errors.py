"""The page of promised accuracy: its generator, and the numbers that it left there."""

import importlib
import re
from pathlib import Path

import pytest

pytest.importorskip("mpmath")
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def errors():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module("errors")


def test_no_error_exceeds_its_bound(errors):
    for of in errors.FUNCTIONS:
        found = errors.worst(of, points=10, seed=1)
        assert 0 < found.ratio <= 1, (of, found)


def test_an_error_above_its_bound_is_seen(errors, monkeypatch):
    monkeypatch.setattr(errors.special, "ndtri", lambda p: -1.0)
    assert errors.worst("`ndtri`", points=2).ratio > 1e10


def test_no_inversion_exceeds_two_bounds(errors):
    for of in errors.STEPS:
        found = errors.inversions(of, points=2000, seed=1)
        assert found.largest <= 2, (of, found)
        assert 0 <= found.inverted < 0.01


def test_inversions_are_counted(errors, monkeypatch):
    monkeypatch.setattr(errors.special, "ball_score", lambda u, dim, s: -u)
    found = errors.inversions("u of `ball_score`", points=100)
    assert found.inverted == 1
    assert found.largest > 0


def test_page_has_a_row_for_each_and_none_above_its_bound(errors):
    page = errors.PAGE.read_text()
    ratios = dict(re.findall(r"^\| (.+?) \| ([\d.]+) \| \w+ = ", page, re.M))
    assert set(ratios) == set(errors.FUNCTIONS)
    assert all(0 < float(ratio) <= 1 for ratio in ratios.values())
    steps = dict(re.findall(r"^\| (.+?) \| [\d.]+ % \| \d+ % \| ([\d.]+) \|", page, re.M))
    assert set(steps) == set(errors.STEPS)
    assert all(float(largest) <= 2 for largest in steps.values())


def test_a_page_keeps_what_stands_around_its_tables(errors):
    page = "a\n<!-- m -->\nold\n<!-- end of m -->\nb\n"
    text = errors.filled(page, "m", [["h", "k"], ["1", "2"]], "about")
    lines = ["about", "", "| h | k |", "| --- | --- |", "| 1 | 2 |"]
    assert text == "\n".join(["a", "<!-- m -->", "", *lines, "", "<!-- end of m -->", "b", ""])
    assert errors.filled(text, "m", [["h", "k"], ["1", "2"]], "about") == text
