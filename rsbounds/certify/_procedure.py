"""One input: Cohen's two phases, and the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.checks import count, one, real
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import lower_bound
from rsbounds.sampling import Phase, Sampler, stream
from rsbounds.schemes import Scheme


def certify(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    *,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    seed: int = 0,
    index: int = 0,
) -> Certificate:
    """Certify one input: n0 samples choose the class, n fresh ones bound its probability.

    Parameters
    ----------
    sampler : Sampler
        The classifier under noise.
    x : array
        One input, in whatever form ``sampler`` and ``scheme`` take.
    scheme : Scheme
        Noise level and radius, such as ``rsbounds.schemes.gaussian(0.5)``.
    n0, n : int
        Numbers of samples for selection and estimation, >= 1.
    alpha : float
        Probability that the certificate is wrong, in (0, 1).
    seed, index : int
        Name the random samples, >= 0; give each input its own ``index``.

    Returns
    -------
    Certificate
        ``predict`` is ``ABSTAIN`` unless the class has a majority at level 1 - alpha.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or the noise level at ``x`` isn't positive.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, procedure Certify and Proposition 2.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import ArraySampler, certify
    >>> from rsbounds.schemes import gaussian
    >>> w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    >>> c = certify(ArraySampler(lambda b: b @ w.T), [0.5, 0.0], gaussian(0.5), n=10_000)
    >>> c.predict, 0.45 < c.radius < 0.5  # the truth is 0.5
    (0, True)
    """
    n0, n = count("n0", n0, 1), count("n", n, 1)
    one("alpha", real("alpha", alpha, 0, 1, closed="neither", nan=False))
    sigma = scheme.sigma(x)
    selected = sampler(x, sigma, n0, stream(seed, index, Phase.SELECT))
    estimated = sampler(x, sigma, n, stream(seed, index, Phase.ESTIMATE))
    top = int(np.argmax(np.asarray(selected)))
    hits = int(np.asarray(estimated)[top])
    score = float(lower_bound(hits, n, alpha, scores=True))
    return Certificate(
        predict=top if score > 0 else ABSTAIN,
        radius=scheme.radius(score, sigma) if score > 0 else 0.0,
        score=score,
        p_a=float(lower_bound(hits, n, alpha)),
        count=hits,
        n=n,
        sigma=sigma,
        method=scheme.method,
        scope=scheme.scope,
    )


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
    """The smoothed classifier's class at ``x``, or ``ABSTAIN``.

    The class returned is wrong with probability at most alpha: the two-sided binomial test
    that the two most frequent classes are equally likely must reject.

    Parameters
    ----------
    sampler, x, scheme, n, alpha, seed, index
        As in :func:`certify`.

    Returns
    -------
    int

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
    n = count("n", n, 1)
    one("alpha", real("alpha", alpha, 0, 1, closed="neither", nan=False))
    counts = np.asarray(sampler(x, scheme.sigma(x), n, stream(seed, index, Phase.PREDICT)))
    second, first = np.sort(counts)[-2:]
    # P(Bin(first + second, 1/2) >= first) <= alpha/2, by a proved bound
    rejects = first > second and lower_bound(first, first + second, alpha / 2, scores=True) >= 0
    return int(np.argmax(counts)) if rejects else ABSTAIN
