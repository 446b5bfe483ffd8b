"""Sampling of classifiers that take NumPy batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.sampling import grid_noise
from rsbounds.sampling.blocks import block_size, noisy
from rsbounds.sampling.inputs import single
from rsbounds.sampling.rows import Scored, checked_scores


class ArraySampler(Scored):
    """Sampler over a classifier of NumPy batches: onnxruntime, scikit-learn, plain functions.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes).
    sound_noise : bool
        Draw whole-numbered noise exactly (Voracek and Hein 2023), for inputs on the grid of
        1/255: the certificate is then one of the program that runs. See
        :mod:`rsbounds.sampling.grid_noise`.

    Raises
    ------
    ValueError
        When called, if the input isn't in floating point and finite, if the classifier returns
        something else, or if a row's scores depend on the other rows of its batch or on chance,
        which is looked at once.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import ArraySampler
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], axis=1))
    >>> int(sampler(np.array([9.0, 0.0]), 1.0, 50, np.random.default_rng(0))[0])
    50
    """

    def __init__(
        self, classifier: Callable[[NDArray[np.float32]], Any], *, sound_noise: bool = False
    ) -> None:
        super().__init__(classifier)
        self.sound_noise = sound_noise

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Counts of the classes; see :class:`Sampler`."""
        x = single(x)
        steps = grid_noise.on_grid(x) if self.sound_noise else None
        size = block_size(n, x.size)
        counts: Any = 0
        void = None
        for start in range(0, n, size):
            if steps is None:
                batch = noisy(x, sigma, size, generator)
            else:
                batch, void = grid_noise.noisy(steps, sigma, size, generator)
            counts = counts + votes(self.scores(batch), size, n - start, void)
        return np.asarray(counts, dtype=np.int64)


def votes(
    scores: Any, rows: int, used: int, void: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Counts of the classes over the first ``used`` rows of one batch of NumPy scores.

    Rows that hold a NaN, or are ``void``, count for none.
    """
    scores = checked_scores(scores, rows)[:used]
    valid = ~np.isnan(scores).any(axis=1)
    if void is not None:
        valid &= ~void[:used]
    return np.bincount(scores.argmax(axis=1)[valid], minlength=scores.shape[1])
