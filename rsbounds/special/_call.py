"""How a compiled ufunc becomes public: its text, and what it says of bad arguments.

The loops check arguments (rsbounds_ext/loops.hpp), and a call that fails comes here for
the better sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any, ParamSpec, Protocol, TypeAlias

import numpy as np

from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, check, choice
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import flag_nan
from rsbounds._numerics.threads import apply
from rsbounds_ext import kernels

Out: TypeAlias = Array | tuple[Array] | None
P = ParamSpec("P")

#: The public functions, and which of the bounds in _bounds.py holds for each
ERROR_KINDS: dict[str, str] = {}
#: What every argument of that name may be
DOMAIN: dict[str, tuple[float, float]] = kernels.DOMAIN
_STUBS: dict[str, Callable[..., Any]] = {}
#: Of these names, 0 is allowed besides
OR_ZERO = ("df", "m")


class Ufunc(Protocol[P]):
    """A NumPy ufunc as a type checker sees it."""

    __name__: str
    nin: int

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Floats: ...
    def at(self, a: Any, indices: Any, b: Any = ..., /) -> None: ...
    def outer(self, a: Any, b: Any, /, **options: Any) -> Any: ...
    def reduce(self, array: Any, /, **options: Any) -> Any: ...


def published(error_kind: str) -> Callable[[Callable[P, Any]], Ufunc[P]]:
    """Give the ufunc of a function's name its text, and say which error bound it has.

    ``error_kind`` is one that `_bounds.py` has numbers for. The function itself is
    never called.
    """

    def publish(stub: Callable[P, Any]) -> Ufunc[P]:
        name = stub.__name__
        ERROR_KINDS[name] = error_kind
        _STUBS[name] = stub
        ufunc: Any = getattr(kernels, name)
        ufunc.__doc__ = stub.__doc__
        ufunc.__signature__ = signature(stub).replace(return_annotation="Floats")
        ufunc.__module__ = "rsbounds.special"
        result: Ufunc[P] = ufunc
        return result

    return publish


def published_by(module: str) -> list[str]:
    """The names that a module made public, for its ``__all__``."""
    return [name for name, stub in _STUBS.items() if stub.__module__ == module]


def examples(module: str) -> dict[str, str]:
    """The docstrings of its ufuncs, in which doctest looks for no examples itself."""
    return {name: _STUBS[name].__doc__ or "" for name in published_by(module)}


@contextmanager
def errstate(*, domain: str) -> Iterator[None]:
    """Within it, arguments outside their domain give NaN instead of an error.

    As :func:`scipy.special.errstate`, for those who want the other elements of a
    column: NumPy's invalid flag tells of a NaN, a warning by default. What is no real
    number is an error all the same.

    Parameters
    ----------
    domain : str
        "nan", or "raise" as it is by default.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.special import errstate, ncx2_cdf
    >>> with errstate(domain="nan"), np.errstate(invalid="ignore"):
    ...     print(ncx2_cdf(1.0, 2, [0.0, -1e-18]).round(6))
    [0.393469      nan]
    """
    choice("domain", domain, ("raise", "nan"))
    token = kernels.nan_outside.set(domain == "nan")
    try:
        yield
    finally:
        kernels.nan_outside.reset(token)


def _refusal(name: str, value: float) -> ArgumentError:
    """The error of a loop, which has met one argument outside its domain."""
    return ArgumentError(name, f"must be {_domain(name)}; got {value}")


def _domain(name: str) -> str:
    low, high = DOMAIN[name]
    return f"{'0 or ' if name in OR_ZERO else ''}in [{low:g}, {high:g}]"


def in_domain(name: str, value: Any) -> Array:
    """An argument as float64, or the error that names it."""
    numbers = as_floats(name, value)
    if name not in OR_ZERO:
        return as_floats(name, value, *DOMAIN[name])
    low, high = DOMAIN[name]
    good = (numbers == 0) | ((numbers >= low) & (numbers <= high)) | np.isnan(numbers)
    check(name, value, good, _domain(name))
    return numbers


def _explanation(
    ufunc: np.ufunc,
    error: Exception,
    args: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Any:
    """Raise an error that says more than the one of a call that failed.

    It names the argument, counts elements and tells shapes. Elements under a mask may
    be anything: where they alone are outside, the result is returned.
    """
    if any(map(_is_of_another_library, args.values())):
        for name, value in args.items():  # plain ones beside it may be no numbers
            if not _is_of_another_library(value):
                as_floats(name, value)
        raise error  # it called the ufunc of its own arrays, whose error this is
    if any(map(_is_of_objects, args.values())):
        return ufunc(*(as_floats(*pair) for pair in args.items()), **options)
    masked = any(map(np.ma.isMaskedArray, args.values()))
    unmasked = {k: np.ma.getdata(v) for k, v in args.items()} if masked else args
    wanted = _wanted(args.values(), options.get("where", True))
    lenient = kernels.nan_outside.get()
    for name, value in unmasked.items():
        if _shares_memory(value, options.get("out")):
            continue  # some of it has been written
        as_floats(name, value)
        if not lenient:
            in_domain(name, np.where(wanted, value, np.nan))
    broadcast(**unmasked)
    if lenient or not masked:
        raise error
    with errstate(domain="nan"), np.errstate(invalid="ignore"):
        result = ufunc(*args.values(), **options)
    return flag_nan(result)


def _is_of_another_library(value: Any) -> bool:
    known = isinstance(value, np.ndarray | np.generic)
    return not known and hasattr(value, "__array_ufunc__")


def _is_of_objects(value: Any) -> bool:
    """Whether NumPy made an array of objects of it: of integers beyond 64 bits."""
    return isinstance(value, np.ndarray) and value.dtype == object


def _wanted(values: Iterable[Any], where: Any) -> Any:
    """Which elements are asked for: by ``where``, and under no mask."""
    for value in values:
        if np.ma.is_masked(value):
            where = where & ~np.ma.getmaskarray(value)
    return where


def _shares_memory(value: Any, out: Any) -> bool:
    arrays = out if isinstance(out, tuple) else (out,)
    return any(
        isinstance(array, np.ndarray) and np.may_share_memory(value, array)
        for array in arrays
    )


def _in_pieces(ufunc: np.ufunc, *args: Any) -> Any:
    """The ufunc of large arrays, on several threads, and of masked ones.

    The flag is raised for what is shown of a result.
    """
    return flag_nan(apply(ufunc, *args, cost=0.4 if ufunc.nin > 1 else 0.03))


kernels.set_hooks(_refusal, _explanation, _in_pieces)
