"""The suite of schemes: radii against exact classifiers, transport, noise and rows."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rsbounds._numerics.extras import need
from rsbounds.answers import TopClass
from rsbounds.certificate import ANOTHERS, SCOPES, norm_of
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.sampling import Sampler
from rsbounds.schemes import METHODS, Scheme, check_entry, is_own
from rsbounds.testing._properties import Property, hold, quiet, refuses, require
from rsbounds.testing._rows import ROWS, Rows, inputs_near, linear

#: Normal scores of probabilities, in increasing order.
SCORES = (-math.inf, -6.0, -1.0, -1e-3, 0.0, 1e-6, 0.1, 0.5, 1.0, 2.0, 3.7, 6.0)
#: Pairs of scores at which radii are compared with exact classifiers.
PAIRS = ((0.5, None), (2.0, None), (3.0, 1.0), (-0.5, -1.5))
#: What two roundings outward may take from a number: twice the error bound of radii.
ROUNDING = 2e-11
#: The probability that a comparison of frequencies is wrong.
LEVEL = 1e-9
SAMPLES = 20_000
#: Decimal digits of exact radii, and of the worst classifiers, which take longer.
DIGITS, FEW_DIGITS = 40, 15


def oracle() -> Any:
    """The functions in mpmath, loaded when they are asked for."""
    need("mpmath", "a suite")
    from rsbounds import oracle

    return oracle


@dataclass(frozen=True)
class SchemeCase:
    """A scheme, an input, and what the caller says of its noise."""

    scheme: Scheme
    x: NDArray[np.float32]
    fixed: Mapping[str, Any] | None
    draws: Callable[[Any], Sampler] | None

    @cached_property
    def sigma(self) -> float:
        """The noise level at the input."""
        return self.scheme.sigma(self.x)

    @property
    def dim(self) -> float:
        """How many numbers an input may have."""
        dim: float = self.scheme.parameters.get("dim", self.x.size)
        return dim

    @property
    def reaches(self) -> NDArray[np.float64]:
        """Distances at which transport is looked at."""
        if self.scheme.whole:
            return np.array(CHANGES)
        return np.array(REACHES) * self.sigma

    @property
    def steps(self) -> list[tuple[float, float]]:
        """Pairs of distances that are gone one after the other."""
        if self.scheme.whole:
            return [(1.0, 1.0), (1.0, 3.0)]
        return [(0.3 * self.sigma, 0.7 * self.sigma), (self.sigma, 2 * self.sigma)]

    def radius(self, z_a: float, z_b: float | None = None) -> float:
        """The radius at the input."""
        with quiet():
            return self.scheme.radius(z_a, self.sigma, z_b)

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        """What scores become within a radius."""
        with quiet():
            return self.scheme.transport(z, radius, self.sigma)

    @cached_property
    def transports(self) -> bool:
        """Whether its noise is the same at every input."""
        return type(self.scheme).transport is not Scheme.transport

    @cached_property
    def sampler_of(self) -> Callable[[Any], Sampler] | None:
        """What makes a sampler of a model; None where nothing draws the noise."""
        if self.draws is not None:
            return self.draws
        drawn_elsewhere = (
            self.scheme.law
            and self.scheme.drawn is None
            and type(self.scheme).sampler is Scheme.sampler
        )
        return None if drawn_elsewhere else self.scheme.sampler

    def half_space_radius(self, z_a: float, z_b: float | None) -> Any:
        """The distance at which half-spaces change the class; None for other laws.

        Under Gaussian noise that is Cohen's radius, whatever the level is elsewhere:
        the two probabilities are equal in the middle of the two planes.
        """
        if self.scheme.law == "":
            return oracle().gaussian_radius(
                z_a, self.sigma, z_b, norm=self.scheme.norm, dim=self.dim, dps=DIGITS
            )
        if self.scheme.law == "laplace":  # along an axis
            return oracle().laplace_radius(z_a, self.sigma, z_b, dps=DIGITS)
        if self.scheme.name in ("uniform", "splitting"):  # along an axis
            return uniform_radius(z_a, self.sigma, z_b)
        return None


def uniform_radius(z_a: float, half_width: float, z_b: float | None) -> Any:
    """The l_1 distance at which half-spaces across an axis change the class."""
    ndtr = oracle().ndtr
    first = ndtr(z_a, dps=DIGITS)
    second = ndtr(-z_a if z_b is None else z_b, dps=DIGITS)
    return half_width * (first - second)


def check_scheme(
    scheme: Scheme,
    *,
    x: Any = None,
    fixed: Mapping[str, Any] | None = None,
    sampler: Callable[[Any], Sampler] | None = None,
    model: Callable[[Any], Any] | None = None,
    data: Any = None,
) -> None:
    """Hold a scheme to what every scheme promises.

    Parameters
    ----------
    scheme : Scheme
        As it certifies, with its noise level.
    x : array_like, optional
        An input at which the level is looked at; by default 153/255 everywhere, of as
        many numbers as the parameter ``dim`` says, or four. Noise of whole numbers
        needs one of whole numbers, the largest of which others are drawn up to.
    fixed : mapping, optional
        Changes of the parameters under which the noise is the same everywhere, so that
        the radius must be Cohen's: ``{"rate": 0.0}``. Nothing to be changed for fixed
        noise: ``{}``.
    sampler : callable, optional
        Makes the sampler of a model, a function of a NumPy batch, where
        ``scheme.sampler`` can't.
    model : callable, optional
        A function of a batch of copies of at least two classes, where such batches are
        no arrays: by default one that is linear.
    data : tuple of array_like, optional
        Inputs and labels of a few rows, where inputs are of several kinds: by default
        they are drawn, in the range of ``x``.

    Raises
    ------
    AssertionError
        Naming the scheme, the first property that fails, and the numbers.
    ImportError
        Without mpmath and python-flint.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> from rsbounds.testing import check_scheme
    >>> check_scheme(schemes.gaussian(0.5), fixed={})
    >>> class Bold(schemes.Gaussian):
    ...     def radius(self, z_a, sigma, z_b=None):
    ...         return 1.01 * super().radius(z_a, sigma, z_b)
    >>> check_scheme(Bold({"sigma": 0.5}))
    Traceback (most recent call last):
    AssertionError: scheme 'gaussian': No half-space changes the class within ...
    """
    if not isinstance(scheme, Scheme):
        raise AssertionError(f"a scheme must be a Scheme; got {scheme!r:.80}")
    if x is None:
        size = int(min(scheme.parameters.get("dim", 4), 4096))
        x = np.full(size, 153 / 255)  # on the grid of sound noise
    given = np.asarray(x)
    if given.dtype.kind == "f":
        given = given.astype(np.float32)
    case = SchemeCase(scheme, given, fixed, sampler)
    entry = f"scheme {scheme.name!r}"
    hold(entry, case, SCHEME)
    if case.transports:
        hold(entry, case, TRANSPORT)
    if case.sampler_of is None:
        return
    function = linear(case.x.size) if model is None else model
    numbers: dict[str, Any] = {}
    if scheme.outcomes is not None:
        hold(entry, case, OUTCOMES)
        numbers = {"n": scheme.outcomes, "bound": "exact"}
    else:
        hold(entry, case, CHANCES if scheme.whole else NOISE)
    data = inputs_near(case.x, function) if data is None else data
    with Rows(TopClass(scheme), case.sampler_of(function), data, numbers) as rows:
        hold(entry, rows, ROWS)


# --- what it says of itself


def is_an_entry(case: SchemeCase) -> None:
    """It can stand in the list of methods."""
    check_entry(type(case.scheme))
    norm_of(case.scheme.norm)
    require(isinstance(case.scheme.law, str), f"law is {case.scheme.law!r}")


def states_its_scope(case: SchemeCase) -> None:
    """Its scope is one of SCOPES, of a class outside rsbounds another package's."""
    scope = case.scheme.scope
    require(scope in SCOPES, f"scope is {scope!r}")
    if not is_own(type(case.scheme)):
        require(scope == ANOTHERS, f"scope is {scope!r}")


