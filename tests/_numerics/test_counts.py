"""Class counts: zeros that were left out, sums beyond int64."""

import numpy as np
import pytest

from rsbounds._numerics.counts import padded, total


def test_zeros_follow_and_nothing_is_dropped():
    assert padded([3, 1], 4).tolist() == [3, 1, 0, 0]
    assert padded(np.array([3, 1]), 2).tolist() == [3, 1]
    assert padded((), 2).tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"counts.*1 classes"):
        padded([3, 1], 1)


def test_sums_do_not_wrap_around():
    assert total(np.full(4, 2**62)) == 2**64
    assert total(np.array([[1, 2], [3, 4]])) == 10
    assert total(np.zeros(0, np.int64)) == 0
