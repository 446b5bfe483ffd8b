"""Sound noise whose level follows the input: its rounding is bounded, the radius allows
for it.
"""

import numpy as np
import pytest
from cases import slow_among
from mpmath import mp
from scipy.special import ndtr, ndtri

from rsbounds import schemes
from rsbounds.audit.schemes import RADII
from rsbounds.certify import Procedure, certify_radius, predict
from rsbounds.certify.internal import certified
from rsbounds.envelope import LipschitzSigma, SemiElastic, Widened, radius
from rsbounds.noises import grid_noise
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import ArraySampler
from rsbounds.semielastic import KNNSigma


def exact_ends(envelope, sigma, distance):
    sigma, distance = mp.mpf(sigma), mp.mpf(distance)
    if isinstance(envelope, SemiElastic):
        turn = mp.exp(mp.mpf(envelope.rate) * distance)
        return sigma / turn, sigma * turn
    t = mp.mpf(envelope.lip) * distance
    return max(mp.mpf(envelope.sigma_min), sigma - t), sigma + t


def test_widened_bounds_lie_outside_the_true_ones():
    rng = np.random.default_rng(0)
    with mp.workdps(40):
        for _ in range(500):
            sigma, slack = 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-18, 0)
            rate, distance = 10 ** rng.uniform(-6, 2), sigma * 10 ** rng.uniform(-9, 1)
            floor = sigma * rng.choice([0.0, 1e-6, 0.5, 1.0])
            for inner in (SemiElastic(rate), LipschitzSigma(rate, floor)):
                low, high = exact_ends(inner, sigma, distance)
                result = Widened(inner, slack).bounds(sigma, distance)
                factor = mp.exp(mp.mpf(slack))
                assert mp.mpf(float(result[0])) <= low / factor
                assert mp.mpf(float(result[1])) >= high * factor
                # and hardly further: 32 rounding units, of sigma for the lower end
                assert float(result[1]) <= float(high * factor) * (
                    1 + 2e-14 * (1 + rate * distance)
                )
                assert float(result[0]) >= float(low / factor) - 2e-14 * sigma


@pytest.mark.parametrize("slack", [-1e-9, np.nan, np.inf])
def test_slack_that_is_none_is_refused(slack):
    with pytest.raises(ValueError, match="slack"):
        Widened(SemiElastic(0.01), slack)


def test_a_jump_at_distance_zero_certifies_nothing_near_one_half():
    envelope = Widened(SemiElastic(0.0), 1e-6)
    assert radius(0.5 + 1e-7, 1.0, envelope, 784) == 0
    assert radius(0.51, 1.0, envelope, 784) > 0


def test_widened_radii_are_proved_and_no_larger_ones():
    rng = np.random.default_rng(1)
    for _ in range(12):
        z, sigma = rng.uniform(0.2, 4), 10 ** rng.uniform(-1, 0.5)
        slack, dim = 10 ** rng.uniform(-13, -4), float(rng.choice([10, 784, 150528]))
        rate = 10 ** rng.uniform(-3, -1)
        bounds = {"lip": rate, "sigma_min": 0.9 * sigma}
        for method, envelope, options in (
            ("semi-elastic", SemiElastic(rate), {"rate": rate}),
            ("lipschitz", LipschitzSigma(*bounds.values()), bounds),
        ):
            result = float(radius(z, sigma, Widened(envelope, slack), dim, scores=True))
            options |= {"dim": dim, "slack": slack}
            proved = RADII[method].proved
            assert proved(options, sigma, result, z)
            assert not proved(options, sigma, result * (1 + 1e-9), z)
            # what is proved is the slack's own certificate
            assert proved({**options, "slack": 0.0}, sigma, result, z)


def ideal_log(knn, anchors, whole):
    x = [mp.mpf(int(w)) / 255 for w in whole]
    distances = sorted(
        mp.sqrt(
            mp.fsum((a - mp.mpf(float(b))) ** 2 for a, b in zip(x, row, strict=True))
        )
        for row in anchors
    )
    mean = mp.fsum(distances[: knn.k]) / knn.k
    return mp.log(mp.mpf(knn.sigma_base)) + mp.mpf(knn.rate) * (
        mean - mp.mpf(knn.shift)
    )


CASES = {
    "a line": (1, 3, 1, 1.0),
    "few": (4, 10, 3, 0.5),
    "all anchors": (16, 12, 12, 5.0),
    "digits": (64, 40, 5, 0.1),
    "steep": (9, 8, 2, 50.0),
}


