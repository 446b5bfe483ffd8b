"""The law at nc = 0, against incomplete gamma functions: whole degrees of freedom up to
60 have sums of their own, more degrees a polynomial near the middle.
"""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.special import ndtr

from rsbounds import oracle, special
from rsbounds_ext import kernels

WHOLE = st.integers(1, 60).map(float)
ANY = st.floats(-3, 8).map(lambda e: 10.0**e)
LOG_P = st.one_of(st.floats(-6, -0.4), st.floats(-0.4, 4).map(lambda e: -(10.0**e)))


def point(df, log_p, lower):
    """An x whose lower or upper tail is about e^log_p; 0 where there is none."""
    quantile = special.ncx2_ppf_exp if lower else special.ncx2_isf_exp
    return float(quantile(log_p, df, 0.0))


def errors_over_bounds(x, df):
    """Of the smaller tail, its logarithm and the density: over what is measured."""
    truth = oracle.ncx2_tails(x, df, 0.0, dps=25)
    lower = truth.log_lower < truth.log_upper
    tail = "cdf" if lower else "sf"
    log = truth.log_lower if lower else truth.log_upper
    wanted = {f"ncx2_log{tail}": log, "ncx2_logpdf": truth.log_density}
    with mp.workdps(40):
        if log > -690:
            wanted[f"ncx2_{tail}"] = mp.exp(log)
        if abs(truth.log_density) < 660:
            wanted["ncx2_pdf"] = mp.exp(truth.log_density)
        ratios = []
        for name, exact in wanted.items():
            value = float(getattr(special, name)(x, df, 0.0))
            bound = special.error_bound(name, value, df=df, measured=True)
            ratios.append(abs(float(mp.mpf(value) - exact)) / float(bound))
    return max(ratios)


@settings(deadline=None, max_examples=80)
@given(df=st.one_of(WHOLE, WHOLE, ANY), log_p=LOG_P, lower=st.booleans())
@example(df=1.0, log_p=-1e4, lower=False)
@example(df=60.0, log_p=-1e4, lower=True)
@example(df=1e8, log_p=-1e4, lower=True)
def test_tails_and_density(df, log_p, lower):
    x = point(df, log_p, lower)
    if 0 < x < 1e120:
        # the measured bound has no room, so a point may pass it by a little
        assert errors_over_bounds(x, df) <= 1.1


@pytest.mark.parametrize("df", [1.0, 2.0, 3.0, 4.0, 59.0, 60.0])
def test_where_formulas_change(df):
    """At y = a, where the logarithm is that of the tail itself, where powers are
    products.
    """
    border = point(df, -600.0, lower=False)
    for x in (df, border, 5e-324, 1e-310, 2e-7, 1400.0):
        for near in (math.nextafter(x, 0), x, math.nextafter(x, math.inf)):
            if near > 0:
                assert errors_over_bounds(near, df) <= 1


@pytest.mark.parametrize("df", [1.0, 2.0, 3.0, 30.0, 59.0, 60.0, 61.0, 784.0])
@pytest.mark.parametrize("name", ["cdf", "sf", "logcdf", "logsf", "pdf", "logpdf"])
def test_no_seam_beside_it(df, name):
    """To nc > 0 and to other degrees, no farther than both errors."""
    f = getattr(special, f"ncx2_{name}")
    x = df * np.array([1e-3, 0.2, 0.9, 1.0, 1.1, 3.0, 20.0])
    here = f(x, df, 0.0)
    room = 2 * special.error_bound(f"ncx2_{name}", here, df=df, measured=True)
    # the next df moves the logarithm of a tail by this, or less
    moved = math.ulp(df) * (1 + np.abs(np.log(x / df)))
    moved *= 1 if "log" in name else here
    for beside in (
        f(x, df, 1e-300),
        f(x, math.nextafter(df, 1e9), 0.0),
        f(x, math.nextafter(df, 0), 0.0),
    ):
        assert np.all(np.abs(beside - here) <= room + moved)


@pytest.mark.parametrize("df", [1.0, 2.0, 7.0, 60.0, 61.0, 784.5])
def test_monotone_to_within_the_bound(df):
    x = np.linspace(1e-3 * df, 4 * df, 4001)
    for name, sign in (("cdf", 1), ("sf", -1), ("logcdf", 1), ("logsf", -1)):
        value = getattr(special, f"ncx2_{name}")(x, df, 0.0)
        room = special.error_bound(f"ncx2_{name}", value[1:], df=df, measured=True)
        assert np.all(sign * np.diff(value) >= -2 * room)


