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
from rsbounds.sampling.noises._noise import happens

Places = NDArray[np.int64]

_BITS = 63
_DIGITS = 50  # of the table's arithmetic
_TINY = Decimal("1e-45")  # weights relative to the largest below this are left out
_DENSE = 32  # where one zero in so many flips, they are drawn one by one
_AT_ONCE = 2**24  # of those


class Edges(NamedTuple):
    """A matrix of zeros and ones by the places of its ones, row by row, ascending.

    Of a symmetric one the places above the diagonal, and apart from them those on it,
    which no noise moves.
    """

    shape: tuple[int, int]
    ones: Places
    diagonal: Places
    symmetric: bool
    dtype: np.dtype[Any]
    form: type[Any]

    @property
    def coordinates(self) -> int:
        """How many places may flip."""
        rows, columns = self.shape
        return rows * (columns - 1) // 2 if self.symmetric else rows * columns

    def all_places(self, ones: Places) -> Places:
        """Ascending places of all ones of the matrix, below the diagonal too."""
        if not self.symmetric:
            return ones
        columns = self.shape[1]
        row, column = np.divmod(ones, columns)
        below = column * columns + row
        below.sort()
        places = np.concatenate([ones, below, self.diagonal])
        places.sort(kind="stable")  # which merges ascending lists
        return places

    def sparse(self, ones: Places) -> Any:
        """The matrix with these ones in place of its own."""
        rows, columns = self.shape
        places = self.all_places(ones)
        starts = np.searchsorted(places, np.arange(rows + 1) * columns)
        indices = places % columns
        data = np.ones(len(places), self.dtype)
        return self.form((data, indices, starts), shape=self.shape)


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix of SciPy's or torch's."""
    return hasattr(x, "tocsr") or getattr(x, "is_sparse", False) or _is_csr(x)


def _is_csr(x: Any) -> bool:
    return "sparse_csr" in str(getattr(x, "layout", ""))


def edges(x: Any, *, symmetric: bool) -> Edges:
    """A sparse matrix by its ones, if all that it stores are ones (or zeros)."""
    from scipy import sparse

    if not hasattr(x, "tocsr"):
        x = _of_torch(x)
    form = sparse.csr_matrix if sparse.isspmatrix(x) else sparse.csr_array
    if x.ndim != 2 or 0 in x.shape:
        raise ArgumentError("x", f"must be a matrix; got shape {x.shape}")
    given = x.tocoo()
    if given.dtype.kind not in "biuf":
        raise ArgumentError("x", f"must be numbers; got {given.dtype}")
    check("x", given.data, (given.data == 0) | (given.data == 1), "0 or 1")
    row, column = given.row.astype(np.int64), given.col.astype(np.int64)
    places = (row * x.shape[1] + column)[given.data == 1]
    places.sort()
    if (places[1:] == places[:-1]).any():
        raise ArgumentError("x", "must store each place once")
    diagonal = places[:0]
    if symmetric:
        places, diagonal = _upper(x.shape, places)
    dtype = np.dtype(np.float32 if given.dtype.kind == "f" else np.int64)
    return Edges(x.shape, places, diagonal, symmetric, dtype, form)


def _of_torch(x: Any) -> Any:
    """torch's sparse matrix as one of SciPy's."""
    from scipy import sparse

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


def flipped_places(
    x: Edges, add: Fraction, delete: Fraction, generator: np.random.Generator
) -> tuple[Places, bool]:
    """Ascending places of the ones of a noisy copy, and whether it is void."""
    left = x.ones[~happens(delete, len(x.ones), generator)]
    zeros = x.coordinates - len(x.ones)
    if add == 0 or not zeros:
        return left, False
    if add * _DENSE > 1:
        added, void = _one_by_one(x, add, generator), False
    else:
        number, void = binomial(zeros, add, generator)
        added = places_of_zeros(x, number, generator)
    added.sort()
    ones = np.concatenate([left, added])
    ones.sort(kind="stable")  # which merges two ascending lists
    return ones, void


def flipped(
    x: Edges, add: Fraction, delete: Fraction, generator: np.random.Generator
) -> tuple[Any, bool]:
    """One noisy copy, and whether it is void."""
    ones, void = flipped_places(x, add, delete, generator)
    return x.sparse(ones), void


def _one_by_one(x: Edges, add: Fraction, generator: np.random.Generator) -> Places:
    """The zeros that become ones, each drawn for itself."""
    rows, columns = x.shape
    step = max(_AT_ONCE // columns, 1)
    added = []
    for start in range(0, rows, step):
        count = min(step, rows - start) * columns
        chosen = np.flatnonzero(happens(add, count, generator)) + start * columns
        if x.symmetric:
            chosen = chosen[chosen // columns < chosen % columns]
        added.append(chosen)
    places = np.concatenate(added)
    return places[~_among(places, x.ones)]


def places_of_zeros(x: Edges, number: int, generator: np.random.Generator) -> Places:
    """So many zeros, each set of them alike: places drawn one after the other, without
    those that are ones or were drawn before.
    """
    rows, columns = x.shape
    chosen = np.empty(0, np.int64)
    while len(chosen) < number:
        # half of a matrix's places, and its diagonal, name no further pair
        missing = number - len(chosen)
        drawn = generator.integers(0, rows * columns, size=missing + missing // 8 + 8)
        if x.symmetric:
            row, column = np.divmod(drawn, columns)
            drawn = np.minimum(row, column) * columns + np.maximum(row, column)
            drawn = drawn[row != column]
        drawn = drawn[~_among(drawn, x.ones)]
        together = np.concatenate([chosen, drawn])
        _, first = np.unique(together, return_index=True)
        first.sort()
        chosen = together[first[:number]]
    return chosen


def _among(places: Places, ascending: Places) -> NDArray[np.bool_]:
    """Which places are among those of an ascending list."""
    if not len(ascending):
        return np.zeros(len(places), np.bool_)
    place = np.searchsorted(ascending, places)
    place[place == len(ascending)] = 0
    among: NDArray[np.bool_] = ascending[place] == places
    return among


def binomial(
    n: int, chance: Fraction, generator: np.random.Generator
) -> tuple[int, bool]:
    """How many of n independent events happen, and whether the draw is ambiguous.

    63 random bits are compared with those of the distribution function, computed to 40
    digits; they decide nothing where they equal a threshold, with a probability of
    2^-63 for each number that is possible.
    """
    first, thresholds = _table(n, chance)
    u = int(generator.integers(0, 2**_BITS))
    below = int(np.searchsorted(thresholds, u, side="right"))
    ambiguous = below > 0 and int(thresholds[below - 1]) == u
    # beyond the table's ends lies less than 2^-63
    return first + min(below, len(thresholds) - 1), ambiguous


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
