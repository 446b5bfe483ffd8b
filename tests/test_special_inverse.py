"""Noncentral chi-square tails solved for nc and for df: back to the tail, ends, no solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rsbounds import oracle, special

RNG = np.random.default_rng(21)
FUNCTIONS = [(tail, of) for tail in ("cdf", "sf") for of in ("nc", "df")]


def solve(tail: str, of: str, x: Any, df: Any, nc: Any, p: Any) -> Any:
    function = getattr(special, f"ncx2_{tail}_inv_{of}")
    return function(x, df, p) if of == "nc" else function(x, p, nc)


def score(x: float, df: float, nc: float) -> Any:
    tails = oracle.ncx2_tails(x, df, nc, dps=30)
    return oracle.score(tails.log_lower, tails.log_upper, dps=25)


@pytest.mark.parametrize(("tail", "of"), FUNCTIONS)
def test_the_tail_at_the_result_is_p(tail: str, of: str) -> None:
    """To the bound of the score, or to half a unit in the last place of the result."""
    for _ in range(25):
        df, nc = 10 ** RNG.uniform(0, 8), 10 ** RNG.uniform(-5, 15)
        z = RNG.normal() * RNG.choice([1, 5, 30])
        x = float(special.ncx2_ppf_exp(special.log_ndtr(z), df, nc))
        p = float(getattr(special, f"ncx2_{tail}")(x, df, nc))
        if not 1e-300 < p < 0.99:  # near 1, p has not the digits to tell nc or df
            continue
        result = float(solve(tail, of, x, df, nc, p))
        at = (df, result) if of == "nc" else (result, nc)
        wanted = oracle.ndtri(p, dps=30) * (1 if tail == "cdf" else -1)
        error = abs(float(score(x, *at) - wanted))
        limit = special.error_bound(f"ncx2_{tail}_inv_{of}", float(wanted))
        shifted = [list(at), list(at)]
        for pair, end in zip(shifted, (0, np.inf), strict=True):
            pair[of == "nc"] = float(np.nextafter(result, end))
        spacing = abs(float(score(x, *shifted[0]) - score(x, *shifted[1]))) / 2
        assert error <= limit + spacing, (x, df, nc, p)


@pytest.mark.parametrize(("tail", "of"), FUNCTIONS)
def test_there_and_back(tail: str, of: str) -> None:
    df = 10 ** RNG.uniform(0, 6, 400)
    nc = df * 10 ** RNG.uniform(-2, 3, 400)
    x = special.ncx2_ppf(RNG.uniform(0.01, 0.99, 400), df, nc)
    p = getattr(special, f"ncx2_{tail}")(x, df, nc)
    result, truth = solve(tail, of, x, df, nc, p), nc if of == "nc" else df
    spread = np.sqrt(2 * df + 4 * nc)  # one score moves nc or df by about this
    np.testing.assert_array_less(np.abs(result - truth), 5e-14 * spread + 4 * np.spacing(truth))


def test_power_of_a_test_agrees_with_tables() -> None:
    """Noncentrality for power 0.8 and 0.9 at level 0.05 with one degree: (1.96 + z)^2."""
    critical = float(special.ncx2_isf(0.05, 1, 0.0))
    for power, z in ((0.8, 0.8416212335729143), (0.9, 1.2815515655446004)):
        nc = special.ncx2_sf_inv_nc(critical, 1, power)
        # the other tail of the normal adds 1e-6 to the power at most
        assert nc == pytest.approx((1.959963984540054 + z) ** 2, abs=1e-4)
        assert special.ncx2_sf(critical, 1, nc) == pytest.approx(power, rel=1e-14)


@pytest.mark.parametrize("df", [1.0, 2.5, 784.0])
@pytest.mark.parametrize("p", [1e-90, 1e-8, 0.3, 0.999])
def test_ends_of_nc(df: float, p: float) -> None:
    """nc = 0 for the central tail to within rounding; NaN with the flag for a larger one."""
    x = float(special.ncx2_ppf(p, df, 0.0))
    lower, upper = special.ncx2_cdf(x, df, 0.0), special.ncx2_sf(x, df, 0.0)
    assert 0 <= special.ncx2_cdf_inv_nc(x, df, lower) <= 1e-12 * (df + x)
    if upper < 1:  # 1 would be nc = inf; 1 - 1e-8 has half the digits
        assert 0 <= special.ncx2_sf_inv_nc(x, df, upper) <= 1e-7 * (df + x)
    with np.errstate(invalid="ignore"):
        assert np.isnan(special.ncx2_cdf_inv_nc(x, df, min(1.0, lower * 1.001)))
        assert np.isnan(special.ncx2_sf_inv_nc(x, df, upper * 0.999))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        special.ncx2_sf_inv_nc(x, df, upper * 0.999)


def test_ends_of_df() -> None:
    for nc, x in ((0.0, 3.0), (7.0, 2.0)):
        assert special.ncx2_cdf_inv_df(x, special.ncx2_cdf(x, 1.0, nc), nc) == pytest.approx(1.0)
        with np.errstate(invalid="ignore"):
            too_much = special.ncx2_cdf(x, 1e-300, nc) * 1.001
            if too_much <= 1:
                assert np.isnan(special.ncx2_cdf_inv_df(x, too_much, nc))
    at_most = special.ncx2_cdf(1e8, 1e8, 3.0)
    assert special.ncx2_cdf_inv_df(1e8, at_most, 3.0) == pytest.approx(1e8, rel=1e-15)
    with np.errstate(invalid="ignore"):
        assert np.isnan(special.ncx2_cdf_inv_df(1e8, 0.9 * at_most, 3.0))
        for x in (0.0, np.inf):
            assert np.isnan(special.ncx2_cdf_inv_nc(x, 3.0, 0.5))
            assert np.isnan(special.ncx2_cdf_inv_df(x, 0.5, 3.0))


@pytest.mark.parametrize("nc", [1e-300, 1e-20, 1e-6])
def test_a_small_noncentrality_stays_in_the_bracket(nc: float) -> None:
    p = special.ncx2_cdf(5.0, 3.0, nc)
    assert 0 <= special.ncx2_cdf_inv_nc(5.0, 3.0, p) <= nc + 1e-13
