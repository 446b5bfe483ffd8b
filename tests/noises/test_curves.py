"""Curves of discrete noise against brute force over all outcomes, in rationals."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import slow_but
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.special import ndtri

from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises._regions import Regions
from rsbounds.noises.blocks import BlocksCurve
from rsbounds.noises.categorical import CategoricalCurve
from rsbounds.noises.deletion import DeletionCurve
from rsbounds.noises.flips import FlipsCurve
from rsbounds.noises.mask import MaskCurve
from rsbounds.oracle import discrete as brute

HALF = Fraction(1, 2)
PROBABILITIES = [
    Fraction(n, d)
    for n, d in [(0, 1), (1, 97), (1, 3), (1, 2), (5, 9), (7, 9), (9, 10), (49, 50)]
] + [1 - Fraction(1, 10**9), Fraction(1)]
KEEPS = [Fraction(0), Fraction(1, 5), Fraction(2, 3), Fraction(9, 10), Fraction(1)]
CHANCES = [Fraction(0), Fraction(1, 100), Fraction(3, 7), Fraction(4, 5), Fraction(1)]


def assert_equal(curve, r, cases, probabilities=PROBABILITIES):
    """Every public answer at r is the brute force's; floats are on the safe side."""
    for p in probabilities:
        low = brute.low(cases, p)
        high = brute.high(cases, p)
        assert curve.low(p, r) == low
        assert curve.high(p, r) == high
        assert curve.certified(p, r) == brute.certified(cases, p)
        for p_b in (Fraction(0), Fraction(1, 7), Fraction(1, 2)):
            assert curve.certified(p, r, p_b) == brute.certified(cases, p, p_b)
        double = float(p)
        exact = brute.low(cases, Fraction(double))
        below = curve.low(double, r)
        assert Fraction(below) <= exact < Fraction(math.nextafter(below, 2))
        exact = brute.high(cases, Fraction(double))
        above = curve.high(double, r)
        assert Fraction(above) >= exact > Fraction(math.nextafter(above, -1))
    assert_threshold(curve, r, cases)


def assert_threshold(curve, r, cases):
    infimum = brute.infimum(cases)
    assert curve.threshold(r, exact=True) == (math.inf if infimum is None else infimum)
    threshold = curve.threshold(r)
    if threshold == math.inf:
        assert not brute.certified(cases, Fraction(1))
        return
    assert brute.certified(cases, Fraction(threshold))
    assert not brute.certified(cases, Fraction(math.nextafter(threshold, 0)))


def categorical_grid(dims, sizes):
    for keep, values, dim in product(KEEPS, sizes, dims):
        if keep * values != 1:
            for r in range(dim + 1):
                yield keep, values, dim, r


def assert_categorical(dims, sizes):
    for keep, values, dim, r in categorical_grid(dims, sizes):
        cases = brute.categorical_cases(keep, values, dim, r)
        # by symmetry one x' of each number of other values is enough
        assert_equal(CategoricalCurve(keep, values), r, cases[:1] + cases[-1:])


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
            assert_equal(curve, counts, cases[:1])
            assert_threshold(curve, counts, cases)
            by_changes.setdefault(sum(counts), []).extend(cases)
        for p in PROBABILITIES:
            # x has all the splits of as many changes as it has both bits
            for r in range(min(x.count(0), x.count(1)) + 1):
                assert curve.low(p, r) == brute.low(by_changes[r], p)


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
                assert_equal(curve, r, brute.mask_cases(dim, kept, r)[:1])
            assert curve.low(HALF, dim + 3) == curve.low(HALF, dim)


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
                for p in PROBABILITIES:
                    assert curve.low(p, r) <= brute.low(cases, p)
                    assert curve.high(p, r) >= brute.high(cases, p)


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
            assert DeletionCurve(delete).low(p, edits) == brute.low([case], p)


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
        assert_equal(curve, (one[1], other[1]), cases, PROBABILITIES[3::2])


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
    assert curve.threshold(0, exact=True) == HALF


@BY_NAME
def test_limits(curve):
    assert curve.low(0.0, 3) == 0.0
    assert curve.high(1.0, 3) == 1.0
    assert curve.radius(0.0) == curve.radius(0.5) == 0
    assert curve.radius(0.9, 0.9) == 0
    assert curve.frontier(0.5) == []
    assert curve.radius_of_scores(-math.inf) == curve.radius_of_scores(0.0) == 0
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


@pytest.mark.parametrize("curve", slow_but([CURVES[2], CURVES[4]], CURVES), ids=repr)
def test_scores_are_sound_to_the_far_tails(curve):
    """Tails in 500 digits, beyond the smallest of them."""
    room = mp.mpf(2) ** -1400
    with mp.workdps(500):
        for r in (1, 3):
            low, high = curve.transport(SCORES, r)
            for k, z in enumerate(map(float, SCORES)):
                least = number(curve.low(ratio(mp.ncdf(z), up=False), r))
                assert mp.ncdf(low[k]) <= least + room
                least = number(curve.low(ratio(mp.ncdf(-z), up=False), r))
                assert mp.ncdf(-high[k]) <= least + room


