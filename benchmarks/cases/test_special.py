"""Log tail and offset beside scipy.stats.ncx2, one thread, in one run.

    pytest benchmarks/cases/test_special.py --benchmark-enable -s

The limits are those of a processor with AVX2, in processor time.
"""

from time import process_time

import numpy as np
import pytest
from scipy.special import chndtr
from scipy.stats import ncx2, norm

from rsbounds import confidence, gaussian, lipschitz, renyi, semielastic, special

LOG_TAIL = {784: 0.6, 3072: 0.6, 150528: 0.25}  # microseconds


DIMENSIONS = (784, 3072, 150528)
NONCENTRALITIES = (0.0, 1e3, 1e6, 1e9, 1e12, 1e16)


def quantiles(dim, nc):
    return special.ncx2_isf_exp(np.linspace(-3.0, -2.0, 2000), dim, nc)


@pytest.mark.benchmark(group="log tail, arrays of 2,000")
@pytest.mark.parametrize("nc", NONCENTRALITIES)
@pytest.mark.parametrize("dim", DIMENSIONS)
def test_log_tail(benchmark, dim, nc):
    x = quantiles(dim, nc)
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


def microseconds(function, *args, size=2000):
    """Processor time of one value, the least of seven calls."""
    taken = []
    for _ in range(7):
        start = process_time()
        function(*args)
        taken.append(process_time() - start)
    return min(taken) / size * 1e6


@pytest.mark.parametrize("name", SCALAR_LIMIT)
def test_limits_of_scalar_calls(name, request):
    if request.config.getoption("benchmark_disable"):
        return
    taken = microseconds(lambda: [SCALAR[name]() for _ in range(500)], size=500)
    print(f"{name}: {taken:.2f} us")
    assert taken <= SCALAR_LIMIT[name]


def test_limits(request):
    if request.config.getoption("benchmark_disable"):
        return
    tails = []
    for dim in DIMENSIONS:
        for nc in NONCENTRALITIES:
            x = quantiles(dim, nc)
            tails.append(microseconds(special.ncx2_logsf, x, dim, nc))
            scores = np.linspace(1.0, 3.0, 2000)
            offset = microseconds(special.ball_offset, scores, dim, np.sqrt(nc))
            print(
                f"d = {dim}, nc = {nc:g}: log tail {tails[-1]:.3f}, offset "
                f"{offset:.3f} us"
            )
            assert tails[-1] <= LOG_TAIL[dim]
            assert offset <= 2.5 * tails[-1]
            if nc == 1e6:
                assert microseconds(ncx2.sf, x, dim, nc) >= 60 * tails[-1]
    assert max(tails) <= 4 * min(tails)
