"""[S] Figures 1, 5, 8, 9: two sectors of the plane, smoothed with fixed and with moving
noise.

The base classifier knows the sector, and its probabilities are integrals, not samples.
A score is cut off where 100,000 samples that all agree end, since that is what limits
radii in practice.
"""

import time
from typing import Any

import numpy as np
from scipy.special import ndtri
from shared import Table, axes, columns, publish, steps
from sukenik.experiment_s_cone import probability

from rsbounds import confidence, semielastic

ANGLE, DIM = np.pi / 8, 2  # half-angle of the narrow class
SAMPLES, ALPHA = 100_000, 0.001
REACH, POINTS = 8.0, 2000  # the data: uniform in the disc of this radius
SIGMAS, RATES = (0.25, 0.5, 1.0), (0.1, 0.2, 0.3)
LEVEL, PIVOT = 0.5, 4.0  # sigma(x) = LEVEL exp(rate (|x| - PIVOT))
RADII = (0.25, 0.5, 1.0, 1.5, 2.0)


def sigma_at(distance: Any, rate: float) -> Any:
    return LEVEL * np.exp(rate * (np.asarray(distance) - PIVOT))


def scores(distance: Any, angle: Any, sigma: Any) -> Any:
    """The score of the narrow sector, axis at angle 0, cut off on both sides."""
    p = probability(
        distance * np.cos(angle) / sigma, distance * np.sin(angle) / sigma, ANGLE, DIM
    )
    most = float(confidence.lower_bound(SAMPLES, SAMPLES, ALPHA, scores=True))
    return np.clip(ndtri(np.clip(p, 1e-12, 1 - 1e-12)), -most, most)


def classifiers() -> dict[str, tuple[float, float]]:
    """Name: (fixed level or NaN, rate)."""
    fixed = {f"sigma = {s:g}": (s, 0.0) for s in SIGMAS}
    return fixed | {f"rate = {r:g}": (float("nan"), r) for r in RATES}


def radii(distance: Any, angle: Any, level: float, rate: float) -> tuple[Any, Any]:
    """The signed score of the narrow class, and the certified radius of the class
    predicted.
    """
    sigma = (
        np.full(np.shape(distance), level) if rate == 0 else sigma_at(distance, rate)
    )
    z = scores(distance, angle, sigma)
    return z, semielastic.radius(np.abs(z), sigma, rate, DIM, scores=True)


def places(count: int) -> tuple[Any, Any]:
    """The data: distances and angles."""
    rng = np.random.default_rng(0)
    return REACH * np.sqrt(rng.random(count)), rng.uniform(0, np.pi, count)


def certified(level: float, rate: float) -> Any:
    """The radii of all data, 0 where the class is wrong."""
    distance, angle = places(POINTS)
    z, radius = radii(distance, angle, level, rate)
    return np.where((z > 0) == (angle < ANGLE), radius, 0.0)


def table(quick: bool = False) -> Table:
    distance, angle = places(200 if quick else POINTS)
    narrow = angle < ANGLE
    rows = []
    for name, (level, rate) in classifiers().items():
        z, radius = radii(distance, angle, level, rate)
        right = (z > 0) == narrow
        curve = [float(np.mean(right & (radius > r))) for r in RADII]
        accuracy = [float(np.mean(right[chosen])) for chosen in (narrow, ~narrow)]
        average = [
            float(np.mean((radius * right)[chosen])) for chosen in (narrow, ~narrow)
        ]
        along = np.linspace(0.01, REACH, 800)
        z, radius = radii(along, np.zeros_like(along), level, rate)
        first = float(along[np.argmax(z > 0)])
        rows.append((name, first, *accuracy, *average, float(radius.max()), *curve))
    names = (
        "right_from accuracy_narrow accuracy_wide radius_narrow radius_wide "
        "largest_on_axis"
    )
    above = " ".join(f"above_{r:g}" for r in RADII)
    return columns(f"classifier {names} {above}", rows)


def figure(table: Table) -> Any:
    result, (left, right) = axes(2)
    along = np.linspace(0.01, REACH, 400)
    for i, (name, (level, rate)) in enumerate(classifiers().items()):
        z, radius = radii(along, np.zeros_like(along), level, rate)
        style = {"color": f"C{i}", "linestyle": "-" if rate else "--", "label": name}
        left.plot(along, np.where(z > 0, radius, np.nan), **style)
        steps(right, certified(level, rate), **style)
    left.plot(
        along, along * np.sin(ANGLE), color="0.6", linewidth=1, label="to the boundary"
    )
    left.set(xlabel="distance from the apex, on the axis", ylabel="certified radius")
    right.set(xlabel="radius", ylabel="certified accuracy")
    left.legend(fontsize=7)
    return result


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
