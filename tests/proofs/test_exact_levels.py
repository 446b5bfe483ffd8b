"""Levels and extremes by enumeration in rational arithmetic.

The truth here is a sum of fractions, or of terms of forty digits where a score comes
in, and never the code. Where the code allows for errors of its functions, a test gives
it functions that are wrong by as much. ``python tests/proofs --mutate`` puts an error
into each place and expects one of these tests to fail, so they name what they test
through its module.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

import rsbounds.confidence.bound as entry
from rsbounds.answers import _map_labels, _sets, _topk, _topk_radius, _values
from rsbounds.certify import Procedure
from rsbounds.composite import Cond, Rule, estimate
from rsbounds.composite.planning import Plan
from rsbounds.schemes import Scheme, gaussian

HALF = Fraction(1, 2)


def at_least(k, n, p):
    """P(Bin(n, p) >= k)."""
    terms = (
        math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(k, 0), n + 1)
    )
    return sum(terms, Fraction(0))


def tables(n, classes):
    return [c for c in product(range(n + 1), repeat=classes) if sum(c) == n]


def chance(counts, law):
    """Of a table of counts, exactly."""
    ways = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return ways * math.prod(p**c for p, c in zip(law, counts, strict=True))


# Prediction sets: the line above the curve of what fails over what is missed


class LosesAnEighth:
    """Noise, such as uniform noise, under which a probability c falls to c - 1/8."""

    def transport(self, z, radius, sigma=None):
        moved = np.maximum(ndtr(z) - 0.125 - 1e-15, 0.0)
        with np.errstate(divide="ignore"):
            return ndtri(moved), None


RULES = [(1, 1, 1), (5, 3, 3), (11, 7, 5), (11, 6, 6)]
POINTS = [Fraction(i, 400) for i in range(401)]


@cache
def curve(m, k, j):
    """What an input of coverage c misses, and what fails where it falls by an eighth:
    the corners of the least concave curve above.
    """
    points = []
    for c in reversed(POINTS):
        moved = max(c - Fraction(1, 8), Fraction(0))
        points.append((1 - at_least(k, m, c), 1 - at_least(j, m, moved)))
    corners = []
    for x, y in points:
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (y1 - y0) * (x - x0) > (y - y0) * (x1 - x0):
                break
            corners.pop()
        corners.append((x, y))
    return corners


def largest_failure(corners, missed):
    """Of mixtures of inputs that miss so much."""
    for (x0, y0), (x1, y1) in pairwise(corners):
        if x0 <= missed <= x1:
            return y0 + (y1 - y0) * (missed - x0) / (x1 - x0)
    raise ValueError(f"nothing misses {missed}")


def test_no_mixture_fails_more_than_the_hull_allows_on_any_grid():
    """On coarse grids a cell that is taken from its wrong side shows."""
    for cells in (32, 80):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_sets, "GRID", np.linspace(-8, 8, cells + 1))
            for m, k, j in RULES:
                for alpha in (0.2, 0.375):
                    missed = _sets._hull(m, k, j, alpha, 1.0, LosesAnEighth())
                    failed = largest_failure(curve(m, k, j), Fraction(missed))
                    assert failed <= Fraction(alpha)


def test_the_hull_on_its_own_grid_is_close():
    for m, k, j in RULES:
        missed = _sets._hull(m, k, j, 0.375, 1.0, LosesAnEighth())
        for more, allowed in ((0.0, True), (0.003, False)):
            failed = largest_failure(curve(m, k, j), Fraction(missed + more))
            assert (failed <= Fraction(0.375)) == allowed


def test_the_hull_holds_for_shares_that_are_wrong_by_as_much_as_it_allows():
    """The shares and the arithmetic, each wrong by `SHARE_ERROR`."""
    error, shares = 0.02, _sets._at_least
    for m, k, j in RULES:
        corners = curve(m, k, j)
        signs = iter([-1, 1])  # the clean ones first, which then miss too much

        def wrong(at, trials, z, signs=signs):
            return shares(at, trials, z) + next(signs) * error

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_sets, "SHARE_ERROR", error)
            patch.setattr(_sets, "_at_least", wrong)
            missed = _sets._hull(m, k, j, 0.375, 1.0, LosesAnEighth())
        failed = largest_failure(corners, Fraction(missed))
        assert failed <= Fraction(0.375) - Fraction(error)


@pytest.mark.filterwarnings("ignore:alpha = ")  # levels of all sizes
def test_a_threshold_is_the_least_place_that_covers():
    """Of n + 1 exchangeable scores the last is among the first k with k/(n + 1)."""
    for n in range(1, 40):
        for alpha in (0.03125, 0.1, 0.25, 0.3, 0.5, 0.75):
            covered = 1 - Fraction(alpha)
            place = next(k for k in range(n + 2) if Fraction(k, n + 1) >= covered)
            if place > n:
                continue
            threshold = _sets.conformalize(
                np.arange(float(n)), alpha, 0.0, gaussian(1.0)
            )
            assert threshold == place - 1


@pytest.mark.filterwarnings("ignore:alpha = ")  # levels of all sizes
def test_as_many_scores_are_asked_as_the_rule_says():
    for m, calibrate, include in ((1, 1, 1), (3, 2, 1), (5, 4, 2), (5, 5, 5)):
        rule = _sets.SetRule(calibrate, include, 0.5)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_sets, "set_rule", lambda *_, rule=rule: rule)
            for pattern in product((0.0, 1.0), repeat=m):
                small = pattern.count(0.0)
                threshold = _sets.conformalize([pattern] * 5, 0.5, 0.1, gaussian(1.0))
                assert (threshold == 0.0) == (small >= calibrate)
                scores = np.array(pattern)[None, :, None]
                shown = _sets.predict_set(scores, 0.0, include=include)
                assert shown.item() == (small >= include)


# Top-k: the label's probability over 1/t of a sum


def log_share(z):
    """log Phi(z) to forty digits."""
    return mp.log(mp.ncdf(z))


def wrong_log(z, side):
    """The float64 that is too large (1) or too small (-1) by all that is allowed."""
    exact = log_share(z)
    last = exact * (1 - side * mp.mpf(_topk_radius.LOG_NDTR_ERROR))
    result = float(last)
    if (result - last) * side > 0:
        result = math.nextafter(result, -side * math.inf)
    return np.float64(result)


class Moves(Scheme):
    """Noise that moves two scores to where they are given."""

    def __init__(self, low, high):
        super().__init__({})
        self.low, self.high = low, high

    def transport(self, z, radius, sigma=None):
        return np.float64(self.low), np.float64(self.high)

    inverse = transport


class WrongLogarithm:
    """NumPy, whose logarithm is 2 units in the last place too large."""

    def __getattr__(self, name):
        return getattr(np, name)

    def log(self, value):
        return np.log(value) + 2 * np.spacing(np.log(value))


def test_no_margin_of_several_is_too_large():
    """Sums t times as large as the label's probability but for the last digits, where
    log Phi is wrong by as much as it may be.
    """
    rng = np.random.default_rng(0)
    for lowest, highest, most in ((-3, 3, 40), (-30, -8, 4), (2, 6, 1000)):
        for _ in range(60):
            t = int(rng.integers(2, most))
            up = float(rng.uniform(lowest, highest))
            down = float(ndtri_exp(log_ndtr(up) - math.log(t)))
            with mp.workdps(40):
                check_margin(down, up, t)


def check_margin(down, up, t):
    """Against the exact one: the label's logarithm and that of t too large, the sum's
    too small.
    """
    exact = log_share(down) + mp.log(t) - log_share(up)
    values = {down: wrong_log(down, 1), up: wrong_log(up, -1)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_topk_radius, "log_ndtr", lambda z: values[float(z)])
        patch.setattr(_topk_radius, "np", WrongLogarithm())
        margin = _topk_radius.lead_at(0.0, 0.0, t, 0.0, Moves(down, up), 1.0)
    size = float(abs(log_share(down)) + abs(log_share(up)) + mp.log(t))
    assert float(margin) <= exact
    assert float(margin) >= exact - 3 * _topk_radius.LOG_NDTR_ERROR * size


def test_levels_of_parts_add_up_to_no_more_than_alpha():
    """The level of three items was rounded to the nearest."""
    for alpha in (0.001, 0.1, 0.3, 1 / 3, 0.7, 1e-300, 1e-310):
        for parts in (2, 3, 5, 6, 7, 10, 12, 18, 49, 98):
            for part_of in (_topk.part_of_alpha, entry.divided):
                level = Fraction(float(part_of(alpha, parts)))
                assert level * parts <= Fraction(alpha)


# Holm


def p_value(hits, n, tau):
    return at_least(hits, n, Fraction(tau))


def rejected_by_definition(hits, n, tau, alpha):
    """By p-values in increasing order, the i-th (from 0) against alpha/(m - i)."""
    m = len(hits)
    order = sorted(range(m), key=lambda i: p_value(hits[i], n, tau))
    rejected = [False] * m
    for done, i in enumerate(order):
        if p_value(hits[i], n, tau) * (m - done) > Fraction(alpha):
            break
        rejected[i] = True
    return rejected


def test_holm_rejects_what_its_definition_does_at_every_border():
    """All counts of three positions, alpha to either side of each border."""
    n, positions = 4, 3
    for tau in (0.5, 0.75):
        values = {p_value(k, n, tau) for k in range(1, n + 1)}
        borders = {float(p * left) for p in values for left in range(1, positions + 1)}
        alphas = [b * (1 + side) for b in borders for side in (-1e-9, 1e-9)]
        for hits in combinations_with_replacement(range(n + 1), positions):
            turned = (hits[1], hits[0], *hits[2:])
            for alpha in alphas:
                if not alpha < 1:
                    continue
                result = _map_labels.holm(np.array(turned), n, tau, alpha).tolist()
                assert result == rejected_by_definition(turned, n, tau, alpha)


def test_holms_level_holds_where_no_two_positions_are_wrong_together():
    """The worst joint law of m true hypotheses: their errors exclude each other."""
    n, tau = 7, 0.5
    for positions in (1, 2, 3, 5):
        for alpha in (0.04, 0.1, 0.25):
            wrong = Fraction(0)
            for hits in range(n + 1):
                counts = np.array([hits] + [0] * (positions - 1))
                if _map_labels.holm(counts, n, tau, alpha)[0]:
                    wrong += positions * (
                        p_value(hits, n, tau) - p_value(hits + 1, n, tau)
                    )
            assert wrong <= Fraction(alpha)


def test_holms_limits_are_rounded_down():
    """Bounds that are exact, and alpha a unit below what p-values of 53 digits need."""
    n, tau = 60, 0.5
    for positions in (3, 5, 6, 7, 11):
        for hits in range(32, 60):
            exact = p_value(hits, n, tau)
            alpha = float(exact * positions)
            if Fraction(alpha) >= exact * positions:
                alpha = math.nextafter(alpha, 0.0)

            def bound(counts, trials, limits):
                asked = zip(
                    counts.tolist(), trials.tolist(), limits.tolist(), strict=True
                )
                shown = [p_value(k, m, tau) <= Fraction(at) for k, m, at in asked]
                return SimpleNamespace(p=np.where(shown, 1.0, 0.0))

            if not alpha < 1:
                continue
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_map_labels, "end", bound)
                counts = np.array([hits] * positions)
                assert not _map_labels.holm(counts, n, tau, alpha).any()


# Order statistics


@pytest.mark.filterwarnings("ignore:alpha = ")  # levels of all sizes
def test_ranks_are_those_of_fractions():
    """P(Bin(n, 1/2) <= k - 1) to either side of a level."""
    for n in (1, 2, 5, 12):
        for k in range(1, n + 1):
            level = float(1 - at_least(k, n, HALF))
            assert _values._rank(n, level * (1 - 1e-9), 0.0) == k - 1
            assert _values._rank(n, level * (1 + 1e-9), 0.0) == k


def test_each_end_of_an_interval_has_half_of_alpha_with_void_samples():
    """Outputs -1, void and 1, where -1 or 1 is just a quantile within reach."""
    n, void = 8, Fraction(1, 16)
    for low_share, high_share in ((HALF, HALF), (Fraction(1, 8), Fraction(1, 4))):
        noise = Moves(ndtri(float(low_share)), ndtri(1 - float(high_share)))
        for alpha in (0.3, 0.72, 0.9):
            ranks = _values.order_ranks(n, 0.1, 0.5, alpha, noise)
            laws = (
                (low_share - void, void, 1 - low_share),
                (1 - high_share, void, high_share - void),
            )
            wrong = [Fraction(0), Fraction(0)]
            for counts in tables(n, 3):
                samples = np.repeat([-1.0, np.nan, 1.0], counts)
                ordered = _values.sorted_samples(samples)
                low, high = _values.interval(ordered, ranks)
                if not low[0] <= -1:
                    wrong[0] += chance(counts, laws[0])
                if not high[0] >= 1:
                    wrong[1] += chance(counts, laws[1])
            for error, rank, share in zip(
                wrong, ranks, (low_share, high_share), strict=True
            ):
                assert error == 1 - at_least(rank, n, share)
                assert error <= Fraction(alpha) / 2 < 1 - at_least(rank + 1, n, share)


# Stages of decision lists


def test_each_bound_of_a_stage_has_its_part_of_alpha():
    """Scores of bounds: their tails are just below alpha over the items, and half of
    that for each of the two of a margin.
    """
    n, alpha = 12, 0.1
    counts = np.array([7, 3, 0])
    margin = Cond("margin", 0)
    score = Cond("score", 0)
    group = Cond("set", 0, 0.0, (0, 2))
    for items in (1, 2, 3):
        stages = estimate._Bounds(lambda stage: counts, n, entry.divided(alpha, items))
        level = Fraction(alpha) / items
        with mp.workdps(40):
            for cls, hits in enumerate(counts.tolist()):
                lower, upper = stages.pair(margin, cls)
                check_end(lower.z, hits, n, level / 2)
                others = max(c for i, c in enumerate(counts.tolist()) if i != cls)
                least = mp.ncdf(-lower.z)
                if share_above(others, n, level / 2) < least:
                    check_end(-upper, n - others, n, level / 2)
                else:
                    assert upper == -lower.z
                lower, upper = stages.pair(score, cls)
                check_end(lower.z, hits, n, level)
                assert upper == -lower.z
            check_end(stages.of_set(group, above=False), 7, n, level)
            check_end(-stages.of_set(group, above=True), 5, n, level)


def check_end(z, hits, n, level):
    """Phi(z) has P(Bin(n, Phi(z)) >= hits) at the level, or less by little."""
    if not hits:
        assert z == -math.inf
        return
    p = mp.ncdf(mp.mpf(float(z)))
    tail = mp.fsum(
        mp.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(hits, n + 1)
    )
    exact = mp.mpf(level.numerator) / level.denominator
    assert tail <= exact
    assert tail >= exact * (1 - mp.mpf("1e-9"))


def share_above(hits, n, level):
    """The upper bound of a share: P(Bin(n, p) <= hits) is the level."""
    target = mp.mpf(level.numerator) / level.denominator
    low, high = mp.mpf(hits) / n, mp.mpf(1)
    for _ in range(120):
        p = (low + high) / 2
        tail = mp.fsum(
            mp.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(hits + 1)
        )
        low, high = (p, high) if tail > target else (low, p)
    return low


def test_a_list_of_two_items_is_wrong_with_probability_alpha_at_most():
    """Both items bind, at probabilities just below values that their bounds take."""
    n, alpha = 10, 0.2
    procedure = Procedure(n=n, alpha=alpha)
    chosen = Plan(0, (0, 1), ((1, 0), (1, 0)), ((0, 0), (0, 0)))
    select = np.ones((2, 2), dtype=np.int64)
    for level in (Fraction(alpha), Fraction(alpha) / 2):
        z = [float(lower_score(k, n, level)) * (1 - 1e-9) for k in (9, 8)]
        rule = Rule([1.0, 1.0], [[Cond("score", 0, z[0] - z[1])], [Cond("score", 1)]])
        with mp.workdps(40):
            shares = [Fraction(int(mp.ncdf(v) * 2**100), 2**100) for v in z]
        first_law, second_law = [(p, 1 - p) for p in shares]
        wrong = Fraction(0)
        for first, second in product(range(n + 1), repeat=2):
            stages = np.array([[first, n - first], [second, n - second]])
            result = estimate.estimate(
                rule, select, chosen, lambda k, s=stages: s[k], procedure
            )
            if result.radius > z[1]:  # which is the true one
                at_stages = chance(stages[0].tolist(), first_law)
                at_stages *= chance(stages[1].tolist(), second_law)
                wrong += at_stages
        assert wrong <= Fraction(alpha)
        assert wrong > 0.2 * alpha


def lower_score(hits, n, level):
    """The score of the exact lower bound."""
    with mp.workdps(40):
        p = 1 - share_above(n - hits, n, level)
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)
