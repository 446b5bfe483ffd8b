"""What an envelope is to the two searches: anybody's, and one that the compiled search knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats


class Envelope(Protocol):
    """Anything with ``bounds(sigma0, distance) -> (low, high)`` on arrays of distances.

    ``low`` non-increasing and ``high`` non-decreasing in the distance, low <= sigma0 <= high;
    a violation seen during the search is refused.
    """

    def bounds(self, sigma0: Array, distance: Array) -> tuple[ArrayLike, ArrayLike]: ...


class Compiled(ABC):
    """An envelope with a search of its own among the kernels."""

    _radius: ClassVar[np.ufunc]  # of (*Budget, *_parameters())
    _branch: ClassVar[np.ufunc]  # of (*Budget, up, *_parameters())
    _sigma_down: ClassVar[bool] = False  # a smaller sigma0 has a smaller radius

    @abstractmethod
    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]: ...

    @abstractmethod
    def _parameters(self) -> tuple[Floats, ...]:
        """Checked, rounded to their safe sides."""

    def _levels(self) -> tuple[Floats, Floats]:
        """The smallest and the largest sigma that it allows anywhere."""
        return np.float64(0.0), np.float64(np.inf)


class Budget(NamedTuple):
    """The point to be certified, in the order of the kernels' first arguments."""

    z_a: Floats
    z_b: Floats
    gap: Floats  # z_a - z_b, rounded down
    sigma: Floats
    dim: Floats
    mean_lip: Floats
