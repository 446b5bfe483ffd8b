"""Levels chosen for one input, which certify nothing at any other, and the memory of
certified balls: procedures of papers that the table of learned smoothing compares."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rsbounds.certificate import ANOTHERS, Certificate
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, Sampler
from rsbounds.sampling.internal import stream


def by_search(
    sampler: Sampler, x: Any, sigmas: Sequence[float], procedure: Procedure, index: int
) -> float:
    """The level of a list whose certificate at one input is the largest.

    Certificates from few samples are compared (Chen, Kong, Yu, Mao, Insta-RS; Sukenik,
    Kuvshinov, Günnemann, Algorithm 2). The certificate draws other samples.
    """
    generator = stream(procedure.seed, index, Phase.SEARCH)

    def radius(sigma: float) -> float:
        top = int(np.argmax(sampler(x, sigma, procedure.n0, generator)))
        count = int(sampler(x, sigma, procedure.n, generator)[top])
        score = lower_bound(count, procedure.n, procedure.alpha, scores=True)
        return sigma * max(float(score), 0.0)

    return float(max(sigmas, key=radius))


def by_ascent(
    model: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    sigma: float,
    *,
    steps: int,
    samples: int,
    rate: float,
    seed: int,
) -> float:
    """A level for one input by gradient ascent of its radius from ``sigma``.

    The radius is sigma/2 (Phi^-1(p_A) - Phi^-1(p_B)) with the two largest mean class
    probabilities of noisy copies, drawn anew in each step (Alfarra, Bibi, Torr, Ghanem,
    Data dependent randomized smoothing; Sukenik, Kuvshinov, Günnemann, Algorithm 1).
    """
    level = torch.tensor(sigma, requires_grad=True)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        noise = torch.randn(samples, *x.shape, generator=generator)
        scores = model(x + level * noise).softmax(1).mean(0).double()
        top = torch.special.ndtri(scores.clamp(1e-6, 1 - 1e-6).topk(2).values)
        (slope,) = torch.autograd.grad(level / 2 * (top[0] - top[1]), level)
        moved = (level.detach() + rate * slope).clamp(min=1e-3 * sigma)
        level = moved.requires_grad_()
    return level.item()


class Memory:
    """The classifier that remembers: certified balls of different classes never meet.

    A new input inside a remembered ball gets that ball's class and evidence, and the
    distance to its boundary as radius. Any other keeps its own class, and its radius is
    cut where a remembered ball of another class begins (Alfarra, Bibi, Torr, Ghanem,
    the memory-based certificate). Another order of the inputs makes another classifier.
    """

    def __init__(self) -> None:
        self._points: list[Any] = []
        self._certificates: list[Certificate] = []

    def correct(self, x: Any, certificate: Certificate) -> Certificate:
        """The memory-based certificate of an input, in l2; it is remembered."""
        point = np.asarray(x, dtype=np.float64).ravel()
        radius, inside = certificate.radius, False
        if self._points:
            distance = np.linalg.norm(np.array(self._points) - point, axis=1)
            # twice the error of the norm, on the safe side of either use of the gap
            slack = (point.size + 16) * 2.0**-52 * distance
            gap = distance - np.array([c.radius for c in self._certificates])
            best = int(np.argmin(gap))
            inside = bool(gap[best] - slack[best] < 0)
            if inside:
                certificate = self._certificates[best]
                radius = max(-gap[best] - slack[best], 0.0)
            else:
                classes = np.array([c.predict for c in self._certificates])
                others = classes != certificate.predict
                radius = np.min(gap - slack, where=others, initial=radius)
        result = replace(certificate, radius=float(radius), scope=ANOTHERS)
        if not inside and not certificate.abstained and radius > 0:
            self._points.append(point)
            self._certificates.append(result)
        return result