def has_a_level(case: SchemeCase) -> None:
    """Its noise level is a positive number, the same whenever it is asked for."""
    levels = [case.scheme.sigma(case.x) for _ in range(2)]
    require(0 < levels[0] < math.inf, f"sigma(x) is {levels[0]}")
    require(levels[0] == levels[1], f"sigma(x) is {levels[0]} and then {levels[1]}")


def survives_pickling(case: SchemeCase) -> None:
    """A worker gets the same scheme by pickle."""
    again: Scheme = pickle.loads(pickle.dumps(case.scheme))
    names = ("name", "scope", "norm", "law", "sound", "outcomes", "parameters")
    for name in names:
        before, after = getattr(case.scheme, name), getattr(again, name)
        require(before == after, f"{name} is {before!r} and then {after!r}")
    require(again.sigma(case.x) == case.sigma, "sigma(x) is another one")
    same_radii(case, again)


def is_made_of_its_parameters(case: SchemeCase) -> None:
    """from_parameters gives the same radii of what a manifest holds."""
    stated = json.loads(json.dumps(dict(case.scheme.parameters)))
    same_radii(case, type(case.scheme).from_parameters(stated))


def same_radii(case: SchemeCase, other: Scheme) -> None:
    for z_a, z_b in PAIRS:
        before, after = case.radius(z_a, z_b), other.radius(z_a, case.sigma, z_b)
        where = at(z_a, z_b)
        require(before == after, f"the radius is {before} and then {after} {where}")


