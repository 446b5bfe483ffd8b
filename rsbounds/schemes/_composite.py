"""Decision lists over several noise levels: what their rows say, computed again.

A composite is no :class:`Scheme`: its radius follows from the counts of all stages, which
:func:`rsbounds.composite.certify_counts` takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rsbounds.certificate import COMPOSITE
from rsbounds.schemes._scheme import Method


def _radius(
    score: float,
    sigma: float,
    score_b: float | None = None,
    *,
    rule: Mapping[str, Any],
    select: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int] | None],
    n: int,
    alpha: float,
) -> float:
    from rsbounds import composite

    found = composite.certify_counts(composite.Rule.from_dict(rule), select, counts, n, alpha)
    return found.radius


METHOD = Method(
    name="composite",
    scope=COMPOSITE,
    radius=_radius,
    parameters={},
    help="a decision list over several fixed noise levels",
    sound=True,
)
