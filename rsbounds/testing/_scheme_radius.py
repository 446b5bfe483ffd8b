"""What a scheme says of itself, and its radius against exact classifiers."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.certificate import ANOTHERS, SCOPES, Norm
from rsbounds.schemes import METHODS, Scheme
from rsbounds.schemes.internal import check_entry, is_own
from rsbounds.testing._properties import Property, quiet, refuses, require
from rsbounds.testing._scheme_case import (
    FEW_DIGITS,
    PAIRS,
    ROUNDING,
    SCORES,
    SchemeCase,
    oracle,
)

# --- what it says of itself


def is_an_entry(case: SchemeCase) -> None:
    """It can stand in the list of methods."""
    check_entry(type(case.scheme))
    Norm.of(case.scheme.norm)
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
    names = ("name", "scope", "norm", "law", "outcomes", "parameters")
    for name in names:
        before, after = getattr(case.scheme, name), getattr(again, name)
        require(before == after, f"{name} is {before!r} and then {after!r}")
    require(again.sigma(case.x) == case.sigma, "sigma(x) is another one")
    same_radii(case, again)


def is_made_of_its_parameters(case: SchemeCase) -> None:
    """from_parameters gives the same radii of what a manifest holds."""
    parameters = json.loads(json.dumps(dict(case.scheme.parameters)))
    same_radii(case, type(case.scheme).from_parameters(parameters))


def same_radii(case: SchemeCase, other: Scheme) -> None:
    for z_a, z_b in PAIRS:
        before, after = case.radius(z_a, z_b), other.radius(z_a, case.sigma, z_b)
        where = at(z_a, z_b)
        require(before == after, f"the radius is {before} and then {after} {where}")


def refuses_damaged_parameters(case: SchemeCase) -> None:
    """A parameter that is missing or out of its domain is named by a ValueError."""
    scheme = type(case.scheme)
    parameters = case.scheme.parameters
    for name, domain in scheme.domains.items():
        wrong = [math.nan, "text", None, math.nextafter(domain.low, -math.inf)]
        if domain.closed in ("neither", "right"):
            wrong.append(domain.low)
        for value in wrong:
            damaged = {**parameters, name: value}

            def make(damaged: Mapping[str, Any] = damaged) -> Scheme:
                return scheme.from_parameters(damaged)

            refuses(name, make, f"{name} = {value!r}")
        if domain.required:
            others = {key: value for key, value in parameters.items() if key != name}

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