@pytest.mark.parametrize("case", slow_among(["digits"], CASES))
def test_slack_bounds_the_error_of_a_level_under_a_climbing_search(case):
    dim, count, k, rate = CASES[case]
    rng = np.random.default_rng(len(case))
    anchors = rng.random((count, dim))
    anchors[0] = (
        rng.integers(0, 256, dim) / 255
    )  # a point of the grid: distances of nearly 0
    knn = KNNSigma(anchors, 0.25, rate, k, "mean" if k < count else 1.0)
    allowed = knn.rounding() / 2

    def error(whole):
        return abs(
            mp.log(mp.mpf(float(knn.sigma(whole / 255))))
            - ideal_log(knn, anchors, whole)
        )

    with mp.workdps(40):
        best = rng.integers(0, 256, dim)
        worst = error(best)
        for _ in range(60):
            whole = best.copy()
            some = rng.integers(0, dim, max(1, dim // 10))
            whole[some] = rng.integers(0, 256, len(some))
            result = error(whole)
            if result > worst:
                best, worst = whole, result
        assert 0 < worst <= allowed
        # a bound that a level in single precision breaks
        single = np.float32(knn.sigma((best / 255).astype(np.float32)))
        assert (
            abs(mp.log(mp.mpf(float(single))) - ideal_log(knn, anchors, best)) > allowed
        )


def knn_scheme():
    anchors = np.random.default_rng(0).random((8, 36))
    return schemes.semielastic(KNNSigma(anchors, 0.25, 0.05, 3), 36)


def test_a_level_is_a_function_of_the_point_of_the_grid():
    scheme = knn_scheme().on_grid()
    whole = np.random.default_rng(1).integers(0, 256, (1, 6, 6))
    single = whole.astype(np.float32)
    level = scheme.sigma(whole / 255)
    assert scheme.sigma(single / np.float32(255)) == level
    assert scheme.sigma(single * np.float32(1 / 255)) == level
    plain = knn_scheme()
    assert plain.sigma(single * np.float32(1 / 255)) != plain.sigma(whole / 255)


def test_what_is_no_picture_is_refused():
    scheme = knn_scheme().on_grid()
    with pytest.raises(ValueError, match="grid of 1/255"):
        scheme.sigma(np.full(36, 0.5))
    for value in (-1, 256):
        with pytest.raises(ValueError, match=r"1 of 36.*outside"):
            scheme.sigma(np.array([value] + [0] * 35) / 255)


def test_a_sound_scheme_loses_little_and_says_its_slack():
    sound, plain = knn_scheme().on_grid(), knn_scheme()
    assert (sound.grid, plain.grid) == (255, None)
    slack = sound.parameters["slack"]
    assert plain.parameters.keys() == {"rate", "dim"}
    assert 0 < slack < 1e-13
    ratio = sound.radius(2.0, 0.25) / plain.radius(2.0, 0.25)
    assert 1 - 1e-10 < ratio <= 1 + 1e-11


@pytest.mark.parametrize("task", [certified, predict, certify_radius])
def test_sound_noise_refuses_levels_whose_rounding_nobody_bounded(task):
    sampler = ArraySampler(
        lambda batch: batch.reshape(len(batch), -1)[:, :2], noise=OnGrid()
    )
    procedure = Procedure(n=300, target_radius=0.1)
    with pytest.raises(ValueError, match=r"on_grid.*'semi-elastic'"):
        task(sampler, np.zeros(36), knn_scheme(), procedure)
    task(sampler, np.zeros(36), knn_scheme().on_grid(), procedure)
    task(sampler, np.zeros(36), schemes.gaussian(0.5), procedure)
    task(
        sampler,
        np.zeros(36),
        schemes.sigma_range(lambda x: 0.5, 0.4, 0.6, 36),
        procedure,
    )


def test_slack_of_a_lipschitz_level_covers_both_errors_at_any_level():
    rounding, floor, lip = 1e-4, 0.25, 0.1
    slack = schemes.lipschitz(
        lambda x: 0.5, lip, floor, 4, rounding=rounding
    ).parameters["slack"]
    for level in (floor, 0.26, 1.0, 100.0):
        for distance in (0.0, 0.1, 5.0):
            low, high = Widened(LipschitzSigma(lip, floor), slack).bounds(
                level, distance
            )
            assert low <= max(floor, level - lip * distance) - 2 * rounding
            assert high >= level + lip * distance + 2 * rounding


def test_no_point_of_the_grid_within_a_radius_has_another_class():
    """One dimension, by enumeration: the program's own levels, its exact class
    probabilities.

    The classifier says A on an interval of whole numbers; the probability of A at a
    point is then a difference of two normal tails at the computed level. The
    probability itself is certified.
    """
    rng = np.random.default_rng(0)
    whole = np.arange(256)
    nearest, certified = [], 0
    for _ in range(60):
        anchors = rng.random((3, 1))
        knn = KNNSigma(
            anchors, 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-1, 1), 1, 0.1
        )
        scheme = schemes.semielastic(knn, 1).on_grid()
        levels = 255 * knn.sigma((whole / 255)[:, None])
        low, high = np.sort(rng.choice(256, 2, replace=False)) - [0.5, -0.5]
        p = ndtr((high - whole) / levels) - ndtr((low - whole) / levels)
        for x in rng.choice(whole[p > 0.5], min(5, np.sum(p > 0.5)), replace=False):
            bound = p[x] - 1e-12  # beyond the error of the two tails
            reach = (
                scheme.radius(ndtri(bound), scheme.sigma([x / 255]))
                if bound > 0.5
                else 0.0
            )
            inside = np.abs(whole - x) < 255 * reach
            assert np.all(p[inside] > 0.5)
            certified += inside.sum() > 1
            lost = np.abs(whole - x)[p < 0.5]
            if lost.size and reach > 0:
                nearest.append(255 * reach / lost.min())
    assert certified > 50
    assert max(nearest) > 0.9  # a radius a tenth larger would be false somewhere


def test_numpy_noise_voids_what_it_cannot_decide():
    whole = np.arange(4, dtype=np.int32)

    class Ties(np.random.Generator):
        def integers(self, low, high, size, dtype):
            u = np.full(size, 5 << 60, dtype=dtype)
            u[7] = 0  # the first threshold
            return u

    ties = Ties(np.random.PCG64(0))
    _, void = grid_noise.noisy(whole, 0.02, 3, ties)
    assert void.tolist() == [False, True, False]
    sampler = ArraySampler(lambda batch: np.zeros((len(batch), 2)), noise=OnGrid())
    assert sampler(whole / 255, 0.02, 3, ties).tolist() == [2, 0]
