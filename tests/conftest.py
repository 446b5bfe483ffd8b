"""Fixtures of more than one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mpmath
import pytest
from cli_models import prepare


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with models and data for ``rsbounds certify``, current."""
    return prepare(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def forty_digits() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


@pytest.fixture(scope="module")
def sixty_digits() -> Iterator[None]:
    with mpmath.workdps(60):
        yield
