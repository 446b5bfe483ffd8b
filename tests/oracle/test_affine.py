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


def test_events_of_probability_0_and_1_keep_it():
    attack = (0.75, 1.25, 0.4)
    assert oracle.affine_low(mp.inf, *attack) == 1
    assert oracle.affine_low(-mp.inf, *attack) == 0
    assert oracle.affine_gap(mp.inf, -mp.inf, *attack) == 1
    assert oracle.affine_gap(0, mp.inf, *attack) < -0.5


@pytest.mark.parametrize(("scores", "name"), [((7, -1), "z_a"), ((1, -9), "z_b")])
def test_scores_out_of_reach_are_refused_by_their_names(scores, name):
    with pytest.raises(ValueError, match=rf"^{name} must be in \[-6, 6\] or infinite"):
        oracle.affine_gap(*scores, 0.75, 1.25, 0.4)
    with pytest.raises(ValueError, match=r"^z must be in \[-6, 6\]"):
        oracle.affine_low(mp.mpf("1e400"), 0.75, 1.25, 0.4)


def test_tails_have_their_digits():
    low = oracle.affine_low(-6, 0.75, 1.25, 0.4, dps=12)
    truth = oracle.affine_low(-6, 0.75, 1.25, 0.4, dps=30)
    assert abs(low / truth - 1) < 1e-8  # 1.8e-34
