"""One input, from its samples to its certificate: Cohen's Certify and Predict."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import TopClass, class_counts
from rsbounds.answers.internal import require_drawn, void_votes
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify._job import samplers_of
from rsbounds.certify._stopping import job_of
from rsbounds.certify._too_few import warn_if_hopeless
from rsbounds.certify._unit import warn_of_unit
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure, require_procedure
from rsbounds.sampling import Draws, Phase, Sampler
from rsbounds.schemes import Scheme

DEFAULTS = Procedure()


def certify(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    *,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    seed: int | str = 0,
    index: int = 0,
    bound: str = "clopper-pearson",
    runner_up: bool = True,
    margin: float | None = None,
) -> Certificate:
    """Certify one input.

    n0 samples choose the class, n fresh ones bound its probability.

    Parameters
    ----------
    sampler : Sampler, torch.nn.Module or callable
        The classifier under noise, or a model as :func:`rsbounds.sampling.as_sampler`
        takes it; for a bound on scores a sampler that returns their histograms.
    x : array
        One input, in whatever form ``sampler`` and ``scheme`` take.
    scheme : Scheme
        Noise level and radius, such as ``rsbounds.schemes.gaussian(0.5)``.
    n0, n, alpha, seed, bound, runner_up, margin
        As in :class:`Procedure`.
    index : int
        Names the random samples together with ``seed``, >= 0; give each input its own.

    Returns
    -------
    Certificate
        ``predict`` is ``ABSTAIN`` unless the class leads every other at level 1 -
        alpha. Where n is too small for that whatever the votes are, a warning names
        the least n.

    Raises
    ------
    ValueError
        If an argument is out of its domain, ``x`` isn't in floating point and finite,
        or the scheme gives a noise level or radius out of its domain.

    References
    ----------
    Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing,
    2019: procedure Certify, Proposition 2 and, for the runner-up, Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import certify
    >>> from rsbounds.sampling import ArraySampler
    >>> from rsbounds.schemes import gaussian
    >>> w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    >>> sampler = ArraySampler(lambda batch: batch @ w.T)
    >>> c = certify(sampler, [0.5, 0.0], gaussian(0.5), n=10_000)
    >>> c.predict, 0.45 < c.radius < 0.5  # the truth is 0.5
    (0, True)
    """
    procedure = Procedure(
        n0=n0,
        n=n,
        alpha=alpha,
        seed=seed,
        bound=bound,
        runner_up=runner_up,
        margin=margin,
    )
    return certified(sampler, x, scheme, procedure, index)


def certify_radius(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    procedure: Procedure,
    *,
    index: int = 0,
) -> Certificate:
    """Certify one input at one radius, with no more samples than that takes.

    Samples are drawn until an anytime-valid test
    (:class:`rsbounds.confidence.SequentialTest`) proves the radius, or shows it to be
    out of reach, or ``procedure.n`` are spent.

    Parameters
    ----------
    sampler, x, scheme, index
        As in :func:`certify`.
    procedure : Procedure
        With a ``target_radius``, and alpha of at most 1/2.

    Returns
    -------
    Certificate
        ``radius`` is the target or 0.0; ``z_a`` and ``p_a`` hold at the ``n`` stopped
        at.

    Raises
    ------
    ValueError
        As :func:`certify` does, and for a procedure without a target.

    Examples
    --------
    >>> from rsbounds.certify import Procedure, certify_radius
    >>> from rsbounds.sampling import ArraySampler
    >>> from rsbounds.schemes import gaussian
    >>> sampler = ArraySampler(lambda batch: batch)
    >>> procedure = Procedure(target_radius=0.5)
    >>> c = certify_radius(sampler, [1.5, 0.0], gaussian(0.5), procedure)
    >>> c.predict, c.radius, c.n < 1000
    (0, 0.5, True)
    """
    require_procedure(procedure)
    if procedure.target_radius is None:
        raise ArgumentError("procedure", "must have a target_radius; got none")
    return certified(sampler, x, scheme, procedure, index)


def certified(
    sampler: Any, x: Any, scheme: Scheme, procedure: Procedure, index: int = 0
) -> Certificate:
    """The certificate of one input whose label nobody knows, by any procedure."""
    job = job_of(TopClass(scheme), procedure)
    job.check(stacklevel=3)
    job = job.with_model(sampler)
    certificate = job.certify(x, index, ABSTAIN).certificate
    warn_of_unit(job.answer, x, stacklevel=3)
    if not certificate.radius > 0:
        settled = job.answer.settled(procedure, len(certificate.counts))
        warn_if_hopeless(job.answer, x, settled, stacklevel=3)
    return certificate


def predict(
    sampler: Sampler,
    x: Any,
    scheme: Scheme,
    procedure: Procedure = DEFAULTS,
    *,
    index: int = 0,
) -> int:
    """The smoothed classifier's class at ``x``, or ``ABSTAIN``.

    The class returned is wrong with probability at most alpha: the two-sided binomial
    test that the two most frequent classes are equally likely must reject. Samples
    without a class count for the second of them, as they may be of any. Where n is too
    small for the test to reject whatever the votes are, a warning names the least n.

    Parameters
    ----------
    sampler, x, scheme, index
        As in :func:`certify`.
    procedure : Procedure
        Its n, alpha, seed and margin are used.

    Raises
    ------
    ValueError
        As :func:`certify` does.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, procedure Predict and Proposition 1.

    Examples
    --------
    >>> from rsbounds.certify import Procedure, predict
    >>> from rsbounds.sampling import ArraySampler
    >>> from rsbounds.schemes import gaussian
    >>> sampler = ArraySampler(lambda batch: batch)
    >>> predict(sampler, [0.9, 0.0], gaussian(0.5), Procedure(n=100))
    0
    """
    require_procedure(procedure)
    answer = TopClass(scheme)
    if scheme.choosing is not None:
        raise ArgumentError(
            "scheme",
            f"must be one whose classifier takes a vote; got {scheme.name!r}, whose "
            "predictions are those of rsbounds.votes.DoubleMasking",
        )
    samplers = samplers_of(answer, sampler, procedure)
    draws = Draws(samplers, x, answer.levels(x), procedure, index)
    # A phase of its own: a prediction never looks at the samples of a certificate.
    counts = class_counts(draws(Phase.PREDICT, procedure.n))
    require_drawn("counts", counts, procedure.n)
    _warn_of_too_few(procedure.n, procedure.alpha)
    second, first = np.sort(counts)[-2:]
    # Each of them may be another class's; with more votes for that class the test
    # rejects no more often.
    second += void_votes(counts, procedure.n)
    # P(Bin(first + second, 1/2) >= first) <= alpha/2, by a proved bound
    rejects = (
        first > second
        and lower_bound(first, first + second, procedure.alpha / 2, scores=True) >= 0
    )
    return int(np.argmax(counts)) if rejects else ABSTAIN


def _warn_of_too_few(n: int, alpha: float) -> None:
    """A warning where even n votes of n for one class would be no answer."""

    def may_decide(votes: int) -> bool:
        return bool(lower_bound(votes, votes, alpha / 2, scores=True) >= 0)

    if may_decide(n):
        return
    least = n + 1
    while not may_decide(least):
        least += 1
    warnings.warn(
        f"n = {n}, alpha = {alpha:g} abstains whatever the votes: the two-sided test "
        f"needs n = {least}",
        stacklevel=3,
    )
