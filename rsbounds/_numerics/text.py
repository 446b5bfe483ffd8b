"""Text of strangers, such as names in their files."""


def shown(text: object) -> str:
    """The text with its control characters escaped: it may reach a terminal."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text)
    )
