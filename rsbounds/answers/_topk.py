"""Top-k: whether a label stays among the k most likely.

Where k other labels overtake the label at x', at least t of them lie outside any set T
of k - t labels, and their probabilities at x' sum to at least t times the label's. So
the label stays while Phi(z - R/sigma) > Phi(u + R/sigma)/t, where u is the score of an
upper bound of the largest sum of t probabilities outside T: that of the largest
observed sum, as bounds grow with their counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers, count
from rsbounds._numerics.counts import padded
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import LOG_NDTR_ERROR
from rsbounds.answers._answer import (
    Answer,
    Answered,
    Options,
    Recorded,
    Votes,
    class_counts,
    drawn_counts,
    require_defaults,
    require_fixed,
    sampler_of,
    voted,
)
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import BOUNDS, Pair
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase, Sampler
from rsbounds.schemes import Option, Scheme
from rsbounds.special import log_ndtr

SECTIONS = np.arange(33) / 32
Choice = tuple[int, tuple[int, ...]]
Counts = NDArray[np.int64]


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
        0.0 if the label is not shown to be among the k. For the same samples it does
        not decrease with k; k = 1 gives the radius of
        :func:`rsbounds.certify.certify_counts`.

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
    select, counts = (
        drawn("select", select, procedure.n0),
        drawn("counts", counts, procedure.n),
    )
    classes, label = max(len(select), len(counts)), count("label", label)
    if not count("k", k, 1) < classes:
        raise ValueError(
            f"k must be from 1 to {classes - 1}, less than the classes; got {k}"
        )
    if not label < classes:
        raise ValueError(f"label must be one of {classes} classes; got {label}")
    level = scheme.fixed_level(sigma)
    pair, choice = evidence_of(select, counts, label, k, procedure, scheme, level)
    return radius_of(pair, choice[0], scheme, level)


def drawn(name: str, counts: Any, samples: int) -> NDArray[np.int64]:
    """Class counts that can have been drawn."""
    whole = as_integers(name, counts)
    if whole.ndim != 1 or len(whole) < 2 or not whole.sum() <= samples:
        raise ValueError(
            f"{name} must be counts of two classes or more, at most {samples} in sum; got shape "
            f"{whole.shape} with sum {whole.sum()}"
        )
    return whole


def evidence_of(
    select: Counts,
    counts: Counts,
    label: int,
    k: int,
    own: Procedure,
    scheme: Scheme,
    sigma: float,
) -> tuple[Pair, Choice]:
    """The bounds of the label and of the largest sum of t others outside T, and (t, T)."""
    width = max(len(select), len(counts), label + 1, k + 1)
    select, counts = (np.pad(c, (0, width - len(c))) for c in (select, counts))
    choice = chosen(select, label, k, own, scheme, sigma)
    return _pair(counts, label, choice, own), choice


def chosen(
    select: Counts, label: int, k: int, own: Procedure, scheme: Scheme, sigma: float
) -> Choice:
    """t and T by the selection samples alone, as if n samples had their shares.

    From each k to the next either t grows, or T by the most frequent label left: radii
    don't fall.
    """
    scaled = select * own.n // own.n0
    others = [int(c) for c in np.argsort(-select, kind="stable") if c != label]

    def expected(choice: Choice) -> float:
        return radius_of(_pair(scaled, label, choice, own), choice[0], scheme, sigma)

    choice: Choice = (1, ())
    for _ in range(k - 1):
        t, apart = choice
        steps: tuple[Choice, Choice] = (
            (t, tuple(others[: len(apart) + 1])),
            (t + 1, apart),
        )
        choice = max(steps, key=expected)
    return choice


def _pair(counts: Counts, label: int, choice: Choice, own: Procedure) -> Pair:
    drawn = [counts[label], compared(counts, label, choice)]
    return BOUNDS[own.bound].pair(drawn, 0, own.n, own.alpha, runner_up=True)


def compared(counts: Counts, label: int, choice: Choice) -> int:
    """The largest sum of t counts outside T, the label's aside."""
    t, apart = choice
    rest = sorted(
        (int(c) for i, c in enumerate(counts) if i != label and i not in apart)
    )
    return sum(rest[-t:])


def radius_of(pair: Pair, t: int, scheme: Scheme, sigma: float) -> float:
    """The largest radius at which the label's probability is shown to be above 1/t of
    the sum.
    """
    z_a, z_b = pair.z_a, pair.z_b
    if t == 1:
        return scheme.radius(z_a, sigma, z_b) if z_a > z_b else 0.0
    share = np.log(float(t)) * (1 - LOG_NDTR_ERROR)  # rounded down

    def stays(radius: Any) -> NDArray[np.bool_]:
        low, high = (
            scheme.transport(z, radius, sigma)[i] for i, z in enumerate((z_a, z_b))
        )
        least = round_down(log_ndtr(low), LOG_NDTR_ERROR)
        most = round_up(log_ndtr(high), LOG_NDTR_ERROR)
        return np.asarray(least > most - share + LOG_NDTR_ERROR * abs(most))

    at = np.append(0.0, sigma * 2.0 ** np.arange(41))
    while True:
        kept = stays(at)
        if kept.all() or not kept[0]:
            return float(at[-1]) if kept[0] else 0.0
        first = int(np.argmin(kept))
        low, high = at[first - 1], at[first]
        if high - low <= 1e-12 * high or not low < (low + high) / 2 < high:
            return float(low)
        at = low + (high - low) * SECTIONS


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
    options = (Option("--k", "how many classes", int),)
    columns = ("sum_of", "apart")

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
        require_defaults(procedure, self.name)

    def samplers(self, model: Any) -> Sequence[Sampler]:
        return [sampler_of(model, self.scheme)]

    def draw(self, draws: Draws, procedure: Procedure) -> Votes:
        select = class_counts(draws(Phase.SELECT, procedure.n0))
        counts = class_counts(draws(Phase.ESTIMATE, procedure.n))
        if not self.k < len(select):
            raise ArgumentError(
                "k",
                f"must be from 1 to {len(select) - 1}, less than the classes; got {self.k}",
            )
        return Votes(draws.sigma, select, counts, procedure.n)

    def stored(self, row: Recorded) -> Votes:
        return Votes.of(row)

    def certify(
        self, evidence: Votes, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        select = drawn_counts("select", evidence.select, procedure.n0)
        counts = drawn_counts("counts", evidence.counts, procedure.n)
        width = max(len(select), len(counts), label + 1, self.k + 1)
        pair, (t, apart) = evidence_of(
            padded(select, width),
            padded(counts, width),
            label,
            self.k,
            procedure,
            self.scheme,
            evidence.sigma,
        )
        radius = radius_of(pair, t, self.scheme, evidence.sigma)
        order = np.argsort(-padded(select, width), kind="stable")
        chosen = tuple(order[: self.k].tolist())
        predict: Any = chosen if self.k > 1 else chosen[0]
        # it abstains where the label was selected and isn't shown to be among the k
        certificate = voted(
            self.scheme,
            Votes(evidence.sigma, select, counts, procedure.n),
            procedure,
            of=label,
            pair=pair,
            predict=predict if radius or label not in chosen else ABSTAIN,
            radius=radius,
        )
        columns = {"sum_of": str(t), "apart": ",".join(map(str, apart)) or "-"}
        return Answered(certificate, columns)
