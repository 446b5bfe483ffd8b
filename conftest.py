"""Without PyTorch, its adapter and its tests are left out; the rest is tested all the
same.
"""

import os
import signal
from importlib.util import find_spec

import hypothesis

# Everywhere the same examples, and no example fails because the machine has much else
# to do; `pytest --hypothesis-profile=explore` draws new ones.
hypothesis.settings.register_profile(
    "explore", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "rsbounds",
    hypothesis.settings.get_profile("explore"),
    derandomize=True,
    database=None,
)
hypothesis.settings.load_profile("rsbounds")

# the processes of pytest-xdist are as many as the cores: each takes one
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

collect_ignore_glob = [
    "rsbounds/art.py"
]  # tests/art/test_toolboxes.py runs its example
if find_spec("torch") is None:
    collect_ignore_glob += [
        "README.md",
        "rsbounds/torch/*",
        "rsbounds/demo.py",
        "rsbounds/loading/denoiser.py",
        "tests/*torch*",
        "tests/art/*",
    ]

if find_spec("cryptography") is None:
    collect_ignore_glob += ["rsbounds/sampling/system_bits.py"]

# commands that a shell starts in the background ignore Ctrl-C, and so would those that
# tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