def refuses_damaged_parameters(case: SchemeCase) -> None:
    """A parameter that is missing or out of its domain is named by a ValueError."""
    scheme = type(case.scheme)
    stated = case.scheme.parameters
    for name, domain in scheme.domains.items():
        wrong = [math.nan, "text", None, math.nextafter(domain.low, -math.inf)]
        if domain.closed in ("neither", "right"):
            wrong.append(domain.low)
        for value in wrong:
            damaged = {**stated, name: value}

            def make(damaged: Mapping[str, Any] = damaged) -> Scheme:
                return scheme.from_parameters(damaged)

            refuses(name, make, f"{name} = {value!r}")
        if domain.required:
            others = {key: value for key, value in stated.items() if key != name}

            def without(others: Mapping[str, Any] = others) -> Scheme:
                return scheme.from_parameters(others)

            refuses(name, without, f"parameters without {name}")


# --- its radius


def at(z_a: float, z_b: float | None) -> str:
    return f"at z_a = {z_a}" + ("" if z_b is None else f", z_b = {z_b}")


def gives_radii(case: SchemeCase) -> None:
    """A radius is one number >= 0, or inf."""
    for z_a in SCORES:
        for z_b in (None, -1.0, 0.0):
            radius = case.radius(z_a, z_b)
            require(
                np.ndim(radius) == 0 and radius >= 0,
                f"the radius is {radius!r} {at(z_a, z_b)}",
            )


def counts_changes(case: SchemeCase) -> None:
    """A radius that counts changes is a whole number."""
    if case.scheme.whole:
        for z_a in SCORES:
            radius = case.radius(z_a)
            whole = radius == math.inf or radius == int(radius)
            require(whole, f"the radius is {radius!r} {at(z_a, None)}")


def certifies_nothing_without_a_lead(case: SchemeCase) -> None:
    """The radius is 0 where z_a <= z_b."""
    for z_b in SCORES:
        for z_a in SCORES:
            if z_a <= z_b:
                radius = case.radius(z_a, z_b)
                require(radius == 0, f"the radius is {radius} {at(z_a, z_b)}")
    for z_a in SCORES:
        if z_a <= 0:
            radius = case.radius(z_a)
            require(radius == 0, f"the radius is {radius} {at(z_a, None)}")


def takes_the_rest_for_the_runner_up(case: SchemeCase) -> None:
    """Without z_b the radius is that of z_b = -z_a."""
    for z_a in SCORES:
        alone, both = case.radius(z_a), case.radius(z_a, -z_a)
        near = alone == both or abs(alone - both) <= ROUNDING * abs(both)
        require(near, f"the radius is {alone}, with z_b {both} {at(z_a, None)}")


def grows_with_the_lead(case: SchemeCase) -> None:
    """The radius does not fall where z_a rises or z_b falls."""
    for z_b in (None, -2.0, 0.5):
        radii = [(z_a, case.radius(z_a, z_b)) for z_a in SCORES]
        require_rising(radii, f"with z_b = {z_b}")
    for z_a in (1.0, 2.0):
        falling = [(z_b, case.radius(z_a, z_b)) for z_b in reversed(SCORES)]
        require_rising(falling, f"by z_b at z_a = {z_a}")


def require_rising(
    values: Iterable[tuple[float, float]], where: str, room: float = 0.0
) -> None:
    """AssertionError unless values rise with a number, as far as rounding goes."""
    for (at_before, before), (at_after, after) in pairwise(values):
        least = before if math.isinf(before) else before - ROUNDING * abs(before) - room
        require(
            after >= least,
            f"{before} at {at_before} and {after} at {at_after}, {where}",
        )


