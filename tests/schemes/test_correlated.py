"""Gaussian noise of any covariance: its level, draw, ellipsoid and refusals."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from rsbounds import anisotropic, certify_dataset, gaussian, schemes
from rsbounds._numerics.singular import least_singular_value, spectral_norm
from rsbounds.audit import Kind, verify
from rsbounds.audit.schemes import RADII
from rsbounds.certify import certify
from rsbounds.cli import main
from rsbounds.results.internal import manifest_path
from rsbounds.sampling import as_sampler
from rsbounds.sampling.bits import ArrayBits

SEEDS = st.integers(0, 2**32 - 1)


def matrix_of(seed):
    """A matrix: dense, graded by rows or columns, turned, or nearly singular."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 7))
    matrix = rng.standard_normal((dim, dim))
    scales = 10.0 ** rng.uniform(-4, 4, dim)
    kind = rng.integers(5)
    if kind == 1:
        matrix = scales[:, None] * matrix
    if kind == 2:
        matrix = matrix * scales
    if kind == 3:
        matrix = np.linalg.qr(matrix)[0] * scales[0]
    if kind == 4:
        matrix[-1] = matrix[0] + 10.0 ** rng.uniform(-7, 0) * matrix[-1]
    return matrix


def exact_least(matrix):
    with mp.workdps(60):
        return min(mp.svd_r(mp.matrix(matrix.tolist()), compute_uv=False))


@settings(max_examples=50)
@given(SEEDS)
def test_the_level_is_never_above_the_least_singular_value(seed):
    matrix = matrix_of(seed)
    least, truth = least_singular_value(matrix), exact_least(matrix)
    assert least <= truth
    try:
        scheme = schemes.correlated(matrix)
    except ValueError:
        assert np.linalg.cond(matrix) > 1e6
        return
    assert scheme.level == least >= truth * (1 - 1e-6)
    radius = scheme.radius(2.0, least)
    proof = RADII["correlated"]
    assert proof.proved(scheme.parameters, least, radius, 2.0)
    above = float(truth) * (1 + 1e-9)
    assert not proof.proved(scheme.parameters, above, 2 * above * (1 - 1e-12), 2.0)


@settings(max_examples=25)
@given(SEEDS)
def test_a_norm_is_never_below_the_largest_singular_value(seed):
    matrix = matrix_of(seed)
    with mp.workdps(60):
        truth = max(mp.svd_r(mp.matrix(matrix.tolist()), compute_uv=False))
    assert truth <= spectral_norm(matrix) <= truth * (1 + 1e-13)


def test_a_level_for_all_numbers_gives_gaussian_radii_to_the_bit():
    for level in (0.25, 0.3, 1 / 3, 7.1):
        scheme = schemes.correlated(level * np.eye(5))
        assert scheme.level == level
        for z_a, z_b in ((0.5, None), (2.0, -2.5), (3.7, 1.0)):
            expected = schemes.gaussian(level).radius(z_a, level, z_b)
            assert scheme.radius(z_a, level, z_b) == expected


def test_a_diagonal_matrix_gives_anisotropic_radii():
    levels = np.array([0.7, 0.2, 3.0])
    scheme = schemes.correlated(np.diag(levels))
    assert scheme.level == 0.2
    expected = float(anisotropic.radius(2.0, levels, scores=True))
    assert scheme.radius(2.0, scheme.level) == pytest.approx(expected, rel=1e-13)


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 40))
def test_a_rotation_changes_no_radius(seed, dim):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    expected = float(gaussian.radius(2.0, 0.3, scores=True))
    scheme = schemes.correlated(0.3 * turn)
    # a computed rotation is one to a few bits itself
    bits = 2.0**-52 * (dim**2 + 20 * dim)
    assert scheme.radius(2.0, scheme.level) == pytest.approx(expected, rel=bits)


