"""Draws the two pictures of README.md.

    rsbounds demo
    python docs/first_screen.py rsbounds-demo

writes docs/first-screen.png from the demo's files, and docs/digits-lost.png from SciPy,
rsbounds and the oracle, in a few seconds.
"""

import math
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle
from mpmath import mp
from scipy.stats import ncx2

from rsbounds import oracle, reports, results, special
from rsbounds._numerics.decimals import truncated

DOCS = Path(__file__).parent
SHOWN = 1  # the digit whose row README explains
NAMES = {"runner-up": "runner-up bound, the default", "cohen": "Cohen's bound"}
COPIES = 6
CLASSES = 10
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"

DIMENSIONS = np.unique(np.geomspace(10, 1e8, 43).round())
RATIO = 10  # noncentrality over d
#: Natural logarithms of the probabilities, and how SciPy's curve is drawn.
LOGS = {math.log(0.01): "-", math.log(1e-50): "--", -2836.2: ":"}
ALL_LOST = 16


def grey(axes: Any, image: Any, low: float, high: float) -> None:
    axes.imshow(image, cmap="gray_r", vmin=low, vmax=high)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_copies(figure: Any, image: Any, sigma: float) -> None:
    """The digit, and copies of it under the noise of the demo."""
    grid = figure.subplots(3, 3)
    noise = np.random.default_rng(0).normal(scale=sigma, size=(COPIES, *image.shape))
    for axes in grid[0]:
        axes.axis("off")
    grid[0, 1].axis("on")
    grey(grid[0, 1], image, 0, 1)
    for axes, copy in zip(grid[1:].flat, image + noise, strict=True):
        grey(axes, copy, -1.5, 2.5)
    figure.suptitle("a digit, and noisy copies", fontsize=10)


def draw_votes(axes: Any, row: Any) -> None:
    """What the network answers to the noisy copies."""
    heights = row.counts
    colours = [BLUE if k == row.predict else GREY for k in range(CLASSES)]
    axes.bar(range(CLASSES), heights, color=colours)
    axes.set_xticks(range(CLASSES))
    axes.tick_params(labelsize=8)
    axes.set_xlabel("the network's answer", fontsize=9)
    axes.set_title(f"votes of {row.n} copies", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def draw_ball(axes: Any, image: Any, row: Any) -> None:
    """The ball in which the smoothed classifier's answer is certified."""
    axes.add_patch(Circle((0, 0), 1, facecolor="#dbe9f6", edgecolor=BLUE, lw=2))
    axes.imshow(image, cmap="gray_r", extent=(-0.3, 0.3, -0.3, 0.3), zorder=2)
    end = math.cos(math.pi / 4)
    axes.annotate(
        "", (end, end), (0.3, 0.3), arrowprops={"arrowstyle": "->", "color": BLUE}
    )
    axes.text(0, -0.55, f"radius {truncated(row.radius, 3)}", ha="center", fontsize=10)
    axes.text(
        0,
        -1.12,
        f"every image this near (l2)\nis answered {row.predict}, at confidence .999\n"
        "over the noise drawn",
        ha="center",
        va="top",
        fontsize=9,
    )
    axes.set(xlim=(-1.1, 1.1), ylim=(-1.75, 1.05), aspect="equal")
    axes.axis("off")
    axes.set_title("the certificate", fontsize=10)


def first_screen(folder: Path) -> None:
    """From a digit to its radius, beside the demo's curves by two bounds."""
    found = {name: results.read(folder / f"{name}.tsv") for name in NAMES}
    row = found["runner-up"].rows[SHOWN]
    image = np.load(folder / "digits.npz")["x"][SHOWN].squeeze()
    figure = plt.figure(figsize=(12, 3.2), layout="constrained")
    left, votes, ball, right = figure.subfigures(1, 4, width_ratios=[2.2, 3, 2.6, 4.2])
    draw_copies(left, image, row.sigma)
    draw_votes(votes.subplots(), row)
    draw_ball(ball.subplots(), image, row)
    axes = right.subplots()
    reports.plot(list(found.values()), ax=axes, labels=list(NAMES.values()), best=False)
    axes.set_title("200 digits, the same samples", fontsize=10)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("radius (l2)")
    figure.savefig(DOCS / "first-screen.png", dpi=110)


def lost(computed: float, truth: Any) -> float:
    """Decimal digits that a double is short of those it could hold."""
    if not math.isfinite(computed):
        return ALL_LOST
    error = float(abs(mp.mpf(computed) / truth - 1))
    return min(max(math.log10(error / 2**-53), 0.0), ALL_LOST) if error else 0.0


def lost_by_dimension(log_p: float) -> tuple[list[float], list[float]]:
    """Digits lost by rsbounds and by SciPy in the logarithm of a lower tail."""
    ours = []
    scipys = []
    for dim in DIMENSIONS:
        nc = RATIO * dim
        x = float(special.ncx2_ppf_exp(log_p, dim, nc))
        truth = oracle.ncx2_logcdf(x, dim, nc, dps=40)
        ours.append(lost(float(special.ncx2_logcdf(x, dim, nc)), truth))
        with np.errstate(all="ignore"):
            scipys.append(lost(float(ncx2.logcdf(x, dim, nc)), truth))
    return ours, scipys


def digits_lost() -> None:
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    worst = np.zeros(len(DIMENSIONS))
    for log_p, style in LOGS.items():
        ours, scipys = lost_by_dimension(log_p)
        worst = np.maximum(worst, ours)
        label = f"SciPy, probability 1e{log_p / math.log(10):.0f}"
        axes.plot(DIMENSIONS, scipys, style, color=ORANGE, label=label)
    axes.plot(DIMENSIONS, worst, color=BLUE, lw=2, label="rsbounds, the worst of three")
    axes.set_xscale("log")
    axes.set_ylim(-0.5, ALL_LOST + 0.7)
    axes.set_xlabel("degrees of freedom d, noncentrality 10 d")
    axes.set_ylabel("digits lost of 16")
    axes.set_title("log of the lower tail of the noncentral chi-square", fontsize=10)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(0.0, 0.72))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "digits-lost.png", dpi=110)
    print(f"rsbounds loses at most {worst.max():.2f} digits")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/first_screen.py FOLDER_OF_THE_DEMO")
    first_screen(Path(sys.argv[1]))
    digits_lost()
