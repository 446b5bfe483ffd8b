"""How noise is cut into blocks, and the level that it is drawn at."""

from __future__ import annotations

import numpy as np


def noise_level(sigma: float) -> np.float32:
    """The noise level in the precision of the noise, rounded up: more noise than is certified."""
    low, high = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    if not low <= sigma <= high:
        raise ValueError(f"sigma must be in [{low:.2g}, {high:.2g}] to draw noise; got {sigma}")
    level = np.float32(sigma)
    return level if float(level) >= sigma else np.nextafter(level, np.float32(high))


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
    largest = min(max(cells // dim, 16), 4096)
    blocks = -(-n // largest)
    return -(-n // blocks)
