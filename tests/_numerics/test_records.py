"""Records that hold arrays can be compared, and equal ones have one hash."""

import numpy as np
import pytest

from rsbounds.envelope import SemiElastic, TableEnvelope, Widened


@pytest.mark.parametrize(
    "make",
    [
        lambda last: TableEnvelope([0.5, 1.0], [0.24, 0.23], [0.26, last]),
        lambda last: SemiElastic([0.1, last]),
        lambda last: Widened(SemiElastic(0.1), np.array([0.1, last])),
        lambda last: Widened(SemiElastic([0.1, last]), 0.0),
    ],
)
def test_arrays_that_hold_the_same_are_equal(make):
    assert make(0.3) == make(0.3)
    assert make(0.3) != make(0.4)
    assert len({make(0.3), make(0.3), make(0.4)}) == 2


def test_the_shape_of_an_array_counts():
    assert SemiElastic([0.1]) != SemiElastic([[0.1]])
    assert SemiElastic([0.1]) != SemiElastic(0.1)