def passes_no_nan(case: SchemeCase) -> None:
    """A score that is NaN earns no radius: NaN, or a ValueError."""
    for z_a, z_b in ((math.nan, None), (math.nan, -1.0), (2.0, math.nan)):
        try:
            radius = case.radius(z_a, z_b)
        except ValueError:
            continue
        require(not radius > 0, f"the radius is {radius} {at(z_a, z_b)}")


def refuses_levels_that_are_none(case: SchemeCase) -> None:
    """A noise level that is not a positive number earns no radius."""
    for sigma in (0.0, -1.0, math.nan):
        try:
            with quiet():
                radius = case.scheme.radius(2.0, sigma)
        except ValueError:
            continue
        require(not radius > 0, f"the radius is {radius} at sigma = {sigma}")


def is_broken_by_no_half_space(case: SchemeCase) -> None:
    """No half-space changes the class within the radius."""
    pairs = [(z, None) for z in SCORES if 0 < z < math.inf]
    for z_a, z_b in (*pairs, *PAIRS):
        breaks = case.half_space_radius(z_a, z_b)
        if breaks is None:
            return
        radius = case.radius(z_a, z_b)
        require(
            breaks >= radius,  # exactly: both are what they are
            f"the radius is {radius!r}, a half-space needs {float(breaks)!r} "
            f"{at(z_a, z_b)}",
        )


def is_broken_by_no_ball(case: SchemeCase) -> None:
    """No classifier changes the class at an input nearby, at the level there.

    The worst ones are balls and their complements (Neyman and Pearson).
    """
    if case.scheme.law or case.scheme.norm != 2:
        return
    for z_a, z_b in ((1.0, None), (2.0, 0.5)):
        radius = case.radius(z_a, z_b)
        if not 0 < radius < math.inf:
            continue
        for direction in directions(case.x.size):
            nearby = case.x + radius * direction
            try:
                level = case.scheme.sigma(nearby)
            except ValueError:  # such as an input off the grid
                continue
            distance = float(np.linalg.norm(nearby - case.x.astype(np.float64)))
            if distance > radius:  # by rounding
                distance = radius
            ends = [-z_a] if z_b is None else [-z_a, z_b]
            worst = [
                oracle().worst_score(
                    distance, z, case.sigma, level, case.x.size, dps=FEW_DIGITS
                )
                for z in ends
            ]
            crossed = float(sum(worst))
            require(
                crossed <= 1e-9,
                f"at distance {distance} with sigma {case.sigma} and {level} the "
                f"scores cross by {crossed}; the radius is {radius} {at(z_a, z_b)}",
            )


def directions(size: int) -> Iterator[NDArray[np.float64]]:
    """A few unit vectors: an axis, both ways along all."""
    axis = np.zeros(size)
    axis[0] = 1.0
    yield axis
    for sign in (1.0, -1.0):
        yield np.full(size, sign / math.sqrt(size))


def is_at_most_the_oracles(case: SchemeCase) -> None:
    """The radius is at most that of an independent evaluation in mpmath."""
    certificates = oracle().certificates
    name = case.scheme.name
    if not METHODS.is_own(name) or name not in certificates.METHODS:
        return
    parameters = case.scheme.parameters
    for z_a, z_b in ((2.0, None), (3.0, 1.0)):
        radius = case.radius(z_a, z_b)
        if not 0 < radius < math.inf:
            continue
        excess = float(
            certificates.excess(
                name, parameters, case.sigma, radius, z_a, z_b, dps=FEW_DIGITS
            )
        )
        require(
            excess <= 0,
            f"the radius is {radius!r}, in excess by {excess} {at(z_a, z_b)}",
        )


def reduces_to_cohens(case: SchemeCase) -> None:
    """Where the noise is the same everywhere, the radius is Cohen's."""
    if case.fixed is None:
        return
    scheme = type(case.scheme).from_parameters({**case.scheme.parameters, **case.fixed})
    for z_a, z_b in PAIRS:
        with quiet():
            radius = scheme.radius(z_a, case.sigma, z_b)
        expected = case.half_space_radius(z_a, z_b)
        require(
            expected is not None, f"Cohen's radius is not of the law {scheme.law!r}"
        )
        require(
            abs(radius - float(expected)) <= 1e-9 * float(expected),
            f"the radius is {radius}, Cohen's {float(expected)} {at(z_a, z_b)}",
        )


