"""Batches of semi-elastic radii beside scipy.stats.ncx2 with a root search, in one run.

The peers solve the same certificate by SciPy alone: in arrays (find_root of SciPy 1.15,
to the eleven digits that rsbounds promises), and one by one (brentq). All times are
processor time, all threads added up, which other work on the machine disturbs less than
wall time.

    pytest benchmarks/cases/test_radii.py --benchmark-enable -s
"""

from time import process_time

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import ncx2

from rsbounds import semielastic

SIGMA, RATE, COUNT = 0.25, 0.01, 20_000
ARRAY, SINGLE, ROUNDS = 400, 10, 3  # radii given to the peers
BRACKET = (1e-3, 1.5)
LIMIT = {784: 4.0, 3072: 4.0, 150528: 4.0}  # microseconds a radius and core


def excess(distance, p_a, dim):
    """By how much the worse side at this distance exceeds 1/2."""
    worst = -np.inf
    for below in (True, False):
        sigma1 = SIGMA * np.exp(-RATE * distance if below else RATE * distance)
        nc0 = (distance * SIGMA / (SIGMA**2 - sigma1**2)) ** 2
        nc1 = nc0 * (sigma1 / SIGMA) ** 2
        x = ncx2.ppf(1 - p_a if below else p_a, dim, nc0) * (SIGMA / sigma1) ** 2
        inside = ncx2.cdf(x, dim, nc1)
        worst = np.maximum(worst, inside if below else 1 - inside)
    return worst - 0.5


def in_arrays(p_a, dim):
    from scipy.optimize.elementwise import find_root

    found = find_root(excess, BRACKET, args=(p_a, dim), tolerances={"xrtol": 1e-11})
    assert np.all(found.success)
    return found.x


def one_by_one(p_a, dim):
    return [brentq(excess, *BRACKET, args=(p, dim)) for p in p_a]


def microseconds(radius, count, rounds):
    """Least processor time of a radius."""
    times = []
    for _ in range(rounds):
        start = process_time()
        radius()
        times.append(process_time() - start)
    return min(times) / count * 1e6


@pytest.mark.benchmark(group="semi-elastic radii, arrays of 20,000")
@pytest.mark.parametrize("dim", [784, 3072, 150528])
def test_semielastic_batch(benchmark, dim):
    pytest.importorskip("scipy.optimize.elementwise")
    p_a = np.random.default_rng(0).uniform(0.7, 0.9999, COUNT)
    ours = benchmark.pedantic(
        semielastic.radius,
        (p_a, SIGMA, RATE, dim),
        rounds=1,
        iterations=1,
        warmup_rounds=1,
    )
    peers = {
        "SciPy in arrays": (in_arrays, ARRAY),
        "SciPy one by one": (one_by_one, SINGLE),
    }
    for peer, count in peers.values():
        np.testing.assert_allclose(peer(p_a[:count], dim), ours[:count], rtol=1e-9)
    if benchmark.disabled:
        return
    mine = microseconds(
        lambda: semielastic.radius(p_a, SIGMA, RATE, dim), COUNT, 2 * ROUNDS
    )
    info = benchmark.extra_info
    for name, (peer, count) in peers.items():
        theirs = microseconds(lambda p=peer, n=count: p(p_a[:n], dim), count, ROUNDS)
        info[f"{name} / rsbounds"] = theirs / mine
    info["rsbounds, us a radius"] = mine
    print(
        f"\nd = {dim}: "
        + ", ".join(f"{name} {value:.4g}" for name, value in info.items())
    )
    assert info["SciPy in arrays / rsbounds"] > 250
    assert info["SciPy one by one / rsbounds"] > 500
    assert mine < LIMIT[dim]
