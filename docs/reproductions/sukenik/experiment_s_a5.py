"""[S] A.5, Table 5, Figure 10: eq. 1 on a cone, at the paper's dimensions and levels.

The cone, its data and the classifier that knows it are ours. Probabilities are
integrals; scores end where 100,000 agreeing samples do.
"""

import time
from typing import Any

import numpy as np
from cones import probability
from scipy.special import ndtri
from shared import Table, axes, columns, listed, publish, steps, unlisted

from rsbounds import gaussian, semielastic

ANGLE, SPREAD, EACH, TRAIN, NEIGHBOURS, CAP = 0.5, 5.0, 150, 500, 20, 5.0
LIMIT = float(gaussian.max_radius(100_000, 0.001, 1.0))
SETTINGS = (  # dimension, sigma or sigma_b, rate, printed accuracy
    *((2, 0.5, 0.0, 0.943), (2, 0.4, 0.2, 0.96), (2, 0.5, 0.2, 0.943)),
    *((6, 0.5, 0.0, 0.946), (6, 0.4, 0.1, 0.963)),
    *((18, 1.0, 0.0, 0.86), (18, 0.8, 0.05, 0.886)),
    *((60, 1.0, 0.0, 0.83), (60, 0.8, 0.03, 0.85), (60, 1.0, 0.03, 0.83)),
    *((180, 2.0, 0.0, 0.713), (180, 1.9, 0.01, 0.726)),
    *((400, 2.0, 0.0, 0.623), (400, 1.95, 0.005, 0.623)),
)


def angles(x: Any) -> Any:
    """To the first axis."""
    return np.arctan2(np.linalg.norm(x[:, 1:], axis=1), x[:, 0])


def drawn(rng: Any, count: int, dim: int) -> tuple[Any, Any]:
    """Points of the cone and of the rest, with distances uniform in [0, 5 sqrt(N)].

    In the cone the angle to the axis is uniform; the others have any direction outside.
    """
    around = rng.standard_normal((count, dim - 1))
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    phi = ANGLE * rng.random((count, 1))
    inside = np.hstack([np.cos(phi), np.sin(phi) * around])
    rest = rng.standard_normal((3 * count, dim))
    rest /= np.linalg.norm(rest, axis=1, keepdims=True)
    rest = rest[angles(rest) > ANGLE][:count]
    return tuple(
        SPREAD * np.sqrt(dim) * rng.random((count, 1)) * part for part in (inside, rest)
    )


def levels(train: Any, held: Any, sigma_b: float, rate: float) -> Any:
    """Eq. 1 with the least mean distance of a training point as m, capped."""
    if rate == 0:
        return np.full(len(held), sigma_b)
    plain = semielastic.KNNSigma(train, sigma_b, rate, NEIGHBOURS, 0.0)
    least = plain.sigma(train).min() / sigma_b  # exp(r m)
    return np.minimum(plain.sigma(held) / least, CAP * sigma_b)


def certified(held: Any, sigma: Any, rate: float, dim: int) -> Any:
    """Radii of the true class, -1 where it loses; the first half is the cone's."""
    axial = held[:, 0] / sigma
    radial = np.linalg.norm(held[:, 1:], axis=1) / sigma
    p = np.clip(probability(axial, radial, ANGLE, dim), 0.0, 1.0)  # good to 1e-13
    truth = np.arange(len(held)) < len(held) // 2
    score = np.minimum(np.where(truth, ndtri(p), -ndtri(p)), LIMIT)
    radii = semielastic.radius(np.maximum(score, 0), sigma, rate, dim, scores=True)
    return np.where(score > 0, radii, -1.0)


def table(quick: bool = False) -> Table:
    sizes = (30, 6) if quick else (TRAIN, EACH)
    rows: list[tuple[Any, ...]] = []
    for dim, sigma_b, rate, printed in SETTINGS:
        rng = np.random.default_rng(dim)
        train, held = (np.concatenate(drawn(rng, n, dim)) for n in sizes)
        sigma = levels(train, held, sigma_b, rate)
        radii = certified(held, sigma, rate, dim)
        right = radii >= 0
        own = (right.mean(), printed, (radii * right).mean(), radii.max())
        spread = (sigma.min(), sigma.mean(), sigma.max())
        rows.append((dim, sigma_b, rate, *own, *spread, listed(radii)))
    names = "dim sigma rate accuracy printed average_radius largest_radius"
    return columns(f"{names} sigma_low sigma_mean sigma_high radii", rows)


def figure(table: Table) -> Any:
    dims = list(dict.fromkeys(table["dim"]))
    result, panels = axes(3, rows=2, sharey=True)
    for panel, dim in zip(panels, dims, strict=True):
        for i in np.flatnonzero(table["dim"] == dim):
            sigma, rate = table["sigma"][i], table["rate"][i]
            label = rf"$\sigma$ = {sigma:g}" + (f", rate {rate:g}" if rate else "")
            style = "--" if rate == 0 else "-"
            steps(panel, unlisted(table["radii"][i]), linestyle=style, label=label)
        panel.set(title=f"N = {dim}", xlabel="radius", xlim=(0, None))
        panel.legend(fontsize=7)
    return result


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
