"""A torch ``Dataset``, or any sequence of pairs (x, y)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count, on_host
from rsbounds.loading.callables import guarded, shown
from rsbounds.loading.images import Preprocess, facts
from rsbounds.loading.rows import CorruptInput, Data, stored_array


class SequenceData(Data):
    """Pairs (x, y) of a sequence; x is an array, a tensor or a Pillow image."""

    def __init__(
        self, pairs: Any, name: str, preprocess: Preprocess | None, scale: float | None
    ) -> None:
        name = shown(name)
        if not (hasattr(pairs, "__len__") and hasattr(pairs, "__getitem__")) or not len(pairs):
            got = type(pairs).__name__
            if hasattr(pairs, "dataset"):
                got += ", which loads batches: give its dataset"
            elif hasattr(pairs, "__len__") and not len(pairs):
                got += " without any"
            raise ValueError(f"{name} must be a sequence of pairs (x, y), at least one; got {got}")
        self._pairs, self._preprocess = pairs, preprocess
        super().__init__(name, scale, None, kind="sequence", **facts(preprocess))

    def __len__(self) -> int:
        return len(self._pairs)

    def _read(self, i: int) -> tuple[bytes, NDArray[Any], int]:
        what = f"{self.name}: input {i}"
        pair = guarded(what, lambda: self._pairs[i])
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            length = f" of length {len(pair)}" if hasattr(pair, "__len__") else ""
            raise ValueError(f"{what} must be a pair (x, y); got {type(pair).__name__}{length}")
        x, y = pair
        label = count(f"{what}: label", np.asarray(y)[()])
        images = sys.modules.get("PIL.Image")
        if images is None or not isinstance(x, images.Image):
            array = guarded(what, lambda: np.asarray(on_host(what, x)))
            return stored_array(array), array, label
        try:
            pixels = (self._preprocess or Preprocess())(x)
        except Exception as error:
            raise CorruptInput(f"{what}: {error}") from error
        scaled = pixels / np.float32(255) if self._scale is None else pixels
        return stored_array(pixels), scaled, label
