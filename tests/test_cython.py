"""The scalar functions from Cython: a small extension that cimports rsbounds_ext.kernels."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import rsbounds_ext
from rsbounds import special

pytest.importorskip("Cython")
pytest.importorskip("setuptools")

SOURCE = """
# cython: language_level=3
from cython.parallel cimport prange
from rsbounds_ext cimport kernels
from rsbounds_ext.kernels cimport ball_score, log_ndtr, marcum_q, ncx2_isf_exp, rice_sf
from rsbounds_ext.kernels cimport semielastic_radius

def scalars(double u, double dim, double s):
    cdef double score
    with nogil:
        score = ball_score(u, dim, s)
    return score, log_ndtr(score), ncx2_isf_exp(-3.0, dim, s), kernels.ball_offset(score, dim, s)

def loop(double[::1] u, double dim, double s, double[::1] out):
    cdef Py_ssize_t i
    for i in prange(u.shape[0], nogil=True):
        out[i] = ball_score(u[i], dim, s)

def lengths(double a, double b):
    return marcum_q(1, a, b), rice_sf(b, a), kernels.ncx2_cdf_inv_nc(b, 2, rice_sf(b, a))

def radius(double z, double sigma, double dim, double rate):
    return semielastic_radius(z, -z, 2 * z, sigma, dim, 0, rate)
"""

BUILD = """
import sys
from Cython.Build import cythonize
from setuptools import setup

setup(
    script_args=["-q", "build_ext", "--inplace"],
    ext_modules=cythonize("user.pyx", include_path=[sys.argv[1]], quiet=True),
)
"""


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The extension, built the way a user would; the .pxd lies beside the installed package."""
    folder = tmp_path_factory.mktemp("cython")
    (folder / "user.pyx").write_text(SOURCE)
    root = Path(rsbounds_ext.__file__).parent.parent
    assert (root / "rsbounds_ext" / "kernels.pxd").exists()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(root)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (p for p in folder.iterdir() if p.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location("user", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_same_bits_as_the_ufuncs(user: ModuleType) -> None:
    score, log, quantile, offset = user.scalars(1.5, 784.0, 20.0)
    assert score == special.ball_score(1.5, 784.0, 20.0)
    assert log == special.log_ndtr(score)
    assert quantile == special.ncx2_isf_exp(-3.0, 784.0, 20.0)
    assert offset == special.ball_offset(score, 784.0, 20.0)


@pytest.mark.slow
def test_loops_without_the_gil(user: ModuleType) -> None:
    u = np.linspace(-5, 30, 1000)
    out = np.empty_like(u)
    user.loop(u, 784.0, 20.0, out)
    np.testing.assert_array_equal(out, special.ball_score(u, 784.0, 20.0))


@pytest.mark.slow
def test_lengths(user: ModuleType) -> None:
    q = special.marcum_q(1, 2.0, 3.0)
    assert user.lengths(2.0, 3.0) == (q, q, special.ncx2_cdf_inv_nc(3.0, 2, q))


@pytest.mark.slow
def test_radii(user: ModuleType) -> None:
    from rsbounds import semielastic

    expected = semielastic.radius(2.0, 0.25, 0.01, 784, scores=True)
    assert user.radius(2.0, 0.25, 784.0, 0.01) == pytest.approx(expected, rel=1e-11)


def test_the_headers_are_where_get_include_says() -> None:
    include = Path(rsbounds_ext.get_include())
    assert (include / "rsbounds" / "api.hpp").exists()
