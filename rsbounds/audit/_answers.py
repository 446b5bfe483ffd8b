"""Rows of answers beyond one class: computed again from what they rest on, and proved.

The p-value and the transported probabilities are events of
:mod:`rsbounds.audit._balls`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rsbounds._numerics.rounding import round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.answers import _maps, _questions, _topk, _values
from rsbounds.audit import _bounds, _radii
from rsbounds.audit._balls import Arb, arb, ctx, event
from rsbounds.audit._finding import Kind, Said
from rsbounds.certificate import ABSTAIN
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS, Scheme

_LOST = 1e-6  # a radius this much below what was computed is a finding


def question(manifest: Manifest, scheme: Scheme, truth: Any = None) -> Any:
    """What a file's rows answer; ValueError where the manifest doesn't say."""
    own, answer = manifest.parameters, manifest.parameters["answer"]
    try:
        if answer == "top-k":
            return _questions.TopK(scheme, own["k"])
        if answer == "values":
            return _questions.Values(
                scheme, tuple(map(float, own["radii"])), float(own["p"])
            )
        if answer == "map":
            return _questions.Maps(scheme, float(own["tau"]), truth)
    except (KeyError, TypeError) as error:
        raise ValueError(f"the answer {answer!r} lacks {error}") from None
    raise ValueError(f"nothing here can prove the answer {answer!r}")


def findings(row: Row, manifest: Manifest, prove: bool) -> Iterator[Said]:
    """What is wrong with a row that answers more than one class; ValueError as of
    `_rows`.
    """
    scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
    asked = question(manifest, scheme)
    if isinstance(asked, _questions.TopK):
        yield from _top_k(row, manifest, scheme, asked.k, prove)
        return
    if (row.predict, row.radius, row.bound) != (ABSTAIN, 0.0, asked.bound):
        yield Kind.CONTRADICTION, f"predicts {row.predict} with bound {row.bound!r}"
    check = _values_row if isinstance(asked, _questions.Values) else _map_row
    yield from check(row, manifest, asked, prove)


def _top_k(
    row: Row, manifest: Manifest, scheme: Scheme, k: int, prove: bool
) -> Iterator[Said]:
    own = manifest.procedure
    width = max(len(row.select), len(row.counts), row.label + 1, k + 1)
    select, counts = (
        np.array([*c, *[0] * (width - len(c))], dtype=np.int64)
        for c in (row.select, row.counts)
    )
    _bounds.require_drawn([row.select], own.n0, [row.counts], own.n)
    numbers = scheme, row.sigma, select, counts, row.label, k, own
    again, columns = _questions.top_k_certificate(*numbers)
    expected = {
        name: getattr(again, name) for name in ("predict", "count", "void", "bound")
    }
    for name, value in {**expected, **columns}.items():
        mine = row.extra[name] if name in columns else getattr(row, name)
        if mine != value:
            yield Kind.CONTRADICTION, f"{name} is {mine!r}, {value!r} by its counts"
            return
    if row.radius + _LOST * (row.sigma + again.radius) < again.radius:
        yield Kind.WEAK, f"radius is {row.radius}, below what the counts show"
    if not (prove and row.radius):
        return
    t, apart = int(columns["sum_of"]), columns["apart"]
    excluded = () if apart == "-" else tuple(map(int, apart.split(",")))
    rest = own.n - _topk.compared(counts, row.label, (t, excluded))
    ends = [("z_a", row.z_a, row.count)]
    if row.z_b != -row.z_a:
        ends.append(("z_b", -row.z_b, rest))
    for name, value, count in ends:
        if not _bounds.proved(
            "clopper-pearson", "z", value, count, own.n, own.alpha, 2, 0.0
        ):
            yield (
                Kind.BOUND,
                f"{name} is {getattr(row, name)}, more than {count} of {own.n} show",
            )
            return
    if not _stays(manifest, row, t):
        yield Kind.RADIUS, f"radius is {row.radius}, more than the counts prove"


def _stays(manifest: Manifest, row: Row, t: int) -> bool:
    """Whether the label's probability is above 1/t of the sum at the radius."""
    with ctx.workprec(_bounds.PRECISION):
        step = _step(manifest, row.sigma, row.radius)
        low, high = arb(row.z_a) - step, arb(row.z_b) + step
        return bool(low >= high if t == 1 else t * event(low).p > event(high).p)


def _step(manifest: Manifest, sigma: float, radius: float) -> Arb:
    """What scores move by within a radius."""
    own = _radii.as_balls(manifest.method, manifest.parameters)
    return arb(radius) / (_radii._inner(own) * arb(sigma))


