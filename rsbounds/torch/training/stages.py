"""Training the stages of a cascade: what earlier stages pass on, reject classes, soft labels."""

from __future__ import annotations

from collections.abc import Callable

import torch

from rsbounds._numerics.checks import count, number, real
from rsbounds.torch.training.fitting import augment, evaluating

__all__ = ["passed_on", "reject_labels", "soft_labels"]


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

    Fine-tune an expert for the next stage on ``x[mask], y[mask]``: it is all that it will see.

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

    Raises
    ------
    ValueError
        An argument outside its domain.

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
    """Labels for a router: one-hot, but where an input is hard mostly uniform.

    A stage that is trained on them learns to have no majority on hard inputs, and so to pass
    them on; ``cross_entropy`` takes them as they are.

    Parameters
    ----------
    y : Tensor of int, shape (n,)
    classes : int
        >= 2.
    hard : Tensor of bool, shape (n,)
        Such as those of which the plain network under the stage's noise gives the true class
        less than half.
    keep : float
        Weight of the true class on hard inputs, besides its part of the uniform rest, in [0, 1].

    Returns
    -------
    Tensor, shape (n, classes)
        Rows that sum to 1.

    Raises
    ------
    ValueError
        An argument outside its domain.

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


def reject_labels(y: torch.Tensor, classes: int, hard: torch.Tensor) -> torch.Tensor:
    """Labels for a network with one class more: hard inputs go to that class.

    Its votes count against every class, in margins as in shares, and a stage whose reject class
    leads passes the input on; as the answer of a whole classifier it means to abstain.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch.training import reject_labels
    >>> reject_labels(torch.tensor([0, 1]), 2, torch.tensor([False, True])).tolist()
    [0, 2]
    """
    if not (y < count("classes", classes, 2)).all():
        raise ValueError(f"y must be below classes = {classes}; got {int(y.max())}")
    return torch.where(hard, classes, y)
