"""Tails, scores and quantiles to their last bits, where closed forms or the oracle say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp

from rsbounds import oracle, special

TAIL = 4e-16  # relative error of a tail: 2 ulp


def relative(value: Any, truth: Any) -> float:
    with mp.workdps(40):
        return abs(float(mp.mpf(float(value)) / truth - 1))


def test_two_dimensions_are_exponential() -> None:
    """sf(x, 2, 0) = e^(-x/2), from 1 to 1e-300."""
    x = np.concatenate([np.geomspace(1e-6, 1, 100), np.linspace(1, 1380, 700)])
    with mp.workdps(40):
        for v in x:
            truth = mp.exp(-mp.mpf(float(v)) / 2)
            assert relative(special.ncx2_sf(v, 2, 0), truth) <= TAIL
            assert relative(special.ncx2_cdf(v, 2, 0), 1 - truth) <= TAIL


def test_one_dimension_is_normal() -> None:
    """sf(x, 1, 0) = erfc(sqrt(x/2))."""
    with mp.workdps(40):
        for v in np.geomspace(1e-3, 1370, 300):
            truth = mp.erfc(mp.sqrt(mp.mpf(float(v)) / 2))
            assert relative(special.ncx2_sf(v, 1, 0), truth) <= TAIL


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
def test_worst_points_of_a_search(args: tuple[float, float, float]) -> None:
    for name in ("cdf", "sf"):
        truth = getattr(oracle, f"ncx2_{name}")(*args, dps=25)
        assert relative(getattr(special, f"ncx2_{name}")(*args), truth) <= TAIL
        log = getattr(oracle, f"ncx2_log{name}")(*args, dps=25)
        value = getattr(special, f"ncx2_log{name}")(*args)
        with mp.workdps(40):
            error = abs(float(mp.mpf(float(value)) - log))
        assert error <= 3.2e-16 * max(1, abs(value))  # seen 3.0e-16


@pytest.mark.parametrize("dim", [1.0, 3.5, 784.0, 150528.0, 1e7])
@pytest.mark.parametrize("s", [0.0, 0.3, 30.0, 1e5])
def test_scores_to_half_a_unit_from_four_on(dim: float, s: float) -> None:
    for z in (-37.0, -12.3, -4.5, 4.5, 9.1, 33.0):
        u = float(special.ball_offset(z, dim, s))
        if s + u < 1e-100:
            continue
        value = special.ball_score(u, dim, s)
        truth = oracle.ball_score(u, dim, s, dps=22 + int(np.log10(1 + s)))
        with mp.workdps(40):
            error = abs(float(mp.mpf(float(value)) - truth))
        assert error <= 0.7 * np.spacing(abs(value))  # seen 0.66


@pytest.mark.parametrize("dim", [1.5, 784.0, 150528.0])
@pytest.mark.parametrize("s", [0.0, 2.0, 1e4])
def test_offsets_to_a_unit(dim: float, s: float) -> None:
    """Where the score is at least 1: nearer to 0 its absolute error decides."""
    for z in (-20.0, -3.0, -1.1, 1.2, 3.4, 36.0):
        truth = oracle.ball_offset(z, dim, s, dps=30)
        value = special.ball_offset(z, dim, s)
        unit = max(np.spacing(abs(value)), np.spacing(abs(z)))
        with mp.workdps(40):
            assert abs(float(mp.mpf(float(value)) - truth)) <= 1.1 * unit  # seen 1.02
