"""The certification procedure, framework-free, of one input and of a data set from
Python.
"""

import warnings
from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds import certify_dataset, schemes
from rsbounds.certificate import ABSTAIN
from rsbounds.certify import certify, predict
from rsbounds.loading import open_data
from rsbounds.procedure import Procedure
from rsbounds.sampling import ArraySampler, SoftSampler
from rsbounds.sampling.internal import block_size
from rsbounds.schemes import gaussian

DIM = 20


def half_space(margin):
    w = np.random.default_rng(5).standard_normal(DIM).astype(np.float32)
    w /= np.linalg.norm(w)
    sampler = ArraySampler(lambda batch: np.stack([batch @ w, -batch @ w], axis=1))
    return sampler, (margin * w).astype(np.float32)


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_blocks_cover_the_samples_and_are_nearly_full(n, dim):
    size = block_size(n, dim)
    blocks = -(-n // size)
    assert 1 <= size <= 4096
    assert size <= 16 or size * dim <= 2**18
    assert blocks * size - n < blocks  # less than one sample lost in each


def test_linear_classifier_is_certified_below_its_true_radius():
    # smoothed, a half-space keeps its boundary: the true radius is the margin
    margins = np.linspace(0.02, 0.9, 60)
    sigma, alpha = 0.5, 0.001
    radii = []
    for index, margin in enumerate(margins):
        sampler, x = half_space(margin)
        found = certify(sampler, x, gaussian(sigma), n=4000, alpha=alpha, index=index)
        assert found.predict in (0, ABSTAIN)
        radii.append(found.radius)
    above = np.sum(np.array(radii) > margins)
    assert above <= 1  # expected 60 alpha = 0.06; two or more have probability 0.0017
    small = margins <= 0.5
    assert np.median(np.array(radii)[small] / margins[small]) > 0.8


def test_selection_and_estimation_use_different_samples():
    drawn = []

    def sampler(x, sigma, n, generator):
        drawn.append(generator.standard_normal(n))
        return np.array([n, 0])

    certify(sampler, np.zeros(1), gaussian(1.0), n0=100, n=100, index=3)
    certify(sampler, np.zeros(1), gaussian(1.0), n0=100, n=100, index=4)
    assert len(np.unique(np.concatenate(drawn))) == 400


@pytest.mark.filterwarnings("ignore:n = .* abstains")  # for few samples
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_prediction_is_the_exact_two_sided_binomial_test(counts):
    n, a = counts
    top = max(a, n - a)
    tail = sum(Fraction(comb(n, k), 2**n) for k in range(top, n + 1))
    p_value = min(2 * tail, Fraction(1))

    def sampler(x, sigma, n, generator):
        return np.array([a, n - a, 0])

    for alpha in (0.001, 0.05, 0.3):
        found = predict(
            sampler, np.zeros(1), gaussian(1.0), Procedure(n=n, alpha=alpha)
        )
        expected = int(a < n - a) if p_value <= alpha else ABSTAIN
        assert found == expected


@pytest.mark.parametrize(("hits", "expected"), [(500, ABSTAIN), (700, 0)])
def test_void_samples_of_a_prediction_may_be_of_the_second_class(hits, expected):
    """500 votes against 10 decide nothing beside 490 that may be for the second."""

    def sampler(x, sigma, n, generator):
        return np.array([hits, 10])

    assert predict(sampler, np.zeros(1), gaussian(1.0), Procedure(n=1000)) == expected


def test_a_prediction_counts_votes_by_the_margin_of_its_procedure():
    sampler = ArraySampler(lambda batch: np.array([[0.5, 0.0]] * len(batch)))
    procedure = Procedure(n=100)
    assert predict(sampler, np.zeros(1), gaussian(1.0), procedure) == 0
    wide = replace(procedure, margin=0.5)
    assert predict(sampler, np.zeros(1), gaussian(1.0), wide) == ABSTAIN


def test_a_prediction_from_more_votes_than_samples_is_refused():
    with pytest.raises(ValueError, match="counts"):
        predict(
            lambda *_: np.array([90, 20]),
            np.zeros(1),
            gaussian(1.0),
            Procedure(n=100),
        )


def test_prediction_from_very_many_samples():
    """The p-value is 1e-6 above alpha; SciPy's tail of the binomial law is not that
    exact.
    """
    first, n = 114084663, 228119815
    known = {"n": n, "alpha": 0.0010453836420855668}
    counts = np.array([first, n - first])
    assert (
        predict(lambda *_: counts, None, gaussian(0.5), Procedure(**known)) == ABSTAIN
    )
    known["alpha"] *= 1 + 3e-6
    assert predict(lambda *_: counts, None, gaussian(0.5), Procedure(**known)) == 0


@pytest.mark.parametrize("sigma", [1e-50, 1e-40, 4e38])
def test_noise_that_float32_cannot_hold_is_refused(sigma):
    sampler, x = half_space(0.0)
    with pytest.raises(ValueError, match="to draw noise"):
        certify(sampler, x, gaussian(sigma), n=10)


def test_whole_floats_count_and_empty_inputs_are_refused():
    sampler, x = half_space(0.3)
    assert certify(sampler, x, gaussian(0.5), n=1e3) == certify(
        sampler, x, gaussian(0.5), n=1000
    )
    with pytest.raises(ValueError, match=r"x must.*one"):
        certify(sampler, np.zeros(0), gaussian(0.5), n=10)


def test_nan_scores_count_for_no_class():
    def scores(batch):
        return np.where(batch[:, :1] > 0.5, np.nan, batch)

    # 4097 samples: two blocks of 2049, the last row of which is beyond the samples
    # wanted
    draws = [
        (lambda b: b, 1.0),
        (scores, 0.6915),
        (lambda b: np.full((len(b), 3), np.nan), 0.0),
    ]
    for classifier, share in draws:
        counts = ArraySampler(classifier)(
            np.zeros(2), 1.0, 4097, np.random.default_rng(0)
        )
        assert counts.sum() == pytest.approx(
            4097 * share, abs=0 if share in (0.0, 1.0) else 100
        )
    always_nan = ArraySampler(draws[2][0])
    assert certify(always_nan, np.zeros(2), gaussian(1.0), n=100).abstained


@pytest.mark.parametrize("bound", ["chernoff", "maurer-pontil", "betting"])
def test_bounds_on_scores_certify_the_classifier_that_votes_with_them(bound):
    def classifier(batch):
        p = np.clip(0.5 + batch[:, 0], 0, 1)
        return np.stack([p, 0.6 * (1 - p), 0.4 * (1 - p)], axis=1)

    sampler, scheme = SoftSampler(classifier), gaussian(0.25)
    x = np.array([0.2, 0.0])
    for runner_up in (True, False):
        found = certify(sampler, x, scheme, n=4000, bound=bound, runner_up=runner_up)
        assert (found.predict, found.bound) == (0, bound)
        assert found.select == found.counts == ()
        draws = 0.25 * np.random.default_rng(0).standard_normal(10**6) + 0.2
        mean = np.clip(0.5 + draws, 0, 1).mean()
        assert 0.8 * mean < found.p_a < mean
    with pytest.raises(ValueError, match=r"scores.*counts"):
        certify(half_space(0.3)[0], half_space(0.3)[1], scheme, bound=bound)
    with pytest.raises(ValueError, match=r"counts.*scores"):
        certify(sampler, x, scheme)


SCHEME = schemes.gaussian(0.25)
X, Y = (
    np.random.default_rng(0).random((6, 3), dtype=np.float32),
    np.array([0, 1, 2, 0, 1, 2]),
)


def model(batch):
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
    [
        (X.tolist(), Y.tolist()),
        (X, tuple(Y)),
        PAIRS,
        Dataset(PAIRS),
        open_data((X, Y)),
        tuple(PAIRS),
    ],
)
def test_data_in_any_form_gives_the_same_rows(data):
    expected, found = run().rows, run(data).rows
    assert [(r.label, r.counts) for r in found] == [
        (r.label, r.counts) for r in expected
    ]


