"""Several cards side by side: a table, or a page that sorts and needs no network."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import rsbounds
from rsbounds._numerics import checks
from rsbounds._numerics.text import shown
from rsbounds.results._card import proof
from rsbounds.results._html import _PAGE, _filled, _policy
from rsbounds.results._table import STYLES, _aligned, _markdown, heading
from rsbounds.results._text import as_path, naming

Card = Mapping[str, Any]
_NOTES = (
    "Each card is its writer's word: rsbounds verify shows whether a result file is true, and "
    "its SHA-256 whether it is the card's. The intervals (95 %, Clopper-Pearson) are for inputs "
    "drawn at random from many.",
    "The best of several cards was chosen after looking: its accuracy is not that of one run.",
)


def board(cards: Sequence[Card], style: str = "text") -> str:
    """Cards side by side as a table, with notes below.

    Parameters
    ----------
    cards : sequence of mapping
        As :func:`card` and :func:`read_card` return them.
    style : {"text", "markdown", "csv"}
        ``csv`` has no notes.

    Raises
    ------
    ValueError
        For another style.

    Examples
    --------
    >>> print(board([read_card("a.json"), read_card("b.json")]))  # doctest: +SKIP
    """
    style = checks.choice("style", style, STYLES)
    head, lines = _head(cards), [_line(own, cards) for own in cards]
    if style == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([head, *lines])
        return out.getvalue().rstrip("\n")
    table = _markdown([head, *lines]) if style == "markdown" else _aligned([head, *lines])
    return "\n\n".join([table, *_notes(cards)])


def board_html(cards: Sequence[Card], path: str | os.PathLike[str]) -> None:
    """Cards as one self-contained page, whose columns sort.

    Parameters
    ----------
    cards
        As in `board`.
    path : path-like
        The page.

    Raises
    ------
    ValueError
        For a path that is none.
    OSError
        If the page can't be written.

    Examples
    --------
    >>> board_html([read_card("a.json")], "cards.html")  # doctest: +SKIP
    """
    place, script = as_path("path", path), (_PAGE / "board.js").read_text(encoding="utf-8")
    body = []
    for own in cards:
        name, run, *cells = _line(own, cards)
        ends = {r["radius"]: f"{r['low']:.3f} to {r['high']:.3f}" for r in own["accuracy"]}
        small = ["" for _ in cells]
        small[: len(_radii(cards))] = [ends.get(radius, "") for radius in _radii(cards)]
        first = f"<td>{escape(name)}<br><small>{escape(run)}</small></td>"
        body.append(f"<tr>{first}" + "".join(map(_cell, cells, small)) + "</tr>")
    name, _, *head = _head(cards)
    parts = {
        "policy": _policy(script),
        "style": (_PAGE / "page.css").read_text(encoding="utf-8"),
        "version": escape(rsbounds.__version__),
        "head": "".join(f"<th tabindex=0>{escape(text)}</th>" for text in (name, *head)),
        "body": "\n".join(body),
        "notes": "\n".join(f"<p class='note'>{escape(note)}</p>" for note in _notes(cards)),
        "script": script,
    }
    with naming(place):
        place.write_text(_filled("board.html", parts), encoding="utf-8", newline="\n")


def _cell(text: str, small: str) -> str:
    return f"<td>{escape(text)}" + (f"<br><small>{small}</small>" if small else "") + "</td>"


def _radii(cards: Sequence[Card]) -> list[float]:
    return sorted({own["radius"] for card in cards for own in card["accuracy"]})


def _head(cards: Sequence[Card]) -> list[str]:
    radii = map(heading, _radii(cards))
    return ["card", "run", *radii, "ACR", "p_A 50 %", "abstain", "inputs", "verified"]


def _line(own: Card, cards: Sequence[Card]) -> list[str]:
    at = {r["radius"]: f"{r['accuracy']:.3f}" for r in own["accuracy"]}
    about = {"method": own["noise"]["method"], **own["about"]}
    marks = [i for i, note in enumerate(_footnotes(cards), 1) if note in _own(own)]
    return [
        " ".join([shown(own["name"]), *(f"[{i}]" for i in marks)]),
        shown(", ".join(f"{name} {text}" for name, text in about.items())),
        *(at.get(radius, "-") for radius in _radii(cards)),
        *(str(shown(x)) for x in (own["acr"], own["p_a"].get("0.5", "-"))),
        f"{own['abstain']:.3f}",
        str(own["inputs"]),
        proof(own["verified"]).partition(";")[0],
    ]


def _own(card: Card) -> list[str]:
    """What must be said of one card."""
    notes = [card["scope"]["footnote"], *card["notes"]]
    notes += (
        ["states a commitment: when that was published shows when it was made"]
        if card["hashes"].get("commitment")
        else []
    )
    return [shown(note) for note in notes if note]


def _footnotes(cards: Sequence[Card]) -> list[str]:
    return list(dict.fromkeys(note for card in cards for note in _own(card)))


def _notes(cards: Sequence[Card]) -> list[str]:
    """Footnotes, and in which terms the cards differ."""
    notes = [f"[{i}] {note}" for i, note in enumerate(_footnotes(cards), 1)]
    each = [{"bound": card["procedure"].get("bound"), **card["about"]} for card in cards]
    terms = ("norm", "alpha", "n", "bound", "data")
    if apart := [name for name in terms if len({own.get(name) for own in each}) > 1]:
        notes.append(f"The cards differ in {', '.join(apart)}: their numbers are not of one kind.")
    return [*notes, *_NOTES]
