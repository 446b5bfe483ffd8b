"""What does not hold as printed in the papers; the list is docs/theory/errata.md."""

import runpy
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import laplace, norm

from rsbounds import (
    envelope,
    gaussian,
    lipschitz,
    renyi,
    schemes,
    semielastic,
    special,
)
from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.lipschitz.internal import ratio_derivative
from rsbounds.schemes._flips import FlipsCurve


def test_b_theorem_2_gradient():
    """A disc whose probability grows faster than the printed bound as sigma falls."""
    dim, p, lip = 2, 0.9, 0.3
    centre = 1 / (
        2 * lip
    )  # of the set z_1 - lip |z|^2 >= t, the worst for grad sigma = -lip
    rho = np.sqrt(special.ncx2_ppf(p, dim, centre**2))

    def probability(t):
        sigma = 1 - lip * t
        return float(
            special.ncx2_cdf((rho / sigma) ** 2, dim, ((centre - t) / sigma) ** 2)
        )

    step = 1e-5  # error of the difference: step^2 and 1e-15/step
    slope = (probability(step) - probability(-step)) / (2 * step)
    density = norm.pdf(norm.ppf(p))
    printed = density * (1 + 2 * lip * lipschitz.ratio(p, dim))
    corrected = density * (1 + 2 * lip * lipschitz.ratio(min(p, 1 - p), dim))
    assert slope == pytest.approx(0.25596, abs=5e-6)
    assert printed == pytest.approx(0.23239, abs=5e-6)
    assert printed < slope < corrected


@pytest.mark.parametrize("dim", [1, 2, 784, 150528])
def test_b_any_p_min_will_do(dim):
    assert lipschitz.p_min_search(dim) == 1e-300
    z = np.linspace(-37.0, 37.0, 2001)
    assert np.all(np.diff(lipschitz.ratio(z, dim, scores=True)) < 0)
    assert np.all(ratio_derivative(z, dim, scores=True) < 0)


def test_b_figure_1_exceeds_theorem_3():
    setting = {
        "lip": 0.5,
        "sigma_min": 0.65,
        "dim": 784,
        "method": "paper",
        "p_min": 1e-7,
    }
    best = lipschitz.normalize_scores(np.eye(10)[0], 1e-7)
    radius = lipschitz.radius(best[0], 1.0, p_b=best[1], **setting)
    assert radius == pytest.approx(0.143676488238246653, rel=1e-9)
    assert lipschitz.radius(1.0, 1.0, p_b=0.0, **setting) < 0.15


def test_b_objective_is_to_be_minimised():
    """Minus the radius plus a price of the norms is largest where both are worst."""
    norms = np.geomspace(0.01, 1e3, 20)  # of one layer; also its Lipschitz constant
    mean_radius = lipschitz.radius(0.99, 1.0, lip=norms, sigma_min=0.5, dim=784)
    printed = -mean_radius + 0.01 * norms
    assert np.all(np.diff(mean_radius) < 0)
    assert np.all(np.diff(printed) > 0)
    assert printed[-1] > 9.0
    assert printed.argmin() == mean_radius.argmax() == 0


def test_s_theorem_2_coefficient():
    """The set where the density ratio exceeds a threshold is the outside of the printed
    ball
    only with the corrected coefficient."""
    sigma0, sigma1, distance, dim, log_r = 1.0, 1.2, 0.8, 3, 0.1
    gap = sigma1**2 - sigma0**2
    x = np.random.default_rng(0).normal(size=(200_000, dim)) * 1.5
    shifted = x - distance * np.eye(dim)[0]
    log_ratio = (
        dim * np.log(sigma0 / sigma1)
        - (shifted**2).sum(1) / (2 * sigma1**2)
        + (x**2).sum(1) / (2 * sigma0**2)
    )
    from_centre = ((x + distance * sigma0**2 / gap * np.eye(dim)[0]) ** 2).sum(1)

    def wrong(coefficient):
        square = (
            coefficient * distance** 2 / gap** 2
            + 2
            * sigma0** 2
            * sigma1** 2
            / gap
            * (dim * np.log(sigma1 / sigma0) + log_r)
        )
        return int(np.sum((from_centre >= square) != (log_ratio >= log_r)))

    assert wrong(sigma0**2 * sigma1**2) == 0
    assert wrong(2 * sigma0**4 - sigma0**2 * sigma1**2) > 1000


def test_s_theorem_3_complement():
    """In one dimension at distance 0 the worst set is |x| > 1.645 sigma0."""
    edge = norm.ppf(0.95)
    worst = semielastic.xi(0.0, 0.9, 1.0, 2.0, 1)
    assert worst == pytest.approx(2 * norm.sf(edge / 2), rel=1e-12)
    assert worst < 1 - 2 * norm.sf(edge / 2)  # the ball, not its complement
    assert semielastic.worst_case_ball(0.3, 0.9, 1.0, 2.0, 1)[2]


