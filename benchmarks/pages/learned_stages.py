"""Stages of a list in learned.py: one network for several levels, what a stage passes on."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from rsbounds import torch as rst
from rsbounds.torch.training.fitting import evaluating


class NoiseConditional(nn.Module):
    """A classifier that receives the noise level: ``net(x, sigma)``, or ``net.at(sigma)(x)``.

    Every linear and convolutional layer of ``module`` but the last is followed by a scale and a
    shift of its channels that depend on log sigma; before training these change nothing (Perez et
    al., FiLM: visual reasoning with a general conditioning layer, AAAI 2018).
    """

    def __init__(self, module: nn.Module, low: float, high: float, *, width: int = 16) -> None:
        super().__init__()
        self.low, self.high = low, high
        kinds = (nn.Linear, nn.Conv2d)
        for name, layer in [(n, m) for n, m in module.named_modules() if isinstance(m, kinds)][:-1]:
            parent, _, last = name.rpartition(".")
            setattr(module.get_submodule(parent), last, _Film(layer, width))
        self.module = module

    def forward(self, x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
        level = torch.as_tensor(sigma, dtype=x.dtype, device=x.device).expand(len(x))
        middle, half = math.log(self.low * self.high) / 2, math.log(self.high / self.low) / 2
        for part in self.module.modules():
            if isinstance(part, _Film):
                part.place = ((level.log() - middle) / half).clamp(-1.0, 1.0)
        scores: torch.Tensor = self.module(x)
        return scores

    def draw(self, count: int) -> torch.Tensor:
        """Levels for a batch, log sigma uniform over the range."""
        return self.low * (self.high / self.low) ** torch.rand(count)

    def at(self, sigma: float) -> nn.Module:
        """The classifier at one level, sharing this network's weights."""
        return _AtLevel(self, sigma)


class _AtLevel(nn.Module):
    def __init__(self, network: NoiseConditional, sigma: float) -> None:
        super().__init__()
        self.network, self.sigma = network, sigma

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.network(x, self.sigma)
        return scores


class _Film(nn.Module):
    """A layer, then a scale and a shift of its channels; ``place`` in [-1, 1] is the level's."""

    place: torch.Tensor

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer = layer
        weight: Any = layer.weight
        self.images = not isinstance(layer, nn.Linear)
        last = nn.Linear(width, 2 * len(weight))
        nn.init.zeros_(last.weight), nn.init.zeros_(last.bias)
        self.net = nn.Sequential(nn.Linear(1, width), nn.SiLU(), last).to(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h: torch.Tensor = self.layer(x)
        scale, shift = self.net(self.place[:, None].to(h.dtype)).chunk(2, 1)
        shape = [len(h), *[1] * (h.ndim - 1)]
        shape[1 if self.images else -1] = -1
        moved: torch.Tensor = h * (1 + scale.reshape(shape)) + shift.reshape(shape)
        return moved


def passed_on(
    model: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, sigma: float, votes: int = 64
) -> torch.Tensor:
    """A mask of the inputs for which no class has a majority of the votes."""
    shares = []
    with torch.no_grad(), evaluating(model):
        for part in torch.split(x, max(1000 // votes, 1)):
            scores = model(rst.augment(part.repeat_interleave(votes, 0), sigma))
            labels = scores.argmax(1).reshape(len(part), votes)
            counts = torch.zeros(len(part), scores.shape[1])
            shares.append(counts.scatter_add_(1, labels, torch.ones_like(labels).to(counts)))
    mask: torch.Tensor = torch.cat(shares).amax(1) <= 0.5 * votes
    return mask


def soft_labels(y: torch.Tensor, classes: int, hard: torch.Tensor) -> torch.Tensor:
    """One-hot labels, but mostly uniform where an input is hard: a stage learns to pass it on."""
    weight = torch.where(hard, 0.3, 1.0)[:, None]
    return weight * torch.nn.functional.one_hot(y, classes) + (1 - weight) / classes
