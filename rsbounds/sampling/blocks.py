"""How noise is cut into blocks, and the level that it is drawn at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def noise_level(sigma: float) -> float:
    """``sigma`` itself, if noise of this level can be drawn in float32; else ValueError."""
    low, high = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    if not low <= sigma <= high:
        raise ValueError(f"sigma must be in [{low:.2g}, {high:.2g}] to draw noise; got {sigma}")
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
