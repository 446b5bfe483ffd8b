"""The list: the class that a decision list over several noise levels decides for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.counts import padded, total
from rsbounds._numerics.decimals import dense_counts, sparse_counts
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import content_of
from rsbounds._numerics.json_files import parsed
from rsbounds.answers._answer import Answer, Answered, Options
from rsbounds.answers._votes import ClassCounts, Recorded, class_counts, scaled_count
from rsbounds.composite import Rule
from rsbounds.composite.estimate import checked_stage
from rsbounds.composite.internal import certify_drawn
from rsbounds.composite.sampled import drawn_stages, experts_of
from rsbounds.procedure import Procedure
from rsbounds.sampling import Draws, Phase, Sampler
from rsbounds.schemes import Option, Scheme
from rsbounds.schemes.internal import Composite

NOT_DRAWN = "*"
#: Items of a rule: to go through more takes long for each input.
MOST_ITEMS = 1000


@dataclass(frozen=True)
class Stages:
    """Evidence of a list: selection counts of all levels, and a level's own counts.

    ``counts_of`` draws the counts of a level's ``n`` samples where they are asked for,
    or looks them up.
    """

    select: NDArray[np.int64]
    counts_of: Callable[[int], ClassCounts]
    n: int


class DecisionList(Answer):
    """The class for which a decision list over several fixed noise levels decides.

    Parameters
    ----------
    rule : rsbounds.composite.Rule
        The decision list.
    fitted : sequence of str, optional
        Digests of the rows that it was fitted to, as ``fit-rule`` writes them: no
        level holds on these. None of a rule that was fixed before the run: (). By
        default how it was chosen is not recorded, and reports say so.

    Examples
    --------
    >>> from rsbounds.answers import DecisionList
    >>> from rsbounds.composite import Cond, Rule
    >>> rule = Rule([1.0, 0.5], [[Cond("score", 0, 1.0)], [Cond("margin", 1)]])
    >>> DecisionList(rule).levels(None)
    (1.0, 0.5)
    """

    name = "list"
    help = "the class that a decision list over several noise levels decides for"
    options = (Option("rule", "the decision list", Path, metavar="RULE.json"),)
    takes_scheme = False
    columns = ("item", "binding", "stage_select", "stage_counts")

    def __init__(self, rule: Rule, fitted: Sequence[str] | None = None) -> None:
        if type(rule) is not Rule:  # another class may decide otherwise
            raise ArgumentError(
                "rule", f"must be a Rule, of no subclass; got {rule!r:.80}"
            )
        if fitted is not None and not (
            isinstance(fitted, Sequence)
            and all(isinstance(digest, str) for digest in fitted)
        ):
            raise ArgumentError(
                "fitted", f"must be a list of digests; got {fitted!r:.80}"
            )
        if len(rule.items) > MOST_ITEMS:
            raise ArgumentError(
                "rule", f"must have at most {MOST_ITEMS} items; got {len(rule.items)}"
            )
        self.rule = rule
        self.fitted = None if fitted is None else list(fitted)
        self.scheme: Scheme = Composite({"rule": rule.to_dict()})

    def parameters(self) -> dict[str, Any]:
        return {} if self.fitted is None else {"fitted": self.fitted}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], scheme: Scheme) -> Answer:
        rule = Rule.from_dict(scheme.parameters.get("rule", {}))
        return cls(rule, parameters.get("fitted"))

    @classmethod
    def from_options(cls, options: Options, scheme: Any) -> Answer:
        return read_list(options["rule"])

    def check(self, procedure: Procedure) -> None:
        procedure.require_defaults(self.name, counts_votes=True)

    def samplers(self, model: Any) -> Sequence[Sampler]:
        return experts_of(model, len(self.rule.sigmas))

    def levels(self, x: Any) -> Sequence[float]:
        return self.rule.sigmas

    def draw(self, draws: Draws, procedure: Procedure) -> Stages:
        return Stages(*drawn_stages(draws, procedure), n=procedure.n)

    def scaled(self, evidence: Stages, n: int) -> Stages:
        def counts_of(stage: int) -> ClassCounts:
            counts = evidence.counts_of(stage).tolist()
            scaled = [scaled_count(count, evidence.n, n) for count in counts]
            return np.array(scaled, dtype=np.int64)

        return Stages(evidence.select, counts_of, n)

    def stored(self, row: Recorded) -> Stages:
        select, counts = stage_counts(row)
        width = max(
            [
                self.rule.least_classes,
                *(len(stage_row) for stage_row in [*select, *counts] if stage_row),
            ]
        )
        for name, stages in (("stage_select", select), ("stage_counts", counts)):
            if len(stages) != len(self.rule.sigmas):
                raise ValueError(
                    f"{name} must be of {len(self.rule.sigmas)} stages; got "
                    f"{len(stages)}"
                )

        def counts_of(stage: int) -> ClassCounts:
            stored = counts[stage]
            if stored is None:
                raise ValueError(
                    f"stage_counts must hold stage {stage}, which the rule needs; got "
                    "none"
                )
            return checked_stage(f"stage {stage}", padded(stored, width), width, row.n)

        return Stages(
            np.stack([padded(stage_row or (), width) for stage_row in select]),
            counts_of,
            row.n,
        )

    def certify(
        self, evidence: Stages, procedure: Procedure, *, label: int, index: int
    ) -> Answered:
        drawn = max(map(total, evidence.select))
        if not drawn <= procedure.n0:
            raise ValueError(
                f"selection counts sum to {drawn} of {procedure.n0} samples"
            )
        certificate = certify_drawn(
            self.rule,
            evidence.select,
            evidence.counts_of,
            procedure,
        )
        counts = (
            NOT_DRAWN if stage is None else sparse_counts(stage)
            for stage in certificate.stage_counts
        )
        columns = {
            "item": str(certificate.item),
            "binding": certificate.binding,
            "stage_select": ";".join(map(sparse_counts, certificate.stage_select)),
            "stage_counts": ";".join(counts),
        }
        return Answered(certificate, columns)

    def fingerprint(self, draws: Draws, procedure: Procedure) -> Sequence[int]:
        first = class_counts(draws(Phase.SELECT, procedure.n0, 0))
        return [int(count) for count in first]

    def recorded_fingerprint(self, row: Recorded) -> Sequence[int] | None:
        return stage_counts(row)[0][0]


def read_list(path: Path) -> DecisionList:
    """The answer of a decision list in a JSON file; ValueError for any other."""
    try:
        entries = parsed(content_of(path))
        return DecisionList(Rule.from_dict(entries), entries.get("fitted"))
    except ValueError as error:
        raise ValueError(f"{path} is not a rule: {error}") from None


StageCounts = list[tuple[int, ...] | None]


def stage_counts(row: Recorded) -> tuple[StageCounts, StageCounts]:
    """The selection counts and the counts of all stages of a row; None: not drawn."""
    select, counts = (
        [
            None if text == NOT_DRAWN else dense_counts(text)
            for text in row.extra[name].split(";")
        ]
        for name in ("stage_select", "stage_counts")
    )
    return select, counts
