"""Modules for what torch has none for: multiples, sums, concatenations, sorting."""

from typing import Any

import torch
from torch import nn

from rsbounds._numerics.checks import count, number


class Scale(nn.Module):
    """Multiply by a fixed number: the simplest way to keep a network's constant small.

    ``state_dict`` holds the factor, in float64 whatever the type of the network.

    Parameters
    ----------
    factor : float
        What numbers are multiplied by; its size is the constant.

    Examples
    --------
    >>> from rsbounds.torch import Scale, lipschitz_upper_bound
    >>> lipschitz_upper_bound(Scale(-0.5), 3)
    0.5
    """

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = float(factor)

    def get_extra_state(self) -> torch.Tensor:
        return torch.tensor(self.factor, dtype=torch.float64, device="cpu")

    def set_extra_state(self, state: Any) -> None:
        self.factor = number("factor", float(state))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


class Residual(nn.Module):
    """shortcut(x) + branch(x), of one shape; its bound is the sum of the two bounds.

    Parameters
    ----------
    branch : Module
        From x to a tensor of the result's shape.
    shortcut : Module, optional
        The same; the identity by default.

    Examples
    --------
    >>> from rsbounds.torch import Residual, Scale, lipschitz_upper_bound
    >>> lipschitz_upper_bound(Residual(Scale(0.5)), 3)
    1.5
    """

    def __init__(self, branch: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # a copy: the branch may begin with an in-place module
        side = self.branch(x.clone())
        straight = self.shortcut(x)
        if side.shape != straight.shape:
            raise ValueError(
                "the branch must return the shape of the shortcut, "
                f"{tuple(straight.shape)}; got {tuple(side.shape)}"
            )
        total: torch.Tensor = straight + side
        return total


class Concatenation(nn.Module):
    """The outputs of one or more branches side by side along axis 1.

    Its bound is the root of the sum of the squared bounds.

    Parameters
    ----------
    *branches : Module
        At least one.

    Examples
    --------
    >>> from rsbounds.torch import Concatenation, Scale, lipschitz_upper_bound
    >>> both = Concatenation(Scale(3.0), Scale(4.0))
    >>> round(lipschitz_upper_bound(both, 3), 9)
    5.0
    """

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        if not branches:
            raise ValueError("branches must hold at least one module; got none")
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x.clone()) for branch in self.branches], dim=1)


class GroupSort(nn.Module):
    """Sort groups of ``size`` channels (axis 1).

    Its constant is 1, and 2 channels are MaxMin.

    Parameters
    ----------
    size : int
        Channels of a group, >= 2; it divides their number.

    References
    ----------
    Anil, Lucas, Grosse 2019, Sorting out Lipschitz function approximation.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import GroupSort
    >>> GroupSort()(torch.tensor([[3.0, 1.0, 2.0, 5.0]])).tolist()
    [[1.0, 3.0, 2.0, 5.0]]
    """

    def __init__(self, size: int = 2) -> None:
        super().__init__()
        self.size = count("size", size, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        groups = x.reshape(len(x), -1, self.size, *x.shape[2:])
        return groups.sort(2).values.reshape(x.shape)
