"""Sequences of different lengths in one npz file: values, and where each begins."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.text import shown
from rsbounds.loading.archives import stored_arrays
from rsbounds.loading.callables import reason
from rsbounds.loading.rows import (
    LARGEST,
    CorruptInput,
    Data,
    class_numbers,
    require_label_each,
    require_scale,
)

MEMBERS = frozenset({"values", "offsets", "y"})


class RaggedData(Data):
    """``FILE.npz`` with ``values``, ``offsets`` and ``y``.

    Input i is ``values[offsets[i]:offsets[i + 1]]``, at least one number.
    """

    def __init__(
        self,
        path: Path,
        scale: float | None,
        classes: Sequence[Any] | None,
        *,
        whole: bool = False,
    ) -> None:
        name = shown(path)
        with ExitStack() as files:
            self._values, offsets, y = stored_arrays(
                path, files, "values", "offsets", "y"
            )
            shape = self._values.shape
            if self._values.dtype.kind not in "fiu" or len(shape) != 1 or not shape[0]:
                raise ValueError(
                    f"{name}: values must be numbers of shape (count,); got "
                    f"{self._values.dtype} of shape {shape}"
                )
            if not whole:
                require_scale(name, self._values.dtype, scale)
            if len(offsets.shape) != 1 or offsets.shape[0] < 2 or len(y.shape) != 1:
                raise ValueError(
                    f"{name}: offsets must be the begin of each input and the end of "
                    f"the last, y a label for each; got shapes {offsets.shape} and "
                    f"{y.shape}"
                )
            self._offsets = _checked(name, offsets.rows(0, offsets.shape[0]), shape[0])
            require_label_each(name, y.shape, len(self._offsets) - 1)
            labels = class_numbers(f"{name}: y", y.rows(0, y.shape[0]), classes)
            self._files = files.pop_all()
        super().__init__(
            name,
            scale,
            labels,
            whole=whole,
            kind="ragged",
            dtype=self._values.dtype.str,
        )

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _read(self, i: int) -> tuple[NDArray[Any], int]:
        assert self.labels is not None
        start, end = self._offsets[i : i + 2].tolist()
        try:
            x = self._values.rows(start, end - start)
        except OSError as error:
            raise CorruptInput(
                f"{self.name}: input {i} can't be read: {reason(error)}"
            ) from error
        return x, int(self.labels[i])

    def close(self) -> None:
        """Close the file."""
        self._files.close()


def _checked(name: str, offsets: NDArray[Any], end: int) -> NDArray[np.int64]:
    """Where inputs begin, if they follow one another from 0 to the end."""
    places = as_integers(f"{name}: offsets", offsets)
    lengths = np.diff(places)
    if places[0] != 0 or places[-1] != end or not (lengths >= 1).all():
        raise ValueError(
            f"{name}: offsets must ascend from 0 to the number of values, {end}, with "
            f"at least one value for each input; got {places[0]} to {places[-1]}, the "
            f"shortest input of {lengths.min()}"
        )
    if not lengths.max() <= LARGEST:
        raise ValueError(
            f"{name}: inputs must have at most {LARGEST} numbers; got {lengths.max()}"
        )
    return places
