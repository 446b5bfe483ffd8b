"""Rows proved by ball arithmetic (python-flint's Arb): bounds on counts, and radii.

Every number is a ball that holds the true one, so a comparison that is true is a proof. A
radius of a two-point method is proved at both extremes of sigma: an offset u0, found in any way,
is shown to give the ball about the centre at least its budget under P0, and then what that ball
has under P1 bounds the worst case from above (the theory page on input-dependent smoothing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rsbounds.cli._tails import Arb, bits, exact, normal, offset, tail
from rsbounds.results import Manifest, Row

Parameters = Mapping[str, Any]
Two = tuple[Arb, tuple[Arb, Arb]]


def check(manifest: Manifest) -> None:
    """ValueError where rows of this kind can't be proved; ModuleNotFoundError without flint."""
    try:
        import flint  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "verify --rigorous needs python-flint; install it with: pip install python-flint"
        ) from None
    if manifest.method not in (*_FIXED, *_POINTS):
        covered = ", ".join((*_FIXED, *_POINTS))
        raise ValueError(f"--rigorous covers the methods {covered}; got {manifest.method}")
    bound = manifest.procedure.bound
    if bound != "clopper-pearson":
        raise ValueError(f"--rigorous covers the bound clopper-pearson; got {bound}")


def findings(row: Row, manifest: Manifest) -> Iterator[str]:
    """What of a row could not be proved."""
    import flint

    before = flint.ctx.prec
    try:
        flint.ctx.prec = bits(0)
        yield from _scores(row, manifest)
        if row.radius > 0 and not _radius(row, manifest):
            yield f"not proved: radius {row.radius}"
    finally:
        flint.ctx.prec = before


def _scores(row: Row, manifest: Manifest) -> Iterator[str]:
    alpha = manifest.procedure.alpha / (2 if manifest.procedure.runner_up else 1)
    known = (row.count, row.n, alpha)
    if not _bound(row.z_a, "z", *known):
        yield f"not proved: z_a {row.z_a}"
    if not (exact(row.p_a) <= normal(exact(row.z_a)) or _bound(row.p_a, "p", *known)):
        yield f"not proved: p_a {row.p_a}"
    if manifest.procedure.runner_up and row.z_b != -row.z_a:
        top = max(range(len(row.select)), key=lambda k: (row.select[k], -k), default=0)
        rest = max((c for k, c in enumerate(row.counts) if k != top), default=0)
        if not _bound(-row.z_b, "z", row.n - rest, row.n, alpha):
            yield f"not proved: z_b {row.z_b}"


def _bound(value: float, form: str, count: int, n: int, alpha: float) -> bool:
    """Whether P(Binomial(n, p) >= count) <= alpha at the bound that ``value`` is."""
    import flint

    from rsbounds.confidence import _rigorous

    return value == value and _rigorous._holds(flint, value, form, count, n, alpha)


def _radius(row: Row, manifest: Manifest) -> bool:
    z_a, z_b = exact(row.z_a), None if row.z_b == -row.z_a else exact(row.z_b)
    if manifest.method in _FIXED:
        reach = exact(row.sigma) * (z_a if z_b is None else (z_a - z_b) / 2)
        return bool(exact(row.radius) <= reach * _FIXED[manifest.method](manifest.parameters))
    import flint

    dim, point = exact(manifest.parameters["dim"]), _POINTS[manifest.method]

    def balls() -> tuple[Arb, Arb, tuple[Arb, Arb]]:
        sigma = exact(row.sigma)
        return sigma, *point(manifest.parameters, sigma, exact(row.radius))

    for k in (0, 1):
        flint.ctx.prec = bits(0)
        sigma, distance, ends = balls()
        if ends[k] != sigma:
            flint.ctx.prec = bits(float(_centre(distance, sigma, ends[k])))
            sigma, distance, ends = balls()
        known = (distance, sigma, ends[k], dim, z_a, z_b)
        if not (_below(*known, quick=True) or _below(*known, quick=False)):
            return False
    return True