SCHEME: tuple[Property[SchemeCase], ...] = (
    is_an_entry,
    states_its_scope,
    has_a_level,
    is_made_of_its_parameters,
    refuses_damaged_parameters,
    gives_radii,
    counts_changes,
    certifies_nothing_without_a_lead,
    takes_the_rest_for_the_runner_up,
    grows_with_the_lead,
    passes_no_nan,
    refuses_levels_that_are_none,
    is_broken_by_no_half_space,
    is_broken_by_no_ball,
    is_at_most_the_oracles,
    reduces_to_cohens,
    survives_pickling,
)


# --- transport, where the noise is the same at every input

REACHES = (0.0, 1e-3, 0.3, 1.0, 5.0)  # distances, in noise levels
CHANGES = (0.0, 1.0, 2.0, 3.0, 5.0)  # distances that count changes
FINITE = tuple(z for z in SCORES if math.isfinite(z))


def rests_at_distance_0(case: SchemeCase) -> None:
    """Within distance 0 a score stays where it is."""
    for z in FINITE:
        low, high = case.transport(z, 0.0)
        near = z - 1e-9 * (1 + abs(z)) <= low <= z <= high <= z + 1e-9 * (1 + abs(z))
        require(near, f"{z} becomes [{low}, {high}]")


def moves_further_with_the_distance(case: SchemeCase) -> None:
    """Intervals grow with the distance and rise with the score."""
    z = np.array(FINITE)[:, None]
    reaches = case.reaches.tolist()
    low, high = case.transport(z, case.reaches)
    for i, score in enumerate(FINITE):
        where = f"ends of {score} by the distance"
        require_rising(zip(reaches, -low[i], strict=True), where, ROUNDING)
        require_rising(zip(reaches, high[i], strict=True), where, ROUNDING)
    for j, reach in enumerate(reaches):
        for end in (low, high):
            rising = zip(FINITE, end[:, j], strict=True)
            require_rising(rising, f"within {reach} by the score", ROUNDING)


def moves_as_far_by_steps(case: SchemeCase) -> None:
    """Two steps reach at least as far as one of their sum."""
    for z in FINITE:
        for first, second in case.steps:
            once, _ = case.transport(z, first + second)
            midway, _ = case.transport(z, first)
            twice, _ = case.transport(midway, second)
            near = math.isfinite(once) and twice <= once + 1e-9 * (1 + abs(once))
            same = twice == once or near
            require(same, f"{z} becomes {once} and by steps {twice}")


def holds_what_half_spaces_do(case: SchemeCase) -> None:
    """No half-space moves a score further than the interval."""
    for z in FINITE:
        for distance in case.reaches[1:].tolist():
            low, high = case.transport(z, distance)
            # planes of these scores are that far apart: their radius is half of it
            below = case.half_space_radius(z, float(low))
            above = case.half_space_radius(float(high), z)
            if below is None or above is None:
                return
            for end, half in ((low, below), (high, above)):
                if math.isinf(end):
                    continue  # the event may vanish, further away than it takes
                require(
                    half >= distance / 2,
                    f"{z} becomes {end} within {distance}, and a half-space moves it "
                    f"so far within {2 * float(half)!r}",
                )


def agrees_with_the_radius(case: SchemeCase) -> None:
    """Within the radius the intervals of both scores do not cross."""
    if not case.scheme.convex:
        return  # the ends may be of changes of different kinds, which are one in radii
    for z_a, z_b in PAIRS:
        radius = case.radius(z_a, z_b)
        low, _ = case.transport(z_a, radius)
        _, high = case.transport(-z_a if z_b is None else z_b, radius)
        require(
            low >= high - 1e-9 * (1 + abs(z_a)),
            f"at the radius {radius} they are {low} and {high} {at(z_a, z_b)}",
        )


def mirrors(case: SchemeCase) -> None:
    """What holds of an event holds of its complement."""
    for z in FINITE:
        distance = case.reaches[3]
        low, high = case.transport(z, distance)
        mirrored_low, mirrored_high = case.transport(-z, distance)
        same = (low, high) == (-mirrored_high, -mirrored_low)
        require(
            same, f"{z} becomes [{low}, {high}], {-z} [{mirrored_low}, {mirrored_high}]"
        )


