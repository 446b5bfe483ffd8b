"""One input: the smoothed classifier's class."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds.certificate import ABSTAIN
from rsbounds.certify._input import check_noise, class_counts, level, sampler_of
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, Sampler, stream
from rsbounds.schemes import Scheme


def predict(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    *,
    n: int = 100_000,
    alpha: float = 0.001,
    seed: int = 0,
    index: int = 0,
) -> int:
    """The smoothed classifier's class at ``x``, or ``ABSTAIN``; arguments as in :func:`certify`.

    The class returned is wrong with probability at most alpha: the two-sided binomial test
    that the two most frequent classes are equally likely must reject.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, procedure Predict and Proposition 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import ArraySampler, predict
    >>> from rsbounds.schemes import gaussian
    >>> w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    >>> predict(ArraySampler(lambda b: b @ w.T), [0.5, 0.0], gaussian(0.5), n=100)
    0
    """
    procedure = Procedure(n=n, alpha=alpha, seed=seed)
    sampler = sampler_of(sampler, scheme)
    check_noise(sampler, scheme)
    # A phase of its own: a prediction never looks at the samples of a certificate.
    generator = stream(procedure.seed, index, Phase.PREDICT)
    counts = class_counts(sampler(x, level(scheme, x), procedure.n, generator))
    second, first = np.sort(counts)[-2:]
    # P(Bin(first + second, 1/2) >= first) <= alpha/2, by a proved bound
    rejects = first > second and lower_bound(first, first + second, alpha / 2, scores=True) >= 0
    return int(np.argmax(counts)) if rejects else ABSTAIN
