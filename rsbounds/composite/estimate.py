"""The certificate of a decision list from counts, without a union over classes or stages.

Intersection-union: where a radius is the least of several components, fixed before the
samples that estimate them are seen, and each has a lower bound of level alpha, the least of
these bounds has level alpha. Only the choice among items needs a union.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array, count, one, real, whole
from rsbounds._numerics.rounding import EPS, product
from rsbounds.certificate import ABSTAIN, COMPOSITE, Certificate
from rsbounds.composite.geometry import checked_values, coordinate, item_terms, less, list_radius
from rsbounds.composite.rule import Cond, Rule
from rsbounds.confidence.counts import End, arguments, clopper_pearson, end, score
from rsbounds.confidence.pairs import half

#: Counts of one stage's classes, drawn where they are asked for.
CountsOf = Callable[[int], NDArray[np.int64]]
OPTIMISM = 0.05  # error probability of the bounds that choose the items, for each class


@dataclass(frozen=True, slots=True)
class CompositeCertificate(Certificate):
    """One input's certificate from a decision list.

    The fields of `rsbounds.certificate.Certificate` are those of the deciding item's
    stage: its noise level, counts and bounds.

    Parameters
    ----------
    item : int
        The item that decides: the radius is the one certified through it; -1 where the
        items before them all that might have can't be shown not to fire.
    binding : str
        The component that sets the radius, such as "item 0 blocks class 3: score, stage 0".
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


