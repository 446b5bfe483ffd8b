"""The certificate of a decision list from counts, or from samples drawn stage by stage.

Intersection-union: where a radius is the least of several components, fixed before the
samples that estimate them are seen, and each has a lower bound of level alpha, the
least of these bounds has level alpha. Only the choice among items needs a union, not
classes or stages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array, as_integers, count, number
from rsbounds._numerics.rounding import EPS, product
from rsbounds.certificate import ABSTAIN, COMPOSITE, Certificate
from rsbounds.composite.geometry import coordinate, item_terms, less, through_items
from rsbounds.composite.rule import Cond, Rule, checked_rule
from rsbounds.confidence.counts import (
    arguments,
    clopper_pearson,
    end,
    lower_bound,
    score,
)
from rsbounds.confidence.entry import End, half
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, Sampler, as_sampler, require_law, stream

OPTIMISM = 0.05  # error probability of the bounds that choose the items, for each class
#: Counts of one stage's classes, drawn where they are asked for.
CountsOf = Callable[[int], NDArray[np.int64]]


@dataclass(frozen=True)
class Plan:
    """All that is chosen from the selection samples."""

    cls: int  # to be certified
    items: tuple[
        int, ...
    ]  # that may decide; each component has level alpha over their number
    references: tuple[
        tuple[int, ...], ...
    ]  # by level: the class whose margin over b blocks b
    blocking: tuple[
        tuple[int, ...], ...
    ]  # by item: which condition is to keep b from firing


def plan(rule: Rule, select: Any, n: int = 100_000, alpha: float = 0.001) -> Plan:
    """Choose class, items, references and blocking conditions from the selection
    counts.

    Parameters and errors as in :func:`certify_counts`. The plan has the class and the
    item of largest plug-in radius, and every item that would be better were its
    probabilities at the favourable ends of 95 % bounds, no score beyond that of n
    successes in n samples: an item that needs a larger one would only take its part of
    alpha. As many samples are taken to be drawn at each level as counts add up to at
    most: those missing at another level are void.

    Examples
    --------
    >>> from rsbounds.composite import Cond, Rule, plan
    >>> rule = Rule([1.0, 0.5], [[Cond("score", 0)], [Cond("margin", 1)]])
    >>> chosen = plan(rule, [[20, 40, 40], [90, 5, 5]])
    >>> chosen.cls, chosen.items
    (0, (1,))
    """
    levels, least = len(checked_rule(rule).sigmas), rule.least_classes
    counts, n = as_integers("select", select), count("n", n, 1)
    if counts.ndim != 2 or counts.shape[0] != levels or counts.shape[1] < least:
        shape = f"({levels} levels, {least} classes or more)"
        raise ValueError(f"select must have shape {shape}; got {counts.shape}")
    alpha = number("alpha", alpha, 0.0, 1.0, closed="neither")
    drawn = max(
        int(counts.sum(axis=-1).max()), 1
    )  # at each level; votes missing there are void
    z = sc.ndtri((counts + 0.5) / (drawn + 1.0))
    # a class fires only where it leads a stage, so the leaders are the candidates
    candidates = np.unique(z.argmax(axis=-1))
    same = np.broadcast_to(z, (len(candidates), *z.shape))
    through = through_items(*item_terms(rule, same, candidates))
    winner = int(through.max(axis=-1).argmax())
    cls, through = int(candidates[winner]), through[winner]
    total = np.full(counts.shape, drawn)
    level = np.full(counts.shape, OPTIMISM)
    reach = float(lower_bound(n, n, alpha, scores=True))
    low = np.maximum(score(*clopper_pearson(counts, total, level)), -reach)[None]
    high = np.minimum(-score(*clopper_pearson(total - counts, total, level)), reach)[
        None
    ]
    hopeful = through_items(
        item_terms(rule, high, np.array([cls]), low)[0][0],
        item_terms(rule, low, np.array([cls]), high)[1][0],
    )
    best = int(through.argmax())
    able = [
        j for j, r in enumerate(hopeful) if j == best or r > max(through[best], 0.0)
    ]
    # the other class that leads, and the condition that each class misses by most
    order = np.argsort(-z, axis=-1, kind="stable")
    lead = np.where(np.arange(z.shape[-1]) == order[:, :1], order[:, 1:2], order[:, :1])
    short = [
        [q.threshold - coordinate(rule, q, z, z)[0] for q in item]
        for item in rule.items
    ]
    blocking = [np.argmax(item, axis=0).tolist() for item in short]
    return Plan(
        cls, tuple(able), tuple(map(tuple, lead.tolist())), tuple(map(tuple, blocking))
    )


@dataclass(frozen=True, slots=True)
class CompositeCertificate(Certificate):
    """One input's certificate from a decision list; the other fields are of the item's
    stage.

    Parameters
    ----------
    item : int
        The item that decides: the radius is the one certified through it; -1 where the
        items before all of those that might decide can't be shown not to fire.
    binding : str
        The component that sets the radius, such as "item 0 blocks class 3: score, stage
        0".
    stages : tuple of int
        Stages whose n samples were used, in the order of use.
    samples : int
        Samples used in all, selection included.
    stage_select, stage_counts : tuple of tuple of int
        Counts of all stages; None for one whose n samples were not drawn.
    """

    item: int = -1
    binding: str = ""
    stages: tuple[int, ...] = ()
    samples: int = 0
    stage_select: tuple[tuple[int, ...], ...] = ()
    stage_counts: tuple[tuple[int, ...] | None, ...] = ()


def certify_counts(
    rule: Rule, select: Any, counts: Any, n: int, alpha: float
) -> CompositeCertificate:
    """The certificate of a decision list that class counts support.

    Parameters
    ----------
    rule : Rule
        K noise levels.
    select : array_like of int, shape (K, C)
        Counts of the samples that choose class, items and references.
    counts : sequence of K arrays of int, shape (C,)
        Counts of n other samples at each level; those missing from a sum are void. None
        for a stage that was not sampled.
    n : int
        Samples drawn at each level.
    alpha : float
        Probability that the certificate is wrong, in (0, 1), in total.

    Returns
    -------
    CompositeCertificate
        Stages that the radius cannot depend on are not used, and count for no samples.

    References
    ----------
    R. L. Berger, Technometrics 24 (1982): intersection-union tests; "Several levels at
    once".

    Examples
    --------
    >>> from rsbounds.composite import Cond, Rule, certify_counts
    >>> gate = [Cond("margin", 0), Cond("score", 0, -0.3)]
    >>> rule = Rule([1.0, 0.5], [gate, [Cond("margin", 1)]])
    >>> select = [[30, 25, 45], [97, 2, 1]]
    >>> counts = [[1400, 1300, 2300], [4850, 100, 50]]
    >>> c = certify_counts(rule, select, counts, 5000, 0.001)
    >>> c.predict, c.item, c.samples, c.binding
    (2, 0, 5200, 'item 0 fires: score, stage 0')
    """
    chosen, selected = plan(rule, select, n, alpha), as_integers("select", select)
    n, classes, levels = count("n", n, 1), selected.shape[-1], len(rule.sigmas)
    counts = list(counts) if isinstance(counts, np.ndarray) and counts.ndim else counts
    if not isinstance(counts, Sequence) or len(counts) != levels:
        raise ValueError(f"counts must be of {levels} stages; got {counts!r:.60}")
    checked = [
        None if c is None else checked_stage(f"counts[{k}]", c, classes, n)
        for k, c in enumerate(counts)
    ]

    def counts_of(stage: int) -> NDArray[np.int64]:
        if (given := checked[stage]) is None:
            raise ValueError(
                f"counts must hold stage {stage}, which the rule needs; got None"
            )
        return given

    return estimate(rule, selected, chosen, counts_of, n, alpha)


def estimate(
    rule: Rule,
    select: NDArray[np.int64],
    chosen: Plan,
    counts_of: CountsOf,
    n: int,
    alpha: float,
) -> CompositeCertificate:
    """The certificate, asking for a stage's counts only where the radius depends on
    them.
    """
    stages = _Bounds(counts_of, n, np.asarray(alpha / len(chosen.items)))
    best, before = (-np.inf, -1, ""), (np.inf, "")
    for i in range(max(chosen.items) + 1):
        if i in chosen.items:
            radius, binding = min(_fires(rule, i, chosen, stages), before)
            best = max(best, (radius, i, binding), key=lambda through: through[0])
        before = (
            min(before, _blocks(rule, i, chosen, stages))
            if i < max(chosen.items)
            else before
        )
        if before[0] <= max(best[0], 0.0):
            break  # no later item can raise the radius
    radius, item, binding = best
    # where no item was reached, its stages may not have been drawn: take the first that
    # was
    deciding = Cond("score", next(iter(stages.used), 0))
    if item >= 0:
        deciding = next(q for q in rule.items[item] if q.exclusive)
    lower, upper = stages.pair(deciding, chosen.cls)
    counts, used = stages.counts(deciding.stage), tuple(stages.used)
    return CompositeCertificate(
        predict=chosen.cls if radius > 0 else ABSTAIN,
        radius=float(max(radius, 0.0)),
        z_a=float(lower.z),
        p_a=float(lower.p),
        count=int(counts[chosen.cls]),
        n=n,
        sigma=rule.sigmas[deciding.stage],
        method="composite",
        scope=COMPOSITE,
        z_b=float(upper),
        select=tuple(select[deciding.stage].tolist()),
        counts=tuple(counts.tolist()),
        void=int(n - counts.sum()),
        item=item,
        binding=binding or "no item certifies the class",
        stages=used,
        samples=int(select.sum()) + n * len(used),
        stage_select=tuple(tuple(row) for row in select.tolist()),
        stage_counts=tuple(
            tuple(stages.used[k].tolist()) if k in used else None
            for k in range(len(rule.sigmas))
        ),
    )


def certify(
    samplers: Sampler | Sequence[Sampler],
    x: Any,
    rule: Rule,
    *,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    seed: int = 0,
    index: int = 0,
) -> CompositeCertificate:
    """Certify one input of a decision list over several noise levels.

    n0 samples at each level choose the class and what is to be estimated; then n
    samples are drawn at each level that the radius can still depend on, in the order of
    the items.

    Parameters
    ----------
    samplers : Sampler or sequence of K samplers
        The classifier under noise: one for all K levels of the rule, or an expert for
        each.
    x, n0, n, alpha, seed, index
        As in :func:`rsbounds.certify.certify`: samples of one level, and alpha in
        total.
    rule : Rule
        The decision list.

    Returns
    -------
    CompositeCertificate
        That of :func:`certify_counts` for the same counts, whether or not it stopped
        early.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.composite import Cond, Rule, certify
    >>> from rsbounds.sampling import ArraySampler
    >>> w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    >>> rule = Rule([1.0, 0.5], [[Cond("score", 0, 1.0)], [Cond("margin", 1)]])
    >>> c = certify(ArraySampler(lambda b: b @ w.T), [0.75, 0.0], rule, n=10_000)
    >>> c.predict, c.item, 0.7 < c.radius < 0.75  # the truth is 0.75
    (0, 1, True)
    """
    procedure, index = Procedure(n0, n, alpha, seed), count("index", index)
    sigmas = checked_rule(rule).sigmas
    models = samplers if isinstance(samplers, Sequence) else [samplers] * len(sigmas)
    experts = [as_sampler(model) for model in models]
    if len(experts) != len(sigmas):
        raise ValueError(f"samplers must be one or {len(sigmas)}; got {len(experts)}")
    for sampler in experts:
        require_law(sampler, "")

    def drawn(stage: int, samples: int, phase: Phase) -> NDArray[Any]:
        generator = stream(procedure.seed, index, phase, stage)
        return np.asarray(experts[stage](x, sigmas[stage], samples, generator))

    first = [drawn(k, procedure.n0, Phase.SELECT) for k in range(len(experts))]
    classes = first[0].size
    checked = [
        checked_stage(f"stage {k}", c, classes, procedure.n0)
        for k, c in enumerate(first)
    ]
    select, n = np.stack(checked), procedure.n

    def counts_of(stage: int) -> NDArray[np.int64]:
        return checked_stage(
            f"stage {stage}", drawn(stage, n, Phase.ESTIMATE), classes, n
        )

    chosen = plan(rule, select, n, procedure.alpha)
    return estimate(rule, select, chosen, counts_of, n, procedure.alpha)


def checked_stage(name: str, counts: Any, classes: int, n: int) -> NDArray[np.int64]:
    """Class counts of one stage, or ValueError."""
    result = as_integers(name, counts)
    if result.shape != (classes,):
        raise ValueError(
            f"{name} must be counts of {classes} classes; got shape {result.shape}"
        )
    if int(result.sum()) > n:
        raise ValueError(f"{name} must sum to at most n = {n}; got {result.sum()}")
    return result


class _Bounds:
    """Clopper-Pearson bounds of the stages at one level, each solved once."""

    def __init__(self, counts_of: CountsOf, n: int, level: Array) -> None:
        self.used: dict[int, NDArray[np.int64]] = {}
        self._counts_of, self._n = counts_of, n
        self._levels = {False: level, True: half(level)}
        self._solved: dict[tuple[int, bool, bool], End] = {}

    def counts(self, stage: int) -> NDArray[np.int64]:
        if stage not in self.used:
            self.used[stage] = self._counts_of(stage)
        return self.used[stage]

    def lower(self, stage: int, halved: bool = False, *, failures: bool = False) -> End:
        """Lower ends of all classes' probabilities, or of those of their complements."""
        key = (stage, halved, failures)
        if key not in self._solved:
            counts = self.counts(stage)
            counts = self._n - counts if failures else counts
            self._solved[key] = end(*arguments(counts, self._n, self._levels[halved]))
        return self._solved[key]

    def upper(self, stage: int, halved: bool = False) -> Array:
        """Scores of upper bounds of all classes' probabilities."""
        return -self.lower(stage, halved, failures=True).z

    def of_set(self, q: Cond, above: bool) -> float:
        """Score of a lower or, ``above``, an upper bound of a set's probability."""
        hits = self.counts(q.stage)[list(q.classes or ())].sum()
        bound = end(
            *arguments(self._n - hits if above else hits, self._n, self._levels[False])
        )
        return float(-bound.z if above else bound.z)

    def pair(self, q: Cond, cls: int) -> tuple[End, float]:
        """Lower end of a class and the score of an upper bound of every other one."""
        margin = q.kind == "margin"
        lower = End(*(v[cls] for v in self.lower(q.stage, margin)))
        if not margin:
            return lower, -float(lower.z)
        others = np.delete(self.upper(q.stage, True), cls).max()
        return lower, float(min(others, -lower.z))


