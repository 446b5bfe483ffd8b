"""What surrounds a network: the input's own range outside, the network's normalisation inside."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from rsbounds.loading.models import logits


class Classifier(nn.Module):
    """Scores of ``net`` at ``(x - shift) / spread``.

    Noise is added to x, so that it lives in the input's own range; the mean and standard
    deviation that the network was trained with are applied afterwards, here.
    Parameters are those of :class:`rsbounds.loading.models.ArrayClassifier`.
    """

    def __init__(
        self, net: nn.Module, shift: NDArray[Any] | None = None, spread: NDArray[Any] | None = None
    ) -> None:
        super().__init__()
        self.net = net
        self.shift: torch.Tensor | None
        self.spread: torch.Tensor | None
        for name, value in (("shift", shift), ("spread", spread)):
            tensor = None if value is None else torch.from_numpy(value.copy())
            self.register_buffer(name, tensor, persistent=False)

    def forward(self, x: torch.Tensor) -> Any:
        """Scores (count, classes) of a batch (count, *shape of x)."""
        if self.shift is not None and self.spread is not None:
            x = (x - self.shift.to(x.dtype)) / self.spread.to(x.dtype)
        return logits(self.net(x))
