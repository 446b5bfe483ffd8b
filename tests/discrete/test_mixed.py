"""A Gaussian block beside discrete ones: bounds, radii, frontiers, draws, proofs."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cases import slow_among
from mpmath import mp
from scipy.special import ndtr, ndtri

from rsbounds import certify_dataset, results, schemes
from rsbounds.audit import verify
from rsbounds.audit.schemes import RADII
from rsbounds.discrete._blocks import BlocksCurve
from rsbounds.discrete._mixed import MixedCurve
from rsbounds.oracle import discrete, regions
from rsbounds.oracle._mixed import mixed_low, ways
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.streams import numbered
from rsbounds.schemes._categorical import CategoricalCurve
from rsbounds.schemes._flips import FlipsCurve

CATEGORICAL = {"method": "categorical", "keep": 0.8, "values": 3}
FLIPS = {"method": "flips", "add": 0.01, "delete": 0.6}
MASK = {"method": "mask", "keep_probability": 0.3}
#: Discrete blocks, as a file has them, and their curve.
BLOCKS = {
    "categorical": ([CATEGORICAL], CategoricalCurve(0.8, 3)),
    "categorical, mostly changed": (
        [{**CATEGORICAL, "keep": 0.1}],
        CategoricalCurve(0.1, 3),
    ),
    "flips": ([FLIPS], FlipsCurve(0.01, 0.6)),
    "mask": ([MASK], schemes.mask(keep_probability=0.3).curve),
    "both": (
        [FLIPS, CATEGORICAL],
        BlocksCurve(FlipsCurve(0.01, 0.6), CategoricalCurve(0.8, 3)),
    ),
}
TABLE = schemes.blocks(schemes.gaussian(1.0), schemes.categorical(0.8, 3), splits=[4])


def test_the_number_of_the_theory_page():
    assert round(float(TABLE.curve.low(0.97, (0.7, 1))), 12) == 0.544198240945


@pytest.mark.parametrize("name", slow_among(["both", "flips"], BLOCKS))
def test_bounds_are_next_to_the_truth_and_on_the_safe_side(name):
    blocks, curve = BLOCKS[name]
    mixed = MixedCurve(1.0, curve)
    rng = np.random.default_rng(len(name))
    for _ in range(3):
        changes = int(rng.integers(1, 3))
        shift = float(10 ** rng.uniform(-3, 0.7))
        p = float(ndtr(rng.uniform(-3, 6)))
        truth = min(
            mixed_low(p, cells, shift, dps=20) for cells in ways(blocks, changes)
        )
        low = float(mixed.low(p, (shift, changes)))
        # 4 roundings of a mass, and of what it is compared with
        assert low <= truth
        assert truth - low <= 1e-12 * truth + 1e-13
        most = 1 - min(
            mixed_low(1 - mp.mpf(1 - p), cells, shift, dps=25)
            for cells in ways(blocks, changes)
        )
        high = float(mixed.high(1 - p, (shift, changes)))
        assert most <= high <= most * (1 + 1e-11) + 1e-15


def test_bounds_are_those_of_all_outcomes_with_the_numbers_in_small_cells():
    """Events of cells are fewer than all, so that the least of them is above the bound;
    by how much falls with the cells' width.
    """
    shift, p, curve = 0.7, 0.97, TABLE.curve
    (at_x, at_other), *_ = discrete.categorical_cases(Fraction(4, 5), 3, 1, 1)
    edges = np.concatenate([[-np.inf], np.linspace(-6, 7, 2601), [np.inf]])
    masses = np.diff(ndtr(edges)), np.diff(ndtr(edges - shift))
    cells = [
        (float(at_x[o]) * a, float(at_other[o]) * b)
        for o, (a, b) in product(at_x, zip(*masses, strict=True))
    ]
    cells.sort(key=lambda cell: cell[1] / max(cell[0], 1e-300))
    held = least = 0.0
    for mass, other in cells:
        part = min((p - held) / mass, 1.0) if mass else 0.0
        held += part * mass
        least += part * other
    low = float(curve.low(p, (shift, 1)))
    assert low <= least + 1e-12
    assert least - low < 1e-5  # cells are .005 wide: the second order of that


@pytest.mark.parametrize("changes", [1, 2])
def test_a_worst_classifier_reaches_the_radius(changes):
    """Half-spaces by region, of probability p at x, lose their lead beyond it."""
    z, sigma = 2.6, 0.5
    scheme = schemes.blocks(
        schemes.gaussian(sigma),
        schemes.categorical(0.8, 3),
        splits=[1],
        changes=changes,
    )
    radius = scheme.radius(z, sigma)
    assert 0.1 < radius < sigma * z
    shift = radius * (1 + 1e-9) / sigma
    case = regions.of_categories(Fraction(0.8), 2, changes)
    mass, other = (np.array([float(law[k]) for k in case[0]]) for law in case)

    def ends(t):
        return (t + np.log(mass / other)) / shift + shift / 2

    low, high = -50.0, 50.0
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if mass @ ndtr(ends(t)) < ndtr(z) else (low, t)
    assert mass @ ndtr(ends(high)) >= ndtr(z) - 1e-15
    assert other @ ndtr(ends(high) - shift) < 0.5


@pytest.mark.parametrize("name", BLOCKS)
def test_without_a_shift_all_is_as_without_numbers(name):
    _, curve = BLOCKS[name]
    mixed = MixedCurve(0.5, curve, 2)
    for z in (-1.0, 0.3, 2.5):
        assert mixed.transport(z, 0.0) == curve.transport(z, 2)
    # a shift that is taken for none is taken for 1e-9 levels
    low = mixed.low(0.99, (0.0, 2))
    assert curve.low(0.99, 2) - 1e-8 <= low <= curve.low(0.99, 2)


def test_without_changes_the_radius_is_cohens():
    for z_a, z_b in ((2.0, None), (3.0, 1.0), (math.inf, None), (-0.5, -1.5)):
        expected = schemes.gaussian(1.0).radius(z_a, 1.0, z_b)
        assert TABLE.radius(z_a, 1.0, z_b) == expected


def test_a_frontier_has_the_radius_that_is_left_for_each_number_of_changes():
    frontier = TABLE.curve.frontier(3.2, scores=True)
    radii, changes = zip(*frontier, strict=True)
    assert list(changes) == list(range(len(frontier)))
    assert len(frontier) - 1 == TABLE.curve.discrete.radius(3.2, scores=True)
    assert sorted(radii, reverse=True) == list(radii)
    for radius, number in frontier[1:]:
        assert TABLE.curve.certified(3.2, (radius, number), scores=True)
        assert not TABLE.curve.certified(
            3.2, (radius * (1 + 1e-11), number), scores=True
        )
    assert TABLE.curve.frontier(0.3) == []
    text = TABLE.further(3.2, -3.2)["frontier"]
    assert text == ";".join(f"{radius!r},{number}" for radius, number in frontier)


def test_radii_of_arrays_are_those_of_numbers():
    curve = MixedCurve(1.0, CategoricalCurve(0.8, 3), 1)
    z_a = np.array([[-1.0, 0.1, 1.2], [2.5, 4.0, np.inf]])
    z_b = np.array([[-2.0, -1.0, 0.1], [-2.5, -4.0, -np.inf]])
    radii = curve.radius(z_a, z_b, scores=True)
    alone = [
        float(curve.radius(a, b, scores=True))
        for a, b in zip(z_a.ravel(), z_b.ravel(), strict=True)
    ]
    # a search ends where the others' does: up to the width of its bracket
    np.testing.assert_allclose(radii.ravel(), alone, rtol=1e-11)
    assert radii[1, 2] == np.inf
    assert radii[0, 1] == 0


def test_a_bound_of_the_runner_up_adds_to_the_radius():
    scheme = schemes.blocks(
        schemes.gaussian(1.0), schemes.categorical(0.9, 3), splits=[4], changes=1
    )
    assert scheme.radius(1.8, 1.0) == 0
    assert scheme.radius(1.8, 1.0, -2.5) > 0.1


def proved_mixed(parameters, radius, changes, z_a, z_b):
    """Whether the audit proves a radius beside so many changes."""
    beside = {**parameters, "changes": changes}
    return RADII["blocks"].proved(beside, 1.0, radius, z_a, z_b)


def test_a_runner_up_is_compared_for_each_way_to_change_on_its_own():
    """An added one costs A most and a deleted one costs B's complement most: no input
    has both.
    """
    blocks, curve = BLOCKS["flips"]
    mixed = MixedCurve(1.0, curve, 1)
    z_a, z_b = 4.4, 3.15
    radius = float(mixed.radius(z_a, z_b, scores=True))
    low, high = mixed.transport(np.array([z_a, z_b]), radius)
    assert low[0] < high[1]  # the worst of each, of two ways
    parameters = {"blocks": [{"method": "gaussian", "sigma": 1.0}, *blocks]}
    assert radius > 0.1
    assert mixed.certified(z_a, (radius, 1), z_b, scores=True)
    assert proved_mixed(parameters, radius, 1, z_a, z_b)
    assert not proved_mixed(parameters, radius * (1 + 1e-10), 1, z_a, z_b)


def random_cases(number):
    """Blocks, level, changes, two scores or one: small and large, near and far."""
    rng = np.random.default_rng(7)
    for _ in range(number):
        blocks, curve = BLOCKS[rng.choice(list(BLOCKS))]
        z_a = float(rng.choice([rng.uniform(0, 5), 10 ** rng.uniform(-2, 1.5)]))
        gap = float(10 ** rng.uniform(-2, 1))
        z_b = None if rng.random() < 0.5 else max(z_a - gap, -z_a - 5)
        sigma = float(10 ** rng.uniform(-2, 1))
        yield blocks, MixedCurve(sigma, curve, int(rng.integers(1, 4))), z_a, z_b


@pytest.mark.parametrize(
    "number", [40, pytest.param(1000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_radii_are_proved_and_hardly_more_is_not(number):
    certified = 0
    for blocks, mixed, z_a, z_b in random_cases(number):
        radius = float(mixed.radius(z_a, z_b, scores=True))
        parameters = {"blocks": [{"method": "gaussian", "sigma": mixed.sigma}, *blocks]}
        if radius:
            certified += 1
            assert proved_mixed(parameters, radius, mixed.changes, z_a, z_b)
        # 0 too: there the changes alone take the lead, or leave next to nothing
        more = radius * (1 + 1e-11) + 1e-8 * mixed.sigma
        assert not proved_mixed(parameters, more, mixed.changes, z_a, z_b)
    assert certified > number / 4


def test_a_threshold_certifies_and_hardly_less_does_not():
    threshold = TABLE.curve.threshold((0.7, 1))
    assert TABLE.curve.certified(threshold, (0.7, 1))
    assert not TABLE.curve.certified(threshold - 1e-12, (0.7, 1))
    # what is hidden may be all: no probability certifies seven changes of a mask
    hidden = MixedCurve(1.0, schemes.mask(keep_probability=0.3).curve)
    assert hidden.threshold((0.1, 7)) == math.inf


@pytest.mark.parametrize("distance", [0.0, 0.3])
@pytest.mark.parametrize(
    ("name", "changes"), [("flips", (1, 0)), ("both", ((0, 1), 1))]
)
def test_changes_may_be_numbers_of_each_kind(name, changes, distance):
    curve = BLOCKS[name][1]
    mixed, pair = MixedCurve(1.0, curve), (distance, changes)
    threshold = mixed.threshold(pair)
    assert mixed.low(threshold, pair) > 0.5
    assert mixed.certified(threshold, pair)
    assert not mixed.certified(threshold - 1e-9, pair)
    if not distance:
        assert threshold == pytest.approx(curve.threshold(changes), abs=1e-9)
        assert mixed.transport(2.0, pair) == curve.transport(2.0, changes)


@pytest.mark.parametrize("z_b", [None, -2.9])
def test_the_audit_proves_what_is_certified_and_no_more(z_b):
    for blocks, curve in BLOCKS.values():
        mixed = MixedCurve(0.5, curve)
        parameters = {"blocks": [{"method": "gaussian", "sigma": 0.5}, *blocks]}
        z_a = 2.6
        for radius, changes in mixed.frontier(z_a, z_b, scores=True):
            assert proved_mixed(parameters, radius, changes, z_a, z_b)
            more = radius * (1 + 1e-10) + 1e-8
            assert not proved_mixed(parameters, more, changes, z_a, z_b)
        assert not proved_mixed(parameters, 0.0, changes + 1, z_a, z_b)


def of_numbers(batch):
    """Two classes, by a number and a value together."""
    batch = np.asarray(batch)
    score = batch[:, 0] + (batch[:, 4] == 1) - 1.2
    return np.stack([-score, score], axis=1)


@pytest.fixture
def data():
    x = np.zeros((4, 6), np.float32)
    x[:, 0] = [0.3, 2.0, -0.5, 1.0]
    x[:, 4:] = [[0, 1], [1, 2], [2, 0], [1, 1]]
    return x, np.array([0, 1, 0, 1])


def test_rows_are_written_proved_and_certified_again(tmp_path, data):
    for changes in (0, 1):
        scheme = schemes.blocks(
            schemes.gaussian(0.25),
            schemes.categorical(0.97, 3),
            splits=[4],
            changes=changes,
        )
        path = tmp_path / f"{changes}.tsv"
        certify_dataset(of_numbers, data, scheme, out=path, n=2000, n0=50)
        file = results.read(path)
        assert {row.norm for row in file.rows} == {f"l2, changes <= {changes}"}
        assert any(row.radius > 0 for row in file.rows)
        audit = verify(path, data=data, model=of_numbers, rerun=2)
        assert not audit.findings
        for row in file.rows:
            entries = row.extra["frontier"].split(";")
            if len(entries) > changes:
                assert float(entries[changes].split(",")[0]) == pytest.approx(
                    row.radius, rel=1e-12
                )


def test_a_larger_radius_or_frontier_is_found(tmp_path, data):
    path = tmp_path / "run.tsv"
    certify_dataset(of_numbers, data, TABLE, out=path, n=2000, n0=50)
    text = path.read_text()
    header, first = (line.split("\t") for line in text.splitlines()[:2])
    cells = dict(zip(header, first, strict=True))
    more = repr(float(cells["radius"]) + 0.001)
    for name, cell, forged_cell in (
        ("radius", cells["radius"], more),
        ("frontier", cells["frontier"], f"{more},0"),
    ):
        forged = text.replace(f"\t{cell}", f"\t{forged_cell}", 1)
        path.write_text(forged)
        assert any(name in finding.text for finding in verify(path).findings), name


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_copies_follow_the_law_of_each_column(framework):
    """Numbers are normal and values keep theirs, independently."""
    x = np.array([1.0, -2.0, 0.0, 0.5, 1, 2], np.float32)
    noise, n = TABLE, 20_000
    checked = noise.checked(x)
    if framework == "torch":
        torch = pytest.importorskip("torch")
        from rsbounds.sampling import torch_bits

        device = torch.device("cpu")
        drawn, void = torch_bits.copies(
            noise,
            torch_bits.on_device(checked, device),
            1.0,
            n,
            numbered(1, key=7),
            torch.Generator(device),
        )
        copies = drawn[0].numpy()
        assert not void.any()
    else:
        copies = noise.noisy(checked, 1.0, n, ArrayBits(np.random.default_rng(5), n))
    assert copies.dtype == np.float32
    z = copies[:, :4] - x[:4]
    # each within 5 of its standard deviations
    assert np.all(abs(z.mean(axis=0)) < 5 / math.sqrt(n))
    assert np.all(abs(z.std(axis=0) - 1) < 5 / math.sqrt(2 * n))
    shares = (copies[:, 4:] == x[4:]).mean(axis=0)
    assert np.all(abs(shares - 0.8) < 5 * math.sqrt(0.16 / n))
    assert set(np.unique(copies[:, 4:])) == {0.0, 1.0, 2.0}
    same = copies[:, 4] == x[4]
    assert abs(z[same, 0].mean() - z[~same, 0].mean()) < 5 * math.sqrt(1 / (0.16 * n))


VALUES, BITS = schemes.categorical(0.8, 3), schemes.flips(0.1, 0.2)


def beside(*parts, **more):
    """Makes blocks of these parts, a column each."""
    splits = list(range(1, len(parts)))
    return lambda: schemes.blocks(*parts, splits=splits, **more)


@pytest.mark.parametrize(
    ("make", "name", "word"),
    [
        (
            beside(schemes.gaussian(1.0), schemes.gaussian(2.0), VALUES),
            "parts",
            "one gaussian block",
        ),
        (beside(schemes.laplace(1.0), VALUES), "parts", "gaussian"),
        (beside(schemes.uniform(1.0), VALUES), "parts", "gaussian"),
        (beside(schemes.gaussian(1.0, norm=1), VALUES), "parts", "l2"),
        (beside(schemes.anisotropic([0.1, 0.2]), BITS), "parts", "gaussian"),
        (beside(BITS, BITS, changes=1), "changes", "gaussian"),
        (beside(schemes.gaussian(1.0), VALUES, changes=401), "changes", "400"),
        (beside(schemes.gaussian(1.0), BITS, changes=64), "changes", "fewer"),
        (lambda: TABLE.curve.low(0.9, (0.5, 10**4)), "r", "few"),
        (lambda: TABLE.curve.low(0.9, 1), "r", "distance"),
        (lambda: TABLE.curve.low(0.9, (-1.0, 1)), "r", "in [0"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(make, name, word):
    with pytest.raises(ValueError, match=name) as refusal:
        make()
    assert word in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_frontier_ends_where_ways_are_many():
    """64 changes of two weak kinds have 2,144 ways, and took six seconds."""
    curve = MixedCurve(1.0, FlipsCurve(0.48, 0.47))
    frontier = curve.frontier(3.0, scores=True)
    assert [changes for _, changes in frontier] == list(range(22))
    assert all(curve.takes(changes) for _, changes in frontier)


def test_the_order_of_ways_hardly_moves_a_radius():
    """The first way is searched, the others are only asked whether they hold there."""
    scores = np.array([0.3, 1.2, 2.5, 6.0, np.inf])
    curve = MixedCurve(1.0, FlipsCurve(0.1, 0.2), 2)
    forwards = curve.radius(scores, scores=True)
    curve._known[2].reverse()
    backwards = curve.radius(scores, scores=True)
    np.testing.assert_allclose(forwards, backwards, rtol=1e-12)
    alone = [curve.radius(score, scores=True) for score in scores]
    np.testing.assert_allclose(forwards, alone, rtol=1e-12)


def test_scores_of_no_sample_are_bounded():
    curve = MixedCurve(1.0, CategoricalCurve(0.8, 3), 1)
    z = np.array([-np.inf, -50.0, 50.0, np.inf])
    low, high = curve.transport(z, 0.5)
    assert np.all(low <= z)
    assert np.all(z <= high)
    assert low[3] == np.inf
    assert curve.radius(np.inf, scores=True) == np.inf
    assert curve.radius(ndtri(0.5), scores=True) == 0


def test_a_frontier_beside_masks_that_hide_nearly_all_ends():
    mask = schemes.mask(keep_probability=1e-6)
    scheme = schemes.blocks(schemes.gaussian(1.0), mask, splits=[3])
    frontier = scheme.curve.frontier(0.9)
    assert [changes for _, changes in frontier] == list(range(65))


@pytest.mark.parametrize("name", slow_among(["both"], BLOCKS))
def test_an_answer_does_not_depend_on_what_else_is_asked(name):
    mixed = MixedCurve(0.25, BLOCKS[name][1], 1)
    rng = np.random.default_rng(3)
    first = rng.uniform(-1, 6, 12)
    second = first - rng.uniform(0, 8, 12)
    together = mixed.radius(first, second, scores=True)
    alone = [
        mixed.radius(*pair, scores=True) for pair in zip(first, second, strict=True)
    ]
    assert together.tolist() == alone
    moved = mixed.transport(first, 0.1)[0]
    assert moved.tolist() == [mixed.transport(z, 0.1)[0] for z in first]


def test_a_number_does_not_depend_on_the_numbers_beside_it():
    """A product of a matrix and of a vector rounds differently."""
    mixed = MixedCurve(0.25, CategoricalCurve(Fraction(17, 25), 2), 2)
    z_a, z_b = 1.9566606714227162, -0.9189048768354873
    alone = mixed.radius(z_a, z_b, scores=True)
    array = mixed.radius(
        np.array([z_a, 1.0, z_a]), np.array([z_b, 0.0, z_b]), scores=True
    )
    assert array.tolist() == [alone, 0.0, alone]


@pytest.mark.parametrize(
    "distance", [0.0, pytest.param(2e-9, marks=pytest.mark.slow), 0.02, 1.5]
)
@pytest.mark.parametrize("name", slow_among(["both"], BLOCKS))
def test_a_threshold_has_the_radius_that_it_was_asked_for(name, distance):
    mixed = MixedCurve(1.0, BLOCKS[name][1], 1)
    threshold = mixed.threshold((distance, 1))
    assert threshold < 1
    assert mixed.certified(threshold, (distance, 1))
    assert mixed.radius(threshold) >= distance


@pytest.mark.slow
def test_low_loses_what_its_docstring_says():
    """At the ends of its domain: p next to 0 and 1, distances from 0 on."""
    keep = Fraction(17, 25)
    cells = [[(keep, 1 - keep), (1 - keep, keep)]]
    mixed = MixedCurve(1.0, CategoricalCurve(keep, 2))
    for p, distance in product(
        (1e-12, 0.3, 0.9, 1 - 1e-9, 1 - 2.0**-52, 1 - 2.0**-53), (0.0, 1e-9, 0.5, 6.0)
    ):
        with mp.workdps(45):
            share = mp.mpf(p)
            truth = mixed_low(share, cells, distance, dps=40)
            step = min(share, 1 - share) / 10**10
            slope = (truth - mixed_low(share - step, cells, distance, dps=40)) / step
            kept = truth + slope * share
            other = (1 - truth) + slope * (1 - share)
            room = mp.mpf("1e-13") * min(kept, other) + mp.mpf("1e-15")
            low = mixed.low(p, (distance, 1))
            assert truth - room <= low <= truth, (p, distance)
