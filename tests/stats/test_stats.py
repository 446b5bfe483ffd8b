"""rsbounds.stats.ncx2 in the place of scipy.stats.ncx2."""

import importlib.util
import pickle
import re
import subprocess
import sys
import warnings
from fractions import Fraction
from math import comb, prod

import numpy as np
import pytest

from rsbounds import oracle, special
from rsbounds.stats import ncx2

METHODS = ("cdf", "sf", "logcdf", "logsf", "pdf", "logpdf", "ppf", "isf")
ORDINARY = [(3.0, 4.0), (1.0, 0.0), (21.0, 1.05), (50.0, 300.0), (0.25, 2.0)]


@pytest.mark.parametrize("method", METHODS)
def test_its_numbers_are_those_of_special(method):
    df = np.array([1.0, 784.0, 150528.0])[:, None]
    nc = np.array([0.0, 1e3, 1e12, 1e16])
    x = 1e-12 if method in ("ppf", "isf") else special.ncx2_ppf(1e-12, df, nc)
    function = getattr(special, f"ncx2_{method}")
    np.testing.assert_array_equal(getattr(ncx2, method)(x, df, nc), function(x, df, nc))


def test_frozen_pickled_and_by_name():
    frozen = ncx2(df=784, nc=1e12)
    assert frozen.isf(frozen.sf(1.00001e12)) == pytest.approx(1.00001e12, rel=1e-14)
    assert pickle.loads(pickle.dumps(frozen)).logsf(1.1e12) == frozen.logsf(1.1e12)
    assert pickle.loads(pickle.dumps(ncx2)).cdf(3.0, 2, 1) == ncx2.cdf(3.0, nc=1, df=2)


@pytest.mark.parametrize(("df", "nc"), [*ORDINARY, (784.0, 1e6), (2.5, 1e-3)])
def test_moments_in_rational_arithmetic(df, nc):
    """E X^n = 2^n (mu)_n 1F1(-n; mu; -h), a sum of positive terms."""
    mu, h = Fraction(df) / 2, Fraction(nc) / 2
    for n in range(1, 10):
        rising = (
            prod((mu + i for i in range(j, n)), start=Fraction(1)) for j in range(n + 1)
        )
        truth = 2**n * sum(comb(n, j) * h**j * r for j, r in enumerate(rising))
        # below the fifth it is put together by SciPy from the central moments
        limit = 4e-16 * n if n > 4 else 4e-15
        assert ncx2.moment(n, df, nc) == pytest.approx(float(truth), rel=limit, abs=0)


def test_outside_the_domain_is_nan_without_a_warning():
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for df, nc in [
            (0.0, 1.0),
            (-1.0, 1.0),
            (2e8, 1.0),
            (3.0, -1.0),
            (3.0, 2e60),
            (np.nan, 1),
        ]:
            for method in METHODS:
                assert np.isnan(getattr(ncx2, method)(0.5, df, nc))
        assert np.isnan(ncx2.cdf(np.nan, 3, 4))
        assert np.isnan(ncx2.ppf(1.5, 3, 4))
    with pytest.raises(ValueError, match="Domain error"):
        ncx2.rvs(-1, 4)
    with pytest.raises(TypeError, match="missing"):
        ncx2.cdf(1.0, 3)


@pytest.mark.filterwarnings("error")
def test_float32_is_taken_without_a_warning():
    """The domain's ends were compared as float32, in which they overflow."""
    single = [np.full(2, v, np.float32) for v in (3.0, 5.0, 1.0)]
    assert ncx2.cdf(*single).tolist() == [special.ncx2_cdf(3.0, 5.0, 1.0)] * 2


def test_log_density_below_the_smallest_double():
    """SciPy's test of its ncx2 (gh-1577) wants -inf, as its formula underflows here."""
    for df in (340, 345, 349):
        truth = float(oracle.ncx2_logpdf(1, df, 2, dps=20))
        assert truth < -800
        assert ncx2.logpdf(1, df, 2) == pytest.approx(truth, rel=1e-15)
        assert ncx2.pdf(1, df, 2) == ncx2.pdf(10000, 3, 12) == 0


REPLACED = """
import scipy.stats
from rsbounds.stats import ncx2
for module in (scipy.stats, scipy.stats.distributions, scipy.stats._continuous_distns):
    module.ncx2 = ncx2
"""


@pytest.mark.slow
def test_scipys_own_tests_of_its_ncx2(tmp_path):
    """As installed; left out is the test of the -inf above, all of whose other lines
    hold.
    """
    names = (
        "test_distributions",
        "test_continuous_basic",
        "test_continuous_fit_censored",
    )
    modules = [f"scipy.stats.tests.{name}" for name in names]
    try:
        missing = [m for m in modules if importlib.util.find_spec(m) is None]
    except ModuleNotFoundError:
        missing = modules
    if missing:
        pytest.skip("SciPy came without its tests")
    (tmp_path / "replaced.py").write_text(REPLACED)
    chosen = (
        "(ncx2 or test_infinite_input or test_all_distributions) and not ncx2_tails_pdf"
    )
    options = [
        "-q",
        "-p",
        "replaced",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        "-k",
        chosen,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *modules],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= 20
