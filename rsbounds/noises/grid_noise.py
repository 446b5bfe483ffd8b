"""Gaussian noise rounded to a grid, drawn exactly from random whole numbers.

The grid is that of 1/255 unless stated: 1/65535 for pictures of 16 bits, 1/32767 for
sound. Below, 255 stands for its number of levels.

For an input X/255 with whole X, rounding X/255 + sigma Z to the grid gives (X + K)/255
with P(K <= k) = Phi((k + 1/2)/(255 sigma)). K follows from a whole number u uniform in
[0, 2^63) by comparison with floor(2^63 Phi(...)): u is the first 63 bits of a uniform
number, which decide the comparison unless u equals a threshold; such a draw is
ambiguous. The classifier that is certified rounds its input to the grid first. It sees
whole numbers only, and nothing of the certificate rests on floating-point noise being
normal.

References
----------
V. Voracek and M. Hein, Sound randomized smoothing in floating-point arithmetic, ICLR
2023.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises._drawn import Noise
from rsbounds.noises._inputs import floating

LEVELS = 255
BITS = 63
CELL_BITS = 16
_LARGEST_STEP = 2**30  # of an input, so that noise stays within 32 bits
LARGEST = 100  # level: its table has half a million thresholds
MOST_STEPS = 2**17  # of sigma on another grid: its table takes seconds
_FINE = 2048
_NODES = 32
STEP = 2.0**-10  # of the scores in :func:`scores`
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
_REACH = Decimal("9.3")  # Phi(-9.3) < 2^-63


def checked_grid(levels: Any) -> int:
    """The levels of a grid; ArgumentError for too many."""
    number = count("grid", levels, 1)
    if not number < 2**24:
        raise ArgumentError("grid", f"must be below 2^24; got {number}")
    return number


def on_grid(x: Any, levels: int = LEVELS) -> NDArray[np.int32]:
    """``levels`` x in whole numbers, if ``x`` lies on the grid to float32's precision.

    In [0, 1] a whole number divided by 255 in float32, or multiplied by its inverse, is
    within 7.6e-6 or 1.9e-5 of the grid (in units of it), and of a finer grid as many
    times more as it is finer.
    """
    scaled = levels * np.asarray(x, dtype=np.float64)
    steps = np.rint(scaled)
    off = ~(np.abs(scaled - steps) <= 2e-5 * (levels / LEVELS))
    if off.any():
        raise ArgumentError(
            "x",
            f"must lie on the grid of 1/{levels} for sound noise: round it to that "
            f"first; got {int(off.sum())} of {off.size} numbers off it, the first "
            f"{np.asarray(x)[off].flat[0]}",
        )
    if not np.all(np.abs(steps) < _LARGEST_STEP):
        raise ArgumentError(
            "x",
            f"must be below 2^30/{levels} in size for sound noise; the largest number "
            f"is {np.abs(np.asarray(x)).max()}",
        )
    return steps.astype(np.int32)


def points(x: Any) -> NDArray[np.float64]:
    """The whole numbers of :func:`on_grid` over 255, in float64.

    ValueError outside [0, 1].

    What follows from them is a function of the point of the grid, in whatever type it
    came; each number is within 2^-53 of the point's.
    """
    steps = on_grid(x)
    outside = (steps < 0) | (steps > LEVELS)
    if outside.any():
        raise ArgumentError(
            "x",
            "must be in [0, 1] for sound noise whose level follows it, where the error "
            f"of that level is bounded; got {int(outside.sum())} of {steps.size} "
            f"numbers outside, the first {np.asarray(x)[outside].flat[0]}",
        )
    return steps / LEVELS


@lru_cache(maxsize=16)
def tables(
    sigma: float, levels: int = LEVELS
) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
    """Thresholds, a table of cells, and the count of thresholds at which K is 0.

    K is the number of thresholds <= u, less that count. A cell is the first 16 bits of
    u; where it holds no threshold the table has that number, elsewhere -1.
    """
    if not 0 < sigma <= LARGEST:
        raise ValueError(
            f"sigma must be in (0, {LARGEST}] for sound noise; got {sigma}"
        )
    if levels != LEVELS and not levels * sigma <= MOST_STEPS:
        raise ValueError(
            f"sigma must be at most {MOST_STEPS / levels:.4g} for sound noise on the "
            f"grid of 1/{levels}; got {sigma}"
        )
    scale = levels * Decimal(sigma)  # exact: a float is a finite decimal
    with localcontext(prec=60):
        reach = int(_REACH * scale) + 2
        # beyond 15 the first 63 bits are what they are there, and the series has no end
        above = _fine(scale, reach) if scale > _FINE else _coarse(scale, reach)
        probabilities = [1 - p for p in reversed(above)] + above
        thresholds = np.array([int(2**BITS * p) for p in probabilities], dtype=np.int64)
    return thresholds, _cells(thresholds), reach


def _cells(thresholds: NDArray[np.int64]) -> NDArray[np.int32]:
    """The number of thresholds <= u for each first 16 bits of u.

    -1 where it takes more bits of u.
    """
    edges = np.arange(2**CELL_BITS, dtype=np.int64) << (BITS - CELL_BITS)
    last = edges + (2 ** (BITS - CELL_BITS) - 1)
    first_count = np.searchsorted(thresholds, edges, side="left")
    last_count = np.searchsorted(thresholds, last, side="right")
    return np.where(first_count == last_count, first_count, -1).astype(np.int32)


class ScoreTable(NamedTuple):
    """Scores from -9.3 to 9.3 in steps of ``STEP``, and the law of Z at each."""

    z: NDArray[np.float64]
    thresholds: NDArray[np.int64]  # floor(2^63 Phi(z))
    density: NDArray[np.float64]  # 2^63 phi(z)
    cells: NDArray[np.int32]  # as those of :func:`tables`


@lru_cache(maxsize=1)
def scores() -> ScoreTable:
    """The table that serves noise of every level and mean."""
    count = int(float(_REACH) / STEP) + 1
    z: NDArray[np.float64] = STEP * np.arange(-count, count + 1, dtype=np.float64)
    with localcontext(prec=60):
        above = [_normal(Decimal(v)) for v in z[count:]]
        probabilities = [1 - p for p in above[:0:-1]] + above
        below = np.array([int(2**BITS * p) for p in probabilities], dtype=np.int64)
        height = 2**BITS / (2 * _PI).sqrt()
        density = np.array(
            [float(height * (-(Decimal(v) ** 2) / 2).exp()) for v in z[count:]]
        )
    return ScoreTable(
        z, below, np.concatenate([density[:0:-1], density]), _cells(below)
    )


def noisy(
    steps: NDArray[np.int32],
    sigma: float,
    size: int,
    generator: Any,
    levels: int = LEVELS,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """``size`` copies of an input with noise, over ``levels``; which are ambiguous."""
    thresholds, cells, zero = tables(sigma, levels)
    numbers = size * steps.size
    u = generator.integers(0, 2**BITS, size=numbers, dtype=np.int64)
    count = cells[u >> (BITS - CELL_BITS)]
    (rest,) = np.nonzero(count < 0)
    count[rest] = np.searchsorted(thresholds, u[rest], side="right")
    ambiguous = thresholds[np.maximum(count[rest] - 1, 0)] == u[rest]
    void = np.zeros(size, dtype=np.bool_)
    void[rest[ambiguous] // steps.size] = True
    batch = count.reshape(size, *steps.shape) + (steps - np.int32(zero))
    return batch.astype(np.float32) / np.float32(levels), void


def _coarse(scale: Decimal, reach: int) -> list[Decimal]:
    """Phi at (k + 1/2)/scale, each by its own series."""
    return [
        _normal(min((k + Decimal("0.5")) / scale, Decimal(15))) for k in range(reach)
    ]


def _fine(scale: Decimal, reach: int) -> list[Decimal]:
    """Phi at (k + 1/2)/scale for large scales: by Taylor's series about every 32nd.

    Phi(z + t) = Phi(z) + phi(z) (t - He_1(z) t^2/2! + He_2(z) t^3/3! - ...). With t at
    most 31/2048 and z below 9.4 the terms from the 25th on are below 1e-43: as far from
    deciding 63 bits as makes no difference but with probability 1e-18.
    """
    values: list[Decimal] = []
    for first in range(0, reach, _NODES):
        z = (first + Decimal("0.5")) / scale
        factor = (-z * z / 2).exp() / (2 * _PI).sqrt()
        before, here = Decimal(0), Decimal(1)  # He_-1, He_0
        terms = []
        for n in range(24):
            factor /= n + 1
            terms.append(factor * here)
            before, here = here, -(z * here + n * before)  # signs alternate
        start = _normal(z)
        for k in range(min(_NODES, reach - first)):
            t = k / scale
            total = Decimal(0)
            for term in reversed(terms):
                total = (total + term) * t
            values.append(start + total)
    return values


def _normal(x: Decimal) -> Decimal:
    """Phi(x) for x >= 0, to 50 digits: 1/2 + phi(x) (x + x^3/3 + x^5/15 + ...)."""
    term = total = x
    k = 1
    while term > Decimal("1e-52"):
        term *= x * x / (2 * k + 1)
        total += term
        k += 1
    return Decimal("0.5") + total * (-x * x / 2).exp() / (2 * _PI).sqrt()


class OnGrid(Noise):
    """x + sigma Z rounded to the grid of 1/levels, drawn exactly (sound noise).

    Samplers take it as their noise, and draw it for a scheme that is on the grid. See
    above.

    Parameters
    ----------
    levels : int
        Inputs are whole numbers over this: 255 for pictures of 8 bits, 65535 of 16,
        32767 for sound.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.noises.grid_noise import OnGrid
    >>> from rsbounds.sampling import ArraySampler
    >>> sampler = ArraySampler(lambda batch: batch, noise=OnGrid())
    >>> x = np.array([51, 0], np.float32) / 255
    >>> int(np.sum(sampler(x, 0.5, 100, np.random.default_rng(0))))
    100
    """

    law = ""
    level = None
    of_whole_numbers = False
    of_bits = True
    grid: int

    def __init__(self, levels: int = LEVELS) -> None:
        self.grid = checked_grid(levels)

    def __repr__(self) -> str:
        return f"<noise gaussian on the grid of 1/{self.grid}>"

    def rounded(self, levels: int) -> Noise:
        return OnGrid(levels)

    def checked(self, x: Any) -> NDArray[np.int32]:
        return on_grid(floating(x), self.grid)

    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> Any:
        batch, void = noisy(x, sigma, size, bits.generator, self.grid)
        bits.discard(void)
        return batch
