"""Answers of all parameters against rational numbers, and ways against all of them."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from drawn_curves import CHANCE, curves
from exact_curves import ROOM, case_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp

from rsbounds import schemes
from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.discrete._search import distinct, last, last_of_each, rising
from rsbounds.discrete._ways import Ways
from rsbounds.oracle import discrete
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._deletion import DeletionCurve
from rsbounds.schemes._flips import FlipsCurve
from rsbounds.schemes._mask import MaskCurve

SHARE = st.one_of(
    CHANCE,
    st.integers(1, 400).map(lambda k: Fraction(1, 10**k)),
    st.integers(1, 400).map(lambda k: 1 - Fraction(1, 10**k)),
)


@given(curve=curves(), p=SHARE, p_b=st.none() | SHARE, data=st.data())
@settings(max_examples=60, deadline=None)
@example(CategoricalCurve(Fraction(1, 10**160), 3), 1.0, 1 - 1e-16, None)
def test_what_is_certified_is_so_in_rational_numbers(curve, p, p_b, data):
    """The example's last region has a mass that its sum swallows."""
    most = 3 if curve.kinds > 2 else 20
    counts = (
        (1,)
        if data is None
        else data.draw(st.tuples(*[st.integers(0, most)] * curve.kinds))
    )
    r = Ways(counts)
    p, p_b = float(p), None if p_b is None else float(p_b)
    case = case_of(curve, counts)
    other = None if p_b is None else Fraction(p_b)
    if curve.certified(p, r, p_b):
        assert discrete.certified([case], Fraction(p), other)
    assert Fraction(float(curve.low(p, r))) <= discrete.low([case], Fraction(p))
    assert Fraction(float(curve.high(p, r))) >= discrete.high([case], Fraction(p))


@given(curve=curves(), changes=st.integers(0, 12), near=st.integers(-16, -5))
@settings(max_examples=60, deadline=None)
def test_at_the_edge_nothing_wrong_is_certified(curve, changes, near):
    counts = (changes,) if curve.kinds == 1 else (changes % 3,) * curve.kinds
    case = case_of(curve, counts)
    infimum = discrete.infimum([case])
    if infimum is None:
        return
    for sign in (-1, 0, 1):
        p = float(infimum + sign * min(infimum, 1 - infimum) * Fraction(10) ** near)
        certified = curve.certified(p, Ways(counts))
        if certified:
            assert Fraction(p) > infimum
        else:
            rest = min(infimum, 1 - infimum)
            assert Fraction(p) <= infimum + ROOM * rest + Fraction(1, 2**52)


@given(curve=curves(), p=SHARE, changes=st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_the_worst_kinds_are_as_bad_as_all(curve, p, changes):
    """Every way to make so many changes, of any kind that counts as one."""
    if any(
        isinstance(c, DeletionCurve) for c in (curve, *getattr(curve, "curves", ()))
    ):
        return  # whose insertions and deletions are no worse than substitutions
    p = float(p)
    every = Ways((0,) * curve.kinds, ((changes, tuple(range(curve.kinds))),)).every()
    least = min(float(curve.low(p, Ways(counts))) for counts in every)
    low = float(curve.low(p, changes))
    # kinds that are left out may be equal but for the rounding of their masses
    assert least * (1 - 1e-12) <= low <= least * (1 + 1e-12) + 1e-290


@given(
    totals=st.lists(st.integers(0, 6), min_size=1, max_size=2),
    sizes=st.lists(st.integers(1, 3), min_size=2, max_size=2),
    weights=st.lists(st.integers(1, 5), min_size=6, max_size=6),
    rooms=st.lists(st.integers(0, 40), min_size=3, max_size=3),
)
def test_questions_hold_where_no_way_fails(totals, sizes, weights, rooms):
    groups = []
    start = 0
    for total, size in zip(totals, sizes, strict=False):
        groups.append((total, tuple(range(start, start + size))))
        start += size
    ways = Ways((0,) * start, tuple(groups))

    def holds(counts, room):
        return sum(w * c for w, c in zip(weights, counts, strict=False)) <= room

    every = list(ways.every())
    assert len(set(every)) == len(every) == ways.number
    asked = []

    def answers(counts, places):
        asked.append(counts)
        return np.array([holds(counts, rooms[place]) for place in places], bool)

    expected = [all(holds(counts, own) for counts in every) for own in rooms]
    assert ways.hold(answers, len(rooms)).tolist() == expected

    # a box that is not sure changes nothing but the time
    def unsure(counts, places):
        alone = counts in every
        return answers(counts, places) & alone

    assert ways.hold(unsure, len(rooms)).tolist() == expected


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_rising_answers_are_asked_of_some(size, first):
    asked = []

    def holds(places):
        asked.extend(places.tolist())
        return places >= first + 5

    places = np.arange(5, size + 5)
    assert rising(holds, places).tolist() == (places >= first + 5).tolist()
    assert len(asked) <= 128


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40))
def test_a_function_is_asked_of_each_different_value_once(pairs):
    given = np.array(pairs, dtype=float).reshape(-1, 1, 2)
    asked = []

    def function(*values):
        asked.extend(zip(*values, strict=True))
        return [10 * sum(pair) for pair in zip(*values, strict=True)]

    for width in (1, 2):
        asked.clear()
        arrays = [given[..., i] for i in range(width)]
        got = distinct(function, *arrays)
        assert got.tolist() == (10 * sum(arrays)).tolist()
        assert asked == sorted(set(asked))


