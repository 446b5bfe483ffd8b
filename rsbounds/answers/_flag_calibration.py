"""A threshold of flags that is chosen from benign inputs, and the record of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from rsbounds._numerics.checks import number
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers._answer import require_rows
from rsbounds.answers._flag_rows import (
    NAME,
    alarm_labels,
    checked_flagged,
    votes_of,
)
from rsbounds.answers._votes import Recorded
from rsbounds.confidence import BOUNDS
from rsbounds.procedure import Procedure, require_procedure
from rsbounds.schemes import Scheme

_BESIDE = 1e-12  # so far above a bound, relative, a threshold has another score


class Calibration(NamedTuple):
    """From which benign inputs a threshold was chosen, and with which share.

    Attributes
    ----------
    threshold, share : float
        What :func:`conformal_threshold` returned, and for which share.
    n0, n, alpha, bound
        Of the procedure of the inputs, which is that of what is said of others.
    inputs : tuple of str
        The hashes of the inputs, as rows have them: none of these may be certified.
    """

    threshold: float
    share: float
    n0: int
    n: int
    alpha: float
    bound: str
    inputs: tuple[str, ...]

    @classmethod
    def of(
        cls, threshold: float, share: float, procedure: Procedure, rows: Sequence[Any]
    ) -> Self:
        """The record of some rows; ValueError for one whose input has no hash."""
        for row in rows:
            if getattr(row, "input", "-") == "-":
                raise ArgumentError(
                    "rows",
                    "must have hashes of their inputs, by which these are told from "
                    f"certified ones; the row of input {row.idx} has none",
                )
        numbers = procedure.n0, procedure.n, procedure.alpha, procedure.bound
        return cls(threshold, float(share), *numbers, tuple(row.input for row in rows))

    @classmethod
    def from_entries(cls, entries: Any) -> Self:
        """The record of a manifest's entries; ValueError where they are damaged."""
        if not isinstance(entries, Mapping) or entries.keys() != set(cls._fields):
            names = ", ".join(cls._fields)
            raise ArgumentError("calibrated", f"must have {names}; got {entries!r:.60}")
        inputs = tuple(map(str, entries["inputs"]))
        return cls(**{**entries, "inputs": inputs})

    def entries(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {**self._asdict(), "inputs": list(self.inputs)}


def require_one_bound(procedure: Procedure) -> None:
    """ValueError for samples that were drawn until they showed something."""
    require_procedure(procedure)
    bound = BOUNDS[procedure.bound]
    if procedure.may_stop or bound.looks is not None or bound.evidence != "counts":
        raise ArgumentError(
            "procedure",
            "must be of a number of samples that was fixed in advance, on counts; got "
            f"bound {procedure.bound!r}",
        )


def require_benign(run: Any, scheme: Scheme, flagged: Any) -> None:
    """ValueError unless a result file asks this question of benign inputs."""
    named = checked_flagged(flagged)
    labels = alarm_labels(named)
    asked = {
        "answer": NAME,
        "flagged": named if isinstance(named, str) else list(named),
        "method": scheme.name,
        "parameters": json.loads(json.dumps(dict(scheme.parameters))),
    }
    manifest = run.manifest
    if manifest is None:
        raise ArgumentError("calibrate", "must have a manifest, which says its noise")
    answer = manifest.answer
    found = {
        "answer": answer["name"],
        "flagged": answer.get("flagged"),
        "method": manifest.method,
        "parameters": manifest.parameters,
    }
    for name, expected in asked.items():
        if found[name] != expected:
            raise ArgumentError(
                "calibrate",
                f"must have the {name} {expected!r:.60} of this run; got "
                f"{found[name]!r:.60}",
            )
    for row in run.rows:
        if row.label in labels:
            raise ArgumentError(
                "calibrate",
                f"must hold benign inputs alone; input {row.idx} has the label "
                f"{row.label}, which is to be flagged",
            )


def conformal_threshold(
    rows: Sequence[Recorded], share: float, procedure: Procedure, flagged: Any = (1,)
) -> float:
    """The least threshold that all but a share of benign inputs certainly pass.

    Parameters
    ----------
    rows : sequence of Row
        Of benign inputs, for calibration alone: :func:`detection` refuses rows that are
        among them.
    share : float
        How many benign inputs may fail to pass, in (0, 1).
    procedure : Procedure
        That of the rows, and of those to come.
    flagged
        As of :class:`Flag`.

    Returns
    -------
    float
        Where further inputs are exchangeable with the rows, and certified by the same
        procedure under the same noise, one of them is not certified to pass at this
        threshold with probability at most ``share``: over inputs and noise together.
        The noise must be independent of that of the rows, which it is in a run of
        :meth:`Flag.calibrated` and in rows of the same run; a flag of the number alone
        needs another seed.

    Raises
    ------
    ValueError
        For an argument out of its domain, or fewer rows than the share needs.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.answers import Flag, conformal_threshold
    >>> from rsbounds.certify import Procedure, certify_dataset
    >>> from rsbounds.schemes import gaussian
    >>> x = np.random.default_rng(0).normal(-1.5, 0.1, (40, 1))
    >>> answer = Flag(gaussian(0.5), flagged="score>0")
    >>> run = certify_dataset(lambda b: b[:, 0], x, answer, n=1000)
    >>> tau = conformal_threshold(run.rows, 0.1, Procedure(n=1000), answer.flagged)
    >>> 0.005 < tau < 0.05
    True
    """
    require_rows(rows, NAME, ())
    require_one_bound(procedure)
    allowed = number("share", share, 0.0, 1.0, closed="neither")
    place = math.ceil((len(rows) + 1) * (1 - Fraction(allowed)))
    if place > len(rows):
        least = math.ceil(1 / Fraction(allowed)) - 1
        raise ArgumentError(
            "rows",
            f"must be at least {least} rows for a share of {share}; got {len(rows)}",
        )
    threshold = sorted(_passes_from(row, procedure, flagged) for row in rows)[place - 1]
    if not threshold < 1:
        raise ArgumentError(
            "rows",
            "must be of inputs that pass at some threshold below 1: more "
            "samples n, or a larger share, may show that they do",
        )
    return threshold


def _passes_from(row: Recorded, procedure: Procedure, flagged: Any) -> float:
    """The least threshold at which a row is certified to pass, or little more."""
    labels = alarm_labels(flagged)
    passing = sum(row.counts) - votes_of(labels, row.counts)
    bound = BOUNDS[procedure.bound]
    pair = bound.of_two_counts(
        passing, row.n - passing, row.n, procedure.alpha, runner_up=False
    )
    selected = votes_of(labels, row.select) / procedure.n0
    return float(max(pair.p_b, np.nextafter(selected, 2.0)) * (1 + _BESIDE))


def require_noise(scheme: Scheme, rows: Sequence[Any]) -> None:
    """ValueError for rows of other noise than the scheme's."""
    for row in rows:
        if row.method != scheme.name or row.sigma != scheme.fixed_level():
            raise ArgumentError(
                "rows",
                f"must be of the noise of {scheme!r}; the row of input {row.idx} is of "
                f"{row.method} at {row.sigma}",
            )
