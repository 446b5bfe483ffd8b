"""Log tail and offset beside scipy.stats.ncx2, one thread, in one run.

    pytest benchmarks/cases/test_special.py --benchmark-enable -s

The limits are those of a processor with AVX2, in processor time.
"""

import numpy as np
import pytest
from scipy.special import chndtr
from scipy.stats import ncx2, norm

from rsbounds import bench, gaussian, semielastic, special

LOG_TAIL = {784: 0.6, 3072: 0.6, 150528: 0.25}  # microseconds


@pytest.fixture(scope="module")
def rows():
    return bench.table(scipy_limit=1e6)


@pytest.mark.benchmark(group="log tail, arrays of 2,000")
@pytest.mark.parametrize("nc", bench.NONCENTRALITIES)
@pytest.mark.parametrize("dim", bench.DIMENSIONS)
def test_log_tail(benchmark, dim, nc):
    x = special.ncx2_isf_exp(np.linspace(-3.0, -2.0, 2000), dim, nc)
    assert np.all(np.isfinite(benchmark(special.ncx2_logsf, x, dim, nc)))


SCALAR = {
    "scipy.stats.norm.ppf": lambda: norm.ppf(0.99),
    "scipy.stats.ncx2.sf": lambda: ncx2.sf(900.0, 784, 100.0),
    "scipy.special.chndtr, the lower tail alone": lambda: chndtr(900.0, 784, 100.0),
    "rsbounds.special.ncx2_sf": lambda: special.ncx2_sf(900.0, 784, 100.0),
    "rsbounds.gaussian.radius": lambda: gaussian.radius(0.99, 0.25),
    "rsbounds.semielastic.radius": lambda: semielastic.radius(0.99, 0.25, 0.01, 784),
}


@pytest.mark.benchmark(group="one scalar call from Python")
@pytest.mark.parametrize("name", SCALAR)
def test_scalar_call(benchmark, name):
    assert benchmark(SCALAR[name]) > 0


def test_limits(rows, request):
    if request.config.getoption("benchmark_disable"):
        return
    for row in rows:
        print(row)
        assert row.log_tail <= LOG_TAIL[row.dim]
        assert row.offset <= 2.5 * row.log_tail
        assert row.nc != 1e6 or row.scipy >= 60 * row.log_tail
    tails = [row.log_tail for row in rows]
    assert max(tails) <= 4 * min(tails)
