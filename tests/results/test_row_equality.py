"""Rows and certificates that say the same are equal, NaN included, on every Python."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from rsbounds.certificate import Certificate
from rsbounds.results import Row

ROW = Row(0, 7, 7, 0.75, True, "fixed noise")
CERTIFICATE = Certificate(-1, 0.0, math.nan, math.nan, 0, 0, 0.5, "gaussian", "")


@pytest.mark.parametrize("record", [ROW, CERTIFICATE], ids=["row", "certificate"])
def test_nan_says_that_there_is_no_value(record):
    for nan in (math.nan, float("nan"), np.float64("nan")):
        other = replace(record, p_a=nan)
        assert other == record
        assert not other != record  # noqa: SIM202 (the other operator)
    for again in (copy.copy(record), copy.deepcopy(record)):
        assert again == record
    assert pickle.loads(pickle.dumps(record)) == record
    assert replace(record, p_a=0.0) != record
    assert replace(record, z_a=1.0) != replace(record, z_a=math.nan)
    assert record != tuple(getattr(record, name) for name in record.__slots__)


def test_a_row_is_not_a_certificate_and_equal_certificates_have_one_hash():
    assert CERTIFICATE != ROW
    other = replace(CERTIFICATE, z_a=float("nan"), p_a=float("nan"), z_b=float("nan"))
    assert hash(other) == hash(CERTIFICATE)
    assert len({other, CERTIFICATE, replace(CERTIFICATE, predict=3)}) == 2
