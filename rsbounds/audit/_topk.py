"""Rows of the best k classes: sums computed again, bounds and radius proved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rsbounds.answers import _topk
from rsbounds.audit import _bounds, _radii
from rsbounds.audit._balls import arb, ctx, event
from rsbounds.audit._finding import Kind, Said
from rsbounds.audit._proof import Claim, Proof, is_below
from rsbounds.results import Manifest, Row


class TopKProof(Proof):
    """The proof that a label stays among the k most likely classes."""

    answer = "top-k"
    methods = _radii.FIXED
    proves = ("z_a", "z_b")

    def proved(self, claim: Claim) -> Iterator[Said]:
        row, manifest, answer, expected = claim
        procedure = manifest.procedure
        stated = f"radius is {row.radius}"
        if is_below(row.radius, expected.radius, row.sigma):
            yield Kind.WEAK, f"{stated}, below what the counts show"
        t, apart = int(expected.extra["sum_of"]), expected.extra["apart"]
        excluded = () if apart == "-" else tuple(map(int, apart.split(",")))
        counts = np.zeros(max(len(row.counts), row.label + 1, answer.k + 1), dtype=int)
        counts[: len(row.counts)] = row.counts
        rest = procedure.n - _topk.compared(counts, row.label, (t, excluded))
        ends = [("z_a", row.z_a, expected.z_a, row.count)]
        if row.z_b != -row.z_a:
            ends.append(("z_b", -row.z_b, -expected.z_b, rest))
        for name, value, computed, count in ends:
            text = f"{name} is {getattr(row, name)}"
            if is_below(value, computed, 1.0):
                yield Kind.WEAK, f"{text}, too far from what {count} of {row.n} show"
            elif not _bounds.proved(
                "clopper-pearson", "z", value, count, row.n, procedure.alpha, 2, 0.0
            ):
                yield (
                    Kind.BOUND,
                    f"{text}, more than {count} of {procedure.n} show",
                )
                return
        if row.radius and not _stays(manifest, row, t):
            yield Kind.RADIUS, f"{stated}, more than the counts prove"


def _stays(manifest: Manifest, row: Row, t: int) -> bool:
    """Whether the label's probability is above 1/t of the sum at the radius."""
    with ctx.workprec(_bounds.PRECISION):
        step = _radii.step(manifest.method, manifest.parameters, row.sigma, row.radius)
        low, high = arb(row.z_a) - step, arb(row.z_b) + step
        return bool(low >= high if t == 1 else t * event(low).p > event(high).p)
