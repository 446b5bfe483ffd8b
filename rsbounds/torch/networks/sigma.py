"""Noise levels given by a network, with a proven Lipschitz constant and a floor."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn

from rsbounds._numerics.checks import as_floats
from rsbounds.schemes import Scheme
from rsbounds.schemes.internal import Lipschitz, rounding_of_levels
from rsbounds.torch.networks._rounding import UNIT, require_small
from rsbounds.torch.networks._walk import computed
from rsbounds.torch.networks.freeze import freeze_rows
from rsbounds.torch.networks.graph import Graph
from rsbounds.torch.networks.lipschitz_bound import lipschitz_upper_bound
from rsbounds.torch.networks.operations._record import SizeAndError
from rsbounds.trust.internal import Proves, enter


class SigmaNetwork(nn.Module):
    """A noise level that follows the input: sigma(x) = relu(h(x)) + sigma_min.

    Train it under ``torch.nn.utils.parametrizations.spectral_norm`` to keep its
    constant small; certificates never use that norm, but
    :func:`~rsbounds.torch.lipschitz_upper_bound`.
    ``state_dict`` holds the floor, in float64 whatever the type of the network.

    Parameters
    ----------
    h : torch.nn.Module
        Maps a batch to one number for each input, shape (n,) or (n, 1).
    sigma_min : float
        Lower bound of the noise level, > 0, in the input's unit.

    References
    ----------
    Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import SigmaNetwork
    >>> h = torch.nn.Linear(4, 1)
    >>> _ = h.weight.data.fill_(0.05), h.bias.data.fill_(0.0)
    >>> network = SigmaNetwork(h, 0.25)
    >>> scheme = network.scheme(4)
    >>> round(scheme.parameters["lip"], 6)
    0.1
    >>> round(scheme.sigma(torch.ones(4)), 6), scheme.scope
    (0.45, 'sigma(x) with a proven envelope')
    """

    def __init__(self, h: nn.Module, sigma_min: float) -> None:
        super().__init__()
        self.h = h
        self.sigma_min = float(
            as_floats("sigma_min", sigma_min, 0, closed="neither", nan=False)
        )

    def get_extra_state(self) -> torch.Tensor:
        return torch.tensor(self.sigma_min, dtype=torch.float64, device="cpu")

    def set_extra_state(self, state: Any) -> None:
        floor = as_floats("sigma_min", float(state), 0, closed="neither", nan=False)
        self.sigma_min = float(floor)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The noise levels of a batch (n, *shape of x), shape (n,)."""
        outputs = self.h(x)
        if outputs.numel() != len(x):
            raise ValueError(
                "h must return one number for each input, shape (n,) or (n, 1); got "
                f"shape {tuple(outputs.shape)} for {len(x)}"
            )
        level: torch.Tensor = outputs.reshape(len(x)).relu() + self.sigma_min
        return level

    def freeze(self, shape: int | tuple[int, ...]) -> "FrozenLevel":
        """The level as it is now, for inputs of a shape (or of a flat one's length)."""
        return FrozenLevel(freeze_rows(self, shape), self.sigma_min)

    def rounding(self, shape: int | tuple[int, ...]) -> float:
        """How far float64 arithmetic may take sigma(x) from the exact function.

        In the input's unit, for inputs of a shape. It bounds the error for every x on
        the grid of 1/255 in [0, 1], given as whole numbers over 255, and for every
        order of the sums, and grows with the sums of the weights' sizes, layer by
        layer: see the theory page on sound noise. ValueError if ``h`` has no proven
        Lipschitz bound or an operation has no bound of its rounding.
        """
        return SigmaNetwork.freeze(self, shape).rounding()

    def scheme(self, shape: int | tuple[int, ...]) -> Scheme:
        """The scheme that certifies smoothing by this network's level, as it is now.

        Levels and bound come from one list of operations in float64, exported here, in
        which parametrised weights are numbers: later training, hooks and other changes
        do not reach it. On a grid its radii allow for :meth:`rounding`.

        Parameters
        ----------
        shape : int or tuple of int
            Shape of one input, or the length of a flat one; ``h`` must accept a batch
            of it.

        Raises
        ------
        ValueError
            If ``h`` has no proven bound (see
            :func:`~rsbounds.torch.lipschitz_upper_bound`), or its layers compute with
            numbers so large that rounding moves the level more than the bound allows.
        """
        level = SigmaNetwork.freeze(self, shape)
        level.require_small()
        parameters = {
            "lip": level.lip,
            "sigma_min": level.floor,
            "dim": math.prod(level.graph.shape),
        }
        return Lipschitz(
            parameters,
            level=level,
            proven=True,
            rounding=level.allowance,
        )


@dataclass(frozen=True)
class FrozenLevel:
    """A noise level as a list of operations, never below its floor."""

    graph: Graph
    floor: float

    def __call__(self, x: Any) -> float:
        """The noise level at one input."""
        point = torch.as_tensor(x, dtype=torch.float64, device="cpu").detach()
        if point.numel() != math.prod(self.graph.shape):
            raise ValueError(
                f"x must be of shape {self.graph.shape}; got {tuple(point.shape)}"
            )
        with torch.no_grad():
            level = self.graph(point[None])
        # what is exported is max(h, 0) + floor, unless a subclass or a hook made it
        # something else: this changes no bound
        return float(level.clamp_min(self.floor))

    @cached_property
    def lip(self) -> float:
        """The proven bound of the level's Lipschitz constant."""
        return lipschitz_upper_bound(self.graph, self.graph.shape)

    def rounding(self, at_input: SizeAndError = UNIT) -> float:
        """A bound of the error of the level for inputs of that range."""
        return computed(self.graph, at_input).error

    def allowance(self) -> dict[str, float]:
        """The parameters that allow for its rounding on the grid."""
        return rounding_of_levels(self.rounding(), self.floor)

    def require_small(self, at_input: SizeAndError = UNIT) -> None:
        """ValueError where rounding moves the level more than its bound allows."""
        require_small(self.graph, self.floor, self.lip, at_input)


enter(SigmaNetwork, Proves(scheme=SigmaNetwork.scheme))
