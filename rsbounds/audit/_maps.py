"""Rows of maps: Holm's rejections and the radius of their threshold proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rsbounds._numerics.decimals import whole_number
from rsbounds._numerics.rounding import round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.answers._map_labels import holm
from rsbounds.answers._map_rows import from_runs
from rsbounds.audit import _bounds
from rsbounds.audit._balls import arb, ctx, event
from rsbounds.audit._finding import Finding, Kind, Remark
from rsbounds.audit._proof import Claim, Proof, answer_of
from rsbounds.audit.schemes import RADII, TRANSPORTED
from rsbounds.results import Manifest, Row

#: What refers to true maps, which a file doesn't hold.
_OF_TRUTH = ("right", "overlap", "union")


class MapsProof(Proof):
    """The proof of the classes of many positions."""

    answer = "maps"
    methods = TRANSPORTED
    proves = _OF_TRUTH

    def compared(self, claim: Claim) -> Iterator[Remark]:
        yield from super().compared(claim)
        row, expected = claim.row, claim.expected
        if row.radius:
            yield Kind.CONTRADICTION, f"radius is {row.radius}; its rows have none"
        positions = from_runs(row.extra["hits"]).size
        drawn = (claim.manifest.procedure.n0 + row.n) * positions
        if not 0 <= row.void <= drawn:
            yield Kind.CONTRADICTION, f"void is {row.void} of {drawn} samples"
        certified = int(expected.extra["certified"])
        compared = [bool(row.extra[name]) for name in _OF_TRUTH]
        if compared != ["truth" in claim.manifest.answer] * len(_OF_TRUTH):
            yield (
                Kind.CONTRADICTION,
                "right, overlap and union must stand where true maps are stated, and "
                "nowhere else",
            )
        elif all(compared) and not _agrees(row, certified):
            yield (
                Kind.CONTRADICTION,
                f"right, overlap and union are no numbers of {certified} certified "
                "positions",
            )

    def against(
        self, rows: Sequence[tuple[int, Row]], manifest: Manifest, truth: Any
    ) -> Iterator[Finding]:
        answer: Any = answer_of(manifest)
        answer.truth = truth
        digest = answer.describe()["truth"]
        if manifest.answer.get("truth") != digest:
            text = f"the true maps are {digest}, another hash than the manifest's"
            yield Finding(Kind.DATA, None, text)
            return
        for line, row in rows:
            if not 0 <= row.idx < len(truth):
                continue  # the data say which inputs there are
            try:
                expected = self.computed(row, answer, manifest).extra
            except (ValueError, TypeError, LookupError):
                continue  # which is a finding of its own
            for name in _OF_TRUTH:
                if row.extra.get(name) != expected[name]:
                    text = f"{name} is {row.extra.get(name)!r:.60}, "
                    text += f"{expected[name]!r:.60} by the true map"
                    yield Finding(Kind.DATA, row.idx, text, line)

    def proved(self, claim: Claim) -> Iterator[Remark]:
        row, manifest, answer, _ = claim
        procedure = manifest.procedure
        hits = from_runs(row.extra["hits"])
        certified = holm(hits, procedure.n, answer.tau, procedure.alpha)
        if certified.any() and not _rejected(
            hits, certified, procedure.n, answer.tau, procedure.alpha
        ):
            yield Kind.BOUND, "positions are certified that their counts don't prove"
        radius = float(manifest.answer["radius"])
        if radius and not _earned(manifest, row.sigma, radius, answer.tau):
            yield (
                Kind.RADIUS,
                f"the radius of the maps is {radius}, more than tau = {answer.tau} "
                "earns",
            )


def _agrees(row: Row, certified: int) -> bool:
    """Whether some true map agrees with the row's in so many positions."""
    right = whole_number(row.extra["right"])
    overlap, union = (
        [whole_number(number) for number in row.extra[name].split(",")]
        for name in ("overlap", "union")
    )
    chosen = from_runs(row.extra["chosen"])
    # a true map has a position of its own in a union, or one that overlaps
    room = certified + len(chosen) - sum(overlap)
    return (
        0 <= right <= len(chosen)
        and len(overlap) == len(union) > chosen.max()
        and all(0 <= o <= u for o, u in zip(overlap, union, strict=True))
        and sum(overlap) <= min(right, certified)
        and certified <= sum(union) <= room
    )


def _rejected(hits: Any, certified: Any, n: int, tau: float, alpha: float) -> bool:
    """Whether Holm's procedure rejects all certified positions, in ball arithmetic."""
    with ctx.workprec(_bounds.PRECISION):
        p, left = arb(tau), len(hits)
        for count in np.unique(hits[certified])[::-1]:
            if not left * _bounds.tail(int(count), n, p, 1 - p) <= arb(alpha):
                return False
            left -= int((hits == count).sum())
    return True


def _earned(manifest: Manifest, sigma: float, radius: float, tau: float) -> bool:
    """Whether a probability above tau earns the radius."""
    z = float(round_down(ndtri(np.asarray(tau)), NDTRI_ERROR))
    with ctx.workprec(_bounds.PRECISION):
        if not event(arb(z)).p <= arb(tau):
            return False
    return RADII[manifest.method].proved(manifest.parameters, sigma, radius, z)
