"""Timings of the special functions beside SciPy's, in one run."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.threads import cores
from rsbounds.certify._machine import processor
from rsbounds.special import ball_offset, ncx2_isf_exp, ncx2_logsf

DIMENSIONS = (784, 3072, 150528)
NONCENTRALITIES = (0.0, 1e3, 1e6, 1e9, 1e12, 1e16)


class Timing(NamedTuple):
    """Processor time of one value in microseconds; NaN where SciPy was not asked."""

    dim: int
    nc: float
    log_tail: float
    offset: float
    scipy: float


def table(scipy_limit: float = 1e9) -> list[Timing]:
    """The log tail and the offset of a ball, and SciPy's tail, over the grid, in arrays of 2,000.

    Parameters
    ----------
    scipy_limit : float
        Largest noncentrality given to SciPy; beyond 1e6 it is given 30 values, so slow is it.

    Returns
    -------
    list of Timing

    Examples
    --------
    >>> from rsbounds.bench import table
    >>> len(table(scipy_limit=-1.0))
    18
    """
    from scipy.stats import ncx2

    rows = []
    scores = np.linspace(1.0, 3.0, 2000)
    for dim in DIMENSIONS:
        for nc in NONCENTRALITIES:
            x = np.asarray(ncx2_isf_exp(np.linspace(-3.0, -2.0, 2000), dim, nc))
            log_tail = _time(ncx2_logsf, x, dim, nc)
            offset = _time(ball_offset, scores, dim, np.sqrt(nc))
            same = x if nc <= 1e6 else x[:30]  # beyond, a call's overhead is nothing beside it
            peer = _time(ncx2.sf, same, dim, nc) if nc <= scipy_limit else np.nan
            rows.append(Timing(dim, nc, log_tail, offset, peer))
    return rows


def machine(*packages: str) -> str:
    """Processor, cores in use, Python, NumPy, SciPy and those of ``packages`` installed, in a line.

    Examples
    --------
    >>> from rsbounds.bench import machine
    >>> print(machine("numba"))  # doctest: +SKIP
    AMD EPYC (2 cores), Python 3.11.7, NumPy 2.4.6, SciPy 1.17.1, numba 0.68.1
    """
    import scipy

    parts = [f"{processor()} ({cores()} cores)", f"Python {platform.python_version()}"]
    parts += [f"NumPy {np.__version__}", f"SciPy {scipy.__version__}"]
    for package in packages:
        with suppress(PackageNotFoundError):
            parts.append(f"{package} {version(package)}")
    return ", ".join(parts)


def _time(function: Callable[..., Any], x: Any, *args: Any) -> float:
    best = np.inf
    for _ in range(7):
        start = process_time()
        function(x, *args)
        best = min(best, process_time() - start)
    return float(best / x.size * 1e6)
