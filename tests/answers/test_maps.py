"""Maps: Holm with exact p-values, and its family-wise level by enumeration."""

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import binom

from rsbounds import certify_dataset
from rsbounds.answers import Maps, certify_map
from rsbounds.answers._map_labels import holm
from rsbounds.answers._maps import read_truth
from rsbounds.schemes import gaussian

SCHEME = gaussian(0.5)


def plain_holm(p_values, alpha):
    rejected = np.zeros(len(p_values), dtype=bool)
    for done, i in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[i] * (len(p_values) - done) > alpha:
            break
        rejected[i] = True
    return rejected


def test_a_position_is_rejected_exactly_where_its_p_value_is_at_most_the_level():
    for n, tau in [(12, 0.5), (100, 0.75), (1000, 0.9)]:
        hits = np.unique(
            np.random.default_rng(n).binomial(n, [tau, tau + (1 - tau) / 2], (8, 2))
        )
        for k in [*hits[hits > 0], n]:
            with mp.workdps(40):
                q = mp.mpf(tau)
                chances = (
                    mp.binomial(n, i) * q**i * (1 - q) ** (n - i)
                    for i in range(k, n + 1)
                )
                exact = mp.fsum(chances)
            for level, rejected in (
                (exact * (1 - mp.mpf(1e-9)), False),
                (exact * (1 + mp.mpf(1e-9)), True),
            ):
                if level < 1:
                    assert holm(np.array([k]), n, tau, float(level)).item() is rejected
        assert not holm(np.array([0]), n, tau, 0.999).item()


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_that_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    n, tau, alpha = 50, 0.6, 0.05
    hits = rng.binomial(n, rng.choice([0.55, 0.7, 0.8, 0.95], 60))
    p_values = binom.sf(hits - 1, n, tau)
    np.testing.assert_array_equal(
        holm(hits, n, tau, alpha), plain_holm(p_values, alpha)
    )


@pytest.mark.slow  # needs statsmodels
def test_holm_is_that_of_statsmodels():
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    rng = np.random.default_rng(0)
    for size in (1, 5, 200, 4096):
        hits = rng.binomial(100, rng.choice([0.7, 0.8, 0.9, 1.0], size))
        expected = multipletests(binom.sf(hits - 1, 100, 0.75), 0.01, "holm")[0]
        np.testing.assert_array_equal(holm(hits, 100, 0.75, 0.01), expected)


@pytest.mark.parametrize("together", [False, True])
def test_family_wise_level_by_enumeration(together):
    """Three positions at the limit, independent or the same: any wrong one at level
    alpha.
    """
    n, tau, alpha = 12, 0.6, 0.1
    law = binom.pmf(np.arange(n + 1), n, tau)
    wrong = 0.0
    for hits in np.ndindex(*(n + 1,) * (1 if together else 3)):
        counts = np.array(hits * (3 if together else 1))
        chance = law[list(hits)].prod()
        wrong += chance * holm(counts, n, tau, alpha).any()
    assert wrong <= alpha


def test_a_map_holds_together():
    select = [[10, 0, 0], [1, 9, 0], [4, 3, 3], [0, 0, 10], [0, 0, 0]]
    counts = [[100, 0, 0], [0, 99, 1], [60, 20, 20], [0, 0, 20], [100, 0, 0]]
    labels, radius = certify_map(
        select, counts, 0.75, n=100, alpha=0.001, scheme=SCHEME
    )
    assert labels.tolist() == [0, 1, -1, -1, 0]
    assert 0 <= 0.5 * 0.6744897501960817 - radius < 1e-12
    assert certify_map(select, counts, 0.5, n=100, alpha=0.001, scheme=SCHEME)[1] == 0.0


def test_void_samples_count_against_a_position():
    labels, _ = certify_map(
        [[9, 0]] * 2, [[80, 0], [80, 20]], 0.75, n=100, alpha=0.1, scheme=SCHEME
    )
    assert labels[0] == labels[1]
    with pytest.raises(ValueError, match="at most n = 90"):
        certify_map([[9, 0]], [[80, 20]], 0.75, n=90, alpha=0.1, scheme=SCHEME)


