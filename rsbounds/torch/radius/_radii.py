"""Radii of tensors: in closed form, or compiled values with implicit gradients."""

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from rsbounds._numerics.checks import as_floats, flag
from rsbounds._numerics.domains import NORM
from rsbounds._numerics.rounding import EPS
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.envelope import LipschitzSigma, SemiElastic, branch_radii, radius
from rsbounds.sampling.torch_noise import wide, wide_device
from rsbounds.torch.radius._slopes import lipschitz_move, semielastic_move, slopes

Number = float | torch.Tensor

_SLACK = NDTRI_ERROR + EPS  # of a score, and of the step by that


def gaussian(
    p_a: Number, sigma: Number, *, p_b: Number | None = None, scores: bool = False
) -> torch.Tensor:
    """:func:`rsbounds.gaussian.radius` in l2: sigma (z_a - z_b)/2.

    Parameters
    ----------
    p_a, p_b : Tensor or float
        Probabilities of the top class and of every other class, in [0, 1]; None means 1
        - p_a.
    sigma : Tensor or float
        Noise level, > 0, in the input's unit.
    scores : bool
        ``p_a`` and ``p_b`` are normal scores.

    Returns
    -------
    Tensor
        Never above the true value; below it by at most 1e-13 sigma (\\|z_a\\| +
        \\|z_b\\|) and a rounding of its type. 0 where p_a <= p_b.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import radius
    >>> p = torch.tensor([0.4, 0.99], dtype=torch.float64, requires_grad=True)
    >>> [round(r, 6) for r in radius.gaussian(p, 0.5).tolist()]
    [0.0, 1.163174]
    """
    tensors, device = _together(p_a=p_a, p_b=p_b, sigma=sigma)
    _require_broadcast(tensors)
    level = inside("sigma", tensors["sigma"], 0.0)
    exact = level * _half_gap(tensors["p_a"], tensors["p_b"], scores) * (1 - 1e-15)
    return round_down(exact, result_type(p_a, p_b, sigma)).to(device)


