"""Rows of kinds decide what regions of every way would, and leave what is near."""

import math

import numpy as np
import pytest
from drawn_curves import curves
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import ndtr

from rsbounds.discrete import _rows
from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.discrete._laws import law_of
from rsbounds.discrete._questions import Questions
from rsbounds.discrete._rows import MARGIN, NO, UNSURE, YES, KindRows, decided
from rsbounds.discrete._ways import Ways
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._flips import FlipsCurve

CHANCE = st.floats(0.001, 0.999)
PROBABILITIES = arrays.arrays(
    float, st.integers(1, 12), elements=st.floats(0.0, 1.0), unique=True
)


def by_regions(curve, questions, ways):
    def for_way(counts, places):
        return questions.at(places).hold_in(curve.regions(counts))

    return ways.hold(for_way, questions.size)


def by_rows(curve, questions, ways):
    rows = [KindRows(curve.cells(kind)) for kind in range(curve.kinds)]
    return decided(rows, questions, ways, np.full(curve.kinds, 0.5))


def assert_same(curve, questions, ways):
    answers = by_rows(curve, questions, ways)
    expected = by_regions(curve, questions, ways)
    clear = answers != UNSURE
    assert (answers == YES)[clear].tolist() == expected[clear].tolist()
    return answers


@given(curves(), st.integers(0, 9), PROBABILITIES, st.booleans(), st.data())
@settings(max_examples=150, deadline=None)
def test_what_rows_decide_regions_do(curve, changes, p, alone, data):
    """Of any chances, whichever questions are asked together."""
    if not curve.alike:
        return
    p_b = None if alone else np.array(data.draw(st.permutations(p.tolist()))) / 2
    counts = data.draw(st.tuples(*[st.integers(0, 3)] * curve.kinds))
    for ways in (Ways((0,) * curve.kinds, ((changes, curve.worst),)), Ways(counts)):
        assert_same(curve, Questions.of(p, p_b, scores=False), ways)


@given(CHANCE, CHANCE, CHANCE, st.integers(1, 9), st.floats(0, 8))
@settings(max_examples=60, deadline=None)
def test_what_is_clear_is_decided(add, delete, keep, changes, z):
    """The same of scores; nothing is left but what is near the edge."""
    curve = BlocksCurve(FlipsCurve(add, delete), CategoricalCurve(keep, 3))
    ways = Ways((0,) * 3, ((changes, (0, 1, 2)),))
    scores = np.array([z, -z, 0.0])
    questions = Questions.of(scores, None, scores=True)
    answers = assert_same(curve, questions, ways)
    low = curve.transport(scores, ways)[0]
    near = np.abs(ndtr(low) - 0.5) < 2 * MARGIN
    assert (near | (answers != UNSURE)).all()


def test_a_sure_event_has_what_rows_have_no_chances_of():
    """low(1, r) was taken for the little that is left of chances below doubles."""
    curve = FlipsCurve(6.4e-321, 0.25)
    questions = Questions.of(np.array([1.0, 0.999]), None, scores=False)
    for r in (1, 2, 5):
        ways = curve.ways("r", r)
        assert by_rows(curve, questions, ways)[0] != NO
        assert curve.certified(1.0, r) == by_regions(curve, questions, ways)[0]


def test_a_sure_event_has_what_products_of_rows_are_too_small_for():
    """Each row has its masses, and both together at x none that a double holds."""
    curve = FlipsCurve(1 - 2.0**-42, 1 - 2.0**-33)
    assert curve.radius(1.0) == math.inf
    for r in (17, 40):
        assert curve.certified(1.0, r)
        assert not curve.certified(math.nextafter(1.0, 0.0), r)


def test_near_the_edge_regions_decide():
    """A double below the threshold is not certified, whichever way is the hardest."""
    curve = FlipsCurve(0.48, 0.47)
    threshold = curve.threshold(100)
    below = math.nextafter(threshold, 0)
    questions = Questions.of(np.array([below, threshold]), None, scores=False)
    ways = curve.ways("r", 100)
    assert by_rows(curve, questions, ways).tolist() == [UNSURE, UNSURE]
    assert curve.hold(questions, ways).tolist() == [False, True]
    near = Questions.of(threshold + 8 * MARGIN * np.array([-1, 1]), None, scores=False)
    assert by_rows(curve, near, ways).tolist() == [NO, YES]
    assert curve.radius(np.array([below, threshold])).tolist() == [99, 100]


def test_rows_of_large_errors_decide_nothing(monkeypatch):
    monkeypatch.setattr(_rows, "_ERROR", 1e-16)
    curve = FlipsCurve(0.1, 0.3)
    questions = Questions.of(np.array([0.6, 0.99]), None, scores=False)
    assert by_rows(curve, questions, curve.ways("r", 3)).tolist() == [UNSURE, UNSURE]
    assert curve.radius(0.99) == FlipsCurve(0.1, 0.3).radius(0.99)


@pytest.mark.parametrize("changes", [0, 1, 64, 700])
@pytest.mark.parametrize("values", [2, 3])
def test_rows_have_all_but_what_is_left_out(changes, values):
    rows = KindRows(CategoricalCurve(0.3, values).cells(0))
    row = rows.make(changes)
    assert list(rows.made) == [changes]
    assert (np.diff(row[0, :-1]) > 0).all()
    assert abs(row[3, -1] - 1) <= rows.error + _rows._LEAST * 2 * changes
    # what is left out at x has no ratio above that of what is left
    assert row[4, 0] <= 1 + rows.error
    assert rows.error < MARGIN / 100


@pytest.mark.parametrize(
    ("keep", "error"), [(0.501, 6e-12), (0.3, 6e-12), (1e-3, 7e-13)]
)
def test_a_long_row_ends_where_its_masses_do(keep, error):
    """Its error is that of the steps to its masses, wherever its window begins."""
    times = 2**17
    law = law_of(CategoricalCurve(keep, 2).cells(0), times)
    if keep == 0.501:
        assert law.mass.size < times / 8
    assert 2 * times * 0.8e-300 < law.lost < 2 * times * 1e-300
    assert error * 0.7 < law.error < error
    for masses in (law.mass, law.shifted_mass):
        assert abs(masses.sum() - 1) <= law.error
