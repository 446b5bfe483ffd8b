"""Rows of flags: what raises the alarm, and detections beside false alarms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rsbounds._numerics.checks import as_floats, as_integers, instance
from rsbounds._numerics.decimals import number, round_radii, short
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers._answer import Summary, require_rows
from rsbounds.answers._votes import Recorded
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import interval

NAME = "flag"
#: What rows predict: the alarm, or none.
FLAGGED, PASSES = 1, 0
#: Of the exact intervals of shares.
LEVEL = 0.05
_SCORE = "score>"
Share = list[float] | None  # and the ends of its interval; None of no inputs


def checked_flagged(flagged: Any) -> tuple[int, ...] | str:
    """The classes that raise the alarm, or the text of a score's threshold."""
    expected = 'must be classes, such as 1 or (1, 4), or "score>0.5"'
    if isinstance(flagged, str) and flagged.startswith(_SCORE):
        try:
            if np.isfinite(number_of(flagged)):
                return flagged
        except ValueError:
            pass
        raise ArgumentError("flagged", f"{expected}; got {flagged!r:.60}")
    if isinstance(flagged, str):
        if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", flagged, re.ASCII):
            raise ArgumentError("flagged", f"{expected}; got {flagged!r:.60}")
        flagged = [int(label) for label in flagged.split(",")]
    labels = np.unique(as_integers("flagged", flagged, 0))
    if not labels.size:
        raise ArgumentError("flagged", f"{expected}; got none")
    return tuple(labels.tolist())


def number_of(flagged: str) -> float:
    """The number of the text ``score>NUMBER``."""
    return number(flagged.removeprefix(_SCORE))


def alarm_labels(flagged: Any) -> tuple[int, ...]:
    """The classes that raise the alarm; above a score it is the second of two."""
    named = checked_flagged(flagged)
    return (FLAGGED,) if isinstance(named, str) else named


def votes_of(labels: Sequence[int], counts: Sequence[int]) -> int:
    """How many votes are of these classes; counts may end before them."""
    return sum(int(counts[label]) for label in labels if label < len(counts))


def detection(
    rows: Sequence[Recorded],
    flagged: Any,
    *,
    radii: Sequence[float] | None = None,
    calibrated: Sequence[Any] = (),
) -> dict[str, Any]:
    """What :meth:`Flag.detection` returns, by the labels that are to be flagged."""
    require_rows(rows, NAME, ())
    _require_others(rows, calibrated)
    labels = alarm_labels(flagged)
    to_flag: list[Any] = [row for row in rows if row.label in labels]
    benign: list[Any] = [row for row in rows if row.label not in labels]
    if radii is None:
        radii = round_radii(max(row.radius for row in (*to_flag, *benign)))
    radii = as_floats("radii", radii, 0.0, nan=False, towards=np.inf).ravel().tolist()

    def certified(group: Sequence[Any], predict: int, radius: float) -> Share:
        hits = sum(row.predict == predict and row.radius >= radius for row in group)
        return _share(hits, len(group))

    return {
        "to_flag": len(to_flag),
        "benign": len(benign),
        "undecided": [
            sum(row.predict == ABSTAIN for row in group) for group in (to_flag, benign)
        ],
        "false_alarms": certified(benign, FLAGGED, 0.0),
        "radii": radii,
        "detected": [certified(to_flag, FLAGGED, radius) for radius in radii],
        "passing": [certified(benign, PASSES, radius) for radius in radii],
    }


def _require_others(rows: Sequence[Any], calibrated: Sequence[Any]) -> None:
    """ValueError for a row of an input that the threshold was chosen from."""
    instance("calibrated", calibrated, Sequence, "a sequence of rows")
    for row in calibrated:
        if not hasattr(row, "input"):
            raise ArgumentError("calibrated", f"must hold rows; got {row!r:.60}")
    inputs = {row.input for row in calibrated}
    for row in rows if calibrated else ():
        if row.input in inputs or "-" in (row.input, *inputs):
            raise ArgumentError(
                "rows",
                "must be of inputs that the threshold wasn't chosen from, by their "
                f"hashes; input {row.idx} is one, or has none",
            )


def _share(hits: int, of: int) -> Share:
    """A share and its exact interval over inputs."""
    if not of:
        return None
    ends = interval(hits, of, LEVEL)
    return [hits / of, float(ends.lower), float(ends.upper)]


def _cells(share: Share) -> list[str]:
    if share is None:
        return ["-", "-"]
    return [f"{share[0]:.4f}", f"{share[1]:.4f} to {share[2]:.4f}"]


def summary(threshold: float, flagged: Any, rows: Sequence[Recorded]) -> Summary:
    """What a report shows of rows of flags."""
    shares = detection(rows, flagged)
    table = [["radius", "detected", "between", "passing", "between"]]
    for radius, detected, passing in zip(
        shares["radii"], shares["detected"], shares["passing"], strict=True
    ):
        table.append([short(radius), *_cells(detected), *_cells(passing)])
    share, between = _cells(shares["false_alarms"])
    to_flag, benign = shares["undecided"]
    title = (
        f"flags, alarm likelier than {threshold:g}: {shares['to_flag']} inputs to "
        f"flag, {to_flag} undecided; {shares['benign']} benign, {benign} undecided; "
        f"false alarms {share} ({between})"
    )
    return Summary(title, table, {"threshold": threshold, **shares})
