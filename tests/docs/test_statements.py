"""Statements of the five papers that no other test has; proofs rest on them."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from rsbounds import confidence, gaussian, lbrs, renyi, schemes, semielastic
from rsbounds.special import ncx2_cdf, ncx2_ppf

RNG = np.random.default_rng(0)


def test_b_lemma_1_gradient_of_a_density_of_moving_mean_and_levels():
    point, at = np.array([0.3, -0.4]), np.array([0.9, 0.2])
    mean_slope = np.array([[0.2, -0.1], [0.05, 0.3]])  # column i: gradient of mean i
    level_slope = np.array([[0.1, 0.2], [-0.15, 0.05]])

    def noise(x):
        return x @ mean_slope, 1.0 + x @ level_slope

    def density(x):
        mean, level = noise(x)
        return float(np.prod(norm.pdf(at - x, mean, level)))

    step = 1e-5
    slope = [
        (density(point + e) - density(point - e)) / (2 * step) for e in step * np.eye(2)
    ]
    mean, level = noise(point)
    off = at - point - mean
    stated = (np.eye(2) + mean_slope) @ (off / level**2)
    stated = stated + level_slope @ ((off**2 - level**2) / level**3)
    np.testing.assert_allclose(slope, density(point) * stated, rtol=1e-8)


@pytest.mark.parametrize("sigma1", [0.9, 1.2])
def test_s_lemma_12_divergence_of_two_levels(sigma1):
    """In one dimension, by an integral."""
    alpha, apart = 1.5, 0.7
    mixed = np.sqrt((1 - alpha) * sigma1**2 + alpha)

    def integrand(z):
        return np.exp(
            alpha * norm.logpdf(z, apart, sigma1) + (1 - alpha) * norm.logpdf(z)
        )

    value = np.log(quad(integrand, -40, 40)[0]) / (alpha - 1)
    stated = alpha * apart**2 / (2 * mixed**2) + np.log(mixed / sigma1) / (1 - alpha)
    # the third term, -alpha/(1 - alpha) log(sigma0/sigma1), at sigma0 = 1
    stated += alpha / (1 - alpha) * np.log(sigma1)
    assert value == pytest.approx(stated, rel=1e-9)


def test_s_theorem_15_no_moving_level_beats_the_fixed_one():
    p_a, rate = RNG.uniform(0.5, 1 - 1e-9, 500), 10 ** RNG.uniform(-5, 1, 500)
    dim = np.round(10 ** RNG.uniform(0, 5, 500))
    radius = semielastic.radius(p_a, 0.5, rate, dim)
    assert np.all(radius <= 0.5 * norm.ppf(p_a) * (1 + 1e-12))
    assert np.all(renyi.radius(p_a, 1.0, 1.1, dim) <= norm.ppf(p_a) * (1 + 1e-12))


def test_s_theorem_6_once_uncertified_always_uncertified():
    for side in (-1, 1):
        for dim in (2, 784):
            ratio = np.exp(side * np.linspace(1e-6, 3.0, 300))
            failing = semielastic.xi(0.2, 0.99, 1.0, ratio, dim) > 0.5
            assert failing.any()
            assert np.all(failing[np.argmax(failing) :])


@pytest.mark.parametrize("sigma1", [0.98, 1.02])
def test_s_lemma_20_the_worst_case_grows_with_the_distance(sigma1):
    worst = semielastic.xi(np.linspace(0, 5, 400), 0.99, 1.0, sigma1, 784)
    assert np.all(np.diff(worst) >= 0)
    at_zero = semielastic.xi(np.array([0.0, 1e-9]), 0.99, 1.0, sigma1, 784)
    assert at_zero[1] == pytest.approx(at_zero[0], rel=1e-7)  # Lemma 18


def test_s_lemma_19_a_ball_further_off_is_less_likely():
    offset = np.linspace(0, 30, 300)
    for dim, x in ((1, 2.0), (784, 800.0)):
        assert np.all(np.diff(ncx2_cdf(x, dim, offset**2)) <= 0)


@pytest.mark.parametrize("dim", [1, 2, 30, 3072])
def test_s_lemma_21_medians(dim):
    offset = np.concatenate([[0.0], np.geomspace(1e-3, 1e4, 30)])
    median = ncx2_ppf(0.5, dim, offset)
    assert np.all(median >= dim - 1 + offset)
    assert np.all(median <= (chi2.ppf(0.5, dim) + offset) * (1 + 1e-12))


def test_l_the_local_constant_integrates_to_the_radius():
    """psi' = 1/(sigma L_x) gives psi = Phi^-1, and a Lipschitz constant of 1/sigma."""
    sigma, p = 0.5, np.linspace(0.5, 0.99, 2001)
    slope = 1 / (sigma * gaussian.local_lipschitz(p, sigma))
    score = np.sum((slope[1:] + slope[:-1]) / 2 * np.diff(p))  # of the trapezium
    assert score == pytest.approx(norm.ppf(0.99), rel=1e-5)
    half = gaussian.radius(0.99, sigma) - gaussian.radius(0.9, sigma)
    assert half == pytest.approx(sigma * (norm.ppf(0.99) - norm.ppf(0.9)), rel=1e-10)


