"""Curves of discrete noise against brute force over all outcomes, in rationals.

Answers are on the safe side of the exact ones, and within 1e-11 of them.
"""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import slow_but
from exact_curves import ROOM, assert_next_to, case_of, cases_of, surely_certified
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.special import ndtri

from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.oracle import discrete as brute
from rsbounds.oracle import regions
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._deletion import DeletionCurve
from rsbounds.schemes._flips import FlipsCurve
from rsbounds.schemes._mask import MaskCurve

PROBABILITIES = [
    Fraction(n, d)
    for n, d in [(0, 1), (1, 97), (1, 3), (1, 2), (5, 9), (7, 9), (9, 10), (49, 50)]
] + [1 - Fraction(1, 10**9), Fraction(1)]
KEEPS = [Fraction(0), Fraction(1, 5), Fraction(2, 3), Fraction(9, 10), Fraction(1)]
CHANCES = [Fraction(0), Fraction(1, 100), Fraction(3, 7), Fraction(4, 5), Fraction(1)]


@pytest.fixture(autouse=True)
def ordered_once(monkeypatch):
    """The oracle puts the outcomes of a case in order at the first question of many."""
    known = {}
    ordered = brute._ordered

    def once(case):
        # the case is kept too: its address stands for no other
        laws = tuple(map(id, case))
        if laws not in known:
            known[laws] = case, ordered(case)
        return known[laws][1]

    monkeypatch.setattr(brute, "_ordered", once)


def assert_next(curve, r, cases, probabilities=PROBABILITIES):
    for p in probabilities:
        assert_next_to(curve, r, cases, float(p))
    assert_threshold(curve, r, cases)


def assert_threshold(curve, r, cases):
    infimum = brute.infimum(cases)
    threshold = curve.threshold(r)
    if threshold == math.inf:
        # even a sure event leaves no more than half, or next to it
        assert not surely_certified(cases, Fraction(1))
        return
    assert infimum < Fraction(threshold)
    before = Fraction(math.nextafter(threshold, 0))
    assert before <= infimum + ROOM * min(infimum, 1 - infimum)
    assert curve.certified(threshold, r)
    assert not curve.certified(math.nextafter(threshold, 0), r)


def categorical_grid(dims, sizes):
    for keep, values, dim in product(KEEPS, sizes, dims):
        if keep * values != 1:
            for r in range(dim + 1):
                yield keep, values, dim, r


def assert_categorical(dims, sizes):
    for keep, values, dim, r in categorical_grid(dims, sizes):
        cases = brute.categorical_cases(keep, values, dim, r)
        # by symmetry one x' of each number of other values is enough
        assert_next(CategoricalCurve(keep, values), r, cases[:1] + cases[-1:])


def test_categorical_is_brute_force():
    assert_categorical(dims=(1, 2), sizes=(3,))


@pytest.mark.slow
def test_categorical_is_brute_force_in_three_coordinates():
    assert_categorical(dims=(3,), sizes=(2, 3, 4))


def assert_flips(x, chances):
    for add, delete in product(chances, chances):
        if add + delete == 1:
            continue
        curve = FlipsCurve(add, delete)
        by_changes = {}
        for counts, cases in brute.flip_cases(add, delete, x).items():
            assert_next(curve, counts, cases[:1])
            assert_threshold(curve, counts, cases)
            by_changes.setdefault(sum(counts), []).extend(cases)
        for p in PROBABILITIES:
            # x has all the splits of as many changes as it has both bits
            for r in range(min(x.count(0), x.count(1)) + 1):
                assert_next_to(curve, r, by_changes[r], float(p))


def test_flips_are_brute_force():
    assert_flips([0, 1], CHANCES[::2])


@pytest.mark.slow
def test_flips_are_brute_force_in_four_coordinates():
    for x in ([0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 1, 0]):
        assert_flips(x, CHANCES)


