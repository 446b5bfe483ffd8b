"""What radii are at most: closed forms and worst cases in mpmath, and enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from rsbounds._numerics.extras import need
from rsbounds.schemes import METHODS, Scheme

#: Decimal digits of what radii are compared with: of a lead of 1e-300 some are left.
DIGITS = 40
#: Changes up to which all outcomes of discrete noise are gone through.
FEW = 2
#: Scores from here on are taken for infinite.
FAR = 1e4
_HALF_WIDTH = ("uniform", "splitting")
#: Methods whose truth is one formula, whatever their parameters are.
_CLOSED = ("gaussian", "anisotropic", "correlated", "two-queries")
#: Those whose worst case is computed, digits and more for every power of ten of a lead.
_WORST_CASES = ("semi-elastic", "lipschitz", "range", "generator", "blocks")
WORST_DIGITS = 24
#: Leads and dimensions at which worst cases are computed: others take minutes.
LEAST_LEAD, LARGEST_DIMENSION = 1e-60, 1e6
_AFFINE_DIGITS = 15
#: Up to this size of scores the integrals over brightness and contrast have digits.
_AFFINE_SCORE = 6.0


def oracle() -> Any:
    """The functions in mpmath, loaded when they are asked for."""
    need("mpmath", "a suite")
    import rsbounds.oracle.certificates
    import rsbounds.oracle.discrete

    return rsbounds.oracle


def exceeds(
    scheme: Scheme, sigma: float, radius: float, z_a: float, z_b: float | None
) -> bool:
    """Whether a radius of two scores is above the exact one; False where none is known.

    Radii that count changes are compared up to ``FEW`` of them.
    """
    if not 0 < radius < math.inf:
        return False
    is_ours = METHODS.is_own(scheme.name)
    inner = getattr(scheme, "scheme", None)
    if isinstance(inner, Scheme):  # noise in the parameter of a transformation
        return exceeds(inner, sigma, radius, z_a, z_b)
    if is_ours and scheme.name in _DISCRETE:
        changes = int(min(radius, FEW))
        return not _is_certified(scheme, changes, _outward(z_a, z_b))
    if is_ours and scheme.name in _CLOSED:
        return bool(_excess(scheme, sigma, radius, z_a, z_b, DIGITS) > 0)
    if is_ours and scheme.name in _WORST_CASES:
        return _exceeds_its_worst_case(scheme, sigma, radius, z_a, z_b)
    if is_ours and scheme.name == "brightness-contrast":
        return _exceeds_a_contrasts(scheme.parameters, radius, z_a, z_b)
    largest = _largest(scheme, sigma, z_a, z_b) if is_ours else None
    return largest is not None and bool(largest < radius)


def takes_long(scheme: Scheme) -> bool:
    """Whether a comparison takes a good part of a second, or several."""
    return METHODS.is_own(scheme.name) and (
        scheme.name in _WORST_CASES or scheme.name == "brightness-contrast"
    )


def _excess(
    scheme: Scheme,
    sigma: float,
    radius: float,
    z_a: float,
    z_b: float | None,
    digits: int,
) -> Any:
    return oracle().certificates.excess(
        scheme.name, scheme.parameters, sigma, radius, z_a, z_b, dps=digits
    )


def _exceeds_its_worst_case(
    scheme: Scheme, sigma: float, radius: float, z_a: float, z_b: float | None
) -> bool:
    """Whether the worst classifier changes its class within the radius.

    Of blocks that are all discrete, within few changes.
    """
    first, second = _taken(z_a), None if z_b is None else _taken(z_b)
    gap = 2 * first if second is None else first - second
    far = scheme.parameters.get("dim", 1.0) > LARGEST_DIMENSION
    if far or not gap > LEAST_LEAD:
        return False
    if scheme.whole:
        radius = min(radius, FEW)
    lost = max(0, -math.floor(math.log10(gap))) if gap < 1 else 0
    digits = WORST_DIGITS + lost
    return bool(_excess(scheme, sigma, radius, first, second, digits) > 0)


def _exceeds_a_contrasts(
    parameters: Mapping[str, Any], radius: float, z_a: float, z_b: float | None
) -> bool:
    """Whether the class is lost at no contrast, or at one of both ends."""
    from mpmath import mp

    spread = parameters["sigma_contrast"]
    second = -z_a if z_b is None else z_b
    if not max(abs(z_a), abs(second)) <= _AFFINE_SCORE:
        return False
    with mp.workdps(DIGITS):
        end = mp.mpf(parameters["contrast"]) / mp.mpf(spread)
        reach = mp.mpf(radius) / mp.mpf(parameters["sigma_brightness"])
        gaps = [
            oracle().affine_gap(z_a, second, shift, reach, spread, dps=_AFFINE_DIGITS)
            for shift in {mp.zero, end, -end}
        ]
        return not min(gaps) > -(mp.mpf(10) ** -_AFFINE_DIGITS)


def _largest(scheme: Scheme, sigma: float, z_a: float, z_b: float | None) -> Any:
    """The exact radius of a law with a formula; None for others."""
    if scheme.name == "laplace":
        return laplace_radius(z_a, sigma, z_b)
    if scheme.name in _HALF_WIDTH:
        return uniform_radius(z_a, sigma, z_b)
    if scheme.name == "exponential":
        return exponential_radius(z_a, scheme.parameters["rate"], z_b)
    return None


def uniform_radius(z_a: float, half_width: float, z_b: float | None) -> Any:
    """The l_1 distance at which half-spaces across an axis change the class."""
    from mpmath import mp

    with mp.workdps(DIGITS):
        return mp.mpf(half_width) * lead(z_a, z_b)


def laplace_radius(z_a: float, scale: float, z_b: float | None) -> Any:
    """The l_1 radius, with the digits that a small lead takes."""
    from mpmath import mp

    first, second = _taken(z_a), None if z_b is None else _taken(z_b)
    gap = lead(first, second)
    # of quantiles that are that close the oracle loses as many
    lost = -math.floor(mp.log10(gap)) if 0 < gap < 1 else 0
    return oracle().laplace_radius(first, scale, second, dps=DIGITS + lost)


def exponential_radius(z_a: float, rate: float, z_b: float | None) -> Any:
    """The distance at which what is left of the least likely events is no lead."""
    from mpmath import mp

    gap = lead(z_a, z_b)
    ndtr = oracle().ndtr
    with mp.workdps(DIGITS):
        # the noise at x + delta is that at x but for a share 1 - exp(-rate delta)
        if gap < 0.5:
            return -mp.log1p(-gap) / mp.mpf(rate)
        second = _taken(-z_a if z_b is None else z_b)
        rest = ndtr(-_taken(z_a), dps=DIGITS) + ndtr(second, dps=DIGITS)
        return -mp.log(rest) / mp.mpf(rate)


def lead(z_a: float, z_b: float | None) -> Any:
    """Phi(z_a) - Phi(z_b), to ``DIGITS`` digits of itself."""
    from mpmath import mp

    z_a, second = _taken(z_a), _taken(-z_a if z_b is None else z_b)
    if min(z_a, second) > 0:  # in the tail that is smaller
        z_a, second = -second, -z_a
    ndtr = oracle().ndtr
    digits = DIGITS
    while True:
        with mp.workdps(digits):
            gap = ndtr(z_a, dps=digits) - ndtr(second, dps=digits)
            room = mp.mpf(10) ** (DIGITS - digits) * ndtr(z_a, dps=digits)
            if gap > room or digits > 800 or z_a <= second:
                return gap
        digits *= 2


def _taken(z: float) -> float:
    """A score; infinite where the tail beyond has ten million digits."""
    return z if abs(z) < FAR else math.copysign(math.inf, z)


# --- discrete noise: all outcomes


Cases = Sequence[Any]


def _is_certified(
    scheme: Scheme, changes: int, p: tuple[Fraction, Fraction | None]
) -> bool:
    """Whether the class leads at inputs with so many changes, of which few are tried.

    True where nothing here goes through them.
    """
    certified = oracle().discrete.certified
    cases = _DISCRETE[scheme.name](scheme.parameters, changes)
    return all(certified(pair, *p) for pair in cases if pair)


def _outward(z_a: float, z_b: float | None) -> tuple[Fraction, Fraction | None]:
    """Probabilities that are a little further apart than those of two scores."""
    first = _probability(z_a, 1)
    return first, None if z_b is None else _probability(z_b, -1)


def _probability(z: float, side: int) -> Fraction:
    """Phi(z), off by 1e-30 of the smaller tail upward (1) or downward (-1)."""
    if abs(z) > 100:  # the rest has no digits that matter
        return Fraction(int(z > 0))
    tail = oracle().ndtr(-abs(z), dps=DIGITS)
    _, mantissa, exponent, _ = tail._mpf_
    exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    upward = side if z <= 0 else -side
    moved = exact * (1 + upward * Fraction(1, 10**30))
    return moved if z <= 0 else 1 - moved


def _categorical(parameters: Mapping[str, Any], changes: int) -> list[Cases]:
    values = parameters["values"]
    if values**changes > 64:
        return []
    keep = Fraction(parameters["keep"])
    return [oracle().discrete.categorical_cases(keep, values, changes, changes)]


def _flips(parameters: Mapping[str, Any], changes: int) -> list[Cases]:
    chances = Fraction(parameters["add"]), Fraction(parameters["delete"])
    x = [0] * changes + [1] * changes
    by_kind = oracle().discrete.flip_cases(*chances, x)
    # all sets of as many changes of each kind are alike: one of them
    return [[by_kind[added, changes - added][0]] for added in range(changes + 1)]


def _mask(parameters: Mapping[str, Any], changes: int) -> list[Cases]:
    mask_cases = oracle().discrete.mask_cases
    if "keep_probability" in parameters:
        keep = Fraction(parameters["keep_probability"])
        return [mask_cases(changes, keep, changes)]
    if not changes <= parameters["dim"] <= 8:
        return []
    keep = Fraction(parameters["keep_count"])
    return [mask_cases(parameters["dim"], keep, changes)[:1]]


def _deletion(parameters: Mapping[str, Any], changes: int) -> list[Cases]:
    delete = Fraction(parameters["delete"])
    cases = oracle().discrete.deletion_cases
    return [cases(delete, x, min(changes, 1)) for x in ((), (0,), (0, 1))]


_DISCRETE: Mapping[str, Callable[[Mapping[str, Any], int], list[Cases]]] = {
    "categorical": _categorical,
    "flips": _flips,
    "mask": _mask,
    "deletion": _deletion,
}
