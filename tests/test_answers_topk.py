"""Top-k: levels by enumeration, classifiers that try to beat a certificate, k = 1,
order in k.
"""

import math

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import multinomial
from test_composite_counts import tables

from rsbounds.answers import top_k_radius
from rsbounds.answers._topk import compared, radius_of
from rsbounds.certify import certify_counts
from rsbounds.confidence import Pair
from rsbounds.schemes import METHODS, gaussian, laplace

RNG = np.random.default_rng(1)
SCHEME = gaussian(0.5)


def exact_radius(p, label, k, sigma=0.5):
    """The best radius of all t and T from the probabilities themselves, by plain
    bisection.
    """
    others = sorted((q for i, q in enumerate(p) if i != label), reverse=True)
    best = 0.0
    for t in range(1, k + 1):
        rest = sum(others[k - t : k])
        low, high = 0.0, 20.0
        for _ in range(60):
            r = (low + high) / 2
            stays = log_ndtr(ndtri(p[label]) - r) > log_ndtr(
                ndtri(rest) + r
            ) - math.log(t)
            low, high = (r, high) if stays else (low, r)
        best = max(best, sigma * low)
    return best


@pytest.mark.parametrize(
    ("p", "k"),
    [
        ((0.7, 0.2, 0.1), 1),
        ((0.5, 0.3, 0.2), 2),
        ((0.34, 0.33, 0.33), 2),
        ((0.1, 0.6, 0.3), 2),
        pytest.param(*((0.4, 0.3, 0.2, 0.1), 2), marks=pytest.mark.slow),
        pytest.param(*((0.25, 0.25, 0.25, 0.25), 3), marks=pytest.mark.slow),
        pytest.param(*((0.3, 0.3, 0.3, 0.1), 3), marks=pytest.mark.slow),
        pytest.param(*((0.05, 0.5, 0.4, 0.05), 3), marks=pytest.mark.slow),
    ],
)
def test_levels_by_enumeration(p, k):
    """Of all counts of 12 samples, those whose radius is above the true one have level
    alpha.
    """
    truth, n = exact_radius(p, 0, k), 12
    for alpha in (0.1, 0.4):
        for select in ([5, 4, 3, 0], [0, 1, 5, 6]):
            wrong = 0.0
            for counts in tables(n, len(p)):
                options = {"n0": 12, "n": n, "alpha": alpha, "scheme": SCHEME}
                radius = top_k_radius(select[: len(p)], counts, 0, k, **options)
                if radius > truth * (1 + 1e-9):
                    wrong += multinomial.pmf(counts, n, p)
            assert wrong <= alpha, (select, alpha)


def test_k_1_is_the_certificate_bit_for_bit():
    for _ in range(200):
        p = RNG.dirichlet(np.ones(5) * 0.5)
        select, counts = RNG.multinomial(100, p), RNG.multinomial(10_000, p)
        label, options = (
            int(np.argmax(select)),
            {"n0": 100, "n": 10_000, "alpha": 0.001},
        )
        own = top_k_radius(select, counts, label, 1, scheme=SCHEME, **options)
        assert own == certify_counts(SCHEME, 0.5, select, counts, **options).radius


@pytest.mark.parametrize(
    "scheme", [SCHEME, laplace(0.5), gaussian(0.5, norm=np.inf, dim=9)]
)
def test_radii_do_not_decrease_with_k(scheme):
    for _ in range(40):
        classes = int(RNG.integers(3, 8))
        p = RNG.dirichlet(np.ones(classes) * RNG.choice([0.3, 1.0, 20.0]))
        n = int(RNG.choice([12, 1000]))
        select, counts = RNG.multinomial(20, p), RNG.multinomial(n, p)
        options = {"n0": 20, "n": n, "alpha": 0.05, "scheme": scheme}
        label = int(RNG.integers(classes))
        radii = [
            top_k_radius(select, counts, label, k, **options) for k in range(1, classes)
        ]
        assert radii == sorted(radii), (select, counts, label)


def probabilities(cells, edges, x, labels):
    """Of each label at x, for a classifier that is constant on the cells of a grid of
    edges.
    """
    along = [
        np.diff(ndtr(np.concatenate([[-np.inf], e, [np.inf]]) - v))
        for e, v in zip(edges, x, strict=True)
    ]
    mass = along[0] if len(along) == 1 else np.outer(*along)
    return np.bincount(cells.ravel(), mass.ravel(), labels)


