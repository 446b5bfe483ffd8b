"""Packages that only some backends of rsbounds.loading need."""

import importlib.util

import pytest

from rsbounds.loading.packages import need


def package(name):
    """The module; the test is skipped where it isn't installed, and fails where it is broken."""
    for part in (name, "torch"):
        if importlib.util.find_spec(part.partition(".")[0]) is None:
            pytest.skip(f"needs {part.partition('.')[0]}")
    return need(name, "this test")
