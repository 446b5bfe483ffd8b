"""Without PyTorch, its adapter and its tests are left out; the rest is tested all the same."""

from importlib.util import find_spec

if find_spec("torch") is None:
    collect_ignore_glob = ["rsbounds/torch/*", "rsbounds/demo.py", "tests/test_torch*"]
