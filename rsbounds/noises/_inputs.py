"""Inputs in the form that copies are drawn from, and levels that copies can have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_array as any_array
from rsbounds._numerics.checks import as_floats, check, number, on_host
from rsbounds._numerics.errors import ArgumentError

_TINY = float(np.finfo(np.float32).tiny)
_LARGEST = float(np.finfo(np.float32).max)


def as_array(x: Any) -> NDArray[Any]:
    """One input as an array of real numbers, at least one, all finite."""
    if hasattr(x, "tocsr"):
        raise ArgumentError(
            "x", "must be an array: this noise does not take sparse matrices"
        )
    array = any_array("x", on_host("x", x))
    if array.dtype.kind not in "biuf" or not array.size:
        raise ArgumentError(
            "x",
            f"must be numbers, at least one; got {array.dtype} of shape {array.shape}",
        )
    if array.dtype.kind == "f":
        check("x", array, np.isfinite(array), "finite")
    return array


def as_whole(x: Any, high: int | None = None, low: int = 0) -> NDArray[Any]:
    """One input of whole numbers, in the type of its copies.

    int64, or floating point as it came: float32 holds whole numbers up to 2^24, float64
    up to 2^53. ArgumentError for any that aren't whole or lie outside of [low, high].
    """
    array = as_array(x)
    most = 2**62
    if array.dtype.kind == "f":
        array = floating(array)
        most = 2 ** (np.finfo(array.dtype).nmant + 1)
    top = most if high is None else min(high, most)
    good = (low <= array) & (array <= top)
    if array.dtype.kind == "f":
        return _checked(array, good & (array == np.floor(array)), low, top)
    return _checked(array, good, low, top).astype(np.int64)


def _checked(array: NDArray[Any], good: Any, low: int, top: int) -> NDArray[Any]:
    check("x", array, good, f"whole numbers in [{low}, {top}]")
    return array


def as_real(x: Any) -> NDArray[Any]:
    """One input of any finite numbers, in the type of its copies."""
    array = as_array(x)
    if array.dtype.kind in "biu":
        return as_whole(array, low=-(2**62))
    return floating(array)


def hidden_number(value: Any) -> float:
    """What hidden numbers show: a whole number as an int, which inputs may be."""
    hidden = number("hidden", value)
    return int(hidden) if hidden == int(hidden) else hidden


def as_hideable(x: Any, hidden: float) -> NDArray[Any]:
    """One input as :func:`as_real` has it, in whose type hidden numbers can show it."""
    array = as_real(x)
    if array.dtype.kind == "i":
        if hidden != int(hidden) or not abs(hidden) < 2**62:
            raise ArgumentError(
                "hidden",
                f"must be a whole number as the inputs are, below 2^62; got {hidden:g}",
            )
    elif not abs(hidden) <= _LARGEST:
        raise ArgumentError(
            "hidden", f"must be within the range of float32; got {hidden:g}"
        )
    return array


def floating(x: Any) -> NDArray[Any]:
    """One input in floating point, in the type in which noise is added.

    That is its own, float32 or float64, so that the radius is about this input: only
    what is drawn is rounded, never what it is drawn at. Narrower types become float32.

    ValueError for whole numbers, of which nobody knows the scale (0 ... 255 under noise
    of 0.25 is a trap), for NaN and infinity, for numbers beyond float32, which many
    models run in, and for numbers of more digits than float64 has.
    """
    array = x if type(x) is np.ndarray else any_array("x", on_host("x", x))
    if array.dtype.kind != "f":
        raise ValueError(
            "x must be floating point (pixels in 0 ... 255: divided by 255, or as "
            "floats if the noise level is in their unit); got "
            f"{array.dtype} of shape {array.shape}"
        )
    if array.dtype == np.float32 and np.isfinite(array).all():
        return array
    narrow = array.dtype.itemsize <= np.dtype(np.float32).itemsize
    doubles = as_floats("x", array, -_LARGEST, _LARGEST, nan=False, exact=True)
    return doubles.astype(np.float32 if narrow else np.float64, copy=False)


def noise_level(sigma: float, name: str = "sigma") -> float:
    """``sigma`` itself; ValueError where float32 holds no noise of this level."""
    if type(sigma) is float and _TINY <= sigma <= _LARGEST:
        return sigma  # quickly: it is asked of every block
    level = number(name, sigma)
    if not _TINY <= level <= _LARGEST:
        ends = f"[{_TINY:.2g}, {_LARGEST:.2g}]"
        raise ArgumentError(name, f"must be in {ends} to draw noise; got {sigma}")
    return level
