"""The special functions in JAX, with their derivatives as rules (``jax.custom_jvp``).

Each function takes arrays or numbers that broadcast, under ``jit``, ``vmap``, ``grad``
and ``jvp``; it is computed on the host by :mod:`rsbounds.special`, through
``jax.pure_callback``. As in JAX's own functions, an element outside its domain is NaN,
and numbers have the digits of JAX's type: float64 where ``jax_enable_x64`` is set, to
which alone the error bounds apply, else float32. Derivatives are the closed forms of
:mod:`rsbounds.special.derivatives` (difference quotients in df, within 1e-7), and have
no derivatives themselves.

Examples
--------
>>> import jax
>>> from rsbounds.jax import ncx2_logsf
>>> with jax.enable_x64(True):
...     slope = jax.jit(jax.grad(ncx2_logsf, argnums=2))(2e6, 150528.0, 1e6)
>>> print(f"{slope:.9f}")
0.170477067
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rsbounds import special
from rsbounds._numerics.checks import Floats
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.special.internal import arguments_of, partials_of

_jax: Any = need("jax", "rsbounds.jax")
_jnp: Any = need("jax.numpy", "rsbounds.jax")
_SymbolicZero: Any = need("jax.custom_derivatives", "rsbounds.jax").SymbolicZero

Function = Callable[..., Floats]


def _on_host(function: Function) -> Callable[..., Any]:
    """The function of JAX's arrays of one shape, without a derivative."""

    def compute(*arrays: Any) -> Any:
        with special.errstate(domain="nan"), np.errstate(all="ignore"):
            value = function(*(np.asarray(a, dtype=np.float64) for a in arrays))
            return np.asarray(value, dtype=arrays[0].dtype)

    def call(*arrays: Any) -> Any:
        like = _jax.ShapeDtypeStruct(arrays[0].shape, arrays[0].dtype)
        return _jax.pure_callback(compute, like, *arrays, vmap_method="broadcast_all")

    return call


def _first_alone(partial: Function) -> Callable[..., Any]:
    """A derivative, which has none itself."""
    call = _jax.custom_jvp(_on_host(partial))

    @call.defjvp  # type: ignore[untyped-decorator]
    def refuse(primals: Any, tangents: Any) -> Any:
        raise TypeError("rsbounds.jax has first derivatives alone")

    result: Callable[..., Any] = call
    return result


def _rule(function: Function) -> Callable[..., Any]:
    """The function on JAX's arrays, with the derivatives that are named after it."""
    name = function.__name__
    names = arguments_of(function)
    partials = [p and _first_alone(p) for p in partials_of(function)]
    elementwise = _jax.custom_jvp(_on_host(function))

    def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        value = elementwise(*primals)
        slope = _jnp.zeros_like(value)
        for key, partial, tangent in zip(names, partials, tangents, strict=True):
            if isinstance(tangent, _SymbolicZero):
                continue
            if partial is None:
                raise ArgumentError(
                    key,
                    f"must not be differentiated by: {name} has no derivative in it; "
                    "use jax.lax.stop_gradient",
                )
            slope = slope + partial(*primals) * tangent
        return value, slope

    elementwise.defjvp(jvp, symbolic_zeros=True)

    def on_arrays(*args: Any) -> Any:
        if len(args) != len(names):
            raise TypeError(f"{name}() takes {', '.join(names)}; got {len(args)}")
        arrays = [_as_floats(*pair) for pair in zip(names, args, strict=True)]
        return elementwise(*_jnp.broadcast_arrays(*arrays))

    on_arrays.__name__ = on_arrays.__qualname__ = name
    on_arrays.__doc__ = (
        f"``rsbounds.special.{name}`` of JAX's arrays: {', '.join(names)}."
    )
    return on_arrays


def _as_floats(name: str, value: Any) -> Any:
    kind = getattr(value, "dtype", type(value))
    real = kind in (int, float) or (
        isinstance(kind, np.dtype)
        and (_jnp.issubdtype(kind, np.integer) or _jnp.issubdtype(kind, np.floating))
    )
    if not real:
        type_name = kind.__name__ if isinstance(kind, type) else kind
        raise ArgumentError(name, f"must be real numbers; got {type_name}")
    return _jnp.asarray(value, dtype=_jnp.result_type(float))


log_ndtr = _rule(special.log_ndtr)
marcum_logp = _rule(special.marcum_logp)
marcum_logq = _rule(special.marcum_logq)
marcum_p = _rule(special.marcum_p)
marcum_q = _rule(special.marcum_q)
ncx2_cdf = _rule(special.ncx2_cdf)
ncx2_df = _rule(special.ncx2_df)
ncx2_df_exp = _rule(special.ncx2_df_exp)
ncx2_df_sf = _rule(special.ncx2_df_sf)
ncx2_df_sf_exp = _rule(special.ncx2_df_sf_exp)
ncx2_isf = _rule(special.ncx2_isf)
ncx2_isf_exp = _rule(special.ncx2_isf_exp)
ncx2_logcdf = _rule(special.ncx2_logcdf)
ncx2_logpdf = _rule(special.ncx2_logpdf)
ncx2_logsf = _rule(special.ncx2_logsf)
ncx2_nc = _rule(special.ncx2_nc)
ncx2_nc_exp = _rule(special.ncx2_nc_exp)
ncx2_nc_sf = _rule(special.ncx2_nc_sf)
ncx2_nc_sf_exp = _rule(special.ncx2_nc_sf_exp)
ncx2_pdf = _rule(special.ncx2_pdf)
ncx2_ppf = _rule(special.ncx2_ppf)
ncx2_ppf_exp = _rule(special.ncx2_ppf_exp)
ncx2_sf = _rule(special.ncx2_sf)
ndtr = _rule(special.ndtr)
ndtri = _rule(special.ndtri)
ndtri_exp = _rule(special.ndtri_exp)

__all__ = [
    "log_ndtr",
    "marcum_logp",
    "marcum_logq",
    "marcum_p",
    "marcum_q",
    "ncx2_cdf",
    "ncx2_df",
    "ncx2_df_exp",
    "ncx2_df_sf",
    "ncx2_df_sf_exp",
    "ncx2_isf",
    "ncx2_isf_exp",
    "ncx2_logcdf",
    "ncx2_logpdf",
    "ncx2_logsf",
    "ncx2_nc",
    "ncx2_nc_exp",
    "ncx2_nc_sf",
    "ncx2_nc_sf_exp",
    "ncx2_pdf",
    "ncx2_ppf",
    "ncx2_ppf_exp",
    "ncx2_sf",
    "ndtr",
    "ndtri",
    "ndtri_exp",
]


def __dir__() -> list[str]:
    return sorted(__all__)