def _fires(rule: Rule, i: int, chosen: Plan, stages: _Bounds) -> tuple[float, str]:
    """Lower bound of the least excess of the item's conditions, and which it is."""
    excess = []
    for q in rule.items[i]:
        if q.kind == "set":
            z: Any = stages.of_set(q, above=False)
        else:
            lower, upper = stages.pair(q, chosen.cls)
            z = less(lower.z, upper) / 2.0 if q.kind == "margin" else lower.z
        value = less(_down(rule.sigmas[q.stage], z), q.threshold)
        excess.append((float(value), f"item {i} fires: {q.kind}, stage {q.stage}"))
    return min(excess)


def _blocks(rule: Rule, i: int, chosen: Plan, stages: _Bounds) -> tuple[float, str]:
    """Lower bound of the least shortfall, over the other classes, of their conditions."""
    blocking, least = np.array(chosen.blocking[i]), (np.inf, "")
    for index, q in enumerate(rule.items[i]):
        classes = np.flatnonzero(
            (blocking == index) & (np.arange(len(blocking)) != chosen.cls)
        )
        if not classes.size:
            continue
        if q.kind == "score":
            z = stages.upper(q.stage)[classes]
        elif (
            q.kind == "margin"
        ):  # (r_b - r_a)/2, a any other class, bounds b's from above
            reference = np.array(chosen.references[q.stage])[classes]
            lower = stages.lower(q.stage, True).z[reference]
            z = (
                -less(lower, np.minimum(stages.upper(q.stage, True)[classes], -lower))
                / 2.0
            )
        else:
            z = np.full(classes.shape, stages.of_set(q, above=True))
        shortfall = less(q.threshold, -_down(rule.sigmas[q.stage], -z))
        worst = int(shortfall.argmin())
        name = f"item {i} blocks class {classes[worst]}: {q.kind}, stage {q.stage}"
        least = min(least, (float(shortfall[worst]), name))
    return least


def _down(sigma: float, z: Any) -> Array:
    """sigma z, rounded down."""
    value = product(sigma, z)
    return np.asarray(value - EPS * np.where(np.isfinite(value), np.abs(value), 0.0))
