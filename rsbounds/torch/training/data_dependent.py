"""A noise level for one input, by gradient ascent of its radius.

A level optimised at x says nothing of the level at x + delta: such a radius holds for the noise of
that input alone (:func:`rsbounds.schemes.this_input`).
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from rsbounds._numerics.checks import count, real, whole
from rsbounds.torch.training.fitting import evaluating

__all__ = ["data_dependent_sigma"]


def data_dependent_sigma(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    sigma: float,
    *,
    steps: int = 100,
    samples: int = 8,
    rate: float = 1e-3,
    seed: int = 0,
) -> float:
    """A level for one input by gradient ascent of its radius.

    The radius is sigma/2 (Phi^-1(p_A) - Phi^-1(p_B)) with the two largest mean class
    probabilities, estimated anew by ``samples`` noisy copies in each step.

    Parameters
    ----------
    model : callable
        Maps a batch to class scores (before softmax).
    x : Tensor
        One input.
    sigma : float
        The level to start from, > 0.
    steps, samples : int
        >= 1.
    rate : float
        Step of sigma along the gradient, > 0.
    seed : int
        Seed of the noise.

    Returns
    -------
    float
        A level >= 1e-3 ``sigma``, to be used with :func:`rsbounds.schemes.this_input`.

    References
    ----------
    Alfarra, Bibi, Torr, Ghanem, Data dependent randomized smoothing; Sukenik, Kuvshinov,
    Günnemann, Algorithm 1.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import data_dependent_sigma
    >>> model = torch.nn.Linear(2, 2)
    >>> data_dependent_sigma(model, torch.ones(2), 0.5, steps=3) > 0
    True
    """
    start = float(real("sigma", sigma, 0, closed="neither", nan=False))
    whole("samples", samples, 1), real("rate", rate, 0, closed="neither", nan=False)
    level = torch.tensor(start, requires_grad=True)
    generator = torch.Generator().manual_seed(seed)
    with evaluating(model):
        for _ in range(count("steps", steps, 1)):
            noise = torch.randn(samples, *x.shape, generator=generator).to(x.device)
            scores = model(x + level.to(x.device) * noise).softmax(1).mean(0).double()
            top = torch.special.ndtri(scores.clamp(1e-6, 1 - 1e-6).topk(2).values).cpu()
            (slope,) = torch.autograd.grad(level / 2 * (top[0] - top[1]), level)
            level = (level.detach() + rate * slope).clamp(min=1e-3 * start).requires_grad_()
    return level.item()
