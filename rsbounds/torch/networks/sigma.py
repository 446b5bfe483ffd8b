"""Noise levels given by a network, with a proven Lipschitz constant and a floor."""

from functools import partial
from typing import Any

import torch
from torch import nn

from rsbounds import schemes
from rsbounds._numerics.checks import as_floats
from rsbounds.schemes import Scheme
from rsbounds.torch.networks import _rounding
from rsbounds.torch.networks._trust import frozen, run
from rsbounds.torch.networks.lipschitz_bound import lipschitz_upper_bound


class SigmaNetwork(nn.Module):
    """A noise level that follows the input: sigma(x) = relu(h(x)) + sigma_min.

    Train it under ``torch.nn.utils.parametrizations.spectral_norm`` to keep its
    constant small; certificates never use that norm, but :func:`lipschitz_upper_bound`.
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
    >>> round(network.lip, 6)
    0.1
    >>> scheme = network.scheme(4)
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
        return self._level(self.h(x), len(x))

    def _level(self, h: torch.Tensor, rows: int) -> torch.Tensor:
        level: torch.Tensor = h.reshape(rows).relu() + self.sigma_min
        return level

    def lipschitz_upper_bound(self) -> float:
        """The proven bound of this network's Lipschitz constant, in eval mode."""
        return lipschitz_upper_bound(self.h)

    @property
    def lip(self) -> float:
        """The proven bound for the network as it is now, whatever mode it is in."""
        return lipschitz_upper_bound(frozen(self))

    def rounding(self) -> float:
        """How far float64 arithmetic may take sigma(x) from the exact function.

        In the input's unit. It bounds the error for every x on the grid of 1/255 in [0,
        1], given as whole numbers over 255, and for every order of the sums, and grows
        with the sums of the weights' sizes, layer by layer: see the theory page on
        sound noise. ValueError if ``h`` has no proven Lipschitz bound or a layer has no
        bound of its rounding.
        """
        network = frozen(self)
        lipschitz_upper_bound(network)  # refuses hooks and overrides
        return _rounding.level(network, _rounding.UNIT)

    def scheme(self, dim: float, *, sound: bool = False) -> Scheme:
        """The scheme that certifies smoothing by this network's level, as it is now.

        Levels and bound come from one copy in float64, whose parametrised weights are
        numbers; hooks are not called.

        Parameters
        ----------
        dim : float
            Dimension of the input, >= 1.
        sound : bool
            For sound noise: levels at the inputs' points of the grid of 1/255, in [0,
            1], and radii that allow for :meth:`rounding`.

        Raises
        ------
        ValueError
            If ``h`` has no proven bound, or its layers compute with numbers so large
            that rounding moves the level more than the bound allows.
        """
        network = frozen(self)
        lip = lipschitz_upper_bound(network)
        rounding = None
        if sound:
            rounding = SigmaNetwork.rounding(network)
        else:
            _rounding.require_small(network, lip)
        return schemes.lipschitz(
            partial(SigmaNetwork.level_at, network),
            lip,
            network.sigma_min,
            dim,
            rounding=rounding,
            proven=True,
        )

    def level_at(self, x: Any) -> float:
        """The noise level at one input."""
        with torch.no_grad():
            # a copy: h may begin with a module that works in place
            batch = torch.as_tensor(x, dtype=torch.float64, device="cpu")[None].clone()
            return float(self._level(run(self.h, batch), 1))
