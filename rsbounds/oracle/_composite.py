"""Decision lists over several noise levels, condition by condition as the theory page has them.

A rule is the object that its JSON file holds: ``sigmas``, and ``items`` of conditions with
``kind``, ``stage``, ``threshold`` and, for sets, ``classes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mpmath import mp

from rsbounds.oracle._confidence import lower_score, upper_score
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, ndtr, ndtri
from rsbounds.oracle._pair import pair_scores

Condition = Mapping[str, Any]


def list_radius(
    rule: Mapping[str, Any],
    scores: Sequence[Sequence[Real]],
    cls: int,
    values: Sequence[Real] = (),
    *,
    dps: int = 30,
) -> Mpf:
    """The radius of a class from exact class probabilities, their scores in rows by level.

    ``values`` has the deterministic functions' values over their Lipschitz constants.
    """
    with mp.workdps(dps + GUARD):
        z = [[exact(v) for v in row] for row in scores]

        def value(q: Condition, c: int) -> Mpf:
            if q["kind"] == "value":
                return exact(values[q["stage"]])
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
    values: Sequence[Real] = (),
    *,
    dps: int = 20,
) -> Mpf:
    """The radius that counts certify for what was chosen from other samples.

    ``plan`` has ``cls``, ``items`` (that may decide), ``references`` (by stage and class)
    and ``blocking`` (by item and class). Stages that no component needs may be None.
    """
    with mp.workdps(dps + GUARD):
        cls, level = plan["cls"], exact(alpha) / len(plan["items"])

        def row(q: Condition) -> Sequence[int]:
            found = counts[q["stage"]]
            if found is None:
                raise ValueError(f"counts must hold stage {q['stage']}; got None")
            return found

        def fires(q: Condition) -> Mpf:
            if q["kind"] == "value":
                return exact(values[q["stage"]]) - exact(q["threshold"])
            k = row(q)
            if q["kind"] == "score":
                z = lower_score(k[cls], n, level, dps=dps)
            elif q["kind"] == "margin":
                rival = max(v for b, v in enumerate(k) if b != cls)
                low, high = pair_scores(k[cls], rival, n, level, dps=dps)
                z = (low - high) / 2
            else:
                z = lower_score(sum(k[c] for c in q["classes"]), n, level, dps=dps)
            return exact(rule["sigmas"][q["stage"]]) * z - exact(q["threshold"])

        def blocks(q: Condition, b: int) -> Mpf:
            if q["kind"] == "value":
                return exact(q["threshold"]) - exact(values[q["stage"]])
            k = row(q)
            if q["kind"] == "score":
                z = upper_score(k[b], n, level, dps=dps)
            elif q["kind"] == "margin":
                lead = plan["references"][q["stage"]][b]
                low, high = pair_scores(k[lead], k[b], n, level, dps=dps)
                z = (high - low) / 2
            else:
                z = upper_score(sum(k[c] for c in q["classes"]), n, level, dps=dps)
            return exact(q["threshold"]) - exact(rule["sigmas"][q["stage"]]) * z

        best, before = mp.zero, mp.inf
        for i in range(max(plan["items"]) + 1):
            item, choice = rule["items"][i], plan["blocking"][i]
            if i in plan["items"]:
                best = max(best, min([before, *(fires(q) for q in item)]))
            if i < max(plan["items"]):
                others = [b for b in range(len(choice)) if b != cls]
                before = min([before, *(blocks(item[choice[b]], b) for b in others)])
            if before <= best:  # no later item can raise it
                break
        return +best
