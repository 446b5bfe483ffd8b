"""A decision list on one input: draws stage by stage, and stops where more can't help."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import count
from rsbounds.composite.estimate import CompositeCertificate, checked_stage, estimate, plan
from rsbounds.composite.rule import Rule, checked_rule
from rsbounds.procedure import Procedure
from rsbounds.sampling import Phase, Sampler, as_sampler, require_law, stream


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

    n0 samples at each level choose the class and what is to be estimated; then n samples
    are drawn at each level that the radius can still depend on, in the order of the items.

    Parameters
    ----------
    samplers : Sampler or sequence of K samplers
        The classifier under noise: one for all K levels of the rule, or an expert for each.
    x, n0, n, alpha, seed, index
        As in :func:`rsbounds.certify.certify`: samples of one level, and alpha in total.
    rule : Rule
        The decision list.

    Returns
    -------
    CompositeCertificate
        That of :func:`certify_counts` for the same counts, whether or not it stopped early.

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
    checked = [checked_stage(f"stage {k}", c, classes, procedure.n0) for k, c in enumerate(first)]
    select, n = np.stack(checked), procedure.n

    def counts_of(stage: int) -> NDArray[np.int64]:
        return checked_stage(f"stage {stage}", drawn(stage, n, Phase.ESTIMATE), classes, n)

    chosen = plan(rule, select, n, procedure.alpha)
    return estimate(rule, select, chosen, counts_of, n, procedure.alpha)
