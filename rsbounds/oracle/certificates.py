"""What result rows claim, evaluated again in mpmath: radii by method, tails of counts.

Nothing here knows the code that wrote the rows or that proves them; ``METHODS`` has the
names of ``rsbounds.schemes.METHODS``, each with its own evaluation from the manifest's
parameters. A decision list's rule is the object that its JSON file holds.

Examples
--------
>>> from rsbounds.oracle import certificates
>>> parameters = {"sigma": 0.5}
>>> certificates.excess("gaussian", parameters, 0.5, 1.0000001, 2.0) > 0  # truth: 1
True
>>> certificates.excess("gaussian", parameters, 0.5, 1.0, 2.0) > 0
False
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from mpmath import mp

from rsbounds.oracle._confidence import (
    BOUNDS,
    bound_excess,
    lower_score,
    pair_scores,
    upper_score,
)
from rsbounds.oracle._entry import checked, exact
from rsbounds.oracle._envelope import lipschitz_sigma, semi_elastic, worst_score
from rsbounds.oracle._mixed import blocks_excess
from rsbounds.oracle._normal import GUARD, Mpf, Real, ndtr, ndtri
from rsbounds.oracle._radii import gaussian_radius

__all__ = ["BOUNDS", "METHODS", "bound_excess", "excess"]

Parameters = Mapping[str, Any]
Scores = tuple[Mpf, Mpf | None]
Ends = tuple[Mpf, Mpf]


@checked
def excess(
    method: str,
    parameters: Parameters,
    sigma: Real,
    radius: Real,
    z_a: Real,
    z_b: Real | None = None,
    *,
    dps: int = 20,
) -> Mpf:
    """Number that is positive exactly where the radius exceeds its method's truth.

    ``method`` is a key of ``METHODS``; ``parameters`` are those of the scheme, as the
    manifest has them; ``sigma`` and ``radius`` are the row's, ``z_a`` and ``z_b`` the
    scores of its bounds.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    with mp.workdps(dps + GUARD):
        scores = exact(z_a), None if z_b is None else exact(z_b)
        return METHODS[method](parameters, exact(sigma), exact(radius), scores, dps)


def _gaussian(
    parameters: Parameters, sigma: Mpf, radius: Mpf, scores: Scores, dps: int
) -> Mpf:
    options = {key: parameters[key] for key in ("norm", "dim") if key in parameters}
    return radius - gaussian_radius(
        scores[0], sigma, scores[1], dps=dps + GUARD, **options
    )


def _anisotropic(
    parameters: Parameters, sigma: Mpf, radius: Mpf, scores: Scores, dps: int
) -> Mpf:
    reach = gaussian_radius(scores[0], sigma, scores[1], dps=dps + GUARD)
    return radius - exact(parameters["inner"]) * reach


def _two_queries(
    parameters: Parameters, sigma: Mpf, radius: Mpf, scores: Scores, dps: int
) -> Mpf:
    information = mp.fsum(exact(parameters[f"sigma_{k}"]) ** -2 for k in (1, 2))
    level = mp.sqrt(1 / information)
    options = {"norm": mp.inf, "dim": exact(parameters["dim"])}
    return radius - gaussian_radius(
        scores[0], level, scores[1], dps=dps + GUARD, **options
    )


def _correlated(
    parameters: Parameters, sigma: Mpf, radius: Mpf, scores: Scores, dps: int
) -> Mpf:
    matrix = mp.matrix(
        [[exact(value) for value in row] for row in parameters["matrix"]]
    )
    least = min(mp.svd_r(matrix, compute_uv=False))
    return radius - gaussian_radius(scores[0], least, scores[1], dps=dps + GUARD)


def _composite(
    parameters: Parameters, sigma: Mpf, radius: Mpf, scores: Scores, dps: int
) -> Mpf:
    """Compute the excess of a decision list from the counts of all stages.

    ``parameters`` hold them beside the rule and the plan.
    """
    evidence = (parameters[key] for key in ("rule", "plan", "counts", "n", "alpha"))
    return radius - composite_radius(*evidence, dps=dps)


def _two_point(
    ends_at: Callable[[Parameters, Mpf, Mpf], tuple[Mpf, Ends]],
    parameters: Parameters,
    sigma: Mpf,
    radius: Mpf,
    scores: Scores,
    dps: int,
) -> Mpf:
    """The larger X_A + X_B of the two extremes of sigma at that radius."""
    distance, ends = ends_at(parameters, sigma, radius)
    budgets = [-scores[0]] if scores[1] is None else [-scores[0], scores[1]]

    def at(sigma1: Mpf) -> Mpf:
        dim = exact(parameters["dim"])
        return mp.fsum(
            worst_score(distance, z, sigma, sigma1, dim, dps=dps) for z in budgets
        )

    return max(map(at, ends))


