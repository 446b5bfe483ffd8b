"""Against the best level at every radius: the measure, training for it, the oracles,
the page.
"""

import csv
import importlib
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import ndtri
from torch import nn
from torch_digits import digits, network, noisy_loss

from rsbounds import composite
from rsbounds.composite import Cond, Rule
from rsbounds.composite.internal import worst_ratio
from rsbounds.procedure import Procedure
from rsbounds.torch import TorchSampler, fit, pgd, radius, soft_vote
from rsbounds.torch.training import Stage, cascade
from rsbounds.torch.training.cascades import aside_loss

ROOT = Path(__file__).parents[2]
RULE = Rule(
    [1.0, 0.5], [[Cond("margin", 0), Cond("score", 0, -0.25)], [Cond("margin", 1)]]
)


# --- the measure


def test_worst_ratio_is_the_least_on_any_grid():
    rng = np.random.default_rng(0)
    for _ in range(20):
        own, others = (
            rng.choice([0, *rng.random(9)], 40),
            rng.choice([0, *rng.random(9)], (3, 40)),
        )
        result = worst_ratio(own, others, least=0.1)
        grid = np.linspace(0, 1, 5001)
        union = (others[:, :, None] > grid).mean(1).max(0)
        ratio = (own[:, None] > grid).mean(0)[union >= 0.1] / union[union >= 0.1]
        assert result.ratio == pytest.approx(ratio.min(), rel=1e-12)
        assert result.accuracy == pytest.approx((own > result.radius).mean())
        assert result.union == pytest.approx((others > result.radius).mean(1).max())


