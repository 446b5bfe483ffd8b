"""Two classes: the second has what the first leaves, so one bound has all of alpha."""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from rsbounds.answers import TopClass
from rsbounds.answers._votes import Votes
from rsbounds.audit import verify
from rsbounds.certify import Procedure, certify, certify_counts, certify_dataset
from rsbounds.cli import main
from rsbounds.confidence import BOUNDS, lower_bound, pair_bounds
from rsbounds.results import Manifest
from rsbounds.results.internal import read_rows
from rsbounds.schemes import gaussian

SIGMA, N, ALPHA = 0.5, 1000, 0.001
ALONE = SIGMA * lower_bound(N, N, ALPHA, scores=True)
PAIR = SIGMA * lower_bound(N, N, ALPHA / 2, scores=True)
X = np.zeros((2, 3), np.float32)
X[1] = 5.0


def sure(classes):
    """All votes for the first class, of so many."""
    return lambda batch: np.eye(1, classes).repeat(len(batch), axis=0)


def doubtful(batch):
    """Some four of five votes for the first class."""
    first = batch[:, 0] > -0.42
    return np.stack([first, ~first], axis=1).astype(float)


def tables(n, kinds):
    return [c for c in product(range(n + 1), repeat=kinds) if sum(c) == n]


def chance(counts, law):
    ways = math.factorial(n := sum(counts)) // math.prod(map(math.factorial, counts))
    assert n
    return ways * math.prod(p**c for p, c in zip(law, counts, strict=True))


@pytest.mark.parametrize("bound", ["clopper-pearson", "anytime"])
def test_the_level_of_the_one_bound_by_enumeration(bound):
    """Over all laws of two classes and of votes that may be of either.

    Wrong are a bound above p_A, and one of the second class that is below what it has
    with all void votes; the level is used, so that half of it was too little.
    """
    n, alpha = 10, 0.1
    procedure = Procedure(n0=1, n=n, alpha=alpha, bound=bound)
    answer = TopClass(gaussian(SIGMA))
    outcomes = tables(n, 3)
    ends = {}
    for first, second, void in outcomes:
        votes = Votes(
            SIGMA, np.array([1, 0]), np.array([first, second]), n=n, classes=2
        )
        certificate, _ = answer.certify(votes, procedure, label=0, index=0)
        assert certificate.z_b == -certificate.z_a
        ends[first, second, void] = Fraction(float(certificate.p_a))
    worst = Fraction(0)
    for law in tables(12, 3):
        law = [Fraction(share, 12) for share in law]
        wrong = [counts for counts in outcomes if ends[counts] > law[0]]
        worst = max(worst, sum((chance(counts, law) for counts in wrong), Fraction(0)))
    assert worst <= Fraction(alpha)
    assert bound == "anytime" or worst > Fraction(alpha) / 2


def test_the_radius_is_that_of_one_bound_wherever_two_classes_are_known(tmp_path):
    assert ALONE > PAIR
    data, scheme = (X, np.zeros(2, int)), gaussian(SIGMA)
    found = certify(sure(2), X[0], scheme, n=N)
    assert found.radius == pytest.approx(ALONE, rel=1e-11)
    out = tmp_path / "two.tsv"
    for run in (
        certify_dataset(sure(2), data, scheme, n=N),
        certify_dataset(sure(2), data, scheme, n=N, out=out),
        certify_dataset(sure(2), data, scheme, n=N, out=out),  # gone on with
    ):
        assert run.manifest.procedure.runner_up is False
        for row in run.rows:
            assert row.radius == pytest.approx(ALONE, rel=1e-11)
            assert row.z_b == -row.z_a
    assert not verify(out).findings
    # of three, none of whose votes is for the third
    row = certify_dataset(sure(3), data, scheme, n=N).rows[0]
    assert row.radius == pytest.approx(PAIR, rel=1e-11)


def test_the_check_value():
    n, counts = 100_000, [100_000]
    one = Procedure(n0=1, n=n, runner_up=False)
    radius = certify_counts(gaussian(SIGMA), SIGMA, [1], counts, one).radius
    votes = Votes(SIGMA, np.array([1, 0]), np.array([n, 0]), n=n, classes=2)
    answer, procedure = TopClass(gaussian(SIGMA)), Procedure(n0=1, n=n)
    found = answer.certify(votes, procedure, label=0, index=0).certificate
    assert found.radius == radius
    assert round(radius, 5) == 1.90573
    # counts that were written down don't say how many classes there are
    both = certify_counts(gaussian(SIGMA), SIGMA, [1], counts, procedure)
    assert round(both.radius, 5) == 1.89388


