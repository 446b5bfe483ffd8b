"""Modules that keep a proven bound where torch has none: sums, concatenations, sorting."""

from __future__ import annotations

import torch
from torch import nn

from rsbounds._numerics.checks import count

__all__ = ["Concatenation", "GroupSort", "Residual", "Scale"]


class Scale(nn.Module):
    """Multiplies by a fixed number: the plainest way to keep a network's constant small.

    Examples
    --------
    >>> from rsbounds.torch import Scale, lipschitz_upper_bound
    >>> lipschitz_upper_bound(Scale(-0.5))
    0.5
    """

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = float(factor)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``factor`` times x."""
        return self.factor * x

    def lipschitz_upper_bound(self) -> float:
        """The size of the factor."""
        return abs(float(self.factor))


class Residual(nn.Module):
    """shortcut(x) + branch(x): the sum of the two bounds is a bound.

    Parameters
    ----------
    branch : torch.nn.Module
        Its output is of the shortcut's shape.
    shortcut : torch.nn.Module, optional
        The identity by default.

    Raises
    ------
    ValueError
        When called, if the two outputs differ in shape: torch would broadcast.

    Examples
    --------
    >>> from rsbounds.torch import Residual, Scale, lipschitz_upper_bound
    >>> lipschitz_upper_bound(Residual(Scale(0.5)).eval())
    1.5
    """

    def __init__(self, branch: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The sum; the branch gets a copy, for it may begin with a module that works in place."""
        side: torch.Tensor = self.branch(x.clone())
        straight: torch.Tensor = self.shortcut(x)
        if side.shape != straight.shape:
            raise ValueError(
                f"the branch must return the shape of the shortcut, {tuple(straight.shape)}; got "
                f"{tuple(side.shape)}"
            )
        return straight + side


class Concatenation(nn.Module):
    """The outputs of several branches side by side along axis 1.

    The root of the sum of the squared bounds is a bound.

    Parameters
    ----------
    *branches : torch.nn.Module
        At least one.

    Examples
    --------
    >>> from rsbounds.torch import Concatenation, Scale, lipschitz_upper_bound
    >>> round(lipschitz_upper_bound(Concatenation(Scale(3.0), Scale(4.0)).eval()), 9)
    5.0
    """

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        if not branches:
            raise ValueError("branches must hold at least one module; got none")
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The outputs, each of a copy of x."""
        return torch.cat([branch(x.clone()) for branch in self.branches], dim=1)


class GroupSort(nn.Module):
    """Sorts groups of channels (axis 1) by size: constant 1, and norms of gradients are kept.

    Groups of two are MaxMin.

    Parameters
    ----------
    size : int
        Channels of a group, >= 2; the number of channels must be a multiple of it.

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
        """x with the channels of each group in rising order."""
        groups = x.reshape(len(x), -1, self.size, *x.shape[2:])
        return groups.sort(2).values.reshape(x.shape)
