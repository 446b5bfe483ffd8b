"""The oracle against closed forms, against itself by another method, against printed
values.
"""

import hashlib
import math
import random
from decimal import Decimal
from fractions import Fraction

import make_tables
import numpy as np
import pytest
from make_tables import TABLES
from mpmath import mp
from radius_truth import close
from refusals import refusals

from rsbounds import oracle

pytestmark = pytest.mark.usefixtures("sixty_digits")


@pytest.mark.parametrize("z", [-5, -0.3, 0.0, 1.7])
def test_ndtr_is_the_integral_of_the_density(z):
    integral = mp.quad(
        mp.npdf, [-40, -20, -10, -8, -6, *([-4, -2] if z > -2 else []), z]
    )
    assert close(oracle.ndtr(z, dps=40), integral, 1e-37)
    assert close(oracle.log_ndtr(z, dps=40), mp.log(integral), 1e-37)


def test_ndtri_exp_inverts_log_ndtr():
    for log_p in (
        -1e-300,
        -1e-9,
        -0.1,
        -math.log(2),
        -0.7,
        -3.0,
        -700.0,
        -1e4,
        -1e17,
        -1e300,
    ):
        z = oracle.ndtri_exp(log_p, dps=60)
        # Conditioning: d log_p = (phi/Phi) dz, at most |z| |dz| in the lower tail.
        assert close(oracle.log_ndtr(z, dps=60), log_p, 1e-50)


def test_ndtri_takes_decimal_strings_and_doubles():
    assert close(oracle.ndtri("0.975", dps=20), "1.9599639845400542355", 1e-19)
    assert oracle.ndtri(0) == -mp.inf
    assert oracle.ndtri(1) == mp.inf
    assert oracle.ndtri(0.5) == 0
    with pytest.raises(ValueError, match="log_p"):
        oracle.ndtri_exp(0.1)


def test_results_do_not_depend_on_the_caller_s_precision():
    """A minus sign outside of the working precision once cut positive scores to 15
    digits.
    """
    for value in (
        lambda: oracle.ndtri("0.9", dps=40),
        lambda: oracle.ball_score(3.0, 5, 2.0, dps=40),
        lambda: oracle.ball_offset(1.0, 5, 2.0, dps=40),
        lambda: oracle.worst_score(0.3, 1.1, 0.5, 0.49, 5, dps=40),
        lambda: oracle.lipschitz_constant(5, 0.3, 0.7, -0.3, dps=40),
        lambda: oracle.gaussian_radius("0.3", "0.7", dps=40),
        lambda: oracle.anisotropic_radius("0.3", ["0.7", "0.2"], norm=3, dps=40),
        lambda: oracle.laplace_radius("0.3", "0.7", dps=40),
        lambda: oracle.lower_score(90, 100, 0.01, dps=40),
        lambda: oracle.upper_score(90, 100, 0.01, dps=40),
        lambda: oracle.log_wealth(90, 100, 0.3, dps=40),
    ):
        with mp.workdps(15):
            at_15 = value()
        assert at_15 == value()


METHODS = ["contour", "series"]


@pytest.mark.parametrize("method", METHODS)
def test_dim_2_central_is_exponential(method):
    for rho in (1e-150, 1e-3, 1.0, 1.2, 9.0, 300.0):
        lower, upper, density = oracle.ball_tails(rho, 2, 0, dps=40, method=method)
        half = mp.mpf(rho) ** 2 / 2
        assert close(upper, -half)
        assert close(
            lower, mp.log1p(-mp.exp(-half)) if half > 1 else mp.log(-mp.expm1(-half))
        )
        assert close(density, -mp.log(2) - half)


def normal_tail(near, far):
    return (mp.erfc(near / mp.sqrt(2)) + mp.erfc(far / mp.sqrt(2))) / 2


