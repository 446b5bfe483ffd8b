"""The suite of extremes: domains' ends, tails, flags, threads, wrong types, shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.domains import Domain
from rsbounds._numerics.extras import need
from rsbounds.schemes import Scheme
from rsbounds.testing._properties import Property, hold, quiet, require
from rsbounds.testing._truth import exceeds, takes_long
from rsbounds.testing._wrong import WRONG, flushed_denormals

TINY, LARGEST = 5e-324, 1.7976931348623157e308
NORMAL = 2.2250738585072014e-308
#: Numbers at which formulas change or end, of either sign.
ENDS = (
    *(0.0, TINY, NORMAL, 1e-300, 1e-160, 1e-17, 1e-9, 1e-3, 0.1),
    *(math.nextafter(0.5, 0), 0.5, math.nextafter(0.5, 1), 0.9, math.nextafter(1, 0)),
    *(1.0, math.nextafter(1, 2), 3.0, 6.0, 8.2, 8.3, 37.5, 38.5, 40.0, 1e4, 1e8),
    *(1e154, 1e300, 8.9e307, LARGEST, math.inf),
)
SCORES = tuple(sorted({*ENDS, *(-end for end in ENDS)}))
#: Whole numbers at which types and tables end.
WHOLE = (0, 1, 2, 3, 255, 256, 2**16, 2**31 - 1, 2**31, 2**53, 10**8)
THREADS = (1, 2, 8)
#: Pairs at which a radius is compared with an exact one that takes long to compute.
FEW_PAIRS = 2
#: What two evaluations of one radius may differ by, where one has fewer digits.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Extreme:
    """A scheme of extreme parameters, and the scores and distances it is asked for."""

    scheme: Scheme
    sigma: float
    scores: tuple[tuple[float, float | None], ...]
    distances: tuple[float, ...]
    direction: str = "transport"  # or "inverse": which of its maps is asked

    @classmethod
    def drawn(cls, scheme: Scheme, sigma: float, seed: int, reach: float) -> Self:
        """Twenty pairs of scores and four distances, at the ends and between."""
        rng = np.random.default_rng(seed)
        ends = rng.choice([z for z in SCORES if abs(z) <= reach], (10, 2))
        between = rng.uniform(-1.0, 1.0, (10, 2)) * min(reach, 40.0)
        pairs = np.concatenate([ends, between]).tolist()
        scores = tuple(
            (z_a, z_b if k % 2 else None) for k, (z_a, z_b) in enumerate(pairs)
        )
        distances = tuple(rng.choice(ENDS, 4).tolist())
        return cls(scheme, sigma, scores, distances)

    def radius(self, z_a: Any, z_b: Any = None) -> Any:
        return self.scheme.radius(z_a, self.sigma, z_b)

    def transport(self, z: Any, radius: Any) -> Any:
        return getattr(self.scheme, self.direction)(z, radius, self.sigma)

    @property
    def transports(self) -> bool:
        """Whether its noise is the same at every input."""
        return type(self.scheme).transport is not Scheme.transport

    @property
    def has_another_inverse(self) -> bool:
        """Whether its scheme states an inverse that is not its transport."""
        is_stated = type(self.scheme).inverse is not Scheme.inverse
        return is_stated and not self.scheme.self_inverse

    @property
    def firsts(self) -> list[float]:
        """The first scores, once each."""
        return sorted({z_a for z_a, _ in self.scores})

    def __str__(self) -> str:
        parameters = {**self.scheme.parameters}
        return f"{self.scheme.name} {parameters}, sigma {self.sigma!r}"


def extreme_schemes(scheme: Scheme) -> Any:
    """Schemes of the same class with parameters at the ends of their domains.

    Parameters
    ----------
    scheme : Scheme
        Whose parameters are changed, one or several; those without a domain stay.

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of schemes. Parameters that are refused together must be named by the error.
    """
    strategies: Any = need("hypothesis.strategies", "a suite of extremes")
    parameters = scheme.parameters
    optional = {
        name: _values(strategies, domain, parameters[name])
        for name, domain in type(scheme).domains.items()
        if name in parameters
    }
    drawn = strategies.fixed_dictionaries({}, optional=optional)
    made = drawn.map(partial(_made, scheme))
    return made.filter(lambda scheme: scheme is not None)


def _values(strategies: Any, domain: Domain, value: Any) -> Any:
    """Numbers of a domain, of the kind of one that is stated: its ends and others."""
    low, high = domain.low, domain.high
    if isinstance(value, int):
        inside = [end for end in (*WHOLE, low, high) if low <= end <= high < math.inf]
        return strategies.sampled_from([int(end) for end in inside] or [value])
    beside = math.nextafter(low, math.inf), math.nextafter(high, -math.inf)
    ends = [end for end in (*SCORES, low, high, *beside) if _is_inside(end, domain)]
    floats = strategies.floats(
        low,
        high,
        exclude_min=domain.closed in ("neither", "right"),
        exclude_max=domain.closed in ("neither", "left"),
    )
    return strategies.sampled_from(ends) | floats


def _is_inside(value: float, domain: Domain) -> bool:
    above = domain.low <= value if domain.closed in ("both", "left") else None
    below = value <= domain.high if domain.closed in ("both", "right") else None
    return (domain.low < value if above is None else above) and (
        value < domain.high if below is None else below
    )


def _made(scheme: Scheme, changes: Mapping[str, Any]) -> Scheme | None:
    """The scheme with other parameters; None where they are refused by name."""
    try:
        with quiet():
            return type(scheme).from_parameters({**scheme.parameters, **changes})
    except ValueError as error:
        names = "|".join(map(re.escape, type(scheme).domains))
        require(
            re.search(names, str(error)),
            f"scheme {scheme.name!r} with {dict(changes)} is refused without a name: "
            f"{error}",
        )
        return None


def check_extremes(
    scheme: Scheme,
    *,
    among: Any = None,
    sigma: float = 0.5,
    reach: float = math.inf,
    examples: int = 25,
) -> None:
    """Hold schemes of extreme parameters to what radii promise, at extreme scores.

    Radii are numbers >= 0 that are never above the exact one, where its law has one in
    :mod:`rsbounds.oracle`; they rise with the lead, raise no floating-point flag, and
    are the same on any number of threads. Transport is the same alone and in arrays of
    any type, order and size, 0 among them. With denormals flushed to 0 no radius is
    larger. A value of a wrong type is a ValueError that names the argument.

    Parameters
    ----------
    scheme : Scheme
        Of this package or your own.
    among : hypothesis.strategies.SearchStrategy, optional
        Of schemes to try; by default those of :func:`extreme_schemes`.
    sigma : float
        The level at which radii are asked for, where the level follows the input.
    reach : float
        The size of scores up to which radii are asked for, where those of larger ones
        take long.
    examples : int
        How many schemes are tried, each at some twenty pairs of scores.

    Raises
    ------
    AssertionError
        Naming the scheme with its parameters, the first property that fails, and the
        numbers.
    ImportError
        Without hypothesis and mpmath.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> from rsbounds.testing import check_extremes
    >>> check_extremes(schemes.gaussian(0.5), examples=3)
    >>> class Careless(schemes.Gaussian):
    ...     def radius(self, z_a, sigma, z_b=None):
    ...         return sigma * z_a  # too much for a runner-up, negative without a lead
    >>> try:
    ...     check_extremes(Careless({"sigma": 0.5}), examples=3)
    ... except AssertionError as error:
    ...     print(error)
    gaussian {...}, sigma ...: Radii are numbers >= 0, ...
    """
    hypothesis: Any = need("hypothesis", "a suite of extremes")
    strategies: Any = need("hypothesis.strategies", "a suite of extremes")

    def attempt(made: Scheme, seed: int) -> None:
        level = made.own_level
        case = Extreme.drawn(made, sigma if level is None else level, seed, reach)
        hypothesis.assume(_takes_the_level(case))
        hold(str(case), case, RADII)
        if case.transports:
            hold(str(case), case, TRANSPORT)
        if case.has_another_inverse:
            hold(str(case), replace(case, direction="inverse"), TRANSPORT)

    drawn = extreme_schemes(scheme) if among is None else among
    run: Any = hypothesis.given(drawn, strategies.integers(0, 2**32 - 1))(attempt)
    few: Any = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],  # the message has the numbers already
        report_multiple_bugs=False,
        print_blob=False,
    )
    few(run)()


def _takes_the_level(case: Extreme) -> bool:
    """Whether it has radii at all: parameters may not go with the level."""
    try:
        with quiet():
            case.radius(1.0)
    except ValueError as error:
        names = "|".join(map(re.escape, ("sigma", *type(case.scheme).domains)))
        named = re.search(names, str(error))
        require(named, f"{case}: refused without a name: {error}")
        return False
    return True


# --- radii


def are_numbers(case: Extreme) -> None:
    """Radii are numbers >= 0, 0 without a lead; NaN earns none."""
    for z_a, z_b in case.scores:
        with quiet():
            radius = case.radius(z_a, z_b)
        require(np.ndim(radius) == 0 and radius >= 0, f"{radius!r} {_at(z_a, z_b)}")
        if not z_a > (-z_a if z_b is None else z_b):
            require(radius == 0, f"{radius!r} without a lead {_at(z_a, z_b)}")
    for z_a, z_b in ((math.nan, None), (math.nan, -1.0), (2.0, math.nan)):
        try:
            with quiet():
                radius = case.radius(z_a, z_b)
        except ValueError:
            continue
        require(not radius > 0, f"{radius!r} {_at(z_a, z_b)}")


def are_at_most_the_exact_ones(case: Extreme) -> None:
    """Radii are at most the exact ones."""
    compared = 0
    for z_a, z_b in case.scores:
        with quiet():
            radius = case.radius(z_a, z_b)
        if takes_long(case.scheme):
            compared += 0 < radius < math.inf
            if compared > FEW_PAIRS:
                break
        require(
            not exceeds(case.scheme, case.sigma, radius, z_a, z_b),
            f"{radius!r} is above it {_at(z_a, z_b)}",
        )


def rise_with_the_lead(case: Extreme) -> None:
    """Radii do not fall where the first score rises."""
    before, at_before = 0.0, -math.inf
    for z_a in case.firsts:
        with quiet():
            radius = case.radius(z_a)
        # among denormal numbers a radius may have no digit, and be 0
        least = before if math.isinf(before) else before * (1 - ROUNDING) - NORMAL
        require(
            radius >= least,
            f"{before!r} at {at_before!r}, and {radius!r} at {z_a!r}",
        )
        before, at_before = radius, z_a


def raise_no_flags(case: Extreme) -> None:
    """Radii are the same where NumPy raises floating-point errors."""
    for z_a, z_b in case.scores:
        with quiet():
            expected = case.radius(z_a, z_b)
        try:
            with np.errstate(all="raise"):
                radius = case.radius(z_a, z_b)
        except FloatingPointError as error:
            raise AssertionError(f"{error} {_at(z_a, z_b)}") from None
        require(radius == expected, f"{radius!r}, quietly {expected!r}")


def grow_by_no_flush(case: Extreme) -> None:
    """No radius is larger where the processor takes denormals for 0."""
    with quiet():
        expected = [case.radius(*pair) for pair in case.scores]
        with flushed_denormals():
            radii = [_if_taken(case, *pair) for pair in case.scores]
    # compared when denormals are numbers again
    for pair, radius, whole in zip(case.scores, radii, expected, strict=True):
        holds = 0 <= radius <= whole
        if not holds:  # of other last digits
            holds = 0 <= radius <= whole * (1 + ROUNDING)
            holds &= not exceeds(case.scheme, case.sigma, radius, *pair)
        require(holds, f"{radius!r}, else {whole!r} {_at(*pair)}")


def _if_taken(case: Extreme, z_a: float, z_b: float | None) -> float:
    """A radius; 0 where a parameter that is taken for 0 is refused."""
    try:
        radius: float = case.radius(z_a, z_b)
        return radius
    except ValueError:
        return 0.0


def are_the_same_on_threads(case: Extreme) -> None:
    """Radii are the same whichever number of threads asks for them at once."""
    with quiet():
        expected = [case.radius(*pair) for pair in case.scores]
    for threads in THREADS:
        again = pickled(case.scheme)
        with ThreadPoolExecutor(threads) as pool:
            asked = partial(_asked, again, case.sigma)
            radii = list(pool.map(asked, case.scores))
        require(radii == expected, f"{radii}, and by {threads} threads {expected}")


def pickled(scheme: Scheme) -> Scheme:
    """A copy that has computed nothing yet."""
    import pickle

    made: Scheme = pickle.loads(pickle.dumps(scheme))
    return made


def _asked(scheme: Scheme, sigma: float, pair: tuple[float, float | None]) -> float:
    with quiet():
        return scheme.radius(pair[0], sigma, pair[1])


def refuse_wrong_types(case: Extreme) -> None:
    """A value of a wrong type is a ValueError that names the argument."""
    calls: dict[str, Callable[[Any], Any]] = {
        "z_a": lambda wrong: case.radius(wrong, -1.0),
        "sigma": lambda wrong: case.scheme.radius(1.0, wrong, -1.0),
        "z_b": lambda wrong: case.radius(1.0, wrong),
    }
    if case.transports:
        calls["z"] = lambda wrong: case.transport(wrong, 0.0)
        calls["radius"] = lambda wrong: case.transport(0.5, wrong)
    for name, call in calls.items():
        for kind, wrong in WRONG.items():
            require_named(name, partial(call, wrong), kind)


def require_named(name: str, call: Callable[[], Any], kind: str) -> None:
    """AssertionError unless a call answers, or its ValueError names the argument."""
    try:
        with quiet():
            call()
    except ValueError as error:
        named = re.search(rf"\b{name}\b|shapes must broadcast", str(error))
        require(named, f"{name} = {kind}: the error names another: {error}")
    except Exception as error:
        # whatever it is: it is none of the caller's
        what = f"{type(error).__name__}: {error}"
        raise AssertionError(f"{name} = {kind}: {what}") from error


RADII: tuple[Property[Extreme], ...] = (
    are_numbers,
    are_at_most_the_exact_ones,
    rise_with_the_lead,
    raise_no_flags,
    grow_by_no_flush,
    are_the_same_on_threads,
    refuse_wrong_types,
)


def _at(z_a: float, z_b: float | None) -> str:
    return f"at z_a = {z_a!r}" + ("" if z_b is None else f", z_b = {z_b!r}")


# --- transport


def _moved(case: Extreme) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
    """Scores down, distances across, and the ends of the intervals."""
    z = np.array(case.firsts)[:, None]
    distances = np.array(case.distances)
    with quiet():
        return z, distances, case.transport(z, distances)


def hold_the_score(case: Extreme) -> None:
    """Intervals hold the score that moves, and none is NaN."""
    z, _, (low, high) = _moved(case)
    room = 1e-9 * (1 + abs(z))
    with quiet():
        inside = (low <= z + room) & (z - room <= high)
    inside |= np.isinf(z) & (low <= high)
    for i, j in np.argwhere(~inside):
        raise AssertionError(f"{z[i, 0]!r} becomes [{low[i, j]!r}, {high[i, j]!r}]")


def are_the_same_alone(case: Extreme) -> None:
    """Arrays hold what each number has alone, with floating-point errors raised too."""
    z, distances, ends = _moved(case)
    for i, j in np.ndindex(len(z), len(distances)):
        with np.errstate(all="raise"):
            alone = case.transport(float(z[i, 0]), float(distances[j]))
        among = tuple(float(end[i, j]) for end in ends)
        # a search over an array may end a step later
        near = map(_is_near, among, map(float, alone))
        require(
            all(near), f"{z[i, 0]!r} within {distances[j]!r}: {among}, alone {alone}"
        )


def _is_near(first: float, second: float) -> bool:
    return first == second or abs(first - second) <= ROUNDING * (1 + abs(second))


def take_any_array(case: Extreme) -> None:
    """Any order, byte order and size of an array gives the same, 0 among them."""
    z, distances, (low, high) = _moved(case)
    wide = np.broadcast_to(z, low.shape)
    forms = {
        "in Fortran's order": np.asfortranarray(wide),
        "with gaps": np.repeat(wide, 2, axis=0)[::2],
        "backwards": wide[::-1].copy()[::-1],
        "in the other byte order": wide.astype(wide.dtype.newbyteorder()),
        "read-only": wide,
        "of long doubles": wide.astype(np.longdouble),
    }
    for form, scores in forms.items():
        with quiet():
            again = case.transport(scores, distances)
        same = np.array_equal(again[0], low) and np.array_equal(again[1], high)
        require(same, f"an array {form} gives {again}")
    for shape in ((0,), (0, 3), (3, 0)):
        with quiet():
            ends = case.transport(np.zeros(shape), 0.0)
        require(
            [np.shape(end) for end in ends] == [shape] * 2,
            f"an array of shape {shape} gives {ends}",
        )


TRANSPORT: tuple[Property[Extreme], ...] = (
    hold_the_score,
    are_the_same_alone,
    take_any_array,
)
