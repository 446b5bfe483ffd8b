"""An envelope for levels that are computed, and so only near the function that obeys it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats, as_floats
from rsbounds._numerics.rounding import EPS
from rsbounds.envelope._shapes import Compiled, Envelope

_EDGE = 16 * EPS  # of the bounds that are widened and of this arithmetic


@dataclass(frozen=True)
class Widened:
    """`envelope` with both ends further out by a factor exp(slack).

    Where the sigma that is drawn is within a factor exp(slack/2) of one that obeys `envelope`
    from every point, it obeys this. At distance 0 it still allows a jump, so the radius is 0
    where p_a is very near 1/2.

    Parameters
    ----------
    envelope : Envelope
        What the ideal sigma obeys.
    slack : array_like
        How far the logarithms of two computed levels may be apart beyond it, in [0, inf).

    Notes
    -----
    The bounds are rounded outward: where sigma changes by less than a factor 2, a radius is at
    least that of a slack larger by 2e-14.

    References
    ----------
    The theory page on sound noise.

    Examples
    --------
    >>> from rsbounds.envelope import SemiElastic, Widened, radius
    >>> plain, wide = (radius(0.99, 0.25, e, 150528)
    ...                for e in (SemiElastic(0.01), Widened(SemiElastic(0.01), 1e-12)))
    >>> print(f"{1 - wide / plain:.0e}")
    2e-10
    """

    envelope: Envelope
    slack: ArrayLike

    def __post_init__(self) -> None:
        as_floats("slack", self.slack, 0.0, closed="left", nan=False)

    @property
    def monotone(self) -> bool:
        """Whether that needs no watching, as it would of an envelope that a user wrote."""
        return isinstance(self.envelope, Compiled)

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0, rounded outward."""
        sigma = np.asarray(sigma0, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            low, high = self.envelope.bounds(sigma, np.asarray(distance, dtype=np.float64))
            factor = np.exp(self.slack) * (1 + _EDGE)
            # an exponential loses digits in proportion to its argument
            turns = 1 + np.log(np.maximum(np.divide(high, sigma), 1.0))
            lowest = np.maximum(np.subtract(low, _EDGE * sigma), 0.0) / factor
            return lowest, np.multiply(high, 1 + _EDGE * turns) * factor
