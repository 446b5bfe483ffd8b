"""Draws docs/architecture.svg from the table of docs/architecture.md.

    python docs/architecture.py

A room's layer is one above the highest of the rooms that it may import.
"""

import re
from html import escape
from pathlib import Path

PAGE = Path(__file__).with_suffix(".md")
ROW = re.compile(r"^\| `(\w+)` \| (.*) \| ?(.*?) ?\|$", re.M)
UNDRAWN = {"__init__", "__main__"}
#: What the theories share.
SHARED = {"_numerics", "special", "confidence", "_neighbours"}
KINDS = {  # rooms of one colour; the rest is the last
    "#dbe9f6": "rsbounds_ext _numerics special stats oracle",
    "#e3f1e0": "THEORIES",
    "#fdeecb": "certificate procedure frameworks sampling composite schemes answers "
    "certify torch art sklearn",
    "#efe6f3": "",
}
LEGEND = ("numbers", "theories", "certification", "files, data, users")
WIDTH, BOX, GAP, HEIGHT, ACROSS = 780, 116, 10, 30, 6


def rooms(text: str) -> dict[str, tuple[str, list[str]]]:
    """Room -> what it holds, and the rooms it may import, "theories" as they stand."""
    return {
        name: (holds, may.replace("`", "").split())
        for name, holds, may in ROW.findall(text)
    }


def theories(text: str) -> list[str]:
    """What "theories" stands for."""
    (words,) = re.findall(r'^"theories" stands for ((?:`\w+`\s?)+)\.', text, re.M)
    return re.findall(r"\w+", words)


def allowed(text: str) -> dict[str, list[str]]:
    """Room -> the rooms it may import, spelled out."""
    short = {"theories": theories(text)}
    return {
        name: [room for word in may for room in short.get(word, [word])]
        for name, (_, may) in rooms(text).items()
    }


def layers(text: str) -> list[list[str]]:
    """The rooms from the lowest layer up, in the table's order."""
    below = {
        name: set(may) for name, may in allowed(text).items() if name not in UNDRAWN
    }
    below["_numerics"] = {"rsbounds_ext"}
    level = {"rsbounds_ext": 0, "oracle": 0}

    def height(name: str) -> int:
        if name not in level:
            level[name] = 1 + max(map(height, below[name]), default=0)
        return level[name]

    found: list[list[str]] = [[] for _ in range(1 + max(map(height, below)))]
    for name in below:
        found[level[name]].append(name)
    return found


def colour(name: str, theories: list[str]) -> str:
    for fill, names in KINDS.items():
        if name in names.split() or (
            names == "THEORIES" and name in (*theories, "theories")
        ):
            return fill
    return fill


def box(x: float, y: float, fill: str, name: str) -> list[str]:
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{BOX}" height="{HEIGHT}" rx="4" '
        f'fill="{fill}" '
        'stroke="#666"/>',
        f'<text x="{x + BOX / 2:g}" y="{y + 20:g}">{escape(name)}</text>',
    ]


def grouped(found: list[list[str]], single: set[str]) -> list[list[str]]:
    """The layers with one box for all theories, in the highest layer that has one."""
    top = max(i for i, layer in enumerate(found) if single & set(layer))
    drawn = [[name for name in layer if name not in single] for layer in found]
    drawn[top].append("theories")
    return [layer for layer in drawn if layer]


def drawing(text: str) -> str:
    """The picture as SVG: a band of boxes for each layer, the highest on top."""
    own = theories(text)
    parts: list[str] = []
    y = GAP
    single = {name for name in own if name not in SHARED}
    for layer in grouped(layers(text), single)[::-1]:
        lines = -(-len(layer) // ACROSS)
        each = -(-len(layer) // lines)
        tall = lines * (HEIGHT + GAP) + GAP
        parts.append(f'<rect y="{y}" width="{WIDTH}" height="{tall}" fill="#f4f4f4"/>')
        for first in range(0, len(layer), each):
            line = layer[first : first + each]
            x = (WIDTH - len(line) * (BOX + GAP) + GAP) / 2
            y += GAP
            for name in line:
                parts += box(x, y, colour(name, own), name)
                x += BOX + GAP
            y += HEIGHT
        y += GAP + 6
    x = (WIDTH - len(KINDS) * (BOX + GAP) + GAP) / 2
    for fill, name in zip(KINDS, LEGEND, strict=True):
        parts += box(x, y + GAP, fill, name)
        x += BOX + GAP
    size = f'width="{WIDTH}" height="{y + HEIGHT + 2 * GAP}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif"'
    head += ' font-size="13" text-anchor="middle">'
    return "\n".join([head, f'<rect {size} fill="white"/>', *parts, "</svg>\n"])


if __name__ == "__main__":
    PAGE.with_suffix(".svg").write_text(drawing(PAGE.read_text()))
