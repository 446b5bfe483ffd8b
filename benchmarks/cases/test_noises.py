"""Radii and frontiers of discrete noise that searches find hard, and arrays of radii.

pytest benchmarks/cases/test_noises.py --benchmark-enable -s
"""

from time import process_time

import numpy as np
import pytest

from rsbounds import schemes
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._deletion import DeletionCurve
from rsbounds.schemes._flips import FlipsCurve
from rsbounds.schemes._mask import MaskCurve

LIMIT = 1.0  # seconds of a hard search
ARRAY_LIMIT = 0.01  # of a thousand radii beside one change
BLOCKS = [schemes.flips(0.2, 0.6), schemes.categorical(0.6, 2)]
ALIKE = [schemes.flips(0.2, 0.6), schemes.flips(0.2, 0.6)]
THREE = [
    schemes.flips(0.2, 0.6),
    schemes.categorical(0.3, 4),
    schemes.flips(0.01, 0.6),
]
WEAK = [schemes.flips(0.4, 0.45), schemes.flips(0.45, 0.35)]
P = np.linspace(0.5, 0.999, 100)
THOUSAND = np.linspace(0.3, 1.0, 1000)
RUNNER_UP = np.linspace(0.5, 0.0, 1000)


def blocks(parts):
    return schemes.blocks(*parts, splits=[3, 5][: len(parts) - 1])


def mixed(changes):
    parts = schemes.gaussian(1.0), schemes.flips(0.48, 0.47)
    return schemes.blocks(*parts, splits=[3], changes=changes)


CALLS = {
    "blocks at 2.5": lambda: blocks(BLOCKS).radius(2.5, 0.6),
    "blocks at 3.2": lambda: blocks(BLOCKS).radius(3.2, 0.6),
    "frontier of blocks at 2.5": lambda: blocks(BLOCKS).further(2.5, -2.5),
    "two weak flips at 3": lambda: blocks(WEAK).radius(3.0, 0.45),
    "frontier of two weak flips": lambda: blocks(WEAK).further(3.0, -3.0),
    "weak flips": lambda: FlipsCurve(0.48, 0.47).radius(0.9),
    "frontier of weak flips": lambda: FlipsCurve(0.48, 0.47).frontier(0.9),
    "flips alike": lambda: FlipsCurve(0.49, 0.49).radius(0.9),
    "flips at p_b = 1e-300": lambda: FlipsCurve(0.1, 0.3).radius(0.9, 1e-300),
    "flips of a subnormal chance": lambda: FlipsCurve(5e-324, 0.5).radius(0.9),
    "two values": lambda: CategoricalCurve(0.501, 2).radius(0.9),
    "256 values": lambda: CategoricalCurve(0.004, 256).radius(0.9),
    "deletion .9999": lambda: DeletionCurve(0.9999).radius(0.9),
    "deletion .99999": lambda: DeletionCurve(0.99999).radius(0.9),
    "masks by chance": lambda: MaskCurve(150528, probability=1e-6).radius(P),
    "masks by number": lambda: MaskCurve(10**9, 10).radius(P),
    "transport at 150 flips": lambda: FlipsCurve(0.01, 0.6).transport(0.0, 150),
    "transport of 1,000 scores": lambda: FlipsCurve(0.2, 0.6).transport(THOUSAND, 150),
    "low at 512 flips": lambda: FlipsCurve(0.0, 0.5).low(0.9, 512),
    "threshold at 512 flips": lambda: FlipsCurve(0.0, 0.5).threshold(512),
    "1,000 of a subnormal chance": lambda: CategoricalCurve(5e-324, 2).low(
        THOUSAND, 400
    ),
    "2^31 values": lambda: CategoricalCurve(0.9, 2**31).radius(THOUSAND, RUNNER_UP),
    "1,000 pairs of masks": lambda: MaskCurve(10**9, 10).radius(THOUSAND, RUNNER_UP),
    "1,000 pairs of many kept": lambda: MaskCurve(150528, 1000).radius(
        THOUSAND, RUNNER_UP
    ),
    "1,000 pairs of edits": lambda: DeletionCurve(0.99999).radius(THOUSAND, RUNNER_UP),
    "frontier of nearly alike flips": lambda: FlipsCurve(0.475, 0.465).frontier(0.99),
    "1,000 of three kinds": lambda: blocks(BLOCKS).curve.radius(THOUSAND),
    "1,000 of two alike": lambda: blocks(ALIKE).curve.radius(THOUSAND),
    "1,000 of two weak flips": lambda: blocks(WEAK).curve.radius(THOUSAND),
    "1,000 values at 512 flips": lambda: FlipsCurve(0.0, 0.5).low(THOUSAND, 512),
    "threshold of blocks at 150": lambda: blocks(THREE).curve.threshold(150),
    "frontier beside weak flips": lambda: mixed(0).further(3.0, -3.0),
    "radius beside 62 weak flips": lambda: mixed(62).radius(6.0, None),
}


@pytest.mark.benchmark(group="discrete noise", timer=process_time)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_ends_within_a_second(benchmark, name):
    benchmark.pedantic(CALLS[name], rounds=1, iterations=1)
    if not benchmark.disabled:
        print(f"\n{name}: {benchmark.stats['mean']:.3f} s")
        assert benchmark.stats["mean"] < LIMIT


#: What changes beside the numbers, with one way or two to make each change.
BESIDE = {"values": schemes.categorical(0.8, 3), "flips": schemes.flips(0.1, 0.2)}


@pytest.mark.benchmark(group="a thousand radii of mixed inputs", timer=process_time)
@pytest.mark.parametrize("changes", [0, 1, 2, 3])
@pytest.mark.parametrize("name", BESIDE)
def test_a_thousand_radii_beside_changes(benchmark, name, changes):
    parts = schemes.gaussian(0.5), BESIDE[name]
    curve = schemes.blocks(*parts, splits=[4], changes=changes).curve
    p = np.random.default_rng(0).uniform(0.9, 0.99999, 1000)
    radii = benchmark(curve.radius, p)
    assert (radii > 0).any()
    if not benchmark.disabled:
        print(f"\n{name}, {changes} changes: {benchmark.stats['min'] * 1e3:.1f} ms")
        if changes == 1:
            assert benchmark.stats["min"] < ARRAY_LIMIT