def _centre(a: Arb, sigma0: Arb, sigma1: Arb) -> Arb:
    return a * sigma0 / abs((sigma0 - sigma1) * (sigma0 + sigma1))


def _below(
    a: Arb, sigma0: Arb, sigma1: Arb, dim: Arb, z_a: Arb, z_b: Arb | None, *, quick: bool
) -> bool:
    """Whether the worst cases at distance a leave the top class in the lead."""
    if sigma1 == sigma0:
        return bool(2 * a / sigma0 < (2 * z_a if z_b is None else z_a - z_b))
    if not (sigma1 > 0 and (sigma1 < sigma0 or sigma1 > sigma0)):
        return False
    first = _worst(a, -z_a, sigma0, sigma1, dim, quick)
    if first is None:
        return False
    if z_b is None:
        return bool(first(True) < 0.5)
    second = _worst(a, z_b, sigma0, sigma1, dim, quick)
    if second is None:
        return False
    return bool(first(True) < second(False) or second(True) < first(False))


def _worst(
    a: Arb, z: Arb, sigma0: Arb, sigma1: Arb, dim: Arb, quick: bool
) -> Callable[[bool], Arb] | None:
    """P1 (of True) or 1 - P1 (of False) of a set that has at least Phi(z) under P0.

    The set is a ball where sigma1 < sigma0, and the complement of one otherwise.
    """
    inside = bool(sigma1 < sigma0)
    s0 = _centre(a, sigma0, sigma1)
    u0 = offset(z, s0, dim, inside=inside, quick=quick)
    if z <= 0:
        enough = tail(u0, dim, s0, upper=not inside) >= normal(z)
    else:
        enough = tail(u0, dim, s0, upper=inside) <= normal(-z)
    if not enough:
        return None
    u1 = u0 * sigma0 / sigma1 + (a if inside else -a) / sigma1
    s1 = s0 * sigma1 / sigma0
    return lambda within: tail(u1, dim, s1, upper=inside != within)


def _shrink(parameters: Parameters) -> Arb:
    """From an l2 radius to that of the l_p ball inside."""
    norm = parameters.get("norm", 2.0)
    if norm <= 2:
        return exact(1.0)
    power = exact(0.5) - (0 if norm == float("inf") else 1 / exact(norm))
    return exact(parameters["dim"]) ** -power


_FIXED: Mapping[str, Callable[[Parameters], Arb]] = {
    "gaussian": _shrink,
    "anisotropic": lambda parameters: exact(parameters["inner"]),
}


def _semi_elastic(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    change = (exact(parameters["rate"]) * radius + exact(parameters.get("slack", 0.0))).exp()
    return radius, (sigma / change, sigma * change)


def _lipschitz(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    change, floor = exact(parameters["lip"]) * radius, exact(parameters["sigma_min"])
    low = sigma - change
    low = low if low > floor else floor if low <= floor else low.union(floor)
    slack = parameters.get("slack", 0.0)
    if not slack:
        return radius, (low, sigma + change)
    factor = exact(slack).exp()
    return radius, (low / factor, (sigma + change) * factor)


def _range(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    return radius, (exact(parameters["sigma_min"]), exact(parameters["sigma_max"]))


def _generator(parameters: Parameters, sigma: Arb, radius: Arb) -> Two:
    steps = 1 + exact(parameters["mean_lip"])
    reach = radius / exact(parameters["inner"]) + exact(parameters.get("shift", 0.0)) / steps
    _, ends = _lipschitz(parameters, sigma, reach)
    return steps * reach, ends


_POINTS: Mapping[str, Callable[[Parameters, Arb, Arb], Two]] = {
    "semi-elastic": _semi_elastic,
    "lipschitz": _lipschitz,
    "range": _range,
    "generator": _generator,
}
