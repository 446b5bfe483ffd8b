"""Maps: the class of many positions at once, from one set of noisy runs.

Each position's hypothesis "the class has probability at most tau" gets the exact
p-value of its count. Holm's procedure keeps the probability of any wrong rejection at
alpha, however the positions depend on each other; those not rejected abstain.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers, count, number
from rsbounds._numerics.rounding import round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import lower_bound
from rsbounds.results import whole_number
from rsbounds.schemes import Scheme

Labels = NDArray[np.int64]


def certify_map(
    select: Any,
    counts: Any,
    tau: float,
    *,
    n: int,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> tuple[Labels, float]:
    """The classes of many positions that hold together within one radius.

    Parameters
    ----------
    select, counts : array_like of int, shape (positions, classes)
        For each position the class counts of the samples that choose its class, and of
        the n fresh samples that bound its probability. What is missing of n fell on no
        class there.
    tau : float
        Certify positions whose class has a probability above tau, in [1/2, 1).
    n, alpha : int, float
        Number of samples drawn for ``counts``, and the probability that any position is
        wrong.
    scheme, sigma
        As in :func:`top_k_radius`.

    Returns
    -------
    labels : ndarray of int, shape (positions,)
        The class of each position, -1 where it abstains.
    radius : float
        Within it none of the labels changes: sigma Phi^-1(tau) for Gaussian noise.

    References ---------- Fischer, Baader, Vechev, Scalable certified segmentation via
    randomized smoothing, 2021.

    Examples
    --------
    >>> from rsbounds.answers import certify_map
    >>> from rsbounds.schemes import gaussian
    >>> select, counts = [[10, 0], [1, 9], [6, 4]], [[99, 1], [0, 100], [55, 45]]
    >>> labels, radius = certify_map(
    ...     select, counts, 0.75, n=100, alpha=0.001, scheme=gaussian(0.5))
    >>> labels, round(radius, 6)
    (array([ 0,  1, -1]), 0.337245)
    """
    chosen, hits, n = chosen_counts(select, counts, n)
    labels = np.where(holm(hits, n, tau, alpha), chosen, ABSTAIN)
    return labels, map_radius(tau, scheme, sigma)


def chosen_counts(select: Any, counts: Any, n: int) -> tuple[Labels, Labels, int]:
    """The class of each position by its selection samples, and how many others fell on
    it.
    """
    select, counts = as_integers("select", select), as_integers("counts", counts)
    n = count("n", n, 1)
    if (
        select.ndim != 2
        or select.shape != counts.shape
        or select.shape[1] < 2
        or not len(select)
    ):
        raise ValueError(
            "select and counts must have one shape (positions, classes), two classes or more; got "
            f"{select.shape} and {counts.shape}"
        )
    if (sums := counts.sum(axis=1)).max() > n:
        raise ValueError(f"counts must sum to at most n = {n}; got {sums.max()}")
    chosen: Labels = select.argmax(axis=1)
    return chosen, np.take_along_axis(counts, chosen[:, None], axis=1)[:, 0], n


def holm(hits: Labels, n: int, tau: float, alpha: float) -> NDArray[np.bool_]:
    """Which of the hypotheses "probability at most tau" Holm's procedure rejects.

    A p-value is at most a level if the lower bound of the count at that level is at
    least tau.
    """
    least, level = _tau(tau), number("alpha", alpha, 0.0, 1.0, closed="neither")
    values, which, many = np.unique(hits, return_inverse=True, return_counts=True)
    left = np.cumsum(
        many
    )  # the largest count has the smallest p-value: these are left then
    # of equal p-values all are rejected if the first is: the limits of the others are
    # higher
    passed = lower_bound(values, n, np.nextafter(level / left, 0.0)) >= least
    rejected = np.logical_and.accumulate(passed[::-1])[::-1]
    return np.asarray(rejected[which], dtype=bool)


def map_radius(tau: float, scheme: Scheme, sigma: float | None) -> float:
    """The radius that a probability above tau earns."""
    z = float(round_down(ndtri(np.asarray(_tau(tau))), NDTRI_ERROR))
    return scheme.radius(z, scheme.fixed_level(sigma)) if z > 0 else 0.0


def _tau(tau: float) -> float:
    return number("tau", tau, 0.5, 1.0, closed="left")


def runs(values: NDArray[Any]) -> str:
    """Whole numbers as text, runs of equal ones as VALUExTIMES."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
    lengths = np.diff(np.append(starts, len(values)))
    pairs = zip(values[starts], lengths, strict=True)
    return ",".join(f"{v}" if times == 1 else f"{v}x{times}" for v, times in pairs)


def from_runs(text: str) -> NDArray[np.int64]:
    """What :func:`runs` wrote; ValueError for anything else."""
    pairs = [part.partition("x") for part in text.split(",")]
    values = [whole_number(value) for value, _, _ in pairs]
    times = [whole_number(many) if x else 1 for _, x, many in pairs]
    if not (min(times) > 0 and sum(times) <= 10**9 and min(values) >= 0):
        raise ValueError(f"numbers as VALUExTIMES; got {text!r:.40}")
    return np.repeat(np.array(values, dtype=np.int64), times)
