"""All radii at the ends of the range of numbers: scaled, subnormal, overflowing."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds import (
    anisotropic,
    envelope,
    gaussian,
    lipschitz,
    renyi,
    semielastic,
)
from rsbounds.confidence import CDFCertificate, lower_bound
from rsbounds.envelope import LipschitzSigma, SigmaRange


@pytest.mark.slow
@given(st.floats(-300, 300), st.floats(0.51, 0.9999), st.floats(-3, 1), st.floats(0, 6))
def test_radii_scale_with_the_unit_of_the_input(power, p, log_rate, log_dim):
    """At any sigma the radius is sigma times that at 1, to the roundings of the
    arguments.
    """
    sigma, rate, dim = 10.0**power, 10.0**log_rate, 10.0**log_dim
    pairs = [
        (
            semielastic.radius(p, 1.0, rate, dim),
            semielastic.radius(p, sigma, rate / sigma, dim),
        ),
        (
            envelope.radius(p, 1.0, LipschitzSigma(rate, 0.5), dim),
            envelope.radius(p, sigma, LipschitzSigma(rate, 0.5 * sigma), dim),
        ),
        (
            envelope.radius(p, 1.0, SigmaRange(0.99, 1.01), 9.0),
            envelope.radius(p, sigma, SigmaRange(0.99 * sigma, 1.01 * sigma), 9.0),
        ),
    ]
    for one, scaled in pairs:
        assert scaled / sigma == pytest.approx(one, rel=1e-11)


def test_radii_among_subnormal_numbers_are_rounded_down():
    options = {"lip": 0.04066301272939508, "sigma_min": 0.0, "dim": 70767821.0}
    for power in (-1015, -1030, -1074):
        result = lipschitz.radius(0.500000000000001, 2.0**power, **options)
        truth = (
            mp.mpf(float(lipschitz.radius(0.500000000000001, 1.0, **options)))
            * mp.mpf(2) ** power
        )
        assert mp.mpf(float(result)) <= truth


TINY = {
    "gaussian": lambda s: gaussian.radius(0.77, s),
    "gaussian in l_inf": lambda s: gaussian.radius(0.77, s, norm=np.inf, dim=3),
    "largest": lambda s: gaussian.max_radius(1000, 0.001, s),
    "anisotropic": lambda s: anisotropic.radius(0.77, [s, 2 * s], norm=np.inf),
    "laplace": lambda s: anisotropic.laplace_radius(0.77, [s, 2 * s]),
    "renyi": lambda s: renyi.radius(0.77, s, s, 3),
    "distribution": lambda s: CDFCertificate([0.9], [1.0]).radius(s),
    "semi-elastic": lambda s: semielastic.radius(0.77, s, 0.0, 3),
    "exact": lambda s: lipschitz.radius(0.77, s, lip=0.3, sigma_min=s, dim=3),
    "integrated": lambda s: lipschitz.radius(
        0.77, s, lip=0.3, sigma_min=s, dim=3, method="integrated"
    ),
    "paper": lambda s: lipschitz.radius(
        0.77, s, lip=0.3, sigma_min=s, dim=3, method="paper", p_min=0.01
    ),
    "range": lambda s: envelope.radius(0.77, s, SigmaRange(s, s), 3),
}


@pytest.mark.parametrize("name", TINY)
def test_radii_of_the_smallest_levels_are_below_the_truth(name):
    """That of level k 2^-1074, against k 2^-1074 times that of 1, which is within
    1e-11.
    """
    whole = mp.mpf(float(TINY[name](1.0))) * (1 + mp.mpf("1e-11"))
    with np.errstate(all="ignore"):
        for k in (*range(1, 60), 1000, 10**6 + 1):
            level = k * 2.0**-1074
            assert mp.mpf(float(TINY[name](level))) <= whole * mp.mpf(level)


def test_radii_that_overflow_stay_below_the_truth():
    largest = np.finfo(np.float64).max
    for radius in (
        gaussian.radius(1 - 1e-7, 1e308),
        anisotropic.radius(1 - 1e-7, [1e308, 1.5e308]),
        *(
            lipschitz.radius(
                8.0, 1e308, sigma_min=1e308, lip=0.0, dim=3, scores=True, **method
            )
            for method in (
                {},
                {"method": "integrated"},
                {"method": "paper", "p_min": 1e-9},
            )
        ),
        anisotropic.laplace_radius(1 - 1e-12, [1e308]),
        gaussian.lipschitz_radius(0.9, 0.1, 1e-310),
        gaussian.max_radius(2**62, 1e-300, 1e308),
        semielastic.radius(0.9999999, 1e308, 0.0, 3),
    ):
        assert 1e307 < radius <= largest


def test_radii_whose_factors_overflow_alone_are_below_the_truth():
    for power in (-900, 0, 1023):  # among subnormals digits are lost, see above
        sigma = 2.0**power
        pairs = [
            (lambda s: gaussian.radius(0.99, s, norm=np.inf, dim=1e6)),
            (lambda s: lipschitz.radius(0.99, s, lip=9.0, sigma_min=s / 2, dim=9.0,
                                        method="integrated")),
        ]  # fmt: skip
        for radius in pairs:
            truth = mp.mpf(float(radius(1.0))) * mp.mpf(2) ** power
            assert (
                truth * (1 - mp.mpf("1e-13"))
                <= mp.mpf(float(radius(sigma)))
                <= truth * (1 + mp.mpf("1e-15"))
            )
    assert renyi.radius(1 - 1e-9, 1e308, 1e308, 3) <= np.finfo(np.float64).max
    assert CDFCertificate([0.9], [5.0]).radius(1e308) <= np.finfo(np.float64).max


UNDERFLOWS = {
    "gaussian": lambda t: gaussian.radius(0.99, t),
    "gaussian of a tiny p": lambda t: gaussian.radius(t, 1.0),
    "another norm": lambda t: gaussian.radius(0.99, t, norm=np.inf, dim=784),
    "max_radius": lambda t: gaussian.max_radius(100, 0.001, t),
    "range": lambda t: envelope.radius(0.99, t, SigmaRange(t, t), 784),
    "table": lambda t: envelope.radius(
        0.99, t, envelope.TableEnvelope([1.0], [5e-324], [1e-300]), 784
    ),
    "integrated": lambda t: lipschitz.radius(
        0.99, t, lip=0.1, sigma_min=0, dim=784, method="integrated"
    ),
    "worst ball": lambda t: semielastic.worst_case_ball(t, 0.99, 1.0, 1.1, 784)[1],
    "anisotropic": lambda t: anisotropic.radius(
        0.99, np.stack([t, t / t], -1), norm=np.inf
    ),
    "laplace": lambda t: anisotropic.laplace_radius(0.99, t),
    "renyi": lambda t: renyi.radius(0.99, t, t, 784),
    "lower_bound": lambda t: lower_bound(99, 100, t),
    "local_lipschitz": lambda t: gaussian.local_lipschitz(t, 1e300),
}


@pytest.mark.parametrize("name", UNDERFLOWS)
@pytest.mark.parametrize("size", [1, 3])
def test_underflow_is_no_error_of_the_callers(name, size):
    """np.errstate(under="raise") is the caller's, about the caller's own arithmetic."""
    tiny = np.float64(5e-324) if size == 1 else np.full(size, 5e-324)
    expected = UNDERFLOWS[name](tiny)
    with np.errstate(under="raise"):
        np.testing.assert_array_equal(UNDERFLOWS[name](tiny), expected)