def test_a_torch_classifier_says_its_two_classes():
    torch = pytest.importorskip("torch")
    from rsbounds.torch import Smooth

    smooth = Smooth(lambda b: torch.eye(2)[torch.zeros(len(b), dtype=int)], 2, SIGMA)
    _, radius = smooth.certify(torch.zeros(3), 10, N, ALPHA, 500)
    assert radius == pytest.approx(ALONE, rel=1e-11)


def test_void_votes_count_with_the_second_class():
    votes = Votes(SIGMA, np.array([9, 1]), np.array([700, 100]), n=N, classes=2)
    answer = TopClass(gaussian(SIGMA))
    certificate, _ = answer.certify(votes, Procedure(n0=10, n=N), label=0, index=0)
    z = lower_bound(700, N, ALPHA, scores=True)
    assert certificate.radius == pytest.approx(SIGMA * z, rel=1e-11)
    assert certificate.void == 200
    # two bounds, the void votes with the second class, would have earned less
    low, high = pair_bounds(700, 300, N, ALPHA, scores=True)
    assert SIGMA * (low - high) / 2 < certificate.radius


@pytest.mark.parametrize("options", [{}, {"tolerance": 0.04}, {"target_radius": 0.1}])
def test_files_of_two_classes_are_proved_whatever_stops_the_run(tmp_path, options):
    out = tmp_path / "two.tsv"
    data = np.zeros((3, 2), np.float32), np.zeros(3, int)
    run = certify_dataset(doubtful, data, gaussian(SIGMA), n=2000, out=out, **options)
    assert all(row.radius > 0 for row in run.rows)
    assert all(row.z_b == -row.z_a for row in run.rows)
    assert not verify(out).findings
    assert not verify(out, data=data, model=doubtful, rerun=3).findings


def test_a_file_certified_again_keeps_the_one_bound(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = np.zeros((3, 2), np.float32), np.zeros(3, int)
    certify_dataset(doubtful, data, gaussian(SIGMA), n=2000, out="two.tsv")
    again = ["recertify", "two.tsv", "--out"]
    assert main([*again, "same.tsv"]) == 0
    assert main([*again, "finer.tsv", "--alpha", "0.0001"]) == 0
    before, same, finer = (
        read_rows(Path(name)) for name in ("two.tsv", "same.tsv", "finer.tsv")
    )
    assert [row.radius for row in before] == [row.radius for row in same]
    for row, other in zip(before, finer, strict=True):
        hits = row.counts[0]
        assert other.z_a == lower_bound(hits, 2000, 0.0001, scores=True) < row.z_a
    assert not verify("finer.tsv").findings
    assert main([*again, "both.tsv", "--runner-up", "on"]) == 2
    assert "two classes" in capsys.readouterr().err
    assert not Path("both.tsv").exists()


def forged(change):
    path = Path("two.tsv.manifest.json")
    entries = json.loads(path.read_text())
    change(entries)
    path.write_text(json.dumps(entries))
    return [finding.text for finding in verify("two.tsv").findings]


def test_what_was_asked_for_is_no_second_way_to_state_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = np.zeros((3, 2), np.float32), np.zeros(3, int)
    certify_dataset(doubtful, data, gaussian(SIGMA), n=2000, out="two.tsv")
    assert Manifest.read("two.tsv").run["asked"] == {"runner_up": True}
    # rows of one bound are no rows of two
    found = forged(lambda entries: entries.update(runner_up=True))
    assert any("two classes don't have" in text for text in found)
    assert any("z_a is" in text for text in found)


def test_counts_of_a_third_class_contradict_a_file_of_two(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def third(batch):
        return np.roll(np.pad(doubtful(batch), ((0, 0), (0, 1))), 1, axis=1)

    data = np.zeros((3, 2), np.float32), np.ones(3, int)
    certify_dataset(
        third, data, gaussian(SIGMA), n=2000, out="two.tsv", runner_up=False
    )
    found = forged(lambda entries: entries["run"].update(asked={"runner_up": True}))
    assert any("a file of a model with two" in text for text in found)


def test_soft_scores_of_two_classes_have_one_bound():
    from rsbounds.sampling import SoftSampler

    def scores(batch):
        return np.stack([np.full(len(batch), 3.0), np.zeros(len(batch))], axis=1)

    sampler = SoftSampler(scores)
    both, one = (
        certify(sampler, X[0], gaussian(SIGMA), n=N, bound="betting", runner_up=asked)
        for asked in (True, False)
    )
    assert (both.z_a, both.z_b) == (one.z_a, -one.z_a)
    assert ndtr(both.z_a) > 0.9
    assert BOUNDS["betting"].evidence == "scores"
