"""What is wrong with the rows of a result file: claims against the oracle and the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from rsbounds._numerics.checks import choice, number, whole
from rsbounds.certificate import ABSTAIN, ASSERTED_ENVELOPE, MEMORY, SCOPES, THIS_INPUT
from rsbounds.composite import CompositeCertificate, Rule
from rsbounds.confidence.counts import MAX_N
from rsbounds.results import Manifest, Row, dense_counts, sparse_counts
from rsbounds.sampling import Phase, stream
from rsbounds.schemes import METHODS, Domain

DIGITS = 20
_LOST = 1e-6  # a radius this much (relative to itself plus sigma) too small is a finding
_SAME = 1e-9  # what numbers that another machine computed may differ by
_WEAKER = (ASSERTED_ENVELOPE, MEMORY, THIS_INPUT)  # what any method's own scope may be cut to
_COUNTS = {"skip": 1, "max": -1, "inputs": 0}


def check_manifest(manifest: Manifest) -> None:
    """ValueError unless the manifest has what the rows are checked against."""
    method = METHODS[choice("method", manifest.method, tuple(METHODS))]
    if not isinstance(manifest.scope, str):
        raise ValueError(f"scope must be text; got {manifest.scope!r}")
    method.check(manifest.parameters)
    if manifest.engine.get("sound_noise") and not method.sound:
        for name in ("slack", "shift"):
            if name in method.domains and name not in manifest.parameters:
                raise ValueError(f"engine.sound_noise needs parameters.{name}; there is none")
    if manifest.method == "composite":
        Rule.from_dict(manifest.parameters.get("rule", {}))
    for name, low in _COUNTS.items():
        if name in manifest.data:
            number(f"data.{name}", whole(f"data.{name}", manifest.data[name], low))
    procedure = manifest.procedure
    for name, high in (("n", MAX_N), ("n0", MAX_N), ("seed", 10**18)):
        Domain(0, high).one(name, getattr(procedure, name))
    from rsbounds.oracle import certificates

    choice("bound", procedure.bound, tuple(certificates.BOUNDS))
    manifest.share()


def findings(row: Row, manifest: Manifest) -> Iterator[str]:
    """What is wrong with one row."""
    yield from _mismatches(row, manifest)
    if manifest.method == "composite":
        yield from _composite(row, manifest)
        return
    wrong = list(_evidence(row, manifest))
    yield from wrong
    if not wrong:
        yield from _claims(row, manifest)


def _composite(row: Row, manifest: Manifest) -> Iterator[str]:
    """What the counts of all stages say of the radius of a decision list."""
    from rsbounds import composite
    from rsbounds.oracle import certificates

    stages = len(manifest.parameters["rule"]["sigmas"])
    try:
        select, counts = stage_counts(row)
    except (KeyError, ValueError) as error:
        yield f"the counts of the stages can't be read: {error}"
        return
    if len(select) != stages or len(counts) != stages:
        yield f"has counts of {len(select)} and {len(counts)} stages, the rule has {stages}"
        return
    for k, drawn in enumerate(select):
        if sum(drawn) > manifest.procedure.n0:
            yield f"stage {k}: selection counts sum to {sum(drawn)} of n0 = {manifest.procedure.n0}"
            return
    for k, drawn in enumerate(counts):
        if drawn is not None and sum(drawn) > manifest.procedure.n:
            yield f"stage {k}: counts sum to {sum(drawn)} of n = {manifest.procedure.n}"
            return
    rule = composite.Rule.from_dict(manifest.parameters["rule"])
    plan = composite.plan(rule, select, manifest.procedure.n, manifest.procedure.alpha)
    if row.predict not in (plan.cls, ABSTAIN):
        yield f"predicts {row.predict}, but selected {plan.cls}"
    if (row.radius > 0) != (row.predict != ABSTAIN):
        yield f"predicts {row.predict} with radius {row.radius}"
    drawn_at = manifest.procedure.n, manifest.procedure.alpha
    known = {"rule": manifest.parameters["rule"], "plan": plan.to_dict(), "counts": counts}
    known |= dict(zip(("n", "alpha"), drawn_at, strict=True))

    def above(radius: float) -> bool:
        found = certificates.excess("composite", known, row.sigma, radius, 0, dps=DIGITS)
        return bool(found > 0)

    if row.radius > 0 and above(row.radius):
        yield f"radius is {row.radius}, above the truth"
    elif not above(row.radius + _LOST * (row.radius + row.sigma)):
        yield f"radius is {row.radius}, below what the counts show"
    yield from _repeated(row, composite.certify_counts(rule, select, counts, *drawn_at))


def _repeated(row: Row, found: CompositeCertificate) -> Iterator[str]:
    """What a decision list's row repeats otherwise than the counts of its stages have it."""
    told = Row.of(row.idx, row.label, found, 0.0)
    for name in ("n", "sigma", "count", "select", "counts", "void"):
        if getattr(row, name) != getattr(told, name):
            yield f"{name} is {getattr(row, name)}, {getattr(told, name)} by the stages' counts"
    for name in ("p_a", "z_a", "z_b"):
        said, true = getattr(row, name), getattr(told, name)
        if not (said == true or abs(said - true) <= _SAME * (1 + abs(true))):
            yield f"{name} is {said}, {true} by the stages' counts"
    if row.extra.get("item") != str(found.item):
        yield f"item is {row.extra.get('item')}, {found.item} by the stages' counts"


