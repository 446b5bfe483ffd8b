"""Locally biased smoothing: boundary radius, classifier, the bytes that l_inf scans
read.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import NORMS, random_memory, seeds
from refusals import refusals

from rsbounds import lbrs
from rsbounds._neighbours.anchors import bounds, box

pytestmark = pytest.mark.usefixtures("sixty_digits")

positive = st.floats(1e-3, 1e3)


@pytest.mark.slow
@given(positive, st.floats(0, 1e3), st.floats(0, 10), st.floats(0, 1e3))
def test_boundary_radius(value, grad_norm, alpha, lip_grad):
    v, n, a, lip = (mp.mpf(t) for t in (value, grad_norm, alpha, lip_grad))
    b = a * lip + n
    for method, factor in (("tight", 2), ("paper", 4)):
        got = float(
            lbrs.boundary_radius(-value, grad_norm, alpha, lip_grad, method=method)
        )
        total = b + mp.sqrt(b * b + factor * lip * v)
        if total < mp.mpf("1e-290"):
            assert got == np.inf or got * total <= 2 * v
            continue
        assert 2 * v / total * (1 - mp.mpf("1e-14")) <= got <= 2 * v / total


def test_boundary_radius_special():
    assert lbrs.boundary_radius(3.0, 2.0, 0.7, 0.0) == pytest.approx(
        1.5, rel=1e-14
    )  # linear
    assert lbrs.boundary_radius(0.0, 0.0, 1.0, 0.0) == 0
    assert lbrs.boundary_radius(1.0, 0.0, 1.0, 0.0) == np.inf
    assert lbrs.boundary_radius(1.0, 1e200, 0.0, 1e200) > 0  # the square overflows


def test_erratum_a_theorem_8():
    """Erratum 13: for g = x - x^2/2 at 0, L = 1, g + c > 0 up to the tight radius."""
    value, c = 0.375, 0.375
    radius = lbrs.boundary_radius(value, 1.0, 0.0, 1.0)
    paper = lbrs.boundary_radius(value, 1.0, 0.0, 1.0, method="paper")
    assert paper < radius
    x = -radius
    assert c + x - x * x / 2 == pytest.approx(0.0, abs=1e-14)  # reached exactly


class Quadratic:
    """x.Q x/2 + a.x + c, each column one function; Lipschitz constants of gradients in
    l_p.
    """

    def __init__(self, rng, dim, count):
        self.q = rng.standard_normal((count, dim, dim)) * 0.5
        self.q = self.q + self.q.transpose(0, 2, 1)
        self.a, self.c = rng.standard_normal((count, dim)), rng.standard_normal(count)

    def __call__(self, x):
        grad = np.einsum("kij,nj->nki", self.q, x) + self.a
        value = (np.einsum("nki,ni->nk", grad + self.a, x)) / 2 + self.c
        return value, grad

    def binary(self, x):
        return tuple(part[:, 0] for part in self(x))

    @staticmethod
    def lip(q, norm):
        if norm == 1:
            return np.abs(q).max()
        return np.linalg.norm(q, 2) * (1 + 1e-14) if norm == 2 else np.abs(q).sum()


def perturbations(rng, dim, radius, norm):
    corners = rng.choice([-1.0, 0, 1.0], (100, dim))
    steps = np.vstack(
        [rng.standard_normal((300, dim)), corners, np.eye(dim), -np.eye(dim)]
    )
    size = np.linalg.norm(steps, ord=norm, axis=1)
    steps = steps[size > 0] / size[size > 0][:, None]
    return steps * radius * rng.choice([1.0, 0.999, 0.5], (len(steps), 1)) * (1 - 1e-12)


def attack(seed, norm, method, alpha, count):
    """``count`` functions; one: binary."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 5))
    g = Quadratic(rng, dim, count)
    anchors, labels = random_memory(rng, 30, dim, classes=max(count, 2))
    options = {"norm": norm, "method": method}
    if count == 1:
        lip, labels = g.lip(g.q[0], norm), 2 * labels - 1
    else:
        lip = np.array([[g.lip(p - q, norm) for q in g.q] for p in g.q])
    f = lbrs.LocallyBiased(
        g.binary if count == 1 else g, anchors, labels, alpha, lip, **options
    )
    x = random_memory(rng, 4, dim)[0]
    classes, radii = f.certify(x)
    assert (classes == f.predict(x)).all()
    if count > 1:
        single = lbrs.LocallyBiased(g, anchors, labels, alpha, lip.max(), **options)
        assert (single.certify(x)[1] <= radii).all()
    for row, label, radius in zip(x, classes, radii, strict=True):
        reach = min(radius, 10.0)
        assert (f.predict(row + perturbations(rng, dim, reach, norm)) == label).all()


ATTACKS = (
    seeds,
    st.sampled_from(NORMS),
    st.sampled_from(["tight", "paper"]),
    st.floats(0, 2),
)


