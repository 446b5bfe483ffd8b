"""Samplers of real outputs and of maps over torch modules. Not loaded without one."""

from __future__ import annotations

from typing import Any

import torch

from rsbounds.sampling.outputs import Kind, checked_shape
from rsbounds.sampling.torch_modules import TorchSampler


class _Rows:
    """Blocks of outputs that are added one after the other."""

    def __init__(self, blocks: list[torch.Tensor]) -> None:
        self.blocks = blocks

    def __add__(self, other: _Rows) -> _Rows:
        return _Rows([*self.blocks, *other.blocks])

    def __radd__(self, none: Any) -> _Rows:  # the sum begins with zero
        return self

    def cpu(self) -> torch.Tensor:
        return torch.cat(self.blocks).double().cpu()


class _Outputs(TorchSampler):
    kind: Kind

    def _scores(self, batch: torch.Tensor) -> torch.Tensor:
        returned: torch.Tensor = self.forward(batch)
        shape = tuple(getattr(returned, "shape", ()))
        checked_shape(shape, len(batch), self.kind, getattr(self, "_shape", None))
        self._shape = shape[1:]
        return returned


class _Values(_Outputs):
    kind = "values"

    @torch.inference_mode()
    def _count(self, noisy: torch.Tensor, void: torch.Tensor) -> Any:
        drawn = self._returned(noisy)[: len(void)].reshape(len(void), -1)
        drawn = drawn if drawn.is_floating_point() else drawn.double()
        return _Rows([drawn.masked_fill(void[:, None], torch.nan)])


class _Maps(_Outputs):
    kind = "map"

    @torch.inference_mode()
    def _count(self, noisy: torch.Tensor, void: torch.Tensor) -> torch.Tensor:
        drawn = self._returned(noisy)[: len(void)].flatten(2)
        classes, positions = drawn.shape[1:]
        largest, label = drawn.max(1)  # NaN where one of them is
        label.masked_fill_(largest.isnan() | void[:, None], classes)
        place = label + torch.arange(positions, device=label.device) * (classes + 1)
        counts = torch.bincount(place.flatten(), minlength=positions * (classes + 1))
        return counts.view(positions, classes + 1)[:, :classes]


def torch_sampler(model: torch.nn.Module, kind: Kind, **options: Any) -> TorchSampler:
    """The sampler of a module; ``options`` as for :class:`TorchSampler`."""
    if kind == "values":
        return _Values(model, **options)
    return _Maps(model, **{"batch": 1, **options})  # a block at a time: outputs outweigh inputs
