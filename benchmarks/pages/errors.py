"""The tables of docs/benchmarks/promised-accuracy.md: errors over their bounds,
inversions.

    python benchmarks/pages/errors.py [--points 1000] [--steps 200000] [--radii 1000]

compares the special functions and the radii with the mpmath oracle at random points
(about 10 ms a point), and their values at neighbouring doubles, and puts the tables
between the page's marks; with a number 0 its table stays as it is.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import machine
from mpmath import mp
from numpy.typing import NDArray
from scipy.special import ndtr

from rsbounds import (
    anisotropic,
    envelope,
    gaussian,
    lipschitz,
    oracle,
    renyi,
    schemes,
    semielastic,
    special,
)
from rsbounds.testing._truth import exponential_radius, uniform_radius

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "promised-accuracy.md"
Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]


class Worst(NamedTuple):
    """The largest error over its bound that was found, and where."""

    ratio: float
    where: str


class Inversions(NamedTuple):
    """Of steps by one double: shares that go the wrong way and nowhere, and the largest
    wrong
    step over the bound of one value."""

    inverted: float
    equal: float
    largest: float


def balls(
    rng: np.random.Generator, n: int, largest_dim: float = 8.0
) -> tuple[Array, ...]:
    """u, dim, s with scores spread over [-37, 37], dim to 1e8 and s to 1e8."""
    dim, s = 10.0 ** rng.uniform(0, largest_dim, n), 10.0 ** rng.uniform(-3, 8, n)
    u = special.ball_offset(rng.uniform(-37, 37, n), dim, s)
    inside = s + u > 1e-100
    return u[inside], dim[inside], s[inside]


# --- errors
# -------------------------------------------------------------------------------------


def drawn_balls(rng: np.random.Generator, n: int) -> Array:
    u, dim, s = balls(rng, n)
    return np.stack([u, dim, s], axis=1)


def drawn_tails(rng: np.random.Generator, n: int) -> Array:
    u, dim, s = balls(rng, n)
    return np.stack([(s + u) ** 2, dim, s * s], axis=1)


def drawn_scores(rng: np.random.Generator, n: int) -> Array:
    return (rng.choice([-1, 1], n) * 10 ** rng.uniform(-8, 2, n))[:, None]


def drawn_logs(rng: np.random.Generator, n: int) -> Array:
    return -(10 ** rng.uniform(-16, 16, n))[:, None]


def drawn_probabilities(rng: np.random.Generator, n: int) -> Array:
    return (10 ** rng.uniform(-300, np.log10(0.5), n))[:, None]


def smaller(below: str, above: str) -> Callable[..., str]:
    """Which tail an error bound is about."""
    return lambda *point: below if special.ncx2_cdf(*point) < 0.5 else above


FUNCTIONS: dict[
    str, tuple[Callable[..., str], Draw, str]
] = {  # its name, points, their names
    "`ball_score`": (lambda *_: "ball_score", drawn_balls, "u dim s"),
    "tails": (smaller("ncx2_cdf", "ncx2_sf"), drawn_tails, "x df nc"),
    "log tails": (smaller("ncx2_logcdf", "ncx2_logsf"), drawn_tails, "x df nc"),
    "`ncx2_pdf`": (lambda *_: "ncx2_pdf", drawn_tails, "x df nc"),
    "`ncx2_logpdf`": (lambda *_: "ncx2_logpdf", drawn_tails, "x df nc"),
    "`log_ndtr`": (lambda _: "log_ndtr", drawn_scores, "z"),
    "`ndtri_exp`": (lambda _: "ndtri_exp", drawn_logs, "log_p"),
    "`ndtri`": (lambda _: "ndtri", drawn_probabilities, "p"),
}


def over_bound(name: str, point: tuple[float, ...]) -> float:
    """The error of a function over its bound."""
    value = float(getattr(special, name)(*point))
    truth = getattr(oracle, name)(*point, dps=30)
    df = point[1] if name.startswith("ncx2") else None
    with mp.workdps(40):
        error = abs(mp.mpf(value) - truth)
        return float(
            error
            / mp.mpf(float(special.error_bound(name, value, df=df, measured=True)))
        )


def worst(of: str, points: int, seed: int = 0) -> Worst:
    """The largest of random points."""
    name, draw, names = FUNCTIONS[of]
    found = [
        (over_bound(name(*point), point), point)
        for point in map(tuple, draw(np.random.default_rng(seed), points).tolist())
    ]
    ratio, point = max(found)
    named = zip(names.split(), point, strict=True)
    return Worst(ratio, ", ".join(f"{key} = {value:.3g}" for key, value in named))


# --- inversions
# ---------------------------------------------------------------------------------

# what steps: (function, place of the argument, sign of the slope)
STEPS = {
    "u of `ball_score`": ("ball_score", 0, 1),
    "s": ("ball_score", 2, 1),
    "dim": ("ball_score", 1, -1),
    "x of `ncx2_cdf`": ("ncx2_cdf", 0, 1),
    "nc": ("ncx2_cdf", 2, -1),
    "df": ("ncx2_cdf", 1, -1),
}


def inversions(of: str, points: int, seed: int = 0) -> Inversions:
    """Values at random points and one double further."""
    name, place, slope = STEPS[of]
    u, dim, s = balls(np.random.default_rng(seed), points, largest_dim=7.0)
    at = [u, dim, s] if name == "ball_score" else [(s + u) ** 2, dim, s * s]
    function = getattr(special, name)
    value = function(*at)
    at[place] = np.nextafter(at[place], np.inf)
    wrong = -slope * (function(*at) - value)
    size = wrong / special.error_bound(name, value, df=dim, measured=True)
    return Inversions(
        np.mean(wrong > 0), np.mean(wrong == 0), max(float(np.max(size)), 0.0) + 0.0
    )


# --- radii
# ------------------------------------------------------------------------------------

PROMISE = 1e-11  # relative, below the exact radius


def levels(rng: np.random.Generator) -> tuple[float, float]:
    """A score above 0, mostly where runs have it, and a noise level."""
    z = rng.uniform(0, 8) if rng.random() < 0.5 else 10 ** rng.uniform(-12, 1.5)
    return float(z), float(10 ** rng.uniform(-6, 6))


def of_gaussian(z: float, sigma: float, rng: np.random.Generator) -> Any:
    options = {"norm": rng.choice([1.0, 2.0, 3.0, np.inf]), "dim": 3072.0}
    radius = gaussian.radius(z, sigma, scores=True, **options)
    return radius, oracle.gaussian_radius(z, sigma, **options)


def of_anisotropic(z: float, sigma: float, rng: np.random.Generator) -> Any:
    axes, norm = sigma * 10 ** rng.uniform(-2, 2, 5), rng.choice([1.0, 2.0, np.inf])
    radius = anisotropic.radius(z, axes, norm=norm, scores=True)
    return radius, oracle.anisotropic_radius(z, axes.tolist(), norm=norm)


def of_laplace(z: float, sigma: float, rng: np.random.Generator) -> Any:
    radius = anisotropic.internal.laplace_score_radius(z, sigma)
    return radius, oracle.laplace_radius(z, sigma, dps=50)


def of_uniform(z: float, sigma: float, rng: np.random.Generator) -> Any:
    return schemes.uniform(sigma).radius(z, sigma), uniform_radius(z, sigma, None)


def of_exponential(z: float, sigma: float, rng: np.random.Generator) -> Any:
    scheme = schemes.exponential(1 / sigma)
    truth = exponential_radius(z, scheme.parameters["rate"], None)
    return scheme.radius(z, scheme.own_level), truth


def of_semielastic(z: float, sigma: float, rng: np.random.Generator) -> Any:
    rate, dim = 10 ** rng.uniform(-5, 0) / sigma, 10 ** rng.uniform(0, 5)
    radius = semielastic.radius(z, sigma, rate, dim, scores=True)
    bounds = oracle.semi_elastic(sigma, rate)
    return radius, min(oracle.envelope_branches(z, sigma, bounds, dim, dps=20))


def of_range(z: float, sigma: float, rng: np.random.Generator) -> Any:
    """A range that is narrow enough to leave most of the radius."""
    dim = 10 ** rng.uniform(0, 5)
    width = 10 ** rng.uniform(-3, -0.7) * min(z, 1) / dim**0.5
    low, high = sigma * (1 - width), sigma * (1 + width)
    shape = envelope.SigmaRange(low, high)
    radius = envelope.radius(z, sigma, shape, dim, scores=True)
    bounds = oracle.sigma_range(low, high)
    return radius, min(oracle.envelope_branches(z, sigma, bounds, dim, dps=20))


def of_exact_lipschitz(z: float, sigma: float, rng: np.random.Generator) -> Any:
    lip, floor = 10 ** rng.uniform(-4, -1), sigma * rng.uniform(0.1, 1)
    dim = 10 ** rng.uniform(0, 5)
    radius = lipschitz.radius(z, sigma, lip=lip, sigma_min=floor, dim=dim, scores=True)
    bounds = oracle.lipschitz_sigma(sigma, lip, floor)
    return radius, min(oracle.envelope_branches(z, sigma, bounds, dim, dps=20))


def of_renyi(z: float, sigma: float, rng: np.random.Generator) -> Any:
    """Levels so near to each other that the two terms of R^2 don't cancel."""
    p_a, dim = float(ndtr(z)), 10 ** rng.uniform(0, 5)
    sigma1 = sigma * (1 + rng.uniform(-0.1, 0.1) * z / dim**0.5)
    radius = renyi.radius(p_a, sigma, sigma1, dim)
    score = oracle.ndtri(p_a, dps=60)
    return radius, oracle.renyi_radius(score, sigma, sigma1, dim, dps=25)


