"""Rows of maps: Holm's rejections and the radius of their threshold proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rsbounds._numerics.rounding import round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.answers import _maps
from rsbounds.audit import _bounds, _radii
from rsbounds.audit._balls import arb, ctx, event
from rsbounds.audit._finding import Kind, Said
from rsbounds.audit._proof import Claim, Proof
from rsbounds.results import Manifest

#: What refers to true maps, which a file doesn't hold.
_OF_TRUTH = ("right", "overlap", "union")


class MapsProof(Proof):
    """The proof of the classes of many positions."""

    answer = "maps"
    methods = _radii.FIXED
    proves = _OF_TRUTH

    def compared(self, claim: Claim) -> Iterator[Said]:
        yield from super().compared(claim)
        row, expected = claim.row, claim.expected
        if row.radius:
            yield Kind.CONTRADICTION, f"radius is {row.radius}; its rows have none"
        if "truth" not in claim.manifest.answer:
            for name in _OF_TRUTH:
                if row.extra[name]:
                    text = f"{name} is stated, of no true maps in the manifest"
                    yield Kind.CONTRADICTION, text
        certified = int(expected.extra["certified"])
        right = row.extra["right"]
        if right and not 0 <= int(right) <= certified:
            yield Kind.CONTRADICTION, f"right is {right} of {certified} certified"

    def proved(self, claim: Claim) -> Iterator[Said]:
        row, manifest, answer, _ = claim
        procedure = manifest.procedure
        hits = _maps.from_runs(row.extra["hits"])
        held = _maps.holm(hits, procedure.n, answer.tau, procedure.alpha)
        if held.any() and not _rejected(
            hits, held, procedure.n, answer.tau, procedure.alpha
        ):
            yield Kind.BOUND, "positions are certified that their counts don't prove"
        radius = float(manifest.answer["radius"])
        if radius and not _earned(manifest, row.sigma, radius, answer.tau):
            yield (
                Kind.RADIUS,
                f"the radius of the maps is {radius}, more than tau = {answer.tau} "
                "earns",
            )


def _rejected(hits: Any, held: Any, n: int, tau: float, alpha: float) -> bool:
    """Whether Holm's procedure rejects all that are held, in ball arithmetic."""
    with ctx.workprec(_bounds.PRECISION):
        p, left = arb(tau), len(hits)
        for count in np.unique(hits[held])[::-1]:
            if not left * _bounds.tail(int(count), n, p, 1 - p) <= arb(alpha):
                return False
            left -= int((hits == count).sum())
    return True


def _earned(manifest: Manifest, sigma: float, radius: float, tau: float) -> bool:
    """Whether a probability above tau earns the radius."""
    z = float(round_down(ndtri(np.asarray(tau)), NDTRI_ERROR))
    with ctx.workprec(_bounds.PRECISION):
        step = _radii.step(manifest.method, manifest.parameters, sigma, radius)
        return bool(event(arb(z)).p <= arb(tau)) and bool(step <= arb(z))
