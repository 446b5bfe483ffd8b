"""Bounds for each pair of classes: of the margin between them, not of all scores at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from torch import nn

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks._matrices import weight
from rsbounds.torch.networks._trust import is_plain, name, refuse_hooks
from rsbounds.torch.networks.combine import Scale
from rsbounds.torch.networks.lipschitz_bound import (
    derivative,
    layers,
    lipschitz_upper_bound,
    round_up,
)

__all__ = ["margin_gradient_lipschitz_upper_bounds", "margin_lipschitz_upper_bounds"]

Array = NDArray[np.float64]


def margin_lipschitz_upper_bounds(module: nn.Module) -> Array:
    """Proven upper bounds of the Lipschitz constants of all margins g_i - g_j.

    The last layer's rows are subtracted before their norm is taken, so a pair of classes that
    look at much the same features has a small constant; none exceeds sqrt(2) times
    :func:`lipschitz_upper_bound`, which is what all scores at once would give.

    Parameters
    ----------
    module : torch.nn.Module
        As there, its last layer ``Linear``, up to ``Scale`` and ``Identity``: K outputs.

    Returns
    -------
    ndarray, shape (K, K)
        Symmetric, 0 on the diagonal.

    Raises
    ------
    ValueError
        As there, and for another last layer.

    References
    ----------
    Tsuzuku, Sato, Sugiyama 2018, Lipschitz-margin training, Proposition 1 in its form for the
    last layer.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import margin_lipschitz_upper_bounds
    >>> g = torch.nn.Linear(2, 3, bias=False)
    >>> _ = g.weight.data.copy_(torch.tensor([[1.0, 0.0], [1.0, 0.5], [-1.0, 0.0]]))
    >>> margin_lipschitz_upper_bounds(g.eval()).round(6).tolist()[0]
    [0.0, 0.5, 2.0]
    """
    before, distances, _ = _split(module)
    slope = lipschitz_upper_bound(nn.Sequential(*before).eval())
    return distances * (slope * (1 + 4 * EPS))


def margin_gradient_lipschitz_upper_bounds(module: nn.Module) -> Array:
    """Proven upper bounds of the Lipschitz constants of the gradients of all margins g_i - g_j.

    As :func:`margin_lipschitz_upper_bounds` is to :func:`lipschitz_upper_bound`, so is this to
    :func:`gradient_lipschitz_upper_bound`.

    Parameters
    ----------
    module : torch.nn.Module
        As there, its last layer ``Linear``, up to ``Scale`` and ``Identity``: K outputs.

    Returns
    -------
    ndarray, shape (K, K)
        Symmetric, 0 on the diagonal; the ``lip_grad`` of
        :class:`rsbounds.lbrs.LocallyBiased`.

    Raises
    ------
    ValueError
        As there, and for another last layer.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import margin_gradient_lipschitz_upper_bounds
    >>> g = torch.nn.Sequential(torch.nn.Sigmoid(), torch.nn.Linear(2, 2))
    >>> _ = g[1].weight.data.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    >>> margin_gradient_lipschitz_upper_bounds(g.eval()).round(4).tolist()[0]  # 2 sup|sigmoid''|
    [0.0, 0.1925]
    """
    before, distances, largest = _split(module)
    refuse_hooks(module)
    bound, _, own = derivative(before)
    return (distances * round_up(bound - own) + largest * round_up(own)) * (1 + 4 * EPS)


def _split(module: nn.Module) -> tuple[list[nn.Module], Array, Array]:
    """The layers before the last, and |w_i - w_j| in l2 and in the largest element."""
    lipschitz_upper_bound(module)  # refuses what has no bound
    chain = layers(module)
    factor = Fraction(1)
    while chain and (is_plain(chain[-1], Scale) or is_plain(chain[-1], nn.Identity)):
        factor *= Fraction(lipschitz_upper_bound(chain.pop()))
    if not chain or not is_plain(chain[-1], nn.Linear):
        last = name(chain[-1]) if chain else name(module)
        raise ValueError(f"the last layer must be Linear; got {last}")
    rows = weight(chain.pop())
    up = round_up(factor) * (1 + (rows.shape[1] + 16) * EPS)
    apart = [np.abs(rows - row) for row in rows]
    distances = np.stack([np.linalg.norm(a, axis=1) for a in apart])
    return chain, distances * up, np.stack([a.max(axis=1) for a in apart]) * up
