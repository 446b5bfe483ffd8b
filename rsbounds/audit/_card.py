"""A card against the result file that it is of."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rsbounds._numerics.files import content_of
from rsbounds.audit._finding import Finding, Kind
from rsbounds.audit._verify import verify
from rsbounds.reports import card
from rsbounds.reports.internal import as_markdown
from rsbounds.results import read

#: What a card says of its making, and not of its file.
_OF_ITSELF = ("rsbounds",)


def check_card(
    stated: Mapping[str, Any],
    path: str | os.PathLike[str],
    *,
    beside: str | os.PathLike[str] | None = None,
) -> tuple[Finding, ...]:
    """What a card has otherwise than its result file: all of it is computed again.

    Parameters
    ----------
    stated : mapping
        As :func:`rsbounds.reports.read_card` returns it.
    path : path-like
        The result file.
    beside : path-like, optional
        The card's own file: its text, the ``.md`` beside it, is compared too, if it is
        there.

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
        audit = verify(path).on_card(path)
    radii = [at["radius"] for at in stated["accuracy"]]
    made = card(read(path), radii or None, verified=audit)
    findings = [*_otherwise(stated, made)]
    if beside is not None:
        findings += _text_otherwise(stated, Path(beside).with_suffix(".md"))
    return tuple(findings)


def _text_otherwise(entries: Mapping[str, Any], place: Path) -> Iterator[Finding]:
    """A card's Markdown that says something else than the card."""
    if not place.is_file():
        return
    expected = as_markdown(entries).splitlines()
    lines = content_of(place).decode("utf-8", "backslashreplace").splitlines()
    for number, (written, line) in enumerate(zip_longest(lines, expected), start=1):
        if written != line:
            text = f"{place.name}:{number} is {written!r:.80}, {line!r:.80} by the card"
            yield Finding(Kind.CARD, None, text)
            return


def _otherwise(
    entries: Mapping[str, Any], made: Mapping[str, Any]
) -> Iterator[Finding]:
    """Entries of a card that are others when they are computed again."""
    computed = json.loads(json.dumps(made))
    for name in sorted((entries.keys() | computed.keys()) - set(_OF_ITSELF)):
        had, has = entries.get(name), computed.get(name)
        if had != has:
            text = f"the card's {name} is {had!r:.80}, {has!r:.80} by the file"
            yield Finding(Kind.CARD, None, text)
