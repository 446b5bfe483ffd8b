"""How far one event stays above a threshold, against the worst sets of all levels."""

import numpy as np
import pytest

from rsbounds import envelope, oracle
from rsbounds.envelope import LipschitzSigma, SemiElastic, SigmaRange
from rsbounds.envelope.internal import event_radius
from rsbounds.special import ndtri
from rsbounds_ext import kernels

CASES = [
    (3.8, 0.05, 0.25, SemiElastic(0.01), 784),
    (3.8, 0.01, 0.5, SemiElastic(0.5), 3),
    (-0.5, 0.05, 0.5, SemiElastic(0.3), 1),
    (1.0, 0.05, 0.25, LipschitzSigma(0.1, 0.1), 10),
    (-1.0, 0.05, 0.5, SigmaRange(0.4, 0.6), 2),
    (2.0, 0.01, 0.25, SemiElastic(0.001), 3072),
    (2.0, 0.3, 1.0, SigmaRange(0.9, 3.0), 1),
]


def worst(distance, z, sigma, levels, dim):
    """The largest score that the opposite of an event of score z has at any level."""
    return max(
        float(oracle.worst_score(distance, -z, sigma, float(level), dim, dps=20))
        for level in levels
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_set_at_any_level_takes_an_event_below_its_threshold(case):
    """At the radius no level does, the ends among them; a little further one does."""
    z, tau, sigma, shape, dim = case
    least = float(ndtri(tau))
    radius = event_radius(z, least, sigma, shape, dim)
    low, high = (float(end) for end in shape.bounds(np.array(sigma), np.array(radius)))
    levels = [*np.linspace(low, high, 7), sigma]
    assert 0 < radius <= sigma * (z - least)
    assert worst(radius, z, sigma, levels, dim) < -least
    beyond = radius * (1 + 1e-9)
    ends = (float(end) for end in shape.bounds(np.array(sigma), np.array(beyond)))
    assert worst(beyond, z, sigma, [*ends, sigma], dim) > -least


@pytest.mark.slow
def test_the_ends_alone_would_certify_too_much():
    """Far out the level of the input is worse than one above it: it is looked at."""
    z, least, sigma, dim = float(ndtri(0.9)), float(ndtri(0.01)), 1.0, 1
    shape = SigmaRange(1.0, 3.0)
    radius = event_radius(z, least, sigma, shape, dim)
    beyond = radius * 1.01
    assert kernels.event_kept(beyond, z, least, sigma, 3.0, dim) == 1
    assert (
        worst(beyond, z, sigma, [3.0], dim) < -least < worst(beyond, z, 1.0, [1.0], 1)
    )
    assert radius == pytest.approx(z - least, rel=1e-11)


@pytest.mark.parametrize("dim", [1, 784])
def test_at_a_half_it_is_the_radius_of_a_class(dim):
    for z in (0.3, 2.0, 3.8):
        for shape in (SemiElastic(0.02), LipschitzSigma(0.01, 0.3)):
            of_class = float(envelope.radius(z, 0.5, shape, dim, scores=True))
            own = event_radius(z, 0.0, 0.5, shape, dim)
            assert own == pytest.approx(of_class, rel=1e-10)


def test_with_levels_that_do_not_move_it_is_that_of_fixed_noise():
    for z, tau in ((2.0, 0.05), (0.1, 0.4)):
        own = event_radius(z, float(ndtri(tau)), 0.5, SemiElastic(0.0), 784)
        assert own == pytest.approx(0.5 * (z - ndtri(tau)), rel=1e-11)
        assert own <= 0.5 * (z - ndtri(tau))


@pytest.mark.slow
def test_kept_sets_are_those_of_the_oracle():
    """What the kernel accepts holds, and it loses little of what does."""
    rng = np.random.default_rng(0)
    lost = 0
    for _ in range(60):
        z, least = rng.uniform(-2, 4), -rng.exponential(1.5)
        sigma1 = float(np.exp(rng.normal(0, 0.05)))
        dim = float(rng.choice([1, 3, 50, 784]))
        distance = float(rng.uniform(0, 1.2) * max(z - least, 0.1))
        truth = worst(distance, z, 1.0, [sigma1], dim)
        kept = kernels.event_kept(distance, z, least, 1.0, sigma1, dim) == 1
        assert not kept or truth < -least
        lost += not kept and truth < -least - 1e-9
    assert lost == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (-0.1, 2.0, 0.0, 1.0, 1.0, 3.0),
        (0.1, np.nan, 0.0, 1.0, 1.0, 3.0),
        (0.1, 2.0, np.nan, 1.0, 1.0, 3.0),
        (0.1, 2.0, 0.0, 0.0, 1.0, 3.0),
        (0.1, 2.0, 0.0, 1.0, np.nan, 3.0),
        (0.1, 2.0, 0.0, 1.0, 1.0, 0.5),
    ],
)
def test_what_is_out_of_its_domain_is_kept_by_nothing(arguments):
    with np.errstate(invalid="ignore"):
        assert np.isnan(kernels.event_kept(*arguments))


def test_a_threshold_above_a_half_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="at most 1/2, for the side that is asked"):
        event_radius(2.0, 0.1, 0.5, SemiElastic(0.01), 3)
    assert event_radius(-0.1, 0.0, 0.5, SemiElastic(0.01), 3) == 0
    assert event_radius(np.inf, 0.0, 0.5, SemiElastic(0.01), 3) == np.inf
