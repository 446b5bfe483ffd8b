"""Certified radii against the oracle and by attack: never above the truth, within 1e-11
of it.

A radius is judged by the oracle's certificate at the radius itself and 1e-11 beyond it,
which needs no root search. Where the certificate hardly depends on the distance (sigma
alone nearly rules it out) the radius is as ill-conditioned as its arguments; there the
certificate must be within 2e-12 of its budget of failing: the kernel's bound is at most
8e-13 of each gain, and the search ends at most 1.9 times that inside.
"""

import mpmath as mp
import numpy as np
import pytest
from cases import quick_each
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from rsbounds import envelope, oracle, semielastic
from rsbounds.envelope import LipschitzSigma, SemiElastic, SigmaRange, TableEnvelope

pytestmark = pytest.mark.usefixtures("sixty_digits")

WITHIN = mp.mpf("1e-11")
FLAT = 2e-12


def bounds(scheme, sigma):
    if isinstance(scheme, SemiElastic):
        return oracle.semi_elastic(sigma, scheme.rate)
    if isinstance(scheme, LipschitzSigma):
        return oracle.lipschitz_sigma(sigma, scheme.lip, scheme.sigma_min)
    return oracle.sigma_range(scheme.sigma_min, scheme.sigma_max)


def excess(distance, sigma1, z_a, z_b, sigma, dim, mean_lip, dps=18):
    """(X_A + X_B)/(z_a - z_b): the point is certified if and only if it is negative."""
    a = (1 + mp.mpf(mean_lip)) * distance
    total = oracle.worst_score(a, -z_a, sigma, sigma1, dim, dps=dps)
    if z_b == -z_a:
        return total / z_a
    return (total + oracle.worst_score(a, z_b, sigma, sigma1, dim, dps=dps)) / (
        z_a - z_b
    )


def assert_sound_and_tight(
    radius, scheme, z_a, z_b, sigma, dim, mean_lip=0.0, *, sides=(0, 1), dps=18
):
    radius, z_a, z_b = mp.mpf(radius), mp.mpf(z_a), mp.mpf(z_b)
    if z_a <= z_b:
        assert radius == 0
        return
    ends = [bounds(scheme, sigma)[i] for i in sides]

    def worst(distance, end):
        return excess(distance, end(distance), z_a, z_b, sigma, dim, mean_lip, dps)

    at = [worst(radius or mp.mpf("1e-30") * sigma * (z_a - z_b), end) for end in ends]
    if radius > 0:
        assert max(at) <= 0, f"above the truth: excess {mp.nstr(max(at), 5)}"
    if max(at) > -FLAT and radius == 0:
        return
    binding_first = sorted(zip(at, range(len(ends)), strict=True), reverse=True)
    beyond = radius * (1 + WITHIN)
    tight = radius > 0 and any(worst(beyond, ends[i]) > 0 for _, i in binding_first)
    assert tight or max(at) > -FLAT, f"loose: excess {mp.nstr(max(at), 5)}"


def power(low, high):
    return st.floats(low, high).map(lambda e: 10.0**e)


