"""Top-k: whether a label stays among the k most likely.

Where k other labels overtake the label at x', at least t of them lie outside the k - t
most likely others, and their probabilities at x' sum to at least t times the label's.
So the label stays while Phi(z - R/sigma) > Phi(u + R/sigma)/t, where z is the score of
a lower bound of its probability, and u that of an upper bound of s_t, the sum of those
that are the t least of the k most likely others.

Two questions are left to the samples: which t, and which labels are the k - t most
likely. `plan` asks the selection samples for a few choices that may pay, and `estimate`
takes the best of them; the theory page on answers has the proof of the level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers, count
from rsbounds._numerics.counts import padded, total
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds.answers._answer import (
    Answer,
    Answered,
    Options,
    require_fixed,
    two_phases,
)
from rsbounds.answers._topk_plan import Counts, TopKChoice, TopKPlan, plan
from rsbounds.answers._topk_radius import lead_at, radius_of, score_radius
from rsbounds.answers._votes import (
    Recorded,
    Votes,
    class_counts,
    drawn_counts,
    void_votes,
)
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.bound import capped_end, divided
from rsbounds.confidence.internal import Pair
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase
from rsbounds.schemes import Option, Scheme


class Estimate(NamedTuple):
    """What the samples show: the bounds of the choice that decides, and the radius."""

    pair: Pair
    choice: TopKChoice
    radius: float


def top_k_radius(
    select: Sequence[int] | NDArray[Any],
    counts: Sequence[int] | NDArray[Any],
    label: int,
    k: int,
    *,
    n0: int,
    n: int,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> float:
    """Radius within which a label stays among the k most likely classes.

    Parameters
    ----------
    select, counts : array_like of int, shape (classes,)
        Class counts of the n0 samples that choose what is compared, and of the n fresh
        samples that bound its probability. What is missing of n0 and n fell on no
        class.
    label : int
        The class, chosen without these samples, such as the true one.
    k : int
        From 1 to classes - 1.
    n0, n, alpha : int, int, float
        Numbers of samples drawn, and the probability that the radius is wrong.
    scheme : Scheme
        Noise that is the same at every input, such as
        ``rsbounds.schemes.gaussian(0.5)``.
    sigma : float, optional
        The noise level, where the parameters of the scheme don't hold it.

    Returns
    -------
    float
        0.0 if the label is not shown to be among the k; k = 1 gives the radius of
        :func:`rsbounds.certify.certify_counts`.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or counts sum to more than was drawn.

    Notes
    -----
    The true radius does not decrease with k; the certified one may, by little, where
    the selection samples mislead. One class spends alpha on one sum, and to compare
    several afterwards takes a part of alpha for each: no procedure can do both and
    never fall.

    References
    ----------
    Jia et al., Certified robustness for top-k predictions, 2020; the theory page on
    answers.

    Examples
    --------
    >>> from rsbounds.answers import top_k_radius
    >>> from rsbounds.schemes import gaussian
    >>> samples = {"n0": 100, "n": 10_000, "alpha": 0.001, "scheme": gaussian(0.5)}
    >>> select, counts = [40, 35, 20, 5], [4100, 3400, 2000, 500]
    >>> [round(top_k_radius(select, counts, 1, k, **samples), 3) for k in (1, 2, 3)]
    [0.0, 0.085, 0.28]
    """
    procedure = Procedure(n0=n0, n=n, alpha=alpha)
    select = drawn("select", select, procedure.n0)
    counts = drawn("counts", counts, procedure.n)
    classes = max(len(select), len(counts))
    label = count("label", label)
    k = count("k", k, 1)
    if not k < classes:
        raise ArgumentError(
            "k", f"must be from 1 to {classes - 1}, less than the classes; got {k}"
        )
    if not label < classes:
        raise ArgumentError("label", f"must be one of {classes} classes; got {label}")
    require_fixed(scheme)
    level = scheme.fixed_level(sigma)
    warn_of_confidence(procedure.alpha, stacklevel=2)
    choices = plan(
        select, label, k, n0=procedure.n0, n=procedure.n, alpha=procedure.alpha
    )
    return estimate(
        counts,
        label,
        choices,
        n=procedure.n,
        alpha=procedure.alpha,
        scheme=scheme,
        sigma=level,
    ).radius


def drawn(name: str, counts: Any, samples: int) -> Counts:
    """Class counts that can have been drawn."""
    whole = as_integers(name, counts)
    if whole.ndim != 1 or len(whole) < 2 or not total(whole) <= samples:
        raise ArgumentError(
            name,
            f"must be counts of two classes or more, at most {samples} in sum; "
            f"got shape {whole.shape} with sum {total(whole)}",
        )
    return whole


def estimate(
    counts: Counts,
    label: int,
    chosen: TopKPlan,
    *,
    n: int,
    alpha: float,
    scheme: Scheme,
    sigma: float,
    bound: str = "clopper-pearson",
    void: int = 0,
) -> Estimate:
    """The choice of largest radius, by class counts that the plan does not know.

    The radius is wrong with probability alpha at most. Of a choice (t, T, parts), let A
    be w = k - |T| of the k most likely others, all outside T. The compared count is at
    least that of some t labels of A, and any t labels of A have at least the
    probability s_t. So the choice's bound is below s_t only where that of one of these
    C(w, t) sums is below its probability, and each fails with probability alpha/parts.
    Over all choices that makes alpha/2, and alpha/2 is for the label's lower bound.

    Parameters
    ----------
    counts : ndarray of int, shape (classes,)
        Class counts of the n samples.
    label, n, alpha, scheme
        As in :func:`top_k_radius`.
    chosen : Plan
        Made from other samples.
    sigma : float
        The noise level.
    bound : str
        A bound on counts, a key of :data:`rsbounds.confidence.BOUNDS`.
    void : int
        Samples that may be of any label: all sums have them.
    """
    lower_end = BOUNDS[bound].lower
    total: Any = np.int64(n)
    label_count: Any = np.int64(counts[label] if label < len(counts) else 0)
    lower = lower_end(label_count, total, part_of_alpha(alpha, 2))
    pairs = []
    for choice in chosen.choices:
        misses = total - compared(counts, label, chosen.k, choice) - void
        upper = lower_end(misses, total, part_of_alpha(alpha, choice.parts))
        z_b, p_b = capped_end(lower, upper)
        pairs.append(Pair(float(lower.z), float(z_b), float(lower.p), float(p_b)))
    return _largest(pairs, chosen.choices, scheme, sigma)


def part_of_alpha(alpha: float, parts: int) -> Any:
    """alpha/parts, rounded down unless it is a half."""
    level = divided(alpha, parts)
    if parts == 2:
        return level
    return min(level, math.nextafter(float(alpha) / parts, 0.0))


def compared(counts: Counts, label: int, k: int, choice: TopKChoice) -> int:
    """The sum of t counts whose upper bound is one of s_t.

    Of the labels outside T the w = k - |T| most frequent, of these the t least: at
    least the least sum of t among any w labels outside T, so also among w of the k most
    likely.
    """
    left = counts.copy()
    left[[i for i in (label, *choice.apart) if i < len(left)]] = 0  # last in order
    window = k - len(choice.apart)
    ranked = np.sort(left)[::-1]
    return int(ranked[window - choice.t : window].sum())


def _largest(
    pairs: Sequence[Pair], choices: Sequence[TopKChoice], scheme: Scheme, sigma: float
) -> Estimate:
    """The estimate of the choice of largest radius."""
    expected = [
        score_radius(pair, choice.t)
        for pair, choice in zip(pairs, choices, strict=True)
    ]
    first = int(np.argmax(expected))
    best = Estimate(
        pairs[first],
        choices[first],
        radius_of(pairs[first], choices[first].t, scheme, sigma),
    )
    if len(pairs) == 1:
        return best
    # expected radii are those of normal noise, and approximate: ask the scheme
    margins = lead_at(
        best.pair.z_a,
        np.array([pair.z_b for pair in pairs]),
        np.array([choice.t for choice in choices]),
        best.radius + 1 if scheme.whole else best.radius * (1 + 1e-9),
        scheme,
        sigma,
    )
    for j in np.flatnonzero(margins > 0).tolist():
        if j == first:
            continue
        radius = radius_of(pairs[j], choices[j].t, scheme, sigma)
        if radius > best.radius:
            best = Estimate(pairs[j], choices[j], radius)
    return best


class TopK(Answer):
    """Whether the label of each input stays among the k most likely classes.

    Parameters
    ----------
    scheme, k
        As in :func:`top_k_radius`.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import certify_dataset
    >>> from rsbounds.answers import TopK
    >>> from rsbounds.schemes import gaussian
    >>> data = np.array([[0.5, 0.4, 0.0]], np.float32), np.array([1])
    >>> run = certify_dataset(lambda b: b, data, TopK(gaussian(0.25), 2), n=1000)
    >>> run.rows[0].predict, run.rows[0].correct, run.rows[0].radius > 0.1
    ((0, 1), True, True)
    """

    name = "top-k"
    help = "whether the label stays among the k most likely classes"
    options = (Option("k", "how many classes", int),)
    columns = ("sum_of", "apart", "parts")

    def __init__(self, scheme: Scheme, k: int) -> None:
        self.scheme = scheme
        self.k = count("k", k, 1)
        require_fixed(scheme)

    def parameters(self) -> dict[str, Any]:
        return {"k": self.k}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Answer:
        return cls(scheme, parameters["k"])

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        return cls(scheme, options["k"])

    def check(self, procedure: Procedure) -> None:
        procedure.require_defaults(self.name, counts_votes=True)

    def check_classes(self, classes: int) -> None:
        if not self.k < classes:
            raise ArgumentError(
                "k",
                f"must be from 1 to {classes - 1}, less than the classes; got {self.k}",
            )

    def draw(self, draws: Draws, procedure: Procedure) -> Votes:
        select = class_counts(draws(Phase.SELECT, procedure.n0))
        counts = class_counts(draws(Phase.ESTIMATE, procedure.n))
        self.check_classes(len(select))
        return Votes(draws.sigma, select, counts, procedure.n)

    def asks(self, procedure: Procedure) -> Sequence[tuple[Phase, int]]:
        return two_phases(procedure)

    def selected(self, select: Counts) -> tuple[int, ...]:
        """The k classes of most selection samples, the most frequent first."""
        order = np.argsort(-padded(select, max(len(select), self.k)), kind="stable")
        return tuple(order[: self.k].tolist())

    def scaled(self, evidence: Votes, n: int) -> Votes:
        return evidence.scaled(n)

    def stored(self, row: Recorded) -> Votes:
        return Votes.of(row)

    def certify(
        self, evidence: Votes, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        select = drawn_counts("select", evidence.select, procedure.n0)
        counts = drawn_counts("counts", evidence.counts, procedure.n)
        chosen = plan(
            select, label, self.k, n0=procedure.n0, n=procedure.n, alpha=procedure.alpha
        )
        selected = self.selected(select)
        if not evidence.n:
            certificate = self.voted(
                Votes(evidence.sigma, select, counts, 0),
                procedure,
                of=label,
                pair=Pair(-np.inf, np.inf, 0.0, 1.0),
                predict=ABSTAIN,
                radius=0.0,
            )
            return Answered(certificate, chosen.choices[0].columns())
        result = estimate(
            counts,
            label,
            chosen,
            n=procedure.n,
            alpha=procedure.alpha,
            scheme=self.scheme,
            sigma=evidence.sigma,
            void=void_votes(counts, procedure.n),
        )
        predict: Any = selected if self.k > 1 else selected[0]
        # it abstains where the label was selected and isn't shown to be among the k
        certificate = self.voted(
            Votes(evidence.sigma, select, counts, procedure.n),
            procedure,
            of=label,
            pair=result.pair,
            predict=predict if result.radius or label not in selected else ABSTAIN,
            radius=result.radius,
        )
        return Answered(certificate, result.choice.columns())
