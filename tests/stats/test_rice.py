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
