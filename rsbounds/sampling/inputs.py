"""What can be certified: one input, in floating point and finite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats, on_host

_LARGEST = float(np.finfo(np.float32).max)


def single(x: Any) -> NDArray[np.float32]:
    """One input in float32, in which noise is added.

    Raises
    ------
    ValueError
        For whole numbers, of which nobody knows the scale (0 ... 255 under noise of 0.25 is a
        trap), NaN, infinity, and numbers beyond float32.

    Examples
    --------
    >>> from rsbounds.sampling.inputs import single
    >>> single([0.5, 0.0])
    array([0.5, 0. ], dtype=float32)
    """
    given = np.asarray(on_host("x", x))
    if given.dtype.kind != "f":
        raise ValueError(
            "x must be floating point (pixels in 0 ... 255: divided by 255, or as floats if the "
            f"noise level is in their unit); got {given.dtype} of shape {given.shape}"
        )
    if given.dtype != np.float32 or not np.isfinite(given).all():
        given = as_floats("x", given, -_LARGEST, _LARGEST, nan=False)
    return given.astype(np.float32, copy=False)