def assert_masks(dims):
    for dim in dims:
        for kept in [*map(Fraction, range(1, dim + 1)), Fraction(1, 7), Fraction(3, 5)]:
            if kept < 1:
                curve = MaskCurve(dim, probability=kept)
            else:
                curve = MaskCurve(dim, int(kept))
            for r in range(dim + 1):
                assert_next(curve, r, brute.mask_cases(dim, kept, r)[:1])
            assert curve.low(0.5, dim + 3) == curve.low(0.5, dim)


def test_masks_are_brute_force():
    assert_masks([1, 3])


@pytest.mark.slow
def test_masks_are_brute_force_in_six_coordinates():
    assert_masks([4, 5, 6])


def assert_deletions(lengths, chances):
    """The bound holds for every sequence, and is attained where none repeats."""
    for length, delete in product(lengths, chances):
        curve = DeletionCurve(delete)
        for x in product(range(2), repeat=length):
            for r in range(3):
                cases = brute.deletion_cases(delete, x, r)
                for p in map(float, PROBABILITIES):
                    assert curve.low(p, r) <= brute.low(cases, Fraction(p))
                    assert curve.high(p, r) >= brute.high(cases, Fraction(p))


DELETIONS = [Fraction(0), Fraction(1, 3), Fraction(9, 10)]


def test_deletions_hold_for_every_sequence():
    assert_deletions([0, 1, 2], DELETIONS[1:])


@pytest.mark.slow
def test_deletions_hold_for_every_sequence_of_four():
    assert_deletions([3, 4], DELETIONS)


@pytest.mark.parametrize(
    ("x", "other", "edits"),
    [
        ((0, 1), (2, 3), (0, 0, 2)),
        ((0, 1), (0, 2), (0, 0, 1)),
        ((0, 1), (0, 1, 2), (1, 0, 0)),
        ((0, 1, 2), (0,), (0, 2, 0)),
        ((0, 1), (2, 3, 4), (1, 0, 2)),
    ],
)
def test_deletions_are_exact_where_no_element_repeats(x, other, edits):
    for delete in DELETIONS[1:]:
        at_x = brute.deletion_cases(delete, x, 0, alphabet=5)[0][0]
        # the oracle's law of x' is the one that it has as an input
        case = (at_x, brute.deletion_cases(delete, other, 0, alphabet=5)[0][0])
        for p in PROBABILITIES:
            assert_next_to(DeletionCurve(delete), edits, [case], float(p))


def assert_blocks(kernels, dims):
    sides = []
    for add, delete in kernels:
        curve = FlipsCurve(add, delete)
        for counts, cases in brute.flip_cases(add, delete, [0, 1][:dims]).items():
            sides.append((curve, counts, cases[:1]))
    keep = Fraction(2, 5)
    for r in range(dims + 1):
        cases = brute.categorical_cases(keep, 3, dims, r)[:1]
        sides.append((CategoricalCurve(keep, 3), r, cases))
    for one, other in product(sides, sides):
        cases = brute.block_cases(one[2], other[2])
        curve = BlocksCurve(one[0], other[0])
        assert_next(curve, (one[1], other[1]), cases, PROBABILITIES[3::2])


def test_blocks_are_brute_force():
    assert_blocks([(Fraction(1, 100), Fraction(3, 5))], dims=1)


@pytest.mark.slow
def test_blocks_are_brute_force_in_two_coordinates_each():
    tenth = Fraction(1, 10)
    assert_blocks([(Fraction(1, 1000), Fraction(4, 5)), (tenth, 7 * tenth)], dims=2)


CURVES = [
    CategoricalCurve(Fraction(1, 5), 256),
    CategoricalCurve(0.8, 3),
    FlipsCurve(0.01, 0.6),
    FlipsCurve(0, 0.75),
    MaskCurve(50, 5),
    MaskCurve(20, probability=0.2),
    DeletionCurve(0.9),
    BlocksCurve(FlipsCurve(0.1, 0.3), MaskCurve(9, 2)),
]
BY_NAME = pytest.mark.parametrize("curve", CURVES, ids=repr)