def stage_counts(row: Row) -> tuple[list[Any], list[Any]]:
    """The counts of all stages of a composite's row, of one width; None: not drawn."""
    texts = [row.extra[name].split(";") for name in ("stage_select", "stage_counts")]
    read = [[None if text == "*" else dense_counts(text) for text in stage] for stage in texts]
    width = max([2, *(len(c) for stage in read for c in stage if c is not None)])
    select, counts = (
        [None if c is None else [*c, *[0] * (width - len(c))] for c in stage] for stage in read
    )
    return select, counts


def _mismatches(row: Row, manifest: Manifest) -> Iterator[str]:
    """What contradicts the manifest or the row itself."""
    stated = {"method": manifest.method, "scope": manifest.scope}
    stated["bound"] = manifest.procedure.bound
    for key, value in stated.items():
        if getattr(row, key) != value:
            yield f"{key} is {getattr(row, key)!r}, {value!r} in the manifest"
    own = METHODS[manifest.method]
    if row.scope not in SCOPES:
        yield f"scope is {row.scope!r}, which no scheme has"
    elif row.scope not in (own.scope, *_WEAKER):
        yield f"scope is {row.scope!r}, which no scheme of method {own.name} has"
    parameters = manifest.parameters
    norm = parameters.get("norm", 2.0) if "norm" in own.domains else 2.0
    if manifest.method == "gaussian" and row.sigma != parameters["sigma"]:
        yield f"sigma is {row.sigma}, {parameters['sigma']} in the manifest"
    if not row.sigma >= parameters.get("sigma_min", 0.0):
        yield f"sigma is {row.sigma}, below the manifest's sigma_min"
    if not row.sigma <= parameters.get("sigma_max", float("inf")):
        yield f"sigma is {row.sigma}, above the manifest's sigma_max"
    if row.norm != norm:
        yield f"norm is {row.norm}, {norm} in the manifest"
    if row.correct != (row.predict == row.label != ABSTAIN):
        yield f"correct is {row.correct:d}, but predict {row.predict} and label {row.label}"
    if row.predict == ABSTAIN and row.radius:
        yield f"abstains with radius {row.radius}"


def _evidence(row: Row, manifest: Manifest) -> Iterator[str]:
    """What contradicts the numbers of samples."""
    if manifest.procedure.target_radius is None and row.n != manifest.procedure.n:
        yield f"n is {row.n}, {manifest.procedure.n} in the manifest"
    if not row.n <= manifest.procedure.n:
        yield f"n is {row.n}, at most {manifest.procedure.n} in the manifest"
    if not 0 <= row.count <= row.n:
        yield f"count is {row.count} of {row.n}"
    if not sum(row.select) <= manifest.procedure.n0:
        n0 = manifest.procedure.n0
        yield f"selection counts sum to {sum(row.select)}, n0 is {n0} in the manifest"
    if not sum(row.counts) <= row.n:
        yield f"counts sum to {sum(row.counts)} of {row.n}"
    if row.void != manifest.procedure.n0 - sum(row.select) + row.n - sum(row.counts):
        yield f"void is {row.void}, which the counts and numbers of samples contradict"
    top = _top(row)
    if row.predict not in (top, ABSTAIN):
        yield f"predicts {row.predict}, but selected {top} by {sparse_counts(row.select)}"
    if row.count != _at(row.counts, top):
        yield f"count is {row.count}, but the counts have {_at(row.counts, top)} of class {top}"


