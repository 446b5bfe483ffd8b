"""Soft scores: histograms, bounds on their mean, and the certificate from their law."""

from itertools import product
from math import comb, sqrt

import mpmath as mp
import numpy as np
import pytest
from cases import slow_among
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refusals
from scipy.special import ndtr, ndtri

from rsbounds.confidence import (
    BOUNDS,
    CDFCertificate,
    ScoreHistogram,
    lower_bound,
    soft_lower_bound,
    soft_upper_bound,
)

pytestmark = pytest.mark.filterwarnings("ignore:alpha = ")  # levels of all sizes

unit = arrays(np.float64, st.integers(2, 60), elements=st.floats(0, 1))
alphas = st.floats(1e-9, 0.9)


def histogram(scores, edges=None):
    result = ScoreHistogram(edges=edges)
    result.add(scores)
    return result


@settings(deadline=None, max_examples=40)
@given(unit)
def test_scores_count_at_or_below_their_value(scores):
    h = histogram(scores)
    assert h.n == scores.size
    down = np.repeat(h.edges, h.counts)
    assert np.all(down <= np.sort(scores))
    up = np.repeat(h.complement().edges, h.complement().counts)
    assert np.all(up <= np.sort(1 - scores))
    # Cells are at most 2^-12 wide.
    assert np.all(down > np.sort(scores) - 2.0**-12)


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here"
)
def test_a_score_between_two_doubles_counts_below_it():
    below = np.longdouble(0.5) - np.longdouble(2.0) ** -62
    assert float(below) == 0.5
    h = histogram([below])
    assert h.at_least(0.5) == 0
    with pytest.raises(ValueError, match="threshold"):
        h.at_least(below)
    wide = CDFCertificate([below], [np.longdouble(1.0) - np.longdouble(2.0) ** -62])
    assert wide.thresholds[0] < 0.5
    assert wide.scores[0] < 1.0


def test_cells_are_narrow_near_both_ends():
    e = ScoreHistogram().edges
    small = e[(e > 2.0**-30) & (e < 0.5)]
    assert np.max(np.diff(small) / small[:-1]) <= 2.0**-6 * (1 + 1e-12)
    assert np.array_equal(1 - e[::-1], e)


@settings(deadline=None, max_examples=40)
@given(unit, unit)
def test_merge_is_the_same_as_one_histogram(first, second):
    merged = histogram(first).merge(histogram(second))
    assert np.array_equal(merged.counts, histogram(np.append(first, second)).counts)
    again = ScoreHistogram(merged.counts, merged.edges)
    assert again.n == first.size + second.size
    for t in (0.0, 0.25, 0.5, 1.0):
        assert again.at_least(t) == np.sum(first >= t) + np.sum(second >= t)


def outcomes(n):
    """Histograms of n scores in {0, 1/4, 1} with their multinomial coefficients."""
    edges = np.array([0.0, 0.25, 1.0])
    for a, b in product(range(n + 1), repeat=2):
        if a + b <= n:
            counts = [n - a - b, a, b]
            yield ScoreHistogram(counts, edges), counts, comb(n, a) * comb(n - a, b)


def exact_moments(h):
    cells = np.flatnonzero(h.counts)
    x, c = [mp.mpf(float(h.edges[i])) for i in cells], [int(h.counts[i]) for i in cells]
    mean = mp.fsum(a * b for a, b in zip(x, c, strict=True)) / h.n
    variance = mp.fsum((a - mean) ** 2 * b for a, b in zip(x, c, strict=True)) / max(
        h.n - 1, 1
    )
    return mean, variance


def log_mixture(h, m):
    """Log wealth against the mean m, for the fractions of the library."""
    grid = np.append(np.exp(np.linspace(np.log(1e-5), np.log(0.9), 46)), [0.97, 1.0])
    cells = np.flatnonzero(h.counts)
    wealth = mp.mpf(0)
    for c in map(mp.mpf, map(float, grid)):
        wealth += mp.fprod(
            (1 - c + c * mp.mpf(float(h.edges[i])) / m) ** int(h.counts[i])
            for i in cells
        )
    return mp.log(wealth / len(grid))


SAMPLES = {
    "spread": np.random.default_rng(0).beta(20, 5, 400),
    "near one": np.random.default_rng(1).beta(99, 0.02, 1000),
    "binary": (np.random.default_rng(2).random(5000) < 0.97).astype(float),
    "constant": np.full(400, 0.75),
    "ones": np.ones(10_000),
    "two": np.array([0.25, 0.5]),
    "low": np.random.default_rng(3).beta(0.5, 50, 400),
}


