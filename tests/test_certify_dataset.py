"""A data set from Python, by somebody who comes with what they have."""

from __future__ import annotations

import numpy as np
import pytest

from rsbounds import certify_dataset, schemes
from rsbounds.loading import as_data
from rsbounds.sampling import ArraySampler

SCHEME = schemes.gaussian(0.25)
X, Y = np.random.default_rng(0).random((6, 3), dtype=np.float32), np.array([0, 1, 2, 0, 1, 2])


def model(batch: np.ndarray) -> np.ndarray:
    return batch


def run(data=(X, Y), scheme=SCHEME, model=model, **known):
    return certify_dataset(model, data, scheme, **{"n0": 10, "n": 50} | known)


class Dataset(list):
    """What is a sequence of pairs, as torch's are."""


class Loader:
    def __init__(self, dataset):
        self.dataset = dataset


PAIRS = list(zip(X, Y, strict=True))


@pytest.mark.parametrize(
    "data",
    [(X.tolist(), Y.tolist()), (X, tuple(Y)), PAIRS, Dataset(PAIRS), as_data((X, Y)), tuple(PAIRS)],
)
def test_data_in_any_form_gives_the_same_rows(data):
    expected, found = run().rows, run(data).rows
    assert [(r.label, r.counts) for r in found] == [(r.label, r.counts) for r in expected]


def test_two_pairs_are_no_two_arrays():
    assert [row.label for row in run(((X[0], 1), (X[1], 2))).rows] == [1, 2]


@pytest.mark.parametrize(
    ("known", "error", "said"),
    [
        ({"data": Loader(PAIRS)}, ValueError, "got Loader, which loads batches: give its dataset"),
        ({"data": [X, Y]}, ValueError, r"input 0 must be a pair \(x, y\); got ndarray of length 6"),
        ({"data": X}, ValueError, r"input 0 must be a pair \(x, y\); got ndarray of length 3"),
        ({"data": [(X[0], 1, 0)]}, ValueError, r"a pair \(x, y\); got tuple of length 3"),
        ({"data": [{"x": X[0], "y": 1}]}, ValueError, r"a pair \(x, y\); got dict of length 2"),
        ({"data": (X, np.eye(3)[Y])}, ValueError, r"a label for each input; got shape \(6, 3\)"),
        ({"data": (X[:0], Y[:0])}, ValueError, "at least one; got .* without any"),
        ({"data": iter(PAIRS)}, ValueError, "must be a sequence of pairs"),
        ({"data": ((255 * X).astype(np.uint8), Y)}, ValueError, r"as_data\(data, scale=255\)"),
        ({"data": (X, Y + 2)}, ValueError, "input 1: the label must be below .* 3; got 3"),
        ({"scheme": 0.25}, ValueError, r"scheme must be a Scheme .*gaussian\(0.5\); got float"),
        ({"out": "."}, ValueError, "is not a regular file"),
        ({"out": "nowhere/out.tsv"}, FileNotFoundError, "nowhere"),
    ],
)
def test_what_will_not_do_is_said_in_a_line(known, error, said):
    with pytest.raises(error, match=said) as found:
        run(**known)
    assert "\n" not in str(found.value)


def test_what_is_smoothed_already_is_no_model():
    class Smooth:
        base_classifier = staticmethod(model)

        def certify(self, x, n0, n, alpha, batch_size):
            raise AssertionError

    with pytest.raises(ValueError, match="got Smooth, which is smoothed already: give its base_"):
        run(model=Smooth())


def test_a_sampler_of_fewer_classes_than_labels_is_refused_at_that_row(tmp_path):
    out = tmp_path / "out.tsv"
    with pytest.raises(ValueError, match=r"input 2: the label must be below .* 2; got 2"):
        run(model=ArraySampler(lambda batch: batch[:, :2]), out=out)
    assert len(out.read_text().splitlines()) == 3  # the rows before it are kept
