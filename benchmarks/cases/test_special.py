"""Log tail and offset beside scipy.stats.ncx2, one thread, in one run.

    pytest benchmarks/cases/test_special.py --benchmark-enable -s

The limits are those of a processor with AVX2, in processor time.
"""

from time import process_time

import numpy as np
import pytest
from scipy.special import chndtr
from scipy.stats import ncx2, norm

from rsbounds import bench, confidence, gaussian, lipschitz, renyi, semielastic, special

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
    "rsbounds.lipschitz.radius": lambda: lipschitz.radius(
        0.99, 0.25, lip=0.01, sigma_min=0.1, dim=784
    ),
    "rsbounds.renyi.radius": lambda: renyi.radius(0.99, 0.5, 0.5, 784),
    "rsbounds.confidence.lower_bound": lambda: confidence.lower_bound(990, 1000, 0.001),
}
SCALAR_LIMIT = {  # microseconds of processor time
    "rsbounds.gaussian.radius": 6,
    "rsbounds.semielastic.radius": 10,
    "rsbounds.lipschitz.radius": 10,
    "rsbounds.renyi.radius": 40,
    "rsbounds.confidence.lower_bound": 15,
}


@pytest.mark.benchmark(group="one scalar call from Python")
@pytest.mark.parametrize("name", SCALAR)
def test_scalar_call(benchmark, name):
    assert benchmark(SCALAR[name]) > 0


@pytest.mark.parametrize("name", SCALAR_LIMIT)
def test_limits_of_scalar_calls(name, request):
    if request.config.getoption("benchmark_disable"):
        return
    taken = []
    for _ in range(20):
        start = process_time()
        for _ in range(500):
            SCALAR[name]()
        taken.append((process_time() - start) / 500 * 1e6)
    print(f"{name}: {min(taken):.2f} us")
    assert min(taken) <= SCALAR_LIMIT[name]


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
