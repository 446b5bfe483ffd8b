"""Sampling of models that take NumPy batches: their scores, checked, as votes or as
such; maps.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.confidence import ScoreHistogram
from rsbounds.sampling import grid_noise
from rsbounds.sampling.blocks import block_size, noisy, single

Kind = Literal["values", "maps"]  # of outputs that are not scores of classes
_SHAPES = {
    "values": "(count,) or (count, outputs)",
    "maps": "(count, classes, *positions)",
}
_SUM = 1 - 2.0**-48  # scores of more classes than 2^20 aside, their sum is at most 1


class Scored:
    """A classifier of NumPy batches, whose scores are checked.

    Their shape and type at every batch; once, that a row's depend on no other row and
    not on chance, as by :class:`rsbounds.torch.TorchSampler`.
    """

    def __init__(self, classifier: Callable[[NDArray[np.float32]], Any]) -> None:
        self.classifier = classifier
        self._classes = 0
        self._rows_checked = False

    def checked(self, returned: Any, rows: int) -> NDArray[Any]:
        """What was returned, if these are scores of so many rows and always as many
        classes.
        """
        expected = (
            f"the model must return scores of shape ({rows}, classes), at least two classes, for a "
            f"batch of {rows}; got "
        )
        try:
            scores = np.asarray(returned)
        except ValueError as error:  # rows of different lengths
            raise ValueError(f"{expected}{type(returned).__name__} ({error})") from None
        if scores.ndim != 2 or scores.shape[0] != rows or scores.shape[1] < 2:
            hint = " (labels? scores have a column for each class)" * (
                scores.shape == (rows,)
            )
            raise ValueError(f"{expected}shape {scores.shape}{hint}")
        if scores.dtype.kind not in "biuf":
            raise ValueError(f"{expected}type {scores.dtype}")
        if self._classes not in (0, scores.shape[1]):
            raise ValueError(
                f"the model must always return scores of as many classes; got {self._classes} and "
                f"then {scores.shape[1]}"
            )
        self._classes = scores.shape[1]
        return scores

    def scores(self, batch: NDArray[np.float32]) -> NDArray[Any]:
        """Scores of a batch, shape (count, classes)."""
        first = not self._rows_checked and len(batch) > 1
        middle = len(batch) // 2
        if (
            first
        ):  # before the model sees the batch, which it may change, as it may its scores
            copies = np.repeat(batch[middle : middle + 1], len(batch), axis=0)
            alone = self.checked(self.classifier(copies), len(batch))[middle].copy()
        scores = self.checked(self.classifier(batch), len(batch))
        if first:
            tolerance = (
                np.finfo(scores.dtype).eps ** 0.5 if scores.dtype.kind == "f" else 0.0
            )
            require_same_row(alone, scores[middle], len(batch), float(tolerance))
            self._rows_checked = True
        return scores

    def drawn(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> Iterator[Array]:
        """The scores of n noisy copies of an input, block by block."""
        x = single(x)
        size = block_size(n, x.size)
        for start in range(0, n, size):
            yield self.scores(noisy(x, sigma, size, generator))[: n - start].astype(
                np.float64
            )


def require_same_row(
    alone: NDArray[Any], among: NDArray[Any], rows: int, tolerance: float
) -> None:
    """ValueError if a row's scores in a batch of its copies aren't those among other
    rows.
    """
    alone, among = alone.astype(np.float64), among.astype(np.float64)
    largest = np.abs(among[np.isfinite(among)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # of two infinities
        apart = np.abs(alone - among)
    same = (alone == among) | (np.isnan(alone) & np.isnan(among))
    if not (same | (apart <= tolerance * largest)).all():
        raise ValueError(
            "the model must score each row for itself, without chance; the scores of a row "
            f"among {rows - 1} others differ by {apart[~same].max():.3g} from those in a batch of "
            "its copies (batch statistics, or random layers?)"
        )


class ArraySampler(Scored):
    """Sampler over a classifier of NumPy batches: onnxruntime, scikit-learn, plain
    functions.

    A call raises ValueError if the input isn't in floating point and finite, if the
    classifier returns something else, or (looked at once) if scores depend on other
    rows or on chance.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes).
    sound_noise : bool
        Draw whole-numbered noise exactly (Voracek and Hein 2023), for inputs on the
        grid of 1/255: the certificate then holds for the program that runs, which
        rounds its input to the grid, and not only for its idealisation in real numbers.
        An ambiguous draw counts for no class. See :mod:`rsbounds.sampling.grid_noise`.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import ArraySampler
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], axis=1))
    >>> int(sampler(np.array([9.0, 0.0]), 1.0, 50, np.random.default_rng(0))[0])
    50
    """

    def __init__(
        self,
        classifier: Callable[[NDArray[np.float32]], Any],
        *,
        sound_noise: bool = False,
    ) -> None:
        super().__init__(classifier)
        self.sound_noise = sound_noise

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Counts of the classes; see :class:`Sampler`. Rows that hold a NaN count for
        none.
        """
        x = single(x)
        steps = grid_noise.on_grid(x) if self.sound_noise else None
        size, counts = block_size(n, x.size), np.zeros((), np.int64)
        for start in range(0, n, size):
            void: Any = False
            if steps is None:
                batch = noisy(x, sigma, size, generator)
            else:
                batch, void = grid_noise.noisy(steps, sigma, size, generator)
            scores = self.scores(batch)
            valid = ~(np.isnan(scores).any(axis=1) | void)[: n - start]
            labels = scores.argmax(axis=1)[: n - start][valid]
            counts = counts + np.bincount(labels, minlength=scores.shape[1])
        return counts


