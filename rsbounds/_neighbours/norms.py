"""The norm that measures perturbations, by its dual norm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rsbounds._numerics.checks import Array, as_floats
from rsbounds._numerics.domains import NORM
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS

#: What a user may give: p of an l_p norm, or the dual norm itself along the last axis.
PowerOrDual = float | Callable[[Array], Array]

_NORM_ERROR = 64 * EPS  # numpy's pairwise sum of d terms, and the square root
_POWER_ERROR = 256 * EPS  # a quotient and two powers more, and q's own rounding
#: Dual norms of which kernels know the norm.
COMPILED = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}


class DualNorm:
    """A norm of perturbations: its ``power`` p, None if a function gives the dual.

    ``error`` bounds the relative error of :meth:`dual`.
    """

    def __init__(self, norm: PowerOrDual) -> None:
        self.power = None if callable(norm) else NORM.one("norm", norm)
        self._norm = norm
        self.compiled = self.power in COMPILED
        # a function is taken at its word
        self.error = _NORM_ERROR if self.compiled else _POWER_ERROR

    def dual(self, vectors: Array) -> Array:
        """The dual norm along the last axis."""
        vectors = np.ascontiguousarray(vectors)  # so that numpy adds pairwise
        if self.power is None:
            return self._by_function(vectors)
        if self.compiled:
            lengths: Array = np.linalg.norm(vectors, COMPILED[self.power], axis=-1)
            return lengths
        power = self.power / (self.power - 1)
        sizes = np.abs(vectors)
        largest = sizes.max(axis=-1, keepdims=True)
        scale = np.where(largest > 0, largest, 1.0)
        with np.errstate(under="ignore"):  # a part that underflows is below EPS
            sums = ((sizes / scale) ** power).sum(axis=-1)
        result: Array = largest[..., 0] * sums ** (1 / power)
        return result

    def _by_function(self, vectors: Array) -> Array:
        assert callable(self._norm)
        lengths = as_floats("norm", self._norm(vectors), 0.0, closed="left")
        if lengths.shape != vectors.shape[:-1]:
            raise ArgumentError(
                "norm",
                f"must return the dual norm along the last axis, of shape "
                f"{vectors.shape[:-1]}; got {lengths.shape}",
            )
        # a length that is unknown must not count as a long one
        lost = np.isnan(lengths) & ~np.isnan(vectors).any(axis=-1)
        if lost.any():
            raise ArgumentError("norm", "must return numbers; got NaN for a vector")
        zero = (lengths == 0) & (vectors != 0).any(axis=-1)
        if zero.any():
            raise ArgumentError(
                "norm", "must be 0 for the zero vector alone; got 0 for another"
            )
        return lengths

    def require_homogeneous(self, vectors: Array) -> None:
        """Refuse a function that is not a norm on these vectors, such as a square."""
        if self.power is not None:
            return
        once = self.dual(vectors)
        for factor in (2.0, -1.0):
            again = self.dual(factor * vectors)
            if not np.allclose(again, abs(factor) * once, rtol=1e-9, atol=0):
                raise ArgumentError(
                    "norm",
                    f"must return a norm: {factor:g} times a vector must have "
                    f"{abs(factor):g} times its length",
                )
