"""Special functions on tensors: values, gradients, vmap, and what is refused."""

import numpy as np
import pytest
import torch

from rsbounds import special
from rsbounds.torch import special as rules

LAWS = [(784.0, 100.0), (3072.0, 1e4), (150528.0, 1e6)]


def double(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def law_points(df, nc):
    p = np.array([1e-3, 0.3, 0.99])
    return special.ncx2_ppf(p, df, nc)


@pytest.mark.parametrize(("df", "nc"), LAWS)
@pytest.mark.parametrize("name", ["cdf", "sf", "pdf", "logcdf", "logsf", "logpdf"])
def test_gradients_in_the_point_and_the_noncentrality(name, df, nc):
    function = getattr(rules, f"ncx2_{name}")
    width = np.sqrt(2 * df + 4 * nc)
    t = double(0.1, -0.2, 0.3)
    s = double(0.3)
    x = torch.as_tensor(law_points(df, nc))

    def scaled(t, s):  # steps of a part of the law's width
        return function(x + t * width, df, nc + s * width) * (
            width if name == "pdf" else 1
        )

    assert torch.autograd.gradcheck(scaled, (t, s), eps=1e-5, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(("df", "nc"), LAWS)
@pytest.mark.parametrize("name", ["ppf", "isf", "ppf_exp", "isf_exp"])
def test_gradients_of_quantiles(name, df, nc):
    function = getattr(rules, f"ncx2_{name}")
    width = np.sqrt(2 * df + 4 * nc)
    p = double(-3.0, -0.2) if name.endswith("exp") else double(0.1, 0.7)
    s = double(0.3)

    def scaled(p, s):
        return (function(p, df, nc + s * width) - df - nc) / width

    assert torch.autograd.gradcheck(scaled, (p, s), eps=1e-6, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["q", "p", "logq", "logp"])
@pytest.mark.parametrize("m", [1.0, 392.0, 75264.0])
def test_gradients_of_marcum_s_q(name, m):
    function = getattr(rules, f"marcum_{name}")
    b = special.marcum_q_inv(0.3, m, 10.0)
    args = (double(10.0, 10.5), double(b, b - 0.1))
    assert torch.autograd.gradcheck(lambda a, b: function(m, a, b), args, eps=1e-5)


def test_gradients_of_the_normal_law_and_of_inverses():
    for function, values in (
        (rules.ndtr, (-2.0, 0.5)),
        (rules.log_ndtr, (-30.0, 0.0, 2.0)),
        (rules.ndtri, (0.01, 0.7)),
        (rules.ndtri_exp, (-20.0, -0.1)),
    ):
        assert torch.autograd.gradcheck(function, (double(*values),))
    args = (double(0.2, 0.3), double(900.0))
    assert torch.autograd.gradcheck(lambda p, x: rules.ncx2_nc(p, x, 784.0), args)


@pytest.mark.parametrize("df", [1.5, 784.0, 3072.0, 150528.0])
@pytest.mark.parametrize("parameter", ["nc", "df"])
@pytest.mark.parametrize("tail", ["", "_sf", "_exp", "_sf_exp"])
def test_gradients_of_inverses_in_the_parameters(tail, parameter, df):
    function = getattr(rules, f"ncx2_{parameter}{tail}")
    nc = df / 8
    width = np.sqrt(2 * df + 4 * nc)
    p = 0.4 if "sf" in tail else 0.3
    x = special.ncx2_isf(p, df, nc) if "sf" in tail else special.ncx2_ppf(p, df, nc)
    first = double(np.log(p) if "exp" in tail else p)
    other = df if parameter == "nc" else nc

    def scaled(first, t, s):
        return function(first, x + t * width, other + s * width) / width

    args = (first, double(0.0), double(0.0))
    assert torch.autograd.gradcheck(scaled, args, eps=1e-5, atol=1e-6, rtol=1e-5)


def test_a_difference_quotient_in_df():
    df = double(5.0, 784.0)
    assert torch.autograd.gradcheck(lambda df: rules.ncx2_logsf(800.0, df, 20.0), (df,))


def test_values_are_those_of_the_function():
    x = torch.tensor([[700.0], [800.0]])
    nc = torch.tensor([1.0, 20.0, 300.0], dtype=torch.float64)
    value = rules.ncx2_sf(x, 784, nc)
    assert value.dtype == torch.float64
    expected = special.ncx2_sf(x.numpy(), 784, nc.numpy())
    np.testing.assert_array_equal(value.numpy(), expected)


def test_single_precision_gets_its_gradient_back():
    x = torch.tensor([700.0, 800.0], requires_grad=True)
    rules.ncx2_cdf(x, 784, 20.0).sum().backward()
    assert x.grad.dtype == torch.float32


def test_vmap_and_functional_gradients():
    nc = torch.tensor([1.0, 20.0], dtype=torch.float64)

    def slope(nc):
        return torch.func.grad(lambda t: rules.ncx2_logsf(800.0, 784.0, t))(nc)

    expected = special.derivatives.ncx2_logsf_dnc(800.0, 784.0, nc.numpy())
    np.testing.assert_array_equal(torch.vmap(slope)(nc).numpy(), expected)


def test_what_has_no_derivative_is_refused():
    with pytest.raises(ValueError, match=r"^m must not require a gradient"):
        rules.marcum_q(double(1.0), 2.0, 3.0)
    with pytest.raises(ValueError, match=r"^nc must be in"):
        rules.ncx2_sf(1.0, 2.0, torch.tensor(-1.0))
    with pytest.raises(ValueError, match=r"^z must be real"):
        rules.ndtr(torch.tensor([True]))
    z = double(0.3)
    (first,) = torch.autograd.grad(rules.ndtr(z), z, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives"):
        first.backward()
