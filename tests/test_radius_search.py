"""The compiled search of a radius, over all magnitudes: judged by the oracle's certificate.

The hypothesis searches of test_soundness.py draw anew each run; these draws are the same each
time, and go to the ends of every range at once. (Scores of 1e-300: test_tiny_scores there.)
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from test_soundness import assert_sound_and_tight, radius_of

from rsbounds import envelope
from rsbounds.envelope import LipschitzSigma, SemiElastic, SigmaRange

pytestmark = pytest.mark.usefixtures("sixty_digits")


def drawn(seed):
    """A budget, its point and an envelope: one of the three, p_b and a moving mean in turn."""
    rng = np.random.default_rng([14, seed])
    z_a = 10 ** rng.uniform(-2, 1.58) if seed % 4 else 10 ** rng.uniform(-30, -2)
    z_b = (-z_a, z_a - 10 ** rng.uniform(-6, 1), -z_a)[seed // 3 % 3]
    mean_lip = (0.0, 0.0, 10 ** rng.uniform(-3, 1))[seed // 3 % 3]
    dim = 1.0 if seed % 5 == 0 else 10 ** rng.uniform(0, 8)
    sigma, rate = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-12, 3)
    wide = 10 ** rng.uniform(-6, -0.5, 2) * min(z_a, 1) / np.sqrt(dim)
    scheme = (
        SemiElastic(rate / sigma),
        LipschitzSigma(rate, sigma * rng.choice([0.0, 0.9, 1 - 1e-9])),
        SigmaRange(sigma * (1 - wide[0]), sigma * (1 + wide[1])),
    )[seed % 3]
    return scheme, (z_a, z_b), sigma, dim, mean_lip


@pytest.mark.parametrize("seed", range(36))
def test_sound_and_within_1e_11(seed):
    scheme, z, sigma, dim, mean_lip = drawn(seed)
    radius = float(radius_of(scheme, z, sigma, dim, mean_lip))
    dps = 18 if z[0] > 0.01 else 20 - int(np.log10(z[0]))
    with mp.workdps(dps + 40):  # sigma less lip times a tiny radius
        assert_sound_and_tight(radius, scheme, *z, sigma, dim, mean_lip, dps=dps)


@pytest.mark.parametrize(
    ("scheme", "z", "sigma", "dim"),
    [  # the side that binds, once the lower and once the upper; the floor's kink beside the radius
        (LipschitzSigma(0.5), 4.77, 1.0, 784),
        (SemiElastic(0.5), 1.28, 1.0, 1),
        (LipschitzSigma(0.1, 0.23588), 2.3263, 0.25, 784),
        # sigma alone nearly rules certification out: the radius ends 6e-4 below Cohen's .0093
        (SigmaRange(0.0125915155, 0.01275005042), 0.7327935755590098, 0.012750050397882998, 1722),
        # the seams of the median's series: variances of 200 and 5000
        (SemiElastic(0.9), 1.8, 1.0, 398),
        (LipschitzSigma(0.9), 1.8, 1.0, 399.9),
        (SigmaRange(0.996, 1.004), 0.4, 1.0, 401),
        (LipschitzSigma(3.0), 2.5, 1.0, 9990),
        (SemiElastic(3.0), 2.5, 1.0, 10001),
        (SemiElastic(3.0), 0.0099, 1.0, 784),
        (SemiElastic(3.0), 0.0101, 1.0, 784),
    ],
)
def test_each_side_and_kinks(scheme, z, sigma, dim):
    radius = float(envelope.radius(z, sigma, scheme, dim, scores=True))
    assert radius > 0
    assert_sound_and_tight(radius, scheme, z, -z, sigma, dim)


def test_a_range_that_rules_certification_out_is_0_on_its_side_alone():
    scheme = SigmaRange(0.24, 0.26)
    assert envelope.radius(0.99, 0.25, scheme, 150528) == 0
    low, high = envelope.branch_radii(0.99, 0.25, SigmaRange(0.2499999, 0.26), 150528)
    assert high == 0 < low
