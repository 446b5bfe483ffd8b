"""One classifier for a range of noise levels: the level as an input of the network."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from rsbounds._numerics.checks import choice, count, real

__all__ = ["AtLevel", "NoiseConditional"]

_KINDS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


class NoiseConditional(nn.Module):
    """A module that is told the noise level: ``net(x, sigma)``.

    The classifier that is smoothed at one level is ``net.at(sigma)``, a function of the input
    alone, so every certificate for a constant level holds for it: a cascade over several levels
    needs one network. Train it with levels drawn anew for each batch (:meth:`draw`)::

        s = net.draw(len(x))
        loss = cross_entropy(net(augment(x, s), s), y)

    Parameters
    ----------
    module : torch.nn.Module
        Maps a batch to class scores; with "channel" one of one channel more than the input has.
        It becomes part of this one; with "film" its layers are wrapped in place.
    low, high : float
        Range of levels, 0 < low < high; other levels are taken at its nearer end.
    how : {"film", "channel"}
        "film": every linear and convolutional layer but the last is followed by a scale and a
        shift of its channels that depend on log sigma, the identity before training. "channel":
        log sigma, brought to [-1, 1], as a further channel of the input (axis 1).
    width : int
        Hidden units of the network from log sigma to scales and shifts, >= 1.

    Raises
    ------
    ValueError
        An argument outside its domain; "film" without a layer to follow.

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
        self, module: nn.Module, low: float, high: float, *, how: str = "film", width: int = 16
    ) -> None:
        super().__init__()
        self.low = float(real("low", low, 0, closed="neither", nan=False))
        self.high = float(real("high", high, self.low, closed="neither", nan=False))
        self.how = choice("how", how, ("film", "channel"))
        count("width", width, 1)
        self.module = module
        if how == "film":
            self._wrap(width)

    def _wrap(self, width: int) -> None:
        layers = [(n, m) for n, m in self.module.named_modules() if isinstance(m, _KINDS)][:-1]
        if not layers:
            raise ValueError("how = 'film' needs a module with at least two layers to train")
        for name, layer in layers:
            parent, _, last = name.rpartition(".")
            owner: Any = self.module.get_submodule(parent)
            setattr(owner, last, _Film(layer, width))

    def forward(self, x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
        """Class scores of a batch under noise of level ``sigma``, one or one for each row."""
        level = torch.as_tensor(sigma, dtype=x.dtype, device=x.device).expand(len(x))
        if not (level > 0).all():
            raise ValueError(f"sigma must be > 0; got {level.min().item()}")
        middle, half = math.log(self.low * self.high) / 2, math.log(self.high / self.low) / 2
        place = ((level.log() - middle) / half).clamp(-1.0, 1.0)
        if self.how == "channel":
            channel = place.reshape(-1, *[1] * (x.ndim - 1)).expand(-1, 1, *x.shape[2:])
            x = torch.cat([x, channel], 1)
        for part in self.module.modules():
            if isinstance(part, _Film):
                part.place = place
        try:
            scores: torch.Tensor = self.module(x)
        finally:
            for part in self.module.modules():
                if isinstance(part, _Film):
                    part.place = None
        return scores

    def draw(self, count: int) -> torch.Tensor:
        """Levels for a batch, log sigma uniform over the range, by torch's own generator."""
        return self.low * (self.high / self.low) ** torch.rand(count)

    def at(self, sigma: float) -> AtLevel:
        """The classifier of one level, sharing this network's weights."""
        return AtLevel(self, sigma)


class AtLevel(nn.Module):
    """A noise-conditional network at one level: a classifier like any other."""

    def __init__(self, network: NoiseConditional, sigma: float) -> None:
        super().__init__()
        self.network = network
        self.sigma = float(real("sigma", sigma, 0, closed="neither", nan=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Class scores of a batch."""
        scores: torch.Tensor = self.network(x, self.sigma)
        return scores


class _Film(nn.Module):
    """A layer, and a scale and a shift of its channels by the place of log sigma in its range."""

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
            raise RuntimeError("call the NoiseConditional module, with a level, not a part of it")
        scale, shift = self.net(self.place[:, None].to(h.dtype)).chunk(2, 1)
        axis = 1 if self.images else h.ndim - 1
        shape = [len(h), *[1] * (h.ndim - 1)]
        shape[axis] = -1
        moved: torch.Tensor = h * (1 + scale.reshape(shape)) + shift.reshape(shape)
        return moved
