"""Values and sets: levels by enumeration and simulation, exact ranks, ties, infinities,
NaN.
"""

import itertools
import math
import warnings
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from refusals import refusals
from scipy.special import ndtr, ndtri

from rsbounds import certify_dataset, schemes
from rsbounds.answers import (
    Values,
    conformal_level,
    conformalize,
    predict_set,
    set_rule,
    value_interval,
)
from rsbounds.answers._sets import _at_least, _hull
from rsbounds.answers._values import order_ranks
from rsbounds.schemes import gaussian

SCHEME = gaussian(0.5)


def interval(samples, radius, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return value_interval(
            samples, radius, **{"alpha": 0.1} | options, scheme=SCHEME
        )


def test_ranks_are_the_exact_ones():
    """The largest k with P(Bin(n, p_low) <= k - 1) <= alpha/2, by sums in mpmath."""
    for n, radius, p, alpha in itertools.product(
        (1, 12, 100, 1001), (0.0, 0.2, 0.9), (0.5, 0.1), (0.001, 0.1)
    ):
        below, above = order_ranks(n, radius, p, alpha, SCHEME)
        with mp.workdps(40):
            z = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1)
            for k, q in (
                (below, mp.ncdf(z - 2 * radius)),
                (above, mp.ncdf(-(z + 2 * radius))),
            ):
                terms = [
                    mp.binomial(n, i) * q**i * (1 - q) ** (n - i) for i in range(k + 1)
                ]
                assert sum(terms[:k]) <= alpha / 2
                assert k == n or sum(terms) > alpha / 2


@pytest.mark.parametrize("law", [(0.5, 0.5, 0.0), (0.2, 0.3, 0.5), (0.45, 0.1, 0.45)])
@pytest.mark.parametrize("radius", [0.0, 0.1, 0.3])
def test_levels_by_enumeration_with_ties_and_infinities(law, radius):
    """All samples of 12 outputs of three values, two of them infinite."""
    values, n, p = np.array([-np.inf, 1.0, np.inf]), 12, 0.5
    ends = ndtr(ndtri(p) - 2 * radius), ndtr(ndtri(p) + 2 * radius)
    below, above = np.cumsum(law), np.cumsum(law[::-1])
    # what the p-quantile can reach: down to inf{y: F(y) >= low}, up to sup{y: P(Y >= y)
    # >= 1 - up}
    lowest = values[np.argmax(below >= ends[0] - 1e-12)]
    highest = values[::-1][np.argmax(above >= 1 - ends[1] - 1e-12)]
    for alpha in (0.05, 0.3):
        wrong = 0.0
        for a in range(n + 1):
            for b in range(n + 1 - a):
                counts = (a, b, n - a - b)
                low, high = interval(np.repeat(values, counts), radius, alpha=alpha)
                if low > lowest or high < highest:
                    ways = math.factorial(n) / math.prod(map(math.factorial, counts))
                    wrong += ways * math.prod(
                        q**c for q, c in zip(law, counts, strict=True)
                    )
        assert wrong <= alpha


def test_no_function_on_a_line_leaves_its_interval():
    """Step functions with exact quantiles: the quantile anywhere within the radius lies
    between.
    """
    rng = np.random.default_rng(0)
    for _ in range(30):
        edges, values = (
            np.sort(rng.normal(size=6)),
            rng.choice([-1.0, 0.0, 2.0, 7.0], 7),
        )
        ends, radius, p = (
            np.concatenate([[-np.inf], edges, [np.inf]]),
            0.3,
            rng.uniform(0.1, 0.9),
        )

        def quantile(q, shift, ends=ends, values=values):
            order = np.argsort(values, kind="stable")
            mass = np.cumsum(np.diff(ndtr((ends - shift) / 0.5))[order])
            return values[order][min(int(np.searchsorted(mass, q)), 6)]

        drawn = values[np.searchsorted(edges, 0.5 * rng.normal(size=20_000))]
        low, high = interval(drawn, radius, p=p, alpha=1e-6)
        for shift in np.linspace(-radius, radius, 21):
            assert low <= quantile(p, shift) <= high


