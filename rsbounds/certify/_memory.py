"""Noise of one input, and the memory that makes its radius valid.

The level is chosen for that input.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_floats, on_host
from rsbounds.answers import class_counts
from rsbounds.certificate import ANOTHERS, MEMORY, Certificate
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure, require_procedure
from rsbounds.sampling import Phase, Sampler, as_sampler, stream

#: Samples of a level that is tried.
FEW = Procedure(n=1000)


def instance_sigma(
    sampler: Sampler,
    x: Any,
    sigmas: Sequence[float],
    procedure: Procedure = FEW,
    *,
    index: int = 0,
) -> float:
    """Choose the level of a list whose certificate at one input is the largest.

    Certificates from few samples are compared.

    Use it with :func:`rsbounds.schemes.this_input`. :func:`certify` draws other samples
    from the same seed: these are spent.

    Parameters
    ----------
    sampler, x, index
        As in :func:`certify`.
    sigmas : sequence of float
        Levels to try, > 0; the first where none is certified.
    procedure : Procedure
        Its n0, n, alpha and seed are used; by default n = 1,000.

    References
    ----------
    Chen, Kong, Yu, Mao, Insta-RS; Sukenik, Kuvshinov, Günnemann, Algorithm 2.

    Examples
    --------
    >>> from rsbounds.certify import instance_sigma
    >>> from rsbounds.sampling import ArraySampler
    >>> sampler = ArraySampler(lambda batch: batch)
    >>> # both levels are all but certain: the larger one
    >>> instance_sigma(sampler, [9.0, 0.0], [0.25, 0.5])
    0.5
    """
    levels = (
        as_floats("sigmas", sigmas, 0, closed="neither", nan=False).ravel().tolist()
    )
    if not levels:
        raise ValueError("sigmas must hold at least one level; got none")
    require_procedure(procedure)
    sampler = as_sampler(sampler)
    generator = stream(procedure.seed, index, Phase.SEARCH)

    def radius(sigma: float) -> float:
        selected = class_counts(sampler(x, sigma, procedure.n0, generator))
        top = int(np.argmax(selected))
        count = int(class_counts(sampler(x, sigma, procedure.n, generator))[top])
        return sigma * max(
            float(lower_bound(count, procedure.n, procedure.alpha, scores=True)), 0.0
        )

    return float(max(levels, key=radius))


class Memory:
    """The classifier that remembers: certified balls of different classes never meet.

    A new input inside a remembered ball gets that ball's class and evidence, and the
    distance to its boundary as radius. Any other keeps its own class, and its radius is
    cut where a remembered ball of another class begins. Another order of the inputs
    makes another classifier.

    References
    ----------
    Alfarra, Bibi, Torr, Ghanem, Data dependent randomized smoothing, the memory-based
    certificate.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from rsbounds.certificate import Certificate
    >>> from rsbounds.certify import Memory
    >>> memory = Memory()
    >>> first = Certificate(0, 1.0, 2.0, 0.9, 990, 1000, 0.5, "gaussian", "")
    >>> other = replace(first, predict=1)
    >>> inputs = ([0.0], first), ([1.5], other), ([0.5], other)
    >>> each = [memory.correct(x, c) for x, c in inputs]
    >>> [(c.predict, round(c.radius, 6)) for c in each]
    [(0, 1.0), (1, 0.5), (0, 0.5)]
    """

    def __init__(self) -> None:
        self._points: list[Any] = []
        self._kept: list[Certificate] = []

    def correct(self, x: Any, certificate: Certificate) -> Certificate:
        """Return the memory-based certificate of an input.

        It is remembered where its radius is positive.

        ``certificate`` is that of the input's own noise, in l2. ValueError for another
        norm or another package's method, and for an input that isn't finite or not of
        the first one's size.
        """
        if not isinstance(certificate, Certificate):
            raise ValueError(f"certificate must be a Certificate; got {certificate!r}")
        if certificate.norm != 2:
            raise ValueError(
                f"certificate must have an l2 radius; got norm {certificate.norm}"
            )
        if certificate.scope == ANOTHERS:
            raise ValueError(
                f"certificate must be of a method of rsbounds; got scope {ANOTHERS!r}"
            )
        point = as_floats("x", on_host("x", x), closed="neither", nan=False).ravel()
        radius, inside = certificate.radius, False
        if self._points:
            if point.size != self._points[0].size:
                raise ValueError(
                    f"x must have {self._points[0].size} numbers; got {point.size}"
                )
            distance = np.array([np.linalg.norm(kept - point) for kept in self._points])
            # twice the error of the norm, on the safe side of either use of the gap
            slack = (point.size + 16) * 2.0**-52 * distance
            gap = distance - np.array([kept.radius for kept in self._kept])
            best = int(np.argmin(gap))
            if inside := bool(gap[best] - slack[best] < 0):
                certificate, radius = (
                    self._kept[best],
                    max(-gap[best] - slack[best], 0.0),
                )
            else:
                others = (
                    np.array([kept.predict for kept in self._kept])
                    != certificate.predict
                )
                radius = float(np.min(gap - slack, where=others, initial=radius))
        result = replace(certificate, radius=float(radius), scope=MEMORY)
        if not inside and not certificate.abstained and radius > 0:
            self._points.append(point)
            self._kept.append(result)
        return result