def test_l_theorem_0_of_a_lipschitz_classifier():
    radius = gaussian.lipschitz_radius(0.9, 0.3, 2.0)
    assert radius == pytest.approx((0.9 - 0.3) / 4.0, rel=1e-12)


def test_a_proposition_3_one_noise_for_all_inputs_keeps_a_lipschitz_constant():
    """2 sin(|x|_inf), which is 2-Lipschitz, under a law of eleven points."""

    def g(x):
        return 2 * np.sin(np.abs(x).max(-1))

    law = RNG.normal([1.0, -2.0, 0.5], size=(11, 3))
    x = RNG.normal(size=(2000, 3)) * 3
    y = x + RNG.normal(size=x.shape) * 10 ** RNG.uniform(-3, 0, (2000, 1))
    apart = np.abs(x - y).max(-1)

    def slopes(function):
        return np.abs(function(x) - function(y)) / apart

    def smoothed(points):
        return g(points[:, None] + law).mean(1)

    assert slopes(g).max() > 1.9
    assert slopes(smoothed).max() <= 2 + 1e-9


def test_a_proposition_5_unbiased_noise_leaves_a_linear_classifier():
    """Two points around each input, as far apart as the input says."""
    matrix, shift = RNG.normal(size=(4, 3)), RNG.normal(size=4)
    x = RNG.normal(size=(500, 3))
    step = np.sin(x) * (1 + x**2)

    def g(points):
        return points @ matrix.T + shift

    smoothed = (g(x + step) + g(x - step)) / 2
    np.testing.assert_allclose(smoothed, g(x), atol=1e-12)
    biased = g(x + step)
    assert np.any(biased.argmax(1) != g(x).argmax(1))


