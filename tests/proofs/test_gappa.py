"""Gappa agrees with five counts that stand on paper, and with no impossible one."""

import pytest

from . import gappa

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        gappa.PROGRAM is None, reason="gappa (a Debian package) is missing"
    ),
]


@pytest.mark.parametrize("name", gappa.cases())
def test_a_count_on_paper_is_proved(name):
    assert gappa.proves(gappa.cases()[name])


@pytest.mark.parametrize("name", [n for n in gappa.cases() if "median" not in n])
def test_an_impossible_count_is_not(name):
    case = gappa.cases()[name]
    tight = case._replace(low=case.low / 1000 or 1e-16, high=case.high / 1000)
    assert not gappa.proves(tight)


def test_where_it_is_too_coarse():
    assert not gappa.proves(gappa.coarse())
