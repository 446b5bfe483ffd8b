"""Draws docs/howto/rounding-attack.png, the picture of docs/howto/the-program.md.

    python docs/howto/rounding_attack.py

A classifier that knows the floating-point grid of one point is sampled at that point
and at others, some distance away; so it is on noise of exact whole numbers.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtr

from rsbounds._numerics.decimals import truncated
from rsbounds.certify import certify
from rsbounds.noises.grid_noise import OnGrid
from rsbounds.sampling import ArraySampler, Phase
from rsbounds.sampling.streams import stream
from rsbounds.schemes import gaussian

SIGMA, DIM, N = 0.5, 784, 1000
PICTURE = Path(__file__).with_name("rounding-attack.png")
STEPS = 24  # of the grid of 1/255, along every axis


def attacked(point):
    """Class 0 if y = x + (y - x) at every coordinate of y."""

    def classifier(batch):
        back = (batch - point) + point
        off = (back != batch).sum(axis=1).astype(batch.dtype)
        return np.stack([0.5 - off, off - 0.5], axis=1)

    return classifier


def shares(sampler, inputs):
    """The share of class 0 among noisy copies of each input."""
    counted = []
    for index, x in enumerate(inputs):
        counts = sampler(x, SIGMA, N, stream(1, index, Phase.ESTIMATE))
        counted.append(int(counts[0]) / N)
    return counted


def drawn():
    """The certificate at the point; shares by distance in float32 and on the grid."""
    point = np.full(DIM, 1.01, np.float32)
    plain = ArraySampler(attacked(point))
    certificate = certify(plain, point, gaussian(SIGMA), n=N)
    steps = np.arange(STEPS + 1)
    away = [point - np.float32(step / 255) for step in steps]
    distances = [float(np.linalg.norm((point - x).astype(np.float64))) for x in away]
    on_grid = np.full(DIM, 1.0, np.float32)
    sound = ArraySampler(attacked(on_grid), noise=OnGrid())
    whole = [((255 - step) / 255 * on_grid).astype(np.float32) for step in steps]
    return certificate, distances, shares(plain, away), shares(sound, whole)


def main():
    certificate, distances, plain, sound = drawn()
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    reach = np.linspace(0.0, certificate.radius, 200)
    promised = ndtr(certificate.z_a - reach / SIGMA)
    axes.fill_between(reach, promised, 1.0, color="C0", alpha=0.15, lw=0)
    axes.plot(reach, promised, color="C0", label="promised: class 0 has at least this")
    axes.axvline(certificate.radius, color="C0", ls=":", lw=1)
    axes.text(
        certificate.radius - 0.02,
        0.44,
        f"certified: {truncated(certificate.radius, 4)}",
        ha="right",
        va="top",
        color="C0",
    )
    axes.plot(distances, plain, "o", color="C3", ms=4, label="float32: measured")
    axes.plot(distances, sound, "x", color="C2", ms=4, label="sound noise: measured")
    axes.set_xlabel("distance from the point that is certified")
    axes.set_ylabel(f"share of class 0 in {N:,} samples")
    axes.set_xlim(-0.03, 1.45)
    axes.set_ylim(-0.04, 1.04)
    axes.legend(loc="lower left", fontsize=8, frameon=False, bbox_to_anchor=(0.33, 0.2))
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
