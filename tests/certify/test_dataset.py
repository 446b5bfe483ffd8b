"""A data set from Python: the inputs that are chosen, what no file holds, targets."""

import numpy as np
import pytest
from answer_runs import NOISE, scores
from small_run import COUNT, INPUTS, LABELS, WEIGHTS, run

from rsbounds import certify_dataset, schemes
from rsbounds.answers import (
    Values,
)
from rsbounds.certificate import ABSTAIN
from rsbounds.certify import _resumed, certify_radius
from rsbounds.procedure import Procedure
from rsbounds.results import Row
from rsbounds.sampling import ArraySampler, SoftSampler


@pytest.mark.parametrize(
    ("chosen", "indices"),
    [
        ({"max": -1}, range(COUNT)),
        ({"max": 0}, range(0)),
        ({"max": 1}, range(1)),
        ({"max": COUNT + 1}, range(COUNT)),
        ({"start": COUNT - 1}, range(COUNT - 1, COUNT)),
        ({"start": 1, "max": 7, "skip": 3}, range(1, 7, 3)),
    ],
)
def test_the_inputs_that_are_chosen_are_certified(chosen, indices):
    results = run(**chosen)
    assert [row.idx for row in results.rows] == list(indices)
    assert results.manifest.data["inputs"] == len(indices)


def shares(batch):
    """Scores from 0 to 1, with sum 1."""
    powers = np.exp(batch @ WEIGHTS)
    return powers / powers.sum(1, keepdims=True)


def test_a_bound_on_scores_writes_no_file(tmp_path):
    """A row holds counts, which don't prove such a bound."""
    out = tmp_path / "out.tsv"
    data = (INPUTS, LABELS)
    known = {"n": 200, "max": 2, "bound": "betting", "out": out}
    with pytest.raises(ValueError, match=r"^bound\b.*'betting'"):
        certify_dataset(SoftSampler(shares), data, schemes.gaussian(0.25), **known)
    assert not out.exists()


def test_a_target_beyond_all_scores_is_given_up_before_a_sample_is_drawn():
    model = ArraySampler(lambda batch: batch @ WEIGHTS)
    with pytest.warns(UserWarning, match="target radius 1000000"):
        found = certify_radius(
            model, INPUTS[0], schemes.gaussian(0.25), Procedure(target_radius=1e6)
        )
    assert (found.predict, found.radius, found.n) == (ABSTAIN, 0.0, 0)
    # nothing is known of the class
    assert (found.z_a, found.p_a, found.z_b) == (-np.inf, 0.0, np.inf)


@pytest.mark.parametrize("shape", [(199, 2), (201, 2), (200,), (200, 1, 2)])
def test_order_statistics_are_of_as_many_samples_as_are_stated(shape):
    def sampler(x, sigma, n, generator):
        return np.zeros(shape if n == 200 else (n, 2))

    answer = Values(schemes.gaussian(0.5), radii=[0.1])
    with pytest.raises(ValueError, match="200 rows"):
        certify_dataset(sampler, INPUTS[:2], answer, n=200)


def test_more_inputs_than_a_file_holds_are_refused_at_the_start(tmp_path):
    class Many:
        def __len__(self):
            return 10**7 + 1

        def __getitem__(self, i):
            raise AssertionError("it was begun")

    with pytest.raises(ValueError, match="10000000"):
        certify_dataset(scores, Many(), NOISE, out=tmp_path / "out.tsv")
    assert not list(tmp_path.iterdir())


def test_going_on_with_a_long_file_makes_few_of_its_rows(tmp_path, monkeypatch):
    """Most of them are read as columns alone."""
    out = tmp_path / "run.tsv"
    run(out=out, max=COUNT - 1)
    whole = out.read_text()
    made = []
    parse = Row.parse

    def counted(line, columns):
        made.append(line)
        return parse(line, columns)

    monkeypatch.setattr(Row, "parse", counted)
    monkeypatch.setattr(_resumed, "LOOKED_AT", 2)
    monkeypatch.setattr(_resumed, "COMPARED", 2)
    results = run(out=out)
    assert len(results.rows) == COUNT
    assert out.read_text().startswith(whole)
    # two whose inputs are hashed, two leads, two closest, one that is drawn again
    assert 0 < len(made) <= 8
