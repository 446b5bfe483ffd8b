"""Sampling of models that take NumPy batches: votes, scores, values, maps."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.confidence import ScoreHistogram
from rsbounds.sampling import grid_noise
from rsbounds.sampling.blocks import Stream, block_size, noisy, single

Kind = Literal["values", "maps"]  # of outputs that are not scores of classes
_SHAPES = {
    "values": "(count,) or (count, outputs)",
    "maps": "(count, classes, *positions)",
}
# A look at a block costs two forward passes: at one in 1024 a fifth of a percent.
_LOOKS = 2**32 // 1024
_ODD = 0x9E3779B1  # spreads the multiples of it evenly over 32 bits
_SUM = 1 - 2.0**-48  # scores of more classes than 2^20 aside, their sum is at most 1


class Scored:
    """A classifier of NumPy batches, whose scores are checked.

    Their shape and type at every batch; at the first and some later ones, that a row's
    depend on no other row and not on chance, as by
    :class:`rsbounds.torch.TorchSampler`.
    """

    def __init__(self, classifier: Callable[[NDArray[np.float32]], Any]) -> None:
        self.classifier = classifier
        self._classes = 0
        self._rows_checked = False
        self._batches = 0
        # a row of a call's first block, and its scores
        self._first: tuple[NDArray[np.float32], NDArray[Any]] | None = None

    def checked(self, returned: Any, rows: int) -> NDArray[Any]:
        """What was returned, if it is scores of so many rows.

        The number of classes must always be the same.
        """
        expected = (
            f"the model must return scores of shape ({rows}, classes), at least two "
            f"classes, for a batch of {rows}; got "
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
                "the model must always return scores of as many classes; got "
                f"{self._classes} and then {scores.shape[1]}"
            )
        self._classes = scores.shape[1]
        return scores

    def scores(
        self, batch: NDArray[np.float32], number: int, generator: np.random.Generator
    ) -> NDArray[Any]:
        """Scores of a call's block of that number, shape (count, classes)."""
        self._batches += 1
        middle = len(batch) // 2
        # copies: the model may change its batch, or write over its scores
        row = batch[middle].copy()
        due = look_is_due(self._batches * _ODD % 2**32) or not self._rows_checked
        if due and len(batch) > 1:
            scores = self._looked_at(batch, number, generator)
        else:
            scores = self.checked(self.classifier(batch), len(batch))
        if number == 0:
            self._first = row, scores[middle].copy()
        return scores

    def _looked_at(
        self, batch: NDArray[np.float32], number: int, generator: np.random.Generator
    ) -> NDArray[Any]:
        """The scores of a batch, if each row's depend on that row alone."""
        place = place_of(generator, number)
        middle = len(batch) // 2
        # before the model sees the batch itself, which it may change
        alone = self._of_copies(batch[middle], len(batch))
        scores = self.checked(self.classifier(batch), len(batch))
        eps = float(np.finfo(scores.dtype).eps) if scores.dtype.kind == "f" else 0.0
        require_same_row(alone, scores[middle], len(batch), eps, place)
        self._rows_checked = True
        if number and self._first is not None:
            scores = scores.copy()
            row, before = self._first
            again = self._of_copies(row, len(batch))
            require_same_function(before, again, eps, place)
        return scores

    def _of_copies(self, row: NDArray[np.float32], rows: int) -> NDArray[Any]:
        """The scores of the middle one of so many copies of a row."""
        copies = np.repeat(row[None], rows, axis=0)
        scores: NDArray[Any] = self.checked(self.classifier(copies), rows)[rows // 2]
        return scores.copy()

    def drawn(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> Iterator[Array]:
        """The scores of n noisy copies of an input, block by block."""
        x = single(x)
        size = block_size(n, x.size)
        for number, start in enumerate(range(0, n, size)):
            batch = noisy(x, sigma, size, generator)
            scores = self.scores(batch, number, generator)
            yield scores[: n - start].astype(np.float64)


def look_is_due(bits: int) -> bool:
    """Whether rows are to be compared again, from 32 bits that differ at each block."""
    return bits < _LOOKS


def place_of(generator: np.random.Generator, number: int) -> str:
    """Which block of which input, as far as the stream tells."""
    if isinstance(generator, Stream):
        return f", at block {number} of input {generator.index}"
    return f", at block {number}"


def require_same_row(
    alone: NDArray[Any], among: NDArray[Any], rows: int, eps: float, place: str = ""
) -> None:
    """ValueError if a row's scores among copies of it aren't those among other rows."""
    apart = _apart(alone, among, eps)
    if apart:
        raise ValueError(
            "the model must score each row for itself, without chance; the scores of a "
            f"row among {rows - 1} others differ by {apart:.3g} from those in a batch "
            f"of its copies{place} (batch statistics, or random layers?)"
        )


def require_same_function(
    before: NDArray[Any], again: NDArray[Any], eps: float, place: str
) -> None:
    """ValueError if a row's scores aren't those that it had before."""
    apart = _apart(before, again, eps)
    if apart:
        raise ValueError(
            "the model must be one function of its input; the scores of a row of the "
            f"first block differ by {apart:.3g} when it is asked again{place} (a state "
            "that calls change?)"
        )


def _apart(one: NDArray[Any], other: NDArray[Any], eps: float) -> float:
    """The largest difference of two rows of scores, 0.0 if rounding explains it.

    Rounding is what another order of sums may do: eps^(2/3) of the largest score.
    """
    one = one.astype(np.float64)
    other = other.astype(np.float64)
    largest = np.abs(other[np.isfinite(other)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # of two infinities
        differences = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    close = same | (differences <= eps ** (2 / 3) * largest)
    if close.all():
        return 0.0
    # a NaN beside a number, or two infinities: no difference to speak of
    return float(np.nan_to_num(differences[~close], nan=np.inf).max())


class ArraySampler(Scored):
    """Sampler over a classifier of NumPy batches: onnxruntime, plain functions.

    A call raises ValueError if the input isn't in floating point and finite, if the
    classifier returns something else, or if scores are seen to depend on other rows or
    on chance.

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
    >>> def classifier(batch):
    ...     return np.stack([batch[:, 0], -batch[:, 0]], axis=1)
    >>> sampler = ArraySampler(classifier)
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
        """Counts of the classes; see :class:`Sampler`.

        Rows that hold a NaN count for none.
        """
        x = single(x)
        steps = grid_noise.on_grid(x) if self.sound_noise else None
        size = block_size(n, x.size)
        counts = np.zeros((), np.int64)
        for number, start in enumerate(range(0, n, size)):
            void: Any = False
            if steps is None:
                batch = self.noisy(x, sigma, size, generator)
            else:
                batch, void = grid_noise.noisy(steps, sigma, size, generator)
            scores = self.scores(batch, number, generator)
            valid = ~(np.isnan(scores).any(axis=1) | void)[: n - start]
            labels = scores.argmax(axis=1)[: n - start][valid]
            counts = counts + np.bincount(labels, minlength=scores.shape[1])
        return counts

    def noisy(
        self,
        x: NDArray[np.float32],
        sigma: float,
        size: int,
        generator: np.random.Generator,
    ) -> NDArray[np.float32]:
        """A block of noisy copies of an input."""
        return noisy(x, sigma, size, generator)


class SoftSampler(Scored):
    """A histogram of each class's scores.

    The classifier that is smoothed votes with them.

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
    """ValueError unless a batch's outputs have the shape of their kind, always one."""
    if kind == "values":
        fits = 1 <= len(shape) <= 2
    else:
        fits = len(shape) >= 3 and shape[1] >= 2
    if not fits or shape[0] != rows or 0 in shape:
        raise ValueError(
            f"the model must return outputs of shape {_SHAPES[kind]} for a batch of "
            f"{rows}; got shape {shape}"
        )
    if known not in (None, shape[1:]):
        raise ValueError(
            f"the model must always return outputs of one shape; got {known} and then "
            f"{shape[1:]}"
        )


class ArrayOutputs(Scored):
    """Sampler of values or maps over a function of float32 batches."""

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
