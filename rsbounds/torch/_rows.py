"""Rows of scores: whether each is its own, and alike in batches of any shape; their counts."""

from __future__ import annotations

from collections.abc import Callable

import torch

from rsbounds.sampling.rows import require_same_row


def tolerance(scores: torch.Tensor) -> float:
    """What a row's scores may move by in another batch, relative to the largest of them."""
    return float(torch.finfo(scores.dtype).eps ** 0.5) if scores.is_floating_point() else 0.0


def require_independent(
    score: Callable[[torch.Tensor], torch.Tensor], batch: torch.Tensor, scores: torch.Tensor
) -> None:
    """ValueError if a row's scores change when the other rows of its batch do.

    The row in the middle is scored again in a batch of the same shape that holds nothing else:
    no other kernel runs, and nothing is compiled again. The tolerance is the square root of
    the scores' machine epsilon, relative to the largest score of the row.
    """
    middle = len(batch) // 2
    row = batch[middle : middle + 1]
    alone = score(row.expand_as(batch).contiguous())[middle].double().cpu().numpy()
    among = scores[middle].double().cpu().numpy()
    require_same_row(alone, among, len(batch), tolerance(scores))


def agree(scores: torch.Tensor, others: torch.Tensor) -> bool:
    """Whether scores of the same rows from batches of two shapes are an eighth as near as that."""
    largest = others.abs().amax(1, keepdim=True)
    near = (scores - others).abs() <= tolerance(scores) / 8 * largest
    return bool((near | (scores == others) | (scores.isnan() & others.isnan())).all())


def doubtful(scores: torch.Tensor) -> torch.Tensor:
    """For each row, whether its class could be another if its scores moved by the tolerance."""
    first, second = scores.topk(2, dim=1).values.T
    sure: torch.Tensor = first - second > 2 * tolerance(scores) * scores.abs().amax(1)
    return ~sure  # where a score is not finite too


def tally(
    scores: torch.Tensor, void: torch.Tensor, owner: torch.Tensor | int, owners: int
) -> torch.Tensor:
    """Counts of the classes for each owner of rows, shape (owners, classes)."""
    classes = scores.shape[1]
    void = void | scores.isnan().any(1)
    label = scores.argmax(1).masked_fill_(void, classes) + owner * (classes + 1)
    counts = torch.zeros(owners * (classes + 1), dtype=torch.int64, device=scores.device)
    counts.scatter_add_(0, label, torch.ones_like(label))
    return counts.view(owners, classes + 1)[:, :classes]
