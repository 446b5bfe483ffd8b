"""The picture of a group: at most eight labelled curves, the others on demand.

A noise level has one colour. What a curve is called stands in a list beside it, under
the number that stands at the curve.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from groups import Group
from judge import Judged

from rsbounds._numerics.text import shown
from rsbounds.reports._curves import COLOURS

#: Curves that are labelled, at most.
LABELLED = 8
#: Dashes of the curves of one noise level, one after the other.
DASHES = ("", "7 3", "2 3", "9 3 2 3")
WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 42, 14, 12, 46
_LABEL = 9  # the radius of a number's circle
_PLACES = 40  # where on its curve a number may stand


class Entry(NamedTuple):
    """A card, and how its curve is drawn.

    ``curve`` is the name of its path, ``number`` its label; 0: drawn on demand.
    """

    judged: Judged
    card: Mapping[str, Any]
    curve: str
    colour: str
    dash: str
    number: int

    @property
    def title(self) -> str:
        return shown(self.card["about"].get("title", self.card["name"]))

    @property
    def level(self) -> str:
        return f"sigma {shown(self.card['about'].get('sigma', '-'))}"

    @property
    def is_word(self) -> bool:
        verdict = self.judged.verdict
        return verdict is None or verdict.kind == "word"


def entries_of(group: Group, each: Sequence[Judged]) -> list[Entry]:
    """The cards of a group, the best at its second radius first, words last."""
    cards = [(one, one.card) for one in each if one.card is not None]
    cards.sort(key=lambda pair: _rank(group, *pair))
    levels = sorted({level_of(card) for _, card in cards})
    colours = dict(zip(levels, _colours(len(levels)), strict=True))
    best = _best(group, cards)
    entries = []
    dashes = dict.fromkeys(levels, 0)
    for one, card in cards:
        level = level_of(card)
        number = best.index(one.name) + 1 if one.name in best else 0
        entries.append(
            Entry(
                judged=one,
                card=card,
                curve=f"{group.data}-{group.threat}-{one.path.stem}",
                colour=colours[level],
                dash=DASHES[dashes[level] % len(DASHES)],
                number=number,
            )
        )
        dashes[level] += bool(number)
    return entries


def _rank(group: Group, one: Judged, card: Mapping[str, Any]) -> tuple[bool, float]:
    is_word = one.verdict is None or one.verdict.kind == "word"
    return is_word, -accuracy_at(card, group.radii[1])


def _best(group: Group, cards: Sequence[tuple[Judged, Mapping[str, Any]]]) -> list[str]:
    """Names of the cards whose curves are labelled: the best at a radius, in turn.

    Words, and what fails, are drawn on demand alone.
    """
    left = [
        (one.name, card)
        for one, card in cards
        if one.verdict is not None and one.verdict.kind not in ("word", "fails")
    ]
    chosen: list[str] = []
    turn = 0
    while left and len(chosen) < LABELLED:
        radius = group.radii[turn % len(group.radii)]
        name, card = max(left, key=lambda pair: accuracy_at(pair[1], radius))
        left.remove((name, card))
        chosen.append(name)
        turn += 1
    order = [one.name for one, _ in cards]
    return sorted(chosen, key=order.index)


def _colours(many: int) -> Sequence[str]:
    """A colour for each noise level, in their order."""
    if many <= len(COLOURS):
        return COLOURS[:many]
    shades = []
    for i in range(many):  # from blue over green to red, none too light
        parts = colorsys.hls_to_rgb(0.65 * (1 - i / (many - 1)), 0.38, 0.85)
        shades.append("#" + "".join(f"{round(255 * part):02x}" for part in parts))
    return shades


def level_of(card: Mapping[str, Any]) -> float:
    """A number for the order of noise levels."""
    levels = card["noise"]["sigma"]
    return float(levels[-1]) if levels else 0.0


def accuracy_at(card: Mapping[str, Any], radius: float) -> float:
    """The certified accuracy that a card has at a radius; 0 where it has none."""
    found = [at["accuracy"] for at in card["accuracy"] if at["radius"] == radius]
    return float(found[0]) if found else 0.0


def points_of(card: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Radii and accuracies of a card, in order."""
    return [(at["radius"], at["accuracy"]) for at in card["accuracy"]]


def figure(group: Group, entries: Sequence[Entry]) -> str:
    """The curves of a group, the names of those that are labelled beside them."""
    labelled = [entry for entry in entries if entry.number]
    more = len(entries) - len(labelled)
    name = f"all-{group.data}-{group.threat}"
    box = ""
    if more:
        box = (
            f'<input type="checkbox" class="all" id="{escape(name)}">'
            f'<label class="all" for="{escape(name)}">draw the other {more} too</label>'
        )
    listed = "".join(
        f"<li>{key(entry)} {escape(entry.title)}, {escape(entry.level)}</li>"
        for entry in sorted(labelled, key=lambda entry: entry.number)
    )
    return (
        f"<div>{box}<figure>{picture(group, entries)}\n"
        f'<ol class="legend">{listed}</ol></figure></div>'
    )