def _claims(row: Row, manifest: Manifest) -> Iterator[str]:
    """What the oracle says of the bounds and of the radius."""
    from mpmath import mp

    from rsbounds import oracle
    from rsbounds.oracle import certificates

    if not row.n:
        if row.predict != ABSTAIN or row.radius > 0 or row.p_a > 0 or row.z_a > -inf:
            yield f"predicts {row.predict} with radius {row.radius} from no samples"
        return
    yield from _bounds(row, manifest)
    z_a, z_b = mp.mpf(row.z_a), None if row.z_b == -row.z_a else mp.mpf(row.z_b)
    if not mp.mpf(row.p_a) <= oracle.ndtr(z_a, dps=DIGITS + 10) and not _proves(row, manifest):
        yield f"p_a is {row.p_a}, above the truth {mp.nstr(oracle.ndtr(z_a, dps=20), 17)}"
    leads = z_a > (-z_a if z_b is None else z_b)
    if (row.predict != ABSTAIN) != bool(leads):
        yield f"predicts {row.predict}, but the class's score is {mp.nstr(z_a, 17)}"

    def above(radius: float) -> bool:
        known = (manifest.parameters, row.sigma, radius, z_a, z_b)
        return certificates.exceeds(manifest.method, *known, dps=DIGITS)

    target = manifest.procedure.target_radius
    if target is not None and row.radius not in (0.0, target):
        yield f"radius is {row.radius}, neither 0 nor the target {target}"
    if row.radius > 0 and above(row.radius):
        proved = f"not proved by {row.count} of {row.n}"
        yield f"radius is {row.radius}, {'above the truth' if target is None else proved}"
    least = row.radius + _LOST * (row.radius + row.sigma)
    if target is None and row.predict != ABSTAIN and not above(least):
        yield f"radius is {row.radius}, below what the counts show"


def _proves(row: Row, manifest: Manifest) -> bool:
    """Whether p_a is a bound itself: the score may have been rounded down further."""
    from mpmath import mp

    from rsbounds import oracle

    alpha = mp.mpf(manifest.procedure.alpha) / (2 if manifest.procedure.runner_up else 1)
    z, u = oracle.ndtri(row.p_a, dps=DIGITS + 10), _uniform(manifest, row.idx, 0)
    return bool(_excess(manifest.procedure.bound, row.count, row.n, z, alpha, u) <= 0)


def _bounds(row: Row, manifest: Manifest) -> Iterator[str]:
    """Whether both scores are what the bound gives."""
    from mpmath import mp

    counts = row.counts
    top = _top(row)
    alpha = mp.mpf(manifest.procedure.alpha)
    ends = [("z_a", row.z_a, row.count, 0)]
    if manifest.procedure.runner_up:
        alpha /= 2
        rest = max((c for k, c in enumerate(counts) if k != top), default=0)
        if row.z_b != -row.z_a:
            ends.append(("z_b", -row.z_b, row.n - rest, 1))
    elif row.z_b != -row.z_a:
        yield f"z_b is {row.z_b}, not -z_a as without runner-up"
    for name, z, count, place in ends:
        said, u = f"{name} is {getattr(row, name)}", _uniform(manifest, row.idx, place)
        known = (manifest.procedure.bound, count, row.n)
        if _excess(*known, z, alpha, u) > 0:
            yield f"{said}, on the unsafe side of what {count} of {row.n} show"
        elif not _excess(*known, z + _LOST * (1 + abs(z)), alpha, u) > 0:
            yield f"{said}, too far from what {count} of {row.n} show"


def _excess(*known: Any) -> Any:
    from rsbounds.oracle import certificates

    return certificates.bound_excess(*known, dps=DIGITS)


def _uniform(manifest: Manifest, index: int, place: int) -> float | None:
    """The number of a randomized bound, and the opposite one for its other end."""
    if manifest.procedure.bound != "randomized":
        return None
    u = 1.0 - stream(manifest.procedure.seed, index, Phase.BOUND).random()
    return u if place == 0 else 1.0 - u + 2.0**-53


def _top(row: Row) -> int:
    return max(range(len(row.select)), key=lambda k: (row.select[k], -k), default=0)


def _at(counts: tuple[int, ...], k: int) -> int:
    return counts[k] if k < len(counts) else 0
