"""For which program certificates hold: what is proved, stated and measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rsbounds._numerics.text import shown
from rsbounds.certificate import ANOTHERS, Norm, asserts_noise
from rsbounds.results._facts import levels_of
from rsbounds.results._manifest import Manifest

LEAD = "holds for the program"


def program(
    manifest: Manifest,
    *,
    norms: Collection[float | str] = (),
    scopes: Collection[str] = (),
) -> str:
    """The line of a report, a card and a page; "" for a run without a margin.

    ``norms`` and ``scopes`` are those of its rows.
    """
    margin = manifest.procedure.margin
    if margin is None:
        return ""
    record = manifest.engine.get("margin")
    basis = "stated"
    if isinstance(record, Mapping) and record.get("basis") == "measured":
        basis = f"stated, as {_measured(record)}"
    noise = _drawing(manifest, norms, scopes)
    if not manifest.procedure.repeats:
        noise += ", of the operating system's bits through ChaCha20 (stated)"
    return (
        f"{LEAD}: void votes counted against the class (proved); scores within half of "
        f"the margin, {margin:.4g}, of those of exact arithmetic ({basis}); {noise}"
    )


def _drawing(
    manifest: Manifest, norms: Collection[float | str], scopes: Collection[str]
) -> str:
    """How the copies were made: what the certificates take for granted of them."""
    if any(map(asserts_noise, scopes)):
        return "noise drawn by a sampler of the writer's own (stated)"
    if ANOTHERS in scopes:
        return "noise drawn by another package (stated)"
    if levels_of(manifest.engine) is not None:
        return "noise drawn exactly on its grid (stated)"
    if norms and all(Norm.of(norm).counts for norm in norms):
        return "noise drawn with exactly its probabilities (stated)"
    in_floats = "noise drawn in floating point, taken for real numbers (stated)"
    if any(Norm.of(norm).changes is not None for norm in norms):
        return f"{in_floats}, values with exactly their probabilities (stated)"
    return in_floats


def _measured(record: Mapping[str, Any]) -> str:
    """How the margin was measured, in words."""
    settings = record.get("settings")
    names = " and ".join(map(str, settings)) if isinstance(settings, list) else "others"
    return (
        f"measured: {record.get('multiple')} times the largest difference to "
        f"{shown(names)!r}, on {record.get('samples')} samples"
    )