def test_two_pairs_are_no_two_arrays():
    assert [row.label for row in run(((X[0], 1), (X[1], 2))).rows] == [1, 2]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"data": Loader(PAIRS)}, "got Loader, which loads batches: give its dataset"),
        ({"data": [X, Y]}, "input 0 must be a pair"),
        ({"data": (X, np.eye(3)[Y])}, "one label for each of the .*one-hot"),
        ({"data": (X[:0], Y[:0])}, "at least one"),
        ({"data": iter(PAIRS)}, "must be a sequence of pairs"),
        ({"data": ((255 * X).astype(np.uint8), Y)}, r"open_data\(data, scale=255\)"),
        ({"data": (X, Y + 2)}, "input 1: the label must be below"),
        ({"scheme": 0.25}, "scheme must be a Scheme"),
    ],
)
def test_what_will_not_do_is_said_in_a_line(known, said):
    with pytest.raises(ValueError, match=said) as found:
        run(**known)
    assert "\n" not in str(found.value)


def test_what_is_smoothed_already_is_no_model():
    class Smooth:
        base_classifier = staticmethod(model)

        def certify(self, x, n0, n, alpha, batch_size):
            raise AssertionError

    with pytest.raises(ValueError, match=r"Smooth.*base_"):
        run(model=Smooth())


