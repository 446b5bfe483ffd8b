"""Probabilities of error that may be meant as confidences."""

import warnings
from typing import Any

import numpy as np

from rsbounds._numerics.checks import operand


def warn_of_confidence(alpha: Any, stacklevel: int) -> None:
    """Warn of a probability of error of 1/2 or more, which may be a confidence.

    ``alpha`` has passed its checks; of several levels the largest is told.
    """
    if type(alpha) is float and alpha < 0.5:
        return  # asked first, as plain numbers must be quick
    levels = np.asarray(operand("alpha", alpha))
    level = float(levels.max(initial=0.0))
    if not level >= 0.5:
        return
    warnings.warn(
        f"alpha = {level:g} is the probability of an error; for a confidence of "
        f"{level:g} give alpha={1 - level:.3g}",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )
