"""Flips of a sparse matrix of zeros and ones: as many as there are, never a dense one.

How many zeros become ones is drawn first, from the binomial law by comparison of 63
random bits with a table; then which, each set of places alike. The ones are few and
drawn one by one.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check
from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises import Bits

Places = NDArray[np.int64]

_BITS = 63
_DIGITS = 50  # of the table's arithmetic
_TINY = Decimal("1e-45")  # weights relative to the largest below this are left out
_DENSE = 32  # where one zero in so many flips, they are drawn one by one
_AT_ONCE = 2**24  # of those
_LARGEST = 2**50  # places of a matrix: keys of 4096 copies are below 2^63


class Edges(NamedTuple):
    """A matrix of zeros and ones by the places of its ones, row by row, ascending.

    Of a symmetric one the places above the diagonal, and apart from them those on it,
    which no noise moves. A place of one of several copies has a key: the copy's number
    times the matrix's area, and the place.
    """

    shape: tuple[int, int]
    ones: Places
    diagonal: Places
    symmetric: bool
    dtype: np.dtype[Any]
    form: type[Any]

    @property
    def area(self) -> int:
        """Rows times columns."""
        return self.shape[0] * self.shape[1]

    @property
    def coordinates(self) -> int:
        """How many places may flip."""
        rows, columns = self.shape
        return rows * (columns - 1) // 2 if self.symmetric else rows * columns

    def stored(self, add: Fraction) -> int:
        """About how many numbers a copy stores, zeros becoming ones with ``add``."""
        zeros = self.coordinates - len(self.ones)
        ones = len(self.ones) + int(zeros * add) + len(self.diagonal)
        return self.shape[0] + (2 * ones if self.symmetric else ones)

    def completed(self, keys: Places, size: int) -> Places:
        """Ascending keys of all ones of so many copies.

        Those that may flip, and what follows from them.
        """
        if not self.symmetric:
            return keys
        copy, place = np.divmod(keys, self.area)
        row, column = np.divmod(place, self.shape[1])
        below = copy * self.area + column * self.shape[1] + row
        below.sort()
        diagonals = np.arange(size)[:, None] * self.area + self.diagonal
        every = np.concatenate([keys, below, diagonals.ravel()])
        every.sort(kind="stable")  # which merges ascending lists
        return every

    def sparse(self, keys: Places, size: int) -> list[Any]:
        """Matrices with the ones of these ascending keys."""
        rows, columns = self.shape
        starts = np.searchsorted(keys, np.arange(size * rows + 1) * columns)
        small = max(columns, len(keys)) < 2**31
        index = np.int32 if small else np.int64  # SciPy casts to the smaller otherwise
        indices = (keys % columns).astype(index)
        data = np.ones(len(keys), self.dtype)
        matrices = []
        for first_row in range(0, size * rows, rows):
            row_starts = starts[first_row : first_row + rows + 1]
            begin, end = row_starts[0], row_starts[-1]
            row_starts = (row_starts - begin).astype(index)
            parts = (data[begin:end], indices[begin:end], row_starts)
            matrices.append(self.form(parts, shape=self.shape))
        return matrices


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix of SciPy's or torch's."""
    return hasattr(x, "tocsr") or getattr(x, "is_sparse", False) or _is_csr(x)


def _is_csr(x: Any) -> bool:
    return "sparse_csr" in str(getattr(x, "layout", ""))


