"""One input, from its samples to its certificate.

Cohen's two phases: a few samples guess the class, fresh ones bound its probability, and the scheme
turns the bound into a radius. :func:`certify_input` has the first two steps,
:func:`certify_evidence` the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import number, real, whole
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.confidence import BOUNDS, Pair, anytime_lower_bound, anytime_upper_bound
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, Sampler, as_sampler, require_law, stream
from rsbounds.schemes import Scheme
from rsbounds.schemes._domains import POSITIVE, RADIUS

LARGEST = 40.0  # no number of samples gives a larger score


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
    bound: str = "clopper-pearson",
    runner_up: bool = True,
) -> Certificate:
    """Certify one input: n0 samples choose the class, n fresh ones bound its probability.

    Parameters
    ----------
    sampler : Sampler, torch.nn.Module or callable
        The classifier under noise, or a model as :func:`rsbounds.sampling.as_sampler` takes it; for
        a bound on scores a sampler that returns their histograms.
    x : array
        One input, in whatever form ``sampler`` and ``scheme`` take.
    scheme : Scheme
        Noise level and radius, such as ``rsbounds.schemes.gaussian(0.5)``.
    n0, n, alpha, seed, bound, runner_up
        As in :class:`Procedure`.
    index : int
        Names the random samples together with ``seed``, >= 0; give each input its own.

    Returns
    -------
    Certificate
        ``predict`` is ``ABSTAIN`` unless the class leads every other at level 1 - alpha.

    Raises
    ------
    ValueError
        If an argument is out of its domain, ``x`` isn't in floating point and finite, or the
        scheme gives a noise level that isn't positive or a radius that is negative or NaN.

    References
    ----------
    Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing, 2019:
    procedure Certify, Proposition 2 and, for the runner-up, Theorem 1.

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
    procedure = Procedure(n0, n, alpha, seed, bound, runner_up)
    return certify_input(sampler_of(sampler, scheme), x, scheme, procedure, index)


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
    sampler, x, scheme, n0, n, seed, index, runner_up
        As in :func:`certify`; ``n`` is the largest number of samples for estimation.
    target : float
        The radius to be certified, > 0.
    alpha : float
        Probability that the certificate is wrong, in (0, 1/2].

    Returns
    -------
    Certificate
        ``radius`` is ``target`` or 0.0; ``z_a`` and ``p_a`` hold at the ``n`` stopped at.

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
    target = number("target", real("target", target, 0, closed="neither", nan=False))
    procedure = Procedure(n0, n, alpha, seed, runner_up=runner_up, target_radius=target)
    return certify_input(sampler_of(sampler, scheme), x, scheme, procedure, index)


def certify_counts(
    scheme: Scheme,
    sigma: float,
    select: Sequence[int] | NDArray[Any],
    counts: Sequence[int] | NDArray[Any],
    *,
    n0: int,
    n: int,
    alpha: float,
    seed: int = 0,
    index: int = 0,
    bound: str = "clopper-pearson",
    runner_up: bool = True,
) -> Certificate:
    """The certificate that class counts support, whenever they were sampled.

    Parameters
    ----------
    scheme : Scheme
        Its radius is used; its ``sigma`` is not.
    sigma : float
        The noise level that was sampled, > 0.
    select, counts : array_like of int, shape (classes,)
        Class counts of the samples that choose the class and of those that bound it; trailing
        zeros may be left out, and what is missing of n0 and n is void.
    n0, n, alpha, seed, index, bound, runner_up
        As in :func:`certify`; only the bound "randomized" draws from seed and index.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        Counts that sum to more than was drawn, or another argument out of its domain.

    Examples
    --------
    >>> from rsbounds.certify import certify_counts
    >>> from rsbounds.schemes import gaussian
    >>> c = certify_counts(gaussian(0.5), 0.5, [60, 40], [4500, 700], n0=100, n=10_000, alpha=1e-3)
    >>> c.predict, c.radius > 0.3  # no majority, but a wide lead over the runner-up
    (0, True)
    """
    require_scheme(scheme)
    procedure = Procedure(n0, n, alpha, seed, bound, runner_up)
    return certify_evidence(scheme, sigma, select, counts, procedure, index)