@pytest.mark.parametrize("name", ["cdf", "sf", "logcdf", "logsf"])
def test_arrays_have_the_bits_of_their_points(name):
    """However blocks are filled: one law, many, points beyond a formula's reach."""
    rng = np.random.default_rng(0)
    f = getattr(kernels, f"ncx2_{name}")
    edges = [0.0, 5e-324, 1e-300, 700.5, 1e5, 1e119, 1e120, np.inf, -1.0, np.nan]
    for df in [1.0, 2.0, 7.0, 60.0, 61.0, 784.5, rng.uniform(1, 200, 101)]:
        x = df * rng.gamma(2, 0.5, (3, 101))
        for nc in (0.0, rng.choice([0.0, 1.0], 101)):
            x[2, :10] = edges
            x[2, 40:50] = edges
            with special.errstate(domain="nan"), np.errstate(invalid="ignore"):
                together = f(x, df, nc)
                backwards = f(x[:, ::-1], np.flip(df), np.flip(nc))[:, ::-1]
                alone = np.vectorize(f, otypes=[float])(x, df, nc)
            np.testing.assert_array_equal(together, alone)
            np.testing.assert_array_equal(backwards, alone)


@pytest.mark.parametrize("b", [1e-160, 1e-141, 1e-139, 1e-20, 3e-4, 4e-4, 37.4, 37.5])
@pytest.mark.parametrize("df", [1.0, 2.0, 3.0])
def test_powers_of_marcum_by_products_and_by_logarithms(b, df):
    """Where its square, or a power of that, leaves the normal numbers."""
    with mp.workdps(40):
        half = mp.mpf(b) ** 2 / 2
        lower = mp.gammainc(df / 2, 0, half, regularized=True)
        upper = mp.gammainc(df / 2, half, mp.inf, regularized=True)
        log = mp.log(min(lower, upper))
    f = special.marcum_logp if lower < upper else special.marcum_logq
    value = float(f(df / 2, 0.0, b))
    bound = special.error_bound(f.__name__, value, df=df, measured=True)
    assert abs(float(mp.mpf(value) - log)) <= bound


def test_marcum_squares_its_length_exactly():
    """b^2 in two doubles: at b = 37.3 a rounded square would cost 1e-13 of Q."""
    for m in (0.5, 1.0, 3.5, 30.0):
        for b in (0.1, 1.7, 9.3, 37.3):
            with mp.workdps(40):
                half = mp.mpf(b) ** 2 / 2
                upper = mp.gammainc(m, half, mp.inf, regularized=True)
                lower = mp.gammainc(m, 0, half, regularized=True)
                exact = float(min(upper, lower))
            f = special.marcum_p if lower < upper else special.marcum_q
            bound = special.error_bound(f.__name__, exact, df=2 * m, measured=True)
            assert abs(float(f(m, 0.0, b)) - exact) <= bound + math.ulp(exact) / 2


def test_limits():
    assert special.ncx2_cdf(0.0, 3, 0) == 0
    assert special.ncx2_sf(np.inf, 3, 0) == 0
    assert special.ncx2_sf(1e119, 3, 0) == 0
    assert special.ncx2_cdf(1e119, 3, 0) == 1
    assert special.ncx2_logsf(1e100, 2, 0) == -5e99
    assert special.ncx2_logcdf(1e100, 2, 0) == 0
    assert special.ncx2_sf(2.0, 2, 0) == pytest.approx(math.exp(-1), rel=2e-16)
    assert special.ncx2_cdf(5e-324, 1, 0) == pytest.approx(
        math.sqrt(5e-324 * 2 / math.pi), rel=1e-15
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    df=st.floats(math.nextafter(60, 100), 1e5),
    z=st.floats(-6.2, 6.2),
)
@example(df=math.nextafter(60, 100), z=5.99)
@example(df=math.nextafter(60, 100), z=-5.99)
@example(df=1e8, z=5.99)
@example(df=1e8, z=-5.99)
@example(df=1e8, z=1e-9)
def test_tails_and_density_of_many_degrees(df, z):
    x = float(special.ncx2_ppf_exp(special.log_ndtr(z), df, 0.0))
    assert errors_over_bounds(x, df) <= 1.1


NAMES = ("ncx2_ppf", "ncx2_isf", "ncx2_ppf_exp", "ncx2_isf_exp")


def asked(name, z):
    """The argument whose quantile has about the lower score z, and its exact score."""
    upper, log = "isf" in name, "exp" in name
    p = float((special.log_ndtr if log else ndtr)(-z if upper else z))
    score = (oracle.ndtri_exp if log else oracle.ndtri)(p, dps=30)
    return p, -score if upper else score


def quantile_error(name, z, df):
    """Of the score of the point over the larger of what is measured and 2 ulp of x."""
    p, score = asked(name, z)
    x = float(getattr(special, name)(p, df, 0.0))
    if not 1e-300 < x < math.inf:  # beyond the doubles, or beside their end
        return 0.0
    tails = oracle.ncx2_tails(x, df, 0.0, dps=30)
    with mp.workdps(30):
        reached = oracle.score(tails.log_lower, tails.log_upper, dps=30)
        slope = mp.exp(tails.log_density + reached**2 / 2) * mp.sqrt(2 * mp.pi)
        room = special.error_bound(name, float(score), df=df, measured=True)
        return float(abs(reached - score) / max(room, 2 * math.ulp(x) * slope))