def edges(x: Any, *, symmetric: bool) -> Edges:
    """A sparse matrix by its ones, if all that it stores are ones (or zeros)."""
    from scipy import sparse

    x = of_scipy(x)
    form = sparse.csr_matrix if sparse.isspmatrix(x) else sparse.csr_array
    if x.ndim != 2 or 0 in x.shape or not x.shape[0] * x.shape[1] < _LARGEST:
        raise ArgumentError(
            "x", f"must be a matrix of fewer than 2^50 places; got shape {x.shape}"
        )
    stored = x.tocoo()
    if stored.dtype.kind not in "biuf":
        raise ArgumentError("x", f"must be numbers; got {stored.dtype}")
    check("x", stored.data, (stored.data == 0) | (stored.data == 1), "0 or 1")
    row, column = stored.row.astype(np.int64), stored.col.astype(np.int64)
    places = (row * x.shape[1] + column)[stored.data == 1]
    places.sort()
    if (places[1:] == places[:-1]).any():
        raise ArgumentError("x", "must store each place once")
    diagonal = places[:0]
    if symmetric:
        places, diagonal = _upper(x.shape, places)
    dtype = np.dtype(np.float32 if stored.dtype.kind == "f" else np.int64)
    return Edges(x.shape, places, diagonal, symmetric, dtype, form)


def of_scipy(x: Any) -> Any:
    """A sparse matrix as one of SciPy's: torch's too."""
    from scipy import sparse

    if hasattr(x, "tocsr"):
        return x
    stored = x.detach().cpu()
    stored = stored.to_sparse_coo() if _is_csr(stored) else stored
    stored = stored.coalesce()
    row, column = stored.indices().numpy()
    form = (stored.values().numpy(), (row, column))
    return sparse.coo_array(form, shape=tuple(stored.shape))


def _upper(shape: tuple[int, int], places: Places) -> tuple[Places, Places]:
    """The ones above the diagonal, and those on it, of a symmetric matrix."""
    require_square(shape)
    row, column = np.divmod(places, shape[1])
    above = places[row < column]
    below = np.sort(column[row > column] * shape[1] + row[row > column])
    require_symmetric(np.array_equal(above, below))
    return above, places[row == column]


def require_square(shape: tuple[int, ...]) -> None:
    """ArgumentError unless it is the shape of an adjacency matrix."""
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        raise ArgumentError(
            "x", f"must be a square matrix for symmetric flips; got shape {shape}"
        )


def require_symmetric(good: Any) -> None:
    """ArgumentError unless ``good``."""
    if not good:
        raise ArgumentError("x", "must be a symmetric matrix for symmetric flips")


def flipped_keys(
    x: Edges, add: Fraction, delete: Fraction, size: int, bits: Bits
) -> tuple[Places, NDArray[np.bool_]]:
    """Ascending keys of the ones of so many noisy copies, and which are void."""
    void = np.zeros(size, np.bool_)
    copy, which = np.nonzero(~bits.happens(delete, (size, len(x.ones))))
    left = copy * x.area + x.ones[which]
    zeros = x.coordinates - len(x.ones)
    if add == 0 or not zeros:
        return x.completed(left, size), void
    if add * _DENSE > 1:
        added = _one_by_one(x, add, size, bits)
    else:
        numbers, void = binomial(zeros, add, size, bits)
        added = keys_of_zeros(x, numbers, bits)
    added.sort()
    ones = np.concatenate([left, added])
    ones.sort(kind="stable")  # which merges ascending lists
    return x.completed(ones, size), void


def side_by_side(parts: list[Edges], keys: list[Places]) -> tuple[Places, Edges]:
    """Ascending keys of the ones of matrices that stand side by side.

    Of those of each; and the matrix that they are of.
    """
    rows = parts[0].shape[0]
    width = sum(part.shape[1] for part in parts)
    every = []
    offset = 0
    for part, keys_of_part in zip(parts, keys, strict=True):
        row, column = np.divmod(keys_of_part, part.shape[1])  # rows of all copies
        every.append(row * width + offset + column)
        offset += part.shape[1]
    joined = np.concatenate(every)
    joined.sort(kind="stable")
    none = np.empty(0, np.int64)
    first = parts[0]
    return joined, Edges((rows, width), none, none, False, first.dtype, first.form)


def _one_by_one(x: Edges, add: Fraction, size: int, bits: Bits) -> Places:
    """Keys of the zeros that become ones, each drawn for itself."""
    step = _AT_ONCE
    added = []
    for start in range(0, size * x.area, step):
        count = min(step, size * x.area - start)
        added.append(np.flatnonzero(bits.happens(add, (count,))) + start)
    keys = np.concatenate(added)
    return keys[_are_zeros(x, keys % x.area)]


