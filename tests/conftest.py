from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums, and so trained networks, may depend on the number of threads."""
    from rsbounds import demo

    with demo.one_thread():
        yield