def of_lipschitz(z: float, sigma: float, rng: np.random.Generator) -> Any:
    options = {
        "lip": 10 ** rng.uniform(-4, -1),
        "sigma_min": sigma * rng.uniform(0.1, 1),
        "dim": 10 ** rng.uniform(0, 5),
    }
    radius = lipschitz.radius(z, sigma, method="integrated", scores=True, **options)
    return radius, oracle.integrated_radius(z, sigma, **options)


#: Of each radius: its value and the exact one, and how many points take one's time.
RADII: dict[str, tuple[Callable[..., Any], int]] = {
    "`gaussian.radius`": (of_gaussian, 1),
    "`anisotropic.radius`": (of_anisotropic, 1),
    "`anisotropic.internal.laplace_score_radius`": (of_laplace, 1),
    "`schemes.uniform`": (of_uniform, 1),
    "`schemes.exponential`": (of_exponential, 1),
    "`semielastic.radius`": (of_semielastic, 20),
    "`envelope.radius`, `SigmaRange`": (of_range, 20),
    "`lipschitz.radius`, exact": (of_exact_lipschitz, 20),
    "`lipschitz.radius`, integrated": (of_lipschitz, 20),
    "`renyi.radius`": (of_renyi, 5),
}


class Losses(NamedTuple):
    """What radii lose, relatively, in promises: the least, the largest and where."""

    points: int
    least: float
    largest: float
    where: str