def certify_input(
    sampler: Sampler, x: Any, scheme: Scheme, procedure: Procedure, index: int
) -> Certificate:
    """Certify one input by the numbers of a procedure; ``index`` is as in :func:`certify`."""
    check_noise(sampler, scheme)
    evidence = getattr(sampler, "evidence", "counts")
    if (needed := BOUNDS[procedure.bound].evidence) != evidence:
        raise ValueError(
            f"bound {procedure.bound!r} is on {needed}: the sampler gives {evidence} "
            "(rsbounds.sampling.SoftSampler: scores)"
        )
    sigma = level(scheme, x)
    # n0 samples guess the class, fresh ones bound its probability: among the samples that chose
    # it the class is ahead by luck, too, and their counts would promise too much.
    select = sampler(x, sigma, procedure.n0, stream(procedure.seed, index, Phase.SELECT))
    fresh = stream(procedure.seed, index, Phase.ESTIMATE)
    if procedure.target_radius is not None:
        return _until_decided(sampler, x, scheme, sigma, procedure, class_counts(select), fresh)
    # Both are asked for before either is read: a GPU may still be at work on the first.
    estimate = sampler(x, sigma, procedure.n, fresh)
    if evidence == "scores":
        return _certify_scores(scheme, sigma, select, estimate, procedure)
    counts = class_counts(select), class_counts(estimate)
    return certify_evidence(scheme, sigma, *counts, procedure, index)


def certify_evidence(
    scheme: Scheme, sigma: float, select: Any, counts: Any, procedure: Procedure, index: int
) -> Certificate:
    """Certify class counts by the numbers of a procedure; only "randomized" needs ``index``."""
    number("sigma", real("sigma", sigma, 0, closed="neither", nan=False))
    select, counts = _drawn("select", select, procedure.n0), _drawn("counts", counts, procedure.n)
    bound = BOUNDS[procedure.bound]
    if bound.evidence != "counts":
        raise ValueError(f"bound must be one on counts; {bound.name!r} is on {bound.evidence}")
    top = int(np.argmax(select))
    first = int(counts[top]) if top < len(counts) else 0
    second = int(max(counts[:top].max(initial=0), counts[top + 1 :].max(initial=0)))
    u = None
    if bound.name == "randomized":  # the uniform number is fixed before the counts are seen
        u = 1.0 - stream(procedure.seed, index, Phase.BOUND).random()
    n, alpha, runner_up = procedure.n, procedure.alpha, procedure.runner_up
    pair = _pair(bound.name, first, second, n, alpha, runner_up, u)
    radius = earned(scheme, sigma, pair)
    return _certificate(scheme, sigma, procedure, top, pair, radius, n, select, counts)


@lru_cache(maxsize=4096)
def _pair(
    bound: str, first: int, second: int, n: int, alpha: float, runner_up: bool, u: float | None
) -> Pair:
    """The bounds of the top class's count and the largest other one: many inputs share them."""
    return BOUNDS[bound].pair([first, second], 0, n, alpha, runner_up=runner_up, u=u)


def _certify_scores(
    scheme: Scheme, sigma: float, select: Any, estimate: Any, procedure: Procedure
) -> Certificate:
    """The certificate of the classifier whose classes are ranked by their mean scores."""
    top = int(np.argmax([histogram.counts @ histogram.edges for histogram in select]))
    n, alpha, runner_up = procedure.n, procedure.alpha, procedure.runner_up
    pair = BOUNDS[procedure.bound].pair(estimate, top, n, alpha, runner_up=runner_up)
    radius, none = earned(scheme, sigma, pair), np.zeros(0, dtype=np.int64)
    return _certificate(scheme, sigma, procedure, top, pair, radius, n, none, none)


def _until_decided(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    sigma: float,
    procedure: Procedure,
    select: NDArray[np.int64],
    fresh: np.random.Generator,
) -> Certificate:
    """Draw until the target radius is proved or out of reach, or n samples are spent.

    The anytime bound holds at all numbers of samples at once. So it may be looked at after each
    step, and what it says may stop the sampling.
    """
    n, alpha, runner_up = procedure.n, procedure.alpha, procedure.runner_up
    target = procedure.target_radius or 0.0

    def reached(z_a: float, z_b: float) -> bool:
        return z_a > z_b and earned(scheme, sigma, Pair(z_a, z_b, 0.0, 1.0)) >= target

    top = int(np.argmax(select))
    counts, drawn = np.zeros_like(select), 0
    pair = Pair(-np.inf, np.inf, 0.0, 1.0)
    proved, hopeless = False, not reached(LARGEST, -LARGEST)
    while drawn < n and not proved and not hopeless:
        more = min(step(drawn), n - drawn)
        counts = counts + class_counts(sampler(x, sigma, more, fresh))
        drawn += more
        pair = BOUNDS["anytime"].pair(counts, top, drawn, alpha, runner_up=runner_up)
        proved = reached(pair.z_a, pair.z_b)
        if not proved:  # hopeless where even the upper bound of p_a and the lower one of p_b miss
            best = float(anytime_upper_bound(counts[top], drawn, alpha, scores=True))
            other = -best
            if runner_up:
                rest = np.delete(counts, top).max()
                other = min(float(anytime_lower_bound(rest, drawn, alpha, scores=True)), other)
                other = max(other, -LARGEST)
            hopeless = not reached(min(best, LARGEST), other)
    radius = target if proved else 0.0
    return _certificate(scheme, sigma, procedure, top, pair, radius, drawn, select, counts)


