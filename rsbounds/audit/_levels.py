"""Noise levels of rows: whether they refute the bound of sigma(x), and what shows them.

Bounds and radii follow from a row's counts and its level, so a file whose levels and radii are
scaled alike is consistent with itself. Two rows refute a bound of sigma(x) whose levels are
further apart than it allows over the distance of their inputs; no number of rows proves it. What
the level depends on (anchors, a function, noise of a shape) the manifest names by its hash, and
whoever audits the file gives it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._neighbours.anchors import Anchors
from rsbounds.audit._finding import Finding, Kind
from rsbounds.certificate import ASSERTED_ENVELOPE, PROVEN
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS, Scheme

_SAME = 1e-6  # relative: what levels computed in float32 may be off by
_WORK, _MOST = 1e10, 4000  # numbers that are multiplied, and rows, at most
_PAIRS = 2**22  # held at a time
_SINGLE = 2.0**-24  # relative error of a number in float32
_CHOSEN = ("sigma", "norm")  # what is certified, where other parameters bound what it rests on

Numbered = tuple[int, Row]  # line


def check_given(given: Scheme, manifest: Manifest, path: Any) -> None:
    """ValueError where the radii of the file rest on another noise than this scheme's."""
    if given.name != manifest.method:
        raise ValueError(f"{path} is of method {manifest.method}, the scheme given of {given.name}")
    if given.scope == ASSERTED_ENVELOPE != manifest.scope:
        raise ValueError(f"scope is {manifest.scope!r} in {path}: the scheme given proves no bounds")
    own = METHODS[manifest.method].domains.keys()
    both = given.parameters.keys() & manifest.parameters.keys()
    for name in sorted((both | own) - {"dim"}):
        had, has = manifest.parameters.get(name), given.parameters.get(name)
        numbers = isinstance(had, int | float) and isinstance(has, int | float)
        same = abs(had - has) <= _SAME * abs(has) if numbers and name in own else had == has
        if not same:
            raise ValueError(
                f"the noise given is not what {path} was made with: {name} was {had} and is {has}"
            )


def stated(manifest: Manifest, given: Scheme | None, *, as_seen: bool) -> tuple[str, ...]:
    """What the radii rest on and nothing shows: parameters, and "sigma" for the rows' levels.

    ``as_seen``: the data were compared, as the model sees them.
    """
    own = METHODS[manifest.method].domains
    rests_on = [name for name in own if name in manifest.parameters and name not in _CHOSEN]
    if manifest.method not in ("gaussian", "composite"):
        rests_on.append("sigma")
    shown = {"dim"} if as_seen else set()
    if given is not None:
        shown |= {"sigma"} if given.scope == ASSERTED_ENVELOPE else {"sigma", *own} - {"dim"}
    return tuple(name for name in rests_on if name not in shown)


def at_input(given: Scheme, row: Row, x: Any) -> Iterator[tuple[Kind, str]]:
    """A row's level against sigma(x) at its input."""
    level = given.sigma(x)
    if not abs(row.sigma - level) <= _SAME * level:
        yield Kind.LEVEL, f"sigma is {row.sigma}, {level} at this input"


class _Bound(NamedTuple):
    """How far a level may be from another: by a factor exp(rate d), or by lip d."""

    name: str
    constant: float
    slack: float  # what computed levels may differ by besides, in logarithms
    unit: float  # of distances, in that of l2

    def above(self, level: Any, distance: Any) -> Any:
        """The largest level that may lie in this distance of a lower one."""
        step = self.constant * np.asarray(distance)
        with np.errstate(over="ignore"):
            reach = level * np.exp(step) if self.name == "rate" else level + step
            return reach * (math.exp(self.slack) * (1 + _SAME))


