"""Texts of strangers in Markdown."""

import re
from html import escape

from rsbounds._numerics.text import shown


def literal(text: object) -> str:
    """A stranger's text with nothing in it that Markdown or HTML takes for its own."""
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", escape(shown(text), quote=False))
