"""The noncentral chi-square law from one degree of freedom on: tails, density,
quantiles.

Truth is the reference tables and the oracle; the limit is the documented error bound.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from special_truth import (
    assert_below,
    difference,
    ratio,
    relative,
    rows,
    table,
    table_error,
)

from rsbounds import oracle, special
from rsbounds.special import ball_offset, ball_score, error_bound, ncx2_cdf, ncx2_sf

TAIL = 4e-16  # relative error of a tail: 2 ulp
DIM = st.one_of(
    st.floats(0, 8).map(lambda e: 10.0**e),
    st.floats(1, 30),
    st.integers(1, 10**8).map(float),
)
S = st.floats(-3, 8).map(lambda e: 10.0**e)


@pytest.mark.parametrize("tail", ["logcdf", "logsf"])
def test_log_tails_of_the_table(tail):
    t = table("ncx2")
    log = getattr(special, f"ncx2_{tail}")(t["x"], t["df"], t["nc"])
    error, truth = table_error(log, t, tail), t[f"{tail}_hi"]
    small = np.minimum(t["logcdf_hi"], t["logsf_hi"])
    limit = error_bound(
        f"ncx2_{tail}", small, df=t["df"], measured=True
    )  # of the smaller tail itself
    # the larger one is log(1 - small), small <= 0.69: its error is that of small over 1
    # - small
    larger = np.exp(small) * (limit + 4e-16) / 0.31
    assert_below(
        error, np.where(truth == small, limit, larger) + 5e-324, t, "x", "df", "nc"
    )
    deep = truth < -700
    assert deep.sum() > 20
    assert_below(error[deep], 1e-14 * -truth[deep], rows(t, deep), "x", "df", "nc")


def relative_to_log(value, t, log):
    """value/truth - 1; the logarithm of the value in extended precision."""
    logs = np.log(value.astype(np.longdouble))
    logs -= t[f"{log}_hi"].astype(np.longdouble)
    return np.expm1(logs - t[f"{log}_lo"]).astype(np.float64)


@pytest.mark.parametrize(("name", "log"), [("cdf", "logcdf"), ("sf", "logsf")])
def test_the_smaller_tail_of_the_table(name, log):
    t = table("ncx2")
    t = rows(
        t, (t[f"{log}_hi"] <= -np.log(2)) & (t[f"{log}_hi"] > -690.7)
    )  # p >= 1e-300
    assert (t[f"{log}_hi"] < -230.2).sum() > 30  # p < 1e-100
    p = getattr(special, f"ncx2_{name}")(t["x"], t["df"], t["nc"])
    error = relative_to_log(p, t, log)
    assert_below(
        error * p,
        error_bound(f"ncx2_{name}", p, df=t["df"], measured=True),
        t,
        "x",
        "df",
        "nc",
    )
    assert_below(error, np.full_like(p, TAIL), t, "x", "df", "nc")  # seen 2.7e-16


def test_the_density_of_the_table():
    t = table("ncx2")
    log = special.ncx2_logpdf(t["x"], t["df"], t["nc"])
    limit = error_bound("ncx2_logpdf", log, df=t["df"], measured=True) + 5e-324
    assert_below(table_error(log, t, "logpdf"), limit, t, "x", "df", "nc")
    t = rows(t, np.isfinite(log) & (log > -690.7))
    pdf = special.ncx2_pdf(t["x"], t["df"], t["nc"])
    error = relative_to_log(pdf, t, "logpdf") * pdf
    assert_below(
        error,
        error_bound("ncx2_pdf", pdf, df=t["df"], measured=True),
        t,
        "x",
        "df",
        "nc",
    )


# --- closed forms and last bits
# -----------------------------------------------------------------


def test_two_dimensions_are_exponential_and_one_is_normal():
    with mp.workdps(40):
        for x in np.concatenate(
            [np.geomspace(1e-6, 1, 100), np.linspace(1, 1380, 700)]
        ):
            truth = mp.exp(-mp.mpf(float(x)) / 2)
            assert relative(ncx2_sf(x, 2, 0), truth) <= TAIL
            assert relative(ncx2_cdf(x, 2, 0), 1 - truth) <= TAIL
        for x in np.geomspace(1e-3, 1370, 300):
            assert (
                relative(ncx2_sf(x, 1, 0), mp.erfc(mp.sqrt(mp.mpf(float(x)) / 2)))
                <= TAIL
            )


@pytest.mark.parametrize(
    "args",
    [
        # the table nodes broke off their cosines too early at c2 = 350: 4.8e-16
        (98.777061334420807, 2.4994866353986476, 1288.7027799053249),
        # near the gate of the pole, where the aliasing is largest: 4e-16
        (76404298.955533355, 76293372.792415902, 115240.39073126699),
        (2790002035475.9658, 24558.52757252779, 2790000409404.541),
        (3927.2665351005166, 3733.5484022181281, 243.00380288517781),
        # the worst of searches against quadruple precision: 3.4e-16 and less
        (90.505979775581579, 84.28691413131989, 0.0),
        (201.08343226251438, 26.40581226019442, 169.85114574854998),
        (63.461297344571051, 53.978124074776957, 0.13242168615932021),
        (842376.15006807749, 842134.26810727676, 0.017523019877164394),
    ],
)
def test_worst_points_of_a_search(args):
    for name in ("cdf", "sf"):
        truth = getattr(oracle, f"ncx2_{name}")(*args, dps=25)
        assert relative(getattr(special, f"ncx2_{name}")(*args), truth) <= TAIL
        value = getattr(special, f"ncx2_log{name}")(*args)
        error = difference(value, getattr(oracle, f"ncx2_log{name}")(*args, dps=25))
        assert error <= 3.2e-16 * max(1, abs(value))  # seen 3.0e-16


@pytest.mark.parametrize("log_p", [-1e4, -1e9, -1e17])
def test_logarithms_far_out(log_p):
    for dim, nc in ((784.0, 0.0), (3072.0, 1e6), (150528.0, 1e16)):
        for tail, name in (("ppf", "ncx2_logcdf"), ("isf", "ncx2_logsf")):
            x = getattr(special, f"ncx2_{tail}_exp")(log_p, dim, nc)
            if x > 1e-300:  # else the quantile itself underflows
                truth = getattr(oracle, name)(x, dim, nc, dps=25)
                assert relative(getattr(special, name)(x, dim, nc), truth) <= 1e-14


@pytest.mark.parametrize("x", [1e-160, 1e-200, 1e-320])
def test_the_least_points(x):
    """log p = log(x) dim/2 - nc/2 - log(2^mu gamma(mu + 1)) to within x (1 + nc)."""
    for dim in (1.0, 2.0, 784.0):
        with mp.workdps(30):
            log_p = dim / 2 * mp.log(x / 2) - mp.mpf(0.5) - mp.loggamma(dim / 2 + 1)
        assert ratio("ncx2_logcdf", (x, dim, 1.0), log_p) <= 1


def smaller_log_tail(u, dim, s):
    """Its name and arguments x = (s + u)^2, nc = s^2, both rounded."""
    args = ((s + u) ** 2, dim, s * s)
    return "ncx2_logcdf" if ncx2_cdf(*args) < 0.5 else "ncx2_logsf", args


@settings(deadline=None, max_examples=50)
@given(z=st.one_of(st.floats(-37, 37), st.floats(-1e3, 1e3)), dim=DIM, s=S)
def test_log_tail_error_stays_within_its_bound(z, dim, s):
    u = float(ball_offset(z, dim, s))
    if s + u > 1e-100:
        assert ratio(*smaller_log_tail(u, dim, s)) <= 1


# the worst points of a search of 10^6 evaluations: 0.3, 0.75 and 0.65 of the bounds
@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "seed"),
    [
        (lambda *point: ("ball_score", point), (0.3482420447479753, 1.07734, 0.75985)),
        (lambda *point: ("ball_score", point), (0.0090446527230, 1.04291, 2.44271)),
        (smaller_log_tail, (709.8621706381805, 531196.48, 44.827438)),
        (smaller_log_tail, (28.7553773633, 1667.31018, 1.12059)),
        (smaller_log_tail, (-33.500812658801685, 617.622606621062, 48565818.193214476)),
    ],
)
def test_local_search_for_the_worst_error(of, seed):
    """Random steps at every scale, uphill; no seed leads above the bound."""
    rng = np.random.default_rng(5)
    best, point = ratio(*of(*seed)), np.array(seed)
    for _ in range(120):
        scale = 10 ** rng.uniform(-16, -1, 3) * (rng.random(3) < 0.7)
        near = point * (1 + scale * rng.normal(size=3))
        near[1], near[2] = np.clip(near[1], 1, 1e8), abs(near[2])
        if near[0] + near[2] <= 1e-9 * near[2] or abs(ball_score(*near)) > 1e3:
            continue
        error = ratio(*of(*map(float, near)))
        if error > best:
            best, point = error, near
    assert best <= 1, (best, point.tolist())


@settings(deadline=None, max_examples=400)
@given(
    log_p=st.one_of(
        st.floats(-300, 2.8).map(lambda e: -(10.0**e)),
        st.floats(-17, 17).map(lambda e: -(10.0**e)),
    ),
    df=DIM,
    nc=st.one_of(st.just(0.0), st.floats(-3, 16).map(lambda e: 10.0**e)),
)
def test_log_tails_of_the_quantiles(log_p, df, nc):
    for quantile, tail, sign in (
        (special.ncx2_ppf_exp, special.ncx2_logcdf, 1),
        (special.ncx2_isf_exp, special.ncx2_logsf, -1),
    ):
        x = float(quantile(log_p, df, nc))
        if not 1e-290 < x < 1e290:
            continue
        z = float(special.ndtri_exp(log_p))
        # a score's error, in log p: times the hazard, at most |z| + 1
        slack = 2 * error_bound("ncx2_logcdf", log_p, df=df, measured=True)
        slack += (abs(z) + 1) * error_bound("ball_offset", z, measured=True)
        step = (
            sign * 2 * np.spacing(x)
            if abs(x - df - nc) < 0.2 * x
            else sign * 8 * np.spacing(x)
        )
        if log_p > -math.log(2):  # the larger tail: in units of the smaller
            slack *= -math.expm1(log_p) + 1
        assert tail(x - step, df, nc) - slack <= log_p * (1 - 4e-16)
        assert log_p * (1 + 4e-16) <= tail(x + step, df, nc) + slack


@settings(deadline=None, max_examples=300)
@given(z=st.floats(-37, 37), dim=DIM, s=S)
def test_both_tails_and_their_logarithms(z, dim, s):
    args = ((s + float(ball_offset(z, dim, s))) ** 2, dim, s * s)
    below, above = ncx2_cdf(*args), ncx2_sf(*args)
    assert abs(below + above - 1) <= 2.3e-16
    for p, log in ((below, special.ncx2_logcdf), (above, special.ncx2_logsf)):
        if p > 1e-300:
            assert np.exp(log(*args)) == pytest.approx(p, rel=1e-12)
    log_density = special.ncx2_logpdf(*args)
    if log_density > -690:
        rounded = 1e-15 + 1.2e-16 * abs(log_density)  # of the logarithm
        assert special.ncx2_pdf(*args) == pytest.approx(
            math.exp(log_density), rel=rounded
        )


@settings(deadline=None, max_examples=200)
@given(
    z=st.floats(-8, 8), df=st.floats(1, 1e5), nc=st.floats(-2, 6).map(lambda e: 10.0**e)
)
def test_two_more_dimensions(z, df, nc):
    """F_N - F_{N+2} = 2 f_{N+2}: the density ties the distributions together."""
    x = float(special.ncx2_ppf(0.5 * math.erfc(-z / math.sqrt(2)), df, nc))
    tail = ncx2_cdf if z < 0 else ncx2_sf
    here, there = tail(x, df, nc), tail(x, df + 2, nc)
    limit = 2e-13 * max(here, there)
    assert abs(abs(here - there) - 2 * special.ncx2_pdf(x, df + 2, nc)) <= limit


# --- failures that were found once
# --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args"),
    [
        # below x = dim/2 the exponent lost 20 ulp: log p was off by 1.2e-12 at p =
        # 1e-240
        (
            "ncx2_logcdf",
            (2651.9143449904177, 5410.690331736461, 2.2347909516302582e-06),
        ),
        ("ncx2_logcdf", (297.4139133173422, 619.8042488474514, 3.4088119226306133)),
        ("ncx2_logcdf", (86919.75989498157, 179815.0, 2042.8280029799032)),
        # phi0 and log x nearly cancel there: the density was off by 9e-14
        ("ncx2_logpdf", (1.7527448805052717e-58**2, 2.0339714159587294, 5e-324)),
        ("ncx2_logpdf", (1e-300, 2.0006546809384824, 0.3)),
        ("ncx2_logpdf", (1e-305, 1.99, 40.0)),
        ("ncx2_logpdf", (1e-310, 2.5, 0.0)),
        # 1.13 and 1.07 times the bound: it took (1 + tau)/density at the double, not at
        # the saddle
        ("ncx2_pdf", (561.81052446796127, 26.877240462779582, 2562.9138639464954)),
        ("ncx2_pdf", (23.401405439348565, 1.0004257834191232, 530.36111670049695)),
        ("ncx2_logpdf", (7.540011309735403e-305, 1.1007605615863558, 629.58289226522)),
    ],
)
def test_values_that_were_beyond_their_bound(name, args):
    assert ratio(name, args) <= 1


def test_two_terms_of_opposite_sign_in_the_log_density():
    rng = np.random.default_rng(0)
    for _ in range(40):  # -log p near 0: (df/2 - 1) log x against nc/2
        df, log_x = rng.uniform(1, 1.99), rng.uniform(-700, -20)
        nc = abs((df - 2) * log_x + rng.normal())
        assert ratio("ncx2_logpdf", (math.exp(log_x), df, nc)) <= 1, (log_x, df, nc)


def test_quantile_that_is_subnormal():
    """Was 9.4e-323 through the square of an underflowed root."""
    z, df, nc = (-32.510682567789004, 1.4360914899322286, 0.002584224994636069)
    log_p = special.log_ndtr(z)
    truth = float(oracle.ncx2_ppf_exp(float(log_p), df, nc, dps=20))
    # two spacings, and the score's own error: d log x = 2/df d log p
    limit = 1e-323 + truth * 2 / df * error_bound(
        "ncx2_logcdf", log_p, df=df, measured=True
    )
    assert abs(special.ncx2_ppf_exp(log_p, df, nc) - truth) <= limit


@pytest.mark.parametrize("z", [-3.0, 0.5, 35.217414892710124])
@pytest.mark.parametrize(
    ("df", "nc"), [(1e7, 6.755069434608544e16), (24.0, 2.7224903111824244e16)]
)
def test_quantile_beside_a_large_nc(z, df, nc):
    """x is the rounding of nc + (df + D), not 6 ulp from it."""
    log_p = float(special.log_ndtr(z))
    x = special.ncx2_ppf_exp(log_p, df, nc)
    assert difference(
        x, oracle.ncx2_ppf_exp(log_p, df, nc, dps=30)
    ) <= 1.01 * np.spacing(x)


@pytest.mark.parametrize("df", [1.0, 16.25, 784.0, 1e7])
def test_quantiles_in_the_farthest_tails(df):
    """The Newton slope lost its digits: 13 to 25 % wrong at some log p below -1e16;
    from
    -1e120 on the median was returned."""
    for exponent in (*np.linspace(14, 18, 25), 25.0, 60.0, 119.0, 121.0, 250.0):
        log_p = -(10.0**exponent)
        x = special.ncx2_isf_exp(log_p, df, 0.0)
        assert special.ncx2_logsf(x, df, 0.0) == pytest.approx(log_p, rel=1e-15)


@pytest.mark.parametrize(
    "top", [1e10, 1e16, pytest.param(1e30, marks=pytest.mark.slow)]
)
def test_beyond_a_hundred_million_degrees_of_freedom(top):
    """All were NaN there, even the mean of the distribution."""
    rng = np.random.default_rng(int(np.log10(top)))
    for nc in (0.0, 99.0, top / 3):
        z = float(rng.normal(0, 4))
        x = float(top + nc + z * np.sqrt(2 * top + 4 * nc))
        truth = oracle.ncx2_tails(x, top, nc, dps=30)
        for name in ("logcdf", "logsf", "logpdf"):
            part = {"logcdf": "log_lower", "logsf": "log_upper"}.get(
                name, "log_density"
            )
            expected = getattr(truth, part)
            value = float(getattr(special, f"ncx2_{name}")(x, top, nc))
            bound = special.error_bound(f"ncx2_{name}", value, df=top, measured=True)
            assert abs(value - expected) <= bound, (name, x, nc)
        up = truth.log_upper < truth.log_lower
        log_p = float(min(truth.log_upper, truth.log_lower))
        suffix = "_sf_exp" if up else "_exp"
        quantile = special.ncx2_isf_exp if up else special.ncx2_ppf_exp
        width = np.sqrt(2 * top + 4 * nc)
        room = 1e-15 * (1 + abs(z)) * width
        assert abs(quantile(log_p, top, nc) - x) <= room + 2 * np.spacing(x)
        found = getattr(special, f"ncx2_df{suffix}")(log_p, x, nc)
        assert abs(found - top) <= room + 2 * np.spacing(top)
        if nc:
            found = getattr(special, f"ncx2_nc{suffix}")(log_p, x, top)
            assert abs(found - nc) <= room + 2 * np.spacing(nc)


def test_a_billion_degrees_of_freedom():
    expected = 0.499122806408059418
    assert special.ncx2_cdf(1e9, 1e9, 99.0) == pytest.approx(expected, rel=4e-16)
    assert special.marcum_p(5e8, 99**0.5, 1e9**0.5) == pytest.approx(expected, rel=1e-9)