def certified(p, label, k):
    """The best radius of the code under test, from exact probabilities, sigma = 1."""
    best = 0.0
    for t in range(1, k + 1):
        apart = sorted((i for i in range(len(p)) if i != label), key=lambda i: -p[i])[
            : k - t
        ]
        rest = sum(
            sorted(q for i, q in enumerate(p) if i != label and i not in apart)[-t:]
        )
        pair = Pair(float(ndtri(p[label])), float(ndtri(min(rest, 1.0))), 0.0, 1.0)
        best = max(best, radius_of(pair, t, gaussian(1.0), 1.0))
    return best


def first_loss(cells, edges, label, k, labels, ways):
    """The least distance at which k others are above the label, along some directions."""
    dim, least = len(edges), np.inf
    for way in ways:
        for distance in np.linspace(0.02, 3, 150):
            p = probabilities(cells, edges, distance * way[:dim], labels)
            if (p > p[label]).sum() >= k:
                least = min(least, distance)
                break
    return least


@pytest.mark.parametrize("dim", [1, 2])
def test_no_classifier_beats_a_certificate(dim):
    """Classifiers on a grid of cells climb towards a loss inside the certified radius."""
    rng = np.random.default_rng(dim)
    turn = np.linspace(0, 2 * np.pi, 9)[:-1]
    ways = (
        [[1.0], [-1.0]] if dim == 1 else list(np.stack([np.cos(turn), np.sin(turn)], 1))
    )
    closest = np.inf
    for _ in range(12):
        labels, k = int(rng.integers(3, 6)), int(rng.integers(1, 3))
        edges = [np.sort(rng.normal(size=7) * 1.5) for _ in range(dim)]
        cells, best = rng.integers(labels, size=(8,) * dim), np.inf
        for _ in range(40 if dim == 1 else 15):
            tried = cells.copy()
            tried[tuple(rng.integers(8, size=dim))] = rng.integers(labels)
            p = probabilities(tried, edges, np.zeros(dim), labels)
            if (p == 0).any() or (radius := certified(p, 0, k)) < 0.05:
                cells = tried if best == np.inf else cells
                continue
            ratio = (
                first_loss(tried, edges, 0, k, labels, [np.asarray(w) for w in ways])
                / radius
            )
            assert ratio >= 1, (tried, edges, k)
            if ratio < best:
                cells, best = tried, ratio
        closest = min(closest, best)
    assert closest < 3  # the climb came near


def test_half_lines_attain_the_bound():
    """The label on one half-line, t others in equal parts of the other end: tight for
    any t.
    """
    for t in (1, 2, 3):
        p_a, rest = 0.4, 0.3
        radius = radius_of(Pair(ndtri(p_a), ndtri(rest), 0, 1), t, gaussian(1.0), 1.0)
        low, high = ndtr(ndtri(p_a) - radius), ndtr(ndtri(rest) + radius) / t
        assert abs(low - high) < 1e-9


def test_samples_that_choose_do_not_bound():
    """t and T are functions of the selection samples alone: other counts move the
    radius alone.
    """
    assert compared(np.array([5, 9, 7, 1]), 0, (1, (1,))) == 7
    assert compared(np.array([5, 9, 7, 1]), 0, (2, ())) == 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 3}, "k must be from 1 to 2, less than the classes; got 3"),
        ({"label": 3}, "label must be one of 3 classes; got 3"),
        ({"select": []}, "select must be"),
        (
            {"counts": [9000, 3000, 0]},
            "counts must be counts of two classes or more, at most 1000",
        ),
        ({"counts": [1.5, 2, 3]}, "counts must be whole"),
        ({"alpha": 0.0}, "alpha must be"),
        (
            {"scheme": METHODS["range"]({"sigma_min": 1, "sigma_max": 2, "dim": 2})},
            "sigma must be",
        ),
    ],
)
def test_bad_input_is_one_line(changes, message):
    given = {"select": [50, 30, 20], "counts": [5000, 3000, 2000], "label": 0, "k": 2}
    options = {"n0": 100, "n": 10_000, "alpha": 0.001, "scheme": SCHEME}
    with pytest.raises(ValueError, match=message) as caught:
        top_k_radius(**given | options | changes)
    assert "\n" not in str(caught.value)
