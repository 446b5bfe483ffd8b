"""Radii of tensors: the library's values, and gradients of those values."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import rsbounds
from rsbounds import oracle
from rsbounds.torch import radius
from rsbounds.torch.radius._slopes import _score_slope


def double(*values, grad=True):
    return [torch.tensor(v, dtype=torch.float64, requires_grad=grad) for v in values]


def differences(f, x):
    """Five-point derivative; of values to 1e-12, with a step of 3e-3 x: 1e-9."""
    h = 3e-3 * x
    a, b, c, d = (float(f(x + k * h)) for k in (-2, -1, 1, 2))
    return (8 * (c - b) - (d - a)) / (12 * h)


def check_slopes(f, library, point, **known):
    """f's gradient against differences of the library's radius, in units of R/x."""
    given = dict(zip(point, double(*point.values()), strict=True))
    r = f(**given, **known)
    assert r.item() == pytest.approx(float(library(**point, **known)), rel=1e-15)
    assert 0 < r.item() < math.inf
    r.backward()
    for name, x in point.items():
        slope = differences(
            lambda v, name=name: library(**{**point, name: v}, **known), x
        )
        result = given[name].grad.item() * x / r.item()
        assert result == pytest.approx(slope * x / r.item(), rel=2e-7, abs=2e-9), name


semielastic = partial(check_slopes, radius.semielastic, rsbounds.semielastic.radius)
lipschitz = partial(check_slopes, radius.lipschitz, rsbounds.lipschitz.radius)
DIMS = pytest.mark.parametrize("dim", [1, 3, 784, 150528])


@DIMS
@pytest.mark.parametrize("sigma", [0.25, 1e4])
def test_semielastic_slopes(sigma, dim):
    """Tiny and huge radii, rates that hardly matter and rates that rule certification
    out.
    """
    for z in (1e-3, 0.5, 2.3, 6.0, 30.0):
        for rate in (1e-9, 1e-4, 0.01, 0.3):
            point = {"p_a": z, "sigma": sigma, "rate": rate / sigma}
            semielastic(point, dim=dim, scores=True)


@DIMS
@pytest.mark.parametrize(
    ("p_a", "p_b"), [(0.4, 0.3), (0.9, 0.01), (0.99, 1e-9), (0.5001, 0.4)]
)
def test_semielastic_slopes_with_a_runner_up(p_a, p_b, dim):
    # near 1 differences over 3e-3 p_a tell little: there of scores alone
    point = {"p_a": p_a, "p_b": p_b, "sigma": 0.5, "rate": 0.02}
    if p_a < 0.8:
        semielastic(point, dim=dim)
    scores = {
        name: float(rsbounds.special.ndtri(point[name])) for name in ("p_a", "p_b")
    }
    semielastic({**point, **scores}, dim=dim, scores=True)


@DIMS
@pytest.mark.parametrize(
    ("z", "sigma", "lip", "floor"),
    [
        (1e-3, 0.5, 0.01, 0.1),
        (2.3, 0.5, 0.01, 0.1),
        (2.3, 0.5, 0.3, 0.4),  # in low dimension the floor ends the low branch
        (2.3, 5e3, 1e-6, 1.0),
        (6.0, 0.5, 0.05, 0.3),
        (1.0, 0.5, 2.0, 0.45),
    ],
)
def test_lipschitz_slopes(z, sigma, lip, floor, dim):
    point = {"p_a": z, "sigma": sigma, "lip": lip, "sigma_min": floor}
    lipschitz(point, dim=dim, scores=True)


@pytest.mark.parametrize(
    ("z", "lip", "floor", "dim"), [(0.8, 1.0, 0.5, 1), (3.0, 0.2, 0.5, 3)]
)
def test_the_floor_has_a_slope_where_it_holds_sigma(z, lip, floor, dim):
    point = {"p_a": z, "sigma": 1.0, "lip": lip, "sigma_min": floor}
    envelope = rsbounds.envelope.LipschitzSigma(lip, floor)
    low, high = rsbounds.envelope.branch_radii(z, 1.0, envelope, dim, scores=True)
    assert low < 0.99 * high
    assert 1 - lip * low < 0.99 * floor

    lipschitz(point, dim=dim, scores=True)
    at, constant = double(floor, lip)
    moved = point | {"sigma_min": at, "lip": constant}
    radius.lipschitz(**moved, dim=dim, scores=True).backward()
    assert at.grad > 0
    assert constant.grad == 0


@pytest.mark.parametrize(
    ("dim", "p_b"), [(2, 1.8e-33), (3, 1e-40), (1, 1e-20), (10, 1e-100)]
)
def test_slopes_where_the_ball_of_the_runner_up_is_tiny(dim, p_b):
    """Its radius was the difference of two numbers alike to all digits: 16.01 in place
    of 17.10.
    """

    point = {"p_a": 0.977, "sigma": 1.0, "sigma_min": 0.22, "p_b": p_b}
    given = dict(zip(point, double(*point.values()), strict=True))
    radius.lipschitz(**given, lip=0.3, dim=dim).backward()
    for name, x in point.items():
        scale = 1 - x if name == "p_a" else x

        def at(t, name=name, x=x, scale=scale):
            return rsbounds.lipschitz.radius(
                **{**point, name: x + (t - 1) * scale}, lip=0.3, dim=dim
            )

        assert given[name].grad.item() * scale == pytest.approx(
            differences(at, 1.0), rel=1e-8
        ), name


def test_gradcheck():
    z = torch.tensor([0.3, 1.0, 2.5], dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor([[0.5], [1.5]], dtype=torch.float64, requires_grad=True)
    rate, lip, floor, z_b = double(0.05, 0.1, 0.4, -0.4)

    def of_rate(z, sigma, rate, z_b):
        return radius.semielastic(z, sigma, rate, 784, p_b=z_b, scores=True)

    def of_lip(z, sigma, lip, floor):
        return radius.lipschitz(z, sigma, lip=lip, sigma_min=floor, dim=3, scores=True)

    for f, given in (
        (of_rate, (z, sigma, rate, z_b)),
        (of_lip, (z, sigma, lip, floor)),
    ):
        # radii carry 12 digits, so differences over 1e-4 carry 8
        assert gradcheck(f, given, eps=1e-4, atol=1e-6, rtol=1e-5)


def test_first_order_only_where_the_second_is_not_known():
    z, rate = double(2.0, 0.1)
    r = radius.semielastic(z, 0.5, rate, 784, scores=True)
    (slope,) = torch.autograd.grad(r * r, z, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.backward()
    (slope,) = torch.autograd.grad(
        radius.semielastic(z, 0.5, rate, 784, scores=True), z
    )
    with pytest.raises(RuntimeError, match="does not require grad"):
        slope.backward()


def test_closed_forms_to_second_order():
    p, p_b, sigma = double(0.9, 0.05, 0.5)
    levels = torch.tensor([0.5, 0.3, 1.1], dtype=torch.float64, requires_grad=True)
    for check in (gradcheck, gradgradcheck):
        assert check(
            lambda p, sigma, b: radius.gaussian(p, sigma, p_b=b), (p, sigma, p_b)
        )
        for norm in (1, 2, 3, math.inf):
            at = partial(radius.anisotropic, norm=norm)
            assert check(
                lambda p, levels, b, at=at: at(p, levels, p_b=b), (p, levels, p_b)
            )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_are_lower_bounds_of_the_library_s(dtype):
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(200, generator=generator, dtype=dtype)
    p_b = (1 - p) * torch.rand(200, generator=generator, dtype=dtype)
    sigma = (4 * torch.rand(200, generator=generator, dtype=dtype)).exp()
    levels = (2 * torch.randn(200, 5, generator=generator, dtype=dtype)).exp()
    a, b, s, axes = (x.double().numpy() for x in (p, p_b, sigma, levels))
    calls = [("gaussian", (s,), {}), ("semielastic", (s, 1e-3, 9), {})]
    calls += [("anisotropic", (axes,), {"norm": norm}) for norm in (2.0, 5.0, math.inf)]
    for name, (level, *rest), options in calls:
        known = levels if level is axes else sigma
        mine = getattr(radius, name)(p, known, *rest, p_b=p_b, **options)
        theirs = getattr(rsbounds, name).radius(a, level, *rest, p_b=b, **options)
        assert mine.dtype == dtype
        # the library's own rounding takes 1e-11 of the radius; never more than that
        # above it
        assert np.all(mine.double().numpy() <= theirs * (1 + 1e-11))
        close = 4 * torch.finfo(dtype).eps + 2e-12
        np.testing.assert_allclose(
            mine.double(), theirs, rtol=close, atol=1e-12 * s.max()
        )


def test_gaussian_is_below_the_truth():
    z = np.concatenate([np.linspace(1e-9, 38, 40), [1e3, 1e100]])
    for score in z:
        truth = oracle.gaussian_radius(float(score), 0.7)
        assert radius.gaussian(torch.tensor(score), 0.7, scores=True).item() <= truth
    for p in (0.5 + 1e-9, 0.6, 0.9, 1 - 1e-9, 1 - 2**-53):
        truth = oracle.gaussian_radius(oracle.ndtri(p), 0.7)
        found = radius.gaussian(torch.tensor(p, dtype=torch.float64), 0.7).item()
        assert truth * (1 - 1e-12) - 1e-13 <= found <= truth


def test_an_error_of_torch_s_quantile_reaches_no_radius(monkeypatch):
    p = torch.tensor([0.4, 0.6, 0.99, 1.0], dtype=torch.float64)
    before, quantile = radius.gaussian(p, 0.7, p_b=0.01), torch.special.ndtri
    monkeypatch.setattr(torch.special, "ndtri", lambda p: 1.01 * quantile(p))
    assert torch.equal(radius.gaussian(p, 0.7, p_b=0.01), before)
    assert before[-1] == torch.inf


def test_no_radius_no_slope():
    p, sigma, rate = double(0.4, 0.5, 0.1)
    for p_a in (p, double(1.0)[0]):
        r = radius.semielastic(p_a, sigma, rate, 784)
        assert r.item() == (0.0 if p_a is p else math.inf)
        grads = torch.autograd.grad(r, (p_a, sigma, rate))
        assert all(g == 0 for g in grads)
    for at in (p, *double(0.0, 1.0)):
        (one,) = torch.autograd.grad(radius.gaussian(at, 0.5), at)
        assert one == 0
    assert radius.gaussian(torch.tensor(math.nan), 1.0).isnan()
    z = torch.tensor([50.0, 1e4], dtype=torch.float64, requires_grad=True)
    radius.semielastic(
        z, 0.5, 1e-6, 784, scores=True
    ).sum().backward()  # no probability has these
    assert torch.all((z.grad > 0.49) & (z.grad <= 0.5 + 1e-9))
    # rates of 0 and levels at the floor: Cohen
    r = radius.semielastic(0.99, sigma, double(0.0)[0], 784)
    (by_sigma,) = torch.autograd.grad(r, sigma)
    assert by_sigma.item() == pytest.approx(
        float(rsbounds.special.ndtri(0.99)), rel=1e-11
    )


def test_a_level_below_its_floor_by_a_rounding():
    sigma = torch.tensor(0.45, requires_grad=True)  # float32: .45 is rounded down
    assert sigma.item() < 0.45
    r = radius.lipschitz(
        torch.tensor(2.0), sigma, lip=0.01, sigma_min=0.45, dim=784, scores=True
    )
    assert r.dtype == torch.float32
    r.backward()
    assert sigma.grad > 0
    with pytest.raises(ValueError, match="sigma"):
        radius.lipschitz(2.0, 0.449, lip=0.01, sigma_min=0.45, dim=784, scores=True)


def test_refusals():
    p, of = torch.tensor([0.5, 1.5]), radius.semielastic
    for call, message in (
        (
            lambda: radius.gaussian(p, 1.0),
            r"p_a must be in \[0, 1\]; got 1 of 2 .* first 1.5",
        ),
        (
            lambda: of(torch.ones(2), torch.ones(3), 0.1, 784),
            r"broadcast together; got p_a \(2,\)",
        ),
        (
            lambda: radius.anisotropic(0.9, torch.tensor(1.0)),
            "sigma must have the axes last",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("dim", [1.0, 3.0, 784.0])
@pytest.mark.parametrize("z", [-1e4, -3.0, 1e-3, 30.0, 1e4])
def test_slopes_of_scores_against_densities(z, dim):
    """Quotients of densities down to e^(-5e7), where their exponents in float64 leave 8
    digits.
    """
    for s in (0.05, 30.0, 1e3, 1e6):
        u = float(rsbounds.special.ball_offset(z, dim, s))
        if not s + u > 0:
            continue
        with mpmath.workdps(50):
            centre, rho = mpmath.mpf(s), mpmath.mpf(s) + mpmath.mpf(u)
            order = mpmath.mpf(dim) / 2 - 1
            density = (
                rho * (rho / centre) ** order * mpmath.besseli(order, rho * centre)
            )
            density *= mpmath.exp(-(rho**2 + centre**2) / 2)
            truth = density / mpmath.npdf(oracle.ball_score(u, dim, s, dps=40))
            found = _score_slope(*(np.array(v) for v in (u, dim, s)))
            assert abs(found / truth - 1) <= 1e-10
