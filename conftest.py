"""Without PyTorch, its adapter and its tests are left out; the rest is tested all the same."""

import signal
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("torch") is None:
    collect_ignore_glob = ["README.md", "rsbounds/torch/*", "rsbounds/demo.py", "tests/*torch*"]
    collect_ignore_glob += [f"rsbounds/loading/{name}.py" for name in ("classifier", "denoiser")]

# commands that a shell starts in the background ignore Ctrl-C, and so would those that tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums, and so trained networks, may depend on the number of threads."""
    from rsbounds import demo

    with demo.one_thread():
        yield
