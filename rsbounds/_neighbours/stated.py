"""A direction oracle that states how far its label holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._neighbours.anchors import Labels
from rsbounds._neighbours.norms import DualNorm, PowerOrDual
from rsbounds._numerics.checks import Array, as_floats, as_integers
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import round_down

#: Takes x of shape (n, d); returns labels and radii within which they hold, each (n,).
Oracle = Callable[[Array], tuple[ArrayLike, ArrayLike]]


class StatedOracle:
    """Labels and radii of a function, in the form of labelled anchors."""

    def __init__(self, oracle: Oracle, norm: PowerOrDual) -> None:
        self._oracle = oracle
        self.norm = DualNorm(norm)

    def queries(self, x: Array) -> Array:
        """``x`` of shape (..., d) as (n, d)."""
        if x.ndim == 0:
            raise ArgumentError("x", "must have shape (..., d); got one number")
        return np.ascontiguousarray(x.reshape(-1, x.shape[-1]))

    def labels_of(self, found: Labels) -> Labels:
        """The labels that were found; the others that there may be aren't known."""
        return found

    def radius(self, rows: Array, method: str) -> tuple[Array, Labels]:
        """What the oracle states, its radii one step lower."""
        given_labels, given_radii = self._oracle(rows)
        labels = as_integers("oracle", given_labels, -(2**62))
        radii = as_floats("oracle", given_radii, 0.0, np.inf, nan=False)
        for what, got in (("labels", labels), ("radii", radii)):
            if got.shape != (len(rows),):
                raise ArgumentError(
                    "oracle",
                    f"must return {what} of shape ({len(rows)},); got {got.shape}",
                )
        return np.asarray(round_down(radii, 0.0)), np.asarray(labels)