@BY_NAME
def test_transport_is_as_tight_as_its_page_says(curve):
    """4e-14 of the result, and of p by the slope that carries it."""
    shift = mp.mpf(10) ** -8
    with mp.workdps(60):
        for r, z in product((1, 2, 4), (-8.0, -3.0, -0.2, 0.0, 0.9, 2.5, 5.0, 8.0)):
            for sign in (1, -1):
                p = mp.ncdf(sign * z)
                least = number(curve.low(ratio(p, up=False), r))
                below = number(curve.low(ratio(p * (1 - shift), up=False), r))
                carried = (least - below) / shift  # the slope times p
                bound = float(curve.transport(z, r)[0 if sign == 1 else 1])
                got = mp.ncdf(sign * bound)
                room = mp.mpf("4e-14") * (least + carried) + mp.mpf(10) ** -300
                # the score that is returned, within 2e-15, has this much of the share
                if np.isfinite(bound):
                    room += mp.npdf(bound) * abs(mp.mpf(bound)) * mp.mpf("8e-15")
                assert least - got <= room, (r, z, sign)


@BY_NAME
def test_thresholds_of_scores_are_sound(curve):
    with mp.workdps(400):
        for r in (1, 2, 3, 5):
            z = curve.score_threshold(r)
            infimum = curve.threshold(r, exact=True)
            if infimum >= 1:
                assert z == math.inf
                continue
            tail = mp.mpf((1 - infimum).numerator) / (1 - infimum).denominator
            assert mp.ncdf(-z) < tail
            # at most 1e-14 of it is rounding
            assert mp.ncdf(-z * (1 - 2e-14) + 1e-300) > tail
            # 3e-14 of p = .6 is 2e-13 of the score there
            assert curve.certified_by_scores(z * (1 + 2e-13), r)
            assert not curve.certified_by_scores(z * (1 - 2e-14) - 1e-300, r)
            assert curve.radius_of_scores(z) >= r
            assert curve.radius_of_scores(z * (1 - 2e-14) - 1e-300) < max(r, 1)


def test_certified_by_scores_is_sound_for_pairs():
    curve = CategoricalCurve(Fraction(1, 5), 256)
    with mp.workdps(400):
        for z_a, z_b, r in product([-3.0, 0.1, 2.0, 9.0], [-37.0, -2.0, 1.9], (0, 1)):
            low = curve.low(ratio(mp.ncdf(z_a), up=False), r)
            rest = curve.low(ratio(mp.ncdf(-z_b), up=False), r)
            assert curve.certified_by_scores(z_a, r, z_b) == (low + rest > 1)


def test_probabilities_next_to_one_keep_their_precision_as_scores():
    """p = 1 - 1e-17 is the double 1.0, yet a score of its own."""
    curve = CategoricalCurve(Fraction(1, 5), 256)
    with mp.workdps(60):
        z = float(mp.erfinv(1 - 2 * mp.mpf(10) ** -17) * mp.sqrt(2)) * (1 - 1e-15)
    p = 1 - Fraction(1, 10**17)
    assert curve.radius(1.0) == math.inf
    assert curve.radius_of_scores(z) == curve.radius(p) == counted(curve, p, end=60)


def test_scores_that_no_samples_show_are_taken_as_12():
    """The search of a radius at z = 40 took hours for flips."""
    for curve in (FlipsCurve(0.01, 0.6), CategoricalCurve(0.2, 256)):
        radius = curve.radius_of_scores(12.0, -12.0)
        assert radius > 50
        assert curve.radius_of_scores(40.0, -40.0) == radius
        assert (
            curve.radius_of_scores([12.0, 40.0], [-12.0, -40.0]).tolist()
            == [radius] * 2
        )
        assert curve.radius_of_scores(math.inf, -40.0) == math.inf
    curve = CategoricalCurve(0.2, 256)
    assert curve.radius_of_scores([12.0, 40.0]).tolist() == [radius] * 2


