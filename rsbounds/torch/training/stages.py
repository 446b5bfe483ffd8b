"""Train the stages of a cascade: which inputs earlier stages pass on, and labels for routers."""

from __future__ import annotations

from collections.abc import Callable

import torch

from rsbounds._numerics.checks import count, number, real
from rsbounds.torch.training.fitting import augment, evaluating

__all__ = ["passed_on", "soft_labels"]


def passed_on(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    sigma: float,
    threshold: float = 0.0,
    *,
    samples: int = 64,
    batch: int = 1000,
) -> torch.Tensor:
    """Which inputs a stage passes on: no class has sigma Phi^-1(share of votes) > threshold.

    The next stage sees nothing but ``x[mask]``: fine-tune its expert on that.

    Parameters
    ----------
    model : callable
        The stage's classifier: maps a batch to class scores; in eval mode during this.
    x : Tensor, shape (n, ...)
    sigma : float
        The stage's noise level, > 0.
    threshold : float
        That of the stage's condition on scores, in the input's unit; 0 asks for a majority.
    samples, batch : int
        Votes for each input, and noisy copies classified at once, >= 1.

    Returns
    -------
    Tensor of bool, shape (n,)

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import passed_on
    >>> x = torch.tensor([[9.0], [0.01]])
    >>> passed_on(lambda x: torch.cat([x, -x], 1), x, 1.0, 0.5).tolist()
    [False, True]
    """
    level = float(real("sigma", sigma, 0, closed="neither", nan=False))
    votes, size = count("samples", samples, 1), count("batch", batch, 1)
    least = torch.special.ndtr(
        torch.tensor(number("threshold", threshold) / level, dtype=torch.float64)
    ).item()
    shares = []
    with torch.no_grad(), evaluating(model):
        for part in torch.split(x, max(size // votes, 1)):
            scores = model(augment(part.repeat_interleave(votes, 0), level))
            labels = scores.argmax(1).reshape(len(part), votes)
            counts = torch.zeros(len(part), scores.shape[1], device=x.device)
            shares.append(counts.scatter_add_(1, labels, torch.ones_like(labels).to(counts)))
    mask: torch.Tensor = torch.cat(shares).amax(1) <= least * votes
    return mask


def soft_labels(
    y: torch.Tensor, classes: int, hard: torch.Tensor, *, keep: float = 0.3
) -> torch.Tensor:
    """Labels for a router: one-hot, but mostly uniform where an input is hard.

    Trained on them by ``cross_entropy``, a stage learns to have no majority on hard inputs and so
    to pass them on.

    Parameters
    ----------
    y : Tensor of int, shape (n,)
    classes : int
        >= 2.
    hard : Tensor of bool, shape (n,)
        Such as those for which the plain network has no majority: :func:`passed_on`.
    keep : float
        Weight of the true class on hard inputs, besides its part of the uniform rest, in [0, 1].

    Returns
    -------
    Tensor, shape (n, classes)
        Rows that sum to 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import soft_labels
    >>> soft_labels(torch.tensor([0, 1]), 2, torch.tensor([False, True]), keep=0.5)
    tensor([[1.0000, 0.0000],
            [0.2500, 0.7500]])
    """
    count("classes", classes, 2), real("keep", keep, 0, 1, nan=False)
    weight = torch.where(hard, keep, 1.0)[:, None]
    return weight * torch.nn.functional.one_hot(y, classes) + (1 - weight) / classes
