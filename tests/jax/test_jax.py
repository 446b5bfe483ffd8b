"""The special functions in JAX: values, derivatives, jit, vmap, and what is refused."""

import doctest

import numpy as np
import pytest

from rsbounds import special
from rsbounds.special import derivatives
from rsbounds.special.internal import arguments_of, partials_of

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.slow
LAWS = [(784.0, 100.0), (3072.0, 1e4), (150528.0, 1e6)]


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def rules():
    from rsbounds import jax as rules

    return rules


def point(name, df, nc):
    """Arguments within a law, in the order of the function's."""
    x = float(special.ncx2_ppf(0.3, df, nc))
    values = {"x": x, "df": df, "nc": nc, "p": 0.3, "log_p": -2.0, "z": -1.3}
    values |= {"q": 0.3, "m": df / 2, "a": np.sqrt(nc), "b": np.sqrt(x)}
    if name.startswith("ncx2_nc"):
        values["p"] = 0.9 if "sf" in name else 0.1
        values["log_p"] = np.log(values["p"])
    return [values[key] for key in arguments_of(getattr(special, name))]


def test_the_examples_of_the_module_hold(rules):
    assert doctest.testmod(rules).failed == 0


@pytest.mark.parametrize(("df", "nc"), LAWS)
def test_gradients_are_the_closed_forms_under_jit_and_vmap(rules, df, nc):
    for name in rules.__all__:
        args = point(name, df, nc)
        partials = partials_of(getattr(special, name))
        places = [k for k, partial in enumerate(partials) if partial]
        slopes = jax.grad(getattr(rules, name), argnums=places)
        columns = [np.array([value, value * (1 + 1e-9)]) for value in args]
        found = jax.jit(jax.vmap(slopes))(*columns)
        for place, slope in zip(places, found, strict=True):
            np.testing.assert_array_equal(slope, partials[place](*columns), name)


@pytest.mark.parametrize(("df", "nc"), LAWS)
@pytest.mark.parametrize("name", ["cdf", "logsf", "logpdf", "ppf", "isf_exp"])
def test_gradients_are_those_of_differences(rules, name, df, nc):
    from jax.test_util import check_grads

    function = getattr(rules, f"ncx2_{name}")
    first, _, _ = point(f"ncx2_{name}", df, nc)
    width = np.sqrt(2 * df + 4 * nc)
    of_x = name in ("cdf", "logsf", "logpdf")

    def scaled(t, s):  # steps of a part of the law's width
        if of_x:
            return function(first + t * width, df, nc + s * width)
        return function(first + 0.1 * t, df, nc + s * width) / width

    check_grads(scaled, (0.1, 0.2), order=1, atol=1e-6, rtol=1e-6, eps=1e-5)


def test_values_are_those_of_the_function(rules):
    x, nc = np.array([[700.0], [800.0]]), np.array([1.0, 20.0, 300.0])
    expected = special.ncx2_sf(x, 784, nc)
    for function in (rules.ncx2_sf, jax.jit(rules.ncx2_sf, static_argnums=1)):
        value = function(x, 784, nc)
        assert value.dtype == np.float64
        np.testing.assert_array_equal(value, expected)


def test_vmap_of_arguments_of_different_ranks(rules):
    rows = np.array([[700.0, 800.0, 900.0], [1.0, 784.0, 1e4]])
    shifts = np.array([1.0, 20.0])
    over = jax.vmap(lambda x, nc: rules.ncx2_cdf(x, 784, nc))(rows, shifts)
    np.testing.assert_array_equal(over, special.ncx2_cdf(rows, 784, shifts[:, None]))
    one = jax.vmap(lambda x: rules.ncx2_cdf(x, 784, shifts[0]))(rows)
    np.testing.assert_array_equal(one, special.ncx2_cdf(rows, 784, 1.0))


def test_single_precision_is_float64_rounded_once(rules):
    jax.config.update("jax_enable_x64", False)
    x = np.float32([700.1, 800.1])
    value = rules.ncx2_cdf(x, 784, 20.0)
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value, np.float32(special.ncx2_cdf(x, 784, 20.0)))
    slope = jax.grad(lambda x: rules.ncx2_cdf(x, 784, 20.0))(x[0])
    assert slope == np.float32(derivatives.ncx2_cdf_dx(x[0], 784, 20.0))


def test_what_is_outside_the_domain_is_nan(rules):
    found = rules.ncx2_sf(1.0, 2.0, np.array([-1.0, 1.0, np.nan]))
    np.testing.assert_array_equal(np.isnan(found), [True, False, True])
    slope = jax.grad(lambda nc: rules.ncx2_logsf(1.0, 2.0, nc))(-1.0)
    assert np.isnan(slope)


def test_what_has_no_derivative_is_refused(rules):
    with pytest.raises(ValueError, match=r"^m must not be differentiated by"):
        jax.grad(rules.marcum_q)(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match="first derivatives alone"):
        jax.grad(jax.grad(rules.ndtr))(0.3)
    for value in (True, "a", 1j, np.array([False])):
        with pytest.raises(ValueError, match=r"^z must be real numbers; got"):
            rules.ndtr(value)
    with pytest.raises(TypeError, match="takes x, df, nc; got 2"):
        rules.ncx2_cdf(1.0, 2.0)