def test_a_theorem_8_tends_to_theorem_6():
    """At ever smaller constants of the gradient, and at none."""
    value, slope, alpha = 0.7, 2.0, 3.0
    limit = value / slope
    for constant in (1e-3, 1e-6, 0.0):
        radius = lbrs.boundary_radius(value, slope, alpha, constant)
        assert radius <= limit * (1 + 1e-12)
        assert radius == pytest.approx(limit, rel=2 * constant + 1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_a_theorem_8_with_a_constant_of_a_ball(alpha):
    """x^4 - 1 has none everywhere: the ball and its radius meet below the true one."""

    def biased(x):
        return x**4 - 1 + alpha * np.abs(4 * x**3)

    point = 1.7
    radii = np.linspace(0.01, 1.5, 300)
    constants = 12 * (point + radii) ** 2
    slope = 4 * point**3
    found = lbrs.boundary_radius(biased(point), slope, alpha, constants)
    radius = np.minimum(radii, found).max()
    assert 0.2 < radius < 1.5
    near = point + np.linspace(-radius, radius, 1001)
    assert np.all(biased(near) > 0)


def test_h_a_full_covariance_is_a_map_of_the_inputs():
    """A half-space flips where |A^-1 delta| reaches its score, and nowhere before."""
    matrix = RNG.normal(size=(3, 3))
    normal, p_a = RNG.normal(size=3), 0.9
    spread = np.linalg.norm(matrix.T @ normal)  # of the noise along the normal
    worst = -matrix @ (matrix.T @ normal) / spread  # |A^-1 worst| = 1
    assert np.linalg.norm(np.linalg.solve(matrix, worst)) == pytest.approx(1)
    radius = gaussian.radius(p_a, 1.0)

    def probability(delta):
        return norm.cdf(norm.ppf(p_a) + normal @ delta / spread)

    assert probability(worst * radius) == pytest.approx(0.5, abs=1e-9)
    others = RNG.normal(size=(1000, 3))
    others /= np.linalg.norm(np.linalg.solve(matrix, others.T), axis=0)[:, None]
    assert all(probability(delta * radius) >= 0.5 - 1e-9 for delta in others)


ALL_AGREE = float(confidence.lower_bound(100_000, 100_000, 0.0005))


@pytest.mark.parametrize(
    ("sigma", "keep", "values", "p_a", "printed"),
    [(1.0, 0.8, 3, 0.99, 1.57611772576), (0.5, 0.9, 12, ALL_AGREE, 1.26317141642)],
)
def test_a_hybrid_certificate_both_ways(sigma, keep, values, p_a, printed):
    """One changed category beside numbers: by a threshold of the ratio, anew."""
    other = (1 - keep) / (values - 1)
    own = np.array([keep, other, 1 - keep - other])  # the value, the new one, the rest
    moved = own[[1, 0, 2]]

    def lowest(shift):
        def edge(level):
            return (level + np.log(own / moved)) / shift + shift / 2

        level = brentq(lambda t: own @ norm.cdf(edge(t)) - p_a, -60, 60, xtol=1e-14)
        return moved @ norm.cdf(edge(level) - shift)

    radius = sigma * brentq(lambda shift: lowest(shift) - 0.5, 0.1, 5, xtol=1e-14)
    parts = schemes.gaussian(sigma), schemes.categorical(keep, values)
    table = schemes.blocks(*parts, splits=[4], changes=1)
    (_, _), (found, changes) = table.curve.frontier(p_a)
    assert changes == 1
    assert found == pytest.approx(radius, rel=1e-11)
    assert found == pytest.approx(printed, abs=5e-12)


@pytest.mark.parametrize("sigma1", [0.9, 1.15])
def test_s_lemma_1_no_other_set_of_this_mass_is_likelier(sigma1):
    """Half-spaces, balls and outsides of balls with p_B at x0, at a distance of .8."""
    dim, p_b, apart = 5, 0.05, 0.8
    worst = semielastic.xi(apart, 1 - p_b, 1.0, sigma1, dim)
    assert norm.cdf((norm.ppf(p_b) + apart) / sigma1) <= worst
    centre = np.linspace(-20, 20, 401)
    moved = ((centre - apart) / sigma1) ** 2
    for mass, found in ((p_b, lambda p: p), (1 - p_b, lambda p: 1 - p)):
        square = ncx2_ppf(mass, dim, centre**2)
        sets = found(ncx2_cdf(square / sigma1**2, dim, moved))
        assert np.all(sets <= worst + 1e-12)
    # the best of the balls is the one of Theorem 2
    own, radius, outside = semielastic.worst_case_ball(apart, 1 - p_b, 1.0, sigma1, dim)
    assert bool(outside) == (sigma1 > 1)
    inside = ncx2_cdf((radius / sigma1) ** 2, dim, ((own - apart) / sigma1) ** 2)
    assert (1 - inside if outside else inside) == pytest.approx(worst, rel=1e-9)
