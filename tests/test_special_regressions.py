"""Failures that were found once, each with the inputs that showed it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from rsbounds import oracle, special

Args = tuple[float, float, float]


def assert_within_bound(name: str, args: Args) -> None:
    value = getattr(special, name)(*args)
    truth = getattr(oracle, name)(*args, dps=25)
    with mp.workdps(40):
        error = abs(float(mp.mpf(float(value)) - truth))
    assert error <= special.error_bound(name, value, df=args[1]), (
        f"{value}, not {mp.nstr(truth, 20)}"
    )


def assert_score_to(limit: float, args: Args) -> None:
    """Far out a score of the right log p has a relative error of few 1e-16."""
    truth = oracle.ball_score(*args, dps=25)
    with mp.workdps(40):
        error = abs(float((mp.mpf(float(special.ball_score(*args))) - truth) / truth))
    assert error <= limit


@pytest.mark.parametrize(
    "args",
    [
        (51.49524618866799, 5410.690331736461, 0.0014949217209038934),
        (15.399395788591654, 619.8042488474514, 1.8462968132536581),
        (249.6239181416019, 179815.0, 45.19765483938191),
    ],
)
def test_lower_tail_with_the_saddle_between_a_half_and_one(args: Args) -> None:
    """Below x = dim/2 the exponent lost 20 ulp: log p was off by 1.2e-12 at p = 1e-240."""
    assert_score_to(4e-16, args)
    u, dim, s = args
    rho = s + u
    assert_within_bound("ncx2_logcdf", (rho * rho, dim, s * s))


def test_rounding_of_s_squared_in_a_deep_lower_tail() -> None:
    """nc = s^2 was rounded before use; where 1 + tau is small that is magnified by its inverse."""
    assert_score_to(4e-16, (-32.360995952507366, 1.0287520032807251, 33.417800721440784))


@pytest.mark.parametrize(
    ("z", "dim"),
    [(-701.2219891805514, 1.0428072637793144), (-442.16282552064126, 2.0), (-321.5, 3.0)],
)
def test_offset_of_a_ball_that_underflows(z: float, dim: float) -> None:
    """The radius is below every double: 0, where the offset was NaN."""
    assert special.ball_offset(z, dim, 0.0) == 0
    assert special.ncx2_ppf_exp(special.log_ndtr(z), dim, 0.0) == 0


def test_quantile_that_is_subnormal() -> None:
    """Was 9.4e-323 through the square of an underflowed root."""
    args = (-32.510682567789004, 1.4360914899322286, 0.002584224994636069)
    z, df, nc = args
    log_p = special.log_ndtr(z)
    truth = oracle.ncx2_ppf_exp(float(log_p), df, nc, dps=20)
    # one spacing, and the score's own error: d log x = 2/df d log p
    limit = 5e-324 + float(truth) * 2 / df * special.error_bound("ncx2_logcdf", log_p, df=df)
    assert abs(special.ncx2_ppf_exp(log_p, df, nc) - float(truth)) <= limit + 5e-324


@pytest.mark.parametrize("z", [-3.0, 0.5, 35.217414892710124])
@pytest.mark.parametrize(("df", "nc"), [(1e7, 6.755069434608544e16), (24.0, 2.7224903111824244e16)])
def test_quantile_beside_a_large_nc(z: float, df: float, nc: float) -> None:
    """x is the rounding of nc + (df + D), not 6 ulp from it."""
    log_p = special.log_ndtr(z)
    x = special.ncx2_ppf_exp(log_p, df, nc)
    truth = oracle.ncx2_ppf_exp(float(log_p), df, nc, dps=30)
    with mp.workdps(40):
        assert abs(float(mp.mpf(float(x)) - truth)) <= 1.01 * np.spacing(x)


@pytest.mark.parametrize(
    "args",
    [
        (1.7527448805052717e-58**2, 2.0339714159587294, 5e-324),
        (1e-300, 2.0006546809384824, 0.3),
        (1e-305, 1.99, 40.0),
        (1e-310, 2.5, 0.0),
    ],
)
def test_density_near_zero_about_df_two(args: Args) -> None:
    """phi0 and log x nearly cancel there: the density was off by 9e-14."""
    assert_within_bound("ncx2_logpdf", args)


@pytest.mark.parametrize("dim", [2.0, 784.0])
def test_subnormal_radius(dim: float) -> None:
    """rho/sqrt(mu + c2) underflowed: -inf, or a score with three digits."""
    value = special.ball_score(5e-324, dim, 0.0)
    truth = oracle.ball_score(5e-324, dim, 0.0, dps=20)
    assert value == pytest.approx(float(truth), rel=4e-15)


def test_no_warning_at_the_ends_of_the_probabilities() -> None:
    """log(0) raised the divide-by-zero flag at p = 0 and 1, where the value is a limit."""
    functions: list[tuple[Any, tuple[float, ...]]] = [
        (special.ndtri, ()),
        (special.ncx2_ppf, (5, 2.0)),
        (special.ncx2_isf, (5, 2.0)),
    ]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for function, rest in functions:
            assert np.isinf(function(0.0, *rest)) or function(0.0, *rest) == 0
            assert np.isinf(function(1.0, *rest)) or function(1.0, *rest) == 0
        assert special.ndtri_exp(0.0) == np.inf
        special.ncx2_pdf(1e5, 5, 2.0)  # underflows


def test_the_noncentrality_ends_where_the_documentation_says() -> None:
    """nc up to 1e120 was let through; above 1e60 nothing is tested."""
    assert special.ncx2_cdf(1e60, 3.0, 1e60) == pytest.approx(0.5)
    for call in (special.ncx2_cdf, special.ncx2_ppf):
        with pytest.raises(ValueError, match=r"^nc must be in \[0, 1e\+60\]"):
            call(0.5, 3.0, 1.1e60)


@pytest.mark.parametrize("exponent", [*np.linspace(14, 18, 25), 25.0, 60.0, 119.0, 121.0, 250.0])
@pytest.mark.parametrize("df", [1.0, 16.25, 784.0, 1e7])
def test_quantiles_in_the_farthest_tails(exponent: float, df: float) -> None:
    """The Newton slope lost its digits: 13 to 25 % wrong at some log p below -1e16; from
    -1e120 on the median was returned."""
    log_p = -(10.0**exponent)
    x = special.ncx2_isf_exp(log_p, df, 0.0)
    assert special.ncx2_logsf(x, df, 0.0) == pytest.approx(log_p, rel=1e-15)


def test_offsets_of_the_largest_scores() -> None:
    """The offset of the median came back for scores beyond 1e80."""
    for dim in (1.0, 784.0):
        for s in (0.0, 3.0, 1e50, 1e70):
            for z in (1e61, 1e80, 1e200):
                assert special.ball_offset(z, dim, s) == z
                assert special.ball_offset(-z, dim, s) == max(-z, -s)


@pytest.mark.parametrize(
    "args",
    [
        (561.81052446796127, 26.877240462779582, 2562.9138639464954),
        (23.401405439348565, 1.0004257834191232, 530.36111670049695),
    ],
)
def test_density_where_the_saddle_rounds(args: Args) -> None:
    """1.13 and 1.07 times the bound: it took (1 + tau)/density at the double, not at the saddle."""
    assert_within_bound("ncx2_pdf", args)
