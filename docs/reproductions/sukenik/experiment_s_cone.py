"""[S] Table 5, Figure 10: what smoothing leaves of a cone as the dimension grows.

Probabilities are integrals over the cone's axis, not samples.
"""

import time
from typing import Any

import numpy as np
from cones import probability
from scipy.optimize import brentq
from scipy.special import betaincinv, chdtr, lambertw, ndtri
from shared import Table, axes, columns, publish

from rsbounds import gaussian, semielastic

ANGLE, SCALE, SIGMA = (
    0.5,
    np.sqrt(5.0),
    1.0,
)  # half-angle; spread of the data; noise level
DIMS = (2, 3, 5, 10, 20, 50, 100, 200, 400)
KEPT = 0.9  # share of the radius at p_A = .99 that the rate may cost no more than
SLICES = 48


def critical(phi: Any, angle: float, dim: int) -> Any:
    """|x|/sigma at which a point at angle phi to the axis has probability 1/2.

    The cone is convex, so along a ray from its apex the probability only grows with
    |x|/sigma.
    """
    low, high = np.zeros_like(phi), np.full_like(phi, 1e6)
    for _ in range(70):
        middle = (low + high) / 2
        above = (
            probability(middle * np.cos(phi), middle * np.sin(phi), angle, dim) > 0.5
        )
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high


def right(ratio: Any, rate: float, shift: float) -> tuple[Any, Any]:
    """The distances |x| between which |x|/sigma(x) exceeds the ratio."""
    need = ratio * SIGMA * np.exp(-rate * shift)
    if rate == 0:
        return need, np.full_like(need, np.inf)
    inner, outer = (-lambertw(-rate * need, branch).real / rate for branch in (0, -1))
    never = rate * need > np.exp(-1)
    return np.where(never, np.inf, inner), np.where(never, np.inf, outer)


def accuracy(angle: float, dim: int, rate: float, shift: float) -> float:
    """Part of the cone's class, N(0, SCALE^2 I) inside the cone, that is classified
    rightly.
    """
    # sin(phi)^(N-1) = u sin(angle)^(N-1) spreads the nodes as sin(phi)^(N-2) cos(phi)
    # weighs
    node, weight = np.polynomial.legendre.leggauss(SLICES)
    sine = np.sin(angle) * ((node + 1) / 2) ** (1 / (dim - 1))
    phi = np.arcsin(sine)
    weight = weight / np.cos(phi)
    near, far = right(critical(phi, angle, dim), rate, shift)
    part = chdtr(dim, (far / SCALE) ** 2) - chdtr(dim, (near / SCALE) ** 2)
    return float(weight @ part / weight.sum())


def affordable(dim: int) -> float:
    """The largest rate at which p_A = .99 keeps the share KEPT of the fixed-noise
    radius.
    """
    full = float(gaussian.radius(0.99, SIGMA))
    gap = lambda rate: float(semielastic.radius(0.99, SIGMA, rate, dim)) - KEPT * full  # noqa: E731
    return float(brentq(gap, 0.0, 1.0, xtol=1e-13))


def table(quick: bool = False) -> Table:
    rows: list[tuple[Any, ...]] = []
    share = ANGLE / np.pi  # of all directions, in the plane
    for opening in ("angle", "share"):
        for dim in DIMS[::6] if quick else DIMS:
            angle = ANGLE
            if opening == "share":
                angle = float(
                    np.arcsin(np.sqrt(betaincinv((dim - 1) / 2, 0.5, 2 * share)))
                )
            rate, shift = affordable(dim), SCALE * np.sqrt(dim)
            apex = critical(np.zeros(1), angle, dim)
            cells = [opening, dim, angle, rate]
            for chosen in (0.0, rate):
                cells += [
                    right(apex, chosen, shift)[0][0],
                    accuracy(angle, dim, chosen, shift),
                ]
            # the integral is good to 1e-13
            score = ndtri(
                np.minimum(probability(shift / SIGMA, 0.0, angle, dim), 1 - 1e-12)
            )
            for chosen in (0.0, rate):  # the point of the axis where sigma(x) = SIGMA
                cells.append(
                    float(semielastic.radius(score, SIGMA, chosen, dim, scores=True))
                )
            rows.append(tuple(cells))
    names = (
        "opening dim half_angle rate shift accuracy shift_dependent accuracy_dependent"
    )
    return columns(f"{names} radius radius_dependent", rows)


def figure(table: Table) -> Any:
    result, (left, right) = axes(2)
    for colour, opening in enumerate(("angle", "share")):
        chosen = table["opening"] == opening
        dim, name = table["dim"][chosen], f"same {opening}"
        for suffix, line, noise in (
            ("", "-", "constant"),
            ("_dependent", "--", r"$\sigma(x)$"),
        ):
            style = {
                "color": f"C{colour}",
                "linestyle": line,
                "label": f"{name}, {noise}",
            }
            left.loglog(dim, table["shift" + suffix][chosen], **style)
            right.semilogx(dim, table["accuracy" + suffix][chosen], **style)
    left.set(xlabel="dimension $N$", ylabel="apex moves by")
    right.set(xlabel="dimension $N$", ylabel="accuracy on the cone's class")
    left.set_ylim(0.4, 200)
    left.legend(loc="upper left", fontsize=7)
    return result


if __name__ == "__main__":
    start = time.perf_counter()
    publish(__file__, numbers := table(), figure(numbers))
    print(f"{time.perf_counter() - start:.0f} s")
