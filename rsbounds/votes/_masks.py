"""Masks in pairs, one of which hides any patch: no chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import as_array, as_integers, count, number, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import require_scored_alone
from rsbounds.certificate import ABSTAIN

_BATCH = 64  # masked copies that the model sees at a time
Window = tuple[slice, slice]


class Masked(NamedTuple):
    """What masks in pairs say of a picture.

    Attributes
    ----------
    predict : int
        The prediction, which is that of :meth:`DoubleMasking.predict`.
    certified : bool
        Whether it is the same whatever stands in one patch.
    masks, pairs : int
        How many masks there are, and pairs of them, each with itself included.
    masks_agree, pairs_agree : int
        Of how many the label is the prediction.
    """

    predict: int
    certified: bool
    masks: int
    pairs: int
    masks_agree: int
    pairs_agree: int


class DoubleMasking:
    """A classifier of pictures with one mask, then two, which no patch can change.

    Every patch lies inside one of the masks. The prediction is the label that all
    masks agree on. Otherwise it is the one of most masks (of those that tie the
    smallest), unless another mask's label stays the same whatever second mask is
    added: then that one (of the first such mask).

    Parameters
    ----------
    model : callable
        From a batch of pictures to scores of shape (count, classes), the same for a
        picture whatever else is in the batch.
    patch : int or pair of int
        Rows and columns of the largest patch.
    masks : int or pair of int
        How many masks lie along each axis, at most: fewer hide more at a time.
    hidden : float
        What hidden pixels show: a number, or NaN.
    axes : pair of int
        Those of rows and columns in a picture: the last two.

    Raises
    ------
    ValueError
        If an argument is out of its domain; later, for a picture that is smaller than
        the patch, or for scores of another shape, that are no real numbers, or that are
        seen to depend on other pictures or on chance.

    References
    ----------
    Xiang, Mahloujifar, Mittal, PatchCleanser: certifiably robust defense against
    adversarial patches for any image classifier, 2022. The theory page on discrete
    noise.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.votes import DoubleMasking
    >>> def model(batch):  # whether a picture is rather bright
    ...     bright = batch.mean(axis=(1, 2)) - 0.3
    ...     return np.stack([-bright, bright], axis=1)
    >>> masked = DoubleMasking(model, patch=2, masks=3)
    >>> masked.certify(np.ones((8, 8)))
    Masked(predict=1, certified=True, masks=9, pairs=45, masks_agree=9, pairs_agree=45)
    """

    def __init__(
        self,
        model: Callable[[Any], Any],
        *,
        patch: int | tuple[int, int],
        masks: int | tuple[int, int] = 6,
        hidden: float = 0.0,
        axes: tuple[int, int] = (-2, -1),
    ) -> None:
        if not callable(model):
            raise ArgumentError("model", f"must be a function; got {model!r:.60}")
        self.model = model
        self.patch = _two("patch", patch)
        self.masks = _two("masks", masks)
        self.hidden = number("hidden", hidden, finite=False, nan=True)
        self._classes: int | None = None
        self._is_alone_checked = False
        self.axes = tuple(as_integers("axes", axes, -(2**31)).ravel().tolist())
        if len(self.axes) != 2:
            raise ArgumentError(
                "axes", f"must be two numbers, rows and columns; got {axes}"
            )

    def windows(self, shape: Sequence[int]) -> list[Window]:
        """The masks of a picture of so many rows and columns, clipped to it."""
        sizes = as_integers("shape", shape, 1)
        if sizes.shape != (2,):
            raise ArgumentError("shape", f"must be rows and columns; got {shape!r:.60}")
        by_axis = [
            windows_along(size, patch, masks)
            for size, patch, masks in zip(
                sizes.tolist(), self.patch, self.masks, strict=True
            )
        ]
        return [(rows, columns) for rows in by_axis[0] for columns in by_axis[1]]

    def predict(self, x: ArrayLike) -> int:
        """The prediction of one picture."""
        picture, windows = self._read(x)
        first = self._labels(picture, [(window,) for window in windows])
        most = _most(first)
        for window, label in zip(windows, first, strict=True):
            if label == most:
                continue
            second = self._labels(picture, [(window, other) for other in windows])
            if (second == label).all():
                return int(label)
        return most

    def certify(self, x: ArrayLike) -> Masked:
        """The prediction of one picture, and whether any patch leaves it as it is.

        It is certified where the label is the same under all pairs of masks.
        """
        picture, windows = self._read(x)
        pairs = [
            (window, other)
            for place, window in enumerate(windows)
            for other in windows[place:]
        ]
        labels = self._labels(picture, pairs)
        alone = labels[[window is other for window, other in pairs]]
        certified = labels[0] != ABSTAIN and bool((labels == labels[0]).all())
        predict = int(labels[0]) if certified else self.predict(x)
        return Masked(
            predict=predict,
            certified=bool(certified),
            masks=len(windows),
            pairs=len(pairs),
            masks_agree=int((alone == predict).sum()),
            pairs_agree=int((labels == predict).sum()),
        )

    def _read(self, x: ArrayLike) -> tuple[NDArray[Any], list[Window]]:
        """The picture with rows and columns last, and its masks."""
        array = as_array("x", x)
        if array.dtype.kind not in "biuf":
            raise ArgumentError("x", f"must be real numbers; got type {array.dtype}")
        if array.ndim < 2 or not array.size:
            raise ArgumentError(
                "x",
                "must be a picture of two axes or more, not empty; got shape "
                f"{array.shape}",
            )
        if len({axis % array.ndim for axis in self.axes}) < 2 or not all(
            -array.ndim <= axis < array.ndim for axis in self.axes
        ):
            raise ArgumentError(
                "axes",
                f"must be two of the picture's {array.ndim} axes; got {self.axes}",
            )
        if not _holds(array.dtype, self.hidden):
            raise ArgumentError(
                "hidden", f"must be a number of type {array.dtype}; got {self.hidden}"
            )
        picture = np.moveaxis(array, self.axes, (-2, -1))
        return picture, self.windows(picture.shape[-2:])

    def _labels(
        self, picture: NDArray[Any], masked: Sequence[tuple[Window, ...]]
    ) -> NDArray[np.int64]:
        """The label under each of some sets of masks; ABSTAIN where a score is NaN."""
        labels: list[NDArray[np.int64]] = []
        copies = self._copies(picture, masked)
        while block := list(islice(copies, _BATCH)):
            scores = self._scores(np.stack(block))
            if not self._is_alone_checked:
                self._require_alone(block[len(block) // 2], scores)
            label = scores.argmax(axis=1)
            labels.append(np.where(np.isnan(scores).any(axis=1), ABSTAIN, label))
        return np.concatenate(labels)

    def _scores(self, batch: NDArray[Any]) -> NDArray[Any]:
        """What the model returns for a batch, checked."""
        expected = (
            f"the model must return scores of shape ({len(batch)}, classes), at least "
            "two classes"
        )
        returned = on_host("scores", self.model(batch))
        try:
            scores = np.array(returned)  # the model may write over its own
        except ValueError as error:  # rows of different lengths
            raise ValueError(f"{expected}; got {error}") from None
        if scores.ndim != 2 or len(scores) != len(batch) or scores.shape[1] < 2:
            raise ValueError(f"{expected}; got shape {scores.shape}")
        if scores.dtype.kind not in "biuf":
            raise ValueError(f"{expected}, real numbers; got type {scores.dtype}")
        classes = scores.shape[1]
        if self._classes not in (None, classes):
            raise ValueError(
                "the model must always return scores of as many classes; got "
                f"{self._classes} and then {classes}"
            )
        self._classes = classes
        return scores

    def _require_alone(self, copy: NDArray[Any], scores: NDArray[Any]) -> None:
        """ValueError if a copy's scores aren't those in a batch of itself alone."""
        place = len(scores) // 2
        alone = self._scores(np.repeat(copy[None], len(scores), axis=0))[place]
        among = scores[place]
        eps = np.finfo(scores.dtype).eps if scores.dtype.kind == "f" else 0.0
        require_scored_alone(
            alone.astype(np.float64),
            among.astype(np.float64),
            len(scores),
            float(eps),
            "picture",
        )
        self._is_alone_checked = True

    def _copies(
        self, picture: NDArray[Any], masked: Sequence[tuple[Window, ...]]
    ) -> Iterator[NDArray[Any]]:
        for windows in masked:
            copy = picture.copy()
            for rows, columns in windows:
                copy[..., rows, columns] = self.hidden
            yield np.moveaxis(copy, (-2, -1), self.axes)


def _holds(dtype: np.dtype[Any], hidden: float) -> bool:
    """Whether pictures of a type can show what hidden pixels show."""
    if np.isnan(hidden):
        return dtype.kind == "f"
    return bool(dtype.type(hidden) == hidden)


def _two(name: str, value: Any) -> tuple[int, int]:
    """One number for both axes, or one for each."""
    rows, columns = (
        value if isinstance(value, tuple) and len(value) == 2 else [value] * 2
    )
    return count(name, rows, 1), count(name, columns, 1)


def windows_along(size: int, patch: int, masks: int) -> list[slice]:
    """The masks along an axis: a patch that begins anywhere lies inside one of them."""
    if not patch <= size:
        raise ArgumentError(
            "patch", f"must be no larger than the picture, {size}; got {patch}"
        )
    starts = size - patch + 1
    stride = -(-starts // masks)
    width = patch + stride - 1
    return [slice(at, min(at + width, size)) for at in range(0, starts, stride)]


def _most(labels: NDArray[np.int64]) -> int:
    """The label of most masks, the smallest of those that tie."""
    values, votes = np.unique(labels, return_counts=True)
    return int(values[votes.argmax()])


def double_masking(
    model: Callable[[Any], Any],
    x: ArrayLike,
    *,
    patch: int | tuple[int, int],
    masks: int | tuple[int, int] = 6,
    hidden: float = 0.0,
    axes: tuple[int, int] = (-2, -1),
) -> Masked:
    """The prediction of one picture by masks in pairs, and whether it is certified.

    Parameters
    ----------
    x : array_like
        One picture.
    model, patch, masks, hidden, axes
        As of :class:`DoubleMasking`, whose prediction the certificate is of.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.votes import double_masking
    >>> def model(batch):
    ...     bright = batch.mean(axis=(1, 2)) - 0.7
    ...     return np.stack([-bright, bright], axis=1)
    >>> double_masking(model, np.ones((8, 8)), patch=2, masks=3).certified
    False
    """
    masked = DoubleMasking(model, patch=patch, masks=masks, hidden=hidden, axes=axes)
    return masked.certify(x)
