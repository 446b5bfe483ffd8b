"""Accuracy of rsbounds.special against the reference tables, at the exact double inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rsbounds import special

TABLES = Path(__file__).parent / "tables"
Array = Any


def table(name: str) -> dict[str, Array]:
    with np.load(TABLES / f"{name}.npz") as data:
        return {key: data[key] for key in data.files}


def difference(value: Array, t: dict[str, Array], key: str) -> Array:
    """value - truth, to about 32 digits where the two are close; 0 at equal infinities."""
    high = t[f"{key}_hi"]
    finite = np.isfinite(high)
    np.testing.assert_array_equal(value[~finite], high[~finite])
    with np.errstate(invalid="ignore"):
        return np.where(finite, value - high - t[f"{key}_lo"], 0.0)


def rows(t: dict[str, Array], chosen: Array) -> dict[str, Array]:
    return {key: column[chosen] for key, column in t.items()}


def worst(ratio: Array, t: dict[str, Array], inputs: tuple[str, ...]) -> str:
    assert not np.isnan(ratio).any()
    i = int(np.argmax(ratio))
    return f"{ratio[i]:.3g} at {[float(t[k][i]) for k in inputs]}"


def assert_below(error: Array, limit: Array, t: dict[str, Array], *inputs: str) -> None:
    ratio = np.abs(error) / limit
    assert np.all(ratio <= 1), worst(ratio, t, inputs)


def test_the_tables_hold_thousands_of_points() -> None:
    assert sum(len(table(n)["dim"]) for n in ("ball", "offset")) >= 5000
    assert len(table("ncx2")["df"]) + len(table("normal")["z"]) >= 1900


# --- score ------------------------------------------------------------------------------


def test_score_error_is_within_its_bound() -> None:
    t = table("ball")
    score = special.ball_score(t["u"], t["dim"], t["s"])
    error = difference(score, t, "score")
    assert_below(error, special.error_bound("ball_score", score) + 5e-324, t, "u", "dim", "s")


def test_score_is_the_same_under_any_order_of_the_points() -> None:
    """Threads and vector lanes leave no trace: element by element gives the same bits."""
    t = table("ball")
    u, dim, s = (np.tile(t[k], 20) for k in ("u", "dim", "s"))
    whole = special.ball_score(u, dim, s)
    backwards = special.ball_score(u[::-1], dim[::-1], s[::-1])[::-1]
    single = [special.ball_score(*row) for row in zip(u[::997], dim[::997], s[::997], strict=True)]
    np.testing.assert_array_equal(whole, backwards)
    np.testing.assert_array_equal(whole[::997], single)


# --- tails and density --------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["logcdf", "logsf"])
def test_log_tails(tail: str) -> None:
    t = table("ncx2")
    log = getattr(special, f"ncx2_{tail}")(t["x"], t["df"], t["nc"])
    error, truth = difference(log, t, tail), t[f"{tail}_hi"]
    small = np.minimum(t["logcdf_hi"], t["logsf_hi"])
    relative = special.error_bound(f"ncx2_{tail}", small, df=t["df"])  # of the smaller tail itself
    # the larger one is log(1 - small), small <= 0.69: its error is that of small over 1 - small
    larger = np.exp(small) * (relative + 4e-16) / 0.31
    limit = np.where(truth == small, relative, larger) + 5e-324
    assert_below(error, limit, t, "x", "df", "nc")
    deep = truth < -700
    assert deep.sum() > 20
    assert_below(error[deep], 1e-14 * -truth[deep], rows(t, deep), "x", "df", "nc")


@pytest.mark.parametrize(("name", "log"), [("cdf", "logcdf"), ("sf", "logsf")])
def test_the_smaller_tail(name: str, log: str) -> None:
    t = table("ncx2")
    small = (t[f"{log}_hi"] <= -np.log(2)) & (t[f"{log}_hi"] > -690.7)  # p >= 1e-300
    t = rows(t, small)
    p = getattr(special, f"ncx2_{name}")(t["x"], t["df"], t["nc"])
    relative = relative_to_log(p, t, log)
    assert (t[f"{log}_hi"] < -230.2).sum() > 50  # p < 1e-100
    assert_below(
        relative * p, special.error_bound(f"ncx2_{name}", p, df=t["df"]), t, "x", "df", "nc"
    )
    assert_below(relative, np.full_like(p, 4e-16), t, "x", "df", "nc")  # seen 2.7e-16


def relative_to_log(value: Array, t: dict[str, Array], log: str) -> Array:
    """value/truth - 1; the logarithm of the value in extended precision."""
    high = t[f"{log}_hi"].astype(np.longdouble)
    logs = np.log(value.astype(np.longdouble))
    return np.expm1(logs - high - t[f"{log}_lo"]).astype(np.float64)


def test_density() -> None:
    t = table("ncx2")
    log = special.ncx2_logpdf(t["x"], t["df"], t["nc"])
    error = difference(log, t, "logpdf")
    assert_below(
        error, special.error_bound("ncx2_logpdf", log, df=t["df"]) + 5e-324, t, "x", "df", "nc"
    )
    normal = np.isfinite(log) & (log > -690.7)
    t = rows(t, normal)
    pdf = special.ncx2_pdf(t["x"], t["df"], t["nc"])
    relative = relative_to_log(pdf, t, "logpdf")
    assert_below(
        relative * pdf, special.error_bound("ncx2_pdf", pdf, df=t["df"]), t, "x", "df", "nc"
    )


# --- quantiles ----------------------------------------------------------------------------

ULPS = 2  # at most 1.4 seen


def quantile_holds(value: Array, t: dict[str, Array], key: str, z: Array, slope: Array) -> None:
    """Within ULPS of the truth or at a score within the bound of z; ``slope`` is d value/dz."""
    error = difference(value, t, key)
    score_error = special.error_bound("ball_offset", z)
    assert_below(error, ULPS * np.spacing(np.abs(value)) + slope * score_error, t, *t)


def score_slope(z: Array, x: Array, df: Array, nc: Array) -> Array:
    """dx/dz = phi(z)/density(x)."""
    return np.exp(-0.5 * z * z - special.ncx2_logpdf(x, df, nc)) / np.sqrt(2 * np.pi)


def test_offset() -> None:
    t = table("offset")
    z, dim, s = t["z"], t["dim"], t["s"]
    value = special.ball_offset(z, dim, s)
    x = (s + value) ** 2
    slope = score_slope(z, x, dim, s * s) / (2 * np.sqrt(x) + 1e-300)
    quantile_holds(value, t, "u", z, slope)


@pytest.mark.parametrize("tail", ["ppf", "isf"])
def test_quantiles_from_log_p(tail: str) -> None:
    t = table("quantile")
    log_p, df, nc = t["log_p"], t["df"], t["nc"]
    value = getattr(special, f"ncx2_{tail}_exp")(log_p, df, nc)
    z = special.ndtri_exp(log_p)
    slope = score_slope(z, value, df, nc)
    quantile_holds(value, t, tail, z, slope)


# --- normal -------------------------------------------------------------------------------


def test_log_ndtr() -> None:
    t = table("normal")
    value = special.log_ndtr(t["z"])
    normal = value < -1e-307  # a subnormal result has an absolute error only
    error = difference(value, t, "log_ndtr")
    truth = np.abs(t["log_ndtr_hi"])
    assert_below(error[normal], 1.3e-15 * truth[normal], {"z": t["z"][normal]}, "z")  # seen 1.2e-15
    assert np.all(np.abs(error[~normal]) <= 1e-320)


def test_ndtri_exp() -> None:
    t = table("normal")
    error = difference(special.ndtri_exp(t["log_p"]), t, "ndtri_exp")
    truth = np.abs(t["ndtri_exp_hi"])
    assert_below(error, 1.4e-15 * truth + 5e-324, t, "log_p")  # seen 1.3e-15
