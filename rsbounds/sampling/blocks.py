"""One input, and the noise on it: the level that it is drawn at, the blocks that it is cut into."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats, on_host

_TINY, _LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


def single(x: Any) -> NDArray[np.float32]:
    """One input in float32, in which noise is added.

    Raises
    ------
    ValueError
        For whole numbers, of which nobody knows the scale (0 ... 255 under noise of 0.25 is a
        trap), NaN, infinity, and numbers beyond float32.

    Examples
    --------
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


def noise_level(sigma: float) -> float:
    """``sigma`` itself, if noise of this level can be drawn in float32; else ValueError."""
    if not _TINY <= sigma <= _LARGEST:
        ends = f"[{_TINY:.2g}, {_LARGEST:.2g}]"
        raise ValueError(f"sigma must be in {ends} to draw noise; got {sigma}")
    return float(sigma)


def is_single(sigma: float) -> bool:
    """Whether a level is one of float32's numbers, so that a product in float32 has that level.

    Any other is multiplied in float64. Rounded to float32 it would be another level: a larger
    one is safe where it is the same at every input, but not where it follows the input, for
    then the rounding makes it jump between inputs as near as one likes, which no Lipschitz or
    semi-elastic envelope allows.
    """
    return float(np.float32(sigma)) == sigma


def noisy(
    x: NDArray[np.float32], sigma: float, size: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """``size`` copies of x + sigma Z, the level exact, each number rounded to float32 at last."""
    level = noise_level(sigma)
    batch = generator.standard_normal((size, *x.shape), dtype=np.float32)
    if not is_single(level):
        exact = batch.astype(np.float64)
        exact *= level
        exact += x
        return exact.astype(np.float32)
    batch *= np.float32(level)
    batch += x
    return batch


def block_size(n: int, dim: int, cells: int = 2**18) -> int:
    """Samples in one block of noise, which is also the batch of every forward pass.

    About ``cells`` numbers (a size that fits a processor's cache), between 16 and 4096
    samples, and evened out so that the last block is nearly as full as the others.

    Examples
    --------
    >>> from rsbounds.sampling import block_size
    >>> block_size(100, 784), block_size(100_000, 784), block_size(100_000, 150_528)
    (100, 334, 16)
    """
    if dim < 1:
        raise ValueError("x must have at least one number; got an empty input")
    blocks = -(-n // min(max(cells // dim, 16), 4096))
    return -(-n // blocks)