def test_no_classifier_of_two_positions_beats_a_map():
    """Half-lines on a line: labels certified from many samples hold wherever the radius
    reaches.
    """
    rng = np.random.default_rng(1)
    n, tau = 20_000, 0.8
    for _ in range(50):
        edges = rng.normal(size=8) * 0.6  # position i is 1 right of its edge
        drawn = 0.5 * rng.normal(size=n)
        ones = (drawn[:, None] > edges).sum(axis=0)
        counts = np.stack([n - ones, ones], axis=1)
        labels, radius = certify_map(
            counts, counts, tau, n=n, alpha=1e-6, scheme=SCHEME
        )
        for shift in (-radius, radius):
            truth = shift > edges  # the more likely class at the moved point
            kept = labels >= 0
            assert (labels[kept] == truth[kept]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"select": [1, 2]}, "must have one shape"),
        ({"counts": [[1], [2]], "select": [[1], [2]]}, "must have one shape"),
        ({"counts": [[-1, 2]]}, "counts must be >= 0"),
        ({"tau": 0.4}, "tau must be"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"n": 2}, "counts must sum"),
    ],
)
def test_bad_input_is_one_line(changes, message):
    given = {
        "select": [[3, 1]],
        "counts": [[90, 10]],
        "tau": 0.75,
        "n": 100,
        "alpha": 0.01,
    }
    with pytest.raises(ValueError, match=message) as caught:
        certify_map(**given | changes, scheme=SCHEME)
    assert "\n" not in str(caught.value)


def test_certified_maps_are_those_that_the_rows_count():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 6)).astype(np.float32)
    truth = np.array(x > 0, np.int64)
    answer = Maps(SCHEME, 0.75, truth=truth)
    run = certify_dataset(
        lambda batch: np.stack([-batch, batch], axis=1), x, answer, alpha=0.01
    )
    maps = answer.certified(run.rows, alpha=0.01)
    assert maps.shape == x.shape
    assert set(maps.ravel().tolist()) == {-1, 0, 1}
    for row, labels, expected in zip(run.rows, maps, truth, strict=True):
        assert (labels == expected).sum() == int(row.extra["right"])
        assert (labels >= 0).sum() == int(row.extra["certified"])
    with pytest.raises(ValueError, match=r"alpha.*run"):
        Maps(SCHEME, 0.9).certified(run.rows, alpha=0.01)
    with pytest.raises(ValueError, match=r"rows.*'maps'"):
        answer.certified([], alpha=0.01)


def test_true_maps_of_a_file_may_have_positions_of_no_class(tmp_path):
    place = tmp_path / "truth.npy"
    np.save(place, np.array([[0, -1, 1]]))
    assert read_truth(place).tolist() == [[0, -1, 1]]
    np.save(place, np.array([[0, -2, 1]]))
    with pytest.raises(ValueError, match=">= -1"):
        read_truth(place)


def test_maps_keep_their_shape():
    rng = np.random.default_rng(0)
    select = rng.multinomial(10, [0.8, 0.2], (4, 3))
    counts = rng.multinomial(100, [0.95, 0.05], (4, 3))
    samples = {"n": 100, "alpha": 0.001, "scheme": SCHEME}
    labels, radius = certify_map(select, counts, 0.75, **samples)
    flat, same = certify_map(
        select.reshape(12, 2), counts.reshape(12, 2), 0.75, **samples
    )
    assert labels.shape == (4, 3)
    assert (labels.ravel() == flat).all()
    assert radius == same
    x = np.array([[[2.0, -2.0, 0.0], [1.0, 1.0, -1.0]]], np.float32)
    answer = Maps(gaussian(0.25), 0.75)
    run = certify_dataset(lambda batch: np.stack([batch, -batch], 1), x, answer)
    found = answer.certified(run.rows, alpha=0.001, shape=(2, 3))
    assert found.tolist() == [[[0, 1, -1], [0, 0, 1]]]
    with pytest.raises(ValueError, match=r"shape must be of 6 positions; got \(2, 2\)"):
        answer.certified(run.rows, alpha=0.001, shape=(2, 2))