@settings(max_examples=20, deadline=None)
@given(*ATTACKS)
def test_attack_on_the_binary_classifier(seed, norm, method, alpha):
    attack(seed, norm, method, alpha, 1)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(*ATTACKS, st.integers(2, 4))
def test_attack_on_the_multiclass_classifier(seed, norm, method, alpha, count):
    attack(seed, norm, method, alpha, count)


@pytest.mark.parametrize("norm", NORMS)
def test_linear_classifier_has_the_radius_of_the_paper(norm):
    """max(min(|g^mu|/|a|_*, neighbour radius), |g|/|a|_* - alpha), the last for any
    anchor.
    """
    rng = np.random.default_rng(0)
    a = rng.standard_normal(6)
    anchors, labels = random_memory(rng, 40, 6, classes=2)
    labels = 2 * labels - 1
    x = random_memory(rng, 50, 6, classes=2)[0]

    def linear(x):
        return x @ a + 0.2, np.tile(a, (len(x), 1))

    size = np.linalg.norm(a, ord={1: np.inf, 2: 2, np.inf: 1}[norm])
    nearest = ((x[:, None] - anchors) ** 2).sum(axis=2).argmin(axis=1)
    biased = x @ a + 0.2 + 0.5 * labels[nearest] * size
    f = lbrs.LocallyBiased(linear, anchors, labels, 0.5, 0.0, norm=norm)
    classes, radii = f.certify(x)
    boundary = np.abs(biased) / size
    expected = np.minimum(
        boundary, lbrs.neighbour_radius(x, anchors, labels, norm=norm)
    )
    expected = np.maximum(expected, np.abs(x @ a + 0.2) / size - 0.5)
    assert (classes == np.sign(biased)).all()
    np.testing.assert_allclose(
        radii, expected, rtol=1e-12, atol=1e-13
    )  # cancellation in g^mu


@pytest.mark.parametrize("count", [1, 3])
def test_without_bias_the_anchors_do_not_matter(count):
    """At alpha = 0 the neighbour radius was still a limit."""
    rng = np.random.default_rng(0)
    g = Quadratic(rng, 3, count)
    anchors, labels = random_memory(rng, 40, 3, classes=max(count, 2))
    x = random_memory(rng, 50, 3, classes=2)[0]
    lip = (
        g.lip(g.q[0], 2)
        if count == 1
        else [[g.lip(p - q, 2) for q in g.q] for p in g.q]
    )

    values = g.binary if count == 1 else g
    labels = 2 * labels - 1 if count == 1 else labels
    far = anchors + 1e3  # the nearest anchor is decided by one label only
    radii = [
        lbrs.LocallyBiased(values, memory, labels, 0.0, lip).certify(x)[1]
        for memory in (anchors, far)
    ]
    assert (radii[0] > lbrs.neighbour_radius(x, anchors, labels)).any()
    np.testing.assert_allclose(
        *radii, rtol=1e-13
    )  # 64 ulp of slack where a bias is subtracted


def test_certify_shapes_and_zero():
    anchors, labels = [[0.0, 0.0], [2.0, 0.0]], [-1, 1]

    def plane(x):
        return x[:, 0] - 1.0, np.tile([1.0, 0.0], (len(x), 1))

    f = lbrs.LocallyBiased(plane, anchors, labels, 0.5, 0.0)
    classes, radii = f.certify(np.zeros((2, 3, 2)))
    assert classes.shape == radii.shape == (2, 3)
    label, radius = f.certify([1.0, 0.0])
    assert radius == 0
    assert label.shape == ()
    assert f.predict([3.0, 0.0]) == 1


def neighbour(x=(0.0,), anchors=((0.0,),), labels=(1,), **options):
    return lbrs.neighbour_radius(x, anchors, labels, **options)


def biased(alpha=1, label=1, x=(0.0,), values=lambda x: (x[:, 0], np.ones_like(x))):
    return lbrs.LocallyBiased(values, [[0.0]], [label], alpha, 0).predict(x)


test_bad_input = refusals(
    {
        r"anchors must have shape \(N, d\)": lambda: neighbour(anchors=[0.0]),
        "anchors must be in": lambda: neighbour(anchors=[[np.nan]]),
        r"x must have shape \(..., 1\)": lambda: neighbour(x=[0.0, 1.0]),
        r"labels must have shape \(1,\)": lambda: neighbour(labels=[1, 2]),
        "labels must be whole": lambda: neighbour(labels=[0.5]),
        "alpha must be one": lambda: biased(alpha=[1.0]),
        "-1 or 1": lambda: biased(label=2),
        "gradients of shape": lambda: biased(values=lambda x: (x, x)),
        "values of shape": lambda: biased(values=lambda x: (0.0, x)),
        r"labels must be in 0 ... 0": lambda: biased(
            values=lambda x: (x, x[:, :, None])
        ),
    }
)


