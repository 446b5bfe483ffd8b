"""Baselines that choose the noise level for each input, and what makes their radii valid.

A level optimised at x says nothing of the level at x + delta: these radii hold for the noise of
that input alone (scope "fixed noise at this input only"). :class:`Memory` turns them into
certificates of a classifier that remembers what it certified before (scope "memory-based").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rsbounds._checks import count, real, whole
from rsbounds.certificate import Certificate
from rsbounds.certify import SEARCH, Sampler, stream
from rsbounds.confidence import lower_bound
from rsbounds.schemes import Scheme, gaussian
from rsbounds.torch.generator import THIS_INPUT
from rsbounds.torch.training import evaluating

__all__ = ["Memory", "data_dependent_sigma", "instance_sigma", "this_input"]


def this_input(sigma: float) -> Scheme:
    """Gaussian smoothing of one level, with the scope of a level chosen for one input.

    Examples
    --------
    >>> from rsbounds.torch import this_input
    >>> this_input(0.5).scope
    'fixed noise at this input only'
    """
    return replace(gaussian(sigma), scope=THIS_INPUT)


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
        A level >= 1e-3 ``sigma``, to be used with :func:`this_input`.

    References
    ----------
    Alfarra, Bibi, Torr, Ghanem, Data dependent randomized smoothing; Sukenik, Kuvshinov,
    Guennemann, Algorithm 1.

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


def instance_sigma(
    sampler: Sampler,
    x: Any,
    sigmas: Sequence[float],
    *,
    n0: int = 100,
    n: int = 1000,
    alpha: float = 0.001,
    seed: int = 0,
    index: int = 0,
) -> float:
    """The level of a list whose certificate from a few samples is the largest at one input.

    Parameters
    ----------
    sampler, x, n0, n, alpha, seed, index
        As in :func:`rsbounds.certify.certify`, which draws other samples from the same seed:
        those that choose the level are spent.
    sigmas : sequence of float
        Levels to try, > 0; the first where none is certified.

    Returns
    -------
    float
        To be used with :func:`this_input`.

    References
    ----------
    Chen, Kong, Yu, Mao, Insta-RS; Sukenik, Kuvshinov, Guennemann, Algorithm 2.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import TorchSampler, instance_sigma
    >>> instance_sigma(TorchSampler(torch.nn.Linear(2, 2)), torch.ones(2), [0.25, 0.5]) in (.25, .5)
    True
    """
    levels = real("sigmas", sigmas, 0, closed="neither", nan=False).ravel().tolist()
    if not levels:
        raise ValueError("sigmas must hold at least one level; got none")
    whole("n0", n0, 1), whole("n", n, 1)
    generator = stream(seed, index, SEARCH)

    def radius(sigma: float) -> float:
        top = int(np.argmax(np.asarray(sampler(x, sigma, n0, generator))))
        count = int(np.asarray(sampler(x, sigma, n, generator))[top])
        return sigma * max(float(lower_bound(count, n, alpha, scores=True)), 0.0)

    return float(max(levels, key=radius))


class Memory:
    """The classifier that remembers: certified balls of different classes never meet.

    A new input inside a remembered ball gets that ball's class, the distance to its boundary as
    radius, and the evidence of the ball's certificate (counts, level). Any other keeps its own
    class, and its radius is cut where a remembered ball of another class begins. The
    certificates are those of this classifier, with this memory; another order of the inputs, or
    another process, makes another classifier.

    References
    ----------
    Alfarra, Bibi, Torr, Ghanem, Data dependent randomized smoothing, the memory-based
    certificate.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from rsbounds.certificate import Certificate
    >>> from rsbounds.torch import Memory
    >>> memory = Memory()
    >>> first = Certificate(0, 1.0, 2.0, 0.9, 990, 1000, 0.5, "gaussian", "")
    >>> other = replace(first, predict=1)
    >>> found = [memory.correct(x, c) for x, c in (([0.0], first), ([1.5], other), ([0.5], other))]
    >>> [(c.predict, round(c.radius, 6)) for c in found]
    [(0, 1.0), (1, 0.5), (0, 0.5)]
    """

    def __init__(self) -> None:
        self._points: list[Any] = []
        self._kept: list[Certificate] = []

    def correct(self, x: Any, found: Certificate) -> Certificate:
        """The memory-based certificate of an input, given the one of its own noise.

        Parameters
        ----------
        x : array_like
            The input, of the same shape in every call.
        found : Certificate
            Its certificate, with an l2 radius.

        Returns
        -------
        Certificate
            With scope "memory-based"; remembered where its radius is positive.

        Raises
        ------
        ValueError
            An input that isn't finite, or not of the first one's size.
        """
        point = real("x", x, closed="neither", nan=False).ravel()
        radius, inside = found.radius, False
        if self._points:
            if point.size != self._points[0].size:
                raise ValueError(f"x must have {self._points[0].size} numbers; got {point.size}")
            distance = np.linalg.norm(np.stack(self._points) - point, axis=1)
            # twice the error of the norm, on the safe side of either use of the gap
            slack = (point.size + 16) * 2.0**-52 * distance
            gap = distance - np.array([kept.radius for kept in self._kept])
            best = int(np.argmin(gap))
            if inside := bool(gap[best] - slack[best] < 0):
                found, radius = self._kept[best], max(-gap[best] - slack[best], 0.0)
            else:
                others = np.array([kept.predict for kept in self._kept]) != found.predict
                radius = float(np.min(gap - slack, where=others, initial=radius))
        result = replace(found, radius=float(radius), scope="memory-based")
        if not inside and not found.abstained and radius > 0:
            self._points.append(point)
            self._kept.append(result)
        return result