@pytest.mark.parametrize("name", slow_among(["low", "near one"], SAMPLES))
@pytest.mark.parametrize("alpha", [1e-6, pytest.param(0.3, marks=pytest.mark.slow)])
def test_bounds_against_mpmath(name, alpha):
    h = histogram(SAMPLES[name])
    with mp.workdps(40):
        mean, variance = exact_moments(h)
        level = -mp.log(mp.mpf(alpha))

        def kl(p):
            heads = mean * mp.log(mean / p)
            return heads + (
                (1 - mean) * mp.log((1 - mean) / (1 - p)) if mean < 1 else 0
            )

        hoeffding = mean - mp.sqrt(level / (2 * h.n))
        two = level + mp.log(2)
        bernstein = mean - mp.sqrt(2 * variance * two / h.n) - 7 * two / (3 * (h.n - 1))
        bound = soft_lower_bound(h, alpha, method="maurer-pontil")
        assert bound <= max(bernstein, 0)
        assert bound >= max(bernstein, 0) - mp.mpf(1e-14)
        assert soft_lower_bound(h, alpha) >= hoeffding - mp.mpf(1e-14)
        for method, reached in (
            ("chernoff", lambda p: h.n * kl(p) >= level),
            ("betting", lambda p: log_mixture(h, p) >= level),
        ):
            bound = mp.mpf(float(soft_lower_bound(h, alpha, method=method)))
            # 1e-9 of 1 - p, the 50 halvings and one rounding of p
            inside = bound + (1 - bound) * mp.mpf(1e-9) + mp.mpf(1e-14)
            assert bound == 0 or reached(bound)
            assert inside >= mean or not reached(inside)


@settings(deadline=None, max_examples=40)
@example(
    (945450, 945450), 0.890625
)  # a bound so near 1 that 50 halvings left 1e-9 of it
@given(
    st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    alphas,
)
def test_never_above_clopper_pearson_on_decisions(case, alpha):
    count, n = case
    h = ScoreHistogram([n - count, count], [0.0, 1.0])
    for method in ("chernoff", "betting"):
        assert (
            soft_lower_bound(h, alpha, method=method)
            <= lower_bound(count, n, alpha) + 1e-11
        )
    if count == n and alpha ** (1 / n) > 0.5:  # both are alpha**(1/n)
        z = soft_lower_bound(h, alpha, scores=True)
        assert z == pytest.approx(lower_bound(n, n, alpha, scores=True), abs=1e-9)


@pytest.mark.parametrize(("slope", "x"), [(0.3, 1.5), (1.0, 0.4), (5.0, 0.4)])
def test_cdf_certificate_of_a_known_score(slope, x):
    """score(x) = Phi(slope x): the bound is attained, but for the steps between
    thresholds.
    """
    sigma, k = 0.5, 256
    t = np.arange(1, k) / k
    certificate = CDFCertificate(t, (x - ndtri(t) / slope) / sigma)
    for distance in (0.0, 0.1, 0.7, 2.0):
        true = ndtr(slope * (x - distance) / sqrt(1 + (slope * sigma) ** 2))
        lower = certificate.lower_mean(distance, sigma)
        assert true - 1 / k <= lower <= true
    for level in (0.5, 0.55):
        true = x - ndtri(level) * sqrt(1 + (slope * sigma) ** 2) / slope
        radius = certificate.radius(sigma, level)
        assert radius <= max(true, 0)
        if radius > 0:
            assert certificate.lower_mean(radius, sigma) >= level - 1e-9
            assert certificate.lower_mean(radius * (1 + 1e-9), sigma) <= level + 1e-9
        assert certificate.lower_mean(max(true, 0) + 1e-9, sigma) <= level


def test_cdf_coverage_by_enumeration():
    alpha, thresholds, law = 0.1, [0.25, 1.0], (0.2, 0.3, 0.5)
    missed = 0.0
    for h, counts, ways in outcomes(12):
        certificate = CDFCertificate.from_histogram(h, alpha, thresholds)
        wrong = np.any(certificate.scores > ndtri([law[1] + law[2], law[2]]))
        missed += ways * np.prod(np.power(law, counts)) * wrong
        assert certificate.lower_mean(0.0, 1.0) <= 1
    assert 0 < missed <= alpha


def test_cdf_from_histogram():
    h = histogram(SAMPLES["spread"])
    certificate = CDFCertificate.from_histogram(h, 0.001)
    assert certificate.thresholds.size == 64
    expected = lower_bound(
        int(np.sum(SAMPLES["spread"] >= 0.5)), h.n, 0.001 / 64, scores=True
    )
    assert certificate.scores[31] == expected
    assert certificate.lower_mean(0.0, 0.25) < SAMPLES["spread"].mean()
    # Scores that rarely fall below 1/2 certify far more than their mean alone does.
    assert certificate.radius(0.25) > 1.5 * 0.25 * soft_lower_bound(
        h, 0.001, scores=True
    )
    distances = np.linspace(0, 1, 11)
    assert np.all(np.diff(certificate.lower_mean(distances, 0.25)) < 0)
    assert certificate.lower_mean(distances[:, None], [0.25, 0.5]).shape == (11, 2)
    assert np.all(np.diff(certificate.radius(0.25, [0.3, 0.5, 0.7])) < 0)
    assert certificate.radius(0.25, 0.99) == 0.0
    assert np.isnan(certificate.radius(np.nan))
    assert np.isnan(certificate.lower_mean(np.nan, 0.25))
    # a threshold of 1 is among the default's: scores of 1 gave a mean of at most 63/64
    ones = CDFCertificate.from_histogram(histogram(np.ones(100_000)), 0.001)
    assert ones.lower_mean(0.0, 1.0) > 0.9998


