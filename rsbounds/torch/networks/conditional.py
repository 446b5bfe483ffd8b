"""One classifier for a range of noise levels, which receives the level as an input."""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn

from rsbounds._numerics.checks import as_floats, count
from rsbounds.sampling.torch_modes import evaluating

__all__ = ["AtLevel", "NoiseConditional"]

# Where the levels of the call in progress lie, in [-1, 1]: one number, or one for each
# row. Each thread has its own, so that calls at two levels don't meet.
_PLACE: ContextVar[torch.Tensor | None] = ContextVar("_PLACE", default=None)


class NoiseConditional(nn.Module):
    """A classifier that receives the noise level: ``net(x, sigma)``.

    Every linear and convolutional layer but the last is followed by a scale and a shift
    of its channels that depend on log sigma; before training these change nothing. The
    projections inside ``nn.MultiheadAttention`` stay as they are, because it reads
    their weights and doesn't call them.

    Certificates for a constant level hold for ``net.at(sigma)``, which is a function of
    the input alone, so a cascade over several levels needs one network. Train it with
    new levels for each batch (:meth:`draw`)::

        s = net.draw(len(x))
        loss = cross_entropy(net(augment(x, s), s), y)

    Parameters
    ----------
    module : torch.nn.Module
        Maps a batch to class scores. It becomes part of this module, and its layers are
        wrapped in place; it has at least two linear or convolutional layers.
    low, high : float
        Range of levels, 0 < low < high; the network treats a level outside as the
        nearer end. ``state_dict`` holds the range.
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
        self.low, self.high = _range(low, high)
        width = count("width", width, 1)
        layers = _called_layers(module)[:-1]
        if not layers:
            raise ValueError(
                "module must have at least two linear or convolutional layers"
            )
        for name, layer in layers:
            parent, _, last = name.rpartition(".")
            setattr(module.get_submodule(parent), last, _Film(layer, width))
        self.module = module
        self._rows_checked = False

    def get_extra_state(self) -> torch.Tensor:
        return torch.tensor([self.low, self.high], dtype=torch.float64, device="cpu")

    def set_extra_state(self, state: Any) -> None:
        self.low, self.high = _range(*state.tolist())

    def forward(self, x: torch.Tensor, sigma: float | torch.Tensor) -> torch.Tensor:
        """Class scores of a batch under noise of one level, or of one for each row.

        ValueError for a level that isn't > 0, and for levels of rows where a layer
        doesn't have the rows of the batch along axis 0.
        """
        level = torch.as_tensor(sigma, dtype=x.dtype, device=x.device)
        if not (level > 0).all():
            raise ValueError(f"sigma must be > 0; got {level.min().item()}")
        middle = math.log(self.low * self.high) / 2
        half = math.log(self.high / self.low) / 2
        place = ((level.log() - middle) / half).clamp(-1.0, 1.0)
        if level.ndim and not self._rows_checked:
            # One row first: an axis of another length than 1 is not that of the batch,
            # though it may happen to be as long.
            with torch.no_grad(), evaluating(self):
                self._scores(x[:1], place.expand(len(x))[:1])
            self._rows_checked = True
        return self._scores(x, place.expand(len(x)) if level.ndim else place)

    def _scores(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        token = _PLACE.set(place)
        try:
            scores: torch.Tensor = self.module(x)
        finally:
            _PLACE.reset(token)
        return scores

    def draw(self, count: int) -> torch.Tensor:
        """Levels for a batch, log sigma uniform, by torch's global generator."""
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


def _range(low: Any, high: Any) -> tuple[float, float]:
    """The two levels as numbers, if 0 < low < high; else ValueError."""
    least = float(as_floats("low", low, 0, closed="neither", nan=False))
    return least, float(as_floats("high", high, least, closed="neither", nan=False))


def _called_layers(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The linear and convolutional layers that ``module`` calls, in their order."""
    attention = tuple(
        part for part in module.modules() if isinstance(part, nn.MultiheadAttention)
    )
    inside = {id(layer) for part in attention for layer in part.modules()}
    kinds = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    return [
        (name, layer)
        for name, layer in module.named_modules()
        if isinstance(layer, kinds) and id(layer) not in inside
    ]


class _Film(nn.Module):
    """A layer, then a scale and a shift of its channels that follow the level."""

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer = layer
        weight: Any = layer.weight
        self.images = not isinstance(layer, nn.Linear)
        last = nn.Linear(width, 2 * len(weight))
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.net = nn.Sequential(nn.Linear(1, width), nn.SiLU(), last).to(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h: torch.Tensor = self.layer(x)
        place = _PLACE.get()
        if place is None:
            raise RuntimeError(
                "call the NoiseConditional module, with a level, not a part of it"
            )
        if place.ndim and len(place) != len(h):
            raise ValueError(
                "levels of rows need layers whose axis 0 is that of the batch; one has "
                f"{len(h)} rows in a batch of {len(place)}: give one level for all"
            )
        scale, shift = self.net(place.expand(len(h))[:, None].to(h.dtype)).chunk(2, 1)
        shape = [len(h), *[1] * (h.ndim - 1)]
        shape[1 if self.images else -1] = -1
        moved: torch.Tensor = h * (1 + scale.reshape(shape)) + shift.reshape(shape)
        return moved
