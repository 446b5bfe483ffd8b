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
from cases import quick_each
from mpmath import mp
from scipy import stats

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
            (1e-301, 1.0),
            (-1.0, 1.0),
            (2e30, 1.0),
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


#: By mpmath's quadrature of the density's definition at 25 digits.
ENTROPIES = {
    (0.05, 5.0): -0.1798947080208329,
    (0.5, 2.0): 1.4149052133517571,
    (1.0, 0.3): 1.0574539628303123,
    (1.0, 200.0): 4.7587253260258561,
    (2.5, 150.0): 4.6165636605140538,
    (3.0, 0.01): 2.0574466394701698,
    (40.0, 3.0): 3.6631703878453272,
    (5.0, 1e5): 7.8685534462747326,
    (150.0, 8.5e5): 8.9386247614736581,
    (0.3, 1.2e6): 9.1110012086429473,
    (1.5, 2e6): 9.3664143955265989,
}
#: Narrow laws, and those with a mass next to 0.
HARD = [(1e-300, 5.0), (1e-3, 5.0), (0.5, 2.0), (784.0, 1e6), (1e8, 0.0), (1e8, 1e12)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("df", "nc"), ENTROPIES)
def test_entropy_against_the_definition(df, nc):
    truth = ENTROPIES[df, nc]
    assert ncx2.entropy(df, nc) == pytest.approx(truth, abs=1e-12, rel=0)
    wide = ncx2.entropy(df, nc, loc=-3, scale=1e9)
    assert wide == pytest.approx(truth + np.log(1e9), abs=2e-12, rel=0)


@pytest.mark.filterwarnings("error")
def test_entropy_of_every_central_law():
    """Where SciPy's quadrature said about 0 from 200 degrees of freedom on."""
    sizes = [*10.0 ** np.linspace(-300, 8, 78), 0.5, 1.0, 1.99, 2.0, 2.5, 20.0, 150.0]
    for df in [*sizes, 169.0, 196.0, 200.0, 1e6 - 1, 1e6, 1e6 + 1]:
        with mp.workdps(40):
            a = mp.mpf(df) / 2
            truth = mp.log(2) + mp.loggamma(a) + a + (1 - a) * mp.digamma(a)
            error = abs(ncx2.entropy(df, 0.0) - truth)
        assert error <= 1e-12 + 1e-14 * abs(truth), df


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("df", "nc"), HARD)
def test_expectations_of_narrow_laws_and_of_masses_next_to_zero(df, nc):
    mean, var = df + nc, 2 * df + 4 * nc
    sd = np.sqrt(var)
    # of what is left of X in doubles
    room = max(1e-11, 1e4 * 2.0**-52 * mean / sd)
    assert ncx2.expect(args=(df, nc)) == pytest.approx(mean, rel=1e-11)
    square = ncx2.expect(lambda x: ((x - mean) / sd) ** 2, args=(df, nc))
    assert square == pytest.approx(1.0, rel=room)
    assert ncx2.expect(lambda x: 1.0, args=(df, nc)) == pytest.approx(1.0, rel=1e-13)
    # a step, and a part of the law
    middle = ncx2.median(df, nc)
    below = ncx2.expect(lambda x: float(x <= middle), args=(df, nc))
    part = ncx2.expect(lambda x: 1.0, args=(df, nc), ub=middle)
    share = ncx2.cdf(middle, df, nc)
    assert part == pytest.approx(share, rel=room)
    assert below == pytest.approx(share, rel=max(room, 1e-9))
    given = ncx2.expect(lambda x: 1.0, args=(df, nc), lb=middle, conditional=True)
    assert given == pytest.approx(1.0, rel=room)


def test_expectations_with_a_location_a_scale_and_a_growing_function():
    scaled = ncx2.expect(lambda y: (y + 2) ** 3, args=(3, 4), loc=-2, scale=5)
    assert scaled == pytest.approx(125 * ncx2.moment(3, 3, 4), rel=1e-12)
    # the moment generating function, most of it far out
    for t in (0.1, 0.3, 0.4):
        exact = np.exp(4 * t / (1 - 2 * t)) * (1 - 2 * t) ** -1.5
        found = ncx2.expect(lambda x, t=t: np.exp(t * x), args=(3, 4))
        assert found == pytest.approx(exact, rel=1e-10)
    assert np.isnan(ncx2.expect(args=(-1, 4)))
    assert np.isnan(ncx2.expect(args=(3, 4), scale=-1))


@pytest.mark.filterwarnings("error")
def test_moments_of_extreme_parameters():
    mean, var, skew, excess = ncx2.stats(1e-300, 0.0, moments="mvsk")
    assert (mean, var) == (1e-300, 2e-300)
    assert skew == pytest.approx(np.sqrt(8e300))
    assert excess == pytest.approx(1.2e301)
    mean, var, skew, excess = ncx2.stats(1.0, 1e60, moments="mvsk")
    assert (mean, var) == (1e60, 4e60)
    assert skew == pytest.approx(3e-30)
    assert excess == pytest.approx(1.2e-59)
    assert ncx2.moment(6, 1.0, 1e60) == np.inf


@pytest.mark.filterwarnings("error")
def test_variates_where_whole_numbers_end():
    """NumPy's Poisson numbers are wrong there, and so were the variates."""
    for df, nc in [(1.0, 1e60), (0.5, 1e20), (1e-300, 1e19), (0.5, 1e15), (3.0, 1e60)]:
        x = ncx2.rvs(df, nc, size=400, random_state=1)
        scores = (np.sqrt(x) - np.sqrt(nc)) / np.sqrt(nc)
        assert np.all(abs(scores) < 8 / np.sqrt(nc) + 1e-15)
    assert ncx2.rvs(0.0, 0.0, size=3, random_state=1).tolist() == [0.0] * 3
    zeros = np.mean(ncx2.rvs(0.0, 1.0, size=4000, random_state=1) == 0)
    assert zeros == pytest.approx(np.exp(-0.5), abs=0.04)  # five standard deviations


