"""What a sampler does with NumPy's arrays; see :class:`rsbounds.sampling.port.Arrays`.

:mod:`rsbounds.sampling.torch_arrays` has the same functions of tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.sampling.port import NOT_HELD, kind_of

isnan = np.isnan
isfinite = np.isfinite
where = np.where
joined = np.concatenate


def as_array(returned: Any) -> NDArray[Any]:
    """An array of what a function returned; ValueError says what it is instead."""
    if isinstance(returned, np.ma.MaskedArray) and np.ma.is_masked(returned):
        # an array of it would show what the mask hides
        raise ValueError("masked values: fill them, with NaN for instance")
    try:
        array = np.asarray(returned)
    # rows of different lengths, or a tensor that NumPy can't take as it is
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{type(returned).__name__} ({error})") from None
    if not array.shape:
        raise ValueError(kind_of(returned))
    return array


def is_real(array: NDArray[Any]) -> bool:
    """Whether its numbers can be compared: bool, whole or floating point."""
    return array.dtype.kind in "biuf"


def eps(array: NDArray[Any]) -> float:
    """The distance of 1 and the next number of its type, 0.0 of whole numbers."""
    return float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0.0


def copied(array: NDArray[Any]) -> NDArray[Any]:
    """A copy, safe from whoever writes over the array."""
    return array.copy()


def as_floats(array: NDArray[Any]) -> Array:
    """A copy in float64."""
    return array.astype(np.float64)


def floating(array: NDArray[Any]) -> Array:
    """Rows of numbers in the type in which outputs are kept, which holds them."""
    doubles, exact = wide(array)
    if exact is not None and not exact.all():
        raise ValueError(NOT_HELD)
    return doubles


def largest(scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The largest along axis 1, and its place; NaN is larger than any number."""
    place = scores.argmax(axis=1)
    values = np.take_along_axis(scores, place[:, None], axis=1)
    return values[:, 0], place


def two_largest(scores: Array) -> tuple[Array, Array]:
    """The largest and the second along axis 1; NaN is larger than any number."""
    ranked = np.partition(scores, -2, axis=1)
    return ranked[:, -1], ranked[:, -2]


def wide(scores: NDArray[Any]) -> tuple[Array, NDArray[np.bool_] | None]:
    """The scores in float64, and where it holds all of axis 1 exactly; None: all."""
    scores = np.asarray(scores)
    exact: Array = scores.astype(np.float64, copy=False)
    is_exact: Any = None
    if scores.dtype.kind in "iu":
        # above 2^53 neighbours are one number of float64
        is_exact = (np.abs(exact) < 2.0**53).all(axis=1)
    elif scores.dtype.itemsize > 8:
        is_exact = ((exact == scores) | np.isnan(scores)).all(axis=1)
    return exact, is_exact


def beside(array: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """An array where another is: all are in one memory."""
    return array


def steps(count: int, step: int, like: NDArray[Any]) -> NDArray[np.int64]:
    """The first multiples of a step, beside an array."""
    return np.arange(count, dtype=np.int64) * step


def counts(labels: NDArray[np.int64], kinds: int) -> NDArray[np.int64]:
    """How often each of so many kinds is among the labels."""
    return np.bincount(labels.reshape(-1), minlength=kinds).astype(np.int64, copy=False)


def on_demand(drawn: Any) -> Any:
    """A list of blocks as one array; counts and histograms as they are."""
    return np.concatenate(drawn) if isinstance(drawn, list) else drawn
