"""Radii are those of rational numbers, or one smaller next to an edge."""

from fractions import Fraction

import numpy as np
import pytest
from exact_curves import ROOM, cases_of

from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.oracle import discrete
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._deletion import DeletionCurve
from rsbounds.schemes._flips import FlipsCurve
from rsbounds.schemes._mask import MaskCurve

CURVES = [
    MaskCurve(50, 5),
    CategoricalCurve(0.2, 256),
    CategoricalCurve(0.8, 3),
    CategoricalCurve(0.1, 5),
    CategoricalCurve(0.6, 2),
    FlipsCurve(0.01, 0.6),
    FlipsCurve(0.2, 0.4),
    FlipsCurve(0.0, 0.75),
    FlipsCurve(0.3, 0.3),
    MaskCurve(784, 45),
    MaskCurve(150_528, 45),
    MaskCurve(2**31, probability=0.1),
    DeletionCurve(0.9),
    DeletionCurve(0.97),
    BlocksCurve(FlipsCurve(0.1, 0.3), CategoricalCurve(0.5, 3)),
    BlocksCurve(FlipsCurve(0.001, 0.8), FlipsCurve(0.003, 0.4)),
]
MOST = 8
STEPS = [sign * 2.0**-power for power in (30, 40, 48) for sign in (-1, 1)]


def compared(curve):
    """How many radii are the exact ones, and how many one smaller next to an edge."""
    infima = [discrete.infimum(cases_of(curve, r)) for r in range(MOST + 1)]
    edges = [Fraction(2) if edge is None else edge for edge in infima]
    near = [float(edge) for edge in edges if edge < 1]
    p = np.concatenate([
        np.linspace(0.5, 1, 400, endpoint=False),
        *[np.nextafter(near, side) for side in (0, 2)],
        *[np.array(near) * (1 + step) for step in STEPS],
    ])  # fmt: skip
    p = p[(p >= 0.5) & (p < 1)]
    same = less = 0
    for value, radius in zip(p.tolist(), curve.radius(p).tolist(), strict=True):
        exact = max(
            (r for r in range(MOST + 1) if edges[r] < Fraction(value)), default=0
        )
        if radius == exact or (exact == MOST and radius >= MOST):
            same += 1
            continue
        assert radius == exact - 1
        edge = edges[exact]
        assert Fraction(value) - edge <= ROOM * min(edge, 1 - edge) + Fraction(1, 2**53)
        less += 1
    return same, less


@pytest.mark.parametrize("curve", CURVES, ids=repr)
def test_radii_are_exact_but_next_to_an_edge(curve):
    same, less = compared(curve)
    # of 9 edges with 8 numbers next to each at most 5 can be so near above it
    assert less <= 5 * (MOST + 1)
    assert same >= 400
