"""Monte Carlo certification over any sampler, in Cohen's two phases.

Nothing here knows a framework or a theory: a :class:`Sampler` turns an input into counts
of classes under noise, a :class:`rsbounds.schemes.Scheme` turns a score into a radius.

Reproducibility. Every sample is a function of (seed, index of the input, phase, number of
the sample) alone. Noise is drawn in blocks of a size fixed by the input's size and the
number of samples (:func:`block_size`), and the model always runs on exactly one block: the
result then depends neither on how many samples are held at once, nor on the order of the
inputs, sharding or resumption. That the forward pass has a shape of its own matters,
because the floating-point sums of a network depend on the shape of its batch, and a sum
that differs in its last bit now and then tips a near-tie between two classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rsbounds._checks import count, one, real
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import (
    SequentialTest,
    anytime_lower_bound,
    anytime_upper_bound,
    lower_bound,
)
from rsbounds.schemes import Scheme

__all__ = [
    "ArraySampler",
    "Sampler",
    "block_size",
    "certify",
    "certify_radius",
    "predict",
    "stream",
    "votes",
]

_SELECT, _ESTIMATE, _PREDICT, SEARCH = range(4)


class Sampler(Protocol):
    """Classifies noisy copies of one input and counts the classes.

    Called as ``sampler(x, sigma, n, generator)``; returns, for each class, how many of n
    samples of x + sigma N(0, I) the classifier put there, as anything ``numpy.asarray``
    turns into whole numbers (on demand: a device may still be at work). All randomness
    comes from ``generator``. A sample whose scores hold a NaN counts for no class.
    """

    def __call__(self, x: Any, sigma: float, n: int, generator: np.random.Generator) -> Any: ...


def stream(seed: int, index: int, phase: int) -> np.random.Generator:
    """The generator of one phase of one input."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, phase)))


def single(sigma: float) -> np.float32:
    """The noise level in the precision of the noise, rounded up: more noise than is certified."""
    low, high = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    if not low <= sigma <= high:
        raise ValueError(f"sigma must be in [{low:.2g}, {high:.2g}] to draw noise; got {sigma}")
    level = np.float32(sigma)
    return level if float(level) >= sigma else np.nextafter(level, np.float32(high))


def block_size(n: int, dim: int, cells: int = 2**18) -> int:
    """Samples in one block of noise, which is also the batch of every forward pass.

    About ``cells`` numbers (a size that fits a processor's cache), between 16 and 4096
    samples, and evened out so that the last block is nearly as full as the others.

    Examples
    --------
    >>> from rsbounds.certify import block_size
    >>> block_size(100, 784), block_size(100_000, 784), block_size(100_000, 150_528)
    (100, 334, 16)
    """
    if dim < 1:
        raise ValueError("x must have at least one number; got an empty input")
    largest = min(max(cells // dim, 16), 4096)
    blocks = -(-n // largest)
    return -(-n // blocks)


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
    selected = sampler(x, sigma, n0, stream(seed, index, _SELECT))
    estimated = sampler(x, sigma, n, stream(seed, index, _ESTIMATE))
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
    top = int(np.argmax(np.asarray(sampler(x, sigma, n0, stream(seed, index, _SELECT)))))
    generator = stream(seed, index, _ESTIMATE)
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
    counts = np.asarray(sampler(x, scheme.sigma(x), n, stream(seed, index, _PREDICT)))
    second, first = np.sort(counts)[-2:]
    # P(Bin(first + second, 1/2) >= first) <= alpha/2, by a proved bound
    rejects = first > second and lower_bound(first, first + second, alpha / 2, scores=True) >= 0
    return int(np.argmax(counts)) if rejects else ABSTAIN


class ArraySampler:
    """Sampler over a classifier of NumPy batches: onnxruntime, scikit-learn, plain functions.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes).

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import ArraySampler
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], axis=1))
    >>> int(sampler(np.array([9.0, 0.0]), 1.0, 50, np.random.default_rng(0))[0])
    50
    """

    def __init__(self, classifier: Callable[[NDArray[np.float32]], Any]) -> None:
        self.classifier = classifier

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Counts of the classes; see :class:`Sampler`."""
        x, level = np.asarray(x, dtype=np.float32), single(sigma)
        size = block_size(n, x.size)
        counts: Any = 0
        for start in range(0, n, size):
            noise = generator.standard_normal((size, *x.shape), dtype=np.float32)
            noise *= level
            noise += x
            counts = counts + votes(self.classifier(noise), size, n - start)
        return np.asarray(counts, dtype=np.int64)


def votes(scores: Any, rows: int, used: int) -> NDArray[np.int64]:
    """Counts of the classes over the first ``used`` rows of one batch of NumPy scores."""
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.shape[0] != rows or scores.shape[1] < 2:
        raise ValueError(
            f"the model must return scores of shape ({rows}, classes), at least two classes, "
            f"for a batch of {rows}; got shape {scores.shape}"
        )
    scores = scores[:used]
    valid = ~np.isnan(scores).any(axis=1)
    return np.bincount(scores.argmax(axis=1)[valid], minlength=scores.shape[1])