def test_void_samples_count_against_both_ends():
    samples = np.arange(1000.0)
    low, high = interval(samples, 0.1, alpha=0.01)
    some = np.where(samples % 10 == 3, np.nan, samples)
    worse = interval(some, 0.1, alpha=0.01)
    assert worse[0] <= low
    assert worse[1] >= high
    below, above = (np.where(np.isnan(some), v, some) for v in (-np.inf, np.inf))
    assert worse[0] == interval(below, 0.1, alpha=0.01)[0]
    assert worse[1] == interval(above, 0.1, alpha=0.01)[1]
    assert interval(np.full(50, np.nan), 0.1, alpha=0.1) == (-np.inf, np.inf)


def test_intervals_grow_with_the_radius_and_are_infinite_where_n_does_not_reach():
    samples = np.random.default_rng(3).normal(size=200)
    at = [interval(samples, r, alpha=0.01) for r in (0.0, 0.1, 0.3, 0.6)]
    assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(at))
    with pytest.warns(RuntimeWarning, match=r"samples.*ends") as said:
        assert value_interval(samples, 5.0, alpha=0.01, scheme=SCHEME) == (
            -np.inf,
            np.inf,
        )
    assert len(said) == 1


def test_the_level_of_the_check_value():
    assert round(conformal_level(0.1, 0.125, gaussian(0.25)), 4) == 0.9626
    with mp.workdps(30):
        exact = mp.ncdf(
            mp.sqrt(2) * mp.erfinv(mp.mpf(2) * (1 - mp.mpf(0.1)) - 1) + mp.mpf(0.5)
        )
        assert 0 <= conformal_level(0.1, 0.125, gaussian(0.25)) - exact < 1e-11
    assert conformal_level(0.1, 100.0, gaussian(0.25)) == 1.0


def robust_coverage(alpha, radius, sigma, runs, n, m=1, calibrated_at=None):
    """True scores base + (u + noise) along one direction: half-spaces, moved against
    the set.
    """
    rng, hits, total = np.random.default_rng(5), 0, 0
    scheme = gaussian(sigma)
    rule = set_rule(m, alpha, calibrated_at or radius, scheme)
    for _ in range(runs):
        base = rng.choice([0.0, 0.02], n + 50)
        scores = base[:, None] + sigma * rng.normal(size=(n + 50, m))
        threshold = conformalize(
            scores[:n] if m > 1 else scores[:n, 0],
            alpha,
            calibrated_at or radius,
            scheme,
        )
        attacked = scores[n:, :, None] + radius
        sets = predict_set(attacked, threshold, include=rule.include)
        hits, total = hits + sets.sum(), total + sets.size
    return hits / total


def test_coverage_under_the_worst_half_space_attack():
    held = robust_coverage(0.1, 0.125, 0.25, 300, 400)
    assert 0.89 < held < 0.915  # it holds and it is tight
    assert robust_coverage(0.1, 0.125, 0.25, 300, 400, calibrated_at=1e-9) < 0.82


@pytest.mark.slow
def test_coverage_with_many_scores_of_an_input():
    assert robust_coverage(0.1, 0.125, 0.25, 12, 400, m=20) > 0.89


def test_the_hull_of_one_score_is_the_exact_curve():
    own = _hull(1, 1, 1, 0.1, 0.125, gaussian(0.25))
    exact = 1 - conformal_level(0.1, 0.125, gaussian(0.25))
    assert exact - 2e-4 < own <= exact


def test_a_share_of_at_least_none_is_one():
    """It was the logarithm of 0, had any set rule asked for it."""
    z = np.array([-3.0, 0.0, 3.0])
    assert (_at_least(0, 5, z) == 1).all()
    assert (_at_least(1, 5, z) < 1).all()


