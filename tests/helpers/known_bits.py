"""Bits of the operating system under keys of zeros: a stream that everybody knows."""

import pytest

from rsbounds.sampling import system_bits
from rsbounds.sampling.internal import SystemBits


def known_bits(monkeypatch):
    """What draws them from now on, in this test."""
    pytest.importorskip("cryptography")
    monkeypatch.setattr(system_bits.os, "urandom", bytes)
    return SystemBits()
