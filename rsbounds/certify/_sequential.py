"""One input at one radius, with no more samples than that takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rsbounds._numerics.checks import count, one, real
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import SequentialTest, anytime_lower_bound, anytime_upper_bound
from rsbounds.sampling import Phase, Sampler, stream
from rsbounds.schemes import Scheme


def certify_radius(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    target: float,
    *,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    seed: int = 0,
    index: int = 0,
) -> Certificate:
    """Certify one input at one radius, with no more samples than that takes.

    Samples are drawn until an anytime-valid test proves the radius, or shows it to be out
    of reach, or ``n`` are spent. At sigma = target and a class of probability .95 some 250
    samples do where a fixed number must be chosen in advance.

    Parameters
    ----------
    sampler, x, scheme, n0, seed, index
        As in :func:`certify`.
    target : float
        The radius to be certified, > 0.
    n : int
        Largest number of samples for estimation, >= 1.
    alpha : float
        Probability that the certificate is wrong, in (0, 1/2].

    Returns
    -------
    Certificate
        ``radius`` is ``target`` or 0.0; ``score`` and ``p_a`` hold at the ``n`` stopped at.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or the noise level at ``x`` isn't positive.

    References
    ----------
    :class:`rsbounds.confidence.SequentialTest`.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import ArraySampler, certify_radius
    >>> from rsbounds.schemes import gaussian
    >>> w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    >>> c = certify_radius(ArraySampler(lambda b: b @ w.T), [0.9, 0.0], gaussian(0.5), 0.5)
    >>> c.predict, c.radius, c.n < 1000
    (0, 0.5, True)
    """
    n0, n = count("n0", n0, 1), count("n", n, 1)
    one("target", real("target", target, 0, closed="neither", nan=False))
    sigma = scheme.sigma(x)
    needed = _score_of(lambda z: scheme.radius(z, sigma) >= target)
    test = SequentialTest(radius=needed or 0.0, sigma=1.0, alpha=alpha)
    top = int(np.argmax(np.asarray(sampler(x, sigma, n0, stream(seed, index, Phase.SELECT)))))
    generator = stream(seed, index, Phase.ESTIMATE)
    hits = drawn = 0
    proved = hopeless = False
    while drawn < n and not proved and not hopeless and needed is not None:
        more = min(max(64, 1 << (drawn // 4).bit_length() >> 1), n - drawn)
        hits += int(np.asarray(sampler(x, sigma, more, generator))[top])
        drawn += more
        proved = bool(test.proves(hits, drawn))
        hopeless = not proved and anytime_upper_bound(hits, drawn, alpha, scores=True) < needed
    score = float(anytime_lower_bound(hits, drawn, alpha, scores=True)) if drawn else -np.inf
    return Certificate(
        predict=top if score > 0 else ABSTAIN,
        radius=target if proved else 0.0,
        score=score,
        p_a=float(anytime_lower_bound(hits, drawn, alpha)) if drawn else 0.0,
        count=hits,
        n=drawn,
        sigma=sigma,
        method=scheme.method,
        scope=scheme.scope,
    )


def _score_of(enough: Callable[[float], bool]) -> float | None:
    """The smallest score (to the last bit) that is enough; None if no double's is."""
    low, high = 0.0, 40.0
    if not enough(high):
        return None
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
