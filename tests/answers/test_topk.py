"""Top-k: levels by enumeration, classifiers that try to beat a certificate, k = 1, and
what is certified beside bounds of all classes.
"""

import math
from fractions import Fraction
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from cases import slow_but
from decision_lists import tables
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import multinomial

from rsbounds.answers import top_k_radius
from rsbounds.answers._topk import compared, estimate, radius_of
from rsbounds.answers._topk_plan import TopKChoice, TopKPlan, plan
from rsbounds.certify import certify_counts
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.confidence.internal import Pair
from rsbounds.procedure import Procedure
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


def wrong(p, k, plan_, alpha, n=12):
    """The probability of a radius above the true one, over all counts of n samples."""
    truth = exact_radius(p, 0, k) * (1 + 1e-9)
    numbers = {"n": n, "alpha": alpha, "scheme": SCHEME, "sigma": 0.5}
    total = 0.0
    for counts in tables(n, len(p)):
        if estimate(np.array(counts), 0, plan_, **numbers).radius > truth:
            total += multinomial.pmf(counts, n, p)
    return total


@pytest.mark.parametrize(
    ("p", "k"),
    [
        ((0.7, 0.2, 0.1), 1),
        ((0.5, 0.3, 0.2), 2),
        ((0.34, 0.33, 0.33), 2),
        ((0.1, 0.6, 0.3), 2),
        pytest.param((0.25, 0.25, 0.25, 0.25), 3, marks=pytest.mark.slow),
        pytest.param((0.3, 0.3, 0.3, 0.1), 3, marks=pytest.mark.slow),
    ],
)
def test_levels_by_enumeration(p, k):
    """Of all counts of 12 samples, those whose radius is above the true one have level
    alpha, whatever was selected.
    """
    for alpha in (0.1, 0.4):
        for select in ([5, 4, 3, 0], [0, 1, 5, 6], [0, 0, 0, 12]):
            selected = np.array(select[: len(p)])
            chosen = plan(selected, 0, k, n0=12, n=12, alpha=alpha)
            assert wrong(p, k, chosen, alpha) <= alpha, (select, alpha)


#: Plans of three others that no selection samples need to have made: all of t and T,
#: each at its part of alpha/2.
ANY_PLANS = [
    TopKPlan(2, (TopKChoice(1, (), 8), TopKChoice(2, (), 4))),
    TopKPlan(2, (TopKChoice(1, (2,), 4), TopKChoice(1, (), 8))),
    TopKPlan(3, (TopKChoice(1, (), 18), TopKChoice(2, (), 18), TopKChoice(3, (), 6))),
    TopKPlan(
        3, (TopKChoice(1, (1,), 12), TopKChoice(2, (3,), 6), TopKChoice(1, (1, 2), 6))
    ),
]


@pytest.mark.parametrize("plan_", slow_but(ANY_PLANS[1:2], ANY_PLANS))
def test_the_level_is_that_of_any_plan(plan_):
    """Nothing rests on how the choices were made: others of equal probability, and
    labels left out that are rare.
    """
    k = plan_.k
    for p in ((0.25,) * 4, (0.31, 0.23, 0.23, 0.23), (0.4, 0.01, 0.29, 0.3)):
        for alpha in (0.2, 0.5):
            assert wrong(p, k, plan_, alpha, n=9) <= alpha


def test_a_sum_of_any_t_takes_a_part_for_each():
    """The least of three equal counts is too small for one bound at alpha/2: with a
    sixth the level holds, with a half it does not.
    """
    p, n, alpha = (0.01, 0.33, 0.33, 0.33), 12, 0.12
    errors = {2: 0.0, 6: 0.0}
    for parts in errors:
        chosen = TopKPlan(3, (TopKChoice(1, (), parts),))
        for counts in tables(n, 4):
            numbers = {"n": n, "alpha": alpha, "scheme": SCHEME, "sigma": 0.5}
            pair = estimate(np.array(counts), 0, chosen, **numbers).pair
            if pair.p_b < 0.33:
                errors[parts] += multinomial.pmf(counts, n, p)
    assert errors[6] <= alpha / 2 < errors[2]


