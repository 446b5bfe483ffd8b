"""rsbounds.stats.rice in the place of scipy.stats.rice."""

import pickle

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from rsbounds import oracle, special
from rsbounds.stats import rice

POINTS = [(1.3, 0.0), (0.2, 3.0), (8.0, 3.0), (41.0, 40.0), (1e3, 990.0)]


@pytest.mark.parametrize(("x", "b"), POINTS)
def test_tails_and_density(x, b):
    with mp.workdps(40):
        law = mp.mpf(x) ** 2, 2, mp.mpf(b) ** 2
        tails = oracle.ncx2_tails(*law, dps=25)
        log_density = float(tails.log_density + mp.log(2 * mp.mpf(x)))
    assert rice.logcdf(x, b) == pytest.approx(float(tails.log_lower), rel=1e-14)
    assert rice.logsf(x, b) == pytest.approx(float(tails.log_upper), rel=1e-14)
    assert rice.logpdf(x, b) == pytest.approx(log_density, rel=2e-15, abs=2e-15)
    room = 2e-15 + 4e-16 * abs(log_density)
    assert rice.pdf(x, b) == pytest.approx(np.exp(log_density), rel=room)


def test_as_scipy_where_scipy_is_right():
    frozen = rice(b=2.0, loc=1.0, scale=0.5)
    peer = stats.rice(b=2.0, loc=1.0, scale=0.5)
    x = np.linspace(1.0, 4.0, 7)
    for method in ("pdf", "cdf", "sf"):
        ours, theirs = (getattr(law, method)(x) for law in (frozen, peer))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)
    assert frozen.mean() == pytest.approx(peer.mean(), rel=1e-12)
    assert pickle.loads(pickle.dumps(frozen)).cdf(2.0) == frozen.cdf(2.0)


def test_quantiles_return_from_both_tails():
    for b in (0.0, 3.0, 1e6):
        for p in (1e-250, 1e-9, 0.4):
            assert rice.sf(rice.isf(p, b), b) == pytest.approx(p, rel=1e-6)
            assert rice.isf(p, b) == special.marcum_q_inv(p, 1, b)
            assert rice.ppf(p, b) == special.marcum_p_inv(p, 1, b)


def test_the_ends_and_outside_the_domain():
    assert rice.pdf(0.0, 2.0) == 0
    assert rice.logpdf(0.0, 2.0) == -np.inf
    assert rice.cdf(-1.0, 2.0) == 0
    assert np.isnan(rice.cdf(1.0, -1.0))


WIDE_AND_NARROW = (0.0, 1e-170, 0.5, 3.0, 40.0, 1e3, 1e6)


def moment(n, b):
    """E X^n, of any order: Kummer's function of -b^2/2."""
    half = mp.mpf(n) / 2
    square = mp.mpf(b) ** 2
    kummer = mp.hyp1f1(-half, 1, -square / 2)
    return 2**half * mp.gamma(1 + half) * kummer


@pytest.mark.parametrize("b", WIDE_AND_NARROW)
def test_moments(b):
    """At b = 40 and above SciPy's were NaN."""
    with mp.workdps(60):
        raw = [moment(n, b) for n in range(8)]
        mean = raw[1]
        central = [
            sum(mp.binomial(k, j) * raw[j] * (-mean) ** (k - j) for j in range(k + 1))
            for k in range(5)
        ]
        truth = [mean, central[2], central[3] / central[2] ** mp.mpf(1.5)]
        truth.append(central[4] / central[2] ** 2 - 3)
        truth, raw = [*map(float, truth)], [*map(float, raw)]
    # each is an integral of some 500 terms around 1
    assert rice.stats(b, moments="mvsk") == pytest.approx(truth, rel=2e-14, abs=2e-14)
    ours = [rice.moment(n, b) for n in range(1, 8)]
    assert ours == pytest.approx(raw[1:], rel=1e-14)
    both = rice.mean(np.array([[b], [1.0]]))
    assert both.shape == (2, 1)
    assert both[0, 0] == rice.mean(b)


@pytest.mark.parametrize("b", [*WIDE_AND_NARROW, 1e12, 1e30])
def test_entropy_and_expectations(b):
    """SciPy's quadrature misses narrow laws: the entropy was 0 from b = 1000 on."""
    with mp.workdps(30):

        def information(t):
            x = b + t
            density = x * mp.exp(-(t**2) / 2 - b * x) * mp.besseli(0, b * x)
            return -density * mp.log(density) if density else mp.mpf(0)

        if b > 1e5:  # skewness and kurtosis are below 1e-15
            entropy = mp.log(2 * mp.pi * mp.e) / 2
        else:
            entropy = mp.quad(information, mp.linspace(-min(b, 13), 13, 14))
    assert rice.entropy(b) == pytest.approx(float(entropy), abs=1e-11)
    assert rice.expect(args=(b,)) == pytest.approx(rice.mean(b), rel=1e-10)
    if b < 1e5:  # else doubles are farther apart than the tails
        middle = rice.median(b)
        above = rice.expect(lambda _: 1.0, (b,), 2.0, 3.0, lb=2 + 3 * middle)
        assert above == pytest.approx(0.5, rel=1e-9)


def test_the_density_at_infinity():
    """It was NaN."""
    assert rice.pdf(np.inf, 2.0) == 0
    assert rice.logpdf([np.inf, 1e300], 2.0).tolist() == [-np.inf, -np.inf]


@pytest.mark.skipif(
    not hasattr(stats, "make_distribution"), reason="SciPy 1.15 made it public"
)
def test_what_scipy_makes_of_it_has_its_moments():
    law = stats.make_distribution(rice)(b=1e4)
    assert law.mean() == pytest.approx(rice.mean(1e4), rel=1e-14)
    assert law.variance() == pytest.approx(1.0, rel=1e-7)
    assert law.entropy() == pytest.approx(rice.entropy(1e4), abs=1e-11)