@given(
    st.lists(st.tuples(st.integers(-1, 60), st.integers(-1, 70)), max_size=20),
    st.integers(0, 60),
)
def test_the_last_of_each_is_searched_together(pairs, end):
    """Whatever is guessed."""
    ends, guesses = ([pair[i] for pair in pairs] for i in (0, 1))
    asked = set()

    def holds(places, number):
        new = {(place, number) for place in places.tolist()}
        assert not new & asked
        asked.update(new)
        return np.array([number <= ends[place] for place in places], bool)

    found = last_of_each(holds, np.array(guesses, np.int64), end)
    assert found.tolist() == [min(own, end) for own in ends]


@given(st.integers(-1, 60), st.integers(0, 50), st.none() | st.integers(50, 70))
def test_the_last_that_holds(end, start, limit):
    got = last(lambda n: n <= end, limit, start=start)
    if end < start:
        assert got == start - 1
    else:
        assert got == (end if limit is None else min(end, limit))


@pytest.mark.parametrize("p", [0.61, 0.9, 0.999])
@pytest.mark.parametrize("delete", [0.9, 0.9999, 0.99999, 1 - 2.0**-30])
def test_radii_of_many_edits_are_those_of_the_formula(delete, p):
    """low(p) = p - 1 + delete^r: 12 s at 5,108 edits, and no end at ten times that."""
    with mp.workdps(60):
        exact = mp.floor(mp.log(mp.mpf(1.5) - mp.mpf(p)) / mp.log(mp.mpf(delete)))
    assert schemes.deletion(delete).curve.radius(p) == exact


def test_arrays_of_masks_are_searched():
    """The array went through every threshold, the scalar did not."""
    curve = MaskCurve(10**9, 10)
    p = np.linspace(0.6, 0.99, 5)
    radii = curve.radius(p)
    assert radii.tolist() == [curve.radius(one) for one in p]
    for one, radius in zip(p, radii, strict=True):
        for changes, certified in ((int(radius), True), (int(radius) + 1, False)):
            hidden = Fraction(math.comb(10**9 - changes, 10), math.comb(10**9, 10))
            assert (hidden > Fraction(3, 2) - Fraction(one)) == certified


@pytest.mark.parametrize(
    ("curve", "p", "p_b"),
    [
        (CategoricalCurve(0.501, 2), 0.7, None),
        (FlipsCurve(0.49, 0.49), 0.7, None),
        (FlipsCurve(0.1, 0.3), 0.9, 1e-300),
        (FlipsCurve(5e-324, 0.5), 0.9, None),
        (CategoricalCurve(5e-324, 3), 0.9, None),
        (CategoricalCurve(1 - 2.0**-53, 3), 1 - 2.0**-53, None),
        (FlipsCurve(0.48, 0.47), 0.8, None),
    ],
)
def test_radii_that_took_long_end_at_an_edge(curve, p, p_b):
    """See benchmarks for the times."""
    radius = curve.radius(p, p_b)
    if radius:
        assert curve.certified(p, radius, p_b)
    assert not curve.certified(p, radius + 1, p_b)


def test_blocks_have_the_radii_that_took_half_a_minute():
    scheme = schemes.blocks(
        schemes.flips(0.2, 0.6), schemes.categorical(0.6, 2), splits=[3]
    )
    assert [scheme.radius(z, 0.6) for z in (2.5, 3.2)] == [29.0, 48.0]


BEYOND = [
    (FlipsCurve(0.1, 0.3), 10**9),
    (FlipsCurve(0.1, 0.3), (10**9, 5)),
    (CategoricalCurve(0.2, 256), 10**6),
    (MaskCurve(10**8, 10**7), 10**7),
    (BlocksCurve(FlipsCurve(0.2, 0.6), CategoricalCurve(0.6, 2)), 10**4),
]


@pytest.mark.parametrize(("curve", "r"), BEYOND, ids=repr)
def test_more_changes_than_a_second_takes_are_refused_or_not_certified(curve, r):
    for call in (curve.low, curve.high):
        with pytest.raises(ArgumentError, match="few enough"):
            call(0.9, r)
    with pytest.raises(ArgumentError, match="few enough"):
        curve.threshold(r)
    assert not curve.certified(0.9, r)
    low, high = curve.transport([0.0, 1.0], r)
    assert low.tolist() == [-math.inf] * 2
    assert high.tolist() == [math.inf] * 2