@settings(max_examples=40)
@given(SEEDS)
def test_a_distance_is_never_below_that_of_mahalanobis(seed):
    matrix = matrix_of(seed)
    rng = np.random.default_rng(seed)
    try:
        scheme = schemes.correlated(matrix)
    except ValueError:
        return
    delta = rng.standard_normal(len(matrix)) * 10.0 ** rng.uniform(-9, 9)
    with mp.workdps(60):
        solved = mp.lu_solve(mp.matrix(matrix.tolist()), mp.matrix(delta.tolist()))
        truth = mp.norm(solved)
    assert truth <= scheme.distance(delta)
    # in every direction the ball of the radius lies in the ellipsoid
    assert truth <= np.linalg.norm(delta) / scheme.level * (1 + 1e-12)


def test_a_distance_is_that_of_the_solution_where_the_map_is_a_good_one():
    scheme = schemes.correlated([[3.0, 0.0], [4.0, 0.5]])
    assert 1.0 <= scheme.distance([3.0, 4.0]) <= 1 + 1e-12
    assert scheme.distance([[0.0], [-0.5]]) >= 1.0
    assert scheme.distance([0, 0]) == 0
    for wrong in ([1.0], [1.0, math.inf], [1.0, math.nan]):
        with pytest.raises(ValueError, match="delta must be"):
            scheme.distance(wrong)


@pytest.mark.parametrize("power", [-1000, -600, -520, 90])
def test_a_unit_changes_no_digit_of_a_level(power):
    """Squares of the inverse's numbers overflowed: the level was 0, with a warning."""
    matrix = np.array([[3.0, 1.0], [4.0, 0.5]])
    scheme = schemes.correlated(matrix)
    scaled = schemes.correlated(np.ldexp(matrix, power))
    assert scaled.level == math.ldexp(scheme.level, power)
    distance = scheme.distance([1.0, 2.0])
    assert scaled.distance(np.ldexp([1.0, 2.0], power)) == distance


