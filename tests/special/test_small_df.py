"""The noncentral chi-square law with less than one degree of freedom: oracle, limits,
inverses.
"""

import math

import numpy as np
import pytest
from cases import quick_each
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from special_truth import ratio

from rsbounds import oracle, special

POWER = st.floats(-10, 0).map(lambda e: 10.0**e)
DF = st.one_of(
    POWER, POWER, st.floats(1e-3, 1), st.floats(-300, 0).map(lambda e: 10.0**e)
)
DF = DF.filter(lambda df: 1e-300 <= df < 1)
NC = st.one_of(
    st.just(0.0),
    st.floats(-5, 3).map(lambda e: 10.0**e),
    st.floats(-300, 16).map(lambda e: 10.0**e),
)
X = st.one_of(
    st.floats(-6, 4).map(lambda e: 10.0**e), st.floats(-300, 17).map(lambda e: 10.0**e)
)


def errors_over_bounds(x, df, nc):
    """Of the smaller tail, its logarithm and the log density; only what doubles can
    hold.
    """
    truth = oracle.ncx2_tails(x, df, nc, dps=25)
    lower = truth.log_lower < truth.log_upper
    small = truth.log_lower if lower else truth.log_upper
    tail = "cdf" if lower else "sf"
    with mp.workdps(40):
        wanted = {f"ncx2_log{tail}": small, "ncx2_logpdf": truth.log_density}
        if small > -690:
            wanted[f"ncx2_{tail}"] = mp.exp(small)
        if abs(truth.log_density) < 660:
            wanted["ncx2_pdf"] = mp.exp(truth.log_density)
        result = {name: float(getattr(special, name)(x, df, nc)) for name in wanted}
        error = {k: abs(float(mp.mpf(result[k]) - v)) for k, v in wanted.items()}
    return {k: v / limit(k, result[k], nc * x < 64) for k, v in error.items()}


def limit(name, value, summed):
    """The bound of the sums, a few roundings; the contour has its own elsewhere."""
    contour = not summed and name != "ncx2_pdf"
    return float(
        special.error_bound(name, value, df=1.0 if contour else 0.5, measured=True)
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=120)
@given(x=X, df=DF, nc=NC)
def test_tails_and_density_stay_within_their_bounds(x, df, nc):
    ratios = errors_over_bounds(x, df, nc)
    assert max(ratios.values()) <= 1, ratios


BORDER = [  # nc x = 64, where the sums hand over to the contour; y = 0.75; y = h
    *((x, df, 64 / x) for df in (1e-300, 0.01, 0.999) for x in (1e-9, 0.3, 8.0, 90.0)),
    *(
        (x, df, nc)
        for df in (1e-300, 0.01, 0.999)
        for x in (1.5, 3.0)
        for nc in (0.0, 1.5, 3.0)
    ),
]


@pytest.mark.parametrize(("x", "df", "nc"), quick_each(3, BORDER))
def test_where_formulas_change(x, df, nc):
    for near in (math.nextafter(x, 0), x, math.nextafter(x, math.inf)):
        assert max(errors_over_bounds(near, df, nc).values()) <= 1


UNDERFLOWING = [  # a factor underflows, or the density is beyond 1e-290 or 1e290
    (3.332918054181146e-263, 0.1618703812145576, 1389.0143287515018),
    (1.888721957257387e-58, 0.009341809829947811, 1489.686318784407),
    (1.5e-323, 0.98, 0.0),
    (1e-310, 0.8, 1300.0),
    (1e-295, 0.01, 0.0),
    (1370.0, 0.9, 0.01),
    (2.0911523004194772e-253, 0.4388587067274189, 904.4790851306627),  # of mu - 1
]


@pytest.mark.parametrize(("x", "df", "nc"), UNDERFLOWING)
def test_density_where_a_factor_underflows(x, df, nc):
    with mp.workdps(40):
        mu, h, y = (mp.mpf(value) / 2 for value in (df, nc, x))
        terms = ((h * y) ** k / mp.factorial(k) / mp.gamma(mu + k) for k in range(60))
        truth = mp.exp(-h - y) * y ** (mu - 1) * sum(terms) / 2
        log, log_truth = special.ncx2_logpdf(x, df, nc), mp.log(truth)
        error = abs(special.ncx2_pdf(x, df, nc) - truth)
        assert error <= special.error_bound(
            "ncx2_pdf", float(truth), df=df, measured=True
        )
        assert abs(log - log_truth) <= special.error_bound(
            "ncx2_logpdf", log, df=df, measured=True
        )


