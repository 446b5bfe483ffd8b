"""Clopper-Pearson bounds: exact sums in balls, coverage by enumeration."""

from math import comb

import numpy as np
import pytest
from flint import acb, arb, arb_series
from hypothesis import given, settings
from hypothesis import strategies as st

from rsbounds.confidence import interval, lower_bound, pair_bounds, upper_bound
from rsbounds.confidence.counts import clopper_pearson

pytestmark = [
    pytest.mark.usefixtures("balls"),
    pytest.mark.filterwarnings("ignore:alpha = "),  # levels of all sizes
]


def normal(z):
    return (-arb(z) / arb(2).sqrt()).erfc() / 2


@pytest.mark.parametrize("alpha", [1e-300, 1e-3, 0.5, 0.999])
@pytest.mark.parametrize("n", [1, 100, 10**12])
def test_closed_forms(n, alpha):
    assert lower_bound(0, n, alpha) == 0.0
    assert lower_bound(0, n, alpha, scores=True) == -np.inf
    assert upper_bound(n, n, alpha) == 1.0
    assert upper_bound(n, n, alpha, scores=True) == np.inf
    exact_p = (arb(alpha).log() / n).exp()
    p, q = (float(v) for v in clopper_pearson(*map(np.asarray, (n, n, alpha))))
    assert arb(p) <= exact_p
    assert q == 1.0 or 1 - exact_p <= arb(q) <= 1
    assert arb(q) <= (1 - exact_p) * (1 + arb(2) ** -49)
    assert upper_bound(0, n, alpha) == q
    z = lower_bound(n, n, alpha, scores=True)
    assert normal(z) <= exact_p


def test_no_probability_above_one():
    """1 + 4e-16 before; and what is below 2e-308 is rounded down too."""
    for alpha in (1e-20, 1e-300, 5e-324):
        assert upper_bound(0, 1, alpha) == 1.0
        assert lower_bound(1, 1, alpha) <= alpha


counts_and_n = st.integers(1, 10**9).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n))
)
alphas = st.floats(1e-12, 1 - 1e-12)


@settings(deadline=None, max_examples=50)
@given(counts_and_n, alphas)
def test_around_the_frequency(case, alpha):
    count, n = case
    lower, upper = lower_bound(count, n, alpha), upper_bound(count, n, alpha)
    assert 0.0 <= lower <= 1.0
    assert 0.0 <= upper <= 1.0
    if alpha <= 0.3:  # P(Bin(n, k/n) >= k) exceeds 0.3 wherever k < n
        assert lower <= count / n <= upper
    z = lower_bound(count, n, alpha, scores=True)
    assert upper_bound(n - count, n, alpha, scores=True) == -z


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((11, 10, 0.1), "count must be <="),
        ((np.nan, 10, 0.1), "count must be whole numbers"),
        ((0, 2 * 10**15, 0.1), "n must be <= 1e"),
        ((1, 10, np.nan), "alpha must be in \\(0, 1\\)"),
        (([1, 2, 3], 10, [0.1, 0.2]), "shapes must broadcast"),
    ],
)
def test_bad_input(arguments, message):
    for bound in (lower_bound, upper_bound):
        with pytest.raises(ValueError, match=message):
            bound(*arguments)


def test_bad_pairs():
    for a, b, match in (
        (0, 11, "count_b must be <= n"),
        (-1, 1, "count_a must be >= 0"),
        (6, 5, r"_a \+ count_b must"),
    ):
        with pytest.raises(ValueError, match=match):
            pair_bounds(a, b, 10, 0.1)


@pytest.mark.parametrize(
    ("count", "n", "alpha"),
    [
        (835, 873, 1.915097957062072e-260),
        (539, 571, 2.44e-291),
        (187, 213, 1.5e-300),
        (301, 329, 5e-324),
        (3, 4, 2.18e-321),
        (5053, 5091, 1e-243),
    ],
)
def test_tails_below_the_range_of_doubles(count, n, alpha):
    """The incomplete beta function of SciPy may be 0 in tails up to 1e-243."""
    for p in (
        float(lower_bound(count, n, alpha)),
        float(lower_bound([count], n, alpha)[0]),
    ):
        assert 0 < integral(count, n, arb(p)) <= alpha
        inside = arb(p) * (1 + 1e-11)
        assert integral(count, n, inside) > alpha


