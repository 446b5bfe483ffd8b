"""Whether the rows of a batch are classified each for itself."""

from __future__ import annotations

from collections.abc import Callable

import torch


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
    alone = score(row.expand_as(batch).contiguous())[middle].double()
    among = scores[middle].double()
    tolerance = torch.finfo(scores.dtype).eps ** 0.5 if scores.is_floating_point() else 0.0
    same = alone == among  # of infinities too
    largest = among.abs().nan_to_num(0.0, posinf=0.0).max()
    close = (alone - among).abs() <= tolerance * largest
    if not bool((same | close | (alone.isnan() & among.isnan())).all()):
        apart = float((alone - among).abs().max())
        raise ValueError(
            "the model must score each row for itself, without chance; the scores of a row "
            f"among {len(batch) - 1} others differ by {apart:.3g} from those in a batch of its "
            "copies (batch statistics, or random layers?)"
        )
