"""Locally biased smoothing of torch models: value and gradient by autograd."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rsbounds._numerics.checks import on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds.lbrs import LocallyBiased
from rsbounds.torch.networks._rows import require_rows
from rsbounds.torch.networks.freeze import freeze_rows
from rsbounds.torch.networks.lipschitz_bound import gradient_lipschitz_upper_bound

Array = NDArray[np.float64]


def value_and_grad(
    model: nn.Module, shape: tuple[int, ...]
) -> Callable[[Array], tuple[Array, Array]]:
    """A torch model as the function that :class:`rsbounds.lbrs.LocallyBiased` takes.

    It maps x of shape (n, d), d the product of ``shape``, to values and gradients in
    float64.

    Parameters
    ----------
    model : torch.nn.Module
        Maps a batch (n, *shape) to g, shape (n,) or (n, 1), or to K functions, (n, K).
        Copied, in eval mode; ValueError where rows are seen to depend on each other.
    shape : tuple of int
        Shape of one input.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from rsbounds.torch import value_and_grad
    >>> g = torch.nn.Linear(2, 1, bias=False)
    >>> _ = g.weight.data.copy_(torch.tensor([[1.0, 2.0]]))
    >>> value, grad = value_and_grad(g, (2,))(np.ones((1, 2)))
    >>> value.tolist(), grad.tolist()
    ([3.0], [[1.0, 2.0]])
    """
    require_rows(f"the module {type(model).__name__}", model, shape)
    network = copy.deepcopy(model).cpu().double().eval()
    return _evaluator(network, shape)


def _evaluator(
    network: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, ...]
) -> Callable[[Array], tuple[Array, Array]]:
    def evaluate(x: Array) -> tuple[Array, Array]:
        rows = torch.as_tensor(x, dtype=torch.float64, device="cpu")
        rows = rows.reshape(-1, *shape).requires_grad_()
        values = network(rows).reshape(len(rows), -1)
        grads = [
            torch.autograd.grad(column.sum(), rows, retain_graph=True)[0].flatten(1)
            for column in values.unbind(1)
        ]
        value = values.detach().numpy()
        grad = torch.stack(grads, 1).numpy()
        return (value[:, 0], grad[:, 0]) if value.shape[1] == 1 else (value, grad)

    return evaluate


def locally_biased(
    model: nn.Module,
    anchors: Any,
    labels: Any,
    alpha: float,
    *,
    lip_grad: Any = None,
    norm: float | Callable[[Array], Array] = 2,
    method: str = "tight",
    k: int = 1,
) -> LocallyBiased:
    """The :class:`rsbounds.lbrs.LocallyBiased` of a torch model.

    Its inputs are flattened to (n, d).

    Parameters
    ----------
    model : torch.nn.Module
        g or its K functions, as in :func:`value_and_grad`.
    anchors : array_like or Tensor, shape (N, *shape of one input)
        Labelled points in memory.
    labels, alpha, norm, method, k
        As in :class:`rsbounds.lbrs.LocallyBiased`.
    lip_grad : optional
        As there; by default :func:`gradient_lipschitz_upper_bound` (times sqrt(2) for
        differences of K functions, times d^(1 - 2/p) for p > 2), which refuses ReLU. It
        has to be given with a function as ``norm``.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import locally_biased
    >>> g = torch.nn.Linear(2, 1, bias=False)
    >>> _ = g.weight.data.copy_(torch.tensor([[1.0, 0.0]]))
    >>> f = locally_biased(g, [[-1.0, 0.0], [1.0, 0.0]], [-1, 1], 0.5)
    >>> label, radius = f.certify([[0.5, 0.0]])
    >>> label.tolist(), radius.round(9).tolist()
    ([1], [0.5])
    """
    points = np.asarray(on_host("anchors", anchors), dtype=np.float64)
    shape = points.shape[1:]
    if lip_grad is None:
        if callable(norm):
            raise ArgumentError(
                "lip_grad",
                "must be given with a function as norm: a Lipschitz constant of the "
                "gradient, from that norm to its dual",
            )
        network = freeze_rows(model, shape)  # what is bounded is what runs
        lip_grad = gradient_lipschitz_upper_bound(network, shape)
        call = _evaluator(network, shape)
        if call(points[:1].reshape(1, -1))[0].ndim == 2:
            lip_grad *= math.sqrt(2) * (1 + 1e-12)
        if norm > 2:  # |v|_q <= d^(1/q - 1/2) |v|_2, and likewise for p
            lip_grad *= math.prod(shape) ** (1 - 2 / norm) * (1 + 1e-12)
    else:
        call = value_and_grad(model, shape)
    rows = points.reshape(len(points), -1)
    options: dict[str, Any] = {"norm": norm, "method": method, "k": k}
    return LocallyBiased(call, rows, labels, alpha, lip_grad, **options)
