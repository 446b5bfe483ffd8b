"""Exact curves of discrete noise, by the oracle's regions, and what is next to them."""

from fractions import Fraction
from itertools import islice, pairwise

from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.discrete._ways import Ways
from rsbounds.oracle import discrete, regions
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._flips import FlipsCurve
from rsbounds.schemes._mask import MaskCurve

#: How far from an edge the package must decide as the exact numbers do, relative.
ROOM = Fraction(1, 10**11)

#: Two doubles next to each other, relative.
SPACING = Fraction(1, 2**52)


def case_of(curve, counts):
    """The laws at x and at x' after so many changes of each kind."""
    if isinstance(curve, BlocksCurve):
        starts = [0]
        for own in curve.curves:
            starts.append(starts[-1] + own.kinds)
        parts = zip(curve.curves, pairwise(starts), strict=True)
        return regions.of_blocks(
            [case_of(own, counts[start:end]) for own, (start, end) in parts]
        )
    if isinstance(curve, CategoricalCurve):
        return regions.of_categories(curve.keep, curve.values - 1, *counts)
    if isinstance(curve, FlipsCurve):
        return regions.of_flips(curve.add, curve.delete, *counts)
    if isinstance(curve, MaskCurve):
        kept = (
            Fraction(curve.keep_count)
            if curve.probability is None
            else curve.probability
        )
        if kept == 1 and curve.probability is not None:
            hidden = Fraction(counts[0] == 0)
            return {0: hidden, 1: 1 - hidden}, {0: hidden, 2: 1 - hidden}
        return regions.of_masks(curve.dim, kept, min(counts[0], curve.dim))
    return regions.of_edits(curve.delete, *counts)


def cases_of(curve, r, step=1):
    """Every way to make changes, of all kinds if ``r`` is a number; or one in ``step``,
    the first and the last among them where step divides their number less one.
    """
    if isinstance(r, int):
        every = Ways((0,) * curve.kinds, ((r, tuple(range(curve.kinds))),)).every()
    else:
        every = curve.ways("r", r).every()
    return [case_of(curve, counts) for counts in islice(every, 0, None, step)]


def sure_low(cases, p):
    """What the package says at least that an event of probability p keeps."""
    least = discrete.low(cases, p - ROOM * min(p, 1 - p))
    return max(least * (1 - ROOM), 1 - (1 - least) * (1 + ROOM), Fraction(0))


def surely_certified(cases, p_a, p_b=None):
    """Whether the package must certify: what is nearer to the edge it may not."""
    rest = p_a if p_b is None else 1 - p_b
    return all(sure_low([case], p_a) + sure_low([case], rest) > 1 for case in cases)


def assert_next_to(curve, r, cases, p):
    """Answers at a double are on the safe side of the exact ones, and next to them."""
    exact = Fraction(p)
    low, high = Fraction(float(curve.low(p, r))), Fraction(float(curve.high(p, r)))
    # a result is one of two doubles, whatever its error is
    least, most = sure_low(cases, exact), 1 - sure_low(cases, 1 - exact)
    assert least * (1 - SPACING) <= low <= discrete.low(cases, exact)
    assert most * (1 + SPACING) >= high >= discrete.high(cases, exact)
    for p_b in (None, 0.0, 1 / 7, 0.5):
        other = None if p_b is None else Fraction(p_b)
        if curve.certified(p, r, p_b):
            assert discrete.certified(cases, exact, other)
        else:
            assert not surely_certified(cases, exact, other)
