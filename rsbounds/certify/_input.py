"""One input, from its samples to its certificate.

Cohen's two phases: a few samples guess the class, fresh ones bound its probability, and
the scheme turns the bound into a radius. Here samples are drawn;
:mod:`rsbounds.certify._counts` has the rest.
"""

from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_floats, number
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify._counts import (
    Counts,
    Terms,
    certify_evidence,
    class_counts,
    require_scheme,
)
from rsbounds.confidence import (
    BOUNDS,
    Pair,
    anytime_lower_bound,
    anytime_upper_bound,
    lower_bound,
)
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, Sampler, as_sampler, require_law, stream
from rsbounds.schemes import Scheme
from rsbounds.schemes._domains import POSITIVE

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
    """Certify one input: n0 samples choose the class, n fresh ones bound its
    probability.

    Parameters
    ----------
    sampler : Sampler, torch.nn.Module or callable
        The classifier under noise, or a model as :func:`rsbounds.sampling.as_sampler`
        takes it; for a bound on scores a sampler that returns their histograms.
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
        ``predict`` is ``ABSTAIN`` unless the class leads every other at level 1 -
        alpha.

    Raises
    ------
    ValueError
        If an argument is out of its domain, ``x`` isn't in floating point and finite,
        or the scheme gives a noise level or radius out of its domain.

    References ---------- Cohen, Rosenfeld, Kolter, Certified adversarial robustness via
    randomized smoothing, 2019: procedure Certify, Proposition 2 and, for the runner-up,
    Theorem 1.

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

    Samples are drawn until an anytime-valid test
    (:class:`rsbounds.confidence.SequentialTest`) proves the radius, or shows it to be
    out of reach, or ``n`` are spent. Other parameters, and errors, as in
    :func:`certify`.

    Parameters
    ----------
    target : float
        The radius to be certified, > 0.
    n, alpha
        Samples for estimation at most; the probability of error, in (0, 1/2].

    Returns
    -------
    Certificate
        ``radius`` is ``target`` or 0.0; ``z_a`` and ``p_a`` hold at the ``n`` stopped
        at.

    Examples
    --------
    >>> from rsbounds.certify import ArraySampler, certify_radius
    >>> from rsbounds.schemes import gaussian
    >>> c = certify_radius(ArraySampler(lambda batch: batch), [1.5, 0.0], gaussian(0.5), 0.5)
    >>> c.predict, c.radius, c.n < 1000
    (0, 0.5, True)
    """
    target = number(
        "target", as_floats("target", target, 0, closed="neither", nan=False)
    )
    procedure = Procedure(n0, n, alpha, seed, runner_up=runner_up, target_radius=target)
    return certify_input(sampler_of(sampler, scheme), x, scheme, procedure, index)


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
    """The smoothed classifier's class at ``x``, or ``ABSTAIN``; arguments as in
    :func:`certify`.

    The class returned is wrong with probability at most alpha: the two-sided binomial
    test that the two most frequent classes are equally likely must reject.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, procedure Predict and Proposition 1.

    Examples
    --------
    >>> from rsbounds.certify import ArraySampler, predict
    >>> from rsbounds.schemes import gaussian
    >>> predict(ArraySampler(lambda batch: batch), [0.9, 0.0], gaussian(0.5), n=100)
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
    rejects = (
        first > second
        and lower_bound(first, first + second, alpha / 2, scores=True) >= 0
    )
    return int(np.argmax(counts)) if rejects else ABSTAIN


def certify_input(
    sampler: Sampler, x: Any, scheme: Scheme, procedure: Procedure, index: int
) -> Certificate:
    """Certify one input by the numbers of a procedure; ``index`` is as in
    :func:`certify`.
    """
    check_noise(sampler, scheme)
    evidence = getattr(sampler, "evidence", "counts")
    if (needed := BOUNDS[procedure.bound].evidence) != evidence:
        text = f"the sampler gives {evidence} (rsbounds.sampling.SoftSampler: scores)"
        raise ValueError(f"bound {procedure.bound!r} is on {needed}: {text}")
    sigma = level(scheme, x)
    terms = Terms(scheme, sigma, procedure)
    # n0 samples guess the class, fresh ones bound its probability: among the samples
    # that chose it the class is ahead by luck, too, and their counts would promise too
    # much.
    select = sampler(
        x, sigma, procedure.n0, stream(procedure.seed, index, Phase.SELECT)
    )
    fresh = stream(procedure.seed, index, Phase.ESTIMATE)
    if procedure.target_radius is not None:
        return _until_decided(sampler, x, terms, class_counts(select), fresh)
    # Both are asked for before either is read: a GPU may still be at work on the first.
    estimate = sampler(x, sigma, procedure.n, fresh)
    if evidence == "counts":
        counts = class_counts(select), class_counts(estimate)
        return certify_evidence(scheme, sigma, *counts, procedure, index)
    # the classes are ranked by their mean scores
    top, n = int(np.argmax([each.counts @ each.edges for each in select])), procedure.n
    bound, alpha = BOUNDS[procedure.bound], procedure.alpha
    pair = bound.pair(estimate, top, n, alpha, runner_up=procedure.runner_up)
    radius, none = terms.radius(pair.z_a, pair.z_b), np.zeros(0, dtype=np.int64)
    return terms.certificate(top, pair, radius, n, none, none)


def _until_decided(
    sampler: Sampler, x: Any, terms: Terms, select: Counts, fresh: np.random.Generator
) -> Certificate:
    """Draw until the target radius is proved or out of reach, or n samples are spent."""
    # The anytime bound holds at all numbers of samples at once. So it may be looked at
    # after each step, and what it says may stop the sampling.
    procedure = terms.procedure
    n, alpha, target = procedure.n, procedure.alpha, procedure.target_radius or 0.0
    top = int(np.argmax(select))
    counts, drawn, pair = np.zeros_like(select), 0, Pair(-np.inf, np.inf, 0.0, 1.0)
    proved, hopeless = False, terms.radius(LARGEST, -LARGEST) < target
    while drawn < n and not proved and not hopeless:
        more = min(step(drawn), n - drawn)
        counts = counts + class_counts(sampler(x, terms.sigma, more, fresh))
        drawn += more
        pair = terms.bounds(counts, top, drawn)
        proved = terms.radius(pair.z_a, pair.z_b) >= target
        if (
            not proved
        ):  # hopeless where even the upper bound of p_a and the lower one of p_b miss
            best = min(
                float(anytime_upper_bound(counts[top], drawn, alpha, scores=True)),
                LARGEST,
            )
            other = -best
            if procedure.runner_up:
                rest = np.delete(counts, top).max()
                other = min(
                    float(anytime_lower_bound(rest, drawn, alpha, scores=True)), other
                )
            hopeless = terms.radius(best, max(other, -LARGEST)) < target
    return terms.certificate(
        top, pair, target if proved else 0.0, drawn, select, counts
    )


def step(drawn: int) -> int:
    """How many samples are drawn next: an eighth to a quarter of those before, at least
    64.
    """
    # powers of two are few: a compiled model sees few shapes
    return max(64, 1 << (drawn // 4).bit_length() >> 1)


def level(scheme: Scheme, x: Any) -> float:
    """The noise level at ``x``; ValueError unless it is one positive number."""
    return POSITIVE.one(f"sigma(x) of the scheme {scheme.name!r}", scheme.sigma(x))


def sampler_of(model: Any, scheme: Scheme) -> Sampler:
    """The sampler of a model under a scheme's noise; a sampler stays as it is."""
    require_scheme(scheme)
    sampler = as_sampler(model)
    return sampler if sampler is model else scheme.sampler(model)


def check_noise(sampler: Sampler, scheme: Scheme) -> None:
    """ValueError where the noise isn't that of the radius, or is sound and the radius
    isn't.
    """
    require_law(sampler, scheme.law)
    if getattr(sampler, "sound_noise", False) and not scheme.sound:
        raise ValueError(
            "sound_noise needs a scheme whose radius allows for the rounding of sigma(x), made "
            f"with sound=True; got one of method {scheme.name!r} without"
        )
