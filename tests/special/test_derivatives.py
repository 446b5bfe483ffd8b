"""Derivatives of the special functions against mpmath's differences of the oracle."""

import inspect

import numpy as np
import pytest
from mpmath import mp

from rsbounds import oracle, special
from rsbounds.special import derivatives

# a point in each tail and in the middle, with few and many degrees of freedom
LAWS = [(30.0, 5.0, 20.0), (700.0, 784.0, 100.0), (3300.0, 3072.0, 50.0)]
FAR = [(2e6, 150528.0, 1e6), (1e5, 150528.0, 1e3), (3.0, 0.5, 2.0)]
INVERSE = ("ncx2_ppf", "ncx2_isf", "ncx2_nc", "ncx2_df")
CLOSED = [
    name
    for name in derivatives.__all__
    if not name.endswith("_ddf") and not name.startswith(INVERSE)
]


def split(name):
    """The function, and the place of the argument that a derivative is named after."""
    function, _, argument = name.rpartition("_d")
    parameters = inspect.signature(getattr(derivatives, name)).parameters
    return function, list(parameters).index(argument)


def truth_of(function):
    if not function.startswith("marcum"):
        return getattr(oracle, function)
    tail = {"q": "sf", "p": "cdf"}[function[-1]]
    log = "log" if "log" in function else ""
    of_law = getattr(oracle, f"ncx2_{log}{tail}")
    return lambda m, a, b, dps: of_law(b * b, 2 * m, a * a, dps=dps)


def difference(name, args):
    """To some fourteen digits, by the oracle on both sides."""
    function, place = split(name)
    with mp.workdps(40):
        step = mp.mpf(10) ** -9 * args[place]
        ends = []
        for side in (1, -1):
            moved = [mp.mpf(value) for value in args]
            moved[place] += side * step
            ends.append(truth_of(function)(*moved, dps=26))
        return float((ends[0] - ends[1]) / (2 * step))


def arguments(name, law):
    x, df, nc = law
    function, _ = split(name)
    if function.startswith("marcum"):
        return df / 2, np.sqrt(nc), np.sqrt(x)
    if function in ("ndtr", "log_ndtr"):
        return (-1.5,)
    if function.startswith("ndtri"):
        return (-2.0,) if function.endswith("exp") else (0.2,)
    return law


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name):
    for law in LAWS[:1]:
        args = arguments(name, law)
        value = getattr(derivatives, name)(*args)
        assert value == pytest.approx(difference(name, args), rel=2e-13), args


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("law", [*LAWS[1:], *FAR])
def test_closed_forms_of_other_laws(name, law):
    args = arguments(name, law)
    expected = difference(name, args)
    if abs(expected) > 1e-280:  # else below doubles of full precision
        # logarithms of densities, whose rounding is that of their size, are in some
        value = getattr(derivatives, name)(*args)
        assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("tail", ["cdf", "sf"])
def test_inverses_have_the_inverse_derivatives(tail):
    quantile = {"cdf": "ncx2_ppf", "sf": "ncx2_isf"}[tail]
    shift = {"cdf": "ncx2_nc", "sf": "ncx2_nc_sf"}[tail]
    of = lambda name: getattr(derivatives, name)  # noqa: E731
    for x, df, nc in LAWS:
        p = getattr(special, f"ncx2_{tail}")(x, df, nc)
        dx, dnc = (of(f"ncx2_{tail}_d{key}")(x, df, nc) for key in ("x", "nc"))
        values = {
            of(f"{quantile}_dp")(p, df, nc): 1 / dx,
            of(f"{quantile}_dnc")(p, df, nc): -dnc / dx,
            of(f"{quantile}_exp_dlog_p")(np.log(p), df, nc): p / dx,
            of(f"{quantile}_exp_dnc")(np.log(p), df, nc): -dnc / dx,
            of(f"{shift}_dp")(p, x, df): 1 / dnc,
            of(f"{shift}_dx")(p, x, df): -dx / dnc,
            of(f"{shift}_exp_dlog_p")(np.log(p), x, df): p / dnc,
            of(f"{shift}_exp_dx")(np.log(p), x, df): -dx / dnc,
        }
        for value, expected in values.items():
            assert value == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", ["cdf", "sf", "logcdf", "logsf"])
def test_difference_quotients_in_df(name):
    for law in [(30.0, 5.0, 20.0), (1.5, 0.3, 2.0)]:
        value = getattr(derivatives, f"ncx2_{name}_ddf")(*law)
        assert value == pytest.approx(difference(f"ncx2_{name}_ddf", law), rel=1e-7)


@pytest.mark.parametrize("law", [(30.0, 5.0, 20.0), (1.5, 0.3, 2.0)])
def test_inverses_in_df_by_the_implicit_function(law):
    """-(dF/ddf)/f and (dF/ddf)/f2, from the oracle alone."""
    x, df, nc = law
    in_df = difference("ncx2_cdf_ddf", law)
    moved = {
        "": -in_df / difference("ncx2_cdf_dx", law),
        "nc": -in_df / difference("ncx2_cdf_dnc", law),
    }
    p, q = special.ncx2_cdf(*law), special.ncx2_sf(*law)
    values = {
        derivatives.ncx2_ppf_ddf(p, df, nc): moved[""],
        derivatives.ncx2_isf_ddf(q, df, nc): moved[""],
        derivatives.ncx2_ppf_exp_ddf(np.log(p), df, nc): moved[""],
        derivatives.ncx2_isf_exp_ddf(np.log(q), df, nc): moved[""],
        derivatives.ncx2_nc_ddf(p, x, df): moved["nc"],
        derivatives.ncx2_nc_sf_ddf(q, x, df): moved["nc"],
        derivatives.ncx2_nc_exp_ddf(np.log(p), x, df): moved["nc"],
        derivatives.ncx2_nc_sf_exp_ddf(np.log(q), x, df): moved["nc"],
        derivatives.ncx2_df_dp(p, x, nc): 1 / in_df,
        derivatives.ncx2_df_sf_dp(q, x, nc): -1 / in_df,
        derivatives.ncx2_df_exp_dlog_p(np.log(p), x, nc): p / in_df,
        derivatives.ncx2_df_sf_exp_dlog_p(np.log(q), x, nc): -q / in_df,
    }
    for tail, value in {
        "": p,
        "_sf": q,
        "_exp": np.log(p),
        "_sf_exp": np.log(q),
    }.items():
        in_x = getattr(derivatives, f"ncx2_df{tail}_dx")(value, x, nc)
        in_nc = getattr(derivatives, f"ncx2_df{tail}_dnc")(value, x, nc)
        assert in_x == pytest.approx(1 / moved[""], rel=1e-7)
        assert in_nc == pytest.approx(1 / moved["nc"], rel=1e-7)
    for value, expected in values.items():
        assert value == pytest.approx(expected, rel=1e-7)


