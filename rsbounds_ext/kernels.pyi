from typing import Any

from numpy import float64, int64, ufunc

symbols: dict[str, tuple[int, int]]  # name -> (address, number of arguments)

# float64 of plain numbers (float, float64, an int up to 2^53); of anything else None
def scalar(function: ufunc, /, *args: object) -> float64 | None: ...
def evaluate(
    function: ufunc, /, *args: object
) -> Any: ...  # function(*args) of anything else
def within(
    value: object, low: float, high: float, closed: str, /
) -> float64 | None: ...
def natural(value: object, low: int, /) -> int64 | None: ...
def __getattr__(name: str) -> ufunc: ...  # the kernels; kernels.pxd has their arguments
