"""Text classifiers of transformers: token numbers in, scores out."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.errors import ArgumentError


class TextClassifier(nn.Module):
    """A sequence classifier of transformers on token numbers alone.

    Its own tokens, such as [CLS] and [SEP], stand before and behind what is there of a
    sequence, out of reach of noise and attack.

    Parameters
    ----------
    net : torch.nn.Module
        Called with ``input_ids`` and ``attention_mask``; its ``config`` names the
        padding.
    prefix, suffix : sequence of int
        Token numbers put before and behind each sequence.
    """

    def __init__(self, net: Any, prefix: Any = (), suffix: Any = ()) -> None:
        super().__init__()
        self.net = net
        padding = getattr(net.config, "pad_token_id", None)
        self.padding = None if padding is None else int(padding)
        self.prefix = _tokens("prefix", prefix)
        self.suffix = _tokens("suffix", suffix)

    @property
    def named_by(self) -> Any:
        """The module whose names a checkpoint's tensors have."""
        return self.net

    def forward(
        self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None
    ) -> Any:
        """Scores (count, classes) of token numbers (count, length).

        Without a mask all are there but the padding at the end.
        """
        ids = ids.long()
        self._require_known(ids)
        if attention_mask is not None:
            there = attention_mask.bool()
            ids = ids.masked_fill(~there, self.padding or 0)
        elif self.padding is None:
            there = torch.ones_like(ids, dtype=torch.bool)
        else:
            # a token that equals the padding may stand between others
            shown = ids != self.padding
            there = shown.flip(1).cumsum(1).flip(1) > 0
        ids, there = self._enclosed(ids, there)
        return self.net(input_ids=ids, attention_mask=there.long())

    def _require_known(self, ids: torch.Tensor) -> None:
        """Raise ArgumentError for a number that is no token of the model."""
        size = getattr(self.net.config, "vocab_size", None)
        if size is None or not ids.numel() or 0 <= ids.min() <= ids.max() < size:
            return
        wrong = ids[(ids < 0) | (ids >= size)][0].item()
        raise ArgumentError(
            "data", f"must be tokens of the model, 0 to {size - 1}; got {wrong}"
        )

    def _enclosed(
        self, ids: torch.Tensor, there: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Token numbers with prefix and suffix, and which are there."""
        if not self.prefix and not self.suffix:
            return ids, there
        rows = len(ids)
        before = ids.new_tensor(self.prefix).expand(rows, -1)
        behind = ids.new_full((rows, len(self.suffix)), self.padding or 0)
        longer = torch.cat([before, ids, behind], 1)
        length = there.sum(1, keepdim=True) + len(self.prefix)
        for number, token in enumerate(self.suffix):
            longer.scatter_(1, length + number, token)
        place = torch.arange(longer.shape[1], device=ids.device)
        return longer, place < length + len(self.suffix)


def _tokens(name: str, value: Any) -> tuple[int, ...]:
    numbers: Sequence[int] = [value] if isinstance(value, int) else value
    tokens = as_integers(name, numbers) if len(numbers) else as_integers(name, [0])[:0]
    if tokens.ndim != 1:
        raise ArgumentError(name, f"must be token numbers; got {value!r}")
    return tuple(tokens.tolist())