def keys_of_zeros(x: Edges, numbers: NDArray[np.int64], bits: Bits) -> Places:
    """Keys of so many zeros of each copy, each set of them alike.

    Places are drawn one after the other; those that are no zero above the diagonal, or
    were drawn before, are passed over, and the first of the rest are taken.
    """
    copies = np.arange(len(numbers))
    chosen = np.empty(0, np.int64)
    missing = numbers
    while missing.any():
        # some more than are missing; half of a symmetric matrix's places are two names
        # of one pair
        count = missing + missing // 8 + 8 * (missing > 0)
        drawn = bits.below(x.area, (int(count.sum()),))
        if x.symmetric:
            row, column = np.divmod(drawn, x.shape[1])
            drawn = np.minimum(row, column) * x.shape[1] + np.maximum(row, column)
        keys = np.repeat(copies, count) * x.area + drawn
        together = np.concatenate([chosen, keys[_are_zeros(x, drawn)]])
        _, first = np.unique(together, return_index=True)
        first.sort()  # the order in which they were drawn
        together = together[first]
        owner = together // x.area
        by_copy = np.argsort(owner, kind="stable")
        owner = owner[by_copy]
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        taken = rank < numbers[owner]
        chosen = together[by_copy][taken]
        missing = numbers - np.bincount(owner[taken], minlength=len(numbers))
    return chosen


def _are_zeros(x: Edges, places: Places) -> NDArray[np.bool_]:
    """Which places may flip and hold no one."""
    zero = ~_among(places, x.ones)
    if x.symmetric:
        zero &= places // x.shape[1] < places % x.shape[1]
    return zero


def _among(places: Places, ascending: Places) -> NDArray[np.bool_]:
    """Which places are among those of an ascending list."""
    if not len(ascending):
        return np.zeros(len(places), np.bool_)
    place = np.searchsorted(ascending, places)
    place[place == len(ascending)] = 0
    among: NDArray[np.bool_] = ascending[place] == places
    return among


def binomial(
    n: int, chance: Fraction, size: int, bits: Bits
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draw how many of n independent events happen, so many times.

    Beside it, which draws are ambiguous.

    63 random bits are compared with those of the distribution function, computed to 40
    digits; they decide nothing where they equal a threshold, with a probability of
    2^-63 for each number that is possible.
    """
    first, thresholds = _table(n, chance)
    u = bits.below(2**_BITS, (size,))
    below = np.searchsorted(thresholds, u, side="right")
    ambiguous: NDArray[np.bool_] = (below > 0) & (thresholds[below - 1] == u)
    # beyond the table's ends lies less than 2^-63
    return first + np.minimum(below, len(thresholds) - 1), ambiguous


@lru_cache(maxsize=64)
def _table(n: int, chance: Fraction) -> tuple[int, NDArray[np.int64]]:
    """The least number in the table, and floor(2^63 P(number <= k)) from it on.

    Weights follow from the largest by their ratios, and are divided by their sum.
    """
    mode = int((n + 1) * chance)
    with localcontext(prec=_DIGITS):
        odds = Decimal(chance.numerator) / Decimal(
            chance.denominator - chance.numerator
        )
        weights = [Decimal(1)]
        k = mode
        while k > 0 and weights[-1] > _TINY:  # (n, k - 1) over (n, k)
            weights.append(weights[-1] * k / ((n - k + 1) * odds))
            k -= 1
        weights.reverse()
        first = k
        k = mode
        while k < n and weights[-1] > _TINY:
            weights.append(weights[-1] * (n - k) * odds / (k + 1))
            k += 1
        total = sum(weights)
        below = Decimal(0)
        thresholds = []
        for weight in weights:
            below += weight
            thresholds.append(min(int(2**_BITS * below / total), 2**_BITS - 1))
    return first, np.array(thresholds, np.int64)
