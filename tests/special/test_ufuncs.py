"""The special functions are NumPy ufuncs: type, options, methods, names, other arrays,
and arguments outside their domain.
"""

import inspect
import math
import pickle
import pydoc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from special_calls import INSIDE, NAMES

from rsbounds import special
from rsbounds._numerics.errors import ArgumentError
from rsbounds_ext import kernels


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_ufunc_with_a_text_and_pickles(name):
    function = getattr(special, name)
    assert type(function) is np.ufunc
    assert function.__name__ == name
    assert (function.nin, function.nout) == (len(INSIDE[name]), 1)
    assert function.types[0] == "d" * function.nin + "->d"
    assert pickle.loads(pickle.dumps(function)) is function
    shown = pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert inspect.getdoc(function).partition("\n")[0] in shown


@pytest.mark.parametrize("name", NAMES)
def test_arguments_by_name_in_any_order(name):
    function, inside = getattr(special, name), INSIDE[name]
    names = list(inspect.signature(function).parameters)[: len(inside)]
    named = dict(zip(names, inside, strict=True))
    assert function(**named) == function(*inside)
    backwards = dict(reversed(named.items()))
    out = np.empty(2)
    arrays = {key: [value, value] for key, value in backwards.items()}
    assert function(**arrays, out=out) is out
    np.testing.assert_array_equal(out, function(*inside))
    assert function(inside[0], **dict(list(named.items())[1:])) == function(*inside)


def test_wrong_names_are_type_errors():
    for call, text in (
        (lambda: special.ncx2_cdf(1.0, 2.0, x=1.0), "several values for x"),
        (lambda: special.ncx2_cdf(1.0, df=2.0), "needs a value for nc"),
        (lambda: special.ncx2_cdf(1.0, 2.0), "positional arguments"),
        (lambda: special.ncx2_cdf(1.0, 2.0, 3.0, shape=1), "shape"),
        (lambda: special.ndtr(*range(40)), "arguments"),
    ):
        with pytest.raises(TypeError, match=text):
            call()


def test_options_of_a_ufunc():
    p = np.array([[0.1, 0.2], [0.3, 0.4]], order="F")
    expected = special.ndtri(p)
    assert special.ndtri(p, dtype=np.float64).tolist() == expected.tolist()
    assert special.ndtri(p, order="C").flags.c_contiguous
    narrow = np.empty((2, 2), np.float32)
    assert special.ndtri(p, out=(narrow,)) is narrow
    np.testing.assert_array_equal(narrow, expected.astype(np.float32))
    with pytest.raises(TypeError):  # a bound in single precision is none
        special.ndtri(p, dtype=np.float32)
    with pytest.raises(TypeError):
        special.ndtri(p, out=np.empty((2, 2), int))
    kept = np.full((2, 2), 7.0)
    special.ndtri(p, out=kept, where=[[True], [False]])
    np.testing.assert_array_equal(kept, [expected[0], [7.0, 7.0]])


def test_methods_of_a_ufunc():
    upper, lower = [1.0, 2.0, 3.0], [0.0, 1.0]
    gap = special.log_ndtr_gap
    expected = [[gap(a, b) for b in lower] for a in upper]
    np.testing.assert_array_equal(gap.outer(upper, lower), expected)
    assert gap.reduce([3.0, 1.0]) == gap(3.0, 1.0)
    assert gap.accumulate([3.0, 1.0]).tolist() == [3.0, gap(3.0, 1.0)]
    values = np.array([0.1, 0.2, 0.3])
    special.ndtri.at(values, [0, 2])
    assert values.tolist() == [special.ndtri(0.1), 0.2, special.ndtri(0.3)]


class Labelled:
    """An array of another library, which takes ufuncs."""

    def __init__(self, values):
        self.values = values

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = (getattr(value, "values", value) for value in inputs)
        return Labelled(getattr(ufunc, method)(*plain, **options))


def test_arrays_of_other_libraries():
    x = Labelled(np.array([700.0, 800.0]))
    expected = special.ncx2_cdf(x.values, 784, 10.0)
    for result in (
        special.ncx2_cdf(x, 784, 10.0),
        special.ncx2_cdf(df=784, nc=10.0, x=x),
    ):
        assert type(result) is Labelled
        np.testing.assert_array_equal(result.values, expected)
    with pytest.raises(ArgumentError, match=r"^df must be .* in .*; got -1\.0$"):
        special.ncx2_cdf(x, -1, 10.0)
    for number in (True, 10**400):
        with pytest.raises(ArgumentError, match=r"^df must be real numbers; got "):
            special.ncx2_cdf(x, number, 10.0)


def test_series_and_frames_keep_their_index():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([0.2, 0.3], index=["a", "b"], name="p")
    scores = special.ndtri(column)
    assert list(scores.index) == ["a", "b"]
    assert scores.tolist() == special.ndtri(column.to_numpy()).tolist()
    frame = special.ndtri(pandas.DataFrame({"p": column, "q": column}))
    assert list(frame.columns) == ["p", "q"]
    column["b"] = 1.5
    with pytest.raises(ArgumentError, match=r"^p must.*1 of 2 .*first 1\.5"):
        special.ndtri(column)
    missing = pandas.Series([0.2, None], dtype="Float64")
    with np.errstate(invalid="ignore"):
        assert special.ndtri(missing).isna().tolist() == [False, True]