@pytest.mark.parametrize("x", [1e-5, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("nc", [0.0, 1e-3, 5.0, 300.0])
@pytest.mark.parametrize("name", ["cdf", "sf", "logpdf"])
def test_no_seam_at_one_degree(x, nc, name):
    """Across df = 1, and no farther apart than df's ulp and the two errors allow."""
    below, at = (
        getattr(special, f"ncx2_{name}")(x, df, nc)
        for df in (math.nextafter(1, 0), 1.0)
    )
    assert below == pytest.approx(at, rel=1e-13, abs=1e-300)


def test_almost_an_atom_at_zero():
    """As df falls the law tends to an atom of mass e^(-nc/2) and a mixture."""
    nc = 3.0
    assert special.ncx2_cdf(1e-200, 1e-9, nc) == pytest.approx(math.exp(-1.5), rel=1e-6)
    assert special.ncx2_sf(1e-3, 1e-300, 0.0) == pytest.approx(
        5e-301 * float(mp.e1(5e-4)), rel=2e-15
    )
    assert special.ncx2_ppf(0.2, 1e-9, nc) == 0  # e^-1.5 = 0.223
    assert (
        special.ncx2_ppf(0.223, 1e-6, nc) == 0
    )  # and (0.223 e^1.5)^2e6 is below 1e-323
    assert special.ncx2_ppf(0.3, 1e-9, nc) > 0.1
    assert special.ncx2_ppf(0.5, 1e-9, 0.0) == special.ncx2_isf(0.5, 1e-9, 0.0) == 0
    assert special.ncx2_ppf(0.0, 0.5, nc) == special.ncx2_isf(1.0, 0.5, nc) == 0
    assert special.ncx2_isf(0.0, 0.5, nc) == special.ncx2_ppf(1.0, 0.5, nc) == np.inf
    assert special.ncx2_pdf(0.0, 0.5, nc) == np.inf
    assert special.ncx2_cdf(0.0, 0.5, nc) == 0


def score_error(x, df, nc, log_p, lower):
    """Of the score at x against that of log_p, and how far one ulp of x moves it."""

    def score(x):
        tails = oracle.ncx2_tails(x, df, nc, dps=25)
        return oracle.score(tails.log_lower, tails.log_upper, dps=25)

    wanted = oracle.ndtri_exp(log_p, dps=25) * (1 if lower else -1)
    ends = (math.nextafter(x, 0), math.nextafter(x, math.inf))
    with mp.workdps(30):
        return float(score(x) - wanted), float(score(ends[1]) - score(ends[0]))


@settings(deadline=None, max_examples=60)
@given(
    log_p=st.one_of(st.floats(-6, 0), st.floats(-15, 5).map(lambda e: -(10.0**e))),
    df=DF,
    nc=NC,
    lower=st.booleans(),
)
def test_quantiles(log_p, df, nc, lower):
    """To the bound of the score, or 4 units in the last place of x."""
    name = "ncx2_ppf_exp" if lower else "ncx2_isf_exp"
    x = float(getattr(special, name)(log_p, df, nc))
    if x == 0:  # the lower tail is reached below the smallest double
        least = oracle.ncx2_tails(5e-324, df, nc, dps=25)
        assert (least.log_lower >= log_p) if lower else (least.log_upper <= log_p)
        return
    if x < 1e-320 or log_p == 0:
        return
    error, spacing = score_error(x, df, nc, log_p, lower)
    wanted = float(special.ndtri_exp(log_p))
    assert (
        abs(error)
        <= special.error_bound(name, wanted, df=df, measured=True) + 2 * spacing
    )


@pytest.mark.parametrize("nc", [1e20, 1e30, 1e60])
def test_quantiles_far_from_zero_keep_their_digits(nc):
    """sqrt(nc) + z, squared: what df adds is below an ulp."""
    for p in (1e-9, 0.3, 0.5, 0.99):
        z = float(special.ndtri(p))
        for df in (1e-300, 0.5):
            x = float(special.ncx2_ppf(p, df, nc))
            assert x == pytest.approx(nc + 2 * math.sqrt(nc) * z + z * z, rel=3e-16)
            b = float(special.marcum_p_inv(p, df / 2, math.sqrt(nc)))
            assert b == pytest.approx(math.sqrt(nc) + z, rel=3e-16)


# where the promise of 4e-16 was broken by attacks: few degrees of freedom, nc near 0
LOW_DF = [
    ("ncx2_sf", (1.3174856832872281, 1.2361773778788159, 0.0)),
    ("marcum_q", (1.0000000091786174 / 2, 0.0, 0.96701217460025435)),
    ("ball_score", (1.2309262283171469, 1.4208206695962742, 0.0)),
    ("ncx2_logsf", (3.530271722238822, 1.1950867474188702, 0.0)),
]


@pytest.mark.parametrize(("name", "args"), LOW_DF)
def test_tails_of_one_to_four_degrees_of_freedom_keep_their_bound(name, args):
    truth = None
    if name == "marcum_q":
        with mp.workdps(30):
            m, half = mp.mpf(args[0]), mp.mpf(args[2]) ** 2 / 2
            truth = mp.gammainc(m, half, regularized=True)
    assert ratio(name, args, truth) <= 0.75
