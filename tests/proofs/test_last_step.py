"""What the proof of a noncentrality's last step rests on, in
docs/theory/inverses.md.
"""

import math

import pytest
from flint import arb, ctx

from .balls import named

STEP = named("noncentrality.hpp", "short_step")
FAR = 1.2  # steps from the last evaluation
RISE = 9  # of L' over T
LEAST = 1.5  # of S_(3/2)


def ratio(order, w):
    """I_(order + 1)(w)/I_order(w)."""
    return arb(w).bessel_i(arb(order) + 1) / arb(w).bessel_i(arb(order))


@pytest.mark.parametrize("mu", [1e-3, 0.5, 1.0, 7.5, 392.0])
@pytest.mark.parametrize("w", [1e-3, 0.7, 8.0, 90.0, 2000.0])
def test_the_quotient_of_densities_falls_by_no_more_than_its_bound(mu, w):
    """With x = w, as both sides are multiples of x/w."""
    with ctx.workprec(256):
        first, second = ratio(mu, w), ratio(mu + 1, w)
        above, below = (
            (arb(mu + half) ** 2 + arb(w) ** 2).sqrt() for half in (1.5, 0.5)
        )
        assert first - second > 0
        assert first - second < 3 * first / above
        assert w / (arb(mu + 0.5) + above) < first < w / (arb(mu + 0.5) + below)


def test_the_supposition_stays_true():
    """|L'| <= 9 T near the last evaluation, from what the step is held to."""
    lean = STEP + FAR * RISE * STEP**2
    slope = math.exp(FAR * lean)
    moved = FAR * slope
    shift = math.exp((2 * 3 + 2) * FAR * STEP / math.sqrt(LEAST))
    again = slope * FAR * (STEP + moved * STEP**2)
    square = slope**2 + moved * slope * STEP
    assert lean < 0.21
    assert slope < 1.29
    assert moved < 1.55
    assert shift < 2.2
    assert max(square, slope, 3 * shift) + again * RISE < RISE


def test_what_the_step_leaves_over_its_estimate():
    """(2 L^2 + |L'|)/6, and the slopes, over L^2/3 + T/6; then all parts together."""
    lean = STEP + FAR * RISE * STEP**2
    third = 4 * (FAR * RISE * STEP) ** 2 + RISE
    factor = max(2, third) * math.exp(4 * FAR * lean)
    assert factor < 38
    leaves = named("noncentrality.hpp", "step_leaves")
    error = named("quantile.hpp", "step_error")
    miss = (6 * leaves) ** (1 / 3)
    assert miss < 7e-6
    assert 80 * leaves + miss * error < 5e-15
    room = named("noncentrality.hpp", "limit_room")
    score = named("ball.hpp", "small_score_error")
    assert max(room, 5e-15) + score < 3e-14
