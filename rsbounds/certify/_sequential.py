"""One input at one radius, with no more samples than that takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count, number, real
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify._procedure import check_noise, class_counts, earned, level
from rsbounds.confidence import BOUNDS, Pair, anytime_lower_bound, anytime_upper_bound
from rsbounds.sampling import Phase, Sampler, stream
from rsbounds.schemes import Scheme

LARGEST = 40.0  # no number of samples gives a larger score


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
    runner_up: bool = True,
) -> Certificate:
    """Certify one input at one radius, with no more samples than that takes.

    Samples are drawn until an anytime-valid test proves the radius, or shows it to be out
    of reach, or ``n`` are spent. At sigma = target and a class of probability .95 some 185
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
    runner_up : bool
        As in :func:`certify`.

    Returns
    -------
    Certificate
        ``radius`` is ``target`` or 0.0; ``score`` and ``p_a`` hold at the ``n`` stopped at.

    Raises
    ------
    ValueError
        As :func:`certify`.

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
    number("target", real("target", target, 0, closed="neither", nan=False))
    check_noise(sampler, scheme)
    sigma = level(scheme, x)
    select = class_counts(sampler(x, sigma, n0, stream(seed, index, Phase.SELECT)))
    top = int(np.argmax(select))
    counts = np.zeros_like(select)
    generator = stream(seed, index, Phase.ESTIMATE)
    pair = Pair(-np.inf, np.inf, 0.0, 1.0)
    drawn = 0
    proved, hopeless = False, not _earns(scheme, sigma, LARGEST, -LARGEST, target)
    while drawn < n and not proved and not hopeless:
        more = min(step(drawn), n - drawn)
        counts = counts + class_counts(sampler(x, sigma, more, generator))
        drawn += more
        pair = BOUNDS["anytime"].pair(counts, top, drawn, alpha, runner_up=runner_up)
        proved = _earns(scheme, sigma, pair.z_a, pair.z_b, target)
        hopeless = not proved and _out_of_reach(
            scheme, sigma, counts, top, drawn, alpha, target, runner_up
        )
    leads = pair.z_a > pair.z_b
    return Certificate(
        predict=top if leads else ABSTAIN,
        radius=target if proved else 0.0,
        score=pair.z_a,
        p_a=pair.p_a,
        count=int(counts[top]),
        n=drawn,
        sigma=sigma,
        method=scheme.method,
        scope=scheme.scope,
        norm=scheme.norm,
        bound="anytime",
        score_b=pair.z_b,
        select=tuple(select.tolist()),
        counts=tuple(counts.tolist()),
        void=int(n0 - select.sum() + drawn - counts.sum()),
    )


def step(drawn: int) -> int:
    """How many samples are drawn after so many."""
    return max(64, 1 << (drawn // 4).bit_length() >> 1)


def _earns(scheme: Scheme, sigma: float, z_a: float, z_b: float, target: float) -> bool:
    return z_a > z_b and earned(scheme, sigma, z_a, z_b) >= target


def _out_of_reach(
    scheme: Scheme,
    sigma: float,
    counts: NDArray[np.int64],
    top: int,
    n: int,
    alpha: float,
    target: float,
    runner_up: bool,
) -> bool:
    """Whether even the upper bound of p_a and the lower bound of p_b miss the target."""
    best = float(anytime_upper_bound(counts[top], n, alpha, scores=True))
    other = -best
    if runner_up:
        rest = np.delete(counts, top).max()
        other = min(float(anytime_lower_bound(rest, n, alpha, scores=True)), -best)
        other = max(other, -LARGEST)
    return not _earns(scheme, sigma, min(best, LARGEST), other, target)