@pytest.mark.parametrize("method", METHODS)
def test_dim_1_is_a_difference_of_normal_cdfs(method):
    for u, s in ((-1.5, 2.0), (0.1, 1e-3), (3.0, 40.0), (-39.9, 40.0)):
        lower, upper, density = oracle.ball_tails(u, 1, s, dps=40, method=method)
        near, far = mp.mpf(u), 2 * mp.mpf(s) + u
        rho = mp.mpf(u) + s
        with mp.workdps(450):
            assert close(
                lower,
                mp.log((mp.erf(near / mp.sqrt(2)) + mp.erf(far / mp.sqrt(2))) / 2),
            )
            assert close(upper, mp.log(normal_tail(near, far)))
            assert close(density, mp.log((mp.npdf(near) + mp.npdf(far)) / (2 * rho)))


def test_density_is_the_bessel_form():
    for x, df, nc in [(3.0, 7.5, 2.0), (900.0, 784.0, 100.0), (1.0, 1.5, 40.0)]:
        mu, s = mp.mpf(df) / 2, mp.sqrt(nc)
        bessel = mp.besseli(mu - 1, s * mp.sqrt(x))
        density = (
            mp.exp(-(mp.mpf(x) + nc) / 2)
            * (mp.mpf(x) / nc) ** (mu / 2 - 0.5)
            * bessel
            / 2
        )
        assert close(oracle.ncx2_pdf(x, df, nc, dps=40), density)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("df", "x"), [(1.5, 1e-4), (7, 40.0), (784, 700.0), (3072, 3500.0)]
)
def test_central_tails_are_those_of_arb(df, x, method):
    flint = pytest.importorskip("flint")
    tails = oracle.ncx2_tails(x, df, 0, dps=40, method=method)
    with flint.ctx.workprec(400):
        upper = flint.arb(x / 2).gamma_upper(flint.arb(df) / 2, regularized=1)
        logs = [mp.mpf(v.log().mid().str(60, radius=False)) for v in (1 - upper, upper)]
    assert close(tails.log_lower, logs[0])
    assert close(tails.log_upper, logs[1])


def test_the_two_methods_agree():
    rng = random.Random(11)
    for _ in range(12):
        dim = 10 ** rng.uniform(0, 3)
        s = rng.choice([0.0, 10 ** rng.uniform(-3, 1.8)])
        rho = math.sqrt(s * s + dim) * (
            1 + rng.uniform(-0.9, 2) / math.sqrt(dim / 4 + 1)
        )
        pair = [
            oracle.ball_tails(rho - s, dim, s, dps=40, method=method)
            for method in ("contour", "series")
        ]
        for first, second in zip(*pair, strict=True):
            assert close(first, second), (rho - s, dim, s)


def test_the_edges_of_the_domain():
    assert oracle.ball_tails(-2.0, 3, 2.0) == (-mp.inf, 0, -mp.inf)
    assert oracle.ball_tails(-2.0, 1, 2.0).log_density == mp.inf
    assert oracle.ncx2_pdf(0.0, 2, 0.0) == 0.5
    assert oracle.ball_tails(mp.inf, 3, 2.0) == (0, -mp.inf, -mp.inf)
    assert oracle.ball_score(1.25, 784, mp.inf) == 1.25
    assert oracle.ball_offset(1.25, 784, mp.inf) == 1.25
    assert oracle.ball_offset(-mp.inf, 784, 3.0) == -3
    with pytest.raises(ValueError, match="dim"):
        oracle.ball_tails(1.0, 0.5, 1.0)
    with pytest.raises(ValueError, match="method"):
        oracle.ball_tails(1.0, 2, 1.0, method="other")


def test_the_score_tends_to_u_far_from_the_centre():
    # F = E Phi(u - |Y|^2/(2 s)) + O(s^-2), |Y|^2 chi-square with dim - 1 degrees.
    u, dim, s = mp.mpf("0.75"), 10, mp.mpf(10) ** 12
    assert (
        abs(oracle.ball_score(u, dim, s, dps=40) - (u - (dim - 1) / (2 * s)))
        < 100 / s**2
    )


