"""Independent noises on groups of coordinates: all their changes together."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from rsbounds._numerics.errors import ArgumentError
from rsbounds.discrete._cells import Cells, worst
from rsbounds.discrete._curve import Curve
from rsbounds.discrete._laws import UNCHANGED, PairedLaw
from rsbounds.discrete._ways import Counts, Ways

#: The largest number of changes that a search looks at, by the kinds it is split over.
_FAR = {1: 512, 2: 256, 3: 128, 4: 48}


class BlocksCurve(Curve):
    """Several noises on groups of coordinates of their own.

    r has one entry for each block, each as that block's curve takes it; a number is
    that many changes, in whichever blocks.
    """

    def __init__(self, *curves: Curve) -> None:
        super().__init__()
        for curve in curves:
            if not isinstance(curve, Curve):
                raise ArgumentError("curves", f"must be curves; got {curve!r}")
        if not curves:
            raise ArgumentError("curves", "must be one curve at least; got none")
        self.curves = curves
        limits = [curve.limit for curve in curves]
        if None not in limits:
            self.limit = sum(limit or 0 for limit in limits)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"curves": self.curves}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.curves))})"

    @cached_property
    def _starts(self) -> list[int]:
        """Where the numbers of each block begin among those of all kinds, and end."""
        return list(accumulate((curve.kinds for curve in self.curves), initial=0))

    @property
    def kinds(self) -> int:  # type: ignore[override]
        return self._starts[-1]

    @property
    def alike(self) -> bool:  # type: ignore[override]
        return all(curve.alike for curve in self.curves)

    @property
    def far(self) -> int:  # type: ignore[override]
        return _FAR.get(len(self.worst), 24)

    @property
    def in_pairs(self) -> bool:  # type: ignore[override]
        return len(self.curves) == 2

    @cached_property
    def worst(self) -> Counts:
        kinds = [
            start + kind
            for start, curve in zip(self._starts[:-1], self.curves, strict=True)
            for kind in curve.worst
        ]
        if not self.alike:
            return tuple(kinds)
        return tuple(kinds[place] for place in worst(list(map(self.cells, kinds))))

    def cells(self, kind: int) -> Cells:
        place = bisect_right(self._starts, kind) - 1
        return self.curves[place].cells(kind - self._starts[place])

    def _ways_of_kinds(self, name: str, r: Any) -> Ways:
        if not isinstance(r, Sequence | np.ndarray) or len(r) != len(self.curves):
            raise ArgumentError(
                name,
                f"must have one entry for each of {len(self.curves)} blocks; got {r!r}",
            )
        fixed: Counts = ()
        groups: list[tuple[int, Counts]] = []
        for start, curve, changes in zip(
            self._starts[:-1], self.curves, r, strict=True
        ):
            # a number for a block stands for all ways to split it
            ways = curve.ways(name, changes)
            fixed += ways.fixed
            groups += [
                (total, tuple(start + kind for kind in kinds))
                for total, kinds in ways.groups
            ]
        return Ways(fixed, tuple(groups))

    def _by_block(self, counts: Counts) -> Iterator[tuple[Curve, Counts]]:
        """Each block's curve, with its own numbers."""
        for curve, (start, end) in zip(
            self.curves, pairwise(self._starts), strict=True
        ):
            yield curve, counts[start:end]

    @cached_property
    def _first_alike(self) -> list[int]:
        """The number of the first block of the same noise, for each block."""
        curves = self.curves
        return [
            curves.index(curve) if curve.alike else place
            for place, curve in enumerate(curves)
        ]

    def _changed(self, counts: Counts) -> list[tuple[Curve, Counts]]:
        """Each different noise with changes, with those of all its blocks together.

        Coordinates of one noise may be in one group as well as in two.
        """
        changed: dict[int, Counts] = {}
        for first, (_, in_block) in zip(
            self._first_alike, self._by_block(counts), strict=True
        ):
            if any(in_block):
                before = changed.get(first, (0,) * len(in_block))
                changed[first] = tuple(
                    a + b for a, b in zip(before, in_block, strict=True)
                )
        return [(self.curves[place], in_block) for place, in_block in changed.items()]

    def law(self, counts: Counts) -> PairedLaw:
        laws = [curve.law(in_block) for curve, in_block in self._changed(counts)]
        return reduce(PairedLaw.beside, laws) if laws else UNCHANGED

    def size(self, counts: Counts) -> int:
        return math.prod(
            curve.size(in_block) for curve, in_block in self._changed(counts)
        )
