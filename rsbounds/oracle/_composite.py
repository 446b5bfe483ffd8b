"""Decision lists over several noise levels, condition by condition as the theory page has them.

A rule is the object that its JSON file holds: ``sigmas``, and ``items`` of conditions with
``kind``, ``stage``, ``threshold`` and, for sets, ``classes``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mpmath import mp

from rsbounds.oracle._confidence import lower_score, pair_scores, upper_score
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, ndtr, ndtri

Condition = Mapping[str, Any]


def list_radius(
    rule: Mapping[str, Any],
    scores: Sequence[Sequence[Real]],
    cls: int,
    *,
    dps: int = 30,
) -> Mpf:
    """The radius of a class from exact class probabilities, their scores in rows by level."""
    with mp.workdps(dps + GUARD):
        z = [[exact(v) for v in row] for row in scores]

        def value(q: Condition, c: int) -> Mpf:
            sigma, row = exact(rule["sigmas"][q["stage"]]), z[q["stage"]]
            if q["kind"] == "score":
                return sigma * row[c]
            if q["kind"] == "margin":
                return sigma * (row[c] - max(v for b, v in enumerate(row) if b != c)) / 2
            # scores are rounded, so that the probabilities of nearly all classes may exceed 1
            p = min(sum(ndtr(row[c], dps=dps) for c in q["classes"]), mp.one)
            return sigma * ndtri(p, dps=dps)

        best, before = mp.zero, mp.inf
        for item in rule["items"]:
            fires = min(value(q, cls) - exact(q["threshold"]) for q in item)
            best = max(best, min(fires, before))
            for b in range(len(z[0])):
                if b != cls:
                    before = min(before, max(exact(q["threshold"]) - value(q, b) for q in item))
        return +best


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

    ``plan`` has ``cls``, ``items`` (that may decide), ``references`` (by stage and class)
    and ``blocking`` (by item and class). Stages that no component needs may be None.
    """
    with mp.workdps(dps + GUARD):
        cls, level = plan["cls"], exact(alpha) / len(plan["items"])

        def beyond(q: Condition, c: int, side: int) -> Mpf:
            """A lower (side 1) or upper (-1) bound of the coordinate of c, less the threshold."""
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
                count = k[c] if q["kind"] == "score" else sum(k[b] for b in q["classes"])
                z = (lower_score if side > 0 else upper_score)(count, n, level, dps=dps)
            return exact(rule["sigmas"][q["stage"]]) * z - exact(q["threshold"])

        best, before = mp.zero, mp.inf
        for i in range(max(plan["items"]) + 1):
            item, choice = rule["items"][i], plan["blocking"][i]
            if i in plan["items"]:
                best = max(best, min([before, *(beyond(q, cls, 1) for q in item)]))
            if i < max(plan["items"]):
                others = [b for b in range(len(choice)) if b != cls]
                before = min([before, *(-beyond(item[choice[b]], b, -1) for b in others)])
            if before <= best:  # no later item can raise it
                break
        return +best