def test_a_centre_beyond_the_working_precision():
    """s + u needs more digits than are asked for."""
    for s in (1e40, 1e120):
        for u in (-1.5, 3e-9, 2.5):
            tails = oracle.ball_tails(u, 784, s)
            assert close(tails.log_lower, oracle.log_ndtr(u), 1e-28)
            assert close(tails.log_upper, oracle.log_ndtr(-u), 1e-28)


def test_offset_inverts_score():
    for z, dim, s in ((0.0, 1, 0.0), (-37.0, 784, 1e3), (1e3, 10, 1e8), (-1e5, 2, 0.0)):
        u = oracle.ball_offset(z, dim, s, dps=50)
        with mp.workdps(60):
            error = abs(oracle.ball_score(u, dim, s, dps=45) - z)
        assert error <= 1e-38 * max(1, abs(z))


def test_quantiles_invert_both_tails():
    for log_p in (-1e-5, -50.0):
        x = oracle.ncx2_ppf_exp(log_p, 50, 200, dps=45)
        assert close(oracle.ncx2_logcdf(x, 50, 200, dps=40), log_p, 1e-33)
        x = oracle.ncx2_isf_exp(log_p, 50, 200, dps=45)
        assert close(oracle.ncx2_logsf(x, 50, 200, dps=40), log_p, 1e-33)
    assert close(oracle.ncx2_isf(0.25, 2, 0, dps=40), 2 * mp.log(4))
    assert close(oracle.ncx2_ppf(0.25, 2, 0, dps=40), -2 * mp.log(mp.mpf("0.75")))
    assert close(oracle.ncx2_cdf(3.0, 2, 0, dps=40), -mp.expm1(-1.5))
    assert close(oracle.ncx2_sf(3.0, 2, 0, dps=40), mp.exp(-1.5))
    assert close(oracle.ncx2_logpdf(3.0, 2, 0, dps=40), -1.5 - mp.log(2))


def test_clopper_pearson_is_exact():
    for count, n, alpha in [
        (3, 10, 0.05),
        (97, 100, 0.001),
        (1, 1, 0.2),
        (500, 1000, 1e-9),
    ]:
        q = oracle.lower_complement(count, n, alpha, dps=40)
        tail = mp.betainc(count, n - count + 1, 0, 1 - q, regularized=True)
        assert close(tail, alpha, 1e-35)
        score = oracle.lower_score(count, n, alpha, dps=40)
        assert close(oracle.ndtr(-score, dps=40), q, 1e-37)
    assert oracle.lower_complement(0, 10, 0.05) == 1
    assert oracle.upper_bound(10, 10, 0.05) == 1
    assert close(oracle.upper_bound(0, 10, 0.5), 1 - mp.root(0.5, 10), 1e-28)
    assert oracle.upper_score(2, 10, 0.1) == -oracle.lower_score(8, 10, 0.1)


def test_checksums():
    lines = (TABLES / "SHA256SUMS").read_text().splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    files = sorted(TABLES.glob("*.npz"))
    assert sorted(sums) == [path.name for path in files]
    for path in files:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[path.name]


@pytest.mark.parametrize("name", make_tables.MAKERS)
def test_rows_of_the_tables_again(name):
    """A few rows by the default method at 34 digits: hi + lo holds about 32."""
    maker, inputs, outputs = make_tables.MAKERS[name]
    table = np.load(TABLES / f"{name}.npz")
    for k in np.random.default_rng(0).integers(table[inputs[0]].size, size=6):
        row = tuple(float(table[key][k]) for key in inputs)
        for key, value in zip(outputs, maker(row, False), strict=True):
            stored = mp.mpf(float(table[f"{key}_hi"][k])) + mp.mpf(
                float(table[f"{key}_lo"][k])
            )
            # Values below 1e-290 lose their low part to underflow.
            assert make_tables.agree(value, stored) or abs(stored) < 1e-290, (row, key)


