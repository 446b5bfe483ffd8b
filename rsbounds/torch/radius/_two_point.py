"""Radii of noise levels that depend on the input: compiled values, implicit gradients."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from rsbounds._numerics.checks import as_floats
from rsbounds.envelope import LipschitzSigma, SemiElastic, branch_radii, radius
from rsbounds.special import ndtri
from rsbounds.torch.radius._closed import Number, result_type, round_down, tensor
from rsbounds.torch.radius._slopes import lipschitz_move, semielastic_move, slopes


def semielastic(
    p_a: Number,
    sigma: Number,
    rate: Number,
    dim: Any,
    *,
    p_b: Number | None = None,
    scores: bool = False,
) -> torch.Tensor:
    """:func:`rsbounds.semielastic.radius`: log sigma(x) is ``rate``-Lipschitz.

    Parameters
    ----------
    p_a, p_b, scores
        As in :func:`rsbounds.torch.radius.gaussian`.
    sigma, rate : Tensor or float
        Level at the input, > 0, and rate, >= 0.
    dim : float or array
        Dimension of the input, in [1, 1e8].

    Returns
    -------
    Tensor
        The library's value, rounded down to the type of the arguments. The relative error of its
        gradient is below 1e-8; at a tie of the two branches it is the gradient of either.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import radius
    >>> rate = torch.tensor(0.01, dtype=torch.float64, requires_grad=True)
    >>> r = radius.semielastic(0.99, 0.25, rate, 784)
    >>> r.backward()
    >>> round(r.item(), 6), round(rate.grad.item(), 4)
    (0.578751, -0.5642)
    """
    given = {"p_a": p_a, "p_b": p_b, "sigma": sigma, "rate": rate}
    exact = _exact(_Theory(SemiElastic, semielastic_move, scores), dim, given)
    return round_down(exact, result_type(*given.values()))


def lipschitz(
    p_a: Number,
    sigma: Number,
    *,
    lip: Number,
    sigma_min: Number,
    dim: Any,
    p_b: Number | None = None,
    scores: bool = False,
) -> torch.Tensor:
    """:func:`rsbounds.lipschitz.radius`, method "exact": sigma(x) is Lipschitz and has a floor.

    Other parameters and returns as in :func:`semielastic`.

    Parameters
    ----------
    sigma, lip, sigma_min : Tensor or float
        Level at the input (>= ``sigma_min``, but for a rounding of its type), Lipschitz constant
        of sigma, >= 0, and its floor, >= 0.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import radius
    >>> sigma = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    >>> r = radius.lipschitz(0.99, sigma, lip=0.01, sigma_min=0.25, dim=784)
    >>> r.backward()
    >>> round(r.item(), 4), round(sigma.grad.item(), 4)
    (1.081, 2.1621)
    """
    given = {"p_a": p_a, "p_b": p_b, "sigma": sigma, "lip": lip, "sigma_min": sigma_min}
    dtype = result_type(*given.values())
    # a level that lies below its floor by a rounding alone is at it
    level, floor = tensor("sigma", sigma), tensor("sigma_min", sigma_min)
    near = (level < floor) & (level >= floor * (1 - 2 * torch.finfo(result_type(sigma)).eps))
    given["sigma"] = level + torch.where(near, floor - level, 0.0).detach()
    return round_down(_exact(_Theory(LipschitzSigma, lipschitz_move, scores), dim, given), dtype)


class _Theory(NamedTuple):
    """How sigma may vary, how the extreme level moves with the radius, and whether p are scores."""

    envelope: Callable[..., Any]
    move: Callable[..., Any]
    scores: bool


def _exact(theory: _Theory, dim: Any, given: dict[str, Number | None]) -> torch.Tensor:
    values = {name: None if x is None else tensor(name, x) for name, x in given.items()}
    dim = as_floats("dim", dim, 1.0, 1e8)
    try:
        shape = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
            dim.shape, *(x.shape for x in values.values() if x is not None)
        )
    except RuntimeError:
        shapes = ", ".join(f"{k} {tuple(x.shape)}" for k, x in values.items() if x is not None)
        raise ValueError(f"shapes must broadcast together; got {shapes}") from None
    expanded = (None if x is None else x.expand(shape) for x in values.values())
    exact: torch.Tensor = _TwoPoint.apply(theory, dim, *expanded)  # type: ignore[no-untyped-call]
    return exact


class _TwoPoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, theory: _Theory, dim: Any, *given: torch.Tensor | None) -> torch.Tensor:
        arrays: list[Any] = [None if x is None else x.detach().cpu().numpy() for x in given]
        p_a, p_b, sigma, *rest = arrays
        bounds = theory.envelope(*rest)
        exact = np.asarray(radius(p_a, sigma, bounds, dim, p_b=p_b, scores=theory.scores))
        ctx.theory, ctx.dim, ctx.arrays, ctx.exact = theory, dim, arrays, exact
        devices = [x.device for x in given if x is not None]
        device = next((d for d in devices if d.type != "cpu"), devices[0])
        return torch.as_tensor(exact, device=device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        each = zip(
            _derivatives(ctx.theory, ctx.dim, ctx.exact, *ctx.arrays),
            ctx.needs_input_grad[2:],
            strict=True,
        )
        grads = (
            grad * torch.as_tensor(slope, device=grad.device) if needed else None
            for slope, needed in each
        )
        return None, None, *grads


def _derivatives(
    theory: _Theory, dim: Any, r: Any, p_a: Any, p_b: Any, sigma: Any, *parameters: Any
) -> list[Any]:
    """Derivatives of the radius by p_a, p_b, sigma and the envelope's parameters."""
    result = [None if x is None else np.zeros(r.shape) for x in (p_a, p_b, sigma, *parameters)]
    inside = (r > 0) & np.isfinite(r)
    if not inside.any():
        return result
    a, level, n, *rest = (
        np.broadcast_to(x, r.shape)[inside] for x in (p_a, sigma, dim, *parameters)
    )
    b = None if p_b is None else p_b[inside]
    low, high = branch_radii(a, level, theory.envelope(*rest), n, p_b=b, scores=theory.scores)
    up = high <= low
    z_a = a if theory.scores else np.asarray(ndtri(a))
    z_b = -z_a if b is None else b if theory.scores else np.asarray(ndtri(b))
    moved = theory.move(r[inside], level, up, *rest)
    by_a, by_b, *others = slopes(r[inside], z_a, z_b, level, n, up, moved)
    if not theory.scores:  # dz/dp is 1 over the density
        with np.errstate(over="ignore"):
            by_a *= np.exp(z_a**2 / 2) * math.sqrt(2 * math.pi)
            by_b *= np.exp(z_b**2 / 2) * math.sqrt(2 * math.pi)
    if b is None:  # p_b = 1 - p_a falls as p_a rises
        by_a = by_a - by_b
    for place, slope in zip(result, (by_a, by_b, *others), strict=True):
        if place is not None:
            place[inside] = slope
    return result
