"""The special functions of ``rsbounds.special`` for use in numba's ``@njit`` code.

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
from inspect import Parameter, Signature
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from rsbounds import special
from rsbounds.special.internal import ERROR_KINDS
from rsbounds_ext.kernels import symbols

INTERFACE = 1


def symbol(name: str) -> str:
    return f"rsbounds_{INTERFACE}_{name}"


for _name, (_address, _) in symbols.items():
    binding.add_symbol(symbol(_name), _address)


def _intrinsic(symbol: str, arity: int) -> Any:
    """What jitted code calls: a C function of that many float64 arguments.

    numba converts integers and float32 to the float64 of the signature.
    """

    def typed(context: Any, *args: Any) -> Any:
        signature = types.float64(*([types.float64] * len(args)))

        def codegen(context: Any, builder: Any, _: Any, values: Any) -> Any:
            double = ir.DoubleType()
            function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, ir.FunctionType(double, [double] * len(values)), symbol
            )
            return builder.call(function, values)

        return signature, codegen

    # numba asks the signature how many arguments there are
    names = ["context", *(f"argument_{i}" for i in range(arity))]
    parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    typed.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic(typed)


def _serve(function: Callable[..., Any], symbol: str, arity: int) -> None:
    """Let ``function`` of that many scalars call that C function in ``@njit`` code."""
    call = _intrinsic(symbol, arity)

    def choose(*args: Any) -> Any:
        numbers = all(isinstance(a, (types.Integer, types.Float)) for a in args)
        if len(args) != arity or not numbers:
            return None
        return lambda *args: call(*args)

    overload(function, strict=False)(choose)


@cache
def register() -> None:
    """Teach numba the functions of :mod:`rsbounds.special`; once for each process."""
    for name in ERROR_KINDS:
        _, arity = symbols[name]
        _serve(getattr(special, name), symbol(name), arity)