# the largest r that holds for all smaller ones, by asking each of them in turn
def counted(curve, p_a, p_b=None, end=40):
    r = 0
    while r < end and curve.certified(p_a, r, p_b):
        r += 1
    return max(r - 1, 0)


@BY_NAME
def test_a_radius_is_the_last_certified(curve):
    points = [0.3, 0.5, math.nextafter(0.5, 1), 0.7, 0.9, 0.97]
    radii = curve.radius(np.array(points))
    for p, radius in zip(points, radii, strict=True):
        assert curve.radius(p) == radius == counted(curve, p)
        assert curve.radius(p, 0.1) == counted(curve, p, 0.1)
        assert not curve.certified(p, radius + 1)
    # at the threshold and one double below it
    for r in range(1, 4):
        threshold = curve.threshold(r)
        if threshold < 1:
            edge = np.array([math.nextafter(threshold, 0), threshold])
            at = curve.radius(edge)
            assert at[0] < r <= at[1]
            assert [curve.radius(p) for p in edge] == at.tolist()


@BY_NAME
def test_curves_rise_with_p_and_fall_with_r(curve):
    grid = [*np.linspace(0, 1, 11), 1e-300, 1 - 2.0**-53]
    p = np.sort(grid)
    before = p
    for r in range(5):
        low = curve.low(p, r)
        assert np.all(np.diff(low) >= 0)
        assert np.all(low <= before)
        assert np.all(curve.high(p, r) >= p)
        before = low
    assert np.array_equal(curve.low(p, 0), p)
    assert np.array_equal(curve.high(p, 0), p)
    thresholds = [curve.threshold(r) for r in range(5)]
    assert thresholds == sorted(thresholds)
    assert curve.threshold(0) == math.nextafter(0.5, 1)


@BY_NAME
def test_limits(curve):
    assert curve.low(0.0, 3) == 0.0
    assert curve.high(1.0, 3) == 1.0
    assert curve.radius(0.0) == curve.radius(0.5) == 0
    assert curve.radius(0.9, 0.9) == 0
    assert curve.frontier(0.5) == []
    assert curve.radius(-math.inf, scores=True) == 0
    assert curve.radius(0.0, scores=True) == 0
    low, high = curve.transport([-np.inf, np.inf], 1)
    assert low[0] == -np.inf
    assert high[1] == np.inf


SCORES = np.concatenate([np.linspace(-38, 38, 20), [-1e-9, 1e-300, 1e-9, 0.3, 8.2]])


def ratio(number, up):
    """An mpmath number in [0, 1] as a Fraction, rounded to a side."""
    scale = 2**1500
    scaled = number * scale
    whole = int(mp.ceil(scaled) if up else mp.floor(scaled))
    return min(Fraction(whole, scale), Fraction(1))


