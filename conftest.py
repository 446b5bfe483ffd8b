"""Without PyTorch, its adapter and its tests are left out; the rest is tested all the same."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("torch") is None:
    collect_ignore_glob = ["rsbounds/torch/*", "rsbounds/demo.py", "tests/*torch*"]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums, and so trained networks, may depend on the number of threads."""
    from rsbounds import demo

    with demo.one_thread():
        yield
