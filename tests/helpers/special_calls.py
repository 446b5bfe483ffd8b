"""What tests need to know of each function of rsbounds.special."""

from collections.abc import Callable
from typing import NamedTuple

import mpmath as mp
import numpy as np

from rsbounds import oracle

INF = np.inf

Point = tuple[float, ...]


class Call(NamedTuple):
    """What the tests below need to know of a function: the one entry for each."""

    inside: Point
    limits: list[tuple[Point, float]]
    truth: Callable[..., mp.mpf] | None = None  # by default the oracle's of that name


CALLS = {
    "ndtr": Call(
        inside=(-1.5,),
        limits=[((-INF,), 0.0), ((INF,), 1.0), ((0.0,), 0.5), ((40.0,), 1.0)],
    ),
    "log_ndtr": Call(
        inside=(-1.5,),
        limits=[((-INF,), -INF), ((INF,), 0.0)],
    ),
    "ndtri": Call(
        inside=(0.2,),
        limits=[((0.0,), -INF), ((1.0,), INF), ((0.5,), 0.0)],
    ),
    "ndtri_exp": Call(
        inside=(-1.5,),
        limits=[((-INF,), -INF), ((0.0,), INF), ((-0.0,), INF)],
    ),
    "log_ndtr_gap": Call(
        inside=(1.5, 0.2),
        limits=[
            ((0.5, 0.5), -INF),
            ((-1.0, 1.0), -INF),
            ((INF, -INF), 0.0),
            ((INF, INF), -INF),
            ((-INF, -INF), -INF),
            ((INF, 0.0), float(np.log(0.5))),
            ((0.0, -INF), float(np.log(0.5))),
            ((-1e200, -2e200), -INF),
        ],
        truth=lambda a, b: mp.log(mp.ncdf(a) - mp.ncdf(b)),
    ),
    "ball_score": Call(
        inside=(1.5, 784.0, 20.0),
        limits=[
            *(((u, 5, 2.0), -INF) for u in (-2.0, -2.5, -INF)),
            ((0.0, 5, 0.0), -INF),
            ((INF, 5, 2.0), INF),
            ((-3.5, 5, INF), -3.5),
            ((-INF, 5, INF), -INF),
        ],
    ),
    "ball_offset": Call(
        inside=(-1.5, 784.0, 20.0),
        limits=[
            ((-INF, 5, 2.0), -2.0),
            ((INF, 5, 2.0), INF),
            ((-3.5, 5, INF), -3.5),
        ],
    ),
    "ncx2_cdf": Call(
        inside=(800.0, 784.0, 20.0),
        limits=[((0.0, 5, 2.0), 0.0), ((INF, 5, 2.0), 1.0), ((1e60, 3, 1e60), 0.5)],
    ),
    "ncx2_sf": Call(
        inside=(800.0, 784.0, 20.0),
        limits=[((0.0, 5, 2.0), 1.0), ((INF, 5, 2.0), 0.0)],
    ),
    "ncx2_logcdf": Call(
        inside=(800.0, 784.0, 20.0),
        limits=[((0.0, 5, 2.0), -INF), ((INF, 5, 2.0), 0.0)],
    ),
    "ncx2_logsf": Call(
        inside=(800.0, 784.0, 20.0),
        limits=[((0.0, 5, 2.0), 0.0), ((INF, 5, 2.0), -INF)],
    ),
    "ncx2_pdf": Call(
        inside=(800.0, 784.0, 20.0),
        limits=[
            ((INF, 5, 2.0), 0.0),
            ((0.0, 1.5, 2.0), INF),
            ((0.0, 2, 0.0), 0.5),
            ((0.0, 3, 2.0), 0.0),
        ],
    ),
    "ncx2_logpdf": Call(
        inside=(800.0, 784.0, 20.0),
        limits=[((INF, 5, 2.0), -INF), ((0.0, 2, 3.0), -np.log(2) - 1.5)],
    ),
    "ncx2_ppf": Call(
        inside=(0.2, 784.0, 20.0),
        limits=[((0.0, 5, 2.0), 0.0), ((1.0, 5, 2.0), INF)],
    ),
    "ncx2_isf": Call(
        inside=(0.2, 784.0, 20.0),
        limits=[((0.0, 5, 2.0), INF), ((1.0, 5, 2.0), 0.0)],
    ),
    "ncx2_ppf_exp": Call(
        inside=(-1.5, 784.0, 20.0),
        limits=[((-INF, 5, 2.0), 0.0), ((0.0, 5, 2.0), INF)],
    ),
    "ncx2_isf_exp": Call(
        inside=(-1.5, 784.0, 20.0),
        limits=[((-INF, 5, 2.0), INF), ((0.0, 5, 2.0), 0.0)],
    ),
    "marcum_q": Call(
        inside=(392.0, 4.0, 28.5),
        limits=[((2.0, 3.0, 0.0), 1.0), ((2.0, 3.0, INF), 0.0)],
        truth=lambda m, a, b: oracle.ncx2_sf(b**2, 2 * m, a**2),
    ),
    "marcum_p": Call(
        inside=(392.0, 4.0, 28.5),
        limits=[((2.0, 3.0, 0.0), 0.0), ((2.0, 3.0, INF), 1.0)],
        truth=lambda m, a, b: oracle.ncx2_cdf(b**2, 2 * m, a**2),
    ),
    "marcum_logq": Call(
        inside=(392.0, 4.0, 28.5),
        limits=[
            ((2.0, 3.0, 0.0), 0.0),
            ((2.0, 3.0, INF), -INF),
            ((2.0, 3.0, 1e100), -5e199),
        ],
        truth=lambda m, a, b: oracle.ncx2_logsf(b**2, 2 * m, a**2),
    ),
    "marcum_logp": Call(
        inside=(392.0, 4.0, 28.5),
        limits=[((2.0, 3.0, 0.0), -INF), ((2.0, 3.0, INF), 0.0)],
        truth=lambda m, a, b: oracle.ncx2_logcdf(b**2, 2 * m, a**2),
    ),
    "marcum_q_inv": Call(
        inside=(0.2, 392.0, 4.0),
        limits=[((0.0, 2.0, 3.0), INF), ((1.0, 2.0, 3.0), 0.0)],
        truth=lambda q, m, a: mp.sqrt(oracle.ncx2_isf(q, 2 * m, a**2)),
    ),
    "marcum_p_inv": Call(
        inside=(0.2, 392.0, 4.0),
        limits=[((0.0, 2.0, 3.0), 0.0), ((1.0, 2.0, 3.0), INF)],
        truth=lambda p, m, a: mp.sqrt(oracle.ncx2_ppf(p, 2 * m, a**2)),
    ),
    "ncx2_nc": Call(
        inside=(0.2, 900.0, 784.0),
        limits=[((0.0, 5.0, 2.0), INF), ((0.0, INF, 2.0), INF), ((0.3, INF, 2.0), INF)],
    ),
    "ncx2_nc_sf": Call(
        inside=(0.8, 900.0, 784.0),
        limits=[((1.0, 5.0, 2.0), INF)],
    ),
    "ncx2_nc_exp": Call(
        inside=(-1.5, 900.0, 784.0),
        limits=[((-INF, 5.0, 2.0), INF)],
    ),
    "ncx2_nc_sf_exp": Call(
        inside=(-0.5, 900.0, 784.0),
        limits=[((0.0, 5.0, 2.0), INF)],
    ),
    "ncx2_df": Call(
        inside=(0.2, 900.0, 20.0),
        limits=[((0.0, 5.0, 2.0), INF), ((1.0, 5.0, 0.0), 0.0)],
    ),
    "ncx2_df_sf": Call(
        inside=(0.8, 900.0, 20.0),
        limits=[((1.0, 5.0, 2.0), INF), ((0.0, 5.0, 0.0), 0.0)],
    ),
    "ncx2_df_exp": Call(
        inside=(-1.5, 900.0, 20.0),
        limits=[((-INF, 5.0, 2.0), INF), ((0.0, 5.0, 0.0), 0.0)],
    ),
    "ncx2_df_sf_exp": Call(
        inside=(-0.5, 900.0, 20.0),
        limits=[((0.0, 5.0, 2.0), INF), ((-INF, 5.0, 0.0), 0.0)],
    ),
    "marcum_q_inv_a": Call(
        inside=(0.8, 392.0, 30.0),
        limits=[((1.0, 2.0, 3.0), INF)],
        truth=lambda q, m, b: mp.sqrt(oracle.ncx2_nc_sf(q, b**2, 2 * m)),
    ),
    "marcum_p_inv_a": Call(
        inside=(0.2, 392.0, 30.0),
        limits=[((0.0, 2.0, 3.0), INF)],
        truth=lambda p, m, b: mp.sqrt(oracle.ncx2_nc(p, b**2, 2 * m)),
    ),
}

NAMES = sorted(CALLS)
#: Inverses in a parameter, which have no value where no law has that probability.
IN_A_PARAMETER = {
    name
    for name in NAMES
    if name.startswith(("ncx2_nc", "ncx2_df")) or name.endswith("_inv_a")
}

INSIDE = {name: call.inside for name, call in CALLS.items()}