@dataclass(frozen=True)
class Plan:
    """All that is chosen from the selection samples.

    Attributes
    ----------
    cls : int
        The class to be certified.
    items : tuple of int
        Items that may decide; each component has level alpha over their number.
    references : tuple, shape (K, C)
        The class that each class b is compared with where b's margin is to be bounded above.
    blocking : tuple, shape (items, C)
        Which of an item's conditions is to keep class b from firing.
    """

    cls: int
    items: tuple[int, ...]
    references: tuple[tuple[int, ...], ...]
    blocking: tuple[tuple[int, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON can hold it, and as `rsbounds.oracle.composite_radius` takes it."""
        return asdict(self)


def plan(rule: Rule, select: Any, *, values: Any = ()) -> Plan:
    """Choose class, items, references and blocking conditions from the selection counts.

    Parameters
    ----------
    rule : Rule
    select : array_like of int, shape (K, C)
    values : array_like of float, shape (V,)
        For "value" conditions, as in :func:`radius`.

    Returns
    -------
    Plan
        The class and the item of largest plug-in radius, and every item that would be
        better were its probabilities at the favourable ends of 95 % bounds.

    Raises
    ------
    ValueError
        If the counts do not fit the rule.

    Examples
    --------
    >>> from rsbounds.composite import Cond, Rule
    >>> from rsbounds.composite.estimate import plan
    >>> rule = Rule([1.0, 0.5], [[Cond("score", 0)], [Cond("margin", 1)]])
    >>> chosen = plan(rule, [[20, 40, 40], [90, 5, 5]])
    >>> chosen.cls, chosen.items
    (0, (1,))
    """
    counts, fixed = _stages("select", rule, select), checked_values(rule, values)
    drawn = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    z = sc.ndtri((counts + 0.5) / (drawn + 1.0))
    # a class fires only where it leads a stage, so the leaders are the candidates
    candidates = np.unique(z.argmax(axis=-1))
    same = np.broadcast_to(z, (len(candidates), *z.shape))
    known = np.broadcast_to(fixed, (len(candidates), len(fixed)))
    fires, blocks = item_terms(rule, same, candidates, known)
    winner = int(list_radius(fires, blocks).argmax())
    cls = int(candidates[winner])
    through = _through(fires[winner], blocks[winner])
    total = np.broadcast_to(drawn, counts.shape)
    level = np.full(counts.shape, OPTIMISM)
    low = score(*clopper_pearson(counts, total, level))[None]
    high = -score(*clopper_pearson(total - counts, total, level))[None]
    hopeful = _through(
        item_terms(rule, high, np.array([cls]), known[:1], low)[0][0],
        item_terms(rule, low, np.array([cls]), known[:1], high)[1][0],
    )
    best = int(through.argmax())
    able = [j for j, r in enumerate(hopeful) if j == best or r > max(through[best], 0.0)]
    blocking = [_blocking(rule, item, z, fixed) for item in rule.items]
    return Plan(cls, tuple(able), _references(z), tuple(blocking))


def certify_counts(
    rule: Rule, select: Any, counts: Sequence[Any], n: int, alpha: float, *, values: Any = ()
) -> CompositeCertificate:
    """The certificate of a decision list that class counts support.

    Parameters
    ----------
    rule : Rule
        K noise levels.
    select : array_like of int, shape (K, C)
        Counts of the samples that choose class, items and references.
    counts : sequence of K arrays of int, shape (C,)
        Counts of n other samples at each level; those missing from a sum are void. None for
        a stage that was not sampled.
    n : int
        Samples drawn at each level.
    alpha : float
        Probability that the certificate is wrong, in (0, 1), in total.
    values : array_like of float, shape (V,)
        For "value" conditions, as in :func:`radius`.

    Returns
    -------
    CompositeCertificate
        Later stages than the radius can depend on are not used, and count for no samples.

    Raises
    ------
    ValueError
        If the counts do not fit the rule or each other, or a stage is needed that is None.

    References
    ----------
    R. L. Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics
    24 (1982), for intersection-union tests; the theory page "Several levels at once".

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
    chosen, fixed = plan(rule, select, values=values), checked_values(rule, values)
    selected = _stages("select", rule, select)
    n, classes = count("n", n, 1), selected.shape[-1]
    if len(counts) != len(rule.sigmas):
        raise ValueError(f"counts must be of {len(rule.sigmas)} stages; got {len(counts)}")

    def counts_of(stage: int) -> NDArray[np.int64]:
        if counts[stage] is None:
            raise ValueError(f"counts must hold stage {stage}, which the rule needs; got None")
        return checked_stage(f"counts[{stage}]", counts[stage], classes, n)

    for stage in (k for k, c in enumerate(counts) if c is not None):
        counts_of(stage)
    return estimate(rule, selected, chosen, counts_of, n, alpha, fixed)


def estimate(
    rule: Rule,
    select: NDArray[np.int64],
    chosen: Plan,
    counts_of: CountsOf,
    n: int,
    alpha: float,
    values: Array,
) -> CompositeCertificate:
    """The certificate, asking for a stage's counts only where the radius depends on them."""
    level = real("alpha", one("alpha", alpha), 0.0, 1.0, closed="neither", nan=False)
    stages = _Bounds(counts_of, n, level / len(chosen.items), values)
    best, before = (-np.inf, -1, ""), (np.inf, "")
    for i in range(max(chosen.items) + 1):
        if i in chosen.items:
            radius, binding = min(_fires(rule, i, chosen, stages), before)
            best = max(best, (radius, i, binding), key=lambda found: found[0])
        before = min(before, _blocks(rule, i, chosen, stages)) if i < max(chosen.items) else before
        if before[0] <= max(best[0], 0.0):
            break
    radius, item_index, binding = best
    # where no item was reached its stages may not have been drawn: the first that was
    deciding = (
        next(q for q in rule.items[item_index] if q.exclusive)
        if item_index >= 0
        else Cond("score", next(iter(stages.used), 0))
    )
    lower, upper = stages.pair(deciding, chosen.cls)
    counts = stages.counts(deciding.stage)
    used = tuple(stages.used)
    certified = radius > 0
    return CompositeCertificate(
        predict=chosen.cls if certified else ABSTAIN,
        radius=float(max(radius, 0.0)),
        score=float(lower.z),
        p_a=float(lower.p),
        count=int(counts[chosen.cls]),
        n=n,
        sigma=rule.sigmas[deciding.stage],
        method="composite",
        scope=COMPOSITE,
        score_b=float(upper),
        select=tuple(select[deciding.stage].tolist()),
        counts=tuple(counts.tolist()),
        void=int(n - counts.sum()),
        item=item_index,
        binding=binding or "no item certifies the class",
        stages=used,
        samples=int(select.sum()) + n * len(used),
        stage_select=tuple(tuple(row) for row in select.tolist()),
        stage_counts=tuple(
            tuple(stages.used[k].tolist()) if k in stages.used else None
            for k in range(len(rule.sigmas))
        ),
    )


def checked_stage(name: str, counts: Any, classes: int, n: int) -> NDArray[np.int64]:
    """Class counts of one stage, or ValueError."""
    found = whole(name, np.asarray(counts))
    if found.shape != (classes,):
        raise ValueError(f"{name} must be counts of {classes} classes; got shape {found.shape}")
    if int(found.sum()) > n:
        raise ValueError(f"{name} must sum to at most n = {n}; got {found.sum()}")
    return found


class _Bounds:
    """Clopper-Pearson bounds of the stages at one level, each solved once."""

    def __init__(self, counts_of: CountsOf, n: int, level: Array, values: Array) -> None:
        self.used: dict[int, NDArray[np.int64]] = {}
        self._counts_of, self._n, self.values = counts_of, n, values
        self._level, self._half = level, half(level)
        self._known: dict[tuple[int, bool, bool], End] = {}

    def counts(self, stage: int) -> NDArray[np.int64]:
        if stage not in self.used:
            self.used[stage] = self._counts_of(stage)
        return self.used[stage]

    def lower(self, stage: int, halved: bool = False) -> End:
        """Lower ends of all classes' probabilities."""
        return self._end(stage, halved, False)

    def upper(self, stage: int, halved: bool = False) -> Array:
        """Scores of upper bounds of all classes' probabilities."""
        return -self._end(stage, halved, True).z

    def of_set(self, q: Cond, above: bool) -> float:
        """Score of a lower or, ``above``, an upper bound of a set's probability."""
        hits = self.counts(q.stage)[list(q.classes or ())].sum()
        found = end(*arguments(self._n - hits if above else hits, self._n, self._level))
        return float(-found.z if above else found.z)

    def pair(self, q: Cond, cls: int) -> tuple[End, float]:
        """Lower end of a class and the score of an upper bound of every other one."""
        margin = q.kind == "margin"
        lower = End(*(v[cls] for v in self.lower(q.stage, margin)))
        if not margin:
            return lower, -float(lower.z)
        others = np.delete(self.upper(q.stage, True), cls).max()
        return lower, float(min(others, -lower.z))

    def _end(self, stage: int, halved: bool, failures: bool) -> End:
        key = (stage, halved, failures)
        if key not in self._known:
            counts = self.counts(stage)
            counts = self._n - counts if failures else counts
            level = self._half if halved else self._level
            self._known[key] = end(*arguments(counts, self._n, level))
        return self._known[key]


def _fires(rule: Rule, i: int, chosen: Plan, stages: _Bounds) -> tuple[float, str]:
    """Lower bound of the least excess of the item's conditions, and which it is."""
    found = []
    for q in rule.items[i]:
        if q.kind == "value":
            value = stages.values[q.stage]
        elif q.kind == "set":
            value = _down(rule.sigmas[q.stage], stages.of_set(q, above=False))
        else:
            lower, upper = stages.pair(q, chosen.cls)
            value = _down(rule.sigmas[q.stage], lower.z)
            if q.kind == "margin":
                value = _down(rule.sigmas[q.stage], less(lower.z, upper) / 2.0)
        name = f"item {i} fires: {q.kind}, stage {q.stage}"
        found.append((float(less(value, q.threshold)), name))
    return min(found)


def _blocks(rule: Rule, i: int, chosen: Plan, stages: _Bounds) -> tuple[float, str]:
    """Lower bound of the least shortfall, over the other classes, of their conditions."""
    blocking, least = np.array(chosen.blocking[i]), (np.inf, "")
    for index, q in enumerate(rule.items[i]):
        classes = np.flatnonzero((blocking == index) & (np.arange(len(blocking)) != chosen.cls))
        if not classes.size:
            continue
        match q.kind:
            case "score":
                z = stages.upper(q.stage)[classes]
            case "margin":
                reference = np.array(chosen.references[q.stage])[classes]
                lower = stages.lower(q.stage, halved=True).z[reference]
                upper = np.minimum(stages.upper(q.stage, halved=True)[classes], -lower)
                z = -less(lower, upper) / 2.0
            case "set":
                z = np.full(classes.shape, stages.of_set(q, above=True))
            case _:
                z = np.full(classes.shape, stages.values[q.stage])
        high = z if q.kind == "value" else -_down(rule.sigmas[q.stage], -z)
        shortfall = less(q.threshold, high)
        worst = int(shortfall.argmin())
        name = f"item {i} blocks class {classes[worst]}: {q.kind}, stage {q.stage}"
        least = min(least, (float(shortfall[worst]), name))
    return least


def _down(sigma: float, z: Any) -> Array:
    """sigma z, rounded down."""
    value = product(sigma, z)
    return np.asarray(value - EPS * np.where(np.isfinite(value), np.abs(value), 0.0))


def _through(fires: Array, blocks: Array) -> Array:
    """The radius through each item."""
    before = np.minimum.accumulate(np.append(np.inf, blocks[:-1]))
    return np.minimum(fires, before)


def _references(z: Array) -> tuple[tuple[int, ...], ...]:
    """For each stage and class the other class that leads."""
    order = np.argsort(-z, axis=-1, kind="stable")
    first, second = order[:, :1], order[:, 1:2]
    lead = np.where(np.arange(z.shape[-1]) == first, second, first)
    return tuple(tuple(row) for row in lead.tolist())


def _blocking(rule: Rule, item: Sequence[Cond], z: Array, values: Array) -> tuple[int, ...]:
    """For each class the condition that it misses by most."""
    short = [q.threshold - coordinate(rule, q, z, z, values)[0] for q in item]
    return tuple(np.argmax(short, axis=0).tolist())


def _stages(name: str, rule: Rule, counts: Any) -> NDArray[np.int64]:
    try:
        found = whole(name, np.asarray(counts))
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(f"{name} must have as many classes at every stage; got others") from None
    stages, least = len(rule.sigmas), rule.least_classes
    if found.ndim != 2 or found.shape[0] != stages or found.shape[1] < least:
        raise ValueError(
            f"{name} must have shape ({stages} levels, {least} classes or more); got {found.shape}"
        )
    return found