@pytest.mark.parametrize(
    ("arguments", "truth"),
    [
        ((1e-320, 5e-324, 0.0, 0.0), 2024.0),
        ((1e-310, 2.5e-323, 0.0, 0.0), 4.05e12),
        ((5.3e74, 2.6e-262, 410.6, 0.0), np.finfo(float).max),  # beyond it
    ],
)
def test_boundary_radius_at_the_ends_of_the_range(arguments, truth):
    assert 0 < float(lbrs.boundary_radius(*arguments)) <= truth


DUAL = {1: np.inf, 2: 2, np.inf: 1}


def coded_reaches(points, norm):
    """Bounds of |x_i - x_0|_* for each point, from the codes: below and above."""
    known = bounds(points, box(points), norm)
    codes = known.codes.astype(float)
    steps = np.linalg.norm(codes - codes[0], DUAL[norm], axis=1) * known.step
    off = known.lost + known.lost[0]
    return steps - off * (1 + 2**-49), (steps + off) * (1 + 2**-49)


def reach_at_power(p, q, norm):
    """The length of p - q without rounding; its square where it is Euclidean."""
    sides = [
        abs(Fraction(a) - Fraction(b))
        for a, b in zip(p.tolist(), q.tolist(), strict=True)
    ]
    if norm == 1:
        return max(sides)
    return sum(sides) if norm == np.inf else sum(side**2 for side in sides)


@st.composite
def clouds(draw):
    """Any scale and offset, constant coordinates, one coordinate far out."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, dim = draw(st.integers(2, 6)), draw(st.integers(1, 70))
    points = rng.standard_normal((count, dim)) * draw(
        st.sampled_from([1.0, 1e-300, 1e-310, 1e99])
    )
    points[:, rng.random(dim) < 0.2] = 0.25
    points[0, 0] *= draw(st.sampled_from([1.0, -10.0, 5.0]))
    return points + draw(st.sampled_from([0.0, 1.0, -1e8]))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(clouds(), st.sampled_from([1, 2, np.inf]))
def test_codes_hold_lengths_on_both_sides(points, norm):
    with np.errstate(over="ignore", under="ignore"):
        below, above = coded_reaches(points, norm)
    power = 2 if norm == 2 else 1
    for point, low, high in zip(points, below.tolist(), above.tolist(), strict=True):
        reach = reach_at_power(point, points[0], norm)
        assert max(Fraction(low) * (1 - Fraction(1, 2**48)), 0) ** power <= reach
        assert reach <= Fraction(high) ** power


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_differences_of_codes_are_summed_beyond_32_bits(norm):
    """9,000,000 differences of 255 would not fit, nor would their squares."""
    anchors = np.zeros((3, 9_000_000))
    anchors[1:] = 1.0
    anchors[2, 0] = 2.0
    x = np.full(9_000_000, 0.25)
    got = lbrs.neighbour_radius(x, anchors, [0, 1, 1], norm=norm)
    radius = {1: (4.5e6 + 2.5) / 4, 2: 750.0, np.inf: 0.25}[norm]
    assert got == pytest.approx(radius, rel=1e-11)


@pytest.mark.parametrize("method", ["tight", "paper"])
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pictures", "normal", "far out", "uneven"])
def test_all_tiles_are_sifted(method, kind):
    """More anchors than a tile, against every rival (and guards enough for the tight
    form).
    """
    rng = np.random.default_rng(1)
    count, dim = 3000, 40
    labels = rng.integers(0, 3, count)
    anchors = (
        rng.standard_normal((count, dim)) + 0.8 * rng.standard_normal((3, dim))[labels]
    )
    if kind == "pictures":
        anchors = (anchors * 40 + 128).clip(0, 255).round() / 255
    if kind == "far out":
        anchors[7, 3] = 1e6
    if kind == "uneven":
        anchors = np.hstack([anchors, 0.05 * rng.standard_normal((count, 60))])
    x = anchors[rng.integers(0, count, 20)] + 0.01 * rng.standard_normal(
        (20, anchors.shape[1])
    )
    value = lbrs.neighbour_radius(x, anchors, labels, norm=np.inf, method=method)
    assert (value > 0).mean() > 0.5
    for row, radius in zip(x, value, strict=True):
        squares = ((row - anchors) ** 2).sum(axis=1)
        own = np.flatnonzero(labels == labels[squares.argmin()])
        rivals = np.flatnonzero(labels != labels[squares.argmin()])
        guards = own[squares[own].argsort()][: 400 if method == "tight" else 1]
        best = np.full(len(rivals), -np.inf)
        for i in guards:
            reach = np.abs(anchors[rivals] - anchors[i]).sum(axis=1)
            best = np.maximum(best, (squares[rivals] - squares[i]) / (2 * reach))
        assert radius == pytest.approx(max(best.min(), 0.0), rel=1e-11, abs=1e-13)