def number(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


@pytest.mark.parametrize("curve", slow_but([CURVES[4]], CURVES), ids=repr)
def test_scores_are_sound_to_the_far_tails(curve):
    """Tails in 500 digits, beyond the smallest of them."""
    room = mp.mpf(2) ** -1400
    with mp.workdps(500):
        for r in (1, 3):
            cases = cases_of(curve, r)
            low, high = curve.transport(SCORES, r)
            for k, z in enumerate(map(float, SCORES)):
                least = number(brute.low(cases, ratio(mp.ncdf(z), up=False)))
                assert mp.ncdf(low[k]) <= least + room
                least = number(brute.low(cases, ratio(mp.ncdf(-z), up=False)))
                assert mp.ncdf(-high[k]) <= least + room


@BY_NAME
def test_transport_is_as_tight_as_its_page_says(curve):
    """6e-14 of the result, and of the smaller tail by the slope that carries it."""
    shift = mp.mpf(10) ** -8
    with mp.workdps(60):
        for r in (1, 2, 4):
            cases = cases_of(curve, r)
            for z, sign in product((-8.0, -3.0, -0.2, 0.0, 0.9, 2.5, 8.0), (1, -1)):
                p = mp.ncdf(sign * z)
                tail = mp.ncdf(-abs(z))
                least = number(brute.low(cases, ratio(p, up=False)))
                below = number(brute.low(cases, ratio(p - shift * tail, up=False)))
                carried = (least - below) / shift  # the slope times the tail
                bound = float(curve.transport(z, r)[0 if sign == 1 else 1])
                got = mp.ncdf(sign * bound)
                room = mp.mpf("6e-14") * (least + carried) + mp.mpf(10) ** -290
                # the score that is returned, within 2e-15, has this much of the share
                if np.isfinite(bound):
                    room += mp.npdf(bound) * abs(mp.mpf(bound)) * mp.mpf("8e-15")
                assert least - got <= room, (r, z, sign)


@BY_NAME
def test_thresholds_of_scores_are_sound(curve):
    with mp.workdps(400):
        for r in (1, 2, 3, 5):
            z = curve.threshold(r, scores=True)
            infimum = brute.infimum(cases_of(curve, r))
            if infimum is None or infimum >= 1:
                assert z == math.inf
                continue
            tail = mp.mpf((1 - infimum).numerator) / (1 - infimum).denominator
            assert mp.ncdf(-z) < tail
            # 1e-11 of the tail, and the score's own rounding
            assert mp.ncdf(-z * (1 - 1e-14)) > tail * (1 - mp.mpf("1e-11"))
            assert curve.certified(z, r, scores=True)
            assert not curve.certified(math.nextafter(z, 0), r, scores=True)
            assert curve.radius(z, scores=True) >= r
            assert curve.radius(math.nextafter(z, 0), scores=True) < max(r, 1)


def test_certified_by_scores_is_sound_for_pairs():
    curve = CategoricalCurve(Fraction(1, 5), 256)
    with mp.workdps(400):
        for z_a, z_b, r in product([-3.0, 0.1, 2.0, 9.0], [-37.0, -2.0, 1.9], (0, 1)):
            case = [case_of(curve, (r,))]
            low = brute.low(case, ratio(mp.ncdf(z_a), up=False))
            rest = brute.low(case, ratio(mp.ncdf(-z_b), up=False))
            assert curve.certified(z_a, r, z_b, scores=True) == (low + rest > 1)


def test_probabilities_next_to_one_keep_their_precision_as_scores():
    """p = 1 - 1e-17 is the double 1.0, yet a score of its own."""
    curve = CategoricalCurve(Fraction(1, 5), 256)
    with mp.workdps(60):
        z = float(mp.erfinv(1 - 2 * mp.mpf(10) ** -17) * mp.sqrt(2)) * (1 - 1e-15)
    p = 1 - Fraction(1, 10**17)
    radius = curve.radius(z, scores=True)
    assert curve.radius(1.0) == math.inf
    assert brute.certified([case_of(curve, (radius,))], p)
    assert not brute.certified([case_of(curve, (radius + 1,))], p)


def test_scores_that_no_samples_show_are_taken_as_12():
    """The search of a radius at z = 40 took hours for flips."""
    for curve in (FlipsCurve(0.01, 0.6), CategoricalCurve(0.2, 256)):
        radius = curve.radius(12.0, -12.0, scores=True)
        assert radius > 50
        assert curve.radius(40.0, -40.0, scores=True) == radius
        assert (
            curve.radius([12.0, 40.0], [-12.0, -40.0], scores=True).tolist()
            == [radius] * 2
        )
        assert curve.radius(math.inf, -40.0, scores=True) == math.inf
    curve = CategoricalCurve(0.2, 256)
    assert curve.radius([12.0, 40.0], scores=True).tolist() == [radius] * 2


@BY_NAME
def test_what_was_asked_before_changes_nothing(curve):
    """Curves keep powers, regions and thresholds: none depends on the order."""

    def fresh():
        return pickle.loads(pickle.dumps(curve))

    alone = [fresh().threshold(r) for r in range(7)]
    for order in ([0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [3, 4, 5, 2, 6, 3, 1]):
        kept = fresh()
        assert [kept.threshold(r) for r in order] == [alone[r] for r in order]
    few = np.array([0.3, 0.6])
    many = np.array([0.5, 0.7, 0.9, 0.97])
    kept = fresh()
    for points in (few, many, few, np.append(many, 1.0)):
        assert np.array_equal(kept.radius(points), fresh().radius(points))
        scores = ndtri(points)
        assert np.array_equal(
            kept.radius(scores, scores=True), fresh().radius(scores, scores=True)
        )


@given(order=st.permutations(range(4)), keep=st.fractions(0, 1, max_denominator=30))
@settings(max_examples=30, deadline=None)
def test_thresholds_in_any_order_are_brute_force(order, keep):
    if keep * 3 == 1:
        return
    curve = CategoricalCurve(keep, 3)
    for r in order:
        assert_threshold(curve, r, brute.categorical_cases(keep, 3, 3, r)[:1])


def test_threads_may_share_a_curve():
    """What one keeps for the next is replaced, never changed."""
    points = [np.linspace(0.5, end, 40) for end in np.linspace(0.6, 0.999, 24)]
    fresh = CategoricalCurve(0.2, 256)
    expected = [fresh.radius(p) for p in points]
    shared = CategoricalCurve(0.2, 256)
    with ThreadPoolExecutor(8) as threads:
        radii = list(threads.map(shared.radius, reversed(points)))
    for radius, other in zip(reversed(radii), expected, strict=True):
        assert np.array_equal(radius, other)


def test_regions_of_megabytes_are_not_kept(monkeypatch):
    """A curve that hardly falls once kept gigabytes of them."""
    monkeypatch.setattr("rsbounds.discrete._curve._MOST_NUMBERS", 600)
    curve = CategoricalCurve(0.999, 256)
    for r in (300, 900, 901, 902, 600):
        curve.threshold(r)
        sizes = [own.mass.size for own in curve._regions.values()]
        assert curve._numbers == sum(sizes)
        assert sum(sizes) <= 600
    assert len(sizes) < 5


WRONG = [math.nan, -0.1, 1.1, math.inf, "0.5", None, True, 1j]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_wrong_probabilities_are_refused(wrong):
    curve = CURVES[0]
    for call in (
        lambda: curve.low(wrong, 1),
        lambda: curve.high(wrong, 1),
        lambda: curve.radius(wrong),
        lambda: curve.certified(wrong, 1),
        lambda: curve.frontier(wrong),
        lambda: CategoricalCurve(wrong, 3),
        lambda: FlipsCurve(wrong, 0.1),
        lambda: FlipsCurve(0.1, wrong),
        lambda: DeletionCurve(wrong),
    ):
        with pytest.raises(ArgumentError):
            call()


@pytest.mark.parametrize(
    "wrong", [-1, 0.5, math.nan, math.inf, "1", True, (1, 2, 3, 4)]
)
@BY_NAME
def test_wrong_numbers_of_changes_are_refused(curve, wrong):
    with pytest.raises(ArgumentError):
        curve.threshold(wrong)
    for call in (curve.low, curve.high, curve.certified, curve.transport):
        with pytest.raises(ArgumentError):
            call(0.5, wrong)


@BY_NAME
def test_nan_scores_are_refused(curve):
    for call in (
        lambda: curve.transport(math.nan, 1),
        lambda: curve.transport([0.0, math.nan], 1),
        lambda: curve.radius(math.nan, scores=True),
        lambda: curve.radius([1.0, math.nan], scores=True),
        lambda: curve.radius(1.0, math.nan, scores=True),
        lambda: curve.radius(np.array([0.5, math.nan])),
        lambda: curve.certified(math.nan, 1, scores=True),
        lambda: curve.certified(1.0, 1, math.nan, scores=True),
        lambda: curve.frontier(math.nan, scores=True),
    ):
        with pytest.raises(ArgumentError):
            call()


chance = st.fractions(0, 1, max_denominator=40)


@given(
    add=chance, delete=chance, p=chance, r_a=st.integers(0, 2), r_d=st.integers(0, 2)
)
@settings(max_examples=60, deadline=None)
def test_no_flips_break_the_bound(add, delete, p, r_a, r_d):
    if add + delete == 1:
        return
    x = [0] * r_a + [1] * r_d
    cases = brute.flip_cases(add, delete, x)[r_a, r_d]
    curve = FlipsCurve(add, delete)
    assert_next_to(curve, (r_a, r_d), cases, float(p))


# reference numbers --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("r", "published"),
    [
        (1, "0.69686274509803921569"),
        (3, "0.97898829668830238747"),
        (9, "0.99993970389648837618"),
    ],
)
def test_published_thresholds_of_categorical_noise(r, published):
    """Lee et al. 2019, ImageNet, alpha = .2, K = 255; printed to 20 digits."""
    exact = brute.infimum([regions.of_categories(Fraction(1, 5), 255, r)])
    assert abs(exact - Fraction(published)) <= Fraction(1, 10**20)
    threshold = CategoricalCurve(Fraction(1, 5), 256).threshold(r)
    assert 0 < Fraction(threshold) - exact <= (1 - exact) / 10**11


def test_a_mask_of_five_in_fifty():
    """What is certified at .9 by RanMASK's noise is 4 words, not the 6 it prints."""
    curve = MaskCurve(50, 5)
    assert curve.radius(0.9) == 4
    assert not curve.certified(0.9, 6)


def test_blocks_are_ordered_by_the_product_of_ratios():
    """The joint case that an unsorted grid puts at .800."""
    edges = FlipsCurve(Fraction(1, 1000), Fraction(4, 5))
    features = FlipsCurve(Fraction(3, 1000), Fraction(2, 5))
    low = BlocksCurve(edges, features).low(0.999, ((1, 0), (3, 4)))
    assert abs(low - 0.05265119) <= 5e-9


def test_radii_of_many_changes_are_searched_and_not_counted_out():
    """One score's radius is that in an array, which has every threshold before it."""
    weak = CategoricalCurve(0.38, 3)
    scores = [0.9, 1.7, 2.0]
    one_by_one = [weak.radius(z, scores=True) for z in scores]
    assert 64 < one_by_one[1] < one_by_one[2] < 200
    again = CategoricalCurve(0.38, 3)
    assert again.radius(np.array(scores), scores=True).tolist() == one_by_one
    # the array's thresholds are more than one score asks for, and are taken
    assert [again.radius(z, scores=True) for z in scores] == one_by_one
    assert (
        again.radius(2.1, scores=True) == weak.radius(2.1, scores=True) > one_by_one[2]
    )


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 9, 13, 40, 300])
def test_a_threshold_next_to_half_certifies_and_is_within_its_promise(exponent):
    """The tail of a score near 0 has none of its digits."""
    # a mask that hides all but this share has the infimum 1/2 and the share
    for share in (Fraction(1, 5), Fraction(31, 250), Fraction(1, 9)):
        left = share / 10**exponent
        curve = MaskCurve(2**40, probability=left)
        z = curve.threshold(1, scores=True)
        with mp.workdps(340):
            twice = 2 * mp.mpf(left.numerator) / left.denominator
            exact = mp.sqrt(2) * mp.erfinv(twice)
            assert exact < z <= exact + mp.mpf("1e-13")
        assert curve.certified(z, 1, scores=True)
        assert curve.radius(z, scores=True) >= 1
        assert curve.radius(curve.threshold(1)) >= 1


def test_a_sure_event_may_lack_all_that_is_new_and_no_more():
    """Copies that show nothing which x has were lacked by more than all of x'."""
    curve = MaskCurve(6, 2)
    with np.errstate(invalid="raise"):
        low, high = curve.transport(np.array([np.inf, 1.0]), 5)
    assert low.tolist() == [-np.inf, -np.inf]
    assert high.tolist() == [np.inf, np.inf]
