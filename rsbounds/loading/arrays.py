"""Classifiers of NumPy batches: normalisation inside, scores out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import on_host


class ArrayClassifier:
    """Scores of ``function`` at ``(x - shift) / spread``, as a NumPy array.

    ``function`` takes a float32 array (count, *shape of x) and returns scores (count, classes) as
    anything of NumPy or torch, or an object or mapping whose ``logits`` are those. Without
    ``shift`` and ``spread``, of shape (channels, 1, 1) or (), x goes in as it is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shift: NDArray[Any] | None = None,
        spread: NDArray[Any] | None = None,
    ) -> None:
        self.function, self.shift, self.spread = function, shift, spread

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[Any]:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        if self.shift is not None and self.spread is not None:
            batch = (batch - self.shift) / self.spread
        return np.asarray(on_host("the model's scores", logits(self.function(batch))))


def logits(returned: Any) -> Any:
    """The scores in what a model returned: its ``logits``, if it has any."""
    if isinstance(returned, Mapping):
        return returned.get("logits", returned)
    return getattr(returned, "logits", returned)
