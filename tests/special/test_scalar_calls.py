"""Calls with plain numbers: the compiled way that makes no array gives the array's
answers.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rsbounds import envelope, gaussian, lipschitz, semielastic, special
from rsbounds._numerics import checks
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds_ext import kernels
from rsbounds_ext.kernels import natural, scalar, within

INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, INF, -INF, NAN, 5e-324, -1e300, 1e300, 784.0]


class Half(float):
    """A subclass, which may mean something else."""


def same(a, b):
    """The same bits, or both NaN."""
    a, b = np.float64(a), np.float64(b)
    return bool((a != a and b != b) or a.tobytes() == b.tobytes())


@pytest.mark.parametrize("name", kernels.symbols)
def test_every_kernel_gives_the_bits_of_its_ufunc(name):
    ufunc, arity = getattr(kernels, name), kernels.symbols[name][1]
    random = np.random.default_rng(1)
    usual = random.lognormal(0.0, 3.0, (150, arity)) * random.choice(
        [1.0, 1.0, -1.0], (150, arity)
    )
    usual[::2, arity - 1] = np.abs(usual[::2, arity - 1])
    usual[1::3] = np.abs(usual[1::3])
    usual[2::4, 0] = random.random(len(usual[2::4]))
    odd = random.choice(SPECIAL, (100, arity))
    finite = 0
    for row in np.concatenate([usual, odd]):
        with special.errstate(domain="nan"), np.errstate(all="ignore"):
            (expected,) = ufunc(*row[:, None])
        for args in (row.tolist(), list(row)):
            with special.errstate(domain="nan"):
                value = scalar(ufunc, *args)
            with special.errstate(domain="nan"), np.errstate(all="ignore"):
                assert same(ufunc(*args), expected)
            assert type(value) is np.float64
            assert same(value, expected), (name, args)
        finite += math.isfinite(expected)
    assert finite  # so that not only NaNs were compared


def test_plain_numbers_and_nothing_else():
    for n in (0, -5, 784, 2**53, -(2**53)):
        assert scalar(np.multiply, n, 1.0) == float(n)
        assert scalar(np.multiply, np.int64(n), 1.0) == float(n)
    for n in (
        2**53 + 1,
        -(2**53) - 1,
        2**63,
        10**400,
    ):  # beyond what float64 holds exactly
        assert scalar(np.multiply, n, 1.0) is None
    others = (
        True,
        None,
        "0.5",
        0.5j,
        Half(0.5),
        Fraction(1, 2),
        np.float32(0.5),
        [0.5],
    )
    for value in (
        *others,
        np.longdouble(0.5),
        np.int32(1),
        np.array(0.5),
        np.ma.masked,
    ):
        assert scalar(kernels.ndtri, value) is None
        assert within(value, -INF, INF, "both") is None
    for value in (True, 1.0, "1", None, np.int32(1), np.uint64(1), np.array(1)):
        assert natural(value, 0) is None
    for value in (1, np.int64(1)):
        assert type(natural(value, 0)) is np.int64
        assert natural(value, 2) is None
    assert natural(2**63 - 1, -1) == 2**63 - 1
    assert natural(2**63, -1) is None


def test_no_flag_is_reported_then_or_later():
    with np.errstate(all="raise"):
        with special.errstate(domain="nan"):
            assert math.isnan(scalar(kernels.ndtri, -1.0) or 0.0)
        assert scalar(np.divide, 1.0, 0.0) == INF
        assert scalar(np.exp, 1e3) == INF
        np.add(np.arange(3.0), 1.0)
        assert np.float64(1.0) / np.float64(3.0) > 0


@pytest.mark.parametrize("closed", ["both", "left", "right", "neither"])
@pytest.mark.parametrize("bounds", [(-INF, INF), (0.0, 1.0), (0.0, INF), (-1, 784)])
def test_a_number_passes_as_its_array_does(closed, bounds):
    for value in (*SPECIAL, 2, -3):
        passed = within(value, *bounds, closed)
        try:
            (expected,) = checks.as_floats(
                "x", [value], *bounds, closed=closed, nan=False
            )
        except ValueError:
            assert passed is None
            with pytest.raises(ValueError, match=r"^x must"):
                checks.operand("x", value, *bounds, closed=closed, nan=False)
        else:
            number = checks.operand("x", value, *bounds, closed=closed)
            assert type(passed) is type(number) is np.float64
            assert same(passed, expected)
            assert same(number, expected)
            assert same(checks.as_floats("x", value, *bounds, closed=closed), expected)


def test_other_checks_of_a_number():
    for value in (3, np.int64(3)):
        assert type(checks.as_integers("n", value)) is np.int64
        assert checks.as_integers("n", value) == 3
    for value, text in (
        (-1, ">= 0; got -1"),
        (np.int64(-1), ">= 0; got -1"),
        (2**63, "<"),
    ):
        with pytest.raises(ValueError, match=rf"^n must.*{text}"):
            checks.as_integers("n", value)
    for answer in (
        np.True_,
        np.False_,
        True,
        False,
        np.array([True, False]),
        np.array(True),
    ):
        assert checks.every(answer) is bool(np.all(answer))
        np.testing.assert_array_equal(
            checks.either(answer, 1.0, 2.0), np.where(answer, 1.0, 2.0)
        )
    assert (
        checks.as_floats("seed", 3, 0, 10**18) == 3.0
    )  # the end of a domain may be any number


def test_special_warns_and_raises_as_ever():
    with pytest.warns(RuntimeWarning, match="invalid"):
        assert math.isnan(special.ndtri(NAN))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        special.ncx2_cdf(800.0, NAN, 10.0)
    with pytest.raises(ValueError, match=r"^df must.*-1\.0"):
        special.ncx2_cdf(NAN, -1.0, 10.0)


RADII = {
    "gaussian": lambda p, s, q, d: gaussian.radius(p, s, q),
    "linf": lambda p, s, q, d: gaussian.radius(p, s, q, norm=np.inf, dim=d),
    "semielastic": lambda p, s, q, d: semielastic.radius(p, s, 0.05, d, q),
    "cohen": lambda p, s, q, d: semielastic.radius(p, s, 0, d, q),
    "lipschitz": lambda p, s, q, d: lipschitz.radius(
        p, s, lip=0.3, sigma_min=0.01, dim=d, p_b=q
    ),
    "integrated": lambda p, s, q, d: lipschitz.radius(
        p, s, lip=0.3, sigma_min=0.01, dim=d, p_b=q, method="integrated"
    ),
    "range": lambda p, s, q, d: envelope.radius(
        p, s, envelope.SigmaRange(0.01, 50.0), d, q
    ),
    "branch": lambda p, s, q, d: envelope.branch_radii(
        p, s, envelope.SemiElastic(0.1), d, p_b=q
    )[1],
}


@pytest.mark.parametrize("name", RADII)
def test_a_radius_of_numbers_is_that_of_arrays(name):
    radius, positive = RADII[name], 0
    ps = (0.0, 1e-300, 0.3, 0.5, 0.5 + 2.0**-52, 0.7, 0.99, 1 - 2.0**-53, 1.0)
    for p, *others in product(ps, (0.25, 40), (None, 0.0, 0.3), (1, 784.0)):
        value = radius(p, *others)
        assert type(value) is np.float64
        assert same(value, radius([p], *others)[0]), (p, others)
        positive += bool(value > 0)
    assert positive > 20


@pytest.mark.filterwarnings("ignore:alpha = ")  # levels of all sizes
@pytest.mark.parametrize("bound", [lower_bound, upper_bound])
@pytest.mark.parametrize("scores", [False, True])
def test_a_bound_of_one_count_is_that_of_arrays(bound, scores):
    with np.errstate(all="raise"):  # and it reports no flag
        for n in (1, 2, 1000, 100_000, 10**12):
            counts = sorted({0, 1, n // 3, n // 2, (9 * n) // 10, n - 1, n})
            for alpha in (1e-80, 0.001, 0.3, 0.5, 0.9):
                many = bound(counts, n, alpha, scores=scores)
                for count, expected in zip(counts, many, strict=True):
                    value = bound(count, n, alpha, scores=scores)
                    assert type(value) is np.float64
                    assert same(value, expected), (count, n, alpha)


@pytest.mark.parametrize(
    "call",
    [
        lambda: special.ncx2_logsf(800.0, 784, 10.0),
        lambda: special.log_ndtr(np.float64(-3.0)),
        lambda: gaussian.radius(0.99, 0.25),
        lambda: gaussian.radius(0.99, 0.25, 0.005),
        lambda: semielastic.radius(0.99, 0.25, 0.01, 784),
        lambda: semielastic.radius(0.99, 0.25, 0, 784, 0.005),
        lambda: lipschitz.radius(0.99, 1.0, lip=0.5, sigma_min=0.65, dim=784),
        lambda: lower_bound(990, 1000, 0.001),
        lambda: lower_bound(1000, 1000, 0.001, scores=True),
        lambda: upper_bound(990, 1000, 0.001, scores=True),
    ],
)
def test_numbers_meet_no_array(call, monkeypatch):
    """Arrays made these calls several times as long. (Envelopes check with asarray.)"""

    def refused(*args, **others):
        raise AssertionError("an array")

    expected = call()
    for name in (
        "array",
        "where",
        "all",
        "any",
        "broadcast",
        "broadcast_arrays",
        "ndim",
    ):
        monkeypatch.setattr(np, name, refused)
    assert call() == expected
