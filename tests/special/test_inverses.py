"""Noncentrality, degrees of freedom and Marcum's a by inversion: values, round trips,
order, limits, and what has no answer.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp

from rsbounds import oracle, special

DIMS = [1.0, 784.0, 3072.0, 150528.0]
DF = st.one_of(st.floats(0, 8), st.floats(-6, 0)).map(lambda e: 10.0**e)
NC = st.floats(-6, 12).map(lambda e: 10.0**e)
Z = st.one_of(st.floats(-8, 8), st.floats(-37, 37))


def score_there(x, df, nc):
    tails = oracle.ncx2_tails(x, df, nc, dps=25)
    return oracle.score(tails.log_lower, tails.log_upper, dps=25)


def smaller_tail(x, df, nc):
    """The suffix of the inverses of the smaller tail, and its logarithm."""
    lower = float(special.ncx2_logcdf(x, df, nc))
    upper = float(special.ncx2_logsf(x, df, nc))
    return ("_exp", lower, 1) if lower < upper else ("_sf_exp", upper, -1)


def test_the_power_of_a_genome_wide_test():
    x = special.ncx2_isf(5e-8, 1, 0)
    assert special.ncx2_nc_sf(0.8, x, 1) == pytest.approx(39.60098902114069, rel=1e-15)
    needed = special.ncx2_nc(1e-12, x, 1)
    assert needed == pytest.approx(155.895058381625, rel=2e-15)
    assert special.ncx2_nc(0.5, 10.0, 3) == pytest.approx(7.960064015194878, rel=2e-16)


@pytest.mark.parametrize("df", DIMS)
def test_the_score_at_the_returned_noncentrality(df):
    rng = np.random.default_rng(3)
    for nc in 10 ** rng.uniform(-3, 12, 6):
        z = float(rng.normal() * rng.choice([1, 6, 30]))
        x = float(np.square(np.sqrt(nc) + special.ball_offset(z, df, np.sqrt(nc))))
        name, log_p, side = smaller_tail(x, df, nc)
        with mp.workdps(30):
            wanted = side * oracle.ndtri_exp(log_p, dps=25)
            found = getattr(special, f"ncx2_nc{name}")(log_p, x, df)
            error = abs(float(score_there(x, df, found) - wanted))
        limit = special.error_bound("ncx2_nc", float(wanted), df=df, measured=True)
        slope = special.ncx2_pdf(x, df + 2, found) / np.exp(-0.5 * z * z) * 2.51
        assert error <= limit + np.spacing(found) * slope, (x, df, nc, log_p)


@pytest.mark.parametrize("nc", [0.0, 10.0, 1e6])
def test_the_score_at_the_returned_degrees_of_freedom(nc):
    rng = np.random.default_rng(4)
    for df in 10 ** rng.uniform(-1, 7, 6):
        z = float(rng.normal() * rng.choice([1, 6]))
        x = float(special.ncx2_ppf_exp(special.log_ndtr(z), df, nc))
        name, log_p, side = smaller_tail(x, df, nc)
        with mp.workdps(30):
            wanted = side * oracle.ndtri_exp(log_p, dps=25)
            found = getattr(special, f"ncx2_df{name}")(log_p, x, nc)
            error = abs(float(score_there(x, found, nc) - wanted))
            beside = abs(score_there(x, found * (1 + 1e-6), nc) - wanted) * 1e6
        limit = special.error_bound("ncx2_df", float(wanted), df=df, measured=True)
        assert error <= limit + np.spacing(found) / found * beside, (x, df, nc, log_p)


@pytest.mark.parametrize(
    ("x", "nc", "log_p", "side"),
    [
        (1.9075617440059773, 0.1448368220997561, -3.5811369648264533, -1),
        (0.12652255396104573, 87.90443600815145, -42.12324721745245, 1),
    ],
)
def test_few_degrees_of_freedom_have_the_error_that_is_stated(x, nc, log_p, side):
    """At 1e-12 and 1e-10 of them it was 2.3 times what was said of all inverses."""
    suffix = "_exp" if side > 0 else "_sf_exp"
    found = getattr(special, f"ncx2_df{suffix}")(log_p, x, nc)
    with mp.workdps(30):
        wanted = side * oracle.ndtri_exp(log_p, dps=25)
        error = abs(score_there(x, found, nc) - wanted)
    limit = special.error_bound("ncx2_df", float(wanted), df=found, measured=True)
    assert error <= limit


@pytest.mark.parametrize("nc", [0.0, 0.01, 50.0])
def test_fewer_than_one_degree_of_freedom(nc):
    """Where the search goes by the logarithm of df, and by larger changes of it."""
    rng = np.random.default_rng(6)
    for df, x in 10 ** rng.uniform([-14, -5], [0, 1.7], (40, 2)):
        name, log_p, side = smaller_tail(x, df, nc)
        with mp.workdps(30):
            wanted = side * oracle.ndtri_exp(log_p, dps=25)
            found = getattr(special, f"ncx2_df{name}")(log_p, x, nc)
            at = max(found, 1e-300)  # the limit, if that has the score
            error = abs(float(score_there(x, at, nc) - wanted))
        limit = special.error_bound("ncx2_df", float(wanted), df=df, measured=True)
        assert error <= limit, (x, df, nc, log_p)


@settings(deadline=None, max_examples=300)
@given(z=Z, df=DF, nc=NC)
def test_noncentrality_returns(z, df, nc):
    x = float(special.ncx2_ppf_exp(special.log_ndtr(z), df, nc))
    assume(1e-200 < x < 1e100)
    name, log_p, _ = smaller_tail(x, df, nc)
    assume(log_p > -700)
    slope = special.ncx2_pdf(x, min(df + 2, 1e8), nc)
    found = getattr(special, f"ncx2_nc{name}")(log_p, x, df)
    # what a relative error of the tail, and of a score of size |z|, moves
    size = 1 - float(special.ndtri_exp(log_p))
    room = np.exp(log_p) * 1e-14 * size**2
    assert abs(found - nc) * slope <= room + 4 * np.spacing(nc) * slope


@settings(deadline=None, max_examples=200)
@given(z=st.floats(-8, 8), df=st.floats(0, 7).map(lambda e: 10.0**e), nc=NC)
def test_degrees_of_freedom_return(z, df, nc):
    x = float(special.ncx2_ppf_exp(special.log_ndtr(z), df, nc))
    name, log_p, _ = smaller_tail(x, df, nc)
    found = getattr(special, f"ncx2_df{name}")(log_p, x, nc)
    tail = special.ncx2_logcdf if name == "_exp" else special.ncx2_logsf
    there = float(tail(x, found, nc))
    beside = float(tail(x, found + 4 * np.spacing(found), nc))
    size = 1 - float(special.ndtri_exp(log_p))
    assert abs(there - log_p) <= 1e-14 * size**2 + abs(beside - there)


@settings(deadline=None, max_examples=200)
@given(p=st.floats(1e-300, 0.99), df=DF, x=st.floats(-3, 8).map(lambda e: 10.0**e))
def test_the_noncentrality_falls_with_p_and_rises_with_x(p, df, x):
    with np.errstate(invalid="ignore"):
        first = special.ncx2_nc(p, x, df)
        likelier = special.ncx2_nc(min(p * 1.001, 1.0), x, df)
        farther = special.ncx2_nc(p, x * 1.001, df)
    if np.isnan(first):
        assert np.isnan(likelier)
        assert p > special.ncx2_cdf(x, df, 0) * (1 - 1e-14)
        return
    assert np.isnan(likelier) or likelier <= first * (1 + 1e-14)
    assert farther >= first * (1 - 1e-14)


@settings(deadline=None, max_examples=100)
@given(q=st.floats(1e-6, 1 - 1e-6), m=st.floats(0.5, 1e5), b=st.floats(0.1, 1e6))
def test_marcum_s_distance_returns(q, m, b):
    with np.errstate(invalid="ignore"):
        a = special.marcum_q_inv_a(q, m, b)
    if np.isnan(a):
        assert q < special.marcum_q(m, 0.0, b) * (1 + 1e-14)
        return
    step = 4 * np.spacing(max(a, 1e-300))
    low, high = (
        special.marcum_q(m, max(a - step, 0.0), b),
        special.marcum_q(m, a + step, b),
    )
    assert low * (1 - 1e-13) <= q <= high * (1 + 1e-13)


def test_a_level_has_no_effect_and_less_than_it_none():
    for df in DIMS:
        x = special.ncx2_isf(0.05, df, 0)
        assert special.ncx2_nc_sf(0.05, x, df) <= 1e-12 * df
        with pytest.warns(RuntimeWarning, match="invalid"):
            assert np.isnan(special.ncx2_nc_sf(0.0499, x, df))
    with pytest.warns(RuntimeWarning, match="invalid"):
        assert np.isnan(special.ncx2_df(0.9, 1.0, 5.0))
    # the search comes beside the least degrees of freedom, which must be tried too
    with pytest.warns(RuntimeWarning, match="invalid"):
        assert np.isnan(special.ncx2_df_exp(-5.0, 1e-300, 1e60))


def test_a_distance_whose_square_is_no_double():
    """Both squares enter exactly: a = b + score, to a unit in the last place."""
    for b in (1e9 + 0.3, 1e12 + 1 / 3, 1e25):
        a = special.marcum_q_inv_a(0.8, 1.5, b)
        assert abs(a - (b + special.ndtri(0.8) - 1 / b)) <= np.spacing(b)


def test_huge_scores():
    for x, df, log_p in ((784.0, 784.0, -1e6), (1e-3, 0.5, -1e9), (1e12, 3.0, -1e12)):
        nc = special.ncx2_nc_exp(log_p, x, df)
        assert special.ncx2_logcdf(x, df, nc) == pytest.approx(log_p, rel=1e-14)