def test_quantiles_move_with_df_far_out_too():
    """Where the tail itself is no double: log p = -2000."""
    ends = [special.ncx2_isf_exp(-2e3, 784.0 + d, 50.0) for d in (-0.01, 0.01)]
    value = derivatives.ncx2_isf_exp_ddf(-2e3, 784.0, 50.0)
    assert value == pytest.approx((ends[1] - ends[0]) / 0.02, rel=1e-8)
    assert derivatives.ncx2_ppf_ddf(0.0, 784.0, 50.0) == 0


@pytest.mark.parametrize("tail", ["", "_sf"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_degrees_of_freedom_move_far_out_too(tail, place):
    args = [-2e3, {"": 50.0, "_sf": 5e4}[tail], 20.0]
    step = 1e-4 * abs(args[place])
    ends = []
    for side in (-1, 1):
        moved = args.copy()
        moved[place] += side * step
        ends.append(getattr(special, f"ncx2_df{tail}_exp")(*moved))
    name = f"ncx2_df{tail}_exp_d{('log_p', 'x', 'nc')[place]}"
    value = getattr(derivatives, name)(*args)
    assert value == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-7)


def test_the_number_of_the_theory():
    value = derivatives.ncx2_cdf_dnc(30.0, 5, 20.0)
    assert value == pytest.approx(-0.0356303707, rel=1e-9)


def test_logarithms_keep_their_digits_far_out():
    """d log Q/d nc at log Q = -414, where logarithms' difference would have none."""
    law = (4e3, 784.0, 1e3)
    value = derivatives.ncx2_logsf_dnc(*law)
    assert value == pytest.approx(difference("ncx2_logsf_dnc", law), rel=1e-13)


def test_limits_and_arguments():
    assert derivatives.ncx2_cdf_dnc(0.0, 1.0, 2.0) == 0
    assert derivatives.log_ndtr_dz(-np.inf) == np.inf
    assert derivatives.log_ndtr_dz(np.inf) == 0
    with pytest.raises(ValueError, match=r"^nc must be in"):
        derivatives.ncx2_logsf_dnc(1.0, 2.0, -1.0)


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("ncx2_cdf_ddf", (0.0, 5.0, 2.0)),
        ("ncx2_cdf_ddf", (np.inf, 5.0, 2.0)),
        ("ncx2_sf_ddf", (np.inf, 5.0, 2.0)),
        ("ncx2_logcdf_ddf", (np.inf, 5.0, 2.0)),
        ("ncx2_logsf_ddf", (0.0, 5.0, 2.0)),
        ("ncx2_cdf_dnc", (np.inf, 5.0, 2.0)),
        ("ncx2_sf_dnc", (np.inf, 5.0, 2.0)),
        ("ncx2_logcdf_dnc", (np.inf, 5.0, 2.0)),
        ("ncx2_pdf_dnc", (np.inf, 5.0, 2.0)),
        ("ncx2_pdf_dx", (np.inf, 5.0, 2.0)),
        ("marcum_q_da", (2.0, 3.0, np.inf)),
        ("marcum_q_db", (2.0, 3.0, np.inf)),
        ("marcum_p_da", (2.0, 3.0, np.inf)),
        ("marcum_p_db", (2.0, 3.0, np.inf)),
        ("marcum_logp_da", (2.0, 3.0, np.inf)),
        ("marcum_logp_db", (2.0, 3.0, np.inf)),
    ],
)
def test_a_probability_that_stays_0_or_1_has_slope_0(name, point):
    """They were NaN, and with them the gradient of every sum they were part of."""
    assert getattr(derivatives, name)(*point) == 0


IN_PARAMETERS = [
    name for name in derivatives.__all__ if name.startswith(("ncx2_nc_", "ncx2_df_"))
]


@pytest.mark.parametrize("name", IN_PARAMETERS)
def test_an_inverse_that_is_a_limit_has_no_derivative(name):
    """It was an error about a noncentrality or df, of a call that has none."""
    function, _ = split(name)
    log = function.endswith("_exp")
    last = 0.0 if function.startswith("ncx2_df") else 2.0
    inside = -1.3 if log else 0.3
    seen = 0
    for end in (-np.inf, 0.0) if log else (0.0, 1.0):
        with np.errstate(invalid="ignore"):
            value = getattr(special, function)(end, 5.0, last)
        if value == np.inf or (value == 0 and last == 0):
            seen += 1
            with np.errstate(invalid="ignore"):
                slopes = getattr(derivatives, name)([end, inside], 5.0, last)
            assert np.isnan(slopes[0])
            assert np.isfinite(slopes[1])
    assert seen