def test_s_theorem_4_in_one_dimension():
    """At N = 1 the printed condition rules out sigma1 = 1.001 sigma0, which is
    certified.
    """
    dim, p_a, ratio = 1, 0.99, 1.001
    with np.errstate(divide="ignore"):
        t = ratio**2 * (dim - 1) / dim
        assert np.log(t) + 1 - t < 2 * np.log(1 - p_a) / dim
    assert semielastic.xi(1.0, p_a, 1.0, ratio, dim) < 0.5
    with pytest.raises(ValueError, match=r"dim.*above"):
        semielastic.ratio_threshold(p_a, 1, side="above")


def test_s_corollary_5_needs_dimensions():
    """In fewer than 4 log(1/(1 - p_A)) dimensions its root is of a negative number."""
    least = 4 * np.log(100)
    assert 1 - 2 * np.sqrt(np.log(100) / (least - 1)) < 0
    with pytest.raises(ValueError, match=r"dim.*least"):
        semielastic.ratio_threshold(0.99, least - 1, bound="simple")


def test_s_theorem_14_proof_has_the_sign_of_its_theorem():
    """The inequality that suffices, by its divergence, at 0.9 and 1.1 of the radius."""
    sigma0, sigma1, dim, alpha, p_a, p_b = 1.0, 0.9, 5, 1.5, 0.99, 0.01
    mixed = np.sqrt((1 - alpha) * sigma1**2 + alpha * sigma0**2)
    at_zero = (
        dim / (1 - alpha) * np.log(mixed / (sigma1 ** (1 - alpha) * sigma0**alpha))
    )
    mean = ((p_a ** (1 - alpha) + p_b ** (1 - alpha)) / 2) ** (1 / (1 - alpha))
    allowed = -np.log(1 - p_a - p_b + 2 * mean)
    square = 2 * mixed**2 / alpha * (allowed - at_zero)
    assert 0 < square <= renyi.radius(p_a, sigma0, sigma1, dim, p_b) ** 2 * (1 + 1e-9)

    def suffices(share):
        return alpha * share * square / (2 * mixed**2) + at_zero <= allowed

    assert suffices(0.9)
    assert not suffices(1.1)


def test_s_b4_has_the_constant_outside_the_root():
    """C = 4, c = 1, p_B = .01: the variation tends to the form with C outside."""
    reach, dim, log = 4.0, 1e10, -np.log(0.01)
    variation = np.expm1(np.sqrt(log) / dim * reach * np.sqrt(dim))
    assert variation == pytest.approx(reach * np.sqrt(log / dim), rel=1e-4)
    assert variation > 1.9 * np.sqrt(reach * log / dim)


@pytest.mark.parametrize("step", [0.1, 0.01])
def test_s_algorithm_3_returns_a_failing_point(step):
    sigma, rate, dim, p_a = 0.25, 0.01, 784, 0.99
    grid = np.arange(1, 1000) * step
    # ratio > 1: the side on which this setting fails first
    fails = semielastic.xi(grid, p_a, sigma, sigma * np.exp(rate * grid), dim) >= 0.5
    first = grid[np.argmax(fails)]
    assert first > semielastic.radius(p_a, sigma, rate, dim) > first - step


def test_s_b5_certifies_what_flips():
    """p_A = .4, p_B = .3: a half-space for each class flips long before the printed
    radius.
    """
    printed = float(gaussian.radius(1 - 0.3, 1.0))
    assert printed == pytest.approx(0.5244, abs=5e-5)
    truth = float(envelope.radius(0.4, 1.0, envelope.SemiElastic(0.0), 784, 0.3))
    assert truth == pytest.approx(0.1355, abs=5e-5)
    step = truth * 1.001
    a, b = norm.cdf(norm.ppf(0.4) - step), norm.cdf(norm.ppf(0.3) + step)
    assert b > a
    assert step < printed


def test_l_a_lower_bound_of_p_b_certifies_what_flips():
    """Two half-spaces of .6 and .4; .1 is a lower bound of .4."""
    returned = (norm.ppf(0.6) - norm.ppf(0.1)) / 2
    assert returned == pytest.approx(0.7674, abs=5e-5)
    assert norm.cdf(norm.ppf(0.6) - returned) < norm.cdf(norm.ppf(0.4) + returned)
    assert gaussian.radius(0.6, 1.0, p_b=0.4) < 0.2534 < returned


def test_l_an_average_is_divided_by_its_number():
    values = np.random.default_rng(0).normal(size=10_000) < norm.ppf(0.9)
    assert values.sum() > 1  # what is printed is no probability
    # 10,000 draws: the standard deviation is .003
    assert values.sum() / len(values) == pytest.approx(0.9, abs=0.015)


def test_h_lambda_is_the_scale_of_laplace_noise():
    """A half-line of .99 under noise of scale 1, whose variance is 2."""
    assert laplace.var(scale=1.0) == 2.0
    p_a, p_b = 0.99, 0.01

    def printed(level):
        return level * max(np.log(p_a / p_b) / 2, -np.log(1 - p_a + p_b))

    edge = laplace.ppf(p_a)
    assert laplace.cdf(edge - printed(2.0)) < 0.03
    assert laplace.cdf(edge - printed(1.0)) >= 0.5 - 1e-12


