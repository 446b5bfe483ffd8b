"""The certificate of a decision list from counts, drawn stage by stage.

Intersection-union: where a radius is the least of several components, fixed before the
samples that estimate them are seen, and each has a lower bound of level alpha, the
least of these bounds has level alpha. Only the choice among items needs a union, not
classes or stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_integers
from rsbounds._numerics.counts import total
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.rounding import EPS, product
from rsbounds.certificate import ABSTAIN, COMPOSITE, Certificate
from rsbounds.composite.geometry import less
from rsbounds.composite.planning import Plan, checked_select, plan
from rsbounds.composite.rule import Cond, Rule
from rsbounds.confidence.bound import End, divided, half
from rsbounds.confidence.counts import arguments, end
from rsbounds.procedure import Procedure, require_procedure
from rsbounds.schemes.internal import Composite

#: Counts of one stage's classes, drawn where they are asked for.
CountsOf = Callable[[int], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class CompositeCertificate(Certificate):
    """One input's certificate from a decision list.

    The other fields are those of the item's stage.

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
    rule: Rule, select: Any, counts: Any, procedure: Procedure
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
    procedure : Procedure
        Its n samples were drawn at each level; alpha is the probability that the
        certificate is wrong, in total.

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
    >>> from rsbounds.procedure import Procedure, require_procedure
    >>> gate = [Cond("margin", 0), Cond("score", 0, -0.3)]
    >>> rule = Rule([1.0, 0.5], [gate, [Cond("margin", 1)]])
    >>> select = [[30, 25, 45], [97, 2, 1]]
    >>> counts = [[1400, 1300, 2300], [4850, 100, 50]]
    >>> c = certify_counts(rule, select, counts, Procedure(n=5000))
    >>> c.predict, c.item, c.samples, c.binding
    (2, 0, 5200, 'item 0 fires: score, stage 0')
    """
    require_procedure(procedure)
    warn_of_confidence(procedure.alpha, stacklevel=2)
    return certified_counts(rule, select, counts, procedure)


def certified_counts(
    rule: Rule, select: Any, counts: Any, procedure: Procedure
) -> CompositeCertificate:
    """What :func:`certify_counts` returns, of a procedure that was checked."""
    select = checked_select(rule, select)
    levels, classes = select.shape
    if isinstance(counts, np.ndarray) and counts.ndim:
        counts = list(counts)
    if not isinstance(counts, Sequence) or len(counts) != levels:
        raise ArgumentError("counts", f"must be of {levels} stages; got {counts!r:.60}")
    checked: list[NDArray[np.int64] | None] = []
    for k, of_stage in enumerate(counts):
        name = f"counts[{k}]"
        checked.append(
            None
            if of_stage is None
            else checked_stage(name, of_stage, classes, procedure.n)
        )

    def counts_of(stage: int) -> NDArray[np.int64]:
        counted = checked[stage]
        if counted is None:
            raise ArgumentError(
                "counts", f"must hold stage {stage}, which the rule needs; got None"
            )
        return counted

    return certify_drawn(rule, select, counts_of, procedure)


def certify_drawn(
    rule: Rule,
    select: Any,
    counts_of: CountsOf,
    procedure: Procedure,
) -> CompositeCertificate:
    """The certificate of a decision list, whose stages are drawn where it needs them.

    Parameters
    ----------
    rule, select
        As in :func:`certify_counts`.
    counts_of : callable
        ``counts_of(stage)`` gives the class counts of n fresh samples at that level, an
        array of int of shape (C,). It is called once for each stage that the radius
        depends on, in the order of the items.
    procedure : Procedure
        As in :func:`certify_counts`. Where samples without a class may be of any
        (``void_against``), they count against whatever an upper bound is of.
    """
    select = checked_select(rule, select)
    chosen = plan(rule, select, procedure.n, procedure.alpha)
    return estimate(rule, select, chosen, counts_of, procedure)


class _Component(NamedTuple):
    """One of those whose least is the radius through an item; the lesser one binds."""

    value: float
    binding: str


class _Through(NamedTuple):
    """The radius through an item, and the component that sets it."""

    radius: float
    item: int
    binding: str


def estimate(
    rule: Rule,
    select: NDArray[np.int64],
    chosen: Plan,
    counts_of: CountsOf,
    procedure: Procedure,
) -> CompositeCertificate:
    """Certify by a plan; ask for a stage's counts only where the radius needs them."""
    n = procedure.n
    level = divided(procedure.alpha, len(chosen.items))
    stages = _Bounds(counts_of, n, level, procedure.void_against)
    best = _best_item(rule, chosen, stages)
    # where no item was reached, its stages may not have been drawn: take the first that
    # was
    deciding = Cond("score", next(iter(stages.used), 0))
    if best.item >= 0:
        deciding = next(q for q in rule.items[best.item] if q.exclusive)
    lower, upper = stages.pair(deciding, chosen.cls)
    counts = stages.counts(deciding.stage)
    used = tuple(stages.used)
    stage_counts = [
        tuple(stages.used[stage].tolist()) if stage in used else None
        for stage in range(len(rule.sigmas))
    ]
    return CompositeCertificate(
        predict=chosen.cls if best.radius > 0 else ABSTAIN,
        radius=float(max(best.radius, 0.0)),
        z_a=float(lower.z),
        p_a=float(lower.p),
        count=int(counts[chosen.cls]),
        n=n,
        sigma=rule.sigmas[deciding.stage],
        method=Composite.name,
        scope=COMPOSITE,
        z_b=float(upper),
        select=tuple(select[deciding.stage].tolist()),
        counts=tuple(counts.tolist()),
        void=int(n - counts.sum()),
        item=best.item,
        binding=best.binding or "no item certifies the class",
        stages=used,
        samples=total(select) + n * len(used),
        stage_select=tuple(tuple(row) for row in select.tolist()),
        stage_counts=tuple(stage_counts),
    )


