"""Every lowering of the vector code gives the same bits: AVX2 (where there is one), SSE2."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rsbounds_ext
from rsbounds import special

COMPILER, CMAKE = shutil.which("c++"), shutil.which("cmake")
FLAGS = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wno-psabi", "-shared", "-fPIC"]
SOURCE = """
#include <rsbounds/api.hpp>
extern "C" void evaluate(long n, const double* u, const double* dim, const double* s,
                         double* score, double* offset, double* density) {
    for (long i = 0; i < n; ++i) {
        const double rho = s[i] + u[i];
        score[i] = rsb::api::ball_score(u[i], dim[i], s[i]);
        offset[i] = rsb::api::ball_offset(score[i], dim[i], s[i]);
        density[i] = rsb::api::ncx2_logpdf(rho * rho, dim[i], s[i] * s[i]);
    }
}
"""


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("extra", [["-DRSB_CLONES="], ["-DRSB_CLONES=", "-march=native"], []])
def test_same_bits_whatever_the_instructions(extra: list[str], tmp_path: Path) -> None:
    assert COMPILER is not None
    source, library = tmp_path / "evaluate.cpp", tmp_path / "evaluate.so"
    source.write_text(SOURCE)
    include = f"-I{rsbounds_ext.get_include()}"
    command = [COMPILER, *FLAGS, *extra, include, str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)

    rng = np.random.default_rng(0)
    n = 20_000
    dim, s = 10 ** rng.uniform(0, 8, n), 10 ** rng.uniform(-3, 9, n)
    u = special.ball_offset(rng.uniform(-37, 37, n), dim, s)
    found = [np.empty(n) for _ in range(3)]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (u, dim, s, *found)]
    ctypes.CDLL(str(library)).evaluate(ctypes.c_long(n), *pointers)

    score = special.ball_score(u, dim, s)
    np.testing.assert_array_equal(found[0], score)
    np.testing.assert_array_equal(found[1], special.ball_offset(score, dim, s))
    np.testing.assert_array_equal(found[2], special.ncx2_logpdf((s + u) ** 2, dim, s * s))


@pytest.mark.skipif(COMPILER is None or CMAKE is None, reason="no C++ compiler or no CMake")
@pytest.mark.parametrize(("switch", "given"), [("1", True), ("0", False), ("", False)])
def test_the_switch_to_the_baselines_instructions(
    switch: str, given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RSBOUNDS_PORTABLE=1 at build time: one copy of the quadrature, as the test above compiles."""
    assert CMAKE is not None
    monkeypatch.setenv("RSBOUNDS_PORTABLE", switch)
    sources = Path(__file__).parent.parent / "rsbounds_ext"
    options = ["-DSKBUILD_PROJECT_NAME=rsbounds", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    options.append(f"-DPython_EXECUTABLE={sys.executable}")
    command = [CMAKE, "-S", str(sources), "-B", str(tmp_path), *options]
    subprocess.run(command, check=True, capture_output=True)
    assert ("-DRSB_CLONES=" in (tmp_path / "compile_commands.json").read_text()) is given