def step(drawn: int) -> int:
    """How many samples are drawn after so many."""
    return max(64, 1 << (drawn // 4).bit_length() >> 1)


def _certificate(
    scheme: Scheme,
    sigma: float,
    procedure: Procedure,
    top: int,
    pair: Pair,
    radius: float,
    n: int,
    select: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> Certificate:
    """The certificate of a class and its bounds, from ``n`` samples that estimated them."""
    void = procedure.n0 - select.sum() + n - counts.sum() if len(counts) else 0
    return Certificate(
        predict=top if pair.z_a > pair.z_b else ABSTAIN,
        radius=radius,
        z_a=pair.z_a,
        p_a=pair.p_a,
        count=int(counts[top]) if top < len(counts) else 0,
        n=n,
        sigma=sigma,
        method=scheme.name,
        scope=scheme.scope,
        norm=scheme.norm,
        bound=procedure.bound,
        z_b=pair.z_b,
        select=tuple(select.tolist()),
        counts=tuple(counts.tolist()),
        void=int(void),
    )


def level(scheme: Scheme, x: Any) -> float:
    """The noise level at ``x``; ValueError unless it is one positive number."""
    return POSITIVE.one(f"sigma(x) of the scheme {scheme.name!r}", scheme.sigma(x))


def earned(scheme: Scheme, sigma: float, pair: Pair) -> float:
    """The radius of these bounds; ValueError unless it is one number >= 0, or infinite."""
    if not pair.z_a > pair.z_b:
        return 0.0
    name = f"the radius of the scheme {scheme.name!r}"
    return RADIUS.one(name, scheme.radius(pair.z_a, sigma, pair.z_b))


def class_counts(sampled: Any) -> NDArray[np.int64]:
    """What a sampler returned, as counts of at least two classes."""
    counts = whole("what the sampler returns", np.asarray(sampled))
    if counts.ndim != 1 or len(counts) < 2:
        raise ValueError(
            "the sampler must return counts of at least two classes, shape (classes,); "
            f"got shape {counts.shape}"
        )
    return counts


def sampler_of(model: Any, scheme: Scheme) -> Sampler:
    """The sampler of a model under a scheme's noise; a sampler stays as it is.

    Raises
    ------
    ValueError
        For what is no model, or no scheme.
    """
    require_scheme(scheme)
    sampler = as_sampler(model)
    return sampler if sampler is model else scheme.sampler(model)


def require_scheme(scheme: Any) -> None:
    """ValueError for anything but a scheme."""
    if not isinstance(scheme, Scheme):
        got = scheme.__name__ if isinstance(scheme, type) else f"{type(scheme).__name__} {scheme!r}"
        raise ValueError(
            "scheme must be a Scheme or, for a data set, a Rule, such as "
            f"rsbounds.schemes.gaussian(0.5); got {got}"
        )


def check_noise(sampler: Sampler, scheme: Scheme) -> None:
    """ValueError where the noise isn't that of the radius, or is sound and the radius isn't."""
    require_law(sampler, scheme.law)
    if getattr(sampler, "sound_noise", False) and not scheme.sound:
        raise ValueError(
            "sound_noise needs a scheme whose radius allows for the rounding of sigma(x), made "
            f"with sound=True; got one of method {scheme.name!r} without"
        )


def _drawn(name: str, counts: Any, drawn: int) -> NDArray[np.int64]:
    counts = whole(name, np.asarray(counts, dtype=np.int64) if len(counts) == 0 else counts)
    if counts.ndim != 1 or not counts.sum() <= drawn:
        raise ValueError(f"{name} must be at most the {drawn} samples drawn; got {counts.sum()}")
    return counts if len(counts) else np.zeros(1, dtype=np.int64)
