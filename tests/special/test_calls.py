"""How rsbounds.special is called: broadcasting, out=, where=, scalars, NaN, limits, bad
input.
"""

import inspect
import re
import warnings

import mpmath as mp
import numpy as np
import pytest
from cases import slow_among
from special_calls import CALLS, IN_A_PARAMETER, INF, INSIDE, NAMES

from rsbounds import oracle, special
from rsbounds.special.internal import ERROR_KINDS

OUTSIDE = {
    "p": [-1e-9, 1.0000000000000002, INF],
    "log_p": [1e-300, INF],
    "x": [-1e-300, -INF],
    "dim": [0.0, 0.9999999999999999, -3.0, 1.00000001e8, INF],
    "df": [9.999999999999999e-301, -3.0, 1.00000001e30, INF],
    "s": [-1e-300, -INF],
    "nc": [-1e-300, 1.0000001e60, INF],
    "m": [4.999999999999999e-301, -3.0, 5.00000001e29, INF],
    "a": [-1e-300, 1.0000001e30, INF],
    "b": [-1e-300, -INF],
    "q": [-1e-9, 1.0000000000000002, INF],
}


def function(name):
    return getattr(special, name)


def parameters(name):
    return list(inspect.signature(function(name)).parameters)[: len(INSIDE[name])]


def test_every_function_is_here():
    assert {*NAMES, "error_bound", "errstate"} == set(special.__all__)


# the truth of an inverse in a parameter is a search for the root of an integral
@pytest.mark.parametrize("name", slow_among(IN_A_PARAMETER, NAMES))
def test_the_truth_at_a_point(name):
    """To 1e-13: other tests measure the last digits, at many points."""
    inside = CALLS[name].inside
    truth = CALLS[name].truth or getattr(oracle, name)
    expected = truth(*map(mp.mpf, inside))
    assert function(name)(*inside) == pytest.approx(float(expected), rel=1e-13, abs=0)


@pytest.mark.parametrize("name", NAMES)
def test_any_real_dtype_any_layout(name):
    args = INSIDE[name]
    expected = function(name)(*args)
    assert type(expected) is type(function(name)(*map(np.asarray, args))) is np.float64
    assert np.isfinite(expected)
    grid = [np.full((3, 4), a)[::-1, ::2].T for a in args]
    np.testing.assert_array_equal(function(name)(*grid), np.full((2, 3), expected))
    assert function(name)(*([a] for a in args)).tolist() == [expected]
    single = function(name)(*(np.float32(a) for a in args))
    assert single.dtype == np.float64
    assert single == function(name)(*(float(np.float32(a)) for a in args))
    assert function(name)(*(np.empty(0) for _ in args)).shape == (0,)


@pytest.mark.parametrize("name", NAMES)
def test_out_and_where(name):
    args = [np.array([a, a, a]) for a in INSIDE[name]]
    expected = function(name)(*INSIDE[name])
    out, where = np.full(3, 7.0), np.array([True, False, True])
    assert function(name)(*args, out=out, where=where) is out
    np.testing.assert_array_equal(out, [expected, 7.0, expected])
    assert function(name)(*args, out) is out  # third positional place, as for a ufunc
    np.testing.assert_array_equal(out, np.full(3, expected))


def test_what_where_leaves_out_is_not_checked():
    x, out = np.array([1.0, -5.0, np.nan]), np.zeros(3)
    special.ncx2_cdf(x, 3, 1, out=out, where=x > 0)
    assert out[0] > 0
    np.testing.assert_array_equal(out[1:], 0)


def test_out_may_be_the_argument():
    x = np.array([2.0, 0.5])
    with pytest.raises(ValueError, match=r"^p must be in \[0, 1\]; got 2.0"):
        special.ndtri(x, out=x)
    x = np.array([0.25, 0.5])
    expected = special.ndtri(x)
    assert special.ndtri(x, out=x) is x
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_nan_in_nan_out_with_the_invalid_flag(name):
    for position in range(len(INSIDE[name])):
        args = [np.array([a, a]) for a in INSIDE[name]]
        args[position][1] = np.nan
        with np.errstate(invalid="ignore"):
            value = function(name)(*args)
        assert np.isnan(value).tolist() == [False, True]
        with pytest.warns(RuntimeWarning, match="invalid"):
            function(name)(*args)
        for out in ({}, {"out": np.empty(2)}):
            with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
                function(name)(*args, **out)