# --- below one degree of freedom
# ------------------------------------------------------------


@pytest.mark.parametrize("df", ["0.7", "0.01", "1e-10"])
def test_below_one_degree_the_methods_agree(df):
    """The contour settles slowly where df and nc x are both small; neither is here."""
    for x, nc in (("0.7", "40"), ("40", "30"), ("1e4", "0.5"), ("1e-2", "500")):
        contour, series = (
            oracle.ncx2_tails(x, df, nc, dps=25, method=m) for m in METHODS
        )
        for first, second in zip(contour, series, strict=True):
            assert abs(first - second) <= mp.mpf("1e-24") * max(1, abs(second))


def test_below_one_degree_the_central_law_is_an_incomplete_gamma():
    for df, x in (("1e-10", "0.4"), ("0.01", "1e-5"), ("0.5", "50"), ("1e-200", "3")):
        with mp.workdps(300):
            a, y = mp.mpf(df) / 2, mp.mpf(x) / 2
            truth = mp.log(mp.gammainc(a, y) / mp.gamma(a))
        assert abs(oracle.ncx2_logsf(x, df, 0, dps=25) - truth) <= mp.mpf("1e-22")
    with pytest.raises(ValueError, match="df must"):
        oracle.ncx2_tails(1, 0, 1)


def numbers_of(value):
    """The same number in other types: a quarter of a whole number is one of each."""
    return [
        np.float16(value),
        np.float32(value),
        np.longdouble(value),
        np.array(value),
        Fraction(value),
        Decimal(value),
        mp.mpf(value),
        str(value),
    ]


ASKED = {
    "ndtr": (oracle.ndtr, (0.75,)),
    "log_ndtr": (oracle.log_ndtr, (-3.25,)),
    "ndtri": (oracle.ndtri, (0.25,)),
    "ndtri_exp": (oracle.ndtri_exp, (-2.5,)),
    "ncx2_logsf": (oracle.ncx2_logsf, (30.5, 4.0, 2.25)),
    "gaussian_radius": (oracle.gaussian_radius, (1.5, 0.25)),
    "laplace_radius": (oracle.laplace_radius, (1.5, 0.25)),
    "lower_score": (lambda alpha: oracle.lower_score(90, 100, alpha), (0.125,)),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_number_of_any_type_is_itself(name):
    function, arguments = ASKED[name]
    expected = function(*arguments)
    for kind in range(len(numbers_of(0.25))):
        typed = [numbers_of(value)[kind] for value in arguments]
        assert function(*typed) == expected, typed


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64, np.array])
def test_counts_of_narrow_types_do_not_wrap(kind):
    for function in (oracle.upper_bound, oracle.upper_score, oracle.lower_complement):
        assert function(kind(200), kind(201), 0.001) == function(200, 201, 0.001)
    assert oracle.log_wealth(kind(90), kind(100), 0.5) == oracle.log_wealth(
        90, 100, 0.5
    )


test_counts_are_whole_numbers = refusals(
    {
        r"count.*whole": lambda: oracle.lower_score(90.5, 100, 0.001),
        r"n must.*whole": lambda: oracle.upper_bound(90, 100.5, 0.001),
    }
)


@pytest.mark.parametrize("df", [1e14, 1e20, 1e30])
def test_central_tails_below_the_mean_of_many_degrees_take_no_series(df):
    """Where each term of the series is nearly as large as the last: by the normal law's
    cumulants, to some digits."""
    for wanted in (-9, -7):
        x = df + wanted * math.sqrt(2 * df)
        z = (x - df) / math.sqrt(2 * df)  # of the rounded point
        low = oracle.ncx2_tails(x, df, 0, dps=20).log_lower
        skew = math.sqrt(8 / df)
        expected = oracle.log_ndtr(z - skew * (z * z - 1) / 6, dps=20)
        assert abs(low - expected) < 1e-6 * abs(low)
    assert oracle.ncx2_logsf(5e-324, 1e20, 0) < 0