def key(entry: Entry) -> str:
    """The line of a curve, as the table and the list show it."""
    dash = f' stroke-dasharray="{entry.dash}"' if entry.dash else ""
    return (
        '<svg class="key" width="26" height="6" aria-hidden="true"><path d="M0 3H26" '
        f'stroke="{entry.colour}" stroke-width="2.5"{dash}/></svg>'
    )


class _Axes(NamedTuple):
    """From radius and accuracy to places in the picture."""

    end: float

    def x(self, radius: float) -> float:
        wide = WIDTH - LEFT - RIGHT
        return LEFT + wide * min(radius, self.end) / self.end

    def y(self, share: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def picture(group: Group, entries: Sequence[Entry]) -> str:
    """The curves: between two radii of a card at its lower accuracy."""
    checked = [entry for entry in entries if not entry.is_word]
    ends = [
        max((radius for radius, share in points_of(entry.card) if share), default=0)
        for entry in checked
    ]
    axes = _Axes(max(*ends, 0.0, group.radii[-1]))
    parts = [*_frame(group, axes)]
    # those that are labelled are drawn last, above the others
    for entry in sorted(entries, key=lambda entry: entry.number):
        parts += _drawn(entry, axes)
    parts += _numbers([entry for entry in entries if entry.number], axes)
    label = escape(f"Certified accuracy over the radius, {group.title}")
    body = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{label}">\n{body}\n</svg>'
    )


def _frame(group: Group, axes: _Axes) -> list[str]:
    parts = []
    for tenth in range(0, 11, 2):
        share = tenth / 10
        y = f"{axes.y(share):.1f}"
        parts.append(f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>')
        at = f'x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end"'
        parts.append(f"<text {at}>{share:g}</text>")
    for radius in _ticks(axes.end):
        at = f'x="{axes.x(radius):.1f}" y="{HEIGHT - BOTTOM + 18}"'
        parts.append(f'<text {at} text-anchor="middle">{radius:g}</text>')
    corner = f"M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"
    parts.append(f'<path class="axis" fill="none" d="{corner}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    at = f'x="{middle}" y="{HEIGHT - 5}" text-anchor="middle"'
    parts.append(f"<text {at}>radius ({escape(group.threat_title)})</text>")
    return parts


def _drawn(entry: Entry, axes: _Axes) -> list[str]:
    points = points_of(entry.card)
    if not points:
        return []
    (radius, share), *rest = points
    drawn = [f"M{axes.x(radius):.1f} {axes.y(share):.1f}"]
    for radius, share in rest:
        drawn.append(f"V{axes.y(share):.1f}H{axes.x(radius):.1f}")
    kinds = ["curve"] + ["more"] * (not entry.number) + ["by-word"] * entry.is_word
    dash = f' stroke-dasharray="{entry.dash}"' if entry.dash else ""
    name = escape(f"{entry.title}, {entry.level}")
    return [
        f'<path class="{" ".join(kinds)}" id="{escape(entry.curve)}" '
        f'stroke="{entry.colour}"{dash} d="{"".join(drawn)}"><title>{name}</title>'
        "</path>"
    ]


def _numbers(entries: Sequence[Entry], axes: _Axes) -> list[str]:
    """The number of each curve, where it is far from the other curves and numbers."""
    taken: list[tuple[float, float]] = []
    parts = []
    for entry in entries:
        others = [other for other in entries if other is not entry]
        places = [
            (axes.x(radius), axes.y(_height(entry.card, radius)))
            for radius in (axes.end * (i + 0.5) / _PLACES for i in range(_PLACES))
            if _height(entry.card, radius) > 0
        ]
        if not places:
            continue
        x, y = max(places, key=lambda at: _room(at, others, taken, axes))
        taken.append((x, y))
        parts.append(
            f'<g class="number"><circle cx="{x:.1f}" cy="{y:.1f}" r="{_LABEL}" '
            f'stroke="{entry.colour}"/><text x="{x:.1f}" y="{y:.1f}" dy="4" '
            f'text-anchor="middle">{entry.number}</text></g>'
        )
    return parts


def _height(card: Mapping[str, Any], radius: float) -> float:
    """How high the curve of a card is drawn at a radius: as at the next one it has."""
    return next((share for at, share in points_of(card) if at >= radius), 0.0)


def _room(
    place: tuple[float, float],
    others: Sequence[Entry],
    taken: Sequence[tuple[float, float]],
    axes: _Axes,
) -> float:
    """How far a place is from other curves and numbers: overlapping numbers last."""
    x, y = place
    radius = axes.end * (x - LEFT) / (WIDTH - LEFT - RIGHT)
    curves = [abs(y - axes.y(_height(other.card, radius))) for other in others]
    numbers = [((x - a) ** 2 + (y - b) ** 2) ** 0.5 for a, b in taken]
    nearest = min(numbers, default=1e3)
    if nearest < 2 * _LABEL + 2:
        return nearest - 1e3
    return min(*curves, 2 * _LABEL, nearest) if curves else nearest


def _ticks(end: float) -> list[float]:
    """Some six round radii."""
    steps = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 1e3)
    step = next((step for step in steps if end / step <= 9), end)
    return [step * i for i in range(int(end / step) + 1)]
