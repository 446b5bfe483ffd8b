"""Models that take NumPy batches: plain functions, onnxruntime, estimators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, instance
from rsbounds.frameworks import scores_in
from rsbounds.noises import Noise
from rsbounds.noises.internal import NormalNoise
from rsbounds.sampling import numpy_arrays
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.margins import other_blas_threads
from rsbounds.sampling.port import Backend, OtherSetting, Read, SamplerCall
from rsbounds.sampling.questions import ScoreQuestion, VoteQuestion
from rsbounds.sampling.sampler import ModelSampler
from rsbounds.sampling.system_bits import Randomness
from rsbounds.schemes import Scheme


class ArrayFunction(Backend):
    """A function of NumPy batches, under a noise that NumPy draws."""

    arrays = numpy_arrays

    def __init__(
        self, function: Callable[[Any], Any], noise: Noise | None = None
    ) -> None:
        self.function = function
        self.noise = NormalNoise() if noise is None else noise
        self.noise.check_model(function)

    def run(self, call: SamplerCall, read: Read) -> None:
        noise = self.noise
        for _ in range(call.blocks):
            bits = ArrayBits(call.generator, call.size)
            first = call.done * call.size
            batch = noise.copies(call.x, call.sigma, first, call.size, bits)
            read([batch], bits.void)
            del batch  # the next one gets its memory, which the processor's cache holds

    def forward(self, batch: Any) -> Any:
        return scores_in(self.function(self.noise.presented(batch)))

    def copied(self, block: Any) -> Any:
        return copy.deepcopy(block)

    def row_of(self, batch: Any, place: int) -> Any:
        return batch[place].copy()

    def repeated(self, row: Any, rows: int) -> Any:
        if isinstance(row, np.ndarray):
            return np.repeat(row[None], rows, axis=0)
        return [row.copy() for _ in range(rows)]  # of a sparse matrix

    def other_settings(self) -> Sequence[OtherSetting]:
        return self._by_other_threads, self._in_float64

    def _by_other_threads(self, block: Any) -> tuple[str, Array]:
        """By another number of BLAS's threads, where something can change it."""
        with other_blas_threads() as setting:
            if not setting:
                return "", np.empty(0)
            return setting, np.array(self.forward(self.copied(block)))

    def _in_float64(self, block: Any) -> tuple[str, Array]:
        """Outputs in float64, where the function answers such inputs in it."""
        presented = self.noise.presented(block)
        if getattr(presented, "dtype", None) != np.float32:
            return "", np.empty(0)
        try:
            wide = np.asarray(self.function(presented.astype(np.float64)))
        except Exception:  # of whatever kind: the model was made for float32
            return "", np.empty(0)
        return "float64" if wide.dtype == np.float64 else "", wide


class ArraySampler(ModelSampler):
    """Sampler over a classifier of NumPy batches: onnxruntime, plain functions.

    A call raises ValueError if the input isn't in floating point and finite, if the
    classifier returns something else, or if scores are seen to depend on other rows or
    on chance.

    Parameters
    ----------
    classifier : callable
        Takes an array (count, *shape of x), float32 or float64 as the input is, and
        returns scores (count, classes).
    noise : Noise or Scheme, optional
        Another than x + sigma N(0, I) in floating point: that of a scheme, such as
        ``schemes.mask(50, 5)`` or ``schemes.gaussian(0.5).on_grid()``. What a batch is
        then, its method says: whole numbers, lists of sequences or of matrices.

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
        noise: Noise | Scheme | None = None,
    ) -> None:
        self.classifier = classifier
        super().__init__(ArrayFunction(classifier, noise_of(noise)), VoteQuestion())


class SoftSampler(ModelSampler):
    """A histogram of each class's scores.

    The classifier that is smoothed votes with them.

    Parameters
    ----------
    classifier : callable
        Takes an array (count, *shape of x), float32 or float64 as the input is, and
        returns scores (count, classes) in [0, 1] that sum to 1, such as a softmax.
        Larger sums are divided by themselves; a row with a NaN scores 0 for every
        class.
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

    def __init__(
        self, classifier: Callable[[Any], Any], noise: Noise | None = None
    ) -> None:
        super().__init__(ArrayFunction(classifier, noise_of(noise)), ScoreQuestion())


def noise_of(noise: Noise | Scheme | None) -> Noise:
    """The noise that a sampler is given, or that of a scheme: Gaussian without one."""
    drawn: Any = noise
    if isinstance(drawn, Scheme):  # that of a Gaussian scheme has no level of its own
        drawn = drawn.drawn
    if drawn is None:
        return NormalNoise()
    instance("noise", drawn, Noise, "a Noise, such as schemes.mask(50, 5)")
    return drawn  # type: ignore[no-any-return]


def noisy(
    x: NDArray[Any], sigma: float, size: int, generator: Randomness
) -> NDArray[Any]:
    """Noisy copies of an input, as samplers of Gaussian noise draw them.

    Parameters
    ----------
    x : ndarray of float32 or float64
        The input.
    sigma : float
        Noise level, > 0, in the input's unit.
    size : int
        How many copies.
    generator : numpy.random.Generator
        Source of the normal numbers.

    Returns
    -------
    ndarray in the type of x, shape (size, *x.shape)
        x + sigma Z, rounded once.

    Raises
    ------
    ValueError
        If float32 holds no noise of this level.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling.internal import noisy
    >>> noisy(np.zeros(3, np.float32), 0.5, 10, np.random.default_rng(0)).shape
    (10, 3)
    """
    batch: NDArray[Any] = NormalNoise().noisy(
        x, sigma, size, ArrayBits(generator, size)
    )
    return batch
