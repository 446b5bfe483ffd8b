"""The curve of flags over thresholds, from one set of counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rsbounds._numerics.checks import as_floats
from rsbounds.answers._answer import Answer, checked_radius, require_rows
from rsbounds.answers._flag_calibration import require_one_bound
from rsbounds.answers._flag_rows import NAME, detection
from rsbounds.answers._votes import Recorded
from rsbounds.procedure import Procedure


def curve(
    at: Callable[[float], Answer],
    rows: Sequence[Recorded],
    flagged: Any,
    procedure: Procedure,
    thresholds: Any,
    radius: float,
) -> dict[str, Any]:
    """What :meth:`Flag.curve` returns; ``at`` makes the flag of a threshold."""
    require_rows(rows, NAME, ())
    require_one_bound(procedure)
    taus = as_floats("thresholds", thresholds, 0.0, 1.0, closed="neither", nan=False)
    distance = checked_radius(radius)
    found: dict[str, Any] = {
        "thresholds": taus.ravel().tolist(),
        "radius": distance,
        "level": 2 * procedure.alpha,
        "detected": [],
        "false_alarms": [],
        "undecided": [],
    }
    for tau in found["thresholds"]:
        other = at(tau)
        certified = [_certified(other, row, procedure) for row in rows]
        shares = detection(certified, flagged, radii=[distance])
        found["detected"].append(shares["detected"][0])
        found["false_alarms"].append(shares["false_alarms"])
        found["undecided"].append(shares["undecided"])
    return found


class _Again:
    """What another threshold makes of a row."""

    def __init__(self, row: Recorded, predict: Any, radius: float) -> None:
        self.label = row.label
        self.predict = predict
        self.radius = radius
        self.extra = row.extra
        self.input = getattr(row, "input", "-")


def _certified(answer: Answer, row: Recorded, procedure: Procedure) -> Any:
    certificate, _ = answer.certify(
        answer.stored(row), procedure, label=row.label, index=row.idx
    )
    return _Again(row, certificate.predict, certificate.radius)
