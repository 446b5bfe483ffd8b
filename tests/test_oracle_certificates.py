"""The quick sign of an excess: against mpmath, at genuine rows, and where it must step aside."""

from __future__ import annotations

import math
import time
from random import Random
from typing import Any

import pytest
from mpmath import mp

from rsbounds import oracle
from rsbounds.oracle import _quick, certificates

m = mp.mpf


@pytest.fixture(autouse=True)
def _digits() -> Any:
    with mp.workdps(45):
        yield


def points(seed: int, count: int) -> Any:
    """Two points, a budget and a dimension, of every magnitude."""
    rng = Random(seed)
    for _ in range(count):
        dim = rng.choice([1, 2, 3, 10, 784, 3072, 150528, 10 ** rng.uniform(0, 5.2)])
        sigma0 = 10 ** rng.uniform(-2, 1)
        change = rng.choice([-1, 1]) * 10 ** rng.uniform(-10, -0.3) * min(1, 3 / math.sqrt(dim))
        z = rng.choice([-1, -1, 1]) * 10 ** rng.uniform(-2, 1.47)
        distance = sigma0 * abs(z) * 10 ** rng.uniform(-2, 0.1)
        yield distance, z, sigma0, sigma0 * math.exp(change), dim


# Points at which a coarser step, or a bound that took what every other node missed to a higher
# power, fell short of the error by factors of 28 and 3.
HARD = [
    (0.009807359270720774, 0.16302610221667646, 1.5599620046000189, 1.7260980899584, 2),
    (0.10498908259632903, -0.33062925989451414, 1.135645661434616, 1.0768636293, 1),
    (0.07489711727590646, -0.2697896147675957, 6.039519274963145, 8.40761478, 1),
    (1.1639896006623527, -1.9970758831478168, 4.778180153017472, 3.61899804703453, 3),
]


@pytest.mark.parametrize("point", [*points(1, 30), *HARD])
def test_quick_is_within_its_bound_of_mpmath(point: tuple[float, ...]) -> None:
    distance, z, sigma0, sigma1, dim = map(m, point)
    found = _quick.worst_sum(distance, (z,), sigma0, sigma1, dim)
    if found is None:
        return
    truth = oracle.worst_score(distance, z, sigma0, sigma1, dim, dps=25)
    # The bound leaves a margin of 4: an error above half of it is a formula gone wrong.
    assert abs(found.value - truth) <= found.error / 2
    assert found.error < 4e-13 * (1 + abs(z))


def test_quick_serves_nearly_everywhere() -> None:
    found = [_quick.worst_sum(m(a), (m(z),), m(s), m(t), m(d)) for a, z, s, t, d in points(2, 200)]
    assert sum(value is None for value in found) < 20


KNOWN = {
    "semi-elastic": {"rate": 0.01, "dim": 784},
    "lipschitz": {"lip": 0.05, "sigma_min": 0.1, "dim": 784},
    "range": {"sigma_min": 0.2499, "sigma_max": 0.2501, "dim": 784},
    "generator": {"lip": 0.01, "sigma_min": 0.1, "mean_lip": 0.5, "inner": 0.3, "dim": 784},
}


def truth(method: str, z_a: float, z_b: float | None) -> Any:
    known: dict[str, Any] = KNOWN[method]
    if method == "semi-elastic":
        envelope = oracle.semi_elastic(0.25, known["rate"])
    elif method == "range":
        envelope = oracle.sigma_range(known["sigma_min"], known["sigma_max"])
    else:
        envelope = oracle.lipschitz_sigma(0.25, known["lip"], known["sigma_min"])
    mean_lip = known.get("mean_lip", 0)
    branches = oracle.envelope_branches(z_a, 0.25, envelope, 784, z_b, mean_lip=mean_lip, dps=20)
    return min(branches) * m(known.get("inner", 1))


@pytest.mark.parametrize(
    ("method", "z_b"),
    [("semi-elastic", None), ("lipschitz", -2.5), ("range", None), ("generator", -2.5)],
)
def test_the_sign_at_the_truth(method: str, z_b: float | None, monkeypatch: Any) -> None:
    radius = truth(method, 1.5, z_b)

    def exceeds(factor: float) -> bool:
        claimed = radius * (1 + m(factor))
        return certificates.exceeds(method, KNOWN[method], 0.25, claimed, 1.5, z_b)

    # So near that floats can't tell, mpmath does.
    for step in (1e-9, 5e-12, 1e-14, 1e-16):
        assert exceeds(step)
        assert not exceeds(-step)
    # At what a certificate is from its truth, floats alone decide.
    monkeypatch.setattr(certificates, "worst_score", None)
    for step in (1e-9, 5e-12):
        assert exceeds(step)
        assert not exceeds(-step)
    with pytest.raises(TypeError):
        exceeds(1e-16)


@pytest.mark.parametrize(
    ("distance", "z", "less", "dim"),
    [
        (0.1, -1.0, 1.0, 784),  # no noise
        (0.0, -1.0, 0.1, 784),
        (0.1, -37.0, 0.1, 784),  # a tail near the smallest normal number
        (1.0, -1.0, -1e-16, 784),  # a centre 1e16 away
        (0.1, 1.0, 0.9, 150528),  # a worst case that is nearly certain
    ],
)
def test_quick_steps_aside(distance: float, z: float, less: float, dim: float) -> None:
    assert _quick.worst_sum(m(distance), (m(z),), m(1), 1 - m(less), m(dim)) is None


def test_mpmath_decides_where_quick_steps_aside() -> None:
    known = {"rate": 0.01, "dim": 784}
    assert not certificates.exceeds("semi-elastic", known, 0.25, 0.1, 38.0)
    assert certificates.exceeds("semi-elastic", known, 0.25, 20.0, 38.0)
    floor = {"lip": 10.0, "sigma_min": 0.05, "dim": 784}
    assert certificates.exceeds("lipschitz", floor, 0.25, 1.0, 2.0)


def test_equal_levels() -> None:
    found = _quick.worst_sum(m(0.5), (m(-2), m(-3)), m(0.25), m(0.25), m(784))
    assert found is not None
    assert abs(found.value - (-1)) <= found.error < 1e-14


def test_a_row_takes_milliseconds() -> None:
    known = {"rate": 0.01, "dim": 150528}
    started = time.process_time()
    for i in range(10):
        assert not certificates.exceeds("semi-elastic", known, 0.25, 0.3 + i / 1000, 2.4, -2.5)
    # 8 ms measured; mpmath takes 500.
    assert time.process_time() - started < 10 * 0.05
