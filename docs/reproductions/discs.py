"""The indicator of the unit disc of the plane, as [S] C.2 has it."""

from typing import Any

import numpy as np

from rsbounds.special import ncx2_logcdf, ndtri_exp

DIM = 2


def claimed(distance: float, sigma: Any) -> tuple[Any, Any]:
    """P(x + sigma Z in the disc), and the radius sigma |z| of the class that leads."""
    inside = ncx2_logcdf(1 / sigma**2, DIM, (distance / sigma) ** 2)
    return np.exp(inside), sigma * np.abs(ndtri_exp(inside))
