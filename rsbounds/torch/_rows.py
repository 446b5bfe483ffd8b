"""Rows of scores: whether each is its own, and their counts."""

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


def tally(scores: torch.Tensor, void: torch.Tensor) -> torch.Tensor:
    """Counts of the classes, shape (classes,); rows that are void or hold a NaN count for none."""
    classes = scores.shape[1]
    label = scores.argmax(1).masked_fill_(void | scores.isnan().any(1), classes)
    counts = torch.zeros(classes + 1, dtype=torch.int64, device=scores.device)
    counts.scatter_add_(0, label, torch.ones_like(label))
    return counts[:classes]