@BY_NAME
def test_what_was_asked_before_changes_nothing(curve):
    """Curves keep powers, regions and thresholds: none depends on the order."""

    def fresh():
        return pickle.loads(pickle.dumps(curve))

    alone = [fresh().threshold(r, exact=True) for r in range(7)]
    for order in ([0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [3, 4, 5, 2, 6, 3, 1]):
        kept = fresh()
        assert [kept.threshold(r, exact=True) for r in order] == [
            alone[r] for r in order
        ]
    few = np.array([0.3, 0.6])
    many = np.array([0.5, 0.7, 0.9, 0.97])
    kept = fresh()
    for points in (few, many, few, np.append(many, 1.0)):
        assert np.array_equal(kept.radius(points), fresh().radius(points))
        scores = ndtri(points)
        assert np.array_equal(
            kept.radius_of_scores(scores), fresh().radius_of_scores(scores)
        )


@given(order=st.permutations(range(4)), keep=st.fractions(0, 1, max_denominator=30))
@settings(max_examples=30, deadline=None)
def test_thresholds_in_any_order_are_brute_force(order, keep):
    if keep * 3 == 1:
        return
    curve = CategoricalCurve(keep, 3)
    for r in order:
        cases = brute.categorical_cases(keep, 3, 3, r)
        infimum = brute.infimum(cases[:1])
        expected = math.inf if infimum is None else infimum
        assert curve.threshold(r, exact=True) == expected


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


def test_regions_of_megabytes_are_not_kept():
    """A curve that hardly falls once kept gigabytes of them."""
    curve = CategoricalCurve(0.999, 256)
    for r in (300, 900, 901, 902, 600):
        curve.threshold(r)
        sizes = [regions.bits for regions in curve._regions.values()]
        assert curve._bits == sum(sizes)
        assert sum(sizes) <= 2**30
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
    for call in (curve.threshold, curve.score_threshold):
        with pytest.raises(ArgumentError):
            call(wrong)
    for call in (curve.low, curve.high, curve.certified, curve.transport):
        with pytest.raises(ArgumentError):
            call(0.5, wrong)


@BY_NAME
def test_nan_scores_are_refused(curve):
    for call in (
        lambda: curve.transport(math.nan, 1),
        lambda: curve.transport([0.0, math.nan], 1),
        lambda: curve.radius_of_scores(math.nan),
        lambda: curve.radius_of_scores([1.0, math.nan]),
        lambda: curve.radius_of_scores(1.0, math.nan),
        lambda: curve.radius(np.array([0.5, math.nan])),
        lambda: curve.certified_by_scores(math.nan, 1),
        lambda: curve.certified_by_scores(1.0, 1, math.nan),
        lambda: curve.frontier_of_scores(math.nan),
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
    assert curve.low(p, (r_a, r_d)) == brute.low(cases, p)
    assert curve.certified(p, (r_a, r_d)) == brute.certified(cases, p)


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
    exact = CategoricalCurve(Fraction(1, 5), 256).threshold(r, exact=True)
    assert abs(exact - Fraction(published)) <= Fraction(1, 10**20)


def test_a_mask_of_five_in_fifty():
    """What is certified at .9 by RanMASK's noise is 4 words, not the 6 it prints."""
    curve = MaskCurve(50, 5)
    assert curve.radius(0.9) == 4
    assert not curve.certified(Fraction(9, 10), 6)


def test_blocks_are_ordered_by_the_product_of_ratios():
    """The joint case that an unsorted grid puts at .800."""
    edges = FlipsCurve(Fraction(1, 1000), Fraction(4, 5))
    features = FlipsCurve(Fraction(3, 1000), Fraction(2, 5))
    low = BlocksCurve(edges, features).low(Fraction(999, 1000), ((1, 0), (3, 4)))
    assert abs(low - Fraction("0.05265119")) <= Fraction(1, 2 * 10**8)


def test_regions_are_sorted_by_ratios_that_doubles_cannot_tell_apart():
    """Neighbours differ by one part in 10^400; two are equal, and one has no mass."""
    big = 10**400
    pairs = [(big, big + 2), (big, big), (big + 1, big + 2), (7, 0), (2 * big, 2 * big)]
    p, q = zip(*pairs, strict=True)
    ratios = sorted(Fraction(here, there) for there, here in pairs)
    regions = Regions.unsorted(p, q, sum(p))
    found = [
        Fraction(shifted_mass, mass)
        for mass, shifted_mass in zip(regions.mass, regions.shifted_mass, strict=True)
    ]
    assert found == ratios


def test_radii_of_many_changes_are_searched_and_not_counted_out():
    """One score's radius is that in an array, which has every threshold before it."""
    weak = CategoricalCurve(0.38, 3)
    scores = [0.9, 1.7, 2.0]
    one_by_one = [weak.radius_of_scores(z) for z in scores]
    assert 64 < one_by_one[1] < one_by_one[2] < 200
    again = CategoricalCurve(0.38, 3)
    assert again.radius_of_scores(np.array(scores)).tolist() == one_by_one
    # the array's thresholds are more than one score asks for, and are taken
    assert [again.radius_of_scores(z) for z in scores] == one_by_one
    assert again.radius_of_scores(2.1) == weak.radius_of_scores(2.1) > one_by_one[2]
