"""Samplers of NumPy: each row its own."""

import numpy as np
import pytest

from rsbounds.certify import certify
from rsbounds.procedure import Procedure
from rsbounds.sampling import ArraySampler, Draws, Phase, SoftSampler
from rsbounds.sampling.internal import stream
from rsbounds.schemes import gaussian
from rsbounds_ext.kernels import noisy_copies


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (
            lambda batch: (batch[:, 0] > 0).astype(int),
            r"shape \(20,\) \(labels\? scores have",
        ),
        (lambda batch: batch[:5], r"got shape \(5, 3\)"),
        (
            lambda batch: batch[:, :1],
            r"scores of shape \(20, classes\).* got shape \(20, 1\)",
        ),
        (lambda batch: np.full((len(batch), 2), "cat"), "got type <U3"),
        (lambda batch: np.full((len(batch), 2), None), "got type object"),
        (
            lambda batch: [[1.0]] + [[1.0, 2.0]] * (len(batch) - 1),
            r"got list \(.*inhomogeneous",
        ),
        (
            lambda batch: np.ma.masked_greater(batch, 0.0),
            r"got masked values: fill them",
        ),
    ],
)
def test_what_is_no_scores_is_said_in_a_line(returned, got):
    with pytest.raises(ValueError, match=got) as error:
        certify(ArraySampler(returned), np.zeros(3), gaussian(1.0), n0=20, n=20)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("make", [ArraySampler, SoftSampler])
def test_rows_of_arrays_that_depend_on_each_other_are_refused(make):
    rng = np.random.default_rng(0)
    centred = lambda batch: np.abs(batch[:, :2] - batch[:, :2].mean(axis=0))  # noqa: E731
    chance = lambda batch: rng.random((len(batch), 2))  # noqa: E731
    for model in (centred, chance):
        sampler = make(model)
        for _ in range(2):  # not forgotten by a second try
            with pytest.raises(ValueError, match="row for itself"):
                sampler(np.zeros(3), 1.0, 50, stream(0, 0, 1))


def test_rows_of_arrays_are_compared_once_and_infinities_are_no_dependence():
    seen = []

    def model(batch):
        seen.append(len(batch))
        return np.where(batch[:, :2] > 0, np.inf, [[-np.inf, np.nan]])

    sampler = ArraySampler(model)
    sampler(np.zeros(3), 1.0, 1, stream(0, 0, 1))
    assert seen == [1]  # nothing to compare it with
    sampler(np.zeros(3), 1.0, 6, stream(0, 0, 1))
    sampler(np.zeros(3), 1.0, 6, stream(0, 0, 1))
    assert seen == [1, 6, 6, 6]


def test_a_number_of_classes_that_changes_is_refused():
    classes = iter([3, 3, 4])
    sampler = ArraySampler(lambda batch: np.eye(4)[[0] * len(batch), : next(classes)])
    sampler(np.zeros(3), 1.0, 6, stream(0, 0, 1))
    with pytest.raises(ValueError, match=r"classes.*3 and then 4"):
        sampler(np.zeros(3), 1.0, 6, stream(0, 0, 1))


@pytest.mark.parametrize("make", [ArraySampler, SoftSampler])
def test_a_model_that_changes_its_batch_or_reuses_its_scores_is_scored_as_any_other(
    make,
):
    """It was refused: its rows were said to depend on each other."""
    buffer = np.empty((20, 2))

    def plain(batch):
        return np.stack([batch[:, 0] > 0, batch[:, 0] <= 0], axis=1).astype(float)

    def changes(batch):
        scores = plain(batch)
        batch[:] = 7
        return scores

    def reuses(batch):
        buffer[:] = plain(batch)
        return buffer

    counts = []
    for model in (plain, changes, reuses):
        classes = make(model)(np.zeros(3), 1.0, 20, stream(0, 0, 1))
        counts.append([np.asarray(getattr(c, "counts", c)).tolist() for c in classes])
    assert counts[0] == counts[1] == counts[2]


def test_stream_keeps_the_numbers_of_its_seed():
    plain = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(5, 1)))
    drawn = stream(3, 5, Phase.ESTIMATE).integers(2**60, size=5)
    assert drawn.tolist() == plain.integers(2**60, size=5).tolist()
    with pytest.raises(ValueError, match="phase must"):
        stream(0, 0, 8)
    with pytest.raises(ValueError, match=r"stage must.*64"):
        stream(3, 4, Phase.SELECT, 64)


def test_draws_give_each_phase_and_stage_its_own_stream():
    calls = []

    def sampler(x, sigma, n, generator):
        calls.append((sigma, n))
        return generator.integers(2**60, size=n)

    draws = Draws(
        [sampler, sampler], np.zeros(2), (0.5, 1.0), Procedure(seed=3), index=7
    )
    first = draws(Phase.SELECT, 4)
    assert np.array_equal(first, stream(3, 7, Phase.SELECT).integers(2**60, size=4))
    assert not np.array_equal(first, draws(Phase.SELECT, 4, stage=0))
    second = draws(Phase.ESTIMATE, 4, stage=1)
    expected = stream(3, 7, Phase.ESTIMATE, 1).integers(2**60, size=4)
    assert np.array_equal(second, expected)
    assert calls == [(0.5, 4), (0.5, 4), (1.0, 4)]
    generator = draws.generator(Phase.ESTIMATE, 1)
    steps = [draws.more(generator, n, 1) for n in (1, 3)]
    assert np.array_equal(np.concatenate(steps), second)
    with pytest.raises(ValueError, match="samplers"):
        Draws([sampler], np.zeros(2), (0.5, 1.0), Procedure(seed=3), index=7)


@pytest.mark.parametrize("level", [0.125, 0.12, 1e-38, 1e30, 0.1 + 2**-50])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_one_pass_makes_the_copies_of_several(level, kind):
    """Rounded once, or where all is float32 as its product and its sum are."""
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((50, 3, 7), dtype=np.float32)
    x = rng.uniform(-2, 2, (3, 7)).astype(kind)
    sums = (draws * np.float64(level) + x.astype(np.float64)).astype(np.float32)
    if kind is np.float32 and level == 0.125:
        sums = draws * np.float32(level) + x
    noisy_copies(draws, level, x)
    assert draws.tobytes() == sums.tobytes()


def test_one_pass_refuses_what_is_no_copy_of_the_point():
    draws = np.zeros((4, 3), np.float32)
    for x in (np.zeros(5), np.zeros(0), np.zeros(3, int), [0.0] * 3):
        with pytest.raises((ValueError, TypeError)):
            noisy_copies(draws, 0.5, x)
    with pytest.raises(TypeError, match="draws"):
        noisy_copies(draws.astype(float), 0.5, np.zeros(3))
