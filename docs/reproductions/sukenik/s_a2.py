"""[S] A.2, Figures 6 and 7: how far below the truth a fixed number of samples stays."""

from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom
from shared import Table, axes, columns, publish

from rsbounds.confidence import lower_bound
from rsbounds.gaussian import max_radius

ALPHA = 0.001
SAMPLES = (1_000, 10_000, 100_000, 1_000_000)
SCORES = np.arange(0.2, 6.01, 0.2)  # true radius/sigma


def mean_score(n: int, score: float) -> float:
    """Expected certified radius/sigma at a true radius/sigma of ``score``; abstentions
    count 0.
    """
    sd = np.sqrt(n * ndtr(score) * ndtr(-score))
    top = n - int(max(0, n * ndtr(-score) - 9 * sd - 30))
    counts = np.arange(max(0, int(n * ndtr(score) - 9 * sd - 30)), top + 1)
    weights = binom.pmf(n - counts, n, ndtr(-score))
    certified = np.maximum(lower_bound(counts, n, ALPHA, scores=True), 0.0)
    return float(weights @ certified)


def table() -> Table:
    rows = [
        (n, float(max_radius(n, ALPHA, 1.0)), score, mean_score(n, score))
        for n in SAMPLES
        for score in SCORES
    ]
    return columns("n largest true mean", rows)


def figure(table: Table) -> Any:
    result, (left, right, ratio, level) = axes(2, rows=2)
    n = np.logspace(1, 9, 200).astype(int)
    for alpha in (0.1, 0.001, 1e-6):
        left.semilogx(n, max_radius(n, alpha, 1.0), label=f"{alpha:g}")
    left.axvline(1e5, color="black", linewidth=0.7)
    left.set(xlabel="samples $n$", ylabel=r"largest radius $/\,\sigma$")
    left.legend(title=r"$\alpha$")
    right.plot(SCORES, SCORES, color="black", linewidth=0.7)
    for n_samples in SAMPLES:
        chosen = table["n"] == n_samples
        true, mean = table["true"][chosen], table["mean"][chosen]
        right.plot(true, mean, label=f"{n_samples:,}")
        ratio.plot(ndtr(true), true / mean)
        level.plot(1 / true, mean / true)  # at distance 1 the score is 1/sigma
    right.set(
        xlabel=r"true radius $/\,\sigma$", ylabel=r"mean certified radius $/\,\sigma$"
    )
    right.legend(title="samples $n$")
    ratio.set(xlabel="$p_A$", ylabel="true over certified", ylim=(0.95, 2))
    level.set(xlabel=r"$\sigma$, at distance 1", ylabel="certified", xlim=(0, 2))
    return result


if __name__ == "__main__":
    publish(__file__, numbers := table(), figure(numbers))
