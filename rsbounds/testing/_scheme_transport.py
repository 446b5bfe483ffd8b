"""The transport of a scheme whose noise is the same at every input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from rsbounds.testing._properties import Property, quiet, refuses, require
from rsbounds.testing._scheme_case import (
    PAIRS,
    ROUNDING,
    SCORES,
    SchemeCase,
)
from rsbounds.testing._scheme_radius import at, require_rising

FINITE = tuple(z for z in SCORES if math.isfinite(z))
PROBABILITY_ROUNDING = 1e-13


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


def is_undone_by_its_inverse(case: SchemeCase) -> None:
    """The inverse goes no further back than transport came, and all the way."""
    if not case.inverts:
        return  # answers that ask for it refuse the scheme
    z = np.array(FINITE)[:, None]
    low, high = case.transport(z, case.reaches)
    first, last = case.inverse(z, case.reaches)
    # "at most" by the ends of events that are reached, neither none nor all
    for name, left, right, reached in (
        ("z before its upper end", z, case.inverse(high, case.reaches)[0], high),
        ("its lower end's before z", case.inverse(low, case.reaches)[1], z, low),
        (
            "its upper end from before z",
            case.transport(first, case.reaches)[1],
            z,
            first,
        ),
        ("z its lower end from after", z, case.transport(last, case.reaches)[0], last),
    ):
        left, right = np.broadcast_arrays(left, right)
        wrong = np.isfinite(reached) & ~_is_at_most(left, right)
        for i, j in np.argwhere(wrong):
            require(
                False,
                f"{name} is not at most that: {left[i, j]!r} and {right[i, j]!r} of "
                f"z = {FINITE[i]} within {case.reaches[j]}",
            )


def _is_at_most(left: Any, right: Any) -> Any:
    """Whether scores are at most others, but for the rounding of probabilities."""
    apart = np.minimum(ndtr(left) - ndtr(right), ndtr(-right) - ndtr(-left))
    with quiet():
        near = left <= right + 1e-9 * (1 + abs(right))
    return near | (apart <= PROBABILITY_ROUNDING)


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
    is_undone_by_its_inverse,
    broadcasts,
    refuses_distances_that_are_none,
)
