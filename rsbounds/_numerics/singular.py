"""A lower bound of a matrix's least singular value, proved in floating point.

All that is asked of the linear algebra is that an entry of a product of matrices with n
terms is within n 2^-53/(1 - n 2^-53) of the sum of their sizes, in whatever order it is
added: the inverse may be off by anything.
"""

import math

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, TINY, round_down

#: From here on |M|_F^(1/2^k) of the k-th square is |M|_2 to 1e-14.
_SQUARINGS = 48


def bounded_inverse(matrix: Array) -> tuple[Array, float]:
    """Return a matrix R close to the inverse of A, and e >= |I - R A|_2.

    Parameters
    ----------
    matrix : array, shape (n, n)
        Finite numbers.

    Returns
    -------
    inverse : array, shape (n, n)
    loss : float
        e; inf where no inverse is found.
    """
    try:
        with np.errstate(all="ignore"):
            inverse = np.asarray(np.linalg.inv(matrix), np.float64)
            loss = _missing(matrix, inverse)
    except np.linalg.LinAlgError:
        return np.zeros_like(matrix), math.inf
    return inverse, loss if loss < 1 else math.inf


def least_singular_value(matrix: Array) -> float:
    """Bound the least singular value of a square matrix from below.

    With R close to the inverse of A and I - R A of spectral norm e < 1, the inverse is
    (I - (I - R A))^-1 R, so that its norm is at most |R|/(1 - e).

    Returns
    -------
    float
        Within e + n^2 2^-52 of the value, relative; exact for a diagonal matrix, 0
        where no inverse is found.
    """
    diagonal = np.diagonal(matrix)
    if not np.count_nonzero(matrix - np.diag(diagonal)):
        return float(np.abs(diagonal).min())
    inverse, loss = bounded_inverse(matrix)
    if not loss < 1:
        return 0.0
    return float(round_down((1 - loss) / spectral_norm(inverse), 4 * EPS))


def distance(inverse: Array, loss: float, delta: Array) -> float:
    """An upper bound of |A^-1 delta|_2, of what :func:`bounded_inverse` returns.

    The inverse's product with delta is off by less than that of their sizes, times the
    error of a sum.
    """
    largest = float(np.abs(delta).max())
    if not 0 < largest < math.inf:
        return largest
    power = math.frexp(largest)[1]
    unit = np.ldexp(delta, -power)
    with np.errstate(over="ignore"):
        sizes = np.abs(inverse) @ np.abs(unit)
        product = inverse @ unit
    exponent = math.frexp(float(sizes.max()))[1]
    if not sizes.max() < math.inf:
        return math.inf
    size = np.linalg.norm(np.ldexp(sizes, -exponent))
    error = 4 * _error(inverse)
    length = np.linalg.norm(np.ldexp(product, -exponent)) + error * size
    return _times_power(
        float(length) / (1 - loss) * (1 + error) + TINY, exponent + power
    )


def spectral_norm(matrix: Array, squarings: int = _SQUARINGS) -> float:
    """An upper bound of the largest singular value, within n^2 2^-52 of it, relative.

    |M|_2^2 = |M^T M|_2, again and again, and at last |M|_2 <= |M|_F: a factor of at
    most sqrt(n), of which the last root leaves nothing.
    """
    unit, power = _scaled(matrix)
    size = float(np.linalg.norm(unit))
    if not 0 < size < math.inf:
        return size
    length = size * (1 + _error(matrix))
    if squarings:
        # the square of the Frobenius norm bounds that of the product of the sizes
        rounding = _error(matrix) * length**2
        square = spectral_norm(unit.T @ unit, squarings - 1) + rounding
        length = math.sqrt(square) * (1 + 4 * EPS)
    return _times_power(length, power)


def _scaled(matrix: Array) -> tuple[Array, int]:
    """A matrix with sizes below 1, and the power of two that it was divided by.

    What underflows is smaller than the largest by more than a sum of squares holds.
    """
    largest = float(np.abs(matrix).max())
    power = math.frexp(largest)[1] if largest < math.inf else 0
    return np.ldexp(matrix, -power), power


def _times_power(length: float, power: int) -> float:
    """A length times a power of two, rounded up where doubles end."""
    try:
        product = math.ldexp(length, power)
    except OverflowError:
        return math.inf
    # the quotient of a denormal number is exact, but where it was rounded down
    is_rounded_down = math.ldexp(product, -power) < length
    return math.nextafter(product, math.inf) if is_rounded_down else product


def _missing(matrix: Array, inverse: Array) -> float:
    """An upper bound of |I - R A|_2, by the root of the row sums' and column sums'."""
    error = _error(matrix)
    sizes = np.abs(inverse) @ np.abs(matrix)
    missing = np.abs(np.eye(len(matrix)) - inverse @ matrix)
    missing += error * (sizes + missing) + TINY * len(matrix)
    sums = missing.sum(axis=0).max() * missing.sum(axis=1).max()
    return float(np.sqrt(sums) * (1 + 2 * error))


def _error(matrix: Array) -> float:
    """What a sum of so many products, or of squares, may be off by, and more."""
    return float((matrix.shape[0] + 16) * EPS / 2)
