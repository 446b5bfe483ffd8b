"""The level of a list that certifies most at one input, chosen with samples of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_floats
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, Sampler, as_sampler, stream


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

    Use it with :func:`rsbounds.schemes.this_input`.

    Parameters
    ----------
    sampler, x, n0, n, alpha, seed, index
        As in :func:`rsbounds.certify.certify`, which draws other samples from the same seed:
        those that choose the level are spent.
    sigmas : sequence of float
        Levels to try, > 0; the first where none is certified.

    References
    ----------
    Chen, Kong, Yu, Mao, Insta-RS; Sukenik, Kuvshinov, Günnemann, Algorithm 2.

    Examples
    --------
    >>> from rsbounds.certify import instance_sigma
    >>> from rsbounds.sampling import ArraySampler
    >>> sampler = ArraySampler(lambda batch: batch)
    >>> instance_sigma(sampler, [9.0, 0.0], [0.25, 0.5])  # both all but certain: the larger level
    0.5
    """
    levels = as_floats("sigmas", sigmas, 0, closed="neither", nan=False).ravel().tolist()
    if not levels:
        raise ValueError("sigmas must hold at least one level; got none")
    procedure, sampler = Procedure(n0, n, alpha, seed), as_sampler(sampler)
    generator = stream(procedure.seed, index, Phase.SEARCH)

    def radius(sigma: float) -> float:
        top = int(np.argmax(np.asarray(sampler(x, sigma, procedure.n0, generator))))
        count = int(np.asarray(sampler(x, sigma, procedure.n, generator))[top])
        return sigma * max(float(lower_bound(count, procedure.n, alpha, scores=True)), 0.0)

    return float(max(levels, key=radius))
