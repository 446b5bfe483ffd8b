"""The certificate of a decision list from counts, without a union over classes or stages.

Intersection-union: where a radius is the least of several components, fixed before the
samples that estimate them are seen, and each has a lower bound of level alpha, the least of
these bounds has level alpha. Only the choice among items needs a union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, count, number, real, whole
from rsbounds.certificate import ABSTAIN, ASSERTED_VALUES, COMPOSITE, Certificate
from rsbounds.composite.components import Bounds, CountsOf, blocks, fires
from rsbounds.composite.geometry import checked_values
from rsbounds.composite.planning import Plan, checked_counts, plan
from rsbounds.composite.rule import Cond, Rule


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
        For "value" conditions, as in :func:`radius`. That they are 1-Lipschitz nothing here can
        check: the scope says that it was asserted.

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
    chosen, fixed = plan(rule, select, n, alpha, values=values), checked_values(rule, values)
    selected = checked_counts("select", rule, select)
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
    level = real("alpha", number("alpha", alpha), 0.0, 1.0, closed="neither", nan=False)
    stages = Bounds(counts_of, n, level / len(chosen.items), values)
    best, before = (-np.inf, -1, ""), (np.inf, "")
    for i in range(max(chosen.items) + 1):
        if i in chosen.items:
            radius, binding = min(fires(rule, i, chosen, stages), before)
            best = max(best, (radius, i, binding), key=lambda found: found[0])
        before = min(before, blocks(rule, i, chosen, stages)) if i < max(chosen.items) else before
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
        z_a=float(lower.z),
        p_a=float(lower.p),
        count=int(counts[chosen.cls]),
        n=n,
        sigma=rule.sigmas[deciding.stage],
        method="composite",
        scope=ASSERTED_VALUES if rule.values else COMPOSITE,
        z_b=float(upper),
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
