"""The noise of a scheme: its frequencies, its counted changes, its outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.testing._properties import Property, require
from rsbounds.testing._scheme_case import (
    LEVEL,
    ROUNDING,
    SAMPLES,
    SchemeCase,
)


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
    here = frequencies(case, case.x)
    for reach in (0.5, 1.5):
        distance = reach * case.sigma
        nearby = case.x.ravel() + distance * step_of(case)
        require_within(case, here, distance, frequencies(case, nearby))


def require_within(
    case: SchemeCase,
    here: tuple[float, float],
    distance: float,
    there: tuple[float, float],
) -> None:
    """A score drawn at a distance is one that transport allows; both in bounds."""
    least, _ = case.transport(here[0], distance)
    _, most = case.transport(here[1], distance)
    seen_low, seen_high = there
    require(
        seen_high >= least and seen_low <= most,
        f"at distance {distance} the score was drawn as in [{seen_low}, {seen_high}]; "
        f"transport allows [{least}, {most}]",
    )
    if not case.inverts:
        return
    before, _ = case.inverse(seen_low, distance)
    _, after = case.inverse(seen_high, distance)
    require(
        here[1] >= before and here[0] <= after,
        f"at the input the score was drawn as in {here}; of [{seen_low}, {seen_high}] "
        f"at distance {distance} the inverse allows [{before}, {after}]",
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
        same_number = [np.ravel(copy)[:1] == [first] for copy in batch]
        seen = np.array([bool(same.all() and same.size) for same in same_number])
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
    here = kept_first(case, case.x)
    for changes in (1, 2):
        there = kept_first(case, changed_first(case, changes))
        require_within(case, here, changes, there)


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
