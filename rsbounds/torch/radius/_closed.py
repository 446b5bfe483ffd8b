"""Radii in closed form, of noise that is the same at every input; arguments as tensors."""

from functools import reduce

import numpy as np
import torch

from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.rounding import EPS
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri

Number = float | torch.Tensor

_SLACK = NDTRI_ERROR + EPS  # of a score, and of the step by that


def gaussian(
    p_a: Number, sigma: Number, *, p_b: Number | None = None, scores: bool = False
) -> torch.Tensor:
    """:func:`rsbounds.gaussian.radius` in l2: sigma (z_a - z_b)/2.

    Parameters
    ----------
    p_a, p_b : Tensor or float
        Probabilities of the top class and of every other class, in [0, 1]; None means 1 - p_a.
    sigma : Tensor or float
        Noise level, > 0, in the input's unit.
    scores : bool
        ``p_a`` and ``p_b`` are normal scores.

    Returns
    -------
    Tensor
        Never above the true value; below it by at most 1e-13 sigma (\\|z_a\\| + \\|z_b\\|) and a
        rounding of its type. 0 where p_a <= p_b.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import radius
    >>> p = torch.tensor([0.4, 0.99], dtype=torch.float64, requires_grad=True)
    >>> [round(r, 6) for r in radius.gaussian(p, 0.5).tolist()]
    [0.0, 1.163174]
    """
    level = inside("sigma", tensor("sigma", sigma), 0.0)
    exact = level * _half_gap(p_a, p_b, scores) * (1 - 1e-15)
    return round_down(exact, result_type(p_a, p_b, sigma))


def anisotropic(
    p_a: Number,
    sigma: torch.Tensor,
    *,
    p_b: Number | None = None,
    norm: float = 2,
    scores: bool = False,
) -> torch.Tensor:
    """:func:`rsbounds.anisotropic.radius`: the largest l_p ball in the certified ellipsoid.

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
    >>> round(radius.anisotropic(torch.tensor(0.99), sigma, norm=float("inf")).item(), 6)
    0.507651
    """
    as_floats("norm", norm, 1.0, nan=False)
    levels = inside("sigma", tensor("sigma", sigma), 0.0)
    if not levels.ndim or not levels.shape[-1]:
        raise ValueError(f"sigma must have the axes last; got shape {tuple(levels.shape)}")
    if norm <= 2:
        reach = levels.amin(-1)
    else:
        power = 1 / (0.5 - 1 / norm)
        reach = (-(-power * levels.log()).logsumexp(-1) / power).exp()
    exact = reach * _half_gap(p_a, p_b, scores) * (1 - 5e-13)
    return round_down(exact, result_type(p_a, p_b, sigma))


def _half_gap(p_a: Number, p_b: Number | None, scores: bool) -> torch.Tensor:
    """A lower bound of max(z_a - z_b, 0)/2 in double precision."""
    z_a = _score("p_a", p_a, scores, -_SLACK)
    if p_b is None:
        return z_a.clamp(min=0.0)
    z_b = _score("p_b", p_b, scores, _SLACK)
    return torch.where(z_a <= z_b, 0.0, z_a - z_b) / 2


def _score(name: str, p: Number, scores: bool, slack: float) -> torch.Tensor:
    """The score of p, moved outward by its error: the kernel's value with the slope of torch's."""
    if scores:
        return tensor(name, p)
    p = inside(name, tensor(name, p), 0.0, 1.0, closed=True)
    exact = torch.as_tensor(np.asarray(ndtri(p.detach().cpu().numpy())), device=p.device)
    slope_only = torch.special.ndtri(p.clamp(1e-300, 1 - EPS / 2))  # 0 at probabilities 0 and 1
    z = exact + (slope_only - slope_only.detach())
    moved: torch.Tensor = z + slack * z.abs().clamp(max=40.0)  # infinity stays
    return moved


def tensor(name: str, value: Number) -> torch.Tensor:
    """A tensor or a number in double precision."""
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            raise ValueError(f"{name} must be real numbers; got {value.dtype}")
        return value.double()
    return torch.as_tensor(np.asarray(as_floats(name, value)))


def inside(
    name: str, x: torch.Tensor, low: float, high: float = torch.inf, *, closed: bool = False
) -> torch.Tensor:
    """``x`` if all of it lies in the interval or is NaN, or ValueError."""
    good = ((x >= low) & (x <= high)) if closed else ((x > low) & (x < high))
    bad = ~(good | x.isnan())
    if bad.any():
        ends = f"[{low:g}, {high:g}]" if closed else f"({low:g}, {high:g})"
        raise ValueError(
            f"{name} must be in {ends}; got {int(bad.sum())} of {bad.numel()} values outside, "
            f"the first {x[bad][0].item()}"
        )
    return x


def result_type(*given: Number | None) -> torch.dtype:
    """That of the tensors among the arguments, at least float32; double without any."""
    types = [x.dtype for x in given if isinstance(x, torch.Tensor)]
    return reduce(torch.promote_types, types, torch.float32) if types else torch.float64


def round_down(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A double in another type, never above itself; gradients pass."""
    near = exact.to(dtype)
    with torch.no_grad():
        below = near.nextafter(torch.full_like(near, -torch.inf))
        step = torch.where(near.double() > exact, below - near, 0.0)
    return near + step
