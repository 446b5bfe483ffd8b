"""The scalar functions from Cython: a small extension that cimports
rsbounds_ext.kernels.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rsbounds_ext
from rsbounds import semielastic, special

SOURCE = """
# cython: language_level=3
from cython.parallel cimport prange
from rsbounds_ext cimport kernels
from rsbounds_ext.kernels cimport ball_score, log_ndtr, marcum_q, ncx2_isf_exp
from rsbounds_ext.kernels cimport semielastic_radius

def scalars(double u, double dim, double s):
    cdef double score
    with nogil:
        score = ball_score(u, dim, s)
    quantile = ncx2_isf_exp(-3.0, dim, s)
    return score, log_ndtr(score), quantile, kernels.ball_offset(score, dim, s)

def loop(double[::1] u, double dim, double s, double[::1] out):
    cdef Py_ssize_t i
    for i in prange(u.shape[0], nogil=True):
        out[i] = ball_score(u[i], dim, s)

def radius(double z, double sigma, double dim, double rate):
    return marcum_q(1, 2, 3), semielastic_radius(z, -z, 2 * z, sigma, dim, 0, rate)
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


@pytest.mark.slow
def test_same_bits_as_the_ufuncs(tmp_path):
    """Built the way a user would; the .pxd lies beside the installed package."""
    # not by importing them: setuptools puts its distutils in the place of another
    if not all(map(importlib.util.find_spec, ("Cython", "setuptools"))):
        pytest.skip("needs Cython and setuptools")
    (tmp_path / "user.pyx").write_text(SOURCE)
    root = str(Path(rsbounds_ext.__file__).parent.parent)
    command = [sys.executable, "-c", BUILD, root]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (p for p in tmp_path.iterdir() if p.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location("user", path)
    assert spec is not None
    assert spec.loader is not None
    user = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(user)

    score, log, quantile, offset = user.scalars(1.5, 784.0, 20.0)
    assert score == special.ball_score(1.5, 784.0, 20.0)
    assert log == special.log_ndtr(score)
    assert quantile == special.ncx2_isf_exp(-3.0, 784.0, 20.0)
    assert offset == special.ball_offset(score, 784.0, 20.0)

    u = np.linspace(-5, 30, 1000)
    out = np.empty_like(u)
    user.loop(u, 784.0, 20.0, out)
    np.testing.assert_array_equal(out, special.ball_score(u, 784.0, 20.0))

    q, radius = user.radius(2.0, 0.25, 784.0, 0.01)
    assert q == special.marcum_q(1, 2, 3)
    expected = semielastic.radius(2.0, 0.25, 0.01, 784, scores=True)
    assert radius == pytest.approx(expected, rel=1e-11)


def test_the_headers_are_where_get_include_says():
    assert (Path(rsbounds_ext.get_include()) / "rsbounds" / "api.hpp").exists()