@settings(max_examples=50)
@given(SEEDS)
def test_a_distance_that_no_double_is_close_to_is_rounded_up(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((2, 2)) * 1e20 + 2e20 * np.eye(2)
    delta = rng.standard_normal(2) * 10.0 ** rng.uniform(-300, -290)
    scheme = schemes.correlated(matrix)
    with mp.workdps(60):
        truth = mp.norm(mp.lu_solve(mp.matrix(matrix.tolist()), mp.matrix(delta)))
        assert truth <= scheme.distance(delta)
    assert schemes.correlated([[1e-300]]).distance([1e100]) == math.inf


WRONG = {
    "singular": (np.ones((2, 2)), "an inverse"),
    "zero": (np.zeros((3, 3)), "an inverse"),
    "nearly singular": ([[1.0, 1.0], [1.0, 1.0 + 1e-11]], "an inverse"),
    "not square": (np.ones((2, 3)), r"square.*\(2, 3\)"),
    "levels": ([0.5, 0.7], r"square.*\(2,\)"),
    "a stack": (np.ones((2, 2, 2)), "square"),
    "empty": (np.ones((0, 0)), "square"),
    "large": (np.eye(257), "at most 256 rows.*got 257.*anisotropic"),
    "nan": ([[1.0, math.nan], [0.0, 1.0]], "in"),
    "infinite": ([[1.0, math.inf], [0.0, 1.0]], "in"),
    "texts": ([["a"]], "real numbers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_map_of_noise_is_refused_in_one_line(name):
    matrix, text = WRONG[name]
    with pytest.raises(ValueError, match=f"matrix must (be|have) .*{text}") as error:
        schemes.correlated(matrix)
    assert "\n" not in str(error.value)


def test_an_input_has_a_number_for_each_row():
    scheme = schemes.correlated(np.eye(4))
    assert scheme.sigma(np.zeros((2, 2))) == 1.0
    with pytest.raises(ValueError, match=r"x must have 4 numbers.*\(3,\)"):
        scheme.sigma(np.zeros(3))
    with pytest.raises(ValueError, match="x must have 4 numbers"):
        certify(lambda batch: batch, np.zeros(3), scheme, n=10)


def test_copies_have_the_covariance():
    """Moments of 200,000 copies: each is off by 0.03 once in 1e9 at most."""
    matrix = np.array([[1.0, 0.0, 0.0], [0.6, 0.5, 0.0], [-0.3, 0.2, 0.4]])
    seen = []

    def model(batch):
        seen.append(batch.reshape(len(batch), -1))
        return batch.reshape(len(batch), -1)

    scheme = schemes.correlated(matrix)
    x = np.array([[1.0], [2.0], [3.0]])
    as_sampler(model, scheme)(x, scheme.level, 200_000, np.random.default_rng(0))
    copies = np.concatenate(seen)
    np.testing.assert_allclose(copies.mean(axis=0), [1, 2, 3], atol=0.03)
    np.testing.assert_allclose(np.cov(copies.T), matrix @ matrix.T, atol=0.03)


def test_a_copy_does_not_depend_on_how_many_are_drawn_with_it():
    """The sums of a product of matrices depend on its shape in their last bits."""
    rng = np.random.default_rng(0)
    scheme = schemes.correlated(rng.standard_normal((40, 40)))
    x = np.zeros(40)
    batches = []
    for size in (1, 7, 64):
        bits = ArrayBits(np.random.default_rng(1), size)
        batches.append(scheme.noisy(x, scheme.level, size, bits))
    np.testing.assert_array_equal(batches[0], batches[2][:1])
    np.testing.assert_array_equal(batches[1], batches[2][:7])


def test_a_device_without_float64_draws_no_copies():
    """In float32 the rows of a map that has an inverse would be the same."""
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 + 2e-8]])
    assert least_singular_value(matrix) > 0
    assert np.linalg.matrix_rank(matrix.astype(np.float32)) == 1

    class Narrow(ArrayBits):
        def normal(self, shape):
            return super().normal(shape).astype(np.float32)

    scheme = schemes.correlated([[1.0, 0.5], [0.0, 1.0]])
    bits = Narrow(np.random.default_rng(0), 5)
    with pytest.raises(ValueError, match="device must have numbers in float64"):
        scheme.noisy(np.zeros(2), scheme.level, 5, bits)


def test_no_attack_within_the_radius_where_the_class_is_known():
    """Of a half-space across the least axis the radius is the truth."""
    matrix = np.array([[3.0, 0.0], [4.0, 0.5]])
    direction = np.linalg.svd(matrix)[0][:, -1]

    def model(batch):
        side = batch @ direction
        return np.stack([side, -side], axis=1)

    x = 0.4 * direction
    certificate = certify(model, x, schemes.correlated(matrix), n=100_000)
    assert certificate.predict == 0
    assert 0.35 < certificate.radius < 0.4


def test_a_file_is_verified_and_holds_the_map(tmp_path):
    matrix = [[0.5, 0.1], [-0.3, 0.8]]
    x = np.array([[1.0, 0.2], [-0.4, 0.7], [0.1, 0.1]])
    out = tmp_path / "out.tsv"
    certify_dataset(
        lambda batch: batch,
        (x, np.array([0, 1, 0])),
        schemes.correlated(matrix),
        n=1000,
        out=out,
    )
    audit = verify(out)
    assert not audit.findings
    place = manifest_path(out)
    manifest = json.loads(place.read_text())
    assert manifest["parameters"]["matrix"] == matrix
    manifest["parameters"]["matrix"][0][0] = 0.4
    place.write_text(json.dumps(manifest))
    kinds = {finding.kind for finding in verify(out).findings}
    assert kinds == {Kind.CONTRADICTION}


def test_a_radius_by_the_command_line(capsys):
    assert main(["radius", "correlated", "--p-a", "0.99", "--sigma", "0.5"]) == 0
    printed = float(capsys.readouterr().out.split()[0])
    assert printed == pytest.approx(float(gaussian.radius(0.99, 0.5)), rel=1e-9)
