"""Runs SciPy's own tests of the noncentral chi-square law on ``rsbounds.stats.ncx2``.

    python benchmarks/pages/scipy_ncx2_tests.py

These are the tests of the installed SciPy (``scipy/stats/tests``) with ncx2 in their
name; slow ones are skipped. rsbounds' law takes the place of SciPy's before they are
collected. One of them fails, as docs/benchmarks/ncx2-compared.md says.
"""

import sys

import pytest
import scipy.stats

from rsbounds.stats import ncx2

if __name__ == "__main__":
    scipy.stats.ncx2 = scipy.stats.distributions.ncx2 = ncx2
    words = ["--pyargs", "scipy.stats.tests", "-k", "ncx2", "-m", "not slow", "-q"]
    sys.exit(pytest.main([*words, *sys.argv[1:]]))