def broadcasts(case: SchemeCase) -> None:
    """Arrays of scores and distances broadcast, each as it would be alone."""
    z = np.array(FINITE)[:, None]
    radius = case.reaches
    low, high = case.transport(z, radius)
    shape = (len(FINITE), len(radius))
    require(np.shape(low) == np.shape(high) == shape, f"shape {np.shape(low)}")
    for i, j in np.ndindex(*shape):
        alone = case.transport(float(z[i, 0]), float(radius[j]))
        among = low[i, j], high[i, j]
        require(
            among == tuple(map(float, alone)), f"{among} among others, {alone} alone"
        )


def refuses_distances_that_are_none(case: SchemeCase) -> None:
    """Transport passes no NaN, and refuses distances and levels out of their domain."""
    for z, radius in ((math.nan, 0.1), (1.0, math.nan)):
        try:
            ends = case.transport(z, radius)
        except ValueError:
            continue
        require(np.isnan(ends).all(), f"z = {z}, radius = {radius} gives {ends}")
    refuses("radius", lambda: case.transport(1.0, -0.1), "radius = -0.1")
    for sigma in (0.0, -1.0, math.nan, math.inf):

        def moved(sigma: float = sigma) -> Any:
            return case.scheme.transport(1.0, 0.1, sigma)

        refuses("sigma", moved, f"sigma = {sigma}")


TRANSPORT: tuple[Property[SchemeCase], ...] = (
    rests_at_distance_0,
    moves_further_with_the_distance,
    moves_as_far_by_steps,
    holds_what_half_spaces_do,
    agrees_with_the_radius,
    mirrors,
    broadcasts,
    refuses_distances_that_are_none,
)


# --- its noise


def step_of(case: SchemeCase) -> NDArray[np.float64]:
    """A step of length 1 in the scheme's norm that goes farthest from a plane."""
    axis = np.zeros(case.x.size)
    axis[0] = 1.0
    norm = case.scheme.norm
    if isinstance(norm, str) or norm <= 2:
        return axis
    return np.full(case.x.size, case.x.size ** (-1 / norm))


def frequencies(case: SchemeCase, at_input: Any) -> tuple[float, float]:
    """Bounds, by samples, of the score of a half-space one level away from ``x``."""
    step = step_of(case)
    normal = step / np.linalg.norm(step)
    centre = case.x.ravel().astype(np.float64)

    def sides(batch: Any) -> NDArray[np.float64]:
        away = (np.asarray(batch).reshape(len(batch), -1) - centre) @ normal
        return np.stack([case.sigma - away, away - case.sigma], axis=1)

    assert case.sampler_of is not None
    sampler = case.sampler_of(sides)
    point = np.asarray(at_input, dtype=np.float32).reshape(case.x.shape)
    generator = np.random.default_rng(20_260_101)
    counts = sampler(point, case.scheme.sigma(point), SAMPLES, generator)
    inside = int(np.asarray(counts)[0])
    low = float(lower_bound(inside, SAMPLES, LEVEL, scores=True))
    high = float(upper_bound(inside, SAMPLES, LEVEL, scores=True))
    return low, high


def draws_its_own_law(case: SchemeCase) -> None:
    """Samples fall beyond a plane as often as the law of the noise says."""
    require(
        getattr(case.sampler_of(lambda b: b), "law", "") == case.scheme.law,  # type: ignore[misc]
        f"the sampler's law is not the scheme's, {case.scheme.law!r}",
    )
    low, high = frequencies(case, case.x)
    if case.scheme.law == "":
        require(low <= 1 <= high, f"the score 1 was drawn as in [{low}, {high}]")


def samples_obey_the_radius(case: SchemeCase) -> None:
    """Samples at the edge of the radius still fall on the class."""
    low, _ = frequencies(case, case.x)
    reach = 0.999 * case.radius(low)
    nearby = case.x.ravel() + reach * step_of(case)
    try:
        _, high = frequencies(case, nearby)
    except ValueError:  # such as an input off the grid
        return
    require(high >= 0, f"the score at distance {reach} was drawn as at most {high}")


