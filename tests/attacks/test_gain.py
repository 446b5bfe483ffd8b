"""The two-point gain of the compiled certificate: its error bound attacked, its
corners.

The bound is derived in docs/theory/two-point.md. The climbing search is
tests/attacks/gain_attack.cpp, whose truth is first compared with the oracle.
"""

import math
import re
import shutil
import subprocess
from pathlib import Path

import median_series
import mpmath as mp
import pytest

import rsbounds_ext
from rsbounds import envelope, oracle, semielastic
from rsbounds.envelope import LipschitzSigma, SemiElastic, SigmaRange, TableEnvelope

pytestmark = pytest.mark.usefixtures("sixty_digits")

COMPILER = shutil.which("g++")


@pytest.fixture(scope="module")
def attack(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no g++")
    program = tmp_path_factory.mktemp("attack") / "attack"
    source = Path(__file__).parent / "gain_attack.cpp"
    flags = ["-std=gnu++17", "-O2", "-ffp-contract=off", "-Wno-psabi"]
    include = f"-I{rsbounds_ext.get_include()}"
    command = [COMPILER, *flags, include, str(source), "-lquadmath", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "quadmath.h" in done.stderr:
        pytest.skip("no quadruple precision")
    assert done.returncode == 0, done.stderr

    def run(*arguments):
        words = [
            str(program),
            *(repr(a) if isinstance(a, float) else str(a) for a in arguments),
        ]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert "NaN" not in text
        return text.splitlines()[-1].split()

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("b", "alpha", "k", "dim"),
    [
        (-2.0, 0.1, 0.99, 784.0),
        (-2.0, 0.1, 1.01, 784.0),
        (-8.3, 3.0, 0.5, 2.0),
        (-30.0, 0.001, 1.0001, 150528.0),
        (1.5, 1e-9, 1.000001, 784.0),
        (-9.06, 1.9e-5, 1.2e-9, 2.66),
    ],
)
def test_the_truth_of_the_search_is_the_oracle(attack, b, alpha, k, dim):
    gain = attack("reference", b, alpha, k, int(k > 1), dim)[0]
    t = abs(math.log(k))  # the program's own k
    low = mp.mpf(math.exp(-t)) if k < 0.5 else 1 - mp.mpf(-math.expm1(-t))
    sigma1 = 1 + mp.mpf(math.expm1(t)) if k > 1 else low
    truth = oracle.worst_score(alpha, b, 1, sigma1, dim, dps=35) - mp.mpf(b)
    assert abs(mp.mpf(gain) / truth - 1) < 1e-17


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "seed", "low", "high"),
    [
        ("search", 101, 0.05, 1),
        ("search", 102, 0.05, 1),
        ("ball", 1, 0.02, 0.3),  # a budget's ball, from a start beside it
        ("panels", 1, 0.01, 0.3),  # small gains, by Gauss-Legendre nodes
        ("median", 1, 0.02, 1),
        ("median", 2, 0.02, 1),
        ("rough", 1, 0.05, 0.2),  # the formula of Lugannani and Rice
        ("upper", 1, 0.01, 1),  # and the upper bounds of X by it
    ],
)
def test_no_error_exceeds_its_bound(attack, what, seed, low, high):
    assert low < float(attack(what, seed, 20_000)[0]) <= high


@pytest.mark.slow
def test_the_series_of_the_median():
    header = Path(rsbounds_ext.get_include()) / "rsbounds" / "median.hpp"
    written = re.findall(r"double c(\d)\[\] = \{([^}]*)\}", header.read_text())
    assert [int(number) for number, _ in written] == [1, 2, 3, 4, 5, 6]
    first, *rest = median_series.coefficients(7)
    assert first == [median_series.Fraction(-1, 3)] * 2
    for (_, text), exact in zip(written, rest, strict=True):
        assert [float(c) for c in text.split(",")] == [float(c) for c in exact]


