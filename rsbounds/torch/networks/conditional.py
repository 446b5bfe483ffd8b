"""One classifier for a range of noise levels: the network receives the level as an
input.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from rsbounds._numerics.checks import as_floats, count
from rsbounds.torch.networks._layers import CONVOLUTIONS

__all__ = ["AtLevel", "NoiseConditional"]


class NoiseConditional(nn.Module):
    """A classifier that receives the noise level: ``net(x, sigma)``.

    Every linear and convolutional layer but the last is followed by a scale and a shift
    of its channels that depend on log sigma; before training these change nothing.

    Certificates for a constant level hold for ``net.at(sigma)``, which is a function of the input
    alone, so a cascade over several levels needs one network. Train it with new levels for each
    batch (:meth:`draw`)::

        s = net.draw(len(x))
        loss = cross_entropy(net(augment(x, s), s), y)

    Parameters
    ----------
    module : torch.nn.Module
        Maps a batch to class scores. It becomes part of this module, and its layers are
        wrapped in place; it has at least two linear or convolutional layers.
    low, high : float
        Range of levels, 0 < low < high; the network treats a level outside as the
        nearer end.
    width : int
        Hidden units between log sigma and the scales and shifts, >= 1.

    References
    ----------
    Perez et al., FiLM: visual reasoning with a general conditioning layer, AAAI 2018.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from rsbounds.torch.networks.conditional import NoiseConditional
    >>> base = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> net = NoiseConditional(base, 0.25, 1.0)
    >>> x = torch.zeros(5, 3)
    >>> net(x, net.draw(5)).shape, net.at(0.5)(x).shape
    (torch.Size([5, 2]), torch.Size([5, 2]))
    """

    def __init__(
        self, module: nn.Module, low: float, high: float, *, width: int = 16
    ) -> None:
        super().__init__()
        self.low = float(as_floats("low", low, 0, closed="neither", nan=False))
        self.high = float(
            as_floats("high", high, self.low, closed="neither", nan=False)
        )
        count("width", width, 1)
        kinds = (nn.Linear, *CONVOLUTIONS)
        layers = [(n, m) for n, m in module.named_modules() if isinstance(m, kinds)][
            :-1
        ]
        if not layers:
            raise ValueError(
                "module must have at least two linear or convolutional layers"
            )
        for name, layer in layers:
            parent, _, last = name.rpartition(".")
            setattr(module.get_submodule(parent), last, _Film(layer, width))
        self.module = module

    def forward(self, x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
        """Class scores of a batch under noise of one level, or of one level for each
        row.
        """
        level = torch.as_tensor(sigma, dtype=x.dtype, device=x.device).expand(len(x))
        if not (level > 0).all():
            raise ValueError(f"sigma must be > 0; got {level.min().item()}")
        middle, half = (
            math.log(self.low * self.high) / 2,
            math.log(self.high / self.low) / 2,
        )
        films = [part for part in self.module.modules() if isinstance(part, _Film)]
        for part in films:
            part.place = ((level.log() - middle) / half).clamp(-1.0, 1.0)
        try:
            scores: torch.Tensor = self.module(x)
        finally:
            for part in films:
                part.place = None
        return scores

    def draw(self, count: int) -> torch.Tensor:
        """Levels for a batch, log sigma uniform over the range, by torch's global
        generator.
        """
        return self.low * (self.high / self.low) ** torch.rand(count)

    def at(self, sigma: float) -> AtLevel:
        """The classifier at one level, sharing this network's weights."""
        return AtLevel(self, sigma)


class AtLevel(nn.Module):
    """A noise-conditional network at one level."""

    def __init__(self, network: NoiseConditional, sigma: float) -> None:
        super().__init__()
        self.network = network
        self.sigma = float(as_floats("sigma", sigma, 0, closed="neither", nan=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.network(x, self.sigma)
        return scores


class _Film(nn.Module):
    """A layer, then a scale and a shift of its channels; ``place`` in [-1, 1] is the
    level's.
    """

    place: torch.Tensor | None

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer, self.place = layer, None
        weight: Any = layer.weight
        self.images = not isinstance(layer, nn.Linear)
        last = nn.Linear(width, 2 * len(weight))
        nn.init.zeros_(last.weight), nn.init.zeros_(last.bias)
        self.net = nn.Sequential(nn.Linear(1, width), nn.SiLU(), last).to(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h: torch.Tensor = self.layer(x)
        if self.place is None:
            raise RuntimeError(
                "call the NoiseConditional module, with a level, not a part of it"
            )
        scale, shift = self.net(self.place[:, None].to(h.dtype)).chunk(2, 1)
        shape = [len(h), *[1] * (h.ndim - 1)]
        shape[1 if self.images else -1] = -1
        moved: torch.Tensor = h * (1 + scale.reshape(shape)) + shift.reshape(shape)
        return moved
