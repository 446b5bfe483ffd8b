"""Brightness and contrast: sums over even steps have the digits that are asked for."""

import pytest
from mpmath import mp

from rsbounds import oracle

#: By mpmath's own integration, tanh-sinh on each of twenty intervals. Under much noise
#: in the contrast the integrands have steep ends: Gauss's rule there took itself for
#: exact at the fifteenth digit.
GAPS = [
    ((2.0, -2.0, 0, 2.0, 0.4), "-0.07682181586204777806888"),
    pytest.param(
        (2.5, -2.9, 0, 2.2, 2.0), "-0.0172035844002941390296882", marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("case", "expected"), GAPS)
def test_a_gap_has_its_digits(case, expected):
    with mp.workdps(30):
        assert abs(oracle.affine_gap(*case, dps=18) - mp.mpf(expected)) < 1e-18