def _semi_elastic(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    low, high = semi_elastic(sigma, parameters["rate"])
    return radius, _widened(parameters, low(radius), high(radius))


def _lipschitz(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    low, high = lipschitz_sigma(sigma, parameters["lip"], parameters["sigma_min"])
    return radius, _widened(parameters, low(radius), high(radius))


def _widened(parameters: Parameters, low: Mpf, high: Mpf) -> Ends:
    """Both ends further out by exp(slack), for levels known as they are computed."""
    factor = mp.exp(exact(parameters.get("slack", 0.0)))
    return low / factor, high * factor


def _range(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    return radius, (exact(parameters["sigma_min"]), exact(parameters["sigma_max"]))


def _generator(parameters: Parameters, sigma: Mpf, radius: Mpf) -> tuple[Mpf, Ends]:
    steps = 1 + exact(parameters["mean_lip"])
    reach = (
        radius / exact(parameters["inner"])
        + exact(parameters.get("shift", 0.0)) / steps
    )
    _, ends = _lipschitz(parameters, sigma, reach)
    return steps * reach, ends


@checked
def list_radius(
    rule: Mapping[str, Any],
    scores: Sequence[Sequence[Real]],
    cls: int,
    *,
    dps: int = 30,
) -> Mpf:
    """Radius of a class under a decision list, from exact class probabilities.

    ``rule`` is as its JSON file holds it; ``scores`` have a row for each level, and
    ``cls`` is the class, as in :func:`rsbounds.composite.radius`.
    """
    with mp.workdps(dps + GUARD):
        z = [[exact(v) for v in row] for row in scores]

        def value(q: Parameters, c: int) -> Mpf:
            sigma, row = exact(rule["sigmas"][q["stage"]]), z[q["stage"]]
            if q["kind"] == "score":
                return sigma * row[c]
            if q["kind"] == "margin":
                return (
                    sigma * (row[c] - max(v for b, v in enumerate(row) if b != c)) / 2
                )
            # scores are rounded, so that the probabilities of nearly all classes may
            # exceed 1
            p = min(sum(ndtr(row[c], dps=dps) for c in q["classes"]), mp.one)
            return sigma * ndtri(p, dps=dps)

        best, before = mp.zero, mp.inf
        for item in rule["items"]:
            fires = min(value(q, cls) - exact(q["threshold"]) for q in item)
            best = max(best, min(fires, before))
            for b in range(len(z[0])):
                if b != cls:
                    before = min(
                        before, max(exact(q["threshold"]) - value(q, b) for q in item)
                    )
        return +best


@checked
def composite_radius(
    rule: Mapping[str, Any],
    plan: Mapping[str, Any],
    counts: Sequence[Sequence[int] | None],
    n: int,
    alpha: Real,
    *,
    dps: int = 20,
) -> Mpf:
    """The radius that counts certify for what was chosen from other samples.

    ``plan`` has ``cls``, ``items`` (that may decide), ``references`` (by stage and
    class) and ``blocking`` (by item and class). Stages that no component needs may be
    None. ``rule`` is as its JSON file holds it; ``counts`` and ``n`` are as in
    :func:`rsbounds.composite.certify_counts`.
    """
    with mp.workdps(dps + GUARD):
        cls, level = plan["cls"], exact(alpha) / len(plan["items"])

        def beyond(q: Parameters, c: int, side: int) -> Mpf:
            """Bound the coordinate of c less the threshold, below (side 1) or above.

            Above is side -1.
            """
            k = counts[q["stage"]]
            if k is None:
                raise ValueError(f"counts must hold stage {q['stage']}; got None")
            if q["kind"] == "margin":
                if side > 0:
                    pair = k[c], max(v for b, v in enumerate(k) if b != c)
                else:
                    pair = k[plan["references"][q["stage"]][c]], k[c]
                low, high = pair_scores(*pair, n, level, dps=dps)
                z = side * (low - high) / 2
            else:
                count = (
                    k[c] if q["kind"] == "score" else sum(k[b] for b in q["classes"])
                )
                z = (lower_score if side > 0 else upper_score)(count, n, level, dps=dps)
            return exact(rule["sigmas"][q["stage"]]) * z - exact(q["threshold"])

        best, before = mp.zero, mp.inf
        for i in range(max(plan["items"]) + 1):
            item, choice = rule["items"][i], plan["blocking"][i]
            if i in plan["items"]:
                best = max(best, min([before, *(beyond(q, cls, 1) for q in item)]))
            if i < max(plan["items"]):
                others = [b for b in range(len(choice)) if b != cls]
                before = min(
                    [before, *(-beyond(item[choice[b]], b, -1) for b in others)]
                )
            if before <= best:  # no later item can raise it
                break
        return +best


def _blocks(
    parameters: Parameters, sigma: Mpf, radius: Mpf, scores: Scores, dps: int
) -> Mpf:
    """What is lacking to 1 of the least shares that A and all but B keep."""
    second = scores[0] if scores[1] is None else -scores[1]
    return blocks_excess(parameters, radius, (scores[0], second), dps=dps)


#: The evaluation of each method that writes rows.
METHODS: Mapping[str, Callable[[Parameters, Mpf, Mpf, Scores, int], Mpf]] = {
    "gaussian": _gaussian,
    "anisotropic": _anisotropic,
    "correlated": _correlated,
    "two-queries": _two_queries,
    "semi-elastic": partial(_two_point, _semi_elastic),
    "lipschitz": partial(_two_point, _lipschitz),
    "range": partial(_two_point, _range),
    "generator": partial(_two_point, _generator),
    "composite": _composite,
    "blocks": _blocks,
}
