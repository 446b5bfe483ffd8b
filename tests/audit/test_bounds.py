"""Bounds and ranks that were raised alike with what follows from them."""

from statistics import NormalDist

import numpy as np
import pytest
from small_run import INPUTS, edited

from rsbounds import certify_dataset, schemes
from rsbounds.answers import (
    TopK,
    Values,
)
from rsbounds.audit import Kind, verify
from rsbounds.results import read
from rsbounds.sampling import ArraySampler


@pytest.mark.filterwarnings("ignore:the first input reaches")
@pytest.mark.parametrize("bound", ["clopper-pearson", "anytime"])
def test_a_bound_from_unanimous_samples_that_was_raised_is_found(tmp_path, bound):
    """Score and radius were raised alike: nothing but the bound is wrong."""
    pytest.importorskip("flint")
    out, sigma = tmp_path / "out.tsv", 0.25
    x, y = np.full((12, 2), [40.0, 0.0]), np.zeros(12, np.int64)
    known = {"n0": 5, "n": 9, "alpha": 0.01, "bound": bound, "runner_up": False}
    model = ArraySampler(lambda batch: batch)
    scheme = schemes.gaussian(sigma)
    certify_dataset(model, (x, y), scheme, out=out, **known)
    rows = read(out).rows
    assert all(row.counts == (9,) and row.radius > 0 for row in rows)
    assert verify(out).findings == ()

    def raised(row):
        score = float(row["z_a"]) + 1e-6
        share = NormalDist().cdf(score) * (1 - 1e-15)
        return {
            "z_a": repr(score),
            "z_b": repr(-score),
            "p_a": repr(share),
            "radius": repr(sigma * score * (1 - 1e-12)),
        }

    edited(out, raised)
    findings = verify(out).findings
    assert {found.kind for found in findings} == {Kind.BOUND}
    assert {found.index for found in findings} == set(range(12))


def test_a_lead_over_the_mean_of_two_is_proved_and_no_more(tmp_path):
    """With k = 2 and others that are alike, two are compared at once."""
    pytest.importorskip("flint")
    out = tmp_path / "out.tsv"

    def sampler(x, sigma, n, generator):
        return np.array([n - 4 * (n // 6), *[n // 6] * 4])

    data = (np.zeros((2, 3)), np.zeros(2, np.int64))
    answer = TopK(schemes.gaussian(0.5), 2)
    certify_dataset(sampler, data, answer, out=out, n0=6000, n=6000)
    rows = read(out).rows
    assert [row.extra["sum_of"] for row in rows] == ["2", "2"]
    assert all(row.radius > 0 for row in rows)
    assert verify(out).findings == ()
    edited(out, lambda row: {"radius": repr(float(row["radius"]) * (1 + 1e-8))})
    assert {found.kind for found in verify(out).findings} == {Kind.RADIUS}


def test_ranks_further_inside_are_not_proved(tmp_path):
    """2^8 samples: a sum of ranks is not what it is bit by bit."""
    pytest.importorskip("flint")
    out = tmp_path / "out.tsv"
    answer = Values(schemes.gaussian(0.5), radii=[0.1])
    certify_dataset(lambda batch: batch, INPUTS[:2], answer, out=out, n=256)
    assert verify(out).findings == ()
    below, above = map(int, read(out).rows[0].extra["ranks"].split(","))
    for ranks in (f"{below + 1},{above}", f"{below},{above + 1}"):
        edited(out, lambda row, ranks=ranks: {"ranks": ranks})
        kinds = [found.kind for found in verify(out).findings]
        assert kinds.count(Kind.BOUND) == 2
