"""Masks in pairs against brute force over all patches of small pictures."""

from itertools import product

import numpy as np
import pytest

from rsbounds.votes import DoubleMasking, double_masking

SHAPE = (3, 4)
RNG = np.random.default_rng(0)


def linear(weights, bias):
    def model(batch):
        score = (batch * weights).sum(axis=(1, 2)) + bias
        return np.stack([-score, score, 0.2 + 0 * score], axis=1)

    return model


def patched(x, patch):
    """A picture under all patches of zeros and ones, at all places."""
    height, width = patch
    for row, column in product(
        range(x.shape[0] - height + 1), range(x.shape[1] - width + 1)
    ):
        for content in product((0.0, 1.0), repeat=height * width):
            other = x.copy()
            other[row : row + height, column : column + width] = np.reshape(
                content, patch
            )
            yield other


@pytest.mark.parametrize(
    ("patch", "masks"), [((1, 1), 2), ((1, 2), (2, 2)), ((2, 1), (1, 3))]
)
def test_no_patch_changes_a_certified_prediction(patch, masks):
    certified = changed = 0
    for _ in range(25):
        model = linear(RNG.normal(0, 0.35, SHAPE), RNG.normal(0, 1.5))
        masked = DoubleMasking(model, patch=patch, masks=masks, hidden=0.5)
        x = RNG.integers(0, 2, SHAPE).astype(float)
        said = masked.certify(x)
        assert said.predict == masked.predict(x)
        others = [masked.predict(other) for other in patched(x, patch)]
        if said.certified:
            certified += 1
            assert set(others) == {said.predict}
        else:
            changed += set(others) != {said.predict}
    assert certified > 3
    assert changed > 1


@pytest.mark.parametrize("size", [5, 8, 13])
def test_every_patch_lies_inside_a_mask_of_the_picture(size):
    for patch, masks in product(range(1, size + 1), range(1, size + 2)):
        masked = DoubleMasking(lambda batch: batch, patch=patch, masks=masks)
        windows = [rows for rows, _ in masked.windows((size, size))]
        assert len(set(map(str, windows))) <= masks
        for start in range(size - patch + 1):
            assert any(
                rows.start <= start and start + patch <= rows.stop for rows in windows
            )
        assert all(0 <= rows.start < rows.stop <= size for rows in windows)


def test_the_masks_of_a_large_picture():
    windows = DoubleMasking(lambda b: b, patch=32, masks=6).windows((224, 224))
    assert len(windows) == 36
    assert len(windows) * (len(windows) + 1) // 2 == 666
    assert windows[0][0] == slice(0, 64)


def test_masks_lie_over_the_axes_that_are_named():
    x = np.ones((3, 8, 6))

    def model(batch):
        score = batch.mean(axis=(1, 2, 3)) - 0.3
        return np.stack([-score, score], axis=1)

    first = double_masking(model, x, patch=(2, 1), masks=2)
    moved = double_masking(
        model, np.moveaxis(x, 0, -1), patch=(2, 1), masks=2, axes=(0, 1)
    )
    assert first == moved
    assert first.masks == first.masks_agree == 4


def test_labels_that_are_no_number_certify_nothing():
    said = double_masking(
        lambda batch: np.full((len(batch), 2), np.nan), np.ones((4, 4)), patch=1
    )
    assert (said.predict, said.certified) == (-1, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"patch": 0}, "patch must"),
        ({"patch": 5}, "patch must be no larger than the picture"),
        ({"patch": 1, "masks": 0}, "masks must"),
        ({"patch": 1, "hidden": "black"}, "hidden must"),
    ],
)
def test_arguments_out_of_their_domain_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        double_masking(linear(np.ones((4, 4)), 0.0), np.ones((4, 4)), **options)
    with pytest.raises(ValueError, match="hidden must be a number of type uint8"):
        double_masking(print, np.ones((4, 4), np.uint8), patch=1, hidden=0.5)
    with pytest.raises(ValueError, match="picture of two axes"):
        double_masking(linear(np.ones((4, 4)), 0.0), np.ones(4), patch=1)
    with pytest.raises(ValueError, match="scores of shape"):
        double_masking(lambda batch: batch[:, 0, 0], np.ones((4, 4)), patch=1)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda b: np.full((len(b), 2), 1j), "real numbers; got type complex128"),
        (lambda b: np.full((len(b), 2), "cat"), "real numbers; got type <U3"),
        (lambda b: [[1.0]] + [[1.0, 2.0]] * (len(b) - 1), "inhomogeneous"),
        (lambda b: np.ma.masked_less(np.ones((len(b), 2)), 2.0), "masked"),
        (lambda b: np.ones((len(b), 2 + (len(b) < 64))), "as many classes"),
        (lambda b: b[:, 0, :2] - b[:, 0, :2].mean(), "each picture for itself"),
        (lambda b: np.random.default_rng().random((len(b), 2)), "without chance"),
    ],
)
def test_what_is_no_function_of_one_picture_is_refused(returned, said):
    picture = RNG.random((16, 16))
    with pytest.raises(ValueError, match=said) as error:
        double_masking(returned, picture, patch=1, masks=4)  # 136 pairs, three batches
    assert "\n" not in str(error.value)


def test_scores_that_are_infinite_or_written_over_are_taken():
    kept = {}

    def model(batch):
        scores = kept.setdefault(len(batch), np.zeros((len(batch), 2)))
        scores[:, 1] = np.where(batch.sum(axis=(1, 2)) > 1, np.inf, -np.inf)
        return scores

    assert double_masking(model, np.ones((4, 4)), patch=1, masks=2).certified