class SoftSampler(Scored):
    """A histogram of each class's scores: the classifier that is smoothed votes with
    them.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes) in
        [0, 1] that sum to 1, such as a softmax. Larger sums are divided by themselves;
        a row with a NaN scores 0 for every class.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import certify
    >>> from rsbounds.sampling import SoftSampler
    >>> from rsbounds.schemes import gaussian
    >>> def classifier(batch):
    ...     p = 1 / (1 + np.exp(-8 * batch[:, 0]))
    ...     return np.stack([p, 1 - p], axis=1)
    >>> sampler = SoftSampler(classifier)
    >>> c = certify(sampler, [0.5, 0.0], gaussian(0.25), n=1000, bound="betting")
    >>> c.predict, 0.3 < c.radius < 0.5
    (0, True)
    """

    evidence = "scores"

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> list[ScoreHistogram]:
        """A histogram of n scores for each class."""
        histograms: list[ScoreHistogram] = []
        for scores in self.drawn(x, sigma, n, generator):
            void = np.isnan(scores).any(axis=1, keepdims=True)
            valid = np.where(void, 0.0, scores)
            valid = valid * (_SUM / np.maximum(valid.sum(axis=1, keepdims=True), 1.0))
            histograms = histograms or [ScoreHistogram() for _ in range(valid.shape[1])]
            for histogram, column in zip(histograms, valid.T, strict=True):
                histogram.add(column)
        return histograms


def checked_shape(shape: tuple[int, ...], rows: int, kind: Kind, known: Any) -> None:
    """ValueError unless a batch's outputs have the shape of their kind, and always the
    same.
    """
    fits = (
        (1 <= len(shape) <= 2)
        if kind == "values"
        else (len(shape) >= 3 and shape[1] >= 2)
    )
    if not fits or shape[0] != rows or 0 in shape:
        raise ValueError(
            f"the model must return outputs of shape {_SHAPES[kind]} for a batch of {rows}; got "
            f"shape {shape}"
        )
    if known not in (None, shape[1:]):
        raise ValueError(
            f"the model must always return outputs of one shape; got {known} and then {shape[1:]}"
        )


class ArrayOutputs(Scored):
    """Sampler over a function of float32 batches (count, *shape of x), for values or
    maps.
    """

    def __init__(self, model: Callable[[NDArray[np.float32]], Any], kind: Kind) -> None:
        super().__init__(model)
        self.kind = kind
        self._shape: tuple[int, ...] | None = None

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> Any:
        """Outputs, shape (n, outputs), or counts, shape (positions, classes)."""
        blocks = self.drawn(x, sigma, n, generator)
        if self.kind == "values":
            return np.concatenate([block.reshape(len(block), -1) for block in blocks])
        return sum(map(position_counts, blocks))

    def checked(self, returned: Any, rows: int) -> NDArray[Any]:
        outputs = np.asarray(returned)
        checked_shape(outputs.shape, rows, self.kind, self._shape)
        if outputs.dtype.kind not in "biuf":
            raise ValueError(
                f"the model must return real numbers; got type {outputs.dtype}"
            )
        self._shape = outputs.shape[1:]
        return outputs


def position_counts(scores: Array) -> NDArray[np.int64]:
    """Class counts of each position over a batch of scores (count, classes,
    *positions).

    A position whose scores hold a NaN counts for no class in that sample.
    """
    rows, classes = scores.shape[:2]
    flat = scores.reshape(rows, classes, -1)
    chosen = np.where(np.isnan(flat).any(axis=1), classes, flat.argmax(axis=1))
    place = chosen + np.arange(flat.shape[2]) * (classes + 1)
    counts = np.bincount(place.ravel(), minlength=flat.shape[2] * (classes + 1))
    return counts.reshape(-1, classes + 1)[:, :classes].astype(np.int64)
