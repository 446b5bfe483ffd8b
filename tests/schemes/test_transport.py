"""Transport of a probability over a distance: against mpmath, and against today's
radii.
"""

import mpmath as mp
import numpy as np
import pytest

from rsbounds import anisotropic, gaussian
from rsbounds.schemes import METHODS
from rsbounds.schemes import gaussian as of_level

RNG = np.random.default_rng(0)


def scores(count):
    sizes = 10.0 ** RNG.uniform(-9, 1.2, count)
    return np.where(RNG.random(count) < 0.5, -sizes, sizes)


def exact_laplace(z, step):
    z, step = mp.mpf(z), mp.mpf(step)
    quantile = mp.log(2 * mp.ncdf(z)) if z < 0 else -mp.log(2 * mp.ncdf(-z))
    place = quantile + step
    tail = mp.e ** -abs(place) / 2
    size = mp.findroot(
        lambda u: mp.log(mp.ncdf(u)) - mp.log(tail), -mp.sqrt(2 * abs(place)) - 0.1
    )
    return size if place < 0 else -size


@pytest.mark.parametrize(
    ("norm", "dim"), [(2.0, None), (1.0, None), (3.0, 10.0), (np.inf, 784.0)]
)
def test_gaussian_transport_is_rounded_outward_and_tight(norm, dim):
    z, radius, sigma = (
        scores(200),
        10.0 ** RNG.uniform(-12, 2, 200),
        10.0 ** RNG.uniform(-3, 2),
    )
    low, high = of_level(sigma, norm=norm, dim=dim).transport(z, radius)
    with mp.workdps(60):
        power = (
            max(mp.mpf(1) / 2 - 1 / mp.mpf(norm), 0) if norm < np.inf else mp.mpf(1) / 2
        )
        for a, r, bottom, top in zip(z, radius, low, high, strict=True):
            step = mp.mpf(r) * mp.mpf(dim or 1) ** power / mp.mpf(sigma)
            assert 0 <= (a - step) - bottom <= 1e-11 * (abs(a) + step)
            assert 0 <= top - (a + step) <= 1e-11 * (abs(a) + step)


def test_laplace_transport_is_rounded_outward():
    z, radius, scale = RNG.normal(size=80) * 3, 10.0 ** RNG.uniform(-8, 1, 80), 0.7
    low, high = anisotropic.internal.laplace_transport(z, radius, scale)
    with mp.workdps(50):
        for a, r, bottom, top in zip(z, radius, low, high, strict=True):
            step = mp.mpf(r) / mp.mpf(scale)
            slack = 4e-14 * (1 + a * a + step)
            assert 0 <= top - exact_laplace(a, step) <= slack
            assert 0 <= -exact_laplace(-a, step) - bottom <= slack


def test_no_set_in_two_dimensions_leaves_the_laplace_interval():
    """Quadrants, moved in both coordinates at once."""
    for _ in range(300):
        edges, radius, share = RNG.normal(size=2) * 2, RNG.uniform(0, 2), RNG.random()
        shift = radius * np.array([share, 1 - share]) * RNG.choice([-1, 1], 2)

        def inside(point):
            below = np.where(point < 0, np.exp(point) / 2, 1 - np.exp(-point) / 2)
            return float(np.prod(below))

        here, there = inside(edges), inside(edges - shift)
        z = float(mp.sqrt(2) * mp.erfinv(2 * here - 1))
        low, high = (
            float(mp.ncdf(v))
            for v in anisotropic.internal.laplace_transport(z, radius, 1.0)
        )
        assert low - 1e-12 <= there <= high + 1e-12


def shaped(noise_sigma=(0.5, 2.0), norm=2):
    torch = pytest.importorskip("torch")
    from rsbounds.torch import FixedNoise

    return FixedNoise(torch.zeros(2), torch.tensor(noise_sigma)).scheme(norm)


@pytest.mark.parametrize("norm", [2, np.inf])
def test_transport_under_anisotropic_noise(norm):
    scheme = shaped(norm=norm)
    inner, level = scheme.parameters["inner"], scheme.noise.level
    low, high = scheme.transport(1.0, 0.3)
    assert 0 <= 1 - 0.3 / (inner * level) - low <= 1e-14
    assert 0 <= high - (1 + 0.3 / (inner * level)) <= 1e-14
    bare = METHODS["anisotropic"].from_parameters(scheme.parameters)
    assert bare.transport(1.0, 0.3, level) == (low, high)
    with pytest.raises(ValueError, match=r"sigma.*given"):
        bare.transport(1.0, 0.3)


def test_infinite_scores_and_radii():
    low, high = gaussian.internal.transport([np.inf, -np.inf, 1.0], np.inf, 1.0)
    assert low.tolist() == [np.inf, -np.inf, -np.inf]
    assert high.tolist() == [np.inf, -np.inf, np.inf]
    low, high = anisotropic.internal.laplace_transport(
        [np.inf, -np.inf, 1.0], np.inf, 1.0
    )
    assert low.tolist() == [np.inf, -np.inf, -np.inf]
    assert high.tolist() == [np.inf, -np.inf, np.inf]
    low, high = gaussian.internal.transport(0.0, 5e-324, 1e300)
    assert low < 0 < high
    with np.errstate(invalid="ignore"):
        assert np.isnan(gaussian.internal.transport(np.nan, 1.0, 1.0)).all()
        assert np.isnan(gaussian.internal.transport(1.0, np.nan, 1.0)).all()


def test_noise_that_follows_the_input_is_refused_in_one_line():
    for method in ("semi-elastic", "lipschitz", "range", "generator"):
        parameters = dict.fromkeys(METHODS[method].domains, 1.0)
        with pytest.raises(ValueError, match="the same at every input") as caught:
            METHODS[method](parameters).transport(1.0, 0.1)
        assert "\n" not in str(caught.value)
        assert method in str(caught.value)