def test_cdf_with_a_hard_decision_is_the_radius_of_the_field():
    certificate = CDFCertificate.from_histogram(
        ScoreHistogram([10, 990], [0.0, 1.0]), 0.001, 1.0
    )
    exact = 0.5 * lower_bound(990, 1000, 0.001, scores=True)
    assert exact * (1 - 1e-11) <= certificate.radius(0.5) <= exact


def test_cdf_at_infinite_distance_and_noise():
    certificate = CDFCertificate([0.5, 1.0], [1.0, 0.0])
    assert certificate.lower_mean(np.inf, np.inf) == 0.0
    assert certificate.lower_mean(np.inf, 1.0) == 0.0
    at_zero = certificate.lower_mean(0.0, 1.0)
    assert np.array_equal(
        certificate.lower_mean([0.0, 2.0], np.inf), [at_zero, at_zero]
    )


test_bad_input_is_named = refusals(
    {
        "sigma must be in .0, inf.; got": lambda: CDFCertificate(
            [0.5, 1.0], [1.0, 0.0]
        ).lower_mean(0.0, -0.5),
        "scores must be in": lambda: histogram([0.5, 1.5]),
        "edges must increase from 0 to 1": lambda: ScoreHistogram(
            edges=[0.0, 0.5, 0.5, 1.0]
        ),
        "edges must have 1 - edges exact": lambda: ScoreHistogram(
            edges=[0.0, 1e-20, 1.0]
        ),
        "must be equal": lambda: ScoreHistogram().merge(ScoreHistogram(edges=[0, 1])),
        "thresholds must be one of the edges": lambda: ScoreHistogram().at_least(1 / 3),
        "histogram must hold at least 1 score": lambda: soft_lower_bound(
            ScoreHistogram(), 0.1
        ),
        "histogram must hold at least 2 scores": lambda: soft_upper_bound(
            histogram([0.5]), 0.1, method="maurer-pontil"
        ),
        "thresholds must be one-dimensional": lambda: CDFCertificate(
            [0.5, 0.25], [0.0, 0.0]
        ),
        "sigma must be in": lambda: CDFCertificate([0.5], [1.0]).radius(0.0),
        "one of the edges": lambda: CDFCertificate.from_histogram(
            histogram([1]), 0.1, 1 / 3
        ),
    }
)


def test_what_is_no_histogram_is_named():
    calls = (
        lambda h: soft_lower_bound(h, 0.1),
        lambda h: soft_upper_bound(h, 0.1),
        lambda h: CDFCertificate.from_histogram(h, 0.1),
    )
    for call in calls:
        for wrong in (None, [1, 2], np.ones(3)):
            with pytest.raises(ValueError, match=r"^histogram must be"):
                call(wrong)
    with pytest.raises(ValueError, match=r"^other.*ScoreHistogram"):
        ScoreHistogram().merge([1, 2])
    for wrong in (3, [[1, 2], [3, 4]], None):
        with pytest.raises(ValueError, match=r"^evidence must be"):
            BOUNDS["chernoff"].pair(wrong, 0, 3, 0.1, runner_up=True)


def test_an_alpha_too_small_to_be_divided_is_named():
    h = histogram(np.linspace(0.5, 1.0, 100))
    with pytest.raises(ValueError, match=r"^alpha must.*5e-324"):
        CDFCertificate.from_histogram(h, 5e-324)
    assert CDFCertificate.from_histogram(h, 64 * 5e-324).radius(1.0) >= 0.0


@pytest.mark.parametrize("level", [-0.5, 0.0, 1.0, 1.5])
def test_a_level_of_a_distribution_is_between_0_and_1(level):
    histogram = ScoreHistogram()
    histogram.add(np.linspace(0.7, 1.0, 100))
    certificate = CDFCertificate.from_histogram(histogram, 0.01)
    with pytest.raises(ValueError, match="level"):
        certificate.radius(0.25, level)


def test_scores_and_levels_of_a_distribution_are_finite():
    with pytest.raises(ValueError, match="scores must"):
        CDFCertificate([0.5], [np.inf])
    certificate = CDFCertificate([0.5], [-5.0])
    with pytest.raises(ValueError, match="sigma must"):
        certificate.radius(np.inf)
    assert certificate.radius(1e300) == 0.0
