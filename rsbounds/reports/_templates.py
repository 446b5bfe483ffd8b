"""The templates of pages and cards: strangers' text in them is escaped by default."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from rsbounds._numerics.extras import need
from rsbounds._numerics.text import shown
from rsbounds.reports._text import literal

FOLDER = Path(__file__).parent / "_pages"


class Markup(str):
    """HTML or Markdown of our own, which a template takes as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@cache
def html_templates(*folders: Path) -> Any:
    """Templates of HTML in these folders, and in the package's after them.

    What they print is escaped, its control characters too. The filter ``laid_out``
    keeps the line breaks and tabs of a text.
    """
    jinja2 = need("jinja2", "a page")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, FOLDER]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if hasattr(value, "__html__") else shown(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["laid_out"] = lambda text: need("markupsafe", "a page").escape(
        "\n".join("\t".join(map(shown, line.split("\t"))) for line in text.split("\n"))
    )
    return environment


@cache
def card_template() -> Any:
    """The template of a card in Markdown: what it prints is text and no markup."""
    jinja2 = need("jinja2", "a card as Markdown")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else literal(value),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("card.md")


def source(*places: Path) -> Markup:
    """The text of styles or scripts, for a page to hold."""
    return Markup("".join(place.read_text(encoding="utf-8") for place in places))


def policy(scripts: Iterable[str]) -> str:
    """What lets a browser run these scripts, and no other, and load nothing."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(
        f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests
    )
    nothing = "default-src 'none'; form-action 'none'; base-uri 'none'"
    return f"{nothing}; style-src 'unsafe-inline'; script-src {allowed}"