@pytest.mark.parametrize("dim", [1, 1.5, 2, 9, 784])
def test_the_density_falls_as_the_page_says(dim):
    """f'/f = -theta - c/x, 3/2 <= c <= 2, which bounds what a quantile's last step
    leaves.
    """
    for s, rho in [(0.01, 0.3), (0.5, 4), (3, 1), (30, 31), (40, 20), (1, 60)]:
        mu, w, x = mp.mpf(dim) / 2, mp.mpf(s) * rho, mp.mpf(rho) ** 2
        ratio = mp.besseli(mu, w) / mp.besseli(mu - 1, w)
        slope = w / x * ratio + (2 * mu - 2) / x - 1
        theta = 1 - (mu + mp.sqrt(mu**2 + w**2)) / x
        assert 1.5 <= -(slope + theta) * x <= 2


# --- where the bound, or the range of numbers, was exceeded
# ------------------------------------


def test_nothing_is_certified_where_the_quantiles_error_is_amplified():
    for z, low, dim in (
        (30.26, 5.272600345789732e-101, 2),
        (30.68, 2.851934511680166e-10, 22),
    ):
        assert oracle.worst_score(0, -z, 1, low, dim) > 0  # so the radius is 0
        assert envelope.radius(z, 1.0, SigmaRange(low, 1.0), dim, scores=True) == 0
        table = TableEnvelope([1e-9, 1.0], [low, low], [1.0, 1.0])
        assert envelope.radius(z, 1.0, table, dim, scores=True) == 0


def assert_sound_and_tight(radius, z, sigma, dim, ends):
    radius = mp.mpf(float(radius))
    assert radius > 0

    def worst(distance):
        return max(
            oracle.worst_score(distance, -z, sigma, end(distance), dim) for end in ends
        )

    assert worst(radius) <= 0
    assert worst(radius * (1 + mp.mpf("1e-11"))) > 0


@pytest.mark.parametrize("z", [38.6, 45.0])
def test_a_ball_tiny_at_one_point_only(z):
    radius = envelope.radius(z, 1.0, SigmaRange(1e-300, 1.0), 1, scores=True)
    assert_sound_and_tight(radius, z, 1.0, 1, oracle.sigma_range(1e-300, 1.0)[:1])


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 1.0, 700.0, 745.0, 1e5])
def test_the_lower_branch_where_the_ratio_underflows(rate):
    z = 2000.0
    low, _ = envelope.branch_radii(z, 1.0, SemiElastic(rate), 1, scores=True)
    assert low * rate > 745  # exp(-745) is 0
    assert_sound_and_tight(low, z, 1.0, 1, oracle.semi_elastic(1.0, rate)[:1])


@pytest.mark.slow
def test_rate_times_sigma_beside_the_largest_number():
    radius = semielastic.radius(0.99, 1e300, 1e7, 784)
    z = mp.sqrt(2) * mp.erfinv(2 * mp.mpf(0.99) - 1)
    assert_sound_and_tight(radius, z, 1e300, 784, oracle.semi_elastic(1e300, 1e7))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("z", "dim", "scheme"),
    [
        (968249.0, 1, LipschitzSigma(0.5)),
        (71959.68173719072, 1, LipschitzSigma(0.2646360127653517, 0.01778108223709007)),
        (116262.11785321413, 1, SemiElastic(1.1782665252989761)),
        (
            887136.4824455566,
            784,
            LipschitzSigma(0.11844850548471186, 0.00018866535574318615),
        ),
    ],
)
def test_large_scores_lose_no_digits(z, dim, scheme):
    ends = (
        oracle.semi_elastic(1.0, scheme.rate)
        if isinstance(scheme, SemiElastic)
        else oracle.lipschitz_sigma(1.0, scheme.lip, scheme.sigma_min)
    )
    radius = envelope.radius(z, 1.0, scheme, dim, scores=True)
    assert_sound_and_tight(radius, z, 1.0, dim, ends)


def test_the_worst_case_under_vanishing_noise():
    for point in (
        (1.0, 0.9, 1.0, 1e-153, 784),
        (1.0, 0.9, 1e160, 1.0, 784),
        (0, 0.9, 1, 1e-160, 1),
    ):
        assert semielastic.xi(*point) == 1
    score = semielastic.xi(0.0, 1e5, 1e300, 1e-300, 1, scores=True)
    truth = oracle.worst_score(0.0, -1e5, 1e300, 1e-300, 1)
    assert abs(float(mp.mpf(float(score)) - truth)) <= 1e-13 * 1e5
