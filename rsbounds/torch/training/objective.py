"""Certified radii that torch can differentiate, and the objective of sigma networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from rsbounds import lipschitz
from rsbounds._numerics.checks import real
from rsbounds.torch import radius
from rsbounds.torch.networks.sigma import SigmaNetwork
from rsbounds.torch.training.fitting import soft_vote

__all__ = ["average_radius_loss", "certified_radius", "norm_penalty"]

_STEP = 1e-5  # of central differences: the radii carry eleven digits


def certified_radius(
    score: torch.Tensor,
    sigma: torch.Tensor,
    *,
    sigma_min: float,
    classes: int | None = None,
    **known: Any,
) -> torch.Tensor:
    """:func:`rsbounds.lipschitz.radius` of normal scores, differentiable in score and sigma.

    Forward is the library's radius, rounded down to the type of ``score``. Method "exact" is
    :func:`rsbounds.torch.radius.lipschitz`; for the other two the gradient is that of central
    differences (one-sided at the floor of sigma), with relative error about 1e-6. First order
    only: a second derivative is refused.

    Parameters
    ----------
    score, sigma : Tensor
        Normal score of the top class's probability, and noise level (>= ``sigma_min``, but for a
        rounding of its type); of one shape.
    sigma_min : float
        Lower bound of sigma.
    classes : int, optional
        With method "paper": take the scores after Remark 2's normalisation, as the scheme of
        :class:`rsbounds.torch.SigmaNetwork` does.
    **known
        ``lip``, ``dim``, ``method`` and ``p_min`` as in :func:`rsbounds.lipschitz.radius`.

    Returns
    -------
    Tensor
        Like ``score``; 0, with gradient 0, where the score isn't positive.

    Raises
    ------
    ValueError
        As there: sigma below its floor by more than a rounding, for one.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import certified_radius
    >>> score = torch.tensor([2.0], requires_grad=True)
    >>> r = certified_radius(score, torch.tensor([0.5]), sigma_min=0.5, lip=0.0, dim=784)
    >>> r.backward()
    >>> round(r.item(), 6), round(score.grad.item(), 4)  # Cohen: sigma z, so slope sigma
    (1.0, 0.5)
    """

    if known.get("method", "exact") == "exact" and classes is None:
        exact = {name: value for name, value in known.items() if name != "method"}
        return radius.lipschitz(score, sigma, sigma_min=sigma_min, scores=True, **exact)

    def theory(z: Any, level: Any) -> Any:
        return lipschitz.radius_of_scores(z, level, sigma_min=sigma_min, classes=classes, **known)

    result: torch.Tensor = _Radius.apply(score, sigma, theory, sigma_min)  # type: ignore[no-untyped-call]
    return result


class _Radius(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, score: torch.Tensor, sigma: torch.Tensor, theory: Any, floor: float
    ) -> torch.Tensor:
        # a level at the floor may lie below it by a rounding of the narrower type
        level, least = _numbers(sigma), floor * (1 - 2 * torch.finfo(sigma.dtype).eps)
        level = np.where(level >= least, np.maximum(level, floor), level)
        ctx.save_for_backward(score)
        ctx.level, ctx.theory, ctx.floor = level, theory, floor
        exact = torch.as_tensor(theory(_numbers(score), level))
        near = exact.to(score.dtype)
        return torch.where(near > exact, near.nextafter(torch.zeros_like(near)), near).to(score)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (score,) = ctx.saved_tensors
        z, level = _numbers(score), ctx.level
        step = _STEP * np.maximum(1.0, np.abs(z))
        by_score = (ctx.theory(z + step, level) - ctx.theory(z - step, level)) / (2 * step)
        low, high = np.maximum(level * (1 - _STEP), ctx.floor), level * (1 + _STEP)
        inside = ctx.theory(z, high) - ctx.theory(z, low)
        by_sigma = inside / (high - low)
        found = [np.where(z > 0, slope, 0.0) for slope in (by_score, by_sigma)]
        one, two = (grads[0] * _tensor(slope, score) for slope in found)
        return one, two, None, None


def _numbers(x: torch.Tensor) -> Any:
    return x.detach().cpu().double().numpy()


def _tensor(x: Any, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(x, dtype=like.dtype, device=like.device)


def average_radius_loss(
    model: Callable[[torch.Tensor], torch.Tensor],
    network: SigmaNetwork,
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    lip: float | torch.Tensor,
    dim: float,
    samples: int = 8,
    penalty: float = 0.0,
    method: str = "exact",
    p_min: float | None = None,
    largest: float = 8.0,
) -> torch.Tensor:
    """Minus the average certified radius of the soft scores, plus ``penalty`` times sum \\|W\\|.

    The score of the true class is its mean probability under noise of the network's level; the
    gradient reaches the model through it, and the network through it and the radius. ``lip`` as
    a number is a constant of the radius, pushed down by the penalty; as a tensor made of the
    network's weights it is trained by what it costs.

    Parameters
    ----------
    model : callable
        Maps a batch to class scores (before softmax).
    network : SigmaNetwork
    x, y : Tensor
        A batch of inputs and its labels.
    lip : float or Tensor
        The network's Lipschitz bound, such as ``network.lip`` of now and then. With method
        "exact" a tensor of one number has a gradient: the size of the last weight, say, where
        the layers before it are kept 1-Lipschitz.
    dim : float
        Dimension of the input.
    samples : int
        Noisy copies of each input, >= 1.
    penalty : float
        lambda, weight of :func:`norm_penalty`, >= 0.
    method, p_min
        As in :func:`rsbounds.lipschitz.radius`; for "paper" of normalised scores (Remark 2).
    largest : float
        Normal score beyond which nothing is won, > 0: the samples of a certificate show no more
        than that of (alpha/2)^(1/n), 3.2 for n = 10,000 and alpha = .001.

    Returns
    -------
    Tensor
        One number.

    Raises
    ------
    ValueError
        An argument outside its domain, a tensor as ``lip`` for another method than "exact".

    References
    ----------
    The training objective of Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import SigmaNetwork, average_radius_loss
    >>> model, network = torch.nn.Linear(3, 2), SigmaNetwork(torch.nn.Linear(3, 1), 0.25)
    >>> x, y = torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)
    >>> average_radius_loss(model, network, x, y, lip=network.lip, dim=3).shape
    torch.Size([])
    """
    real("penalty", penalty, 0, nan=False)
    real("largest", largest, 0, closed="neither", nan=False)
    if isinstance(lip, torch.Tensor) and method != "exact":
        raise ValueError(f"lip must be a number with method {method!r}; got a tensor")
    sigma = network(x)
    scores = soft_vote(model, x, sigma, samples)
    top = scores.gather(1, y[:, None])[:, 0].double().clamp(1e-12, 1 - 1e-12)
    z = torch.special.ndtri(top).clamp(max=largest)
    known: dict[str, Any] = {"lip": lip, "dim": dim, "method": method}
    if method == "paper":
        known |= {"p_min": p_min, "classes": scores.shape[1]}
    radii = certified_radius(z, sigma, sigma_min=network.sigma_min, **known)
    return penalty * norm_penalty(network.modules()) - radii.mean()


def norm_penalty(modules: Iterable[nn.Module]) -> torch.Tensor:
    """Sum of the spectral norms of the weights (kernels flattened), differentiable.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import norm_penalty
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = layer.weight.data.copy_(2 * torch.eye(2))
    >>> round(norm_penalty([layer]).item(), 6)
    2.0
    """
    kinds = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    norms = [
        torch.linalg.matrix_norm(m.weight.flatten(1), 2) for m in modules if isinstance(m, kinds)
    ]
    return torch.stack(norms).sum() if norms else torch.zeros(())