def test_no_mixture_of_inputs_beats_a_set_rule():
    """Mixtures of two kinds of inputs that just meet the calibration level."""
    from scipy.stats import binom

    scheme, m, alpha, radius = gaussian(0.25), 11, 0.1, 0.1
    rule = set_rule(m, alpha, radius, scheme)
    z = np.linspace(-4, 6, 400)
    missed = binom.cdf(rule.calibrate - 1, m, ndtr(z))
    failed = binom.cdf(rule.include - 1, m, ndtr(z - radius / 0.25))
    easy, hard = np.meshgrid(
        np.flatnonzero(missed <= rule.error), np.flatnonzero(missed > rule.error)
    )
    share = (rule.error - missed[easy]) / (missed[hard] - missed[easy])
    worst = (share * failed[hard] + (1 - share) * failed[easy]).max()
    assert 0.9 * alpha < worst <= alpha


def test_too_few_calibration_inputs_say_how_many():
    for n, finite in ((25, False), (26, True)):
        scores = np.arange(float(n))
        if finite:
            assert conformalize(scores, 0.1, 0.125, gaussian(0.25)) == n - 1
            continue
        with pytest.warns(RuntimeWarning, match=r"calibration.*26"):
            assert conformalize(scores, 0.1, 0.125, gaussian(0.25)) == np.inf
    with pytest.warns(RuntimeWarning, match="infinite"):
        conformalize(scores, 0.1, 30.0, gaussian(0.25))


def test_without_an_attack_it_is_the_textbook_threshold():
    scores = np.random.default_rng(6).random(99)
    assert conformalize(scores, 0.1, 0.0, SCHEME) == np.sort(scores)[89]


@pytest.mark.slow  # needs MAPIE
def test_without_an_attack_the_sets_are_those_of_mapie():
    mapie = pytest.importorskip("mapie.classification")
    base = pytest.importorskip("sklearn.base")

    class Given(base.ClassifierMixin, base.BaseEstimator):
        def fit(self, x, y):
            self.classes_ = np.arange(5)
            return self

        def predict_proba(self, x):
            return x

        def predict(self, x):
            return x.argmax(axis=1)

    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5) * 0.5, 400)
    y = np.array([rng.choice(5, p=row) for row in p])
    theirs = mapie.SplitConformalClassifier(
        Given().fit(p, y), confidence_level=0.9, conformity_score="lac", prefit=True
    )
    theirs.conformalize(p[:200], y[:200])
    threshold = conformalize(1 - p[np.arange(200), y[:200]], 0.1, 0.0, SCHEME)
    own = predict_set(1 - p[200:], threshold)
    np.testing.assert_array_equal(own, theirs.predict_set(p[200:])[1][:, :, 0])


def test_void_scores_count_against_the_set():
    scores = np.arange(100.0)
    some = np.where(scores < 3, np.nan, scores)
    assert conformalize(some, 0.1, 0.0, SCHEME) > conformalize(scores, 0.1, 0.0, SCHEME)
    assert predict_set([[np.nan, 2.0]], 1.0).tolist() == [[True, False]]
    assert predict_set([[3.0, 2.0]], np.inf).all()


test_bad_input_is_one_line = refusals(
    {
        "samples must have shape": lambda: interval([], 0.1),
        "radius must be": lambda: interval([1.0, 2.0], -0.1),
        "p must be": lambda: interval([1.0, 2.0], 0.1, p=0.0),
        "alpha must be": lambda: interval([1.0, 2.0], 0.1, alpha=np.nan),
        "scores must have shape .* at least one": lambda: conformalize(
            [], 0.1, 0.1, SCHEME
        ),
        "alpha must be one finite number": lambda: conformal_level(
            [0.1, 0.2], 0.1, SCHEME
        ),
        "m must be": lambda: set_rule(0, 0.1, 0.1, SCHEME),
        "scores must have shape": lambda: predict_set([1.0], 0.5),
        "threshold must be": lambda: predict_set([[1.0]], np.nan),
        "include must be at most m = 1": lambda: predict_set([[1.0]], 0.5, include=2),
    }
)


