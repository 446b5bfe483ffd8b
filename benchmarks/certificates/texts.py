"""What a writer of a card may say of it: one line of plain text, and plain links."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from entries import ROOT

#: The longest of what a writer says; a table has no room for more.
LONGEST = 200
#: Notes that a writer may add.
NOTES = 3
_NEEDED = ("title", "code", "chosen")
_HOST = r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}"
#: No user information, no port, no escapes of other alphabets.
_LINK = re.compile(rf"https://{_HOST}(?:/[\w./~%?=&#+-]*)?", re.ASCII)
_FILE = re.compile(r"[\w.+=-]+(?:/[\w.+=-]+)*", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,80}")
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_LEVELS = re.compile(rf"{_NUMBER}(?: to {_NUMBER})?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
#: Marks that are drawn over the letters, or the lines, beside them.
_DRAWN_OVER = {"Mn", "Me"}
#: Letters and symbols that are drawn as nothing: fillers of Hangul, blank Braille.
_BLANK = set("\u115f\u1160\u3164\uffa0\u2800")


def problems(about: Mapping[str, Any]) -> Iterator[str]:
    """What a card's part "about" says otherwise than an entry may."""
    for name in _NEEDED:
        if not about.get(name):
            yield f"the card's about.{name} is missing: make it with enter.py"
    for name, text in about.items():
        yield from _of_line(f"about.{name}", text)
    if not _LEVELS.fullmatch(about.get("sigma", "0")):
        yield f"the card's about.sigma is no noise level: {about['sigma']!r:.80}"
    code = about.get("code", "")
    if code and not is_place(code):
        link = "must be a plain link (https://host/path) or a file of the repository"
        yield f"the card's about.code {link}; got {code!r:.80}"
    for name, form in (("file", _FILE), ("commit", _COMMIT)):
        text = about.get(name, "")
        if text and (not form.fullmatch(text) or ".." in text):
            yield f"the card's about.{name} is no {name}: {text!r:.80}"


def of_notes(notes: list[str]) -> Iterator[str]:
    """What is wrong with the notes that a writer adds."""
    if len(notes) > NOTES:
        yield f"the card has {len(notes)} notes of its writer's, of at most {NOTES}"
    for note in notes:
        yield from _of_line("notes", note)


def _of_line(name: str, text: str) -> Iterator[str]:
    if len(text) > LONGEST:
        yield f"the card's {name} is longer than {LONGEST} characters"
    odd = [c for c in unicodedata.normalize("NFC", text) if _is_odd(c)]
    if odd:
        yield f"the card's {name} must be one line of text; it has {odd[0]!a}"
    if text != " ".join(text.split()):
        yield f"the card's {name} must be one line, with single spaces"


def _is_odd(character: str) -> bool:
    """Whether a character is drawn as nothing, turns the line, or covers others."""
    if character in _BLANK or not character.isprintable():
        return True
    return unicodedata.category(character) in _DRAWN_OVER


def is_link(code: str) -> bool:
    """Whether it is a plain link."""
    return bool(_LINK.fullmatch(code))


def is_place(code: str) -> bool:
    """Whether it is a plain link, or a file of this repository."""
    if is_link(code):
        return True
    place = ROOT / code
    is_file = bool(_FILE.fullmatch(code)) and place.is_file()
    return is_file and place.resolve().is_relative_to(ROOT)


def is_name(stem: str) -> bool:
    """Whether a card may be called so."""
    return bool(_NAME.fullmatch(stem))
