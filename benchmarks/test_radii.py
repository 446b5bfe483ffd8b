"""Batches of semi-elastic radii beside scipy.stats.ncx2 with a root search, in one run.

Ratios and limits are in processor time (all threads added up), which other work on the machine
disturbs less than the wall time of pytest-benchmark's table.

    pytest benchmarks/test_radii.py --benchmark-enable -s
"""

from time import process_time

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import ncx2

from rsbounds import semielastic
from rsbounds._parallel import cores

SIGMA, RATE, COUNT = 0.25, 0.01, 20_000
LIMIT = {784: 8.0, 3072: 8.0, 150528: 5.0}  # microseconds a radius and core


def scipy_radius(p_a, dim):
    """The same certificate, both sides, by SciPy's quantiles and distribution functions."""

    def excess(distance):
        worst = -np.inf
        for sigma1 in (SIGMA * np.exp(-RATE * distance), SIGMA * np.exp(RATE * distance)):
            difference = abs(SIGMA**2 - sigma1**2)
            nc0 = (distance * SIGMA / difference) ** 2
            nc1 = nc0 * (sigma1 / SIGMA) ** 2
            p = 1 - p_a if sigma1 < SIGMA else p_a
            x = ncx2.ppf(p, dim, nc0) * (SIGMA / sigma1) ** 2
            inside = ncx2.cdf(x, dim, nc1)
            worst = max(worst, inside if sigma1 < SIGMA else 1 - inside)
        return worst - 0.5

    return brentq(excess, 1e-3, 1.5)


@pytest.mark.benchmark(group="semi-elastic radii, arrays of 20,000")
@pytest.mark.parametrize("dim", [784, 3072, 150528])
def test_semielastic_batch(benchmark, dim):
    p_a = np.random.default_rng(0).uniform(0.7, 0.9999, COUNT)
    ours = benchmark.pedantic(
        semielastic.radius, (p_a, SIGMA, RATE, dim), rounds=5, iterations=1, warmup_rounds=1
    )
    peer = []
    for p in p_a[:3]:
        start = process_time()
        radius = scipy_radius(p, dim)
        peer.append((radius, process_time() - start))
    # SciPy's 1e-8 in the tails is the larger error here
    np.testing.assert_allclose([r for r, _ in peer], ours[:3], rtol=1e-6)
    if benchmark.disabled:
        return
    times = []
    for _ in range(5):
        start = process_time()
        semielastic.radius(p_a, SIGMA, RATE, dim)
        times.append(process_time() - start)
    mine = min(times) / COUNT * 1e6
    wall = benchmark.stats.stats.min / COUNT * 1e6
    ratio = float(np.median([t for _, t in peer])) * 1e6 / mine
    benchmark.extra_info |= {"scipy_over_rsbounds": ratio, "us_a_radius_and_core": mine}
    print(
        f"\nd = {dim}: {ratio:.0f} x SciPy, {mine:.2f} us a radius and core, "
        f"{wall:.2f} us wall on {cores()} cores"
    )
    assert ratio > 500
    assert mine < LIMIT[dim]