def _bound(manifest: Manifest) -> _Bound | None:
    """What the file states of sigma(x) everywhere; None where that is nothing."""
    domains = METHODS[manifest.method].domains
    own = {k: v for k, v in manifest.parameters.items() if k in domains}
    name = "rate" if "rate" in domains else "lip"
    if name not in own or manifest.scope not in (*PROVEN, ASSERTED_ENVELOPE):
        return None
    if own.get("norm", 2.0) != 2:  # of a generator: the shape of its noise is not known
        return None
    # a generator's level is a function of x/shape, and "inner" is the least axis of the shape
    return _Bound(name, own[name], own.get("slack", 0.0), own.get("inner", 1.0))


def without_data(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Unequal levels under a bound that allows none, wherever the inputs are."""
    bound = _bound(manifest)
    positive = [(line, row) for line, row in rows if row.sigma > 0]
    if bound is None or bound.constant or not positive:
        return
    least = min((row for _, row in positive), key=lambda row: row.sigma)
    for line, row in positive:
        if row.sigma > bound.above(least.sigma, 0.0):
            yield _refuted(bound, line, row, least, "")


class Pairs:
    """Compares the levels of rows at their inputs, of some four thousand rows at most.

    Of more, those whose levels are the least, the largest and evenly between in order.
    """

    def __init__(self, rows: Sequence[Numbered], manifest: Manifest) -> None:
        bound = _bound(manifest)
        self._bound = bound if bound is not None and bound.constant else None
        self._levels = sorted((row.sigma, line) for line, row in rows if row.sigma > 0)
        self._chosen: set[int] | None = None
        self._kept: list[tuple[int, Row, NDArray[Any]]] = []

    def add(self, line: int, row: Row, x: Any) -> None:
        """A row's input."""
        if self._bound is None:
            return
        point = np.asarray(x).ravel()
        if self._chosen is None:
            most = min(int(math.sqrt(_WORK / max(point.size, 1))), _MOST)
            places = np.linspace(0, len(self._levels) - 1, min(most, len(self._levels)))
            self._chosen = {self._levels[k][1] for k in places.round().astype(int)}
        alike = not self._kept or point.size == self._kept[0][2].size
        if line in self._chosen and alike and np.isfinite(point).all():
            self._kept.append((line, row, point))

    def findings(self) -> Iterator[Finding]:
        """Each row whose level is too far above another's, and the worst of these."""
        if self._bound is None or len(self._kept) < 2:
            return
        points = np.stack([point for _, _, point in self._kept])
        anchors = Anchors(np.divide(points, self._bound.unit, dtype=np.float64))
        levels = np.array([row.sigma for _, row, _ in self._kept])
        step = max(_PAIRS // len(levels), 1)
        for start in range(0, len(levels), step):
            here = slice(start, start + step)
            apart = _distances(anchors, anchors.points[here])
            share = levels[here, None] / self._bound.above(levels, apart)
            worst = share.argmax(axis=1)
            for i in np.flatnonzero(share[np.arange(len(worst)), worst] > 1):
                line, row, _ = self._kept[start + i]
                other, distance = self._kept[worst[i]][1], apart[i, worst[i]]
                away = f", {distance * self._bound.unit:.6g} away"
                yield _refuted(self._bound, line, row, other, away)


def _distances(anchors: Anchors, rows: NDArray[Any]) -> NDArray[Any]:
    """Distances of the rows to all points at most, where these were rounded to float32."""
    squares = np.einsum("nd,nd->n", rows, rows)[:, None]
    apart = squares + anchors.squares - 2 * (rows @ anchors.points.T)
    exact: NDArray[Any] = np.sqrt(np.maximum(apart, 0.0) + anchors.slacks(rows)[:, None])
    exact += _SINGLE * (np.sqrt(squares) + np.sqrt(anchors.squares))
    return exact


def _refuted(bound: _Bound, line: int, row: Row, other: Row, away: str) -> Finding:
    text = (
        f"sigma is {row.sigma}, and {other.sigma} at input {other.idx}{away}: more than "
        f"{bound.name} = {bound.constant} allows"
    )
    return Finding(Kind.LEVEL, row.idx, text, line)
