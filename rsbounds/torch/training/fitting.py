"""A seeded training loop, noise augmentation and projected gradient attacks."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from rsbounds._numerics.checks import as_floats, as_integers, count


def fit(
    module: nn.Module,
    loss: Callable[..., torch.Tensor],
    columns: Sequence[torch.Tensor],
    *,
    epochs: int = 10,
    batch_size: int = 100,
    rate: float = 3e-3,
    seed: int = 0,
) -> list[float]:
    """Train a module with AdamW and a cosine schedule; the same weights for the same
    seed.

    Parameters
    ----------
    module : torch.nn.Module
        Holds the parameters to train; left in eval mode.
    loss : callable
        ``loss(*batch)`` with one batch of rows from each column; returns a number.
    columns : sequence of Tensor
        Of one length, such as inputs, labels and noise levels.
    epochs, batch_size, rate
        >= 1, >= 1, and the first learning rate, > 0.
    seed : int
        Seed of order and noise, >= 0; torch's global generator is restored afterwards.

    Returns
    -------
    list of float
        The mean loss of each epoch; ValueError if one isn't finite.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import augment, fit
    >>> x = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    >>> y, model = (x[:, 0] > 0).long(), torch.nn.Linear(2, 2)
    >>> def loss(x, y):
    ...     return torch.nn.functional.cross_entropy(model(augment(x, 0.1)), y)
    >>> history = fit(model, loss, (x, y), epochs=5, rate=0.1)
    >>> history[-1] < history[0]
    True
    """
    rounds, size = count("epochs", epochs, 1), count("batch_size", batch_size, 1)
    as_floats("rate", rate, 0, closed="neither", nan=False)
    lengths = [len(column) for column in columns]
    if len(set(lengths)) != 1 or not lengths[0]:
        raise ValueError(f"columns must have one length, at least 1; got {lengths}")
    batches = -(-len(columns[0]) // size)
    optimizer = torch.optim.AdamW(module.parameters(), rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds * batches)
    history: list[float] = []
    module.train()
    with torch.random.fork_rng():
        torch.manual_seed(count("seed", seed))
        for epoch in range(rounds):
            total = 0.0
            for rows in torch.randperm(len(columns[0])).tensor_split(batches):
                optimizer.zero_grad()
                value = loss(*(column[rows] for column in columns))
                torch.autograd.backward(value)
                optimizer.step()
                schedule.step()
                total += value.item() * len(rows)
            history.append(total / len(columns[0]))
            if not math.isfinite(history[-1]):
                raise ValueError(
                    f"the loss must stay finite; got {history[-1]} in epoch {epoch}"
                )
    module.eval()
    return history


def augment(x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
    """x plus Gaussian noise of one level, or of one level for each row.

    Parameters
    ----------
    x : Tensor, shape (n, ...)
    sigma : float or Tensor, shape (n,)
        Standard deviation, >= 0, in the input's unit; the gradient reaches it.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import augment
    >>> augment(torch.zeros(3, 2), torch.tensor([0.0, 1.0, 2.0]))[0].tolist()
    [0.0, 0.0]
    """
    level = torch.as_tensor(sigma, dtype=x.dtype, device=x.device)
    if not (level >= 0).all():
        raise ValueError(f"sigma must be >= 0; got {level.min().item()}")
    return x + level.reshape(-1, *[1] * (x.ndim - 1)) * torch.randn_like(x)


def soft_vote(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    sigma: float | torch.Tensor,
    samples: int,
) -> torch.Tensor:
    """Mean class probabilities over noisy copies, differentiable; shape (n, classes).

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
    """Projected gradient ascent of an objective inside an l2 or linf ball around each
    input.

    Parameters
    ----------
    objective : callable
        Maps a batch like x to one number for each row, to be made large.
    x : Tensor, shape (n, ...)
    radius : float or Tensor, shape (n,)
        Radius of the ball, >= 0, in the input's unit.
    norm : {2, inf}
        The ball's norm; steps go along the gradient over its l2 norm, or along its
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
    (
        as_integers("steps", steps, 1),
        as_floats("step", step, 0, closed="neither", nan=False),
    )
    shape = (-1, *[1] * (x.ndim - 1))
    limit = (
        torch.as_tensor(radius, dtype=x.dtype, device=x.device).expand(len(x)) * 0.99999
    )
    if not ((limit >= 0) & (limit < math.inf)).all():
        raise ValueError(f"radius must be in [0, inf); got {radius}")
    if box is not None and not ((x >= box[0]) & (x <= box[1])).all():
        raise ValueError(
            f"x must lie in box {box}; got {x.min().item()} to {x.max().item()}"
        )
    limit = limit.reshape(shape)
    delta, best = torch.zeros_like(x), x.clone()
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