def test_program_joint_regions_are_not_sorted():
    """Filled as they come, .800; an event of the same probability at x has .0527."""
    restated = runpy.run_path(
        str(Path(__file__).parents[2] / "docs/reproductions/joint_regions.py")
    )
    edges = Fraction("0.001"), Fraction("0.8")
    attributes = Fraction("0.003"), Fraction("0.4")
    changes = (1, 0), (3, 4)
    masses = restated["products"](
        restated["of_flips"](*edges, changes[0]),
        restated["of_flips"](*attributes, changes[1]),
    )
    assert sum(p for p, _ in masses) == sum(q for _, q in masses) == 1
    p_a = Fraction("0.999")
    printed = restated["filled"](masses, p_a)
    assert printed == Fraction(4, 5)
    by_ratio = sorted(masses, key=lambda mass: mass[1] / mass[0])
    attained = restated["filled"](by_ratio, p_a)
    assert float(attained) == pytest.approx(0.0526511906, abs=5e-11)
    curve = BlocksCurve(FlipsCurve(*edges), FlipsCurve(*attributes))
    assert curve.low(0.999, changes) == pytest.approx(float(attained), rel=1e-11)


def passes(p, share, changes, size=50, kept=5):
    """The program's inequality of a radius."""
    hidden = Fraction(comb(size - changes, kept), comb(size, kept))
    return (Fraction(1, 2) + share - p) / share < hidden


def votes_after(changes, size=50, kept=5):
    """Masks of a model with .9 of them at x, and at an x' with some words changed.

    It answers A on every mask that shows one of these words, and nowhere else once they
    are changed.
    """
    masks, unseen = comb(size, kept), comb(size - changes, kept)
    of_class = masks * 9 // 10
    assert 10 * of_class == 9 * masks
    assert of_class >= masks - unseen
    return of_class - (masks - unseen), masks


def test_program_masks_return_a_failing_radius():
    p = Fraction(9, 10)
    returned = next(r for r in range(50) if not passes(p, Fraction(1), r))
    assert returned == 5
    left, masks = votes_after(returned)
    assert 2 * left < masks
    left, masks = votes_after(returned - 1)
    assert 2 * left > masks
    assert schemes.mask(50, 5).curve.radius(0.9) == returned - 1


def test_program_masks_lambda_is_no_bound():
    p = Fraction(9, 10)
    returned = next(r for r in range(50) if not passes(p, p, r))
    assert returned == 6
    # even the last radius that passes is too large
    assert passes(p, p, 5)
    left, masks = votes_after(5)
    assert 2 * left < masks


def test_program_l2_radius_of_another_level():
    """A half-space beyond the radius of the noise that there is loses its lead."""
    sigma, sigma_b, z = 0.25, 0.5, norm.ppf(0.99)
    returned = sigma_b * z
    assert returned > gaussian.radius(0.99, sigma)
    assert norm.cdf(z - returned / sigma) < 0.011
    assert norm.cdf(z - gaussian.radius(0.99, sigma) / sigma) >= 0.5


def test_program_two_queries_in_l2():
    """A mask that keeps one of 100 numbers, and an attack on that one."""
    dim, first, second, z = 100, 1.0, 1.0, norm.ppf(0.99)
    total = 1 / np.sqrt(1 / first**2 + 1 / second**2)
    returned = total * z
    mask = np.zeros(dim)
    mask[0] = 1.0
    level = second * np.linalg.norm(mask) / np.sqrt(dim)
    shift = np.hypot(returned / first, returned * mask[0] / level)
    assert norm.cdf(z - shift) < 1e-12
    # in linf the same mask moves by no more than its norm
    reach = total * z / np.sqrt(dim)
    shift = np.hypot(reach * np.sqrt(dim) / first, reach * mask[0] / level)
    assert norm.cdf(z - shift) >= 0.5 - 1e-12


def test_program_interpolated_quantile():
    """Between two order statistics, which is below the quantile more often."""
    n, share = 10, 0.85
    rng = np.random.default_rng(0)
    samples = np.sort(rng.random((20_000, n)), axis=1)
    order = samples[:, int(np.ceil(n * share)) - 1]
    interpolated = np.quantile(samples, share, axis=1)
    assert np.all(interpolated < order)
    below = [(ends < share).mean() for ends in (interpolated, order)]
    # 20,000 samples: a standard deviation is at most .0035
    assert below[0] > below[1] + 0.1


def test_program_shares_of_filtered_votes():
    """Votes below -3 pass as A and above 4 as B; the others are dropped."""
    passes_a, passes_b = norm.cdf(-3), norm.sf(4)
    share = passes_a / (passes_a + passes_b)
    assert share == pytest.approx(0.97708, abs=5e-6)
    returned = norm.ppf(share)
    assert returned == pytest.approx(1.9968, abs=5e-5)
    for shift, leads in ((0.499, True), (0.501, False), (returned, False)):
        assert (norm.cdf(-3 - shift) > norm.sf(4 - shift)) == leads
    # of all draws A has too few for any radius
    assert gaussian.radius(passes_a, 1.0) == 0
