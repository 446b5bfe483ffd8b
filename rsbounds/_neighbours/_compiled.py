"""Numba's compiler, as the scans use it."""

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(**options: Any) -> Callable[..., Any]:
    """``njit`` without the GIL, with a cache wherever one can be written."""

    def decorate(function: Any) -> Any:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:
            # neither the package's folder nor a home is writable: it compiles anew
            return njit(nogil=True, **options)(function)

    return decorate