def _best_item(rule: Rule, chosen: Plan, stages: _Bounds) -> _Through:
    """The largest radius through one of the plan's items."""
    best = _Through(-np.inf, -1, "")
    before = _Component(np.inf, "")  # the least that keeps the items so far from firing
    last = max(chosen.items)
    for item in range(last + 1):
        if item in chosen.items:
            component = min(_fires(rule, item, chosen, stages), before)
            if component.value > best.radius:
                best = _Through(component.value, item, component.binding)
        if item < last:
            before = min(before, _blocks(rule, item, chosen, stages))
        if before.value <= max(best.radius, 0.0):
            break  # no later item can raise the radius
    return best


def checked_stage(name: str, counts: Any, classes: int, n: int) -> NDArray[np.int64]:
    """Class counts of one stage, or ValueError."""
    result = as_integers(name, counts)
    if result.shape != (classes,):
        raise ArgumentError(
            name, f"must be counts of {classes} classes; got shape {result.shape}"
        )
    if total(result) > n:
        raise ArgumentError(name, f"must sum to at most n = {n}; got {total(result)}")
    return result


class _Bounds:
    """Clopper-Pearson bounds of the stages at one level, each solved once."""

    def __init__(
        self, counts_of: CountsOf, n: int, level: Array, void_against: bool = False
    ) -> None:
        self._void_against = void_against
        self.used: dict[int, NDArray[np.int64]] = {}
        self._counts_of = counts_of
        self._n = n
        self._level = level
        self._half = half(level)
        self._solved: dict[tuple[int, bool, bool], End] = {}

    def counts(self, stage: int) -> NDArray[np.int64]:
        if stage not in self.used:
            self.used[stage] = self._counts_of(stage)
        return self.used[stage]

    def misses(self, stage: int, hits: Any) -> Any:
        """How many samples are certainly not among the hits."""
        counted = int(self.counts(stage).sum()) if self._void_against else self._n
        return counted - hits

    def lower(self, stage: int, *, halved: bool, failures: bool = False) -> End:
        """Lower ends of all probabilities, or of those of their complements."""
        key = (stage, halved, failures)
        if key not in self._solved:
            counts = self.counts(stage)
            hits = self.misses(stage, counts) if failures else counts
            level = self._half if halved else self._level
            self._solved[key] = end(*arguments(hits, self._n, level))
        return self._solved[key]

    def upper(self, stage: int, *, halved: bool = False) -> Array:
        """Scores of upper bounds of all classes' probabilities."""
        return -self.lower(stage, halved=halved, failures=True).z

    def of_set(self, q: Cond, *, above: bool) -> float:
        """Score of a lower or, ``above``, an upper bound of a set's probability."""
        hits = self.counts(q.stage)[list(q.classes or ())].sum()
        if above:
            misses = self.misses(q.stage, hits)
            return float(-end(*arguments(misses, self._n, self._level)).z)
        return float(end(*arguments(hits, self._n, self._level)).z)

    def pair(self, q: Cond, cls: int) -> tuple[End, float]:
        """Lower end of a class and the score of an upper bound of every other one."""
        margin = q.kind == "margin"
        ends = self.lower(q.stage, halved=margin)
        lower = End(z=ends.z[cls], p=ends.p[cls], q=ends.q[cls])
        if not margin:
            return lower, -float(lower.z)
        others = np.delete(self.upper(q.stage, halved=True), cls).max()
        return lower, float(min(others, -lower.z))


