"""The page comparing noncentral chi-squares: losses are found, NaN is no win, R gets doubles."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rsbounds import special

PAGES = Path(__file__).parent.parent / "benchmarks" / "pages"


@pytest.fixture(scope="module")
def compared() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PAGES)
        yield importlib.import_module("ncx2_compared")


def test_points_where_a_peer_is_nearer_are_told(compared: Any) -> None:
    points = [compared.Point(4.0, nc, 1e-3, True, 20.0) for nc in (0.5, 4.0, 100.0)]
    errors = {
        "rsbounds": np.array([1e-16, 3e-15, 2e-16]),
        "SciPy": np.array([np.nan, 1e-15, 1e-17]),
    }
    text = compared.losses({"tail": errors}, points)
    assert "SciPy's tail at 2 of 3 points" in text
    assert "wrong by 3e-15 at most (df = 4, nc = 4, upper tail 0.001)" in text
    row = compared.summary({"tail": errors})[3]
    assert row == "| tail | SciPy | 1 | 0 | 0 | 5e-16 | 1e-15 | 2 |"


def test_errors_are_measured_at_the_truth(compared: Any) -> None:
    point = compared.Point(3.0, 4.0, 0.05, True, float(special.ncx2_isf(0.05, 3, 4.0)))
    assert compared.quantile_error(point.x, point) < 1e-15
    assert compared.quantile_error(point.x * (1 + 1e-9), point) == pytest.approx(1e-9, rel=1e-5)
    assert compared.quantile_error(np.inf, point) == 1
    assert np.isnan(compared.quantile_error(np.nan, point))


def test_numbers_from_r_are_exact(compared: Any) -> None:
    assert compared.from_r((0.1).hex()) == 0.1
    assert compared.from_r("Inf") == np.inf


def test_boost_is_asked_for_the_same_doubles(compared: Any, tmp_path: Path) -> None:
    ask = compared.boost(tmp_path)
    if ask is None:
        pytest.skip("no compiler that finds Boost.Math")
    point = compared.Point(3.0, 4.0, 0.05, True, float(special.ncx2_isf(0.05, 3, 4.0)))
    x, p, df, nc, up = (float(column[0]) for column in compared.columns([point]))
    tail, density, quantile = ask("values", [(x, p, df, nc, up)])[0]
    assert tail == pytest.approx(0.05, rel=1e-12)
    assert density == pytest.approx(float(special.ncx2_pdf(x, df, nc)), rel=1e-12)
    assert quantile == pytest.approx(x, rel=1e-12)
    assert (ask("times", [(1.0, 9.0, df, nc)]) > 0).all()
