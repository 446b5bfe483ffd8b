"""The probability of a cone about an axis under Gaussian noise, by an integral."""

from typing import Any

import numpy as np

from rsbounds.special import ncx2_cdf

REACH, NODES = 10.0, np.polynomial.legendre.leggauss(240)


def probability(axial: Any, radial: Any, angle: float, dim: int) -> Any:
    """P(x + Z in the cone), Z standard normal, by the coordinates of x along and off
    the axis.
    """
    axial, radial = (np.asarray(a, dtype=float)[..., None] for a in (axial, radial))
    node, weight = NODES
    low, high = np.maximum(axial - REACH, 0.0), np.maximum(axial + REACH, 0.0)
    along = low + (high - low) * (node + 1) / 2
    inside = ncx2_cdf((along * np.tan(angle)) ** 2, dim - 1, radial**2)
    density = np.exp(-((along - axial) ** 2) / 2) / np.sqrt(2 * np.pi)
    return np.sum(density * inside * weight * (high - low) / 2, axis=-1)