def test_a_plan_spends_alpha_once():
    """The sums of all choices at their levels take alpha/2, and choices are sound."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        classes = int(rng.choice([3, 4, 10, 40, 300]))
        k = int(rng.integers(1, min(classes, 60)))
        n0 = int(rng.choice([1, 20, 1000]))
        p = rng.dirichlet(np.full(classes, rng.choice([0.05, 1.0, 30.0])))
        select = rng.multinomial(n0, p)
        label = int(rng.integers(classes))
        alpha = float(rng.choice([1e-12, 0.001, 0.9]))
        chosen = plan(select, label, k, n0=n0, n=10_000, alpha=alpha)
        assert 1 <= len(chosen.choices) <= 4
        spent = Fraction(0)
        for choice in chosen.choices:
            window = k - len(choice.apart)
            assert 1 <= choice.t <= window
            assert label not in choice.apart
            assert len(set(choice.apart)) == len(choice.apart)
            assert all(0 <= i < classes for i in choice.apart)
            spent += Fraction(math.comb(window, choice.t), choice.parts)
        assert spent <= Fraction(1, 2)


def test_a_plan_is_not_of_the_numbers_of_classes():
    """Classes in another order give the same plan of them."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        select = rng.permutation([60, 25, 8, 4, 2, 1])
        order = rng.permutation(6)
        numbers = {"n0": 100, "n": 10_000, "alpha": 0.001}
        for k in (2, 3, 5):
            first = plan(select, int(order[0]), k, **numbers)
            second = plan(select[order], 0, k, **numbers)
            as_first = [
                (c.t, tuple(int(order[i]) for i in c.apart), c.parts)
                for c in second.choices
            ]
            assert as_first == [(c.t, c.apart, c.parts) for c in first.choices]


