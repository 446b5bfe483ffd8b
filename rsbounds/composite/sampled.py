"""The certificate of a decision list from samples of one input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds.composite.estimate import (
    CompositeCertificate,
    CountsOf,
    certify_drawn,
    checked_stage,
)
from rsbounds.composite.rule import Rule, checked_rule
from rsbounds.procedure import Procedure, require_procedure
from rsbounds.sampling import Draws, Phase, Sampler, as_sampler
from rsbounds.sampling.internal import require_law

DEFAULTS = Procedure()


def certify(
    samplers: Sampler | Sequence[Sampler],
    x: Any,
    rule: Rule,
    procedure: Procedure = DEFAULTS,
    *,
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
    x, index
        As in :func:`rsbounds.certify.certify`.
    rule : Rule
        The decision list.
    procedure : Procedure
        Samples of one level, and alpha in total.

    Returns
    -------
    CompositeCertificate
        That of :func:`certify_counts` for the same counts, whether or not it stopped
        early.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.composite import Cond, Rule, certify
    >>> from rsbounds.procedure import Procedure, require_procedure
    >>> from rsbounds.sampling import ArraySampler
    >>> w = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    >>> rule = Rule([1.0, 0.5], [[Cond("score", 0, 1.0)], [Cond("margin", 1)]])
    >>> sampler = ArraySampler(lambda b: b @ w.T)
    >>> c = certify(sampler, [0.75, 0.0], rule, Procedure(n=10_000))
    >>> c.predict, c.item, 0.7 < c.radius < 0.75  # the truth is 0.75
    (0, 1, True)
    """
    require_procedure(procedure)
    warn_of_confidence(procedure.alpha, stacklevel=2)
    index = count("index", index)
    sigmas = checked_rule(rule).sigmas
    experts = experts_of(samplers, len(sigmas))
    draws = Draws(experts, x, sigmas, procedure, index)
    select, counts_of = drawn_stages(draws, procedure)
    return certify_drawn(rule, select, counts_of, procedure)


def drawn_stages(
    draws: Draws, procedure: Procedure
) -> tuple[NDArray[np.int64], CountsOf]:
    """The selection counts of all levels, and what draws a level's own counts."""
    stages = range(draws.stages)
    selected = [
        np.asarray(draws(Phase.SELECT, procedure.n0, stage)) for stage in stages
    ]
    classes = selected[0].size
    select = [
        checked_stage(f"stage {stage}", counts, classes, procedure.n0)
        for stage, counts in enumerate(selected)
    ]

    def counts_of(stage: int) -> NDArray[np.int64]:
        counts = np.asarray(draws(Phase.ESTIMATE, procedure.n, stage))
        return checked_stage(f"stage {stage}", counts, classes, procedure.n)

    return np.stack(select), counts_of


def experts_of(samplers: Any, levels: int) -> list[Sampler]:
    """A sampler for each level: the one that was given, or one for each."""
    models = samplers if isinstance(samplers, Sequence) else [samplers] * levels
    experts = [as_sampler(model) for model in models]
    if len(experts) != levels:
        raise ArgumentError("samplers", f"must be one or {levels}; got {len(experts)}")
    for sampler in experts:
        require_law(sampler, "")
    return experts
