"""The special functions inside numba: ``rsbounds.special`` names work in ``@njit``
code.

Each compiled scalar is registered under a named symbol, so that functions that call it
can be cached. numba calls :func:`register` through its entry point before it compiles
anything, and cached code imports this module when it is loaded.

The names carry the version of the compiled interface, because cached code that calls a
symbol which is gone, or has another signature, would crash. When a signature changes or
a function goes: raise INTERFACE, move this module to a new name, and leave in its place
one that raises OSError, which numba takes for a missing cache file.
"""

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
    """How numba types and compiles a call of a C function of float64 arguments."""

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


def _serve(function: Callable[..., Any], symbol: str, arity: int) -> None:
    """Let ``function`` of one scalar or three call that C function in ``@njit`` code."""
    typed = _call(symbol)
    # numba reads the number of arguments off a signature, so each is written out
    if arity == 1:
        unary: Any = intrinsic(lambda context, a: typed(a))
        overload(function, strict=False)(
            lambda a: (lambda a: unary(float(a))) if _numbers(a) else None
        )
    else:
        ternary: Any = intrinsic(lambda context, a, b, c: typed(a, b, c))

        def choose(a: Any, b: Any, c: Any) -> Any:
            if not _numbers(a, b, c):
                return None
            return lambda a, b, c: ternary(float(a), float(b), float(c))

        overload(function, strict=False)(choose)


@cache
def register() -> None:
    """Teach numba the functions of :mod:`rsbounds.special`; once for each process."""
    for name in special.__all__:
        if name in symbols:
            _serve(getattr(special, name), symbol(name), symbols[name][1])
