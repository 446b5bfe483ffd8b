"""Inputs that noise or a projected gradient attack has moved."""

import math
from collections.abc import Callable

import torch

from rsbounds._numerics.checks import count, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds.sampling.torch_noise import NO_FLOAT64


def exactly(x: torch.Tensor) -> torch.Tensor:
    """``x`` in float64, or in float32 on a device that has no wider type."""
    return x.float() if x.device.type in NO_FLOAT64 else x.double()


def checked_levels(
    x: torch.Tensor, sigma: float | torch.Tensor, *, zero: bool = False
) -> torch.Tensor:
    """The noise level, or levels of rows; ValueError unless > 0, or >= 0."""
    if zero:
        return _checked("sigma", x, sigma, lambda v: v >= 0, "be >= 0")
    return _checked("sigma", x, sigma, lambda v: v > 0, "be > 0")


def _checked(
    name: str,
    like: torch.Tensor,
    value: float | torch.Tensor,
    good: Callable[[torch.Tensor], torch.Tensor],
    needed: str,
) -> torch.Tensor:
    """``value`` of the type and device of ``like``, if all of it is good.

    A tensor on another device than the CPU is not read, which would wait for it: what
    isn't good becomes NaN there, and the loss with it.
    """
    moved = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    if isinstance(value, torch.Tensor) and value.device.type != "cpu":
        return moved.where(good(moved), torch.nan)
    host = torch.as_tensor(value, dtype=like.dtype, device="cpu")
    bad = ~good(host)
    if bad.any():
        raise ArgumentError(name, f"must {needed}; got {host[bad].min().item()}")
    return moved


def augment(x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
    """Return x plus Gaussian noise of one level, or of one level for each row.

    Parameters
    ----------
    x : Tensor, shape (n, ...)
    sigma : float or Tensor, shape (n,)
        Standard deviation, >= 0, in the input's unit; the gradient reaches it.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import augment
    >>> augment(torch.zeros(3, 2), torch.tensor([0.0, 1.0, 2.0]))[0].tolist()
    [0.0, 0.0]
    """
    level = checked_levels(x, sigma, zero=True)
    return x + level.reshape(-1, *[1] * (x.ndim - 1)) * torch.randn_like(x)


def soft_vote(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    sigma: float | torch.Tensor,
    samples: int,
) -> torch.Tensor:
    """Mean class probabilities over noisy copies, differentiable.

    Parameters
    ----------
    model : callable
        From a batch to scores (n, classes).
    x : tensor, shape (n, ...)
        Inputs.
    sigma : float or tensor, shape (n,)
        Noise level, of all inputs or of each.
    samples : int
        Copies of each input.

    Returns
    -------
    tensor, shape (n, classes)
        In [0, 1], the rows sum to 1.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import soft_vote
    >>> soft_vote(lambda x: x, torch.zeros(5, 2), 1.0, 8).shape
    torch.Size([5, 2])
    """
    copies = count("samples", samples, 1)
    level = levels(x, sigma).repeat_interleave(copies)
    noisy = augment(x.repeat_interleave(copies, 0), level)
    return model(noisy).softmax(1).reshape(len(x), copies, -1).mean(1)


def levels(x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
    """The noise level of each row of a batch."""
    return torch.as_tensor(sigma, dtype=x.dtype, device=x.device).expand(len(x))


def pgd(
    objective: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    radius: float | torch.Tensor,
    *,
    norm: float = 2,
    steps: int = 40,
    step: float = 0.1,
    box: tuple[float, float] | None = None,
) -> torch.Tensor:
    """Projected gradient ascent of an objective in a ball around each input.

    Parameters
    ----------
    objective : callable
        Maps a batch like x to one number for each row, to be made large.
    x : Tensor, shape (n, ...)
    radius : float or Tensor, shape (n,)
        Radius of the ball, >= 0, in the input's unit.
    norm : {2, inf}
        The ball's norm: steps go along the gradient over its l2 norm, or along its
        sign.
    steps, step
        Number of steps, >= 1, and the first one's share of the radius, > 0, which falls
        linearly to a tenth of that.
    box : (float, float), optional
        Range of the input's values to stay in; x lies in it.

    Returns
    -------
    Tensor
        The best point seen for each row, at most 0.99999 ``radius`` away.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import pgd
    >>> moved = pgd(lambda x: x.sum(1), torch.zeros(1, 2), 0.5, norm=float("inf"))
    >>> [round(v, 3) for v in moved[0].tolist()]
    [0.5, 0.5]
    """
    if norm not in (2, math.inf):
        raise ValueError(f"norm must be 2 or inf; got {norm!r}")
    steps = count("steps", steps, 1)
    step = number("step", step, 0, closed="neither")
    shape = (-1, *[1] * (x.ndim - 1))
    limit = _checked(
        "radius", x, radius, lambda v: (v >= 0) & (v < math.inf), "be in [0, inf)"
    )
    limit = (limit.expand(len(x)) * 0.99999).reshape(shape)
    if box is not None:
        low, high = box
        x = _checked("x", x, x, lambda v: (v >= low) & (v <= high), f"lie in box {box}")
    delta = torch.zeros_like(x)
    best = x.clone()
    record = torch.full((len(x),), -torch.inf, dtype=x.dtype, device=x.device)
    for index in range(steps + 1):
        point = (x + delta).detach().requires_grad_()
        values = objective(point)
        better = values.detach() > record
        record = torch.where(better, values.detach(), record)
        best = torch.where(better.reshape(shape), point.detach(), best)
        if index == steps:
            break
        (slope,) = torch.autograd.grad(values.sum(), point)
        size = limit * step * (1 - 0.9 * index / steps)
        if norm == 2:
            delta = delta + size * slope / _length(slope, shape)
            delta = delta * (limit / _length(delta, shape)).clamp(max=1.0)
        else:
            delta = (delta + size * slope.sign()).clamp(min=-limit, max=limit)
        if box is not None:
            delta = (x + delta).clamp(*box) - x
    return best


def _length(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    length: torch.Tensor = torch.linalg.vector_norm(x.flatten(1), dim=1)
    return length.clamp(min=1e-30).reshape(shape)