def test_a_plan_does_not_see_trailing_zeros():
    """Rows leave them out: the plan of a row's counts is that of the sampler's."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        classes = int(rng.choice([3, 10, 100]))
        select = rng.multinomial(20, rng.dirichlet(np.full(classes, 0.1)))
        short = np.trim_zeros(select, "b")
        label, k = int(rng.integers(classes)), int(rng.integers(1, min(classes, 30)))
        numbers = {"n0": 20, "n": 1000, "alpha": 0.01}
        assert plan(select, label, k, **numbers) == plan(short, label, k, **numbers)


def test_the_sum_is_at_least_that_of_some_of_the_most_likely():
    """Whichever k labels are the most likely: of the w of them outside T, some t have a
    sum that is not above the compared one, and for some k labels it is equal.
    """
    rng = np.random.default_rng(3)
    for _ in range(30):
        classes = int(rng.integers(4, 7))
        counts = rng.integers(0, 6, classes)
        k = int(rng.integers(2, classes))
        apart = tuple((1 + rng.permutation(classes - 1))[: rng.integers(0, k)].tolist())
        window = k - len(apart)
        t = int(rng.integers(1, window + 1))
        result = compared(counts, 0, k, TopKChoice(t, apart, 2))
        outside = [i for i in range(1, classes) if i not in apart]
        least = [
            min(int(counts[list(b)].sum()) for b in combinations(members, t))
            for members in combinations(outside, window)
        ]
        assert result == max(least)


@pytest.mark.parametrize("scheme", [SCHEME, laplace(0.5)])
def test_the_best_of_the_choices_decides(scheme):
    """The estimate has the largest radius of its choices, at the levels of the plan."""
    rng = np.random.default_rng(4)
    deciding = set()
    for _ in range(25):
        counts = rng.multinomial(1000, rng.dirichlet(np.full(6, 0.4)))
        label = int(rng.choice(np.argsort(-counts)[:3]))
        rest = [i for i in np.argsort(-counts).tolist() if i != label]
        choices = (
            TopKChoice(1, tuple(rest[:2]), 6),
            TopKChoice(2, (), 18),
            TopKChoice(3, (), 6),
        )
        numbers = {"n": 1000, "alpha": 0.01, "scheme": scheme, "sigma": 0.5}
        together = estimate(counts, label, TopKPlan(3, choices), **numbers)
        radii = [
            estimate(counts, label, TopKPlan(3, (choice,)), **numbers).radius
            for choice in choices
        ]
        assert together.radius == max(radii)
        assert together.radius == radii[choices.index(together.choice)]
        if together.radius:
            deciding.add(together.choice.t)
    assert len(deciding) > 1


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_not_below_bounds_of_all_classes(k):
    """On average, more than bounds of all ten classes at alpha/10 each, whose best sum
    is taken afterwards (Jia et al. 2020), though these have all the samples.
    """
    rng = np.random.default_rng(k)
    n0, n, alpha = 100, 10_000, 0.001
    totals = np.zeros(2)
    for _ in range(60):
        p = rng.dirichlet(np.full(10, 0.1))
        label = int(rng.choice(np.argsort(-p)[:3]))
        select, counts = rng.multinomial(n0, p), rng.multinomial(n - n0, p)
        numbers = {"n0": n0, "n": n - n0, "alpha": alpha, "scheme": SCHEME}
        totals[0] += top_k_radius(select, counts, label, k, **numbers)
        every = select + counts
        low = lower_bound(every[label], n, alpha / 10, scores=True)
        uppers = np.sort(upper_bound(np.delete(every, label), n, alpha / 10))[::-1]
        radii = []
        for t in range(1, k + 1):
            rest = min(uppers[k - t : k].sum(), ndtr(-low))
            pair = Pair(float(low), float(ndtri(rest)), 0.0, 1.0)
            radii.append(radius_of(pair, t, SCHEME, 0.5))
        totals[1] += max(radii)
    assert totals[0] > totals[1]


def test_k_1_is_the_certificate_bit_for_bit():
    for _ in range(200):
        p = RNG.dirichlet(np.ones(5) * 0.5)
        select, counts = RNG.multinomial(100, p), RNG.multinomial(10_000, p)
        label, options = (
            int(np.argmax(select)),
            {"n0": 100, "n": 10_000, "alpha": 0.001},
        )
        own = top_k_radius(select, counts, label, 1, scheme=SCHEME, **options)
        assert (
            own
            == certify_counts(SCHEME, 0.5, select, counts, Procedure(**options)).radius
        )


def plain_radius(z_a, z_b, t):
    """Where Phi(z_a - r) = Phi(z_b + r)/t, to 30 digits."""
    with mp.workdps(30):

        def gap(r):
            return mp.log(mp.ncdf(z_a - r) * t) - mp.log(mp.ncdf(z_b + r))

        low, high = mp.mpf(0), mp.mpf(20)
        if gap(low) <= 0:
            return 0.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if gap(middle) > 0 else (low, middle)
        return float(low)


@pytest.mark.parametrize(
    ("scheme", "sigma", "scale"),
    [
        (SCHEME, 0.5, 0.5),
        (gaussian(2.0, norm=9, dim=4), 2.0, 2.0 / 4 ** (1 / 2 - 1 / 9)),
    ],
)
def test_radii_are_below_the_truth_and_close(scheme, sigma, scale):
    rng = np.random.default_rng(5)
    for _ in range(30):
        z_a = float(rng.normal() * 2)
        z_b = min(float(rng.normal() * 2 - 1), -z_a)
        t = int(rng.integers(2, 50))
        truth = scale * plain_radius(z_a, z_b, t)
        radius = radius_of(Pair(z_a, z_b, 0.0, 1.0), t, scheme, sigma)
        assert radius <= truth * (1 + 1e-15)
        assert radius >= truth * (1 - 1e-11) - 1e-14


def test_other_noise_has_its_own_radius():
    """Laplace noise moves scores by other steps: the radius holds, a larger one not."""
    rng = np.random.default_rng(6)
    scheme = laplace(0.5)
    for _ in range(20):
        z_a = float(rng.normal() * 2)
        z_b = min(float(rng.normal() * 2 - 1), -z_a)
        t = int(rng.integers(2, 50))
        radius = radius_of(Pair(z_a, z_b, 0.0, 1.0), t, scheme, 0.5)
        gaps = []
        for at in (radius, radius * (1 + 1e-9) + 1e-12):
            low = scheme.transport(z_a, at)[0]
            high = scheme.transport(z_b, at)[1]
            gaps.append(mp.log(mp.ncdf(low) * t) - mp.log(mp.ncdf(high)))
        assert gaps[1] < 0
        assert gaps[0] >= 0 or radius == 0


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
    """The least distance at which k others are above the label, in some directions."""
    dim, least = len(edges), np.inf
    for way in ways:
        for distance in np.linspace(0.02, 3, 150):
            p = probabilities(cells, edges, distance * way[:dim], labels)
            if (p > p[label]).sum() >= k:
                least = min(least, distance)
                break
    return least


@pytest.mark.parametrize("dim", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_classifier_beats_a_certificate(dim):
    """Classifiers on a grid of cells climb towards a loss inside the radius."""
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 3}, "k must be from 1"),
        ({"label": 3}, "label must be one of 3"),
        ({"counts": [9000, 3000, 0]}, "counts must be counts"),
        ({"counts": [1.5, 2, 3]}, "counts must be whole"),
        (
            {"scheme": METHODS["range"]({"sigma_min": 1, "sigma_max": 2, "dim": 2})},
            "scheme must have noise",
        ),
    ],
)
def test_bad_input_is_one_line(changes, message):
    given = {"select": [50, 30, 20], "counts": [5000, 3000, 2000], "label": 0, "k": 2}
    options = {"n0": 100, "n": 10_000, "alpha": 0.001, "scheme": SCHEME}
    with pytest.raises(ValueError, match=message) as caught:
        top_k_radius(**given | options | changes)
    assert "\n" not in str(caught.value)