def _fires(rule: Rule, item: int, chosen: Plan, stages: _Bounds) -> _Component:
    """Lower bound of the least excess of the item's conditions, and which it is."""
    excess = []
    for q in rule.items[item]:
        z: Any
        if q.kind == "set":
            z = stages.of_set(q, above=False)
        else:
            lower, upper = stages.pair(q, chosen.cls)
            z = less(lower.z, upper) / 2.0 if q.kind == "margin" else lower.z
        value = less(_down(rule.sigmas[q.stage], z), q.threshold)
        binding = f"item {item} fires: {q.kind}, stage {q.stage}"
        excess.append(_Component(float(value), binding))
    return min(excess)


def _blocks(rule: Rule, item: int, chosen: Plan, stages: _Bounds) -> _Component:
    """Lower bound of the least shortfall of the other classes, and whose it is."""
    blocking = np.array(chosen.blocking[item])
    blocking[chosen.cls] = -1  # the class itself need not be blocked
    least = _Component(np.inf, "")
    for index, q in enumerate(rule.items[item]):
        classes = np.flatnonzero(blocking == index)
        if not classes.size:
            continue
        z = _upper_coordinate(q, classes, chosen, stages)
        shortfall = less(q.threshold, -_down(rule.sigmas[q.stage], -z))
        worst = int(shortfall.argmin())
        binding = (
            f"item {item} blocks class {classes[worst]}: {q.kind}, stage {q.stage}"
        )
        least = min(least, _Component(float(shortfall[worst]), binding))
    return least


def _upper_coordinate(
    q: Cond, classes: NDArray[np.intp], chosen: Plan, stages: _Bounds
) -> Array:
    """Upper bounds of the condition's coordinate, over sigma, for those classes."""
    if q.kind == "set":
        return np.full(classes.shape, stages.of_set(q, above=True))
    if q.kind == "score":
        return stages.upper(q.stage)[classes]
    # (r_b - r_a)/2, a any other class, bounds b's margin from above
    reference = np.array(chosen.references[q.stage])[classes]
    lower = stages.lower(q.stage, halved=True).z[reference]
    upper = np.minimum(stages.upper(q.stage, halved=True)[classes], -lower)
    return np.asarray(-less(lower, upper) / 2.0)


def _down(sigma: float, z: Any) -> Array:
    """Return sigma z, rounded down."""
    value = product(sigma, z)
    return np.asarray(value - EPS * np.where(np.isfinite(value), np.abs(value), 0.0))