@pytest.mark.parametrize("name", NAMES)
def test_limits_and_no_flag_without_a_nan(name):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        function(name)(*INSIDE[name])
        for args, expected in CALLS[name].limits:
            assert function(name)(*args) == pytest.approx(expected, rel=1e-15, abs=0), (
                args
            )


@pytest.mark.parametrize("name", NAMES)
def test_outside_the_domain(name):
    inside = dict(zip(parameters(name), INSIDE[name], strict=True))
    cases = [(k, v) for k in inside for v in OUTSIDE.get(k, [])]
    for key, value in cases:
        text = rf"^{key} must be (?:0 or )?in .*; got {re.escape(str(value))}"
        with pytest.raises(ValueError, match=text):
            function(name)(*(inside | {key: value}).values())
        args = {k: np.full(5, v) for k, v in inside.items()}
        args[key][0] = value
        with pytest.raises(ValueError, match=rf"^{key} must.*1 of 5"):
            function(name)(*args.values())
        with pytest.raises(ValueError, match=rf"^{key} must"):
            function(name)(*args.values(), out=np.empty(5))


@pytest.mark.parametrize(
    "value", ["a", None, 1j, [[1.0], [1.0, 2.0]], object(), True, [True]]
)
def test_not_numbers(value):
    for name in NAMES:
        key = parameters(name)[0]
        with pytest.raises(ValueError, match=rf"^{key} must.*real"):
            function(name)(value, *INSIDE[name][1:])


@pytest.mark.parametrize("count", [10, 200_000])
@pytest.mark.parametrize("kind", ["U3", object, complex, "m8[s]"])
def test_other_types_are_refused_at_any_size(count, kind):
    wrong = np.full(
        count, 1 if kind == "m8[s]" else "0.5" if kind == "U3" else 0.5, dtype=kind
    )
    with pytest.raises(ValueError, match=r"^p must.*real"):
        special.ndtri(wrong)


def test_unusual_numbers():
    assert special.ndtri(np.longdouble(0.25)) == special.ndtri(0.25)
    assert special.ndtri(np.ma.masked) is np.ma.masked
    with pytest.raises(ValueError, match=r"^nc must.*real"):  # over float64
        special.ncx2_sf(0.5, 1, 10**400)


def test_shapes_and_values_behind_a_nan():
    with pytest.raises(ValueError, match=r"broadcast.*u \(2,\)"):
        special.ball_score(np.zeros(2), np.ones(3), 1.0)
    for u, dim in (([np.nan, 1.0], [5.0, 0.5]), (np.nan, 0.5)):
        with pytest.raises(ValueError, match=r"^dim must"):
            special.ball_score(u, dim, 1.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("measured", [False, True])
def test_error_bound_of_every_function(name, measured):
    def bound_of(value, **df):
        return special.error_bound(name, value, measured=measured, **df)

    value = function(name)(*INSIDE[name])
    bound = bound_of(value)
    assert type(bound) is np.float64
    assert 0 < bound < 1e-12 * max(1.0, abs(value))
    assert bound_of(INF) == 0
    with np.errstate(invalid="ignore"):
        assert np.isnan(bound_of(np.nan))
    assert bound_of(np.full((2, 3), value)).shape == (2, 3)
    # by default it covers every df
    usual, low, few = (bound_of(value, df=df) for df in (4.0, 1.0, 0.99))
    assert bound == few
    assert usual <= low <= few
    inverse = ERROR_KINDS[name].startswith("inverse")
    of_df = name.startswith(("ncx2", "marcum")) and (measured or not inverse)
    assert (usual < few) == of_df
    by_df = bound_of(value, df=[1e-300, 784.0])
    np.testing.assert_array_equal(by_df, [few, usual])
    assert special.error_bound(name, value, measured=True) <= special.error_bound(
        name, value
    )


def test_error_bound_covers_underflow():
    for name in ("ncx2_cdf", "ncx2_pdf", "log_ndtr", "ball_score"):
        for value in (0.0, 5e-324, 1e-310):
            assert special.error_bound(name, value) >= 1e-323


def test_error_bound_refuses_what_it_does_not_know():
    for args, df, text in (
        (("gamma", 1.0), None, r"^name must be one of .*'log_ndtr'.*; got 'gamma'"),
        (("log_ndtr", "a"), None, r"^value must be real numbers"),
        (("ncx2_cdf", 0.5), -1, r"^df must be 0 or in \[1e-300, 1e\+30\]; got -1"),
        (
            ("ncx2_cdf", [0.5, 0.1]),
            [1, 2, 3],
            r"^shapes must broadcast together; got value \(2,\)",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            special.error_bound(*args, df=df)