def losses(of: str, points: int, seed: int = 0) -> Losses:
    """Those of random points."""
    radius_of, time = RADII[of]
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(points // time):
        z, sigma = levels(rng)
        radius, truth = radius_of(z, sigma, rng)
        with mp.workdps(40):
            lost = float((truth - mp.mpf(float(radius))) / (truth * PROMISE))
        found.append((lost, f"z = {z:.3g}, sigma = {sigma:.3g}"))
    largest, where = max(found)
    return Losses(len(found), min(found)[0], largest, where)


# --- the page
# -----------------------------------------------------------------------------------


def rows(points: int, steps: int, radii: int) -> dict[str, Iterator[list[str]]]:
    """The tables by their marks."""

    def errors() -> Iterator[list[str]]:
        yield ["function", "worst error / bound", "where"]
        for of in FUNCTIONS:
            found = worst(of, points)
            yield [of, f"{math.ceil(found.ratio * 100) / 100:.2f}", found.where]

    def inverted() -> Iterator[list[str]]:
        yield [
            "step of one double in",
            "inverted",
            "equal",
            "largest inversion, in bounds",
        ]
        for of in STEPS:
            found = inversions(of, steps)
            share = [f"{100 * found.inverted:.2f} %", f"{100 * found.equal:.0f} %"]
            yield [of, *share, f"{found.largest:.2f}"]

    def lost() -> Iterator[list[str]]:
        yield ["radius", "points", "least loss", "largest loss", "where"]
        for of in RADII:
            found = losses(of, radii)
            shares = f"{found.least:.1e}", f"{found.largest:.1e}"
            yield [of, str(found.points), *shares, found.where]

    wanted = {"errors": points, "inversions": steps, "radii": radii}
    made = {"errors": errors(), "inversions": inverted(), "radii": lost()}
    return {mark: lines for mark, lines in made.items() if wanted[mark]}


def filled(page: str, mark: str, lines: list[list[str]], about: str) -> str:
    """The page with a table between its marks."""
    head, *body = lines
    table = [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body)]
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, rest = page.split(begin)
    return (
        "\n".join([before + begin, "", about, "", *table, "", end]) + rest.split(end)[1]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The tables of promised-accuracy.md again."
    )
    parser.add_argument(
        "--points", type=int, default=1000, help="against the oracle, a function"
    )
    parser.add_argument(
        "--steps", type=int, default=200_000, help="steps of each argument"
    )
    parser.add_argument(
        "--radii", type=int, default=1000, help="against the oracle, a radius"
    )
    args = parser.parse_args()
    about: dict[str, Any] = {
        "errors": f"{args.points:,} random points for each function; "
        f"{machine('mpmath')}.",
        "inversions": f"{args.steps:,} random points for each argument.",
        "radii": "Losses over the promise, 1e-11 of the exact radius; "
        f"{machine('mpmath')}.",
    }
    page = PAGE.read_text()
    for mark, lines in rows(args.points, args.steps, args.radii).items():
        page = filled(page, mark, list(lines), about[mark])
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