# shrinking calls the oracle for minutes
quick = settings(deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
score = st.one_of(power(-12, 3), power(-2, 0.8))
pair = st.one_of(
    score.map(lambda z: (z, -z)),
    st.tuples(score, score).map(lambda z: (z[0], -z[1])),
    st.tuples(score, score).map(lambda z: (z[0], z[0] - z[1])),
    st.tuples(score, score).map(lambda z: (z[0] - z[1], -z[1])),
)
dimension = st.one_of(
    power(0, 7), st.sampled_from([1.0, 2.0, 3.0, 784.0, 150528.0, 1e7])
)
size = st.one_of(power(-6, 6), st.just(1.0))
mean_lip = st.one_of(st.just(0.0), power(-4, 3))
slope = st.one_of(power(-12, 6), power(-5, 0))


def radius_of(scheme, z, sigma, dim, m):
    """By the symmetric call where the scores are symmetric."""
    z_b = None if z[1] == -z[0] else z[1]
    return envelope.radius(z[0], sigma, scheme, dim, z_b, mean_lip=m, scores=True)


SCHEMES = {
    "semi-elastic": lambda sigma, rate, floor, below: SemiElastic(rate),
    "lipschitz": lambda sigma, rate, floor, below: LipschitzSigma(rate, sigma * floor),
    "range": lambda sigma, rate, floor, below: SigmaRange(
        sigma * (1 - below), sigma * (1 + min(rate, 10.0))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMES)
@settings(quick, max_examples=18)
@given(
    pair,
    size,
    dimension,
    mean_lip,
    slope,
    st.one_of(st.just(0.0), st.floats(0, 1)),
    power(-12, -0.01),
)
@example((0.012, -54.27), 6.7e-5, 17.1, 0.0, 5135.0, 0.0, 0.1)
@example((981.4, -981.4), 5.5e-5, 1.0000001, 0.0, 14577.3, 0.0, 0.1)
@example((1e3, -1e3), 0.25, 784.0, 0.0, 0.01, 0.0, 0.1)
@example((0.4, -0.4), 0.06, 5.0, 0.0, 0.73, 0.0, 0.1)
@example((100.0, -100.0), 1.0, 1.0, 0.0, 1.0, 8.2e-157, 0.1)
@example((626.6082779893221, 626.6081886945352), 0.145, 10.0, 2e-4, 0.08, 0.99, 0.1)
@example((803.28, -803.28), 36690.08, 10376.3, 0.0, 0.025, 0.0, 1 - 1e-6)
@example((27.49, -7.43), 0.14, 1.0, 0.0, 0.01, 0.0, 1 - 1e-6)
def test_radii_of_any_size(name, z, sigma, dim, m, rate, floor, below):
    scheme = SCHEMES[name](sigma, rate, floor, below)
    assert_sound_and_tight(
        radius_of(scheme, z, sigma, dim, m), scheme, *z, sigma, dim, m
    )


@pytest.mark.slow
@settings(quick, max_examples=8)
@given(pair, size, dimension, slope)
def test_each_branch_by_itself(z, sigma, dim, rate):
    scheme = SemiElastic(rate)
    if z[1] < z[0]:
        for side, radius in enumerate(
            envelope.branch_radii(z[0], sigma, scheme, dim, p_b=z[1], scores=True)
        ):
            assert_sound_and_tight(radius, scheme, *z, sigma, dim, sides=(side,))


@pytest.mark.slow
@settings(quick, max_examples=10)
@given(
    st.one_of(st.floats(0.5, 1), power(-15, -0.4).map(lambda q: 1 - q)),
    power(-15, 0),
    dimension,
    slope,
)
def test_from_probabilities(p_a, ratio, dim, rate):
    """The truth takes the doubles exactly, also where p_a - p_b is small."""
    scheme = SemiElastic(rate)
    z_a = oracle.ndtri(p_a, dps=50)
    if z_a > 0 and mp.isfinite(z_a):
        assert_sound_and_tight(
            semielastic.radius(p_a, 1.0, rate, dim), scheme, z_a, -z_a, 1, dim
        )
    p_b = p_a - ratio * p_a
    if p_b > 0 and p_a < 1:
        radius = semielastic.radius(p_a, 1.0, rate, dim, p_b)
        assert_sound_and_tight(radius, scheme, z_a, oracle.ndtri(p_b, dps=50), 1, dim)


class Shifted:
    """None of the library's: sigma0 -+ a (1 - exp(-b R)), below sigma0 by at most a."""

    def bounds(self, sigma0, distance):
        change = 0.3 * sigma0 * -np.expm1(-np.asarray(distance) / sigma0)
        return sigma0 - change, sigma0 + 2 * change


@pytest.mark.slow
@settings(quick, max_examples=6)
@given(power(-2, 1), size, dimension)
def test_user_envelope(z, sigma, dim):
    radius = envelope.radius(z, sigma, Shifted(), dim, scores=True)

    def change(r):
        return mp.mpf(0.3) * sigma * -mp.expm1(-r / sigma)

    # The envelope itself is evaluated in double precision: an ulp of sigma is 2^-52 of
    # it, which dominates both roundings of the search for large dimensions.
    slack = 4e-16 * np.sqrt(dim) / z
    for sign in (-1, 2):
        at = excess(
            mp.mpf(float(radius)), sigma + sign * change(radius), z, -z, sigma, dim, 0
        )
        assert at <= slack
    beyond = mp.mpf(float(radius)) * (1 + WITHIN)
    worst = max(
        excess(beyond, sigma + s * change(beyond), z, -z, sigma, dim, 0)
        for s in (-1, 2)
    )
    assert worst > -FLAT - slack


@pytest.mark.slow
@settings(quick, max_examples=6)
@given(power(-2, 1), dimension, st.lists(st.floats(0.001, 0.2), min_size=1, max_size=4))
def test_table_envelope(z, dim, steps):
    distance = np.cumsum(np.abs(steps)) * z
    low, high = 1 - 0.05 * np.cumsum(steps), 1 + 0.04 * np.cumsum(steps)
    radius = float(
        envelope.radius(z, 1.0, TableEnvelope(distance, low, high), dim, scores=True)
    )
    assert radius <= distance[-1]

    def certified(r, i):
        return all(excess(r, s, z, -z, 1, dim, 0) <= 0 for s in (low[i], high[i]))

    if radius == 0:
        assert not certified(mp.mpf("1e-20"), 0)
        return
    i = int(np.searchsorted(distance, radius))
    assert certified(mp.mpf(radius), i)
    beyond = mp.mpf(radius) * (1 + WITHIN)
    j = int(np.searchsorted(distance, float(beyond)))
    # past the last distance nothing is certified; FLAT as above
    assert (
        j == len(distance)
        or not certified(beyond, j)
        or max(excess(beyond, s, z, -z, 1, dim, 0) for s in (low[j], high[j])) > -FLAT
    )


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("dim", "rate"),
    [
        (784, 0.01),
        *(pytest.param(d, r, marks=SLOW) for d in (1, 1e7) for r in (1e-12, 1.0, 1e6)),
    ],
)
def test_tiny_scores(dim, rate):
    """To first order in z the radius is proportional to z; at 1e-28 the rest is below
    1e-20.
    """
    small, scheme = 2.0**-93, SemiElastic(rate)
    for z in (2.0**-996, small):
        radius = semielastic.radius(z, 0.25, rate, dim, scores=True)
        scaled = mp.mpf(float(radius)) * small / z
        assert_sound_and_tight(scaled, scheme, small, -small, 0.25, dim, dps=46)


def drawn(seed):
    """A budget, its point and an envelope: one of the three, p_b and a moving mean in
    turn.
    """
    rng = np.random.default_rng([14, seed])
    z_a = 10 ** rng.uniform(-2, 1.58) if seed % 4 else 10 ** rng.uniform(-30, -2)
    z_b = (-z_a, z_a - 10 ** rng.uniform(-6, 1), -z_a)[seed // 3 % 3]
    mean_lip = (0.0, 0.0, 10 ** rng.uniform(-3, 1))[seed // 3 % 3]
    dim = 1.0 if seed % 5 == 0 else 10 ** rng.uniform(0, 8)
    sigma, rate = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-12, 3)
    wide = 10 ** rng.uniform(-6, -0.5, 2) * min(z_a, 1) / np.sqrt(dim)
    scheme = (
        SemiElastic(rate / sigma),
        LipschitzSigma(rate, sigma * rng.choice([0.0, 0.9, 1 - 1e-9])),
        SigmaRange(sigma * (1 - wide[0]), sigma * (1 + wide[1])),
    )[seed % 3]
    return scheme, (z_a, z_b), sigma, dim, mean_lip


@pytest.mark.parametrize(
    "seed", [s if s % 18 == 0 else pytest.param(s, marks=SLOW) for s in range(36)]
)
def test_sound_and_within_1e_11(seed):
    scheme, z, sigma, dim, mean_lip = drawn(seed)
    radius = float(radius_of(scheme, z, sigma, dim, mean_lip))
    dps = 18 if z[0] > 0.01 else 20 - int(np.log10(z[0]))
    with mp.workdps(dps + 40):  # sigma less lip times a tiny radius
        assert_sound_and_tight(radius, scheme, *z, sigma, dim, mean_lip, dps=dps)


@pytest.mark.parametrize(
    ("scheme", "z", "sigma", "dim"),
    # the side that binds, once the lower and once the upper; the floor's kink beside
    # the radius
    quick_each(
        6,
        [
            (LipschitzSigma(0.5), 4.77, 1.0, 784),
            (SemiElastic(0.5), 1.28, 1.0, 1),
            (LipschitzSigma(0.1, 0.23588), 2.3263, 0.25, 784),
            # sigma alone nearly rules certification out: the radius ends 6e-4 below
            # Cohen's .0093
            (
                SigmaRange(0.0125915155, 0.01275005042),
                0.7327935755590098,
                0.012750050397882998,
                1722,
            ),
            # the seams of the median's series: variances of 200 and 5000
            (SemiElastic(0.9), 1.8, 1.0, 398),
            (LipschitzSigma(0.9), 1.8, 1.0, 399.9),
            (SigmaRange(0.996, 1.004), 0.4, 1.0, 401),
            (LipschitzSigma(3.0), 2.5, 1.0, 9990),
            (SemiElastic(3.0), 2.5, 1.0, 10001),
            (SemiElastic(3.0), 0.0099, 1.0, 784),
            (SemiElastic(3.0), 0.0101, 1.0, 784),
        ],
    ),
)
def test_each_side_and_kinks(scheme, z, sigma, dim):
    radius = float(envelope.radius(z, sigma, scheme, dim, scores=True))
    assert radius > 0
    assert_sound_and_tight(radius, scheme, z, -z, sigma, dim)


def test_a_range_that_rules_certification_out_is_0_on_its_side_alone():
    scheme = SigmaRange(0.24, 0.26)
    assert envelope.radius(0.99, 0.25, scheme, 150528) == 0
    low, high = envelope.branch_radii(0.99, 0.25, SigmaRange(0.2499999, 0.26), 150528)
    assert high == 0 < low


def worst_classifier(distance, z_a, sigma0, sigma1, dim):
    """P(not A) at x0 and at x1, in mpmath, for the set that worst_case_ball gives."""
    centre, ball, complement = semielastic.worst_case_ball(
        distance, ndtr(z_a), sigma0, sigma1, dim
    )
    centre, ball = mp.mpf(float(centre)), mp.mpf(float(ball))

    def outside_a(x, sigma):
        square, shift = (ball / sigma) ** 2, ((centre - x) / sigma) ** 2
        tail = oracle.ncx2_sf if complement else oracle.ncx2_cdf
        return tail(square, dim, shift, dps=25)

    return lambda x, sigma: outside_a(mp.mpf(x), mp.mpf(sigma))


@pytest.mark.parametrize(
    "dim", [784, *(pytest.param(d, marks=SLOW) for d in (1, 2, 10, 150528))]
)
@pytest.mark.parametrize(
    ("z_a", "rate"), [(0.3, 0.1), (2.3263478740408408, 0.01), (3.7, 1.0)]
)
def test_attack_flips_just_beyond_and_not_inside(dim, z_a, rate):
    """The worst-case classifier for sigma(x) = sigma0 exp(-+rate |x - x0|)."""
    sigma0 = 0.5
    radius = float(semielastic.radius(ndtr(z_a), sigma0, rate, dim))
    branches = envelope.branch_radii(ndtr(z_a), sigma0, SemiElastic(rate), dim)
    sign = 1 if branches[1] <= branches[0] else -1

    def sigma(x):
        return sigma0 * np.exp(sign * rate * x)

    beyond = radius * (1 + 1e-6)
    rest = worst_classifier(beyond, z_a, sigma0, sigma(beyond), dim)
    # what the set is at x0: 1 - p_a, to the rounding of its radius (1e-15, times z/sd)
    assert abs(rest(0, sigma0) / mp.mpf(1 - ndtr(z_a)) - 1) < 1e-11
    assert rest(beyond, sigma(beyond)) > 0.5
    for inside in (0.5, 0.9, 1 - 1e-6):
        x = radius * inside
        own = worst_classifier(x, z_a, sigma0, sigma(x), dim)
        assert own(x, sigma(x)) < 0.5
        assert rest(x, sigma(x)) < 0.5


@pytest.mark.parametrize("dim", [3, 784])
@pytest.mark.parametrize("side", [-1, 1])
def test_attack_with_a_runner_up(dim, side):
    """Two balls of one centre: A's complement and B, which overtakes A beyond."""
    sigma0, p_a, p_b, change = 1.0, 0.6, 0.2, 0.003
    scheme = SigmaRange(1 - change, 1.0) if side < 0 else SigmaRange(1.0, 1 + change)
    radius = float(envelope.radius(p_a, sigma0, scheme, dim, p_b))
    sigma1 = 1 + side * change
    for x, flips in ((radius * (1 + 1e-6), True), (radius * (1 - 1e-6), False)):
        not_a = worst_classifier(x, -float(oracle.ndtri(1 - p_a)), sigma0, sigma1, dim)
        b = worst_classifier(x, -float(oracle.ndtri(p_b)), sigma0, sigma1, dim)
        assert abs(b(0, sigma0) - p_b) < 1e-12
        assert abs(not_a(0, sigma0) - (1 - p_a)) < 1e-12
        assert (b(x, sigma1) > 1 - not_a(x, sigma1)) == flips


@pytest.mark.parametrize(
    ("dim", "z_a", "z_b", "sigma", "scheme"),
    quick_each(6, [
        # an inner ball lost its radius in s + u: certified up to 4e-4 too far, or not
        # at all
        (3.0, 1.7843140393034493, -15.670080818396265, 1.0,
         SigmaRange(0.37541653907324923, 1.0)),
        (4.4097695627687035, 3.436117911376052, -38.79683024246061, 1.0,
         SigmaRange(0.6423884805848269, 1.0)),
        (2.0, 2.484825945071599, -48.65517767813413, 1.0,
         SigmaRange(0.10769747974287924, 1.0)),
        (1.3236826931376955, 32.76674570762183, -0.11017041050537615, 1.0,
         SigmaRange(0.4688195911447657, 1.0)),
        # balls of a radius below 1e-308: once NaN, and no certificate
        (1.0, 1.7467230444106239, -49.13502910937553, 0.017156, SemiElastic(1.8169)),
        (30.0, 309.93125627389674, 309.9312557845746, 3.8709, SemiElastic(0.80336)),
        (2.5597, 6.0716e-7, -526.0650239882647, 2.5067, SemiElastic(35421.1)),
        (1.0, 1e3, -1e3, 1.0, LipschitzSigma(0.5)),
        (20.0, 1e3, -1e3, 1.0, SigmaRange(0.5, 1.0)),
        # 1 - (1 - k) for k = sigma1/sigma0 = 1e-6 lost ten digits of k
        (10376.324351253019, 803.2825614584517, -803.2825614584517, 36690.08242317343,
         SigmaRange(0.03669008242422848, 37624.32859070506)),
        # z_b = z_a - (z_a - z_b) would lose it: the scores and their gap are kept apart
        (14.0, 930308.6139954422, -5.695772146942732, 1.0,
         SemiElastic(0.3973040813056146)),
    ]),
)  # fmt: skip
def test_regressions(dim, z_a, z_b, sigma, scheme):
    radius = float(radius_of(scheme, (z_a, z_b), sigma, dim, 0.0))
    assert radius > 0
    assert_sound_and_tight(radius, scheme, z_a, z_b, sigma, dim)


@pytest.mark.parametrize(
    "rate", [0.01, *(pytest.param(r, marks=SLOW) for r in (0.0, 100.0))]
)
@pytest.mark.parametrize(
    ("p_a", "p_b"),
    quick_each(3, [(0.3 + 1e-12, 0.3), (0.3 + 1e-7, 0.3), (1e-9, 9.9e-10)]),
)
def test_close_probabilities(p_a, p_b, rate):
    """The difference of their scores has few digits: 3e-9 of the radius was lost."""
    radius = semielastic.radius(p_a, 0.25, rate, 784, p_b)
    z = [oracle.ndtri(p, dps=50) for p in (p_a, p_b)]
    assert_sound_and_tight(radius, SemiElastic(rate), *z, 0.25, 784)


def test_extreme_scores_stay_sound():
    """Scores beyond 1e6 count as 1e6; infinite ones certify any distance."""
    z = np.array([1e6, 1e7, 1e300])
    radii = semielastic.radius(z, 1.0, 0.01, 784, scores=True)
    assert np.all(radii == radii[0])
    assert semielastic.radius(np.inf, 1.0, 0.01, 784, scores=True) == np.inf
    assert semielastic.radius(-1e9, 1.0, 0.01, 784, -2e9, scores=True) == 0
    assert semielastic.radius(2e9, 1.0, 0.01, 784, 1e9, scores=True) == 0