def test_a_sampler_of_fewer_classes_than_labels_is_refused_at_that_row(tmp_path):
    out = tmp_path / "out.tsv"
    with pytest.raises(ValueError, match=r"input 2.*label"):
        run(model=ArraySampler(lambda batch: batch[:, :2]), out=out)
    assert len(out.read_text().splitlines()) == 3  # the rows before it are kept


@pytest.mark.parametrize("name", ["n", "n0"])
def test_a_file_that_could_not_be_verified_is_not_begun(tmp_path, name):
    """It was certified, and refused by `verify`."""
    sampler, x = half_space(0.5)
    data = open_data((x[None], np.array([0])))
    out = tmp_path / "out.tsv"
    with pytest.raises(ValueError, match=rf"^{name}.*1000000000"):
        certify_dataset(sampler, data, gaussian(0.5), out=out, **{name: 10**9 + 1})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("n", "alpha", "least"), [(10, 0.001, 11), (3, 0.1, 5)])
def test_too_few_samples_to_predict_are_a_warning_that_names_the_least(n, alpha, least):
    x = np.array([0.9, 0.0], np.float32)
    sampler = ArraySampler(lambda batch: batch)
    with pytest.warns(UserWarning, match=f"n = {least}"):
        found = predict(sampler, x, gaussian(0.01), Procedure(n=n, alpha=alpha))
    assert found == ABSTAIN
    assert predict(sampler, x, gaussian(0.01), Procedure(n=least, alpha=alpha)) == 0


@pytest.mark.parametrize(
    ("classes", "options", "least"),
    [
        (3, {}, 11),
        (2, {}, 10),
        (3, {"runner_up": False}, 10),
        (3, {"bound": "anytime"}, 13),
        (3, {"alpha": 0.1}, 5),
        (2, {"alpha": 0.1}, 4),
    ],
)
def test_too_few_samples_to_certify_are_a_warning_that_names_the_least(
    classes, options, least
):
    """No vote is lost between: one sample less warns, the least certifies."""
    x = np.array([0.9, 0.0, 0.0], np.float32)[:classes]
    sampler = ArraySampler(lambda batch: batch)
    with pytest.warns(UserWarning, match=f"n = {least}$"):
        found = certify(sampler, x, gaussian(0.01), n=least - 1, **options)
    assert found.predict == ABSTAIN
    assert certify(sampler, x, gaussian(0.01), n=least, **options).radius > 0


@pytest.mark.parametrize("into", [None, "out.tsv"])
def test_a_run_of_too_few_samples_warns_once_and_goes_on(tmp_path, into):
    """Only `certify` and the command line named the least n."""
    data = np.array([[0.9, 0.0, 0.0]] * 3, np.float32), np.zeros(3, dtype=int)
    options = {"out": into and tmp_path / into, "n0": 10}
    model, scheme = ArraySampler(lambda batch: batch), gaussian(0.01)
    with pytest.warns(UserWarning, match="n = 11$") as warned:
        found = certify_dataset(model, data, scheme, n=10, **options)
    assert len(warned) == 1
    assert [row.predict for row in found.rows] == [ABSTAIN] * 3
    options["out"] = None
    found = certify_dataset(model, data, scheme, n=11, **options)
    assert [row.predict for row in found.rows] == [0] * 3


def test_a_target_that_no_votes_reach_is_a_warning_and_a_missed_one_is_none():
    data = np.array([[0.9, 0.0], [0.0, 0.0]], np.float32), np.array([0, 0])
    model, scheme = ArraySampler(lambda batch: batch), gaussian(0.5)
    with pytest.warns(UserWarning, match="target radius 5"):
        certify_dataset(model, data, scheme, n=1000, target_radius=5.0)
    found = certify_dataset(model, data, scheme, n=1000, target_radius=0.4)
    assert [row.radius for row in found.rows] == [0.4, 0.0]


def test_abstention_that_more_votes_could_have_spared_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = certify(lambda batch: batch, np.zeros(2), gaussian(0.5), n=100)
    assert found.predict == ABSTAIN
