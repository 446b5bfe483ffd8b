"""No degrees of freedom, where the law has the mass e^(-nc/2) at 0: against its mixture
of Poisson and Erlang laws.
"""

import mpmath as mp
import numpy as np
import pytest
from cases import slow_among

from rsbounds import special, stats

INF = np.inf
POINTS = [
    (1e-300, 1.0),
    (1e-8, 1e-12),
    (0.3, 1e-290),
    (0.3, 2.0),
    (3.0, 2.0),
    (40.0, 2.0),
    (5.0, 60.0),
    (1e-5, 300.0),
    (250.0, 300.0),
    (700.0, 300.0),
]
LONG = [(1e-300, 1.0), (1e-5, 300.0), (250.0, 300.0), (700.0, 300.0)]
LONG += [(1e-8, 1e-12), (0.3, 1e-290), (5.0, 60.0)]


def law(x, nc):
    """(P(X <= x), P(X > x), density) by sums of positive terms, 40 digits."""
    x, h = mp.mpf(x) / 2, mp.mpf(nc) / 2
    lower = mp.exp(-h)
    upper = density = mp.mpf(0)
    for j in range(1, int(h + x) * 3 + 400):
        weight = mp.exp(-h) * h**j / mp.factorial(j)
        lower += weight * mp.gammainc(j, 0, x, regularized=True)
        upper += weight * mp.gammainc(j, x, mp.inf, regularized=True)
        density += weight * x ** (j - 1) * mp.exp(-x) / (2 * mp.factorial(j - 1))
    return lower, upper, density


@pytest.mark.parametrize("point", slow_among(LONG, POINTS), ids=str)
def test_tails_and_density_within_their_bounds(point):
    x, nc = point
    with mp.workdps(60):
        lower, upper, density = law(x, nc)
        for name, truth in (
            ("ncx2_cdf", lower),
            ("ncx2_sf", upper),
            ("ncx2_pdf", density),
            ("ncx2_logcdf", mp.log(lower)),
            ("ncx2_logsf", mp.log(upper)),
            ("ncx2_logpdf", mp.log(density)),
        ):
            value = float(getattr(special, name)(x, 0, nc))
            bound = special.error_bound(name, value, df=0)
            assert abs(value - truth) <= bound, name
        a, b = np.sqrt(nc), np.sqrt(x)
        lower, upper, _ = law(mp.mpf(b) ** 2, mp.mpf(a) ** 2)
        for name, truth in (("marcum_p", lower), ("marcum_q", upper)):
            value = float(getattr(special, name)(0, a, b))
            assert abs(value - truth) <= special.error_bound(name, value, df=0)
            log = float(getattr(special, name.replace("_", "_log"))(0, a, b))
            assert abs(log - mp.log(truth)) <= special.error_bound("marcum_logq", log)


@pytest.mark.parametrize("nc", [2.0, 60.0, 1e4])
@pytest.mark.parametrize("p", [1e-20, 0.2, 0.7, 0.999])
def test_quantiles_and_noncentralities_return(p, nc):
    x = special.ncx2_ppf(p, 0, nc)
    if p <= np.exp(-nc / 2):
        assert x == 0
    else:
        assert special.ncx2_cdf(x, 0, nc) == pytest.approx(p, rel=2e-13)
        assert special.ncx2_nc(p, x, 0) == pytest.approx(nc, rel=2e-13)
        assert special.ncx2_ppf_exp(np.log(p), 0, nc) == pytest.approx(x, rel=1e-12)
    far = special.ncx2_isf(p, 0, nc)
    assert special.ncx2_sf(far, 0, nc) == pytest.approx(p, rel=2e-13) or far == 0
    if far:
        assert special.ncx2_nc_sf(p, far, 0) == pytest.approx(nc, rel=2e-13)
        a = np.sqrt(nc)
        assert special.marcum_q_inv(p, 0, a) == pytest.approx(np.sqrt(far), rel=1e-13)
        b = np.sqrt(far)
        assert special.marcum_q_inv_a(p, 0, b) == pytest.approx(a, rel=1e-12)


def test_limits():
    for f, args, expected in (
        (special.ncx2_cdf, (0.0, 0, 3.0), np.exp(-1.5)),
        (special.ncx2_cdf, (INF, 0, 3.0), 1.0),
        (special.ncx2_sf, (0.0, 0, 3.0), -np.expm1(-1.5)),
        (special.ncx2_sf, (1.0, 0, 0.0), 0.0),
        (special.ncx2_cdf, (0.0, 0, 0.0), 1.0),
        (special.ncx2_logcdf, (0.0, 0, 3.0), -1.5),
        (special.ncx2_logsf, (1e200, 0, 3.0), -5e199),
        (special.ncx2_pdf, (0.0, 0, 3.0), INF),
        (special.ncx2_pdf, (1.0, 0, 0.0), 0.0),
        (special.ncx2_logpdf, (1.0, 0, 0.0), -INF),
        (special.ncx2_ppf, (1.0, 0, 3.0), INF),
        (special.ncx2_ppf, (0.1, 0, 3.0), 0.0),
        (special.ncx2_isf, (0.0, 0, 3.0), INF),
        (special.ncx2_nc, (0.0, 2.0, 0), INF),
        (special.ncx2_nc, (1.0, 2.0, 0), 0.0),
        (special.marcum_q, (0, 0.0, 1.0), 0.0),
    ):
        with np.errstate(all="raise"):
            assert f(*args) == pytest.approx(expected, rel=1e-15), (f, args)


def test_arrays_with_and_without_degrees_of_freedom():
    df = np.array([0.0, 3.0] * 20)
    together = special.ncx2_cdf(2.0, df, 0.0)
    assert together.tolist() == [1.0, special.ncx2_cdf(2.0, 3.0, 0.0)] * 20


def test_between_0_and_the_least_it_is_refused():
    for df in (1e-301, -0.5):
        with pytest.raises(ValueError, match=r"^df must be 0 or in \[1e-300, 1e\+30\]"):
            special.ncx2_cdf(2.0, df, 1.0)
    with pytest.raises(ValueError, match=r"^m must be 0 or in .* 1 of 2 .*1e-301"):
        special.marcum_q([1e-301, 0.0], 1.0, 2.0)


def test_the_distribution_of_scipy_s_form():
    mixture = stats.ncx2(df=0, nc=2.0)
    assert mixture.cdf(3.0) == special.ncx2_cdf(3.0, 0, 2.0)
    assert mixture.ppf(0.3) == 0
    assert mixture.mean() == 2