def test_worst_ratio_of_the_union_itself_is_1():
    others = np.array([[0.5, 0.5, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    assert worst_ratio([2.0, 0.5, 0.0, 0.0], others) == (1.0, 0.0, 0.5, 0.5)
    assert worst_ratio([0.0] * 4, others) == (0.0, 0.0, 0.0, 0.5)
    assert worst_ratio([0.5, 0.5, 0.0, 0.0], others) == (0.0, 0.5, 0.0, 0.25)
    assert worst_ratio([0.5, 0.5, 0.0, 0.0], others, least=0.5).ratio == 1.0


def test_worst_ratio_refuses_what_does_not_fit():
    for own, others, message in (
        ([1.0], [1.0], "radii and constants must have shapes"),
        ([1.0, 2.0], [[1.0]], "radii and constants must have shapes"),
        ([1.0], [[0.0]], "constants must certify at least 0.05 of the inputs"),
        ([-1.0], [[1.0]], "radii must be"),
        ([1.0], [[np.nan]], "constants must be"),
    ):
        with pytest.raises(ValueError, match=message):
            worst_ratio(own, others)


def test_fit_raises_the_worst_ratio():
    def spread(most):
        return [most, *[(1000 - most) // 4] * 4]

    sure = [[spread(600 + 12 * i), spread(700 + 12 * i)] for i in range(20)]
    unclear = [[spread(200), spread(500 + 20 * i)] for i in range(20)]
    counts, y = sure + unclear, [0] * 40
    result = composite.fit(counts, y, [1.0, 0.5], objective="worst")
    assert len(result.rule.items) == 2
    z = ndtri((np.array(counts) + 0.5) / 1001)
    alone = [
        composite.radius(Rule([1.0, 0.5], [[Cond("margin", k)]]), z, y) for k in (0, 1)
    ]
    of = worst_ratio(composite.radius(result.rule, z, y), alone).ratio
    assert of > max(worst_ratio(r, alone).ratio for r in alone)


# --- training


def test_a_signed_radius_has_a_slope_where_the_list_is_wrong():
    z = torch.tensor(
        np.random.default_rng(2).normal(-0.5, size=(300, 2, 3)), requires_grad=True
    )
    plain = radius.cascade(RULE, z, 0, scores=True)
    signed = radius.cascade(RULE, z, 0, scores=True, signed=True)
    assert torch.equal(plain, signed.clamp(min=0.0))
    assert (signed < 0).sum() > 100
    (slope,) = torch.autograd.grad(signed.sum(), z)
    assert torch.all(slope[signed < 0].abs().sum((1, 2)) > 0)


def test_aside_loss_is_that_of_its_formula():
    model = nn.Linear(3, 3)
    with torch.no_grad():
        model.weight.zero_()  # neither noise nor an attack reaches the scores
    model.bias.data = torch.tensor([1.0, 0.2, 0.7])
    x, y, own = (
        torch.zeros(3, 3),
        torch.tensor([0, 1, 1]),
        torch.tensor([True, True, False]),
    )
    loss = aside_loss(model, x, y, own, Stage(1.0, 0.5, 0.5, 0.4), 2)
    p = model.bias.softmax(0).detach()
    expected = -(p[0].log() + p[1].log() + 0.4 * (p[1] + p[2]).log()) / 3
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    with pytest.raises(ValueError, match=r"model.*outputs"):
        aside_loss(model, x, y, own, Stage(1.0, 0.5, 0.5), 3)


def test_aside_loss_attacks_a_stages_own_inputs_alone():
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 3), torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    for own, attacked in ((True, True), (False, False)):
        losses = []
        for reach in (0.0, 2.0):
            torch.manual_seed(1)
            mask = torch.full((4,), own)
            losses.append(
                aside_loss(model, x, y, mask, Stage(0.5, 0.5, reach), 2).item()
            )
        assert (losses[1] > losses[0] + 0.1) == attacked


def blobs(n, seed):
    """Two classes far apart, and two that lie close to each other."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (n,), generator=g)
    places = torch.tensor([[-6.0, 0.0], [6.0, 0.0], [-0.2, 0.0], [0.2, 0.0]])
    return places[y] + 0.05 * torch.randn(n, 2, generator=g), y


def staged(train, seed=0, epochs=10):
    def network():
        return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 5))

    stages, options = (
        [Stage(1.0, 1.0, 0.1, 1.0)],
        {"batch_size": 40, "rate": 1e-2, "votes": 50},
    )
    return cascade(
        network, stages, train, classes=4, epochs=epochs, seed=seed, **options
    )[0]


@pytest.mark.slow
def test_a_stage_leaves_close_classes_to_the_next():
    model, (x, y) = staged(blobs(400, 0)), blobs(200, 1)
    best, far = soft_vote(model, x, 1.0, 50).argmax(1), y < 2
    assert (best[far] == y[far]).float().mean() > 0.95
    assert (best[~far] == 4).float().mean() > 0.95


def test_the_seed_of_stages_sets_them_and_no_other_generator():
    before = torch.get_rng_state()
    first, same, other = (
        staged(blobs(100, 0), seed, 1)[0].weight for seed in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_stages_that_are_none_are_refused():
    with pytest.raises(ValueError, match="stages must be"):
        cascade(
            lambda: nn.Linear(2, 5), [Stage(-1.0, 1.0, 1.0)], blobs(10, 0), classes=4
        )


@pytest.mark.slow
def test_no_attack_flips_a_list_inside_its_radius():
    """PGD on the list's own radius, its gradient through the mean of noisy copies."""
    x, y, held, _ = digits()
    last = network()
    fit(last, noisy_loss(last, 0.5), (x, y), epochs=3, rate=1e-2)
    [first] = cascade(
        lambda: network(outputs=11),
        [Stage(1.0, 0.5, 0.5, 0.2)],
        (x[:1000], y[:1000]),
        epochs=3,
        rate=1e-2,
    )
    models = [first, last]
    samplers = [TorchSampler(first, 11), TorchSampler(last, 10)]

    def votes(k):
        def draw(point, sigma, n, generator):
            counts = np.asarray(samplers[k](point, sigma, n, generator))
            return counts[:10]  # votes for no class are void

        return draw

    def certified(points, index, n):
        draws = [votes(0), votes(1)]
        return composite.certify(
            draws, points, RULE, Procedure(n0=100, n=n, alpha=0.001), index=index
        )

    noise = torch.randn(64, *held.shape[1:], generator=torch.Generator().manual_seed(0))

    def harm(points, cls):
        shares = []
        for model, sigma in zip(models, RULE.sigmas, strict=True):
            copies = (points[:, None] + sigma * noise).flatten(0, 1)
            p = (3 * model(copies)).softmax(1)[:, :10]
            shares.append(p.reshape(len(points), 64, 10).mean(1))
        z = torch.special.ndtri(torch.stack(shares, 1) * 0.999 + 3e-4)
        return -radius.cascade(RULE, z, cls, scores=True, signed=True)

    before = [certified(point, i, 2000) for i, point in enumerate(held[:25])]
    rows = [i for i, c in enumerate(before) if c.radius > 0]
    cls = torch.tensor([before[i].predict for i in rows])
    reach = torch.tensor([before[i].radius for i in rows])
    moved = pgd(lambda p: harm(p, cls), held[rows], reach, steps=20)
    harmed = harm(moved, cls) > harm(held[rows], cls)
    assert harmed.float().mean() > 0.9
    after = [
        certified(point, 1000 + i, 2000) for i, point in zip(rows, moved, strict=True)
    ]
    assert len(rows) > 12
    assert {before[i].item for i in rows} == {0, 1}  # both stages decide some
    assert all(
        c.predict in (-1, before[i].predict) for i, c in zip(rows, after, strict=True)
    )


# --- the page's scripts


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module


def test_packed_is_no_less_than_any_set_without_a_conflict(script):
    bound, rng = script("union_bound"), np.random.default_rng(0)
    loose = 0
    for _ in range(30):
        y, points = rng.integers(0, 3, 9), rng.normal(size=(9, 2))
        apart = np.abs(points[:, None] - points).max(-1)
        apart[y[:, None] == y] = np.inf
        able = rng.random(9) < 0.9
        best = 0
        for chosen in product([False, True], repeat=9):
            rows = np.flatnonzero(chosen)
            if able[rows].all() and (apart[np.ix_(rows, rows)] >= 0.8).all():
                best = max(best, len(rows))
        result = bound.packed(able, apart, 0.4)
        assert best <= result <= able.sum()
        loose += result < able.sum()
    assert loose > 20


def test_no_list_exceeds_the_oracle(script):
    bound, rng = script("union_bound"), np.random.default_rng(1)
    z, y = rng.normal(-1, 1, size=(300, 2, 3)), rng.integers(0, 3, 300)
    z[np.arange(300), :, y] += 1.5
    radii, grid = composite.radius(RULE, z, y), np.array([0.0, 0.5, 1.0])
    r, points = z * np.array(RULE.sigmas)[:, None], rng.normal(size=(300, 2))
    assert np.all(radii <= bound.best_stage(r, y) + 1e-12)
    own = composite.radius(Rule([0.5], [[Cond("margin", 0)]]), z[:, 1:], y)
    assert np.all(own <= bound.best_stage(r, y) + 1e-12)
    far, near = (np.array(bound.oracles(r, s * points, y, grid)) for s in (1e6, 1.0))
    assert np.all(far[0] == [(bound.best_stage(r, y) > x).mean() for x in grid])
    assert np.all(far[1] == 1)
    assert np.all(near[0] <= near[1])
    assert near[1, 0] == 1 > near[1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MNIST", "Fashion-MNIST"])
def test_the_page_follows_from_its_counts(script, name):
    page, folder = script("union"), ROOT / "docs" / "benchmarks" / "union"
    text = (
        folder.with_suffix(".md")
        .read_text()
        .split(f"\n## {name}\n")[1]
        .split("\n## ")[0]
    )
    files = sorted(folder.glob(f"{name.lower()}-*.npz"))
    cases = [
        script("union_case").load(folder, name, int(f.stem[-1]), folder, 0)
        for f in files
    ]
    benches = [page.bench(case, 10_000) for case in cases]
    assert set(page.bounds(benches).splitlines()) <= set(text.splitlines())
    for rows, stem in ((page.main_rows, ""), (page.limits, "-limits")):
        table = folder / f"{name.lower()}{stem}.csv"
        with table.open(newline="", encoding="utf-8") as stored:
            assert [*csv.reader(stored)] == rows(benches)
    for case, bench in zip(cases, benches, strict=True):
        assert all(r.shape == case.labels.shape for r in bench.constants.values())