def anisotropic(
    p_a: Number,
    sigma: torch.Tensor,
    *,
    p_b: Number | None = None,
    norm: float = 2,
    scores: bool = False,
) -> torch.Tensor:
    """:func:`rsbounds.anisotropic.radius`: the largest ball in the ellipsoid.

    Parameters
    ----------
    p_a, p_b, scores
        As in :func:`gaussian`.
    sigma : Tensor, shape (..., d)
        Noise level on each of the d axes, > 0.
    norm : float
        The p of the l_p norm, in [1, inf].

    Returns
    -------
    Tensor
        Errors as in :func:`gaussian`, with 1e-12 in place of 1e-13.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import radius
    >>> sigma = torch.tensor([0.25, 0.5, 1.0], requires_grad=True)
    >>> r = radius.anisotropic(torch.tensor(0.99), sigma, norm=float("inf"))
    >>> round(r.item(), 6)
    0.507651
    """
    norm = NORM.one("norm", norm)
    tensors, device = _together(p_a=p_a, p_b=p_b, sigma=sigma)
    levels = inside("sigma", tensors["sigma"], 0.0)
    if not levels.ndim or not levels.shape[-1]:
        raise ValueError(
            f"sigma must have the axes last; got shape {tuple(levels.shape)}"
        )
    if norm <= 2:
        reach = levels.amin(-1)
    else:
        power = 1 / (0.5 - 1 / norm)
        reach = (-(-power * levels.log()).logsumexp(-1) / power).exp()
    exact = reach * _half_gap(tensors["p_a"], tensors["p_b"], scores) * (1 - 5e-13)
    return round_down(exact, result_type(p_a, p_b, sigma)).to(device)


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
        The library's value, rounded down to the type of the arguments. The relative
        error of its gradient is below 1e-8; at a tie of the two branches it is the
        gradient of either.

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
    tensors, device = _together(p_a=p_a, p_b=p_b, sigma=sigma, rate=rate)
    exact = _exact(_Theory(SemiElastic, semielastic_move, scores), dim, tensors)
    return round_down(exact, result_type(p_a, p_b, sigma, rate)).to(device)


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
    """:func:`rsbounds.lipschitz.radius`, method "exact".

    sigma(x) is Lipschitz and has a floor. Other parameters and returns as in
    :func:`semielastic`.

    Parameters
    ----------
    sigma, lip, sigma_min : Tensor or float
        Level at the input (>= ``sigma_min``, but for a rounding of its type), Lipschitz
        constant of sigma, >= 0, and its floor, >= 0.

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
    tensors, device = _together(
        p_a=p_a, p_b=p_b, sigma=sigma, lip=lip, sigma_min=sigma_min
    )
    level = tensors["sigma"]
    floor = tensors["sigma_min"]
    # a level that lies below its floor by a rounding alone is at it
    lowest = floor * (1 - 2 * torch.finfo(result_type(sigma)).eps)
    near = (level < floor) & (level >= lowest)
    tensors["sigma"] = level + torch.where(near, floor - level, 0.0).detach()
    exact = _exact(_Theory(LipschitzSigma, lipschitz_move, scores), dim, tensors)
    dtype = result_type(p_a, p_b, sigma, lip, sigma_min)
    return round_down(exact, dtype).to(device)


def _half_gap(
    p_a: torch.Tensor, p_b: torch.Tensor | None, scores: bool
) -> torch.Tensor:
    """A lower bound of max(z_a - z_b, 0)/2 in double precision."""
    z_a = _score("p_a", p_a, scores, -_SLACK)
    if p_b is None:
        return z_a.clamp(min=0.0)
    z_b = _score("p_b", p_b, scores, _SLACK)
    return torch.where(z_a <= z_b, 0.0, z_a - z_b) / 2


def _score(name: str, p: torch.Tensor, scores: bool, slack: float) -> torch.Tensor:
    """The score of p, moved outward by its error.

    It has the kernel's value and the slope of torch's function.
    """
    if flag("scores", scores):
        return p
    p = inside(name, p, 0.0, 1.0, closed=True)
    exact = _from_numpy(ndtri(p.detach().cpu().numpy()), p.device)
    # of slope 0 at probabilities 0 and 1
    slope_only = torch.special.ndtri(p.clamp(1e-300, 1 - EPS / 2))
    z = exact + (slope_only - slope_only.detach())
    moved: torch.Tensor = z + slack * z.abs().clamp(max=40.0)  # infinity stays
    return moved


class _Theory(NamedTuple):
    """How sigma may vary, how the extreme level moves, and whether p are scores."""

    envelope: Callable[..., Any]
    move: Callable[..., Any]
    scores: bool


def _exact(theory: _Theory, dim: Any, values: dict[str, Any]) -> torch.Tensor:
    dim = as_floats("dim", dim, 1.0, 1e8)
    try:
        shape = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
            dim.shape, *(x.shape for x in values.values() if x is not None)
        )
    except RuntimeError:
        shapes = ", ".join(
            f"{k} {tuple(x.shape)}" for k, x in values.items() if x is not None
        )
        raise ValueError(f"shapes must broadcast together; got {shapes}") from None
    expanded = (None if x is None else x.expand(shape) for x in values.values())
    exact: torch.Tensor = _TwoPoint.apply(theory, dim, *expanded)  # type: ignore[no-untyped-call]
    return exact


class _TwoPoint(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, theory: _Theory, dim: Any, *tensors: torch.Tensor | None
    ) -> torch.Tensor:
        arrays: list[Any] = [
            None if x is None else x.detach().cpu().numpy() for x in tensors
        ]
        p_a, p_b, sigma, *rest = arrays
        bounds = theory.envelope(*rest)
        with np.errstate(invalid="ignore"):  # tensors carry NaN without a warning
            exact = np.asarray(
                radius(p_a, sigma, bounds, dim, p_b=p_b, scores=theory.scores)
            )
        ctx.theory, ctx.dim, ctx.arrays, ctx.exact = theory, dim, arrays, exact
        device = next(x.device for x in tensors if x is not None)
        return _from_numpy(exact, device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        with np.errstate(invalid="ignore"):
            slopes = _derivatives(ctx.theory, ctx.dim, ctx.exact, *ctx.arrays)
        grads = (
            grad * _from_numpy(slope, grad.device) if needed else None
            for slope, needed in zip(slopes, ctx.needs_input_grad[2:], strict=True)
        )
        return None, None, *grads


def _derivatives(
    theory: _Theory, dim: Any, r: Any, p_a: Any, p_b: Any, sigma: Any, *parameters: Any
) -> list[Any]:
    """Derivatives of the radius by p_a, p_b, sigma and the envelope's parameters."""
    result = [
        None if x is None else np.zeros(r.shape) for x in (p_a, p_b, sigma, *parameters)
    ]
    inside = (r > 0) & np.isfinite(r)
    if not inside.any():
        return result
    a, level, n, *rest = (
        np.broadcast_to(x, r.shape)[inside] for x in (p_a, sigma, dim, *parameters)
    )
    b = None if p_b is None else p_b[inside]
    low, high = branch_radii(
        a, level, theory.envelope(*rest), n, p_b=b, scores=theory.scores
    )
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