@pytest.mark.parametrize(
    ("df", "nc", "loc", "scale"),
    [
        (3.0, 4.0, 0.0, 1.0),
        (784.0, 1e6, 0.0, 1.0),
        (150528.0, 1e12, 0.0, 1.0),
        (0.5, 2.0, 0.0, 1.0),
        (200.0, 0.0, 0.0, 1.0),
        (3.0, 4.0, -7.0, 1e-9),
    ],
)
def test_fits_are_at_least_as_likely_as_the_parameters_drawn_from(df, nc, loc, scale):
    data = ncx2.rvs(df, nc, loc=loc, scale=scale, size=100, random_state=3)
    exact = ncx2.nnlf((df, nc, loc, scale), data)
    fitted = ncx2.fit(data, floc=loc, fscale=scale)
    assert fitted[2:] == (loc, scale)
    assert ncx2.nnlf(fitted, data) <= exact + 1e-6
    assert np.isfinite(ncx2.nnlf(ncx2.fit(data), data))


def test_fits_with_what_is_given():
    data = ncx2.rvs(3, 4, size=200, random_state=1)
    fitted = ncx2.fit(data, fdf=3, floc=0, fscale=1)
    assert fitted[0] == 3
    assert ncx2.nnlf(fitted, data) <= ncx2.nnlf((3, 4, 0, 1), data)
    started = ncx2.fit(data, 2.0, floc=0, fscale=1)
    assert ncx2.nnlf(started, data) <= ncx2.nnlf((3, 4, 0, 1), data)
    df, nc, _, _ = ncx2.fit(data, method="mm", floc=0, fscale=1)
    assert df + nc == pytest.approx(data.mean(), rel=1e-3)


def test_no_degrees_of_freedom():
    """An atom e^(-nc/2) at 0, as annuity rates have it."""
    atom = np.exp(-1.5)
    assert ncx2.cdf(1e-300, 0, 3) == pytest.approx(atom, rel=1e-14)
    with mp.workdps(30):
        # a Poisson sum of the laws with 2, 4, ... degrees of freedom
        weight = [mp.exp(-1.5) * mp.mpf(1.5) ** j / mp.factorial(j) for j in range(90)]
        tail = [mp.gammainc(j, 2.5, regularized=True) for j in range(1, 90)]
        truth = mp.fsum(w * q for w, q in zip(weight[1:], tail, strict=True))
    assert ncx2.sf(5.0, 0, 3) == pytest.approx(float(truth), rel=1e-14)
    assert ncx2.ppf(0.2, 0, 3) == 0
    assert (ncx2.mean(0, 3), ncx2.var(0, 3), ncx2.entropy(0, 3)) == (3, 12, -np.inf)
    assert ncx2.expect(lambda x: x == 0, args=(0, 3)) == pytest.approx(atom, rel=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("df", "nc"), quick_each(2, [(3.0, 4.0), (784.0, 1e6), (1e8, 1e12)])
)
def test_the_distribution_that_scipy_makes_of_it(df, nc):
    made_law = stats.make_distribution(ncx2)(df=df, nc=nc)
    assert made_law.entropy() == ncx2.entropy(df, nc)
    log_entropy = made_law.logentropy()
    assert np.exp(log_entropy.real) == pytest.approx(ncx2.entropy(df, nc), rel=1e-14)
    exact = {
        "mean": df + nc,
        "variance": 2 * df + 4 * nc,
        "median": ncx2.median(df, nc),
    }
    for name, value in exact.items():
        assert getattr(made_law, name)() == pytest.approx(value, rel=1e-15)
    _, _, skew, excess = ncx2.stats(df, nc, moments="mvsk")
    assert made_law.skewness() == pytest.approx(skew, rel=1e-12)
    assert made_law.kurtosis() == pytest.approx(3 + excess, rel=1e-12)
    for order in range(1, 5):
        raw = ncx2.moment(order, df, nc)
        assert made_law.moment(order) == pytest.approx(raw, rel=1e-13)
    x = ncx2.isf(1e-30, df, nc)
    assert made_law.logccdf(x) == ncx2.logsf(x, df, nc)
    assert made_law.iccdf(1e-30) == x


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


def test_a_law_of_a_billion_degrees_of_freedom():
    law = ncx2(1e9, 99.0)
    assert law.cdf(1e9) == pytest.approx(0.499122806408059418, rel=4e-16)
    assert law.mean() == 1e9 + 99
    normal = 0.5 * np.log(2 * np.pi * np.e * law.var())
    assert law.entropy() == pytest.approx(normal, abs=1e-8)
    assert law.cdf(law.ppf(0.3)) == pytest.approx(0.3, abs=1e-12)


def test_quantiles_by_logarithms_where_tails_are_no_doubles():
    x = ncx2.isf_exp(-2e3, 784, 50, loc=3, scale=2)
    assert ncx2.logsf(x, 784, 50, loc=3, scale=2) == pytest.approx(-2e3, rel=1e-13)
    x = ncx2.ppf_exp([-900.0, -1.0], 784, 50)
    np.testing.assert_allclose(ncx2.logcdf(x, 784, 50), [-900.0, -1.0], rtol=1e-13)