def _values_row(
    row: Row, manifest: Manifest, asked: Any, prove: bool
) -> Iterator[Said]:
    own = manifest.procedure
    ranks = [tuple(map(int, part.split(","))) for part in row.extra["ranks"].split(";")]
    low, high = (np.array(_values.table(row.extra[name])) for name in ("low", "high"))
    if ranks != asked.ranks(own, row.sigma):
        yield (
            Kind.CONTRADICTION,
            f"ranks are {ranks}, {asked.ranks(own, row.sigma)} by the radii",
        )
        return
    middle = np.array([float(v) for v in row.extra["quantile"].split(",")])
    if low.shape != high.shape or low.shape != (len(ranks), len(middle)):
        raise ValueError(
            f"quantile, low and high have shapes {middle.shape}, {low.shape}"
        )
    none = np.array(ranks) == 0
    inside = (low <= high) & ~(low > middle) & ~(high < middle)
    reach = (low[none[:, 0]] == -np.inf).all() and (high[none[:, 1]] == np.inf).all()
    if not (inside.all() and reach):
        yield (
            Kind.CONTRADICTION,
            "an end is on the wrong side of the quantile, or n can't show it",
        )
    for ends, column, sign in (
        (low, 0, 1),
        (high, 1, -1),
    ):  # a smaller rank is further out
        order = np.argsort(np.array(ranks)[:, column], kind="stable")
        if not (np.diff(sign * ends[order], axis=0) >= 0).all():
            yield Kind.CONTRADICTION, "intervals don't grow as their ranks do"
    if prove:
        for radius, (below, above) in zip(asked.radii, ranks, strict=True):
            if not _ranked(manifest, row.sigma, radius, asked.p, below, above):
                yield (
                    Kind.BOUND,
                    f"ranks {below},{above} are more than {own.n} samples show",
                )


def _ranked(
    manifest: Manifest, sigma: float, radius: float, p: float, below: int, above: int
) -> bool:
    """Whether fewer than k samples below each end have probability alpha/2 at most."""
    own = manifest.procedure
    with ctx.workprec(_bounds.PRECISION):
        step, middle = _step(manifest, sigma, radius), float(ndtri(np.asarray(p)))
        for k, z, q in ((below, middle, arb(p)), (above, -middle, 1 - arb(p))):
            start = arb(z) - abs(arb(z)) * 4e-15  # proposed; the ball decides
            if not event(start).p <= q:
                return False
            at = event(start - step)
            if k and not 2 * _bounds.tail(own.n - k + 1, own.n, at.q, at.p) <= arb(
                own.alpha
            ):
                return False
    return True


def _map_row(row: Row, manifest: Manifest, asked: Any, prove: bool) -> Iterator[Said]:
    own = manifest.procedure
    chosen, hits = (_maps.from_runs(row.extra[name]) for name in ("chosen", "hits"))
    if len(chosen) != len(hits) or hits.max() > own.n:
        raise ValueError(
            f"{len(chosen)} positions, {len(hits)} counts, at most {hits.max()}"
        )
    held = _maps.holm(hits, own.n, asked.tau, own.alpha)
    if (stated := row.extra["certified"]) != str(held.sum()):
        yield Kind.CONTRADICTION, f"certified is {stated}, {held.sum()} by its counts"
    right = row.extra["right"]
    if right and not 0 <= int(right) <= held.sum():
        yield Kind.CONTRADICTION, f"right is {right} of {held.sum()} certified"
    if not prove:
        return
    if held.any() and not _rejected(hits, held, own.n, asked.tau, own.alpha):
        yield Kind.BOUND, "positions are certified that their counts don't prove"
    radius = manifest.parameters["map_radius"]
    z = float(round_down(ndtri(np.asarray(asked.tau)), NDTRI_ERROR))
    if radius and not _tau_proved(manifest, row.sigma, float(radius), z, asked.tau):
        yield Kind.RADIUS, f"map_radius is {radius}, more than tau = {asked.tau} earns"


def _rejected(hits: Any, held: Any, n: int, tau: float, alpha: float) -> bool:
    """Whether Holm's procedure rejects all that are held, in ball arithmetic."""
    with ctx.workprec(_bounds.PRECISION):
        p, left = arb(tau), len(hits)
        for count in np.unique(hits[held])[::-1]:
            if not left * _bounds.tail(int(count), n, p, 1 - p) <= arb(alpha):
                return False
            left -= int((hits == count).sum())
    return True


def _tau_proved(
    manifest: Manifest, sigma: float, radius: float, z: float, tau: float
) -> bool:
    with ctx.workprec(_bounds.PRECISION):
        return bool(event(arb(z)).p <= arb(tau)) and bool(
            _step(manifest, sigma, radius) <= arb(z)
        )
