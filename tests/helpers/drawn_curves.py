"""Curves of any noise, drawn by hypothesis."""

from fractions import Fraction

from hypothesis import strategies as st

from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._deletion import DeletionCurve
from rsbounds.schemes._flips import FlipsCurve
from rsbounds.schemes._mask import MaskCurve

CHANCE = st.one_of(
    st.floats(0.0, 1.0),
    st.fractions(0, 1, max_denominator=99),
    st.integers(1, 1074).map(lambda k: Fraction(1, 2**k)),
    st.integers(1, 60).map(lambda k: 1 - Fraction(1, 2**k)),
)


@st.composite
def curves(draw, alone=True):
    makers = {
        "categorical": lambda: CategoricalCurve(
            draw(CHANCE), draw(st.sampled_from([2, 3, 256, 2**31]))
        ),
        "flips": lambda: FlipsCurve(draw(CHANCE), draw(CHANCE)),
        "mask": lambda: MaskCurve(10**9, draw(st.integers(1, 50))),
        "hidden": lambda: MaskCurve(2**31, probability=draw(CHANCE)),
        "deletion": lambda: DeletionCurve(draw(CHANCE)),
    }
    if alone:
        makers["blocks"] = lambda: BlocksCurve(
            draw(curves(alone=False)), draw(curves(alone=False))
        )
    try:
        return makers[draw(st.sampled_from(sorted(makers)))]()
    except ArgumentError:  # no noise, or the same at every input
        return FlipsCurve(0.01, 0.6)
