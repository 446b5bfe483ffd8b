"""rsbounds.special inside numba: same bits as the ufuncs, any mode, any import order,
cached.

The tests of caching run in processes of their own, with a cache of their own.
"""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from cases import quick_each
from special_calls import IN_A_PARAMETER, INSIDE, NAMES

pytest.importorskip("numba")
from numba import njit

from rsbounds import special


@pytest.mark.parametrize("name", quick_each(2, NAMES))
def test_bit_equal_to_the_ufunc(name):
    function, rng = getattr(special, name), np.random.default_rng(0)
    # an inverse in a parameter has no value at most points
    low, high = (0.99, 1.01) if name in IN_A_PARAMETER else (0.01, 2)
    args = [value * rng.uniform(low, high, 200) for value in INSIDE[name]]
    if name not in IN_A_PARAMETER:
        args[-1][0] = 0

    @njit
    def call(*point):
        return function(*point)

    value = [call(*point) for point in zip(*args, strict=True)]
    np.testing.assert_array_equal(value, function(*args))


@njit
def score(u, dim, s):
    return special.ball_score(u, dim, s)


def test_integers_and_float32():
    expected = special.ball_score(1.0, 784.0, 0.0)
    assert score(1, 784, 0) == expected
    assert score(np.float32(1), np.uint8(200), 0) == special.ball_score(1.0, 200.0, 0.0)


def test_outside_the_domain_is_nan():
    """Compiled code has no ValueError to name the argument: it answers NaN."""
    for bad in [(1.0, 0.5, 1.0), (1.0, 2e8, 1.0), (1.0, 3.0, -1.0), (np.nan, 3.0, 1.0)]:
        assert np.isnan(score(*bad))


def test_arrays_are_not_taken_for_scalars():
    from numba.core.errors import TypingError

    with pytest.raises(TypingError):
        score(np.zeros(3), 784.0, 1.0)


KERNEL = """
import rsbounds as rs
from numba import njit, prange
import numpy as np

@njit(cache=True)
def scalar(u):
    return rs.special.ball_score(u, 784.0, 20.0)

@njit(cache=True, parallel=True)
def loop(u, out):
    for i in prange(u.size):
        out[i] = rs.special.ball_score(u[i], 784.0, 20.0)
    return out
"""
OUTER = """
from numba import njit
from kernel import scalar

@njit(cache=True)
def twice(u):
    return 2 * scalar(u)
"""
REPORT = """
values = kernel.scalar(1.0), kernel.loop(np.ones(9), np.empty(9))[5]
print(*(float(value).hex() for value in values))
print(*(sum(f.stats.cache_hits.values()) for f in (kernel.scalar, kernel.loop)))
"""
EXPECTED = float(special.ball_score(1.0, 784.0, 20.0)).hex()


def run(folder, code):
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "outer.py").write_text(OUTER)
    # a cached file is matched by its modification time
    for name in ("kernel.py", "outer.py"):
        os.utime(folder / name, (1e9, 1e9))
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(folder),
    }
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=env,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numba")
    code = "import numpy as np, kernel, outer; outer.twice(1.0)" + REPORT
    assert run(folder, code) == [EXPECTED, EXPECTED, "0", "0"]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import numpy as np, kernel",
        "import rsbounds.special, numba, numpy as np, kernel",
        "import rsbounds_ext.kernels, numpy as np, kernel",
        "import rsbounds._numba as r, numpy as np, kernel; r.register(); r.register()",
    ],
)
def test_the_cache_is_valid_in_a_second_process(cached, imports):
    assert run(cached, imports + REPORT) == [EXPECTED, EXPECTED, "1", "1"]


# numba's entry points, which register the symbols, are switched off: what loads them
# then is the cached code itself, which names the module of the implementations it was
# built from.
WITHOUT_ENTRY_POINTS = (
    "import numba.core.entrypoints as e; e._already_initialized = True\n"
)


@pytest.mark.slow
def test_a_cached_kernel_finds_its_symbols_without_the_entry_point(cached):
    """As does one that calls another."""
    code = WITHOUT_ENTRY_POINTS + "import numpy as np, kernel" + REPORT
    assert run(cached, code) == [EXPECTED, EXPECTED, "1", "1"]
    code = """
    import sys, outer
    assert "rsbounds.special" not in sys.modules
    print(outer.twice(1.0) == 2 * float.fromhex("{}"))
    print(sum(outer.twice.stats.cache_hits.values()))
    """
    code = textwrap.dedent(code).format(EXPECTED)
    assert run(cached, code) == ["True", "1"]
    assert run(cached, WITHOUT_ENTRY_POINTS + code) == ["True", "1"]
