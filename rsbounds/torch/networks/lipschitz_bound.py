"""Proven l2 bounds of a network's Lipschitz constant and of its derivative's.

Nothing is estimated: each operation of the network's graph has a proven bound, and a
module without one is refused. A module stands for the exact function that its
floating-point arithmetic approximates, so ``Softplus`` is log(1 + exp(beta x))/beta,
from which torch's linear part beyond a threshold of 20 differs by 2.1e-9/beta.
"""

from typing import Any

from torch import nn

from rsbounds.torch.networks._walk import derivative, lipschitz, round_up
from rsbounds.torch.networks.freeze import freeze_rows
from rsbounds.torch.networks.graph import Graph

__all__ = ["gradient_lipschitz_upper_bound", "lipschitz_upper_bound"]


def lipschitz_upper_bound(module: nn.Module | Graph, example: Any) -> float:
    """A proven upper bound of a network's Lipschitz constant from l2 to l2.

    Parameters
    ----------
    module : torch.nn.Module
        Maps a batch to one tensor with as many rows. It is copied and exported in
        float64 and eval mode: hooks, parametrisations and its own ``forward`` count as
        what they compute. Its operations must have a proven bound: dense layers,
        convolutions and their transposes, batch, layer and group normalisation,
        pooling, padding, sorting, most activations, softmax, sums, means, maxima,
        multiples, concatenations, slices and reshapes, with constants or with each
        other.
    example : int, tuple of int, array or Tensor
        One input without the batch's axis, or its shape, or the length of a flat one.
        The bound holds for inputs of that shape.

    Returns
    -------
    float
        Never below the true constant. Where a few affine operations follow each other
        and their matrix has at most 2^21 numbers it is the norm of that matrix within
        1e-9, relative; else the product of their bounds, where a convolution's is
        within 2 % for each axis of its kernel of the norm on the infinite lattice.
        Bounds before and after activations are multiplied, those of sums added, and the
        result usually exceeds the true constant.

    Raises
    ------
    ValueError
        In one line, for a module that can't be exported, for an operation without a
        proven bound or a product of two values that depend on the input (with the line
        of code that asked for it), for weights that are not finite, for bounds whose
        product leaves [2^-960, 2^500], and where a run on three rows shows that a row's
        result depends on the other rows, on chance or on earlier calls.

    References
    ----------
    The theory page on networks. Bergstrom, Sager, Anderson, Lipschitz standard
    deviation networks, whose power iteration bounds the norm from below and proves
    nothing.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import lipschitz_upper_bound
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = layer.weight.data.copy_(torch.tensor([[3.0, 0.0], [0.0, 1.0]]))
    >>> net = torch.nn.Sequential(layer, torch.nn.ReLU())
    >>> 3.0 <= lipschitz_upper_bound(net, 2) < 3.001
    True
    """
    return round_up(lipschitz(freeze_rows(module, example)))


def gradient_lipschitz_upper_bound(module: nn.Module | Graph, example: Any) -> float:
    """A proven upper bound of the Lipschitz constant of a network's derivative.

    The derivative is measured in the spectral norm, inputs in l2: for one output this
    is the constant of the gradient; for differences g_i - g_j of outputs it is sqrt(2)
    times the bound. By Lip(D(g f)) <= Lip(Dg) Lip(f)^2 + Lip(g) Lip(Df) over the
    operations; for a matrix after an elementwise function, Lip(D) is at most the
    supremum of that function's second derivative times the largest l2 norm of the
    matrix's columns.

    Parameters, Returns and Raises as in :func:`lipschitz_upper_bound`, with smooth
    activations alone: ``Softplus``, ``Tanh``, ``Sigmoid``, ``SiLU``, ``GELU``,
    ``LogSigmoid``, sine and cosine. The bound of an affine network is 0.

    References
    ----------
    The constant L of Anderson, Sojoudi, Certified robustness via locally biased
    randomized smoothing, Theorem 8.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import gradient_lipschitz_upper_bound
    >>> layer = torch.nn.Linear(1, 1)
    >>> _ = layer.weight.data.fill_(2.0)
    >>> net = torch.nn.Sequential(layer, torch.nn.Sigmoid())
    >>> round(gradient_lipschitz_upper_bound(net, 1), 4)  # 4 sup|sigmoid''|
    0.3849
    """
    return round_up(derivative(freeze_rows(module, example)))
