"""For which program certificates hold: what is proved, stated and measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rsbounds._numerics.text import shown
from rsbounds.results._manifest import Manifest

LEAD = "holds for the program"


def program(manifest: Manifest) -> str:
    """The line of a report, a card and a page; "" for a run without a margin."""
    margin = manifest.procedure.margin
    if margin is None:
        return ""
    record = manifest.engine.get("margin")
    basis = "stated"
    if isinstance(record, Mapping) and record.get("basis") == "measured":
        basis = f"stated, as {_measured(record)}"
    if manifest.engine.get("sound_noise"):
        noise = "noise drawn exactly on its grid (stated)"
    else:
        noise = "noise drawn as that of real numbers (stated)"
    if not manifest.procedure.repeats:
        noise += ", of the operating system's bits through ChaCha20 (stated)"
    return (
        f"{LEAD}: void votes counted against the class (proved); scores within half of "
        f"the margin, {margin:.4g}, of those of exact arithmetic ({basis}); {noise}"
    )


def _measured(record: Mapping[str, Any]) -> str:
    """How the margin was measured, in words."""
    settings = record.get("settings")
    names = " and ".join(map(str, settings)) if isinstance(settings, list) else "others"
    return (
        f"measured: {record.get('multiple')} times the largest difference to "
        f"{shown(names)!r}, on {record.get('samples')} samples"
    )