def test_the_lowest_sample_is_the_end_that_it_takes():
    """Of 10 samples: 2^-10 are all above the median, within the alpha/2 of an end."""
    samples = np.random.default_rng(0).standard_normal(10)
    known = {"alpha": 2.1 * 2.0**-10, "scheme": schemes.gaussian(0.5)}
    assert value_interval(samples, 0.0, **known) == (samples.min(), samples.max())
    stricter = known | {"alpha": 1.9 * 2.0**-10}
    with pytest.warns(RuntimeWarning, match=r"samples.*ends"):
        assert value_interval(samples, 0.0, **stricter) == (-np.inf, np.inf)
    samples[3] = np.nan  # below the low and above the high end
    assert value_interval(samples, 0.0, **known) == (-np.inf, np.inf)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_the_threshold_is_an_order_statistic_of_order_statistics(copies):
    """Of each input the score that the rule names, of these the one of the share."""
    inputs, alpha, radius, scheme = 400, 0.2, 0.05, schemes.gaussian(0.5)
    scores = np.random.default_rng(0).random((inputs, copies))
    scores[3, 0] = np.nan  # counts as infinite
    rule = set_rule(copies, alpha, radius, scheme)
    # the definition, number by number
    infinite = [[s if s == s else np.inf for s in row] for row in scores.tolist()]
    reached = sorted(sorted(row)[rule.calibrate - 1] for row in infinite)
    left_out = int((inputs + 1) * Fraction(rule.error))
    threshold = conformalize(scores, alpha, radius, scheme)
    assert threshold == reached[inputs - left_out]
    assert np.isfinite(threshold)


@pytest.mark.parametrize(
    "y", [np.array([151.0, 75.0]), np.array([-1, 2]), [1.0, 2.0], np.zeros((2, 2))]
)
def test_targets_of_a_regression_are_refused_at_once(y):
    """Whole ones passed for labels, those of the first inputs that is."""
    x = np.zeros((2, 3), np.float32)
    answer = Values(gaussian(0.5), radii=[0.1])
    with pytest.raises(ValueError, match=r"'values'.*inputs"):
        certify_dataset(lambda batch: batch, (x, y), answer, n=100)
    labelled = certify_dataset(
        lambda batch: batch, (x, np.array([3, 4])), answer, n=100
    )
    assert [row.label for row in labelled.rows] == [3, 4]  # kept, as the docs say


@pytest.mark.parametrize("package", ["numpy", "torch"])
def test_outputs_that_float64_does_not_hold_are_refused(package):
    """An interval of rounded outputs need not hold theirs."""
    xp = pytest.importorskip(package)
    answer = Values(SCHEME, [0.1])

    def sampler_of(number, dtype):
        def model(batch):
            return xp.full((len(batch),), number, dtype=getattr(xp, dtype))

        if package == "numpy":
            return answer.sampler(model)

        class Module(xp.nn.Module):
            def forward(self, batch):
                return model(batch)

        return answer.sampler(Module().eval())

    def drawn(number, dtype):
        rng = np.random.default_rng(0)
        sampler = sampler_of(number, dtype)
        return np.asarray(sampler(np.zeros(2, np.float32), 0.5, 20, rng))

    assert (drawn(2**53 - 1, "int64") == 2**53 - 1).all()
    with pytest.raises(ValueError, match=r"float64 holds, whole ones below 2\^53"):
        drawn(2**53 + 1, "int64")
    if package == "numpy":
        assert np.isnan(drawn(np.nan, "longdouble")).all()
        with pytest.raises(ValueError, match="float64 holds"):
            drawn(np.longdouble(1) / 3, "longdouble")