@settings(deadline=None, max_examples=15)
@given(
    name=st.sampled_from(NAMES),
    df=st.one_of(WHOLE, st.floats(math.nextafter(60, 61), 1e5)),
    z=st.one_of(st.floats(-6.2, 6.2), st.floats(-36, 36)),
)
@example(name="ncx2_ppf", df=1.0, z=-25.0)
@example(name="ncx2_isf", df=1.0, z=36.0)
@example(name="ncx2_ppf", df=60.0, z=-36.0)
@example(name="ncx2_isf_exp", df=60.0, z=36.0)
@example(name="ncx2_ppf", df=1e8, z=-5.899)
@example(name="ncx2_ppf", df=1e8, z=5.901)
def test_quantiles(name, df, z):
    assert quantile_error(name, z, df) <= 1


@pytest.mark.parametrize("df", [1.0, 2.0, 5.0, 60.0, 61.0, 784.5, 1e6])
def test_quantiles_are_monotone_to_within_their_error(df):
    """Across all that changes on the way: the start, the steps, the tails, the search
    of the ball beyond 5.9.
    """
    z = np.concatenate([np.linspace(-7, 7, 2001), 5.9 + np.arange(-9, 10) * 1e-15])
    z = np.sort(np.concatenate([z, -z]))
    for name, sign in (("ncx2_ppf_exp", 1), ("ncx2_isf_exp", -1)):
        x = getattr(special, name)(special.log_ndtr(sign * z), df, 0.0)
        slope = special.ncx2_pdf(x, df, 0.0) * np.exp(z**2 / 2) * math.sqrt(2 * np.pi)
        room = special.error_bound(name, z, df=df, measured=True) / slope
        room = np.maximum(room, 2 * np.spacing(x))
        assert np.all(np.diff(x) >= -(room[1:] + room[:-1]))


def test_limits_of_quantiles():
    assert special.ncx2_ppf(0.0, 3, 0) == special.ncx2_isf(1.0, 3, 0) == 0
    assert special.ncx2_ppf(1.0, 3, 0) == special.ncx2_isf(0.0, 3, 0) == np.inf
    assert special.ncx2_ppf_exp(-np.inf, 3, 0) == special.ncx2_isf_exp(0.0, 3, 0) == 0
    assert special.ncx2_ppf(1e-300, 1, 0) == 0  # 2e-600
    assert special.ncx2_ppf(5e-324, 61, 0) > 0
    assert special.ncx2_isf(math.exp(-5), 2, 0) == pytest.approx(10, rel=4e-16)
    assert special.ncx2_isf_exp(-5e5, 2, 0) == pytest.approx(1e6, rel=4e-16)


def middle(x, df):
    """-2 phi0, which is 36 at the polynomial's reach."""
    tau = (x - df) / df
    return df * (tau - math.log1p(tau))


def border_of(df, side):
    """The least or largest x that the polynomial has, to a few units."""
    low, high = (df, 3 * df) if side > 0 else (df, 0.2 * df)
    for _ in range(200):
        x = (low + high) / 2
        low, high = (x, high) if middle(x, df) <= 36 else (low, x)
    return low


@pytest.mark.parametrize("df", [math.nextafter(60, 61), 61.0, 80.5, 784.0, 1e5, 1e8])
def test_where_formulas_of_many_degrees_change(df):
    """At the middle, at both ends of the reach, and where the logarithm is x/df's."""
    for border in (df, 0.75 * df, border_of(df, 1), border_of(df, -1)):
        for steps in (-64, -2, -1, 0, 1, 2, 64):
            x = border + steps * math.ulp(border)
            if middle(x, df) < 700:
                assert errors_over_bounds(x, df) <= 1.1


def test_marcum_of_many_degrees_squares_its_length_exactly():
    for m in (30.5, 100.25, 4000.0):
        for z in (-5.5, -2.0, 0.3, 5.5):
            b = math.sqrt(float(special.ncx2_ppf_exp(special.log_ndtr(z), 2 * m, 0.0)))
            with mp.workdps(40):
                half = mp.mpf(b) ** 2 / 2
                upper = mp.gammainc(m, half, mp.inf, regularized=True)
                exact = float(min(upper, 1 - upper))
                f = special.marcum_p if upper > 0.5 else special.marcum_q
            bound = special.error_bound(f.__name__, exact, df=2 * m, measured=True)
            assert abs(float(f(m, 0.0, b)) - exact) <= bound + math.ulp(exact) / 2


@pytest.mark.parametrize(
    ("x", "df"), [(58.27681367111569, 59.0), (56.99491426876178, 57.0)]
)
def test_a_tail_is_within_the_measured_bound_beside_the_middle(x, df):
    """One tail is 1 less the other, rounded once more."""
    value = special.ncx2_sf(x, df, 0.0)
    with mp.workdps(40):
        truth = mp.gammainc(mp.mpf(df) / 2, mp.mpf(x) / 2, regularized=True)
        error = abs(mp.mpf(value) - truth)
    assert error <= special.error_bound("ncx2_sf", value, df=df, measured=True)
