"""Noise on groups of columns, one of them Gaussian or none, from the formulas alone.

An event's least probability under a change is that of the points at which the ratio of
the densities at x' and x is below a number, which its probability at x determines
(Neyman and Pearson). The ratio is a product over the changed coordinates and, for a
Gaussian shift of s levels, e^(s z - s^2/2).
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from mpmath import mp

from rsbounds.oracle._entry import exact
from rsbounds.oracle._normal import GUARD, Mpf, Real, ndtr

Parameters = Mapping[str, Any]
#: What comes out of one changed coordinate: its probabilities at x and at x'.
Cells = Sequence[tuple[Fraction, Fraction]]
#: Scores from here on are those of certainty.
_FAR = 40


def blocks_excess(
    parameters: Parameters, radius: Real, scores: Sequence[Real], *, dps: int = 20
) -> Mpf:
    """1 less the least shares that two events of these scores keep together.

    They are taken over all ways to make the changes: those of the radius where all
    blocks are discrete, else those beside which an l_2 radius is stated.
    """
    size = min(max(abs(exact(z)) for z in scores), mp.mpf(_FAR))
    dps += int(size**2 / 4.6)  # of a probability as near 1 as its score is large
    with mp.workdps(dps + GUARD):
        levels = [b["sigma"] for b in parameters["blocks"] if "sigma" in b]
        discrete = [b for b in parameters["blocks"] if "sigma" not in b]
        shift = exact(radius) / exact(levels[0]) if levels else mp.zero
        changes = int(parameters.get("changes", 0)) if levels else int(radius)
        shares = [
            ndtr(z, dps=dps + GUARD) if abs(z) < _FAR else mp.mpf(z > 0) for z in scores
        ]
        return max(
            1 - sum(mixed_low(p, cells, shift, dps=dps) for p in shares)
            for cells in ways(discrete, changes)
        )


def mixed_low(p: Real, changed: Sequence[Cells], shift: Real, *, dps: int = 20) -> Mpf:
    """The least probability at x' of an event of probability p at x.

    ``changed`` has the cells of each changed coordinate, ``shift`` is that of the
    numbers in their level.
    """
    with mp.workdps(dps + GUARD):
        share, s = exact(p), exact(shift)
        regions = _together(changed)
        alone = mp.fsum(mass for mass, other in regions if not other)
        both = [pair for pair in regions if pair[1]]
        if share <= alone:
            return mp.zero
        if share >= 1:
            return mp.fsum(other for _, other in both)
        if not s:
            return _filled(sorted(both, key=lambda pair: pair[1] / pair[0]),
                           share - alone)  # fmt: skip
        logs = [mp.log(mass / other) for mass, other in both]

        def ends(t: Mpf) -> list[Mpf]:
            return [(t + log) / s + s / 2 for log in logs]

        def mass_up_to(t: Mpf) -> Mpf:
            return alone + mp.fsum(
                mass * ndtr(end, dps=dps + GUARD)
                for (mass, _), end in zip(both, ends(t), strict=True)
            )

        reach = s * (_FAR + s) + max(map(abs, logs))
        low, high = -reach, reach
        for _ in range(int(3.4 * (dps + GUARD)) + 8):
            middle = (low + high) / 2
            low, high = (middle, high) if mass_up_to(middle) < share else (low, middle)
        return mp.fsum(
            other * ndtr(end - s, dps=dps + GUARD)
            for (_, other), end in zip(both, ends(low), strict=True)
        )


def _together(changed: Sequence[Cells]) -> list[tuple[Mpf, Mpf]]:
    """The masses of regions of one ratio, those that x can't produce left out."""
    masses = {Fraction(1): (Fraction(1), Fraction(1))}
    for cells in changed:
        joined: dict[Fraction, tuple[Fraction, Fraction]] = {}
        for (p, q), (mass, other) in product(masses.values(), cells):
            if p * mass:
                key = q * other / (p * mass)
                first, second = joined.get(key, (Fraction(0), Fraction(0)))
                joined[key] = first + p * mass, second + q * other
        masses = joined
    return [
        (mp.mpf(p.numerator) / p.denominator, mp.mpf(q.numerator) / q.denominator)
        for p, q in masses.values()
    ]


def _filled(regions: Sequence[tuple[Mpf, Mpf]], share: Mpf) -> Mpf:
    """The mass at x' of the first regions, of so much mass at x."""
    total = mp.zero
    for mass, other in regions:
        part = min(share / mass, mp.one)
        total += part * other
        share -= part * mass
    return total


def ways(blocks: Sequence[Parameters], changes: int) -> Iterator[list[Cells]]:
    """The cells of all changed coordinates, for each way to make so many changes."""
    kinds = [cells for block in blocks for cells in _kinds(block)]
    for shares in product(range(changes + 1), repeat=len(kinds)):
        if sum(shares) == changes:
            yield [
                cells
                for cells, number in zip(kinds, shares, strict=True)
                for _ in range(number)
            ]


def _kinds(block: Parameters) -> list[Cells]:
    """What comes out of a changed coordinate, for each kind of change."""
    if block["method"] == "categorical":
        keep = Fraction(block["keep"])
        other = (1 - keep) / (int(block["values"]) - 1)
        elsewhere = 1 - keep - other
        return [[(keep, other), (other, keep), (elsewhere, elsewhere)]]
    if block["method"] == "flips":
        add, delete = Fraction(block["add"]), Fraction(block["delete"])
        added = [(add, 1 - delete), (1 - add, delete)]
        return [added, [(other, mass) for mass, other in added]]
    if block["method"] == "mask":
        shown = Fraction(block["keep_probability"])
        return [[(shown, Fraction(0)), (1 - shown, 1 - shown)]]
    raise ValueError(f"nothing here evaluates blocks of method {block['method']!r}")