def integral(count, n, p):
    """P(Bin(n, p) >= count) as an integral of the beta law's density, for any n."""
    q, swap = 1 - p, bool(p * n > count)
    a, b, p, q = (n - count + 1, count - 1, q, p) if swap else (count, n - count, p, q)
    # with t = p e^-s the density is e^(-a s) (1 + odds (1 - e^-s))^b times its value at
    # p
    odds = p / q
    slope, width = b * odds - a, 1 / (float(b * odds / q) ** 0.5 + 1e-300)

    def exponent(s):
        return (1 + odds * (1 - (-s).exp())).log() * b - s * a

    end = min(40 * width, 160 / max(-float(slope), 1e-300))
    while float(exponent(arb(end))) > -130:
        end *= 1.5
    edge = arb(end)
    falls = a - b * odds * (-edge).exp() / (1 + odds * (1 - (-edge).exp()))
    assert falls > 0  # the exponent is concave
    radius, near = min(1.0, 0.2 / float(odds)), exponent
    if (
        end < radius / 20
    ):  # the terms from the square on, for there the intervals cancel
        series = (1 + odds * (1 - (-arb_series([0, 1], 24)).exp())).log()
        error = float(
            b * arb(end / radius) ** 24 * 1.1
        )  # the logarithm is below 1 at `radius`
        rest = acb(arb(0, error), arb(0, error))

        def near(s):
            total = acb(0)
            for k in range(23, 1, -1):
                total = total * s + series[k]
            return slope * s + b * total * s * s + rest

    inner = acb.integral(
        lambda s, _: near(s).exp(), 0, edge, rel_tol=arb(2) ** -60
    ).real
    inner += (exponent(edge).exp() / falls).union(0)
    beta = arb(a).lgamma() + arb(b + 1).lgamma() - arb(a + b + 1).lgamma()
    value = (a * p.log() + b * q.log() - beta).exp() * inner
    return 1 - value if swap else value


@pytest.mark.parametrize("cases", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_every_magnitude_of_count_n_and_alpha(cases):
    """The point or score returned proves the level, and one further in does not: n to
    1e15.
    """
    rng = np.random.default_rng(7)
    for case in range(cases):
        n = int(10 ** rng.uniform(0.31, 15))
        near = 1 + int(min(n - 2, 10 ** rng.uniform(0, 4)))
        share = int(n * 10 ** -rng.uniform(0, 15))
        count = min(
            max(int(rng.choice([near, n - near, rng.integers(1, n), share])), 1), n - 1
        )
        extreme = (
            10 ** -rng.uniform(0, 300),
            rng.uniform(),
            1 - 10 ** -rng.uniform(0, 9),
        )
        alpha = float(rng.choice([1e-3, 0.5, *extreme]))
        p, q = (float(v) for v in clopper_pearson(*map(np.asarray, (count, n, alpha))))
        z = float(lower_bound(count, n, alpha, scores=True))
        for inside in (False, True):
            if case % 2:
                # dz = dq/phi(z) and q/phi(z) < 1.26 for the smaller of p and q.
                at = normal(z + inside * (3e-11 + 1e-14 * abs(z)))
            else:
                at = (
                    arb(p) * (1 + inside * 1e-11)
                    if p < q
                    else 1 - arb(q) * (1 - inside * 1e-11)
                )
            tail = integral(count, n, at)
            assert tail > alpha if inside else tail <= alpha, (count, n, alpha)


def test_a_bound_smaller_than_any_double_raises_no_underflow():
    with np.errstate(under="raise"):
        assert lower_bound(1, 10**15, 5e-324) == lower_bound(1, 1, 5e-324) == 0


def test_an_interval_has_both_bounds_at_half_of_alpha():
    counts = np.array([0, 3, 10])
    lower, upper = interval(counts, 10, 0.05)
    np.testing.assert_array_equal(lower, lower_bound(counts, 10, 0.025))
    np.testing.assert_array_equal(upper, upper_bound(counts, 10, 0.025))
    assert (lower[0], upper[-1]) == (0, 1)
    scores = interval(3, 10, 0.05, scores=True)
    assert scores.lower == lower_bound(3, 10, 0.025, scores=True)
    assert scores.upper == upper_bound(3, 10, 0.025, scores=True)
    with pytest.raises(ValueError, match=r"^alpha must be in \(0, 1\)"):
        interval(3, 10, 1.5)


def test_an_interval_misses_with_probability_alpha_at_most():
    n, alpha = 12, 0.1
    lower, upper = interval(np.arange(n + 1), n, alpha)
    for p in np.linspace(0.01, 0.99, 99):
        share = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        assert np.dot(share, (lower > p) | (p > upper)) <= alpha


def test_counts_of_one_law_have_the_bits_of_each_alone():
    """Each distinct count is solved once, wherever it stands."""
    counts = np.random.default_rng(0).integers(0, 41, (3, 50))
    expected = [[lower_bound(int(k), 40, 0.01) for k in row] for row in counts]
    np.testing.assert_array_equal(lower_bound(counts, 40, 0.01), expected)
    trials = np.where(counts < 20, 40, 50)
    mixed = [
        [upper_bound(int(k), int(n), 0.01) for k, n in zip(*rows, strict=True)]
        for rows in zip(counts, trials, strict=True)
    ]
    np.testing.assert_array_equal(upper_bound(counts, trials, 0.01), mixed)