def samples_obey_the_transport(case: SchemeCase) -> None:
    """Samples at a distance fall on a class as often as transport allows."""
    if not case.transports:
        return
    low, high = frequencies(case, case.x)
    for reach in (0.5, 1.5):
        distance = reach * case.sigma
        nearby = case.x.ravel() + distance * step_of(case)
        seen_low, seen_high = frequencies(case, nearby)
        least, _ = case.transport(low, distance)
        _, most = case.transport(high, distance)
        require(
            seen_high >= least and seen_low <= most,
            f"at distance {distance} the score was drawn as in "
            f"[{seen_low}, {seen_high}]; transport allows [{least}, {most}]",
        )


NOISE: tuple[Property[SchemeCase], ...] = (
    draws_its_own_law,
    samples_obey_the_radius,
    samples_obey_the_transport,
)


# --- noise that changes coordinates or elements: what is counted is the first one


def kept_first(case: SchemeCase, nearby: Any) -> tuple[float, float]:
    """Bounds, by samples, of the score of "the first number is that of ``x``"."""
    first = case.x.ravel()[0]

    def sides(batch: Any) -> NDArray[np.float64]:
        kept = [np.ravel(copy)[:1] == [first] for copy in batch]
        seen = np.array([bool(same.all() and same.size) for same in kept])
        return np.stack([seen, ~seen], axis=1).astype(np.float64)

    assert case.sampler_of is not None
    sampler = case.sampler_of(sides)
    generator = np.random.default_rng(20_260_101)
    counts = sampler(nearby, case.sigma, SAMPLES, generator)
    inside = int(np.asarray(counts)[0])
    low = float(lower_bound(inside, SAMPLES, LEVEL, scores=True))
    high = float(upper_bound(inside, SAMPLES, LEVEL, scores=True))
    return low, high


def changed_first(case: SchemeCase, changes: int) -> NDArray[Any]:
    """The input with another value at its first places."""
    nearby = case.x.copy()
    places = nearby.reshape(-1)[:changes]
    places[:] = np.where(places == 0, 1, 0)
    return nearby


def draws_the_law_of_the_scheme(case: SchemeCase) -> None:
    """Its samplers draw the law that the scheme names."""
    law = getattr(case.sampler_of(lambda b: b), "law", "")  # type: ignore[misc]
    require(law == case.scheme.law, f"{law!r} is not {case.scheme.law!r}")


def changes_obey_the_transport(case: SchemeCase) -> None:
    """Samples at a few changes fall on a class as often as transport allows."""
    low, high = kept_first(case, case.x)
    for changes in (1, 2):
        seen_low, seen_high = kept_first(case, changed_first(case, changes))
        least, _ = case.transport(low, changes)
        _, most = case.transport(high, changes)
        require(
            seen_high >= least and seen_low <= most,
            f"at {changes} changes the score was drawn as in [{seen_low}, "
            f"{seen_high}]; transport allows [{least}, {most}]",
        )


CHANCES: tuple[Property[SchemeCase], ...] = (
    draws_the_law_of_the_scheme,
    changes_obey_the_transport,
)


# --- noise all of whose outcomes are evaluated


def outcomes_obey_the_transport(case: SchemeCase) -> None:
    """Steps of the grid move the share of a class no further than transport."""
    outcomes = case.scheme.outcomes
    assert case.sampler_of is not None
    assert outcomes is not None
    if not case.transports:
        return  # a group, whose elements leave all shares as they are
    middle = case.x.ravel()[0]

    def sides(batch: Any) -> NDArray[np.float64]:
        above = np.asarray(batch).reshape(len(batch), -1)[:, 0] > middle
        return np.stack([above, ~above], axis=1).astype(np.float64)

    sampler = case.sampler_of(sides)

    def share(x: Any) -> float:
        counts = sampler(x, case.sigma, outcomes, np.random.default_rng(0))
        return int(np.asarray(counts)[0]) / outcomes

    step = 1 / case.scheme.parameters["levels"]
    here = share(case.x)
    for steps in (-3, -1, 1, 2):
        nearby = case.x.copy()
        nearby.reshape(-1)[0] += steps * step
        low, high = case.transport(float(ndtri(here)), abs(steps) * step)
        there = share(nearby)
        require(
            ndtr(low) - ROUNDING <= there <= ndtr(high) + ROUNDING,
            f"{here} becomes {there} by {steps} steps; transport allows "
            f"[{ndtr(low)}, {ndtr(high)}]",
        )


OUTCOMES: tuple[Property[SchemeCase], ...] = (
    draws_the_law_of_the_scheme,
    outcomes_obey_the_transport,
)
