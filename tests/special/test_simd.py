"""Every lowering of the vector code: the same bits wherever there is a fused
multiply-add, and
wherever there is none; the same accuracy everywhere."""

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import rsbounds_ext
from rsbounds import special

COMPILER, CMAKE = shutil.which("c++"), shutil.which("cmake")
X86 = platform.machine().lower() in ("x86_64", "amd64")
PORTABLE = os.environ.get("RSBOUNDS_PORTABLE", "") not in (
    "",
    "0",
)  # as the kernels were built
FUSED = ["-mavx2", "-mfma"]
LIKE = [["-march=native"], FUSED] if X86 and not PORTABLE else [[]]
FLAGS = ["-std=c++17", "-O2", "-ffp-contract=off", "-Wno-psabi", "-fPIC"]
SOURCES = Path(__file__).parents[2] / "rsbounds_ext"
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
Points = list[np.ndarray]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler"),
]


def evaluated(extra, folder):
    """What such a library says of random balls, and what the kernels say."""
    assert COMPILER is not None
    source, library = folder / "evaluate.cpp", folder / "evaluate.so"
    source.write_text(SOURCE)
    include = f"-I{rsbounds_ext.get_include()}"
    command = [
        COMPILER,
        *FLAGS,
        "-shared",
        *extra,
        include,
        str(source),
        "-o",
        str(library),
    ]
    subprocess.run(command, check=True, capture_output=True)

    rng = np.random.default_rng(0)
    n = 20_000
    dim, s = 10 ** rng.uniform(0, 8, n), 10 ** rng.uniform(-3, 9, n)
    u = special.ball_offset(rng.uniform(-37, 37, n), dim, s)
    theirs = [np.empty(n) for _ in range(3)]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (u, dim, s, *theirs)]
    ctypes.CDLL(str(library)).evaluate(ctypes.c_long(n), *pointers)

    score = special.ball_score(u, dim, s)
    density = special.ncx2_logpdf((s + u) ** 2, dim, s * s)
    return theirs, [score, special.ball_offset(score, dim, s), density]


@pytest.mark.parametrize("extra", LIKE)
def test_same_bits_with_the_same_instructions(extra, tmp_path):
    for theirs, ours in zip(*evaluated(extra, tmp_path), strict=True):
        np.testing.assert_array_equal(theirs, ours)


def test_same_accuracy_with_others(tmp_path):
    for theirs, ours in zip(
        *evaluated(FUSED if X86 and PORTABLE else [], tmp_path), strict=True
    ):
        np.testing.assert_allclose(theirs, ours, rtol=8e-16, atol=8e-16)


@pytest.mark.skipif(not X86, reason="one copy alone")
def test_the_linker_merges_nothing_of_the_two_copies(tmp_path):
    """What both define must be in the namespace that differs, or a processor without
    AVX2 may be
    given code of the other copy."""
    assert COMPILER is not None
    includes = [
        sysconfig.get_paths()["include"],
        np.get_include(),
        rsbounds_ext.get_include(),
    ]
    defined = []
    for name, extra in (("avx2", [*FUSED, "-Drsb=rsb_avx2"]), ("baseline", [])):
        out = tmp_path / f"{name}.o"
        command = [
            COMPILER,
            *FLAGS,
            "-c",
            *extra,
            *(f"-I{folder}" for folder in includes),
        ]
        command += [str(SOURCES / "kernels.cpp"), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True)
        names = subprocess.run(
            ["nm", out], check=True, capture_output=True, text=True
        ).stdout
        lines = [line.split() for line in names.splitlines()]
        names = {words[-1] for words in lines if words[-2] in "TDBWVuR"}
        # addresses of the C++ library's own handling of errors, and no code
        defined.append({name for name in names if not name.startswith("DW.ref.")})
    assert all(defined)
    assert not defined[0] & defined[1]


@pytest.mark.skipif(CMAKE is None or not X86, reason="no CMake, or one copy alone")
@pytest.mark.parametrize(("switch", "copies"), [("1", 1), ("0", 2), ("", 2)])
def test_the_switch_to_the_baselines_instructions(
    switch, copies, tmp_path, monkeypatch
):
    """RSBOUNDS_PORTABLE=1 at build time: kernels.cpp is compiled once."""
    assert CMAKE is not None
    monkeypatch.setenv("RSBOUNDS_PORTABLE", switch)
    options = ["-DSKBUILD_PROJECT_NAME=rsbounds", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    options.append(f"-DPython_EXECUTABLE={sys.executable}")
    command = [CMAKE, "-S", str(SOURCES), "-B", str(tmp_path), *options]
    subprocess.run(command, check=True, capture_output=True)
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    assert sum(c["file"].endswith("kernels.cpp") for c in commands) == copies
    assert sum("-mavx2" in c["command"] for c in commands) == copies - 1