@pytest.mark.parametrize(("z_a", "z_b"), list(product((-3.0, 0.5, 9.0), (-4.0, -9.5))))
def test_errors_of_floating_point_raise_nothing(z_a, z_b):
    curves = [
        FlipsCurve(1e-300, 0.5),
        CategoricalCurve(0.2, 2**31),
        BlocksCurve(FlipsCurve(0.01, 0.6), MaskCurve(2**31, probability=1e-9)),
        DeletionCurve(1 - 2.0**-50),
    ]
    for curve in curves:
        quiet = curve.radius(z_a, z_b, scores=True), curve.radius(z_a, scores=True)
        with np.errstate(all="raise"):
            loud = curve.radius(z_a, z_b, scores=True), curve.radius(z_a, scores=True)
        assert loud == quiet


@pytest.mark.parametrize(
    ("z_a", "z_b"),
    [(1e-17, -1.6e-17), (1e-100, 0.0), (6.0 + 1e-9, 6.0), (-8.0, -8.1), (0.05, -1e-9)],
)
def test_laplace_radii_of_close_scores_keep_their_digits(z_a, z_b):
    """A difference of two quantiles was 0, or off by 1e-14 of their size."""

    def quantile(z):
        size = -mp.log(2 * mp.ncdf(-abs(mp.mpf(z))))
        return size if z > 0 else -size

    with mp.workdps(250):
        exact = (quantile(z_a) - quantile(z_b)) / 2
        radius = schemes.laplace(1.0).radius(z_a, 1.0, z_b)
        assert exact * (1 - mp.mpf("2e-11")) <= radius <= exact


@pytest.mark.parametrize(
    "curve",
    [
        FlipsCurve(0.05, 0.1),
        CategoricalCurve(0.6, 3),
        MaskCurve(50, 5),
        BlocksCurve(FlipsCurve(0.05, 0.1), MaskCurve(2**31, probability=0.1)),
    ],
    ids=repr,
)
def test_arrays_have_the_radii_of_their_values(curve):
    """Next to the edges too, which whole numbers decide, and where there is no end."""
    edges = [curve.threshold(changes) for changes in (1, 2, 5)]
    p = [*edges, *np.nextafter(edges, 0), 0.3, 0.5, 0.8, 1.0, 0.999]
    p_b = [0.4, 1e-300, 0.0, 0.1, 1e-9, 0.05, 0.2, 0.5, 0.2, 0.0, 1e-250]
    z = [0.1, 1.3, 2.2, math.inf, -math.inf]
    z_b = [-0.1, 1.2, -9.0, -math.inf, -1.0]
    alone = curve.radius(np.array(p))
    assert alone.tolist() == [curve.radius(one) for one in p]
    pairs = curve.radius(np.array(p), np.array(p_b))
    assert pairs.tolist() == [curve.radius(*pair) for pair in zip(p, p_b, strict=True)]
    alone = curve.radius(np.array(z), scores=True)
    assert alone.tolist() == [curve.radius(one, scores=True) for one in z]
    pairs = curve.radius(np.array(z), np.array(z_b), scores=True)
    expected = [curve.radius(*pair, scores=True) for pair in zip(z, z_b, strict=True)]
    assert pairs.tolist() == expected


def test_alike_blocks_are_one_block():
    """Flips in two groups have no other curve than flips in one of twice the size."""
    flips = FlipsCurve(0.2, 0.6)
    both = BlocksCurve(flips, FlipsCurve(0.2, 0.6), CategoricalCurve(0.6, 3))
    p = np.linspace(0, 1, 9)
    found = both.low(p, ((3, 1), (2, 5), 0))
    assert found.tolist() == flips.low(p, (5, 6)).tolist()
    assert both.threshold(((3, 1), (2, 5), 0)) == flips.threshold((5, 6))
    # masks of so many coordinates hide no more than these
    masks = BlocksCurve(MaskCurve(6, 2), MaskCurve(6, 2))
    assert masks.low(1.0, (1, 1)) == pytest.approx(4 / 9, rel=1e-12)


def test_a_sure_event_keeps_what_its_input_can_produce():
    """Ones that appear at x' vanish there with 1/2 each, and x never has them."""
    low = FlipsCurve(0.0, 0.5).low(np.array([0.9, 1.0]), 40)
    assert low[0] == 0
    assert 0.5**40 * (1 - 1e-11) <= low[1] <= 0.5**40


@pytest.mark.parametrize("curve", [FlipsCurve(0.25, 0.3), FlipsCurve(0.0, 0.5)])
def test_no_way_keeps_less_and_none_has_a_larger_threshold(curve):
    every = [Ways((added, 9 - added)) for added in range(10)]
    p = np.array([1e-20, 0.3, 0.9, 1 - 1e-12, 1.0])
    assert np.array_equal(curve.low(p, 9), np.min([curve.low(p, r) for r in every], 0))
    assert curve.threshold(9) == max(curve.threshold(r) for r in every)


def test_thresholds_next_to_one_are_known_as_scores():
    """As a double such a threshold is 1: the rest is below 2^-60."""
    curve = BlocksCurve(FlipsCurve(0.2, 0.6), FlipsCurve(0.01, 0.6))
    every = Ways((0,) * 4, ((40, curve.worst),)).every()
    each = [curve.threshold(Ways(counts), scores=True) for counts in every]
    assert curve.threshold(40, scores=True) == max(each)
    assert mp.ncdf(-max(each)) < 2.0**-60
    assert curve.threshold(40) == 1.0
