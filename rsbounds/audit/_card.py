"""A card against the result file that it is of."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.audit._verify import verify
from rsbounds.results import card, read

#: What a card says of its making, and not of its file.
_OF_ITSELF = ("rsbounds", "name")


def verified(audit: Audit, path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a card says of an audit of a file."""
    first = [finding.at(Path(path).name) for finding in audit.findings[:20]]
    return {
        "rows": audit.rows,
        "proved": audit.proved,
        "findings": len(audit.findings),
        "first": first,
        "stated": list(audit.stated),
    }


def check_card(
    stated: Mapping[str, Any], path: str | os.PathLike[str]
) -> tuple[Finding, ...]:
    """What a card has otherwise than its result file: all of it is computed again.

    Parameters
    ----------
    stated : mapping
        As :func:`rsbounds.results.read_card` returns it.
    path : path-like
        The result file.

    Raises
    ------
    ValueError, OSError
        As :func:`verify` and :func:`rsbounds.results.read`.

    Examples
    --------
    >>> check_card(read_card("card.json"), "run.tsv")  # doctest: +SKIP
    ()
    """
    audit = None
    if stated["verified"] is not None:
        audit = verified(verify(path), path)
    radii = [at["radius"] for at in stated["accuracy"]]
    made = card(read(path), radii or None, verified=audit)
    return tuple(_otherwise(stated, made))


def _otherwise(stated: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[Finding]:
    """Entries of a card that are others when they are computed again."""
    computed = json.loads(json.dumps(made))
    for name in sorted((stated.keys() | computed.keys()) - set(_OF_ITSELF)):
        had, has = stated.get(name), computed.get(name)
        if had != has:
            text = f"the card's {name} is {had!r:.80}, {has!r:.80} by the file"
            yield Finding(Kind.CARD, None, text)
