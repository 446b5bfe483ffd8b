"""The special functions inside numba: ``rsbounds.special`` names work in ``@njit`` code.

Each compiled scalar is registered under a named symbol, which makes kernels that call it
cacheable. numba calls :func:`register` through its entry point before it compiles anything, and
cached code imports this module as it is loaded.

The names carry the version of the compiled interface, because a cached kernel that met another
signature, or a symbol that is gone, would crash. When a signature changes or a function goes:
raise INTERFACE, move this module to a new name, and leave in its place one that raises OSError,
which numba takes for a missing cache file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from rsbounds import special
from rsbounds_ext.kernels import symbols

INTERFACE = 1


def symbol(name: str) -> str:
    return f"rsbounds_{INTERFACE}_{name}"


for _name, (_address, _) in symbols.items():
    binding.add_symbol(symbol(_name), _address)


def _call(symbol: str) -> Callable[..., Any]:
    """How numba types and builds a call of a C function of float64 arguments."""

    def typed(*args: Any) -> Any:
        signature = types.float64(*([types.float64] * len(args)))

        def codegen(context: Any, builder: Any, _: Any, values: Any) -> Any:
            double = ir.DoubleType()
            function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, ir.FunctionType(double, [double] * len(values)), symbol
            )
            return builder.call(function, values)

        return signature, codegen

    return typed


def _numbers(*args: Any) -> bool:
    return all(isinstance(a, (types.Integer, types.Float)) for a in args)


# numba reads the number of arguments off a signature: each arity is written out
def _unary(typed: Callable[..., Any]) -> Any:
    call: Any = intrinsic(lambda context, a: typed(a))
    return lambda a: (lambda a: call(float(a))) if _numbers(a) else None


def _binary(typed: Callable[..., Any]) -> Any:
    call: Any = intrinsic(lambda context, a, b: typed(a, b))
    return lambda a, b: (lambda a, b: call(float(a), float(b))) if _numbers(a, b) else None


def _ternary(typed: Callable[..., Any]) -> Any:
    call: Any = intrinsic(lambda context, a, b, c: typed(a, b, c))

    def choose(a: Any, b: Any, c: Any) -> Any:
        if not _numbers(a, b, c):
            return None
        return lambda a, b, c: call(float(a), float(b), float(c))

    return choose


def _quaternary(typed: Callable[..., Any]) -> Any:
    call: Any = intrinsic(lambda context, a, b, c, d: typed(a, b, c, d))

    def choose(a: Any, b: Any, c: Any, d: Any) -> Any:
        if not _numbers(a, b, c, d):
            return None
        return lambda a, b, c, d: call(float(a), float(b), float(c), float(d))

    return choose


_ARITIES = {1: _unary, 2: _binary, 3: _ternary, 4: _quaternary}


def serve(function: Callable[..., Any], symbol: str, arity: int) -> None:
    """Let ``function`` on scalars in ``@njit`` code call the C function of that symbol.

    Raises
    ------
    ValueError
        An arity that is not written out above.
    """
    if arity not in _ARITIES:
        raise ValueError(
            f"arity must be one of {', '.join(map(str, _ARITIES))} for a function that numba "
            f"serves; got {arity} for {function.__name__}"
        )
    overload(function, strict=False)(_ARITIES[arity](_call(symbol)))


@cache
def register() -> None:
    """Teach numba the functions of :mod:`rsbounds.special`; once for each process."""
    for name in special.__all__:
        if name in symbols:
            serve(getattr(special, name), symbol(name), symbols[name][1])