def test_what_is_under_a_mask_may_be_anything():
    p = np.ma.masked_array([0.2, 7.0, np.nan], mask=[False, True, True])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = special.ndtri(p)
    assert scores.mask.tolist() == [False, True, True]
    assert scores[0] == special.ndtri(0.2)
    with np.errstate(all="raise"):
        special.ncx2_nc(np.ma.masked_array([0.2, 0.9, np.nan], [0, 1, 1]), 1.0, 2.0)
    p.mask = [False, False, True]
    with pytest.raises(ArgumentError, match=r"^p must be in .*first 7\.0"):
        special.ndtri(p)


def test_python_s_integers_of_any_size():
    for n in (2**53 + 1, 2**63, 2**64, 10**30):
        assert special.ncx2_logsf(n, 784, 10**20) == special.ncx2_logsf(
            float(n), 784.0, 1e20
        )
        for others in ([n, 1.0], (n, 1)):
            np.testing.assert_array_equal(
                special.ncx2_logsf(others, 784, 10**20),
                special.ncx2_logsf([float(n), 1.0], 784.0, 1e20),
            )
    for x in (10**400, [10**400, 1], [2**70, None], [2**70, True], [2**70, "1"]):
        with pytest.raises(ArgumentError, match=r"^x must be real numbers"):
            special.ncx2_logsf(x, 784, 1.0)


def test_long_doubles_are_checked_before_they_are_rounded():
    above = np.longdouble(1) + np.finfo(np.longdouble).eps
    if above == np.float64(above):
        pytest.skip("a long double is a double here")
    assert special.ndtri(np.longdouble(0.25)) == special.ndtri(0.25)
    for p in (above, np.array([above, 0.5]), -np.finfo(np.longdouble).tiny):
        with pytest.raises(ArgumentError, match=r"^p must be in"):
            special.ndtri(p)


def test_methods_raise_for_arguments_outside_their_domain():
    """There the loop's own error comes through, which names the argument."""
    values = np.array([0.1, 0.2, 3.0])
    with pytest.raises(ArgumentError, match=r"^p must be in \[0, 1\]; got 3\.0$"):
        special.ndtri.at(values, [2])
    assert ArgumentError.__mro__[1] is ValueError


def test_an_error_leaves_no_trace():
    with np.errstate(all="raise"):
        for p in (-1.0, [0.5, -1.0], np.full(10_000, -1.0)):
            with pytest.raises(ArgumentError):
                special.ndtri(p)
        assert special.ndtri(0.5) == 0.0
        assert (np.full(3, 0.5) + 0.5 == 1).all()


def test_nan_for_elements_outside_the_domain():
    nc = np.array([1.0, -1e-18, 2.0])
    usual = special.ncx2_cdf(3.0, 2.0, [1.0, 2.0])
    with special.errstate(domain="nan"):
        with pytest.warns(RuntimeWarning, match="invalid"):
            result = special.ncx2_cdf(3.0, 2.0, nc)
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
            special.ncx2_cdf(3.0, 2.0, nc)
        with np.errstate(invalid="ignore"):
            assert math.isnan(special.ndtri(2.0))
            assert np.isnan(special.ndtri(np.full(10_000, 2.0))).all()
        with pytest.raises(ArgumentError, match=r"^p must be real numbers"):
            special.ndtri("a")
        with special.errstate(domain="raise"), pytest.raises(ArgumentError):
            special.ndtri(2.0)
    np.testing.assert_array_equal(result[[0, 2]], usual)
    assert np.isnan(result[1])
    with pytest.raises(ArgumentError, match=r"^nc must"):
        special.ncx2_cdf(3.0, 2.0, nc)
    with pytest.raises(ValueError, match=r"^domain must be one of 'raise', 'nan'"):
        special.errstate(domain="ignore").__enter__()


def test_each_thread_has_its_own_choice():
    with special.errstate(domain="nan"), ThreadPoolExecutor(1) as pool:
        error = pool.submit(special.ndtri, 2.0).exception()
    assert isinstance(error, ArgumentError)


def test_large_arrays_have_the_bits_of_small_ones():
    """They are computed in pieces, on several threads."""
    p = np.random.default_rng(0).random(30_000).reshape(3, 10_000)
    pieces = [
        special.ndtri(row[k : k + 100]) for row in p for k in range(0, 10_000, 100)
    ]
    np.testing.assert_array_equal(special.ndtri(p).ravel(), np.concatenate(pieces))
    p[2, 77] = 1.5
    with pytest.raises(ArgumentError, match=r"1 of 30000 .*first 1\.5"):
        special.ndtri(p)


def test_results_in_the_place_of_arguments():
    """Blocks of results are stored when their arguments have been read."""
    for function in (special.ndtri, special.ndtri_exp, special.ncx2_cdf):
        p = np.random.default_rng(2).random(500)
        args = (-p,) if function is special.ndtri_exp else (p, 3.0, 2.0)[: function.nin]
        given = np.array(args[0])
        expected = function(*args)
        assert function(given, *args[1:], out=given) is given
        np.testing.assert_array_equal(given, expected)


def test_kernels_alone_give_nan():
    """Those that no user is told of: their callers check."""
    with np.errstate(invalid="ignore"):
        assert math.isnan(kernels.half_gap(2.0, 0.5))
