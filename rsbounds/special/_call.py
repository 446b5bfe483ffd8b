"""How a compiled ufunc becomes a checked function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

from rsbounds._numerics.checks import Array, Floats, as_array, as_floats, broadcast
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import flag_nan
from rsbounds._numerics.threads import apply
from rsbounds_ext import kernels

Out: TypeAlias = Array | tuple[Array] | None
Function = TypeVar("Function", bound=Callable[..., Any])

# The public functions, and which of the bounds in _bounds.py holds for each
ERROR_KINDS: dict[str, str] = {}
_MODULES: dict[str, str] = {}  # where each is defined

# What every argument of that name may be
DOMAIN: dict[str, tuple[float, float]] = {
    "z": (-np.inf, np.inf),
    "u": (-np.inf, np.inf),
    "p": (0.0, 1.0),
    "log_p": (-np.inf, 0.0),
    "x": (0.0, np.inf),
    "dim": (1.0, 1e8),
    "df": (1e-300, 1e8),
    "s": (0.0, np.inf),
    "nc": (0.0, 1e60),
    "m": (5e-301, 5e7),  # df = 2 m, nc = a^2
    "a": (0.0, 1e30),
    "b": (0.0, np.inf),
    "q": (0.0, 1.0),
}


def published(
    error_kind: str, **domains: tuple[float, float]
) -> Callable[[Function], Function]:
    """Make a function public and say which error bound holds for it.

    Parameters
    ----------
    error_kind : str
        A kind that `_bounds.py` has numbers for.
    **domains : tuple of float
        The closed intervals of arguments whose names no other function has.
    """

    def publish(function: Function) -> Function:
        ERROR_KINDS[function.__name__] = error_kind
        _MODULES[function.__name__] = function.__module__
        DOMAIN.update(domains)
        return function

    return publish


def published_by(module: str) -> list[str]:
    """The names that a module made public, for its ``__all__``."""
    return [name for name, home in _MODULES.items() if home == module]


def _shares_memory(value: Any, out: Any) -> bool:
    arrays = out if isinstance(out, tuple) else (out,)
    return isinstance(value, np.ndarray) and any(
        np.may_share_memory(value, a) for a in arrays
    )


def _checked_out(out: Any) -> Any:
    """Where results are written: None, an array of floats, or a tuple of one."""
    held = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if held is None or (isinstance(held, np.ndarray) and held.dtype.kind == "f"):
        return out
    raise ArgumentError("out", f"must be an array of floats; got {held!r:.60}")


def _checked_where(where: Any) -> Any:
    """Which results are wanted: True or False, or an array of them."""
    if where is True:
        return True
    chosen = as_array("where", where)
    if chosen.dtype != bool:
        raise ArgumentError("where", f"must be True or False each; got {where!r:.60}")
    return chosen


def call(ufunc: np.ufunc, out: Any, where: Any, **args: Any) -> Floats:
    """The ufunc of named arguments, which are checked only when a NaN came out.

    The kernels answer NaN outside their domain, so a call inside it needs no check
    beforehand.
    """
    if out is None and where is True:  # plain numbers make no array
        number = kernels.scalar(ufunc, *args.values())
        if number is not None and number == number:
            return number
    out, where = _checked_out(out), _checked_where(where)
    if out is not None:  # the check looks at the arguments after `out` has been written
        args = {
            k: np.array(v) if _shares_memory(v, out) else v for k, v in args.items()
        }
    try:
        result = _applied(ufunc, out, where, args)
    except (TypeError, ValueError, OverflowError):
        checked = {k: as_floats(k, v, *DOMAIN[k]) for k, v in args.items()}
        broadcast(**checked)
        if not any(np.asarray(v).dtype.char == "g" for v in args.values()):
            raise
        return call(ufunc, out, where, **checked)  # of long doubles
    _explain_nans(result, where, args)
    return result


def _applied(ufunc: np.ufunc, out: Any, where: Any, args: Mapping[str, Any]) -> Floats:
    """Apply the ufunc without warnings; TypeError for booleans, which it would take."""
    if any(type(v) is not float and np.asarray(v).dtype == bool for v in args.values()):
        raise TypeError("booleans are not numbers")
    if out is None and where is True:
        return apply(ufunc, *args.values(), cost=0.4)
    with np.errstate(all="ignore"):
        result: Floats = ufunc(*args.values(), out=out, where=where)
    return result


def _explain_nans(result: Floats, where: Any, args: Mapping[str, Any]) -> None:
    """Raise ValueError for arguments out of their domain, or flag the NaN of others."""
    bad = np.isnan(result)
    if where is not True:  # & would not take the constant np.ma.masked
        bad = bad & where
    if bad.any():
        for key, value in args.items():
            as_floats(key, np.where(where, value, np.nan), *DOMAIN[key])
        flag_nan(np.where(bad, np.nan, 0.0))
