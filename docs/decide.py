"""Draws the picture that chooses: from a threat to a noise to an answer.

    python docs/decide.py

writes docs/howto/decide.svg, a column of 390 points that a telephone shows as it is.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).parent / "howto" / "decide.svg"
WIDTH = 390
LEFT, RIGHT, MIDDLE = 8, 382, 214
LINE, PAD, GAP = 17, 8, 8
BLUE, ORANGE, GREY, INK = "#dbe9f6", "#fdebd9", "#f2f2f2", "#222222"
CODE = {"font_family": "monospace", "font_size": "13"}


class Choice(NamedTuple):
    """What an attack may do, and the method whose noise certifies against it."""

    threat: tuple[str, ...]
    method: tuple[str, ...]


THREATS = [
    Choice(("move all numbers", "a little (l2)"), ("gaussian",)),
    Choice(("move each number", "by at most r (linf)"), ("two-queries",)),
    Choice(("change a few numbers", "a lot (l1)"), ("laplace, uniform,", "splitting")),
    Choice(("replace pixels, words,", "categories"), ("categorical,", "mask")),
    Choice(("insert, delete, replace", "parts of a sequence"), ("deletion",)),
    Choice(("add and remove edges", "or binary features"), ("flips",)),
    Choice(("a table: numbers", "and categories"), ("blocks",)),
    Choice(
        ("brightness, contrast,", "blur, rotation"), ("gaussian", "--transform NAME")
    ),
    Choice(("cover a patch",), ("double-masking",)),
    Choice(("cover a patch, poison", "training data"), ("votes, no noise",)),
]
ANSWERS = [
    Choice(("which class?",), ("class",)),
    Choice(("is it among the best k?",), ("top-k",)),
    Choice(("what number or box?",), ("values",)),
    Choice(("which class at", "each pixel?"), ("maps",)),
    Choice(("is it an alarm?",), ("flag",)),
]


def text(x: float, y: float, words: str, **options: str) -> str:
    """A line of text whose base is at y."""
    given = "".join(f' {name.replace("_", "-")}="{v}"' for name, v in options.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(words)}</text>'


def box(
    left: float,
    right: float,
    top: float,
    lines: tuple[str, ...],
    rows: int,
    fill: str,
    **options: str,
) -> list[str]:
    """A box as high as so many rows, with its lines in the middle."""
    height = rows * LINE + PAD
    first = top + PAD / 2 + 13 + (rows - len(lines)) * LINE / 2
    frame = f'<rect x="{left}" y="{top}" width="{right - left}" height="{height}"'
    return [
        f'{frame} rx="5" fill="{fill}"/>',
        *(
            text(left + 8, first + i * LINE, line, **options)
            for i, line in enumerate(lines)
        ),
    ]


def section(
    title: str, choices: list[Choice], top: float, option: str, fill: str
) -> tuple[list[str], float]:
    """A heading and a row for each choice; and where the next section begins."""
    drawn = [
        text(LEFT, top + 15, title, font_weight="bold"),
        text(MIDDLE, top + 15, option, **CODE),
    ]
    top += 24
    for choice in choices:
        rows = max(map(len, choice))
        drawn += box(LEFT, MIDDLE - 24, top, choice.threat, rows, fill)
        middle = top + (rows * LINE + PAD) / 2
        drawn.append(
            f'<path d="M{MIDDLE - 22} {middle}h14m-5 -4l5 4l-5 4" fill="none" '
            f'stroke="{INK}"/>'
        )
        drawn += box(MIDDLE, RIGHT, top, choice.method, rows, GREY, **CODE)
        top += rows * LINE + PAD + GAP
    return drawn, top + 8


def drawing() -> str:
    """The picture as SVG."""
    threats, top = section("1. An attack may ...", THREATS, 6, "--method", BLUE)
    answers, end = section("2. You ask ...", ANSWERS, top, "--answer", ORANGE)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{end:g}" viewBox="0 0 {WIDTH} {end:g}" role="img" '
            f'font-family="sans-serif" font-size="14" fill="{INK}">',
            "<title>From what an attack may do to a method, and from a question to an "
            "answer</title>",
            f'<rect width="{WIDTH}" height="{end:g}" fill="white"/>',
            *threats,
            *answers,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(drawing())
