"""Whether noise is added in the unit of the numbers that it is added to."""

import warnings
from typing import Any

import numpy as np

from rsbounds._numerics.checks import on_host
from rsbounds.answers import Answer

_OF_PIXELS = "for pixels in 0 ... 255 give scale=255"
_OF_COLUMNS = (
    "noise is added in the unit of the numbers; columns of a table are standardised "
    "first, or given a level each (anisotropic noise)"
)


def _far_reach(answer: Answer, x: Any) -> str:
    """Say that an input's numbers are large beside the noise; "" where they aren't."""
    if answer.scheme.law:
        return ""  # of whole numbers, or in a unit that is the user's to know
    numbers = np.asarray(on_host("x", x))
    if numbers.dtype.kind not in "iuf" or not numbers.size:
        return ""
    reach = float(np.max(np.abs(numbers)))
    level = answer.scheme.parameters.get("sigma", np.inf)
    if not (reach > 10 and level <= 2):
        return ""
    return f"the first input reaches {reach:g} and sigma is {level:g}"


def _are_pixels(x: Any) -> bool:
    """Whether an input seems to be a picture whose pixels go from 0 to 255."""
    numbers = np.asarray(on_host("x", x))
    return bool(numbers.min() >= 0 and 128 <= numbers.max() <= 255)


def warn_of_unit(answer: Answer, x: Any, stacklevel: int) -> None:
    """Warn where noise would hardly show on the numbers that it is added to."""
    reach = _far_reach(answer, x)
    if not reach:
        return
    advice = _OF_PIXELS if _are_pixels(x) else _OF_COLUMNS
    warnings.warn(f"{reach}: {advice}", RuntimeWarning, stacklevel=stacklevel + 1)