def tensor(name: str, value: Number | None) -> torch.Tensor:
    """A tensor or a number in double precision, on a device that has it."""
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            raise ValueError(f"{name} must be real numbers; got {value.dtype}")
        return wide(value)
    return _from_numpy(as_floats(name, cast(float, value)), torch.device("cpu"))


def _from_numpy(array: Any, device: torch.device) -> torch.Tensor:
    """On that device, whatever the default one is."""
    return torch.as_tensor(np.asarray(array), device=device)


def _together(**arguments: Number | None) -> tuple[dict[str, Any], torch.device]:
    """The arguments in double precision on one device, and where the result belongs.

    That is where the first tensor is that isn't on the CPU.
    """
    devices = [x.device for x in arguments.values() if isinstance(x, torch.Tensor)]
    home = next((d for d in devices if d.type != "cpu"), torch.device("cpu"))
    values = {
        name: None if name == "p_b" and x is None else tensor(name, x)
        for name, x in arguments.items()
    }
    values = {
        name: None if x is None else x.to(wide_device(home))
        for name, x in values.items()
    }
    return values, home


def _require_broadcast(tensors: Mapping[str, torch.Tensor | None]) -> None:
    shapes = {name: tuple(x.shape) for name, x in tensors.items() if x is not None}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        known = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"shapes must broadcast together; got {known}") from None


def inside(
    name: str,
    x: torch.Tensor,
    low: float,
    high: float = torch.inf,
    *,
    closed: bool = False,
) -> torch.Tensor:
    """``x`` if all of it lies in the interval or is NaN, or ValueError."""
    good = ((x >= low) & (x <= high)) if closed else ((x > low) & (x < high))
    bad = ~(good | x.isnan())
    if bad.any():
        ends = f"[{low:g}, {high:g}]" if closed else f"({low:g}, {high:g})"
        raise ValueError(
            f"{name} must be in {ends}; got {int(bad.sum())} of {bad.numel()} values "
            f"outside, the first {x[bad][0].item()}"
        )
    return x


def result_type(*arguments: Number | None) -> torch.dtype:
    """The tensors' common type, at least float32; double where none is a tensor."""
    types = [x.dtype for x in arguments if isinstance(x, torch.Tensor)]
    return reduce(torch.promote_types, types, torch.float32) if types else torch.float64


def round_down(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A double in another type, never above itself; gradients pass."""
    near = exact.to(dtype)
    with torch.no_grad():
        below = near.nextafter(torch.full_like(near, -torch.inf))
        step = torch.where(near.double() > exact, below - near, 0.0)
    return near + step
