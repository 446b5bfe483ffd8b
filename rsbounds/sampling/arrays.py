"""Sampling of models that take NumPy batches: votes, scores, values, maps."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds._numerics.errors import ArgumentError
from rsbounds.confidence import ScoreHistogram
from rsbounds.noises import Noise, require_level
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.blocks import Stream, block_size
from rsbounds.sampling.gaussian import Gaussian, OnGrid
from rsbounds.sampling.grid_noise import LEVELS, checked_grid
from rsbounds.sampling.margins import (
    FEW,
    Difference,
    Watch,
    leads,
    other_blas_threads,
)
from rsbounds.sampling.system_bits import (
    Randomness,
    SystemBits,
    require_system_noise,
)

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
    """A classifier of NumPy batches under a noise; its scores are checked.

    Their shape and type at every batch; at the first and some later ones, that a row's
    depend on no other row and not on chance, as by
    :class:`rsbounds.torch.TorchSampler`.
    """

    #: A sample counts only if its largest score leads the second by more than this.
    margin: float | None = None
    #: Whether noise that whole numbers decide may come from the operating system.
    takes_system_bits = True
    #: Shown each block and its scores, to compare them with those of another setting.
    watch: Watch | None = None

    def __init__(
        self, classifier: Callable[[Any], Any], noise: Noise | None = None
    ) -> None:
        self.classifier = classifier
        self.noise = Gaussian() if noise is None else noise
        self.law = self.noise.law
        self._classes = 0
        self._rows_checked = False
        self._batches = 0
        # a row of a call's first block, and its scores
        self._first: tuple[Any, NDArray[Any]] | None = None

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
            hint = shape_hint(scores.shape)
            got = f"shape {scores.shape}" if scores.shape else kind_of(returned)
            raise ValueError(f"{expected}{got}{hint}")
        if scores.dtype.kind not in "biuf":
            raise ValueError(f"{expected}type {scores.dtype}")
        if self._classes not in (0, scores.shape[1]):
            raise ValueError(
                "the model must always return scores of as many classes; got "
                f"{self._classes} and then {scores.shape[1]}"
            )
        self._classes = scores.shape[1]
        return scores

    def scores(self, batch: Any, number: int, generator: Randomness) -> NDArray[Any]:
        """Scores of a call's block of that number, shape (count, classes)."""
        self._batches += 1
        middle = len(batch) // 2
        kept = batch if self.watch is None else copy.deepcopy(batch)
        # copies: the model may change its batch, or write over its scores
        row = batch[middle].copy()
        due = look_is_due(self._batches * _ODD % 2**32) or not self._rows_checked
        if due and len(batch) > 1:
            scores = self._looked_at(batch, number, generator)
        else:
            scores = self._scored(batch)
        if number == 0:
            self._first = row, scores[middle].copy()
        if self.watch is not None:
            self.watch(kept, scores)
        return scores

    def with_margin(self, margin: float) -> Self:
        """The same sampler, whose votes are void unless they lead by the margin."""
        other = copy.copy(self)
        other.margin = margin
        return other

    def compared(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> Difference:
        """The scores of n samples beside those of other settings.

        They are of batches of 7 rows, by another number of BLAS's threads where the
        package ``threadpoolctl`` is there to change it, and in float64 where the
        classifier answers inputs of that type in it. A function's own arithmetic can't
        be changed from outside: where it rounds to float32, only batches and threads
        differ.
        """
        twin: Any = copy.copy(self)
        difference = Difference(margin=self.margin or 0.0)

        def watch(batch: Any, scores: NDArray[Any]) -> None:
            kept = np.array(scores)  # the model may write over its scores
            pieces = []
            for start in range(0, len(batch), FEW):
                piece = copy.deepcopy(batch[start : start + FEW])
                pieces.append(np.array(self._scored(piece)))
            difference.add(kept, np.concatenate(pieces), f"batches of {FEW}")
            with other_blas_threads() as setting:
                if setting:
                    again = np.array(self._scored(copy.deepcopy(batch)))
                    difference.add(kept, again, setting)
            presented = self.noise.presented(batch)
            if getattr(presented, "dtype", None) != np.float32:
                return
            try:
                wide = np.asarray(self.classifier(presented.astype(np.float64)))
            except Exception:  # of whatever kind: the model was made for float32
                return
            if wide.dtype == np.float64:
                difference.add(kept, wide, "float64")

        twin.watch = watch
        twin(x, sigma, n, generator)
        return difference

    def _scored(self, batch: Any) -> NDArray[Any]:
        """The scores of a batch, checked."""
        returned = self.classifier(self.noise.presented(batch))
        return self.checked(returned, len(batch))

    def _looked_at(
        self, batch: Any, number: int, generator: Randomness
    ) -> NDArray[Any]:
        """The scores of a batch, if each row's depend on that row alone."""
        place = place_of(generator, number)
        middle = len(batch) // 2
        # before the model sees the batch itself, which it may change
        alone = self._of_copies(batch[middle], len(batch))
        scores = self._scored(batch)
        eps = float(np.finfo(scores.dtype).eps) if scores.dtype.kind == "f" else 0.0
        require_same_row(alone, scores[middle], len(batch), eps, place)
        self._rows_checked = True
        if number and self._first is not None:
            scores = scores.copy()
            row, before = self._first
            again = self._of_copies(row, len(batch))
            require_same_function(before, again, eps, place)
        return scores

    def _of_copies(self, row: Any, rows: int) -> NDArray[Any]:
        """The scores of the middle one of so many copies of a row."""
        copies: Any
        if isinstance(row, np.ndarray):
            copies = np.repeat(row[None], rows, axis=0)
        else:  # a sparse matrix
            copies = [row.copy() for _ in range(rows)]
        scores: NDArray[Any] = self._scored(copies)[rows // 2]
        return scores.copy()

    def blocks(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_]]]:
        """The scores of n noisy copies of an input, block by block; which are void."""
        if isinstance(generator, SystemBits):
            require_system_noise(self)
        require_level(self.noise, sigma)
        x = self.noise.checked(x)
        size = block_size(n, self.noise.numbers(x))
        require_outcomes(self.noise, n)
        for number, start in enumerate(range(0, n, size)):
            bits = ArrayBits(generator, size)
            if self.noise.outcomes is None:
                batch = self.noise.noisy(x, sigma, size, bits)
            else:
                batch = self.noise.all_outcomes(x, start, size, bits)
            scores = self.scores(batch, number, generator)
            yield scores[: n - start], bits.void[: n - start]

    def drawn(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> Iterator[Array]:
        """The scores of n noisy copies of an input, block by block; NaN where void."""
        for scores, void in self.blocks(x, sigma, n, generator):
            wide = scores.astype(np.float64)
            wide[void] = np.nan
            yield wide


def require_outcomes(noise: Noise, n: int) -> None:
    """ValueError unless n is the number of outcomes that a noise goes through."""
    if noise.outcomes not in (None, n):
        raise ArgumentError(
            "n",
            f"must be the number of outcomes of the noise, {noise.outcomes}, each of "
            f"which is gone through once; got {n}",
        )


def look_is_due(bits: int) -> bool:
    """Whether rows are to be compared again, from 32 bits that differ at each block."""
    return bits < _LOOKS


def place_of(generator: Randomness, number: int) -> str:
    """Which block of which input, as far as the stream tells."""
    if isinstance(generator, Stream | SystemBits):
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


def require_same_sequence(
    short: NDArray[Any], padded: NDArray[Any], eps: float, place: str
) -> None:
    """ValueError if a sequence's scores depend on the padding behind it.

    How long that is tells the length of the input, which a function of what is left of
    it does not know.
    """
    apart = _apart(short, padded, eps)
    if apart:
        raise ValueError(
            "the model must not see how much padding stands behind a sequence; the "
            f"scores of a row differ by {apart:.3g} with less of it{place} (give its "
            "forward an attention_mask, or the noise the model's padding)"
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
    grid : int
        Of sound noise: the inputs are whole numbers over this, 255 for pictures of 8
        bits, 65535 of 16, 32767 for sound.
    noise : Noise, optional
        Another than Gaussian noise, such as ``schemes.mask(50, 5).noise``. What a batch
        is then, its method says: whole numbers, lists of sequences or of matrices.

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
        classifier: Callable[[Any], Any],
        *,
        sound_noise: bool = False,
        grid: int = LEVELS,
        noise: Noise | None = None,
    ) -> None:
        if sound_noise and noise is not None:
            raise ArgumentError(
                "sound_noise", f"is Gaussian noise on a grid; got also {noise!r}"
            )
        self.grid = checked_grid(grid, sound_noise)
        super().__init__(classifier, OnGrid(self.grid) if sound_noise else noise)
        self.sound_noise = sound_noise

    def __call__(
        self, x: Any, sigma: float, n: int, generator: Randomness
    ) -> NDArray[np.int64]:
        """Counts of the classes; see :class:`Sampler`.

        Rows that hold a NaN count for none.
        """
        counts = np.zeros((), np.int64)
        for scores, void in self.blocks(x, sigma, n, generator):
            valid = ~(np.isnan(scores).any(axis=1) | void)
            if self.margin is not None:
                valid &= leads(scores, self.margin)
            labels = scores.argmax(axis=1)[valid]
            counts = counts + np.bincount(labels, minlength=scores.shape[1])
        return counts


class SoftSampler(Scored):
    """A histogram of each class's scores.

    The classifier that is smoothed votes with them.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes) in
        [0, 1] that sum to 1, such as a softmax. Larger sums are divided by themselves;
        a row with a NaN scores 0 for every class.
    noise : Noise, optional
        As for :class:`ArraySampler`.

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


def kind_of(returned: Any) -> str:
    """What a model returned in place of an array, and its entries if it has names."""
    name = type(returned).__name__
    if isinstance(returned, tuple | list):
        return f"{name} of {len(returned)}: return the scores alone"
    if not isinstance(returned, Mapping):
        return name
    return f"{name} of {', '.join(map(repr, returned))}: return one of these"


def shape_hint(shape: tuple[int, ...]) -> str:
    """What to say of scores of another shape than (rows, classes)."""
    if len(shape) > 2:
        return " (a class at each position? ask for maps; x is one input, not a batch)"
    if len(shape) == 1:
        return " (labels? scores have a column for each class)"
    if shape[1:] == (1,):
        return " (a probability of the second class? return 1 - it beside it)"
    return ""


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
    """Sampler of values or maps over a function of NumPy batches."""

    def __init__(
        self, model: Callable[[Any], Any], kind: Kind, noise: Noise | None = None
    ) -> None:
        super().__init__(model, noise)
        self.kind = kind
        self._shape: tuple[int, ...] | None = None

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> Any:
        """Outputs, shape (n, outputs), or counts, shape (positions, classes)."""
        blocks = self.drawn(x, sigma, n, generator)
        if self.kind == "values":
            return np.concatenate([block.reshape(len(block), -1) for block in blocks])
        return sum(position_counts(block, self.margin) for block in blocks)

    def checked(self, returned: Any, rows: int) -> NDArray[Any]:
        outputs = np.asarray(returned)
        if not outputs.shape:
            raise ValueError(f"the model must return an array; got {kind_of(returned)}")
        checked_shape(outputs.shape, rows, self.kind, self._shape)
        if outputs.dtype.kind not in "biuf":
            raise ValueError(
                f"the model must return real numbers; got type {outputs.dtype}"
            )
        self._shape = outputs.shape[1:]
        return outputs


def position_counts(scores: Array, margin: float | None = None) -> NDArray[np.int64]:
    """Class counts of each position over a batch of scores (count, classes,
    *positions).

    A position whose scores hold a NaN, or whose largest score doesn't lead the second
    by more than the margin, counts for no class in that sample.
    """
    rows, classes = scores.shape[:2]
    flat = scores.reshape(rows, classes, -1)
    chosen = np.where(np.isnan(flat).any(axis=1), classes, flat.argmax(axis=1))
    if margin is not None:
        chosen = np.where(leads(flat, margin), chosen, classes)
    place = chosen + np.arange(flat.shape[2]) * (classes + 1)
    counts = np.bincount(place.ravel(), minlength=flat.shape[2] * (classes + 1))
    return counts.reshape(-1, classes + 1)[:, :classes].astype(np.int64)
